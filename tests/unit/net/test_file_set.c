/* Files of a set: each is read again; one that cannot be read or used is reported once and leaves the others. Files
 * that hang are in tests/cli/test_files.py. */
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/thread.h"
#include "net/file.h"
#include "net/file_set.h"
#include "support/test.h"

enum { COUNT = 2 };

struct fixture {
    struct loop *loop;
    struct file_set *set;
    char dir[32], paths[COUNT][64];
    struct monitor monitor;
    char texts[COUNT][64]; /* that were taken last */
    char refused[64];
    int takes, problems, recoveries;
};

static int take(void *user, struct file_reading *readings, struct error *err)
{
    struct fixture *f = user;
    int r = 0;
    monitor_lock(&f->monitor);
    f->takes++;
    for (int i = 0; i < COUNT; i++) {
        assert_string_equal(readings[i].path, f->paths[i]);
        if (readings[i].result < 0)
            assert_int_equal(readings[i].text.len, 0);
        else
            snprintf(f->texts[i], sizeof(f->texts[i]), "%s",
                     readings[i].text.len ? readings[i].text.text : "");
        if (readings[i].result == 0 && f->refused[0] && strcmp(f->texts[i], f->refused) == 0)
            r = error_set(err, -EINVAL, "%s is refused", readings[i].path);
    }
    monitor_wake(&f->monitor);
    monitor_unlock(&f->monitor);
    return r;
}

static void on_problem(void *user, const char *sentence)
{
    struct fixture *f = user;
    monitor_lock(&f->monitor);
    f->problems += sentence != NULL;
    f->recoveries += sentence == NULL;
    monitor_wake(&f->monitor);
    monitor_unlock(&f->monitor);
}

static void put(struct fixture *f, int i, const char *text)
{
    struct error err;
    assert_int_equal(file_write(f->paths[i], str_from(text), 0600, &err), 0);
}

static void begin(struct fixture *f)
{
    struct error err;
    *f = (struct fixture){ .dir = "/tmp/berth-test-XXXXXX" };
    assert_non_null(mkdtemp(f->dir));
    monitor_init(&f->monitor);
    const char *paths[COUNT];
    for (int i = 0; i < COUNT; i++) {
        snprintf(f->paths[i], sizeof(f->paths[i]), "%s/%d", f->dir, i);
        paths[i] = f->paths[i];
        put(f, i, "first");
    }
    assert_int_equal(loop_new("io", &f->loop, &err), 0);
    f->set = file_set_new(&(struct file_set_options){ .paths = paths,
                                                      .count = COUNT,
                                                      .bytes_max = 32,
                                                      .interval_ms = 5,
                                                      .take = take,
                                                      .on_problem = on_problem,
                                                      .user = f });
}

static void end(struct fixture *f)
{
    file_set_free(f->set);
    loop_free(f->loop);
    monitor_release(&f->monitor);
    for (int i = 0; i < COUNT; i++)
        unlink(f->paths[i]);
    rmdir(f->dir);
}

#define WAIT(f, condition) \
    do { \
        monitor_lock(&(f)->monitor); \
        while (!(condition)) \
            monitor_wait(&(f)->monitor, INT64_MAX); \
        monitor_unlock(&(f)->monitor); \
    } while (0)

static void test_changes(void **state _unused_)
{
    struct fixture f;
    struct error err;
    begin(&f);
    assert_int_equal(file_set_read(f.set, &err), 0);
    assert_string_equal(f.texts[1], "first");
    file_set_start(f.set, f.loop);
    put(&f, 1, "second");
    WAIT(&f, strcmp(f.texts[1], "second") == 0);
    assert_string_equal(f.texts[0], "first");
    assert_int_equal(file_set_check(f.set, &err), 0);
    assert_int_equal(file_set_check(NULL, &err), 0);
    end(&f);
    assert_int_equal(f.problems, 0);
}

/* The other file goes on; the problem is told once, and its end. */
static void test_a_file_that_cannot_be_read(void **state _unused_)
{
    struct fixture f;
    struct error err;
    begin(&f);
    assert_int_equal(file_set_read(f.set, &err), 0);
    file_set_start(f.set, f.loop);
    put(&f, 0, "longer than thirty-two bytes, which is the bound");
    WAIT(&f, f.problems);
    assert_int_equal(file_set_check(f.set, &err), -EFBIG);
    assert_non_null(strstr(err.text, f.paths[0]));
    put(&f, 1, "second");
    WAIT(&f, strcmp(f.texts[1], "second") == 0);
    int takes = f.takes;
    WAIT(&f, f.takes > takes + 3);
    assert_int_equal(f.problems, 1);
    unlink(f.paths[0]);
    WAIT(&f, f.problems == 2);
    assert_int_equal(file_set_check(f.set, &err), -ENOENT);
    put(&f, 0, "third");
    WAIT(&f, f.recoveries);
    assert_int_equal(file_set_check(f.set, &err), 0);
    assert_string_equal(f.texts[0], "third");
    end(&f);
}

static void test_a_text_that_cannot_be_used(void **state _unused_)
{
    struct fixture f;
    struct error err;
    begin(&f);
    snprintf(f.refused, sizeof(f.refused), "second");
    assert_int_equal(file_set_read(f.set, &err), 0);
    file_set_start(f.set, f.loop);
    put(&f, 1, "second");
    WAIT(&f, f.problems);
    assert_int_equal(file_set_check(f.set, &err), -EINVAL);
    assert_non_null(strstr(err.text, "is refused"));
    put(&f, 1, "third");
    WAIT(&f, f.recoveries);
    end(&f);
}

/* A page about health may be asked for while its server ends. */
static void test_what_is_stopped_can_be_asked(void **state _unused_)
{
    struct fixture f;
    struct error err;
    begin(&f);
    snprintf(f.refused, sizeof(f.refused), "second");
    file_set_start(f.set, f.loop);
    put(&f, 1, "second");
    WAIT(&f, f.problems);
    file_set_stop(f.set);
    file_set_stop(f.set);
    file_set_stop(NULL);
    int takes = f.takes;
    put(&f, 1, "third");
    assert_int_equal(file_set_check(f.set, &err), -EINVAL);
    end(&f);
    assert_int_equal(f.takes, takes);
}

static void test_the_first_reading_fails(void **state _unused_)
{
    struct fixture f;
    struct error err;
    begin(&f);
    unlink(f.paths[1]);
    assert_int_equal(file_set_read(f.set, &err), -ENOENT);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_a_file_that_cannot_be_read),
        cmocka_unit_test(test_a_text_that_cannot_be_used),
        cmocka_unit_test(test_what_is_stopped_can_be_asked),
        cmocka_unit_test(test_the_first_reading_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
