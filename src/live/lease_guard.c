/* lease_guard.c: see lease_guard.h. The signal is used for nothing else, is blocked in all threads but the guarded
 * one, and its handler does only what a handler may. */
#include "live/lease_guard.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

#define GUARD_SIGNAL SIGRTMAX

static void set_timer(const struct lease_guard *guard)
{
    int64_t look_ns = guard->look_ns;
    struct itimerspec when = { .it_value = { look_ns / NS_PER_S, look_ns % NS_PER_S } };
    timer_settime(guard->timer, TIMER_ABSTIME, &when, NULL);
}

static void on_end(int number _unused_, siginfo_t *info, void *context _unused_)
{
    static const char sentence[] =
        "The lease ended while this process was stopped in the middle of a write\n";
    const struct lease_guard *guard = info->si_value.sival_ptr;
    if (info->si_code != SI_TIMER)
        return;
    int64_t at_ns = clock_now_ns(CLOCK_BOOTTIME);
    if (at_ns < guard->look_ns) /* moved at the last moment */
        set_timer(guard);
    if (at_ns < guard->ends_ns || !guard->at_risk(guard->user))
        return;
    (void)!write(STDERR_FILENO, sentence, sizeof(sentence) - 1);
    _exit(EXIT_FAILURE);
}

static int set_handler(void)
{
    struct sigaction action = { .sa_sigaction = on_end, .sa_flags = SA_SIGINFO | SA_RESTART };
    sigset_t mine;
    sigfillset(&action.sa_mask);
    sigemptyset(&mine);
    sigaddset(&mine, GUARD_SIGNAL);
    if (sigaction(GUARD_SIGNAL, &action, NULL) < 0)
        return -errno;
    return -pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
}

int lease_guard_begin(struct lease_guard *guard, bool (*at_risk)(const void *user), const void *user,
                      struct error *err)
{
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
                              .sigev_signo = GUARD_SIGNAL,
                              .sigev_value.sival_ptr = guard };
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    guard->at_risk = at_risk;
    guard->user = user;
    int r = set_handler();
    if (r == 0 && timer_create(CLOCK_BOOTTIME, &event, &guard->timer) < 0)
        r = -errno;
    if (r < 0)
        return error_set(err, r, "no timer for the end of the lease: %s", strerror(-r));
    atomic_store(&guard->guards, true);
    set_timer(guard);
    return 0;
}

void lease_guard_move(struct lease_guard *guard, int64_t look_ns, int64_t ends_ns)
{
    atomic_store(&guard->ends_ns, ends_ns);
    atomic_store(&guard->look_ns, look_ns);
    if (atomic_load(&guard->guards))
        set_timer(guard);
}

void lease_guard_end(struct lease_guard *guard)
{
    if (atomic_exchange(&guard->guards, false))
        timer_delete(guard->timer);
}
