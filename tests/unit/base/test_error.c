/* An error is one printable line that names the place, whatever the input contains. */
#include "support/test.h"

#include "base/error.h"

static void test_set(void **state)
{
    (void)state;
    struct error err;
    assert_int_equal(error_set(&err, -EINVAL, "expected %s, found %d", "a string", 7), -EINVAL);
    assert_string_equal(err.text, "expected a string, found 7");
    assert_int_equal(error_set(NULL, -ENOENT, "not stored"), -ENOENT);
}

static void test_at(void **state)
{
    (void)state;
    struct error err;
    assert_int_equal(error_at(&err, -EINVAL, "c.yaml", 12, 5, "spec.replicas: expected %s", "a number"),
                     -EINVAL);
    assert_string_equal(err.text, "c.yaml:12:5: spec.replicas: expected a number");
    error_at(&err, -EINVAL, "c.json", 3, 0, "no");
    assert_string_equal(err.text, "c.json:3: no");
    error_at(&err, -EINVAL, "-", 0, 0, "is empty");
    assert_string_equal(err.text, "-: is empty");
    assert_int_equal(error_at(NULL, -EIO, "x", 1, 1, "not stored"), -EIO);
}

static void test_prefix(void **state)
{
    (void)state;
    struct error err;
    error_set(&err, -EINVAL, "unknown plugin \"X\"");
    error_prefix(&err, "profiles[%d]", 1);
    assert_string_equal(err.text, "profiles[1]: unknown plugin \"X\"");
    error_prefix(NULL, "nothing");
}

static void test_terminal_is_safe(void **state)
{
    (void)state;
    struct error err;
    error_set(&err, -EINVAL, "key %s", "a\x1b[2Jb\nc\x7f");
    assert_string_equal(err.text, "key a?[2Jb?c?");
    error_at(&err, -EINVAL, "bad\nname", 1, 0, "x");
    assert_string_equal(err.text, "bad?name:1: x");
    error_prefix(&err, "a\tb");
    assert_string_equal(err.text, "a?b: bad?name:1: x");
}

static void test_long_text_is_cut(void **state)
{
    (void)state;
    char name[5000];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    struct error err;
    error_set(&err, -EINVAL, "%s", name);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    error_at(&err, -EINVAL, name, 1, 1, "x");
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    error_prefix(&err, "%s", name);
    assert_true(strlen(err.text) < sizeof(err.text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_at),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_terminal_is_safe),
        cmocka_unit_test(test_long_text_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
