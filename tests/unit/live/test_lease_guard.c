/* The lease guard: a process that writes all the time is stopped and continued from outside. */
#include "support/pace.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live/lease_guard.h"

#define MS INT64_C(1000000)

enum { EXIT_LATER = 7 };

static int64_t boot_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 * MS + now.tv_nsec;
}

static void sleep_ms(int64_t ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * MS };
    while (nanosleep(&time, &time) < 0)
        continue;
}

static bool answer(const void *user)
{
    return *(const bool *)user;
}

/* Sets the end of the lease to `ms` from now; the guard checks at half of that time. */
static void move(struct lease_guard *guard, int64_t ms)
{
    lease_guard_move(guard, boot_ns() + ms / 2 * MS, boot_ns() + ms * MS);
}

struct child {
    bool at_risk;
    bool renews; /* the lease is extended every 50 ms */
    int64_t ends_ms;
    int out;
};

/* Writes without checking anything: only the guard stops it. */
static void *write_always(void *user)
{
    const struct child *child = user;
    static struct lease_guard guard;
    struct error err;
    if (lease_guard_begin(&guard, answer, &child->at_risk, &err) < 0)
        _exit(99);
    move(&guard, child->ends_ms);
    int64_t end_ns = boot_ns() + 2 * child->ends_ms * MS;
    for (int64_t next_ns = 0; boot_ns() < end_ns;) {
        if (child->renews && boot_ns() >= next_ns) {
            move(&guard, child->ends_ms);
            next_ns = boot_ns() + 50 * MS;
        }
        if (write(child->out, "x", 1) != 1)
            _exit(98);
        sleep_ms(1);
    }
    lease_guard_end(&guard);
    return NULL;
}

static void run_child(struct child *child)
{
    sigset_t all;
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL); /* as the threads of a daemon do */
    pthread_create(&thread, NULL, write_always, child);
    pthread_join(thread, NULL);
    _exit(EXIT_LATER);
}

static size_t drain(int fd)
{
    char buf[4096];
    size_t sum = 0;
    for (ssize_t n; (n = read(fd, buf, sizeof(buf))) > 0;)
        sum += (size_t)n;
    return sum;
}

/* Returns the exit status, or -1 if the child ended before it could be stopped. `ret_written` is the number of bytes
 * written after the stop, if there was one. */
static int run(struct child child, int64_t stop_ms, size_t *ret_written)
{
    int ends[2], status;
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    child.out = ends[1];
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run_child(&child);
    close(ends[1]);
    assert_int_equal(poll(&(struct pollfd){ .fd = ends[0], .events = POLLIN }, 1, 60000), 1);
    bool stopped = true;
    if (stop_ms) {
        kill(pid, SIGSTOP);
        assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        stopped = WIFSTOPPED(status);
        drain(ends[0]);
        sleep_ms(stop_ms);
        if (stopped)
            kill(pid, SIGCONT);
    }
    if (stopped)
        assert_int_equal(waitpid(pid, &status, 0), pid);
    *ret_written = drain(ends[0]);
    close(ends[0]);
    assert_true(WIFEXITED(status));
    return stopped ? WEXITSTATUS(status) : -1;
}

/* A busy machine may pause the child as well: hence the retries at a slower pace. */
static bool check_stopped_past_the_end(int64_t ms)
{
    for (int i = 0; i < 3; i++) {
        size_t written;
        int status =
            run((struct child){ .at_risk = true, .renews = true, .ends_ms = ms }, ms + 300, &written);
        if (status < 0)
            return false;
        if (LATE_SIGNALS && (status != EXIT_FAILURE || written))
            return false; /* stopped between two calls, and the next one was the renewal or the write */
        assert_int_equal(status, EXIT_FAILURE);
        assert_int_equal(written, 0);
    }
    return true;
}

static void test_stopped_past_the_end_writes_nothing_more(void **state _unused_)
{
    assert_at_some_pace(check_stopped_past_the_end, 700);
}

static bool check_stopped_briefly(int64_t ms)
{
    size_t written;
    return run((struct child){ .at_risk = true, .renews = true, .ends_ms = ms }, 50, &written) ==
               EXIT_LATER &&
           written > 0;
}

static void test_stopped_briefly_it_continues(void **state _unused_)
{
    assert_at_some_pace(check_stopped_briefly, 700);
}

static bool check_without_pending_writes(int64_t ms)
{
    size_t written;
    return run((struct child){ .renews = true, .ends_ms = ms }, ms + 300, &written) == EXIT_LATER;
}

static void test_without_pending_writes_it_continues(void **state _unused_)
{
    assert_at_some_pace(check_without_pending_writes, 700);
}

static bool check_running(int64_t ms)
{
    size_t written;
    return run((struct child){ .at_risk = true, .ends_ms = ms }, 0, &written) == EXIT_LATER && written > 0;
}

static void test_a_running_process_is_not_stopped(void **state _unused_)
{
    assert_at_some_pace(check_running, 700);
}

static void test_never(void **state _unused_)
{
    struct lease_guard guard = { 0 };
    struct error err;
    bool yes = true;
    assert_int_equal(lease_guard_begin(&guard, answer, &yes, &err), 0);
    sleep_ms(50);
    lease_guard_move(&guard, boot_ns() + 20 * MS, 0);
    lease_guard_move(&guard, 0, 0);
    sleep_ms(50);
    lease_guard_move(&guard, boot_ns() + 20 * MS, 0);
    lease_guard_end(&guard);
    lease_guard_end(&guard);
    sleep_ms(50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stopped_past_the_end_writes_nothing_more),
        cmocka_unit_test(test_stopped_briefly_it_continues),
        cmocka_unit_test(test_without_pending_writes_it_continues),
        cmocka_unit_test(test_a_running_process_is_not_stopped),
        cmocka_unit_test(test_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
