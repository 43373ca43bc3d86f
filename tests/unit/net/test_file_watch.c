/* File watches: every way to replace a file is noticed, with real inotify, and a change is reported only when it is
 * complete. The clock is simulated, so that nothing depends on the speed of the machine. */
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "net/file.h"
#include "net/file_watch.h"
#include "support/test.h"

enum { SETTLE_MS = 1000, POLL_MS = 10000 };

struct fixture {
    const char *dir, *path;
    struct file_watch *watch;
    int64_t now_ms;
    struct error err;
};

/* ---- directories and files ---- */
static struct arena paths; /* of a test */

static const char *in(const char *dir, const char *name)
{
    return arena_printf(&paths, "%s/%s", dir, name).ptr;
}

static const char *new_dir(void)
{
    char *dir = arena_strndup(&paths, "/tmp/berth-test-XXXXXX", 22);
    assert_non_null(mkdtemp(dir));
    return dir;
}

static int remove_one(const char *path, const struct stat *info _unused_, int type _unused_,
                      struct FTW *at _unused_)
{
    return remove(path);
}

static void remove_dir(const char *dir)
{
    assert_int_equal(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void put(const char *path, const char *text)
{
    struct error err;
    if (file_write(path, str_from(text), 0666, &err) < 0)
        fail_msg("%s", err.text);
}

static void append(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void watch(struct fixture *f, const char *path, const char *known)
{
    f->watch = file_watch_new(
        &(struct file_watch_options){
            .path = path, .known = str_from(known), .settle_ms = SETTLE_MS, .poll_ms = POLL_MS },
        f->now_ms);
    assert_true(file_watch_fd(f->watch) >= 0);
}

static enum file_watch_news look(struct fixture *f)
{
    return file_watch_look(f->watch, f->now_ms, &f->err);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    f->now_ms = 5000000;
    f->dir = new_dir();
    f->path = in(f->dir, "config.yaml");
    put(f->path, "one");
    *state = f;
    return 0;
}

/* Most tests begin with a file that is already known. */
static int setup_watched(void **state)
{
    setup(state);
    struct fixture *f = *state;
    watch(f, f->path, "one");
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    assert_int_equal(file_watch_due_ms(f->watch), f->now_ms + POLL_MS);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    file_watch_free(f->watch);
    remove_dir(f->dir);
    arena_release(&paths);
    free(f);
    return 0;
}

/* The kernel reports, and the file is read soon, long before the next poll. */
static void assert_reported(struct fixture *f)
{
    struct pollfd fd = { .fd = file_watch_fd(f->watch), .events = POLLIN };
    assert_int_equal(poll(&fd, 1, 10000), 1);
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    assert_true(file_watch_due_ms(f->watch) < f->now_ms + 100);
    f->now_ms = file_watch_due_ms(f->watch);
}

static void assert_quiet(struct fixture *f)
{
    struct pollfd fd = { .fd = file_watch_fd(f->watch), .events = POLLIN };
    if (poll(&fd, 1, 0) == 1)
        assert_int_equal(look(f), FILE_WATCH_NOTHING);
    assert_int_equal(poll(&fd, 1, 0), 0);
}

/* From the report to the event. */
static void assert_becomes(struct fixture *f, enum file_watch_news want, const char *text)
{
    assert_reported(f);
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    f->now_ms += SETTLE_MS - 1;
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    f->now_ms += 1;
    assert_true(file_watch_due_ms(f->watch) <= f->now_ms);
    assert_int_equal(look(f), want);
    assert_true(str_is(file_watch_text(f->watch), text));
    f->now_ms += SETTLE_MS; /* and is not reported again */
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    assert_quiet(f);
}

static void written_in_place(void **state)
{
    struct fixture *f = *state;
    put(f->path, "two");
    assert_becomes(f, FILE_WATCH_CHANGED, "two");
    append(f->path, "three");
    assert_becomes(f, FILE_WATCH_CHANGED, "twothree");
    put(f->path, "one");
    assert_becomes(f, FILE_WATCH_CHANGED, "one");
}

/* A change between the caller's read and the start of the watch. */
static void changed_before_it_is_watched(void **state)
{
    struct fixture *f = *state;
    watch(f, f->path, "zero");
    assert_true(file_watch_due_ms(f->watch) <= f->now_ms);
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    f->now_ms = file_watch_due_ms(f->watch);
    assert_int_equal(look(f), FILE_WATCH_CHANGED);
    assert_true(str_is(file_watch_text(f->watch), "one"));
}

static void same_bytes_are_no_change(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(utimensat(AT_FDCWD, f->path, NULL, 0), 0);
    put(f->path, "one");
    assert_int_equal(chmod(f->path, 0600), 0);
    assert_reported(f);
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    assert_int_equal(file_watch_due_ms(f->watch), f->now_ms + POLL_MS);
    /* Nor is a change that was reverted at once. */
    put(f->path, "two");
    assert_reported(f);
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    put(f->path, "one");
    assert_reported(f);
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    f->now_ms += 2 * SETTLE_MS;
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
}

static void written_in_steps(void **state)
{
    static const char *const steps[] = { "", "kind: Kube", "SchedulerConfiguration\n", "profiles:\n",
                                         "- {}\n" };
    struct fixture *f = *state;
    put(f->path, "");
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        append(f->path, steps[i]);
        assert_reported(f);
        assert_int_equal(look(f), FILE_WATCH_NOTHING);
        f->now_ms += SETTLE_MS - 100; /* slow, but each step comes before the file counts as settled */
        assert_int_equal(look(f), FILE_WATCH_NOTHING);
    }
    f->now_ms += 100;
    assert_int_equal(look(f), FILE_WATCH_CHANGED);
    assert_true(str_is(file_watch_text(f->watch), "kind: KubeSchedulerConfiguration\nprofiles:\n- {}\n"));
}

static void rename_over(const char *dir, const char *path, const char *text)
{
    const char *other = in(dir, ".config.yaml.swp");
    put(other, text);
    assert_int_equal(rename(other, path), 0);
}

/* As editors, sed -i and kubectl cp do it: the file has another inode each time. */
static void replaced_by_rename(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = { "two", "three", "four" };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        rename_over(f->dir, f->path, texts[i]);
        assert_becomes(f, FILE_WATCH_CHANGED, texts[i]);
    }
    put(f->path, "five");
    assert_becomes(f, FILE_WATCH_CHANGED, "five");
}

/* As vim does it with backups: moves the old file away, then writes a new one. */
static void moved_away_and_written_again(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(rename(f->path, in(f->dir, "config.yaml~")), 0);
    assert_reported(f);
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    put(f->path, "two");
    assert_becomes(f, FILE_WATCH_CHANGED, "two");
}

/* ---- a ConfigMap ---- */
struct volume {
    const char *dir, *data, *path;
    int number;
};

/* What kubelet's atomic writer does. */
static void volume_write(struct volume *v, const char *text)
{
    char before[64];
    ssize_t len = readlink(v->data, before, sizeof(before) - 1);
    const char *name = arena_printf(&paths, "..2026_11_15_09_00_%d", v->number++).ptr;
    assert_int_equal(mkdir(in(v->dir, name), 0755), 0);
    put(in(in(v->dir, name), "config.yaml"), text);
    assert_int_equal(symlink(name, in(v->dir, "..data_tmp")), 0);
    assert_int_equal(rename(in(v->dir, "..data_tmp"), v->data), 0);
    if (len > 0) {
        before[len] = '\0';
        remove_dir(in(v->dir, before));
    }
}

static void volume_make(struct volume *v, const char *text)
{
    v->dir = new_dir();
    v->data = in(v->dir, "..data");
    v->path = in(v->dir, "config.yaml");
    volume_write(v, text);
    assert_int_equal(symlink("..data/config.yaml", v->path), 0);
}

static void config_maps_are_swapped(void **state)
{
    static const char *const texts[] = { "two", "three", "four", "five" };
    struct fixture *f = *state;
    struct volume v = { 0 };
    volume_make(&v, "one");
    watch(f, v.path, "one");
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        volume_write(&v, texts[i]);
        assert_becomes(f, FILE_WATCH_CHANGED, texts[i]);
    }
    volume_write(&v, "five"); /* another link target, the same content */
    assert_reported(f);
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    assert_int_equal(file_watch_due_ms(f->watch), f->now_ms + POLL_MS);
    volume_write(&v, "six");
    volume_write(&v, "seven");
    assert_becomes(f, FILE_WATCH_CHANGED, "seven");
    remove_dir(v.dir);
}

/* /x/link ─▶ ../y/chain ─▶ (absolute) file; and a directory in the path that is a link. */
static void chains_of_links(void **state)
{
    struct fixture *f = *state;
    const char *x = new_dir(), *y = new_dir();
    const char *link_x = in(x, "link"), *link_y = in(y, "chain"), *other = in(y, "other");
    assert_int_equal(symlink(f->path, link_y), 0);
    assert_int_equal(symlink(arena_printf(&paths, "../%s/chain", strrchr(y, '/') + 1).ptr, link_x), 0);
    watch(f, link_x, "one");
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    put(f->path, "two");
    assert_becomes(f, FILE_WATCH_CHANGED, "two");
    put(other, "three");
    assert_int_equal(unlink(link_y), 0);
    assert_int_equal(symlink("other", link_y), 0);
    assert_becomes(f, FILE_WATCH_CHANGED, "three");
    put(f->path, "no longer watched");
    assert_quiet(f);
    put(other, "four");
    assert_becomes(f, FILE_WATCH_CHANGED, "four");
    file_watch_free(f->watch);

    const char *folder = in(x, "folder");
    assert_int_equal(symlink(f->dir, folder), 0);
    watch(f, in(folder, "config.yaml"), "no longer watched");
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    put(in(y, "config.yaml"), "five");
    assert_int_equal(unlink(folder), 0);
    assert_int_equal(symlink(y, folder), 0);
    assert_becomes(f, FILE_WATCH_CHANGED, "five");
    remove_dir(x);
    remove_dir(y);
}

/* ---- missing files ---- */
static void deleted_and_created_again(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(unlink(f->path), 0);
    assert_becomes(f, FILE_WATCH_LOST, "one");
    assert_non_null(strstr(f->err.text, "config.yaml: No such file"));
    f->now_ms += 10 * POLL_MS;
    assert_int_equal(look(f), FILE_WATCH_NOTHING); /* reported once */
    put(f->path, "one");
    assert_reported(f);
    assert_int_equal(look(f), FILE_WATCH_BACK);
    assert_int_equal(unlink(f->path), 0);
    assert_becomes(f, FILE_WATCH_LOST, "one");
    put(f->path, "two");
    assert_becomes(f, FILE_WATCH_CHANGED, "two");
}

static void an_unreadable_file_is_lost(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(mkfifo(f->path, 0600), 0);
    assert_becomes(f, FILE_WATCH_LOST, "one");
    assert_non_null(strstr(f->err.text, "is not a regular file"));
    file_watch_free(f->watch);
    assert_int_equal(unlink(f->path), 0);
    put(f->path, "eleven byte");
    f->watch = file_watch_new(
        &(struct file_watch_options){ .path = f->path, .bytes_max = 10, .settle_ms = 1, .poll_ms = POLL_MS },
        0);
    f->now_ms = 0;
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    f->now_ms = 1;
    assert_int_equal(look(f), FILE_WATCH_LOST);
    assert_non_null(strstr(f->err.text, "is longer than 10 bytes"));
}

/* Without inotify reports the poll finds the file: here the directory is created after the watch. */
static void polling_finds_it(void **state)
{
    struct fixture *f = *state;
    const char *dir = in(f->dir, "later"), *path = in(dir, "config.yaml");
    watch(f, path, "one");
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    f->now_ms += SETTLE_MS;
    assert_int_equal(look(f), FILE_WATCH_LOST);
    assert_int_equal(mkdir(dir, 0755), 0);
    put(path, "two");
    f->now_ms += POLL_MS - 1;
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    f->now_ms += 1;
    assert_int_equal(file_watch_due_ms(f->watch), f->now_ms);
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    f->now_ms += SETTLE_MS;
    assert_int_equal(look(f), FILE_WATCH_CHANGED);
    put(path, "three"); /* from now on inotify watches it */
    assert_becomes(f, FILE_WATCH_CHANGED, "three");
}

static void other_files_are_ignored(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 100; i++)
        put(in(f->dir, "config.yml"), "noise");
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    assert_true(file_watch_due_ms(f->watch) >= f->now_ms + POLL_MS);
}

static void strange_paths(void **state)
{
    struct fixture *f = *state;
    char far[5000];
    assert_int_equal(symlink("b", in(f->dir, "a")), 0);
    assert_int_equal(symlink("a", in(f->dir, "b")), 0);
    memset(far, 'x', sizeof(far) - 1);
    far[0] = '/';
    far[sizeof(far) - 1] = '\0';
    const char *const paths_to_try[] = { in(f->dir, "a"), far, "/", "", "//..//", f->dir, "no/such/thing" };
    for (size_t i = 0; i < ARRAY_SIZE(paths_to_try); i++) {
        watch(f, paths_to_try[i], "one");
        assert_int_equal(look(f), FILE_WATCH_NOTHING);
        f->now_ms += SETTLE_MS;
        assert_int_equal(look(f), FILE_WATCH_LOST);
        file_watch_free(f->watch);
        f->watch = NULL;
    }
}

/* ---- reading at once ---- */
static void read_at_once(void **state)
{
    struct fixture *f = *state;
    put(f->path, "two");
    assert_int_equal(file_watch_read(f->watch, f->now_ms, &f->err), 0);
    assert_true(str_is(file_watch_text(f->watch), "two"));
    assert_reported(f); /* the report comes late */
    f->now_ms += SETTLE_MS;
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(file_watch_read(f->watch, f->now_ms, &f->err), -ENOENT);
    assert_true(str_is(file_watch_text(f->watch), "two"));
    f->now_ms += POLL_MS;
    assert_int_equal(look(f), FILE_WATCH_NOTHING); /* already reported */
    put(f->path, "two");
    assert_int_equal(file_watch_read(f->watch, f->now_ms, &f->err), 0);
    f->now_ms += POLL_MS;
    assert_int_equal(look(f), FILE_WATCH_NOTHING);
}

#define WATCHED(name) cmocka_unit_test_setup_teardown(name, setup_watched, teardown)
#define PLAIN(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WATCHED(written_in_place),
        PLAIN(changed_before_it_is_watched),
        WATCHED(same_bytes_are_no_change),
        WATCHED(written_in_steps),
        WATCHED(replaced_by_rename),
        WATCHED(moved_away_and_written_again),
        PLAIN(config_maps_are_swapped),
        PLAIN(chains_of_links),
        WATCHED(deleted_and_created_again),
        WATCHED(an_unreadable_file_is_lost),
        PLAIN(polling_finds_it),
        WATCHED(other_files_are_ignored),
        PLAIN(strange_paths),
        WATCHED(read_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
