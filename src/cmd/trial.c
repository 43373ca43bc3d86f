/* trial.c: a child process, memory for notes that is shared with it, and a pipe that ends with it; see trial.h.
 *
 * A fork has the memory by inheritance. For a new process it is a file without a name, its standard input, and the pipe
 * is its standard output; all else that is open here is closed there. */
#include "cmd/trial.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"

enum { TRIAL_SECONDS_MAX = 20, TICK_MS = 100, LAST_TICK_MS = 2 };

/* By which the child knows what it is, and `ps` calls it. */
#define CHILD_NAME "berth-trial"

struct trial {
    size_t size; /* with the input */
    pid_t parent;
    char who[1024], where[64];
    struct error error; /* why it could not be held */
    bool began, returned;
    size_t input_len;
    char input[];
};

void trial_note(struct trial *trial, const char *where, const char *who, ...)
{
    va_list args;
    if (!trial)
        return;
    va_start(args, who);
    vsnprintf(trial->who, sizeof(trial->who), who, args);
    va_end(args);
    snprintf(trial->where, sizeof(trial->where), "%s", where);
}

void trial_fail(struct trial *trial, const struct error *err)
{
    trial->error = *err;
}

struct str trial_input(const struct trial *trial)
{
    return (struct str){ trial->input, (uint32_t)trial->input_len };
}

/* ---- in the child ---- */
/* Quiet, without a core dump, and with the default actions of signals. */
static void reset_process(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTERM, SIGINT };
    struct rlimit none = { 0, 0 };
    sigset_t all;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    setrlimit(RLIMIT_CORE, &none);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        signal(signals[i], SIG_DFL);
    signal(SIGHUP, SIG_IGN); /* a signal to the process group is meant for the parent */
    signal(SIGUSR2, SIG_IGN);
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
}

static _Noreturn void perform(struct trial *trial, void (*act)(struct trial *trial, void *context),
                              void *context)
{
    reset_process();
    trial->began = true;
    act(trial, context);
    trial->returned = true;
    _exit(0);
}

bool trial_is_child(const char *name)
{
    return strcmp(name, CHILD_NAME) == 0;
}

void trial_serve(void (*act)(struct trial *trial, void *context), void *context)
{
    struct stat info;
    if (fstat(STDIN_FILENO, &info) < 0 || !S_ISREG(info.st_mode) ||
        (size_t)info.st_size < sizeof(struct trial))
        return;
    struct trial *trial =
        mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, STDIN_FILENO, 0);
    if (trial == MAP_FAILED || trial->size != (size_t)info.st_size)
        return;
    prctl(PR_SET_NAME, CHILD_NAME); /* not "exe" */
    /* When the parent ends, so does the trial. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != trial->parent)
        _exit(1);
    (void)fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); /* the pipe, until the end */
    perform(trial, act, context);
}

/* ---- what comes of it ---- */
enum ending { ENDING_BY_ITSELF, ENDING_LATE, ENDING_STOPPED };

/* It is still there to be collected. */
static bool has_ended(pid_t child)
{
    siginfo_t info = { 0 };
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == child;
}

/* With the group that it leads, if it does. It may have been collected elsewhere (SIGCHLD ignored): then only its notes
 * tell how it ended. */
static int end(pid_t child, bool group)
{
    int status = 0;
    siginfo_t info;
    if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        kill(group ? -child : child, SIGKILL); /* nothing to one that has ended */
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* The pipe ends when the child does, unless a child of its own has it too, or it closes what it did not open: it says
 * when to look, no more. */
static enum ending wait_for_end(pid_t child, int pipe_fd, int stop_fd)
{
    int64_t until_ns = monotonic_ns() + TRIAL_SECONDS_MAX * NS_PER_S;
    struct pollfd fds[] = { { .fd = pipe_fd, .events = POLLIN }, { .fd = stop_fd, .events = POLLIN } };
    while (!has_ended(child)) {
        if (monotonic_ns() >= until_ns)
            return ENDING_LATE;
        int r = poll(fds, ARRAY_SIZE(fds), fds[0].fd < 0 ? LAST_TICK_MS : TICK_MS);
        if (r > 0 && fds[1].revents)
            return ENDING_STOPPED;
        if (r > 0 && fds[0].revents)
            fds[0].fd = -1;
    }
    return ENDING_BY_ITSELF;
}

static int judge(const struct trial *trial, enum ending ending, int status, struct error *err)
{
    const char *who = trial->who, *where = trial->where;
    if (ending == ENDING_STOPPED)
        return error_set(err, -ECANCELED, "the trial was stopped");
    if (trial->returned)
        return trial->error.text[0] ? error_set(err, -EINVAL, "%s", trial->error.text) : 0;
    if (!trial->began)
        return error_set(err, -EIO, "no trial process: it did not begin");
    if (ending == ENDING_LATE)
        return error_set(err, -ETIMEDOUT, "%s hung %s: it did not come back within %d seconds", who, where,
                         TRIAL_SECONDS_MAX);
    if (WIFSIGNALED(status))
        return error_set(err, -EFAULT, "%s crashed %s (%s)", who, where, strsignal(WTERMSIG(status)));
    return error_set(err, -EFAULT, "%s crashed %s: it ended the process with status %d", who, where,
                     WEXITSTATUS(status));
}

static int watch(const struct trial *trial, pid_t child, bool group, int pipe_fd, int stop_fd,
                 struct error *err)
{
    enum ending ending = wait_for_end(child, pipe_fd, stop_fd);
    return judge(trial, ending, end(child, group), err);
}

/* ---- a fork ---- */
static int no_trial(struct error *err, int code)
{
    return error_set(err, code, "no trial process: %s", strerror(-code));
}

int trial_run(void (*act)(struct trial *trial, void *context), void *context, struct error *err)
{
    int ends[2];
    struct trial *trial =
        mmap(NULL, sizeof(*trial), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED)
        return no_trial(err, -errno);
    if (pipe2(ends, O_CLOEXEC) < 0) {
        munmap(trial, sizeof(*trial));
        return no_trial(err, -errno);
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        perform(trial, act, context);
    }
    close(ends[1]);
    int r = child < 0 ? no_trial(err, -errno) : watch(trial, child, false, ends[0], -1, err);
    close(ends[0]);
    munmap(trial, sizeof(*trial));
    return r;
}

/* ---- a new process ---- */
/* Needs no file system that can be written to. NULL: errno says why. */
static struct trial *make_memory(struct str input, int *ret_fd)
{
    size_t size = sizeof(struct trial) + input.len;
    int fd = memfd_create(CHILD_NAME, MFD_CLOEXEC);
    struct trial *trial = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        trial = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (trial == MAP_FAILED) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        errno = code;
        return NULL;
    }
    trial->size = size;
    trial->parent = getpid();
    trial->input_len = input.len;
    if (input.len)
        memcpy(trial->input, input.ptr, input.len);
    *ret_fd = fd;
    return trial;
}

/* Signals that are blocked here are so there, until the child has decided what to make of them. */
static int start(char *const *argv, int memory_fd, int pipe_fd, pid_t *ret)
{
    VEC(char *) arguments = { 0 };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    *vec_push(&arguments) = (char[]){ CHILD_NAME };
    while (*argv && *++argv)
        *vec_push(&arguments) = *argv;
    *vec_push(&arguments) = NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, memory_fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipe_fd, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1); /* plugins have descriptors, too */
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int r = posix_spawn(ret, "/proc/self/exe", &actions, &attributes, arguments.items, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    vec_release(&arguments);
    return -r;
}

static int no_spawn(struct error *err, int code)
{
    if (code == -ENOENT)
        return error_set(err, code, "no trial process: it needs /proc/self/exe and /dev/null");
    return no_trial(err, code);
}

int trial_spawn(char *const *argv, struct str input, int stop_fd, struct error *err)
{
    int r, ends[2], memory_fd = -1;
    pid_t child;
    struct trial *trial = make_memory(input, &memory_fd);
    if (!trial)
        return no_trial(err, -errno);
    if (pipe2(ends, O_CLOEXEC) < 0) {
        r = no_trial(err, -errno);
    } else {
        r = start(argv, memory_fd, ends[1], &child);
        close(ends[1]);
        r = r < 0 ? no_spawn(err, r) : watch(trial, child, true, ends[0], stop_fd, err);
        close(ends[0]);
    }
    munmap(trial, trial->size);
    close(memory_fd);
    return r;
}
