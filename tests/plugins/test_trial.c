/* A trial in a new process of the program, which here is this test: its result, and what the process inherits. */
#include "support/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "cmd/trial.h"

enum { OPEN_FD = 77, INPUT_BYTES = 3 << 20 };

/* ---- in the new process ---- */
static void hang(void)
{
    for (;;)
        pause();
}

static void fail_unless(struct trial *trial, bool right, const char *what)
{
    struct error err;
    error_set(&err, 0, "%s", what);
    if (!right)
        trial_fail(trial, &err);
}

static void act(struct trial *trial, void *context)
{
    char **argv = context;
    const char *what = argv[1];
    sigset_t blocked;
    trial_note(trial, "in its action", "a plugin with %s", what);
    if (strcmp(what, "crash") == 0)
        raise(SIGSEGV);
    else if (strcmp(what, "exit") == 0)
        exit(0); /* not a success */
    else if (strcmp(what, "hang") == 0)
        hang();
    else if (strcmp(what, "leave") == 0 && fork() > 0) /* a process that inherits open descriptors */
        exit(5);
    else if (strcmp(what, "leave") == 0)
        hang();
    else if (strcmp(what, "fail") == 0)
        fail_unless(trial, false, "there is no stage");
    else if (strcmp(what, "fds") == 0)
        fail_unless(trial, fcntl(OPEN_FD, F_GETFD) < 0, "a descriptor is open");
    else if (strcmp(what, "signals") == 0)
        fail_unless(trial, sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 && !sigismember(&blocked, SIGTERM),
                    "a signal is blocked");
    else if (strcmp(what, "hangup") == 0)
        raise(SIGHUP);
    else if (strcmp(what, "speak") == 0)
        puts("output of the trial"), fflush(stdout);
    else if (strcmp(what, "input") == 0) {
        struct str input = trial_input(trial);
        bool right = input.len == INPUT_BYTES;
        for (size_t i = 0; right && i < input.len; i++)
            right = input.ptr[i] == (char)(i % 251);
        fail_unless(trial, right, "the input is another one");
    } else if (strcmp(what, "arguments") == 0)
        fail_unless(trial, argv[2] && strcmp(argv[2], "--a=b c") == 0 && !argv[3], "other arguments");
}

/* ---- in the test ---- */
static int64_t seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static int run_trial(const char *what, struct str input, int stop_fd, struct error *err)
{
    char *const argv[] = { (char[]){ "scheduler" }, (char *)what, (char[]){ "--a=b c" }, NULL };
    *err = (struct error){ "" };
    return trial_spawn(argv, input, stop_fd, err);
}

static void test_results(void **state _unused_)
{
    static const struct {
        const char *what;
        int code;
        const char *sentence;
    } cases[] = {
        { "nothing", 0, "" },
        { "crash", -EFAULT, "a plugin with crash crashed in its action (Segmentation fault)" },
        { "exit", -EFAULT, "a plugin with exit crashed in its action: it ended the process with status 0" },
        { "leave", -EFAULT, "a plugin with leave crashed in its action: it ended the process with status 5" },
        { "fail", -EINVAL, "there is no stage" },
        { "fds", 0, "" },
        { "signals", 0, "" },
        { "hangup", 0, "" },
        { "speak", 0, "" },
        { "arguments", 0, "" },
    };
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &some, NULL);
    assert_int_equal(dup2(STDERR_FILENO, OPEN_FD), OPEN_FD); /* stays open across exec() */
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err;
        int64_t began = seconds();
        assert_int_equal(run_trial(cases[i].what, STR("x"), -1, &err), cases[i].code);
        assert_string_equal(err.text, cases[i].sentence);
        assert_true(seconds() - began < 15); /* without waiting for the child */
    }
    close(OPEN_FD);
}

static void test_input(void **state _unused_)
{
    struct error err;
    char *text = test_malloc(INPUT_BYTES);
    for (size_t i = 0; i < INPUT_BYTES; i++)
        text[i] = (char)(i % 251);
    assert_int_equal(run_trial("input", (struct str){ text, INPUT_BYTES }, -1, &err), 0);
    test_free(text);
}

static void test_stop(void **state _unused_)
{
    struct error err;
    int stop = eventfd(1, EFD_CLOEXEC);
    int64_t began = seconds();
    assert_int_equal(run_trial("hang", STR(""), stop, &err), -ECANCELED);
    assert_true(seconds() - began < 10);
    close(stop);
}

static void test_the_name_alone_is_not_enough(void **state _unused_)
{
    int zero = dup(STDIN_FILENO), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(zero >= 0 && null >= 0);
    dup2(null, STDIN_FILENO);
    trial_serve(act, NULL); /* returns */
    dup2(zero, STDIN_FILENO);
    close(null);
    close(zero);
}

int main(int argc, char **argv)
{
    if (argc > 0 && trial_is_child(argv[0]))
        trial_serve(act, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_input),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_the_name_alone_is_not_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
