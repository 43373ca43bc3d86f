/* Reading and writing of files, and errors. */
#include "unit/net/harness.h"

#include <sys/stat.h>

static void test_reads(void **state _unused_)
{
    char dir[64], path[512];
    struct error err;
    struct strbuf text = { 0 };
    dir_make(dir);
    FILE *file = fopen(in_dir(dir, "a", path), "w");
    for (int i = 0; i < 5000; i++)
        fputs("0123456789", file);
    fclose(file);
    strbuf_puts(&text, "before ");
    assert_int_equal(file_read(path, 50000, &text, &err), 0);
    assert_int_equal(text.len, 50007);
    assert_memory_equal(text.text, "before 0123", 11);

    /* An error leaves the buffer unchanged. */
    assert_int_equal(file_read(path, 49999, &text, &err), -EFBIG);
    assert_int_equal(text.len, 50007);
    assert_non_null(strstr(err.text, "is longer than 49999 bytes"));
    assert_int_equal(file_read(in_dir(dir, "b", path), 10, &text, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/b: No such file"));
    assert_int_equal(file_read(dir, 10, &text, &err), -EINVAL);
    assert_int_equal(mkfifo(in_dir(dir, "pipe", path), 0600), 0);
    assert_int_equal(file_read(path, 10, &text, &err), -EINVAL); /* and does not block on a FIFO */
    assert_int_equal(file_read("/dev/zero", 10, &text, &err), -EINVAL);
    strbuf_release(&text);
    dir_remove(dir);
}

static void test_writes(void **state _unused_)
{
    char dir[64], path[512];
    struct error err;
    struct strbuf text = { 0 };
    dir_make(dir);
    in_dir(dir, "a", path);
    assert_int_equal(file_write(path, STR("the first"), 0666, &err), 0);
    assert_int_equal(file_write(path, STR("second"), 0666, &err), 0);
    assert_int_equal(file_read(path, 100, &text, &err), 0);
    assert_string_equal(text.text, "second");
    assert_int_equal(file_write("/nowhere/at/all", STR("x"), 0666, &err), -ENOENT);
    assert_string_equal(err.text, "/nowhere/at/all: No such file or directory");
    assert_int_equal(file_write("/dev/full", STR("x"), 0666, &err), -ENOSPC);
    strbuf_release(&text);
    dir_remove(dir);
}

/* A new file has its bytes and its mode at once, and follows no link that was put in its place. */
static void test_creates(void **state _unused_)
{
    char dir[64], path[512], link_path[512], target[512];
    struct error err;
    struct stat info;
    struct strbuf text = { 0 };
    dir_make(dir);
    in_dir(dir, "key", path);
    in_dir(dir, "link", link_path);
    in_dir(dir, "target", target);
    assert_int_equal(file_create(path, STR("secret"), 0600, &err), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(info.st_nlink, 1);
    assert_int_equal(file_read(path, 100, &text, &err), 0);
    assert_string_equal(text.text, "secret");
    assert_int_equal(file_create(path, STR("other"), 0600, &err), -EEXIST);
    assert_int_equal(symlink(target, link_path), 0);
    assert_int_equal(file_create(link_path, STR("secret"), 0600, &err), -EEXIST);
    assert_int_equal(access(target, F_OK), -1);
    assert_int_equal(file_create("/nowhere/at/all", STR("x"), 0600, &err), -ENOENT);
    strbuf_release(&text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(link_path), 0);
    assert_int_equal(rmdir(dir), 0); /* nothing else is left */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_reads), cmocka_unit_test(test_writes),
                                        cmocka_unit_test(test_creates) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
