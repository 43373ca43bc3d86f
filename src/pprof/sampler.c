/* sampler.c: see sampler.h.
 *
 * The handler is installed with the first profile and stays: a signal that is late must not end the process. A timer of
 * the kind ITIMER_PROF sends the signal to the thread that used up the time, on every kernel. */
#include "pprof/sampler.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

/* Space for the samples of an hour of one CPU; the kernel gives what is used of it. */
enum { WORDS_MAX = 8 << 20 };
enum { OWN_FRAMES_MAX = 8 };

static struct {
    atomic_bool taken, active;
    atomic_uint handlers; /* that are running */
    atomic_size_t used;   /* may be more than WORDS_MAX */
    atomic_uint_fast64_t lost;
    uint64_t *words;
    struct sigaction before[2]; /* what was done about SIGSEGV and SIGBUS */
} sampler;

#if defined(__x86_64__)
#define HAS_STACKS 1
static void *interrupted_at(const ucontext_t *context)
{
    return (void *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}
#elif defined(__aarch64__)
#define HAS_STACKS 1
static void *interrupted_at(const ucontext_t *context)
{
    return (void *)(uintptr_t)context->uc_mcontext.pc;
}
#else
#define HAS_STACKS 0
static void *interrupted_at(const ucontext_t *context)
{
    (void)context;
    return NULL;
}
#endif

/* Of a thread that unwinds its stack. In the program's own block, which is there before the thread runs. */
#define OWN __attribute__((tls_model("initial-exec")))
static _Thread_local volatile sig_atomic_t unwinding OWN;
static _Thread_local sigjmp_buf way_out OWN;

/* Memory that is not there, where the tables for unwinding say that a frame is: the way out. Of other code: what
 * would have happened without us happens when the instruction is tried again. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    if (unwinding)
        siglongjmp(way_out, 1);
    sigaction(number, &sampler.before[number == SIGBUS], NULL);
}

/* The innermost first. The first frames are those of the signal's handling. */
static size_t walk(void *pc, void *addresses[SAMPLER_FRAMES_MAX])
{
    void *frames[SAMPLER_FRAMES_MAX + OWN_FRAMES_MAX];
    volatile int len = 0;
    unwinding = 1;
    if (sigsetjmp(way_out, 0) == 0)
        len = backtrace(frames, (int)ARRAY_SIZE(frames));
    unwinding = 0;
    int first = 0;
    while (first < MIN(len, (int)OWN_FRAMES_MAX) && frames[first] != pc)
        first++;
    size_t count = 0;
    addresses[count++] = pc;
    if (first < MIN(len, (int)OWN_FRAMES_MAX))
        for (int i = first + 1; i < len && count < SAMPLER_FRAMES_MAX; i++)
            if (frames[i])
                addresses[count++] = frames[i];
    return count;
}

static void take_sample(const ucontext_t *context)
{
    void *addresses[SAMPLER_FRAMES_MAX];
    size_t len = walk(interrupted_at(context), addresses);
    size_t at = atomic_fetch_add(&sampler.used, len + 1);
    if (at + len + 1 > WORDS_MAX) {
        atomic_fetch_sub(&sampler.used, len + 1);
        atomic_fetch_add(&sampler.lost, 1);
        return;
    }
    sampler.words[at] = len;
    for (size_t i = 0; i < len; i++)
        sampler.words[at + 1 + i] = (uint64_t)(uintptr_t)addresses[i];
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)number;
    (void)info;
    atomic_fetch_add(&sampler.handlers, 1);
    if (atomic_load(&sampler.active))
        take_sample(context);
    atomic_fetch_sub(&sampler.handlers, 1);
    errno = saved;
}

static int set_timer(int64_t period_us)
{
    struct timeval period = { .tv_usec = (suseconds_t)period_us };
    return setitimer(ITIMER_PROF, &(struct itimerval){ period, period }, NULL);
}

/* No thread samples any more when it returns. */
static void end_sampling(void)
{
    set_timer(0);
    atomic_store(&sampler.active, false);
    while (atomic_load(&sampler.handlers))
        sched_yield();
    sigaction(SIGSEGV, &sampler.before[0], NULL);
    sigaction(SIGBUS, &sampler.before[1], NULL);
}

static int start(struct error *err)
{
    sampler.words = mmap(NULL, (size_t)WORDS_MAX * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sampler.words == MAP_FAILED)
        return error_set(err, -errno, "no memory for samples: %s", strerror(errno));
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
    sigemptyset(&action.sa_mask);
    void *loaded[1];
    backtrace(loaded, 1); /* what it needs is loaded now, not in a signal handler */
    atomic_store(&sampler.used, 0);
    atomic_store(&sampler.lost, 0);
    atomic_store(&sampler.active, true);
    struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
    sigemptyset(&fault.sa_mask);
    sigaction(SIGSEGV, &fault, &sampler.before[0]);
    sigaction(SIGBUS, &fault, &sampler.before[1]);
    if (sigaction(SIGPROF, &action, NULL) == 0 && set_timer(1000000 / SAMPLER_HZ) == 0)
        return 0;
    int r = error_set(err, -errno, "no timer: %s", strerror(errno));
    end_sampling();
    munmap(sampler.words, (size_t)WORDS_MAX * sizeof(uint64_t));
    return r;
}

/* backtrace() looks up the tables for unwinding in the list of loaded objects. The C library has that without a lock
 * since glibc 2.35, and libgcc uses it since version 12: before, a signal that comes inside dlopen() would wait for the
 * lock that its own thread holds. */
static bool unwinds_without_lock(void)
{
    return dlsym(RTLD_DEFAULT, "_dl_find_object");
}

int sampler_start(struct error *err)
{
    if (!HAS_STACKS)
        return error_set(err, -ENOTSUP, "stacks cannot be read on this architecture");
    if (!unwinds_without_lock())
        return error_set(err, -ENOTSUP, "stacks cannot be read safely with this C library: glibc 2.35 can");
    if (atomic_exchange(&sampler.taken, true))
        return error_set(err, -EBUSY, "cpu profiling already in use");
    int r = start(err);
    if (r < 0)
        atomic_store(&sampler.taken, false);
    return r;
}

void sampler_stop(struct samples *ret)
{
    end_sampling();
    *ret = (struct samples){ sampler.words, atomic_load(&sampler.used), atomic_load(&sampler.lost) };
    sampler.words = NULL;
    atomic_store(&sampler.taken, false);
}

void samples_release(struct samples *samples)
{
    if (samples->words)
        munmap(samples->words, (size_t)WORDS_MAX * sizeof(uint64_t));
    *samples = (struct samples){ 0 };
}
