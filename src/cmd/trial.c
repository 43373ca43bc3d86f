/* trial.c: fork, a page of memory for notes, and a pipe that ends with the child; see trial.h. */
#include "cmd/trial.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIAL_SECONDS_MAX = 20 };

struct trial {
    char who[1024], where[64];
    bool returned;
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

/* Quiet, without a core dump, and with nobody who makes a signal something else. */
static void set_the_stage(void)
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
    signal(SIGHUP, SIG_IGN); /* what is asked of the whole group is asked of the parent */
    signal(SIGUSR2, SIG_IGN);
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
}

/* The pipe ends when the child does. False: it takes too long. */
static bool wait_for_end(int fd)
{
    struct pollfd ends = { .fd = fd, .events = POLLIN };
    int r;
    do
        r = poll(&ends, 1, TRIAL_SECONDS_MAX * 1000);
    while (r < 0 && errno == EINTR);
    return r != 0;
}

static int judge(const struct trial *trial, bool in_time, int status, struct error *err)
{
    if (trial->returned)
        return 0;
    const char *who = trial->who, *where = trial->where;
    if (!in_time)
        return error_set(err, -ETIMEDOUT, "%s hung %s: it did not come back within %d seconds", who, where,
                         TRIAL_SECONDS_MAX);
    if (WIFSIGNALED(status))
        return error_set(err, -EFAULT, "%s crashed %s (%s)", who, where, strsignal(WTERMSIG(status)));
    return error_set(err, -EFAULT, "%s crashed %s: it ended the process with status %d", who, where,
                     WEXITSTATUS(status));
}

static int watch(struct trial *trial, pid_t child, int fd, struct error *err)
{
    int status = 0;
    bool in_time = wait_for_end(fd);
    if (!in_time)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return judge(trial, in_time, status, err);
}

int trial_run(void (*act)(struct trial *trial, void *context), void *context, struct error *err)
{
    int ends[2];
    struct trial *trial =
        mmap(NULL, sizeof(*trial), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED)
        return error_set(err, -errno, "no memory for a trial process: %s", strerror(errno));
    if (pipe2(ends, O_CLOEXEC) < 0) {
        munmap(trial, sizeof(*trial));
        return error_set(err, -errno, "no pipe for a trial process: %s", strerror(errno));
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        set_the_stage();
        act(trial, context);
        trial->returned = true;
        _exit(0);
    }
    close(ends[1]);
    int r = child < 0 ? error_set(err, -errno, "no trial process: %s", strerror(errno))
                      : watch(trial, child, ends[0], err);
    close(ends[0]);
    munmap(trial, sizeof(*trial));
    return r;
}
