/* Processes of this machine that run, are stopped, and end. */
#include "support/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/presence.h"

static struct strbuf own;
static struct loop *loop;
static struct presence_watch watch;
static int ends;

static void on_end(struct presence_watch *ended)
{
    assert_ptr_equal(ended, &watch);
    ends++;
}

static int setup(void **state _unused_)
{
    struct error err;
    presence_begin(&own);
    ends = 0;
    if (loop_new(NULL, &loop, &err) < 0)
        fail_msg("%s", err.text);
    watch = (struct presence_watch){ .loop = loop, .on_end = on_end };
    return 0;
}

static int teardown(void **state _unused_)
{
    presence_forget(&watch);
    loop_free(loop);
    strbuf_release(&own);
    return 0;
}

/* Another process, and its identity. */
static pid_t start_other(struct strbuf *identity)
{
    int ends_of_pipe[2];
    char text[512];
    assert_int_equal(pipe(ends_of_pipe), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct strbuf mine = { 0 };
        presence_begin(&mine);
        if (write(ends_of_pipe[1], mine.text, mine.len) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    ssize_t len = read(ends_of_pipe[0], text, sizeof(text));
    assert_true(len > PRESENCE_UUID_LEN);
    strbuf_str(identity, (struct str){ text, (size_t)len });
    close(ends_of_pipe[0]);
    close(ends_of_pipe[1]);
    return pid;
}

static void end_other(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static enum presence look(const struct strbuf *other)
{
    return presence_look(&watch, strbuf_slice(&own), strbuf_slice(other));
}

static void test_identities(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf next = { 0 };
    presence_begin(&next);
    assert_string_not_equal(own.text, next.text);
    assert_int_equal(strlen(strrchr(own.text, '_') + 1), PRESENCE_UUID_LEN);
    assert_int_equal(strrchr(own.text, '_')[15], '8');
}

static void test_end_is_told(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf other = { 0 };
    pid_t pid = start_other(&other);
    assert_int_equal(look(&other), PRESENCE_RUNS);
    kill(pid, SIGSTOP);
    loop_turn(loop);
    assert_int_equal(look(&other), PRESENCE_RUNS);
    assert_int_equal(ends, 0);
    end_other(pid);
    loop_turn(loop);
    assert_int_equal(ends, 1);
    assert_int_equal(look(&other), PRESENCE_ENDED);
    presence_forget(&watch);
    assert_int_equal(look(&other), PRESENCE_ENDED); /* also for one who comes later */
    loop_turn(loop);
    assert_int_equal(ends, 1);
}

static void test_next_one(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf a = { 0 }, b = { 0 };
    pid_t first = start_other(&a), second = start_other(&b);
    assert_int_equal(look(&a), PRESENCE_RUNS);
    assert_int_equal(look(&b), PRESENCE_RUNS);
    end_other(first);
    loop_turn(loop);
    assert_int_equal(ends, 0);
    end_other(second);
    loop_turn(loop);
    assert_int_equal(ends, 1);
}

/* Whose process runs elsewhere, or who is no berth: no end is told from a name that nobody has here. */
static void test_unknown(void **state _unused_)
{
    static const char *const others[] = {
        "",
        "me",
        "_",
        "host_",
        "host_0badcafe-0000-8000-8000-000000000000",
        "host_7b2ee9a4-7c5a-4f0c-9df7-0d8e9ba6d0a1", /* of kube-scheduler */
    };
    _cleanup_(strbuf_release) struct strbuf other = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_int_equal(presence_look(&watch, strbuf_slice(&own), str_from(others[i])), PRESENCE_UNKNOWN);
    strbuf_str(&other, strbuf_slice(&own));
    other.text[other.len - PRESENCE_UUID_LEN] ^= 1; /* another machine */
    assert_int_equal(look(&other), PRESENCE_UNKNOWN);
    assert_int_equal(presence_look(&watch, STR("me"), strbuf_slice(&own)), PRESENCE_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_identities, setup, teardown),
        cmocka_unit_test_setup_teardown(test_end_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_next_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
