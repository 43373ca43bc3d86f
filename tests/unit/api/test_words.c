/* A common string is not copied; any other string is copied unchanged. */
#include "support/test.h"

#include "api/words.h"

static const struct {
    const char *text;
    size_t copied_bytes;
} cases[] = {
    { "", 0 },
    { "v1", 0 },
    { "kubernetes.io/hostname", 0 },
    { "NoExecute", 0 },
    { "0", 0 },
    { "kubernetes.io/hostnames", 24 },
    { "noexecute", 10 },
    { "node-1", 7 },
    { "1", 2 },
    { "kubernetes.io/a-key-that-is-longer-than-any-word-of-the-list-could-ever-be", 75 },
};

static void test_keep(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(arena_release) struct arena arena = { 0 };
        char text[128];
        snprintf(text, sizeof(text), "%s", cases[i].text);
        struct str kept = words_keep(&arena, str_from(text));
        memset(text, 'X', sizeof(text));
        assert_non_null(kept.ptr);
        assert_str(kept, cases[i].text);
        assert_int_equal(kept.ptr[kept.len], '\0');
        assert_int_equal(arena_used(&arena), cases[i].copied_bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_keep) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
