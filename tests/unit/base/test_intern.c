/* Equal strings share a number while a reference exists; freed numbers are reused; memory stays flat. */
#include "support/test.h"

#include "base/intern.h"

static void test_same_text_same_number(void **state)
{
    (void)state;
    _cleanup_(intern_release) struct intern table = { 0 };
    assert_int_equal(intern_find(&table, STR("zone")), SYM_NONE);
    char text[] = "zone";
    sym zone = intern_get(&table, str_from(text));
    text[0] = 'X'; /* the table keeps a copy */
    assert_int_not_equal(zone, SYM_NONE);
    assert_int_equal(intern_get(&table, STR("zone")), zone);
    assert_int_equal(intern_find(&table, STR("zone")), zone);
    assert_int_not_equal(intern_get(&table, STR("region")), zone);
    assert_str(intern_text(&table, zone), "zone");
    assert_str(intern_text(&table, SYM_NONE), "");
    assert_null(intern_text(&table, SYM_NONE).ptr);
}

static void test_empty_string_is_a_string(void **state)
{
    (void)state;
    _cleanup_(intern_release) struct intern table = { 0 };
    sym empty = intern_get(&table, STR(""));
    assert_int_not_equal(empty, SYM_NONE);
    assert_non_null(intern_text(&table, empty).ptr);
    assert_int_equal(intern_find(&table, (struct str){ 0 }), empty);
}

static void test_references(void **state)
{
    (void)state;
    _cleanup_(intern_release) struct intern table = { 0 };
    sym a = intern_get(&table, STR("a"));
    intern_ref(&table, a);
    intern_unref(&table, a);
    assert_int_equal(intern_find(&table, STR("a")), a);
    intern_unref(&table, a);
    assert_int_equal(intern_find(&table, STR("a")), SYM_NONE);
    assert_int_equal(intern_get(&table, STR("b")), a); /* the number is reused */
    intern_unref(&table, SYM_NONE);
    intern_ref(&table, SYM_NONE);
}

/* Compared with a table of counts: names come and go at random, and numbers stay below the number of names. */
static void test_churn(void **state)
{
    (void)state;
    enum { NAMES = 100 };
    struct rng rng = test_rng();
    _cleanup_(intern_release) struct intern table = { 0 };
    size_t refs[NAMES] = { 0 };
    sym numbers[NAMES] = { 0 };
    char name[16];
    for (int step = 0; step < 100000; step++) {
        size_t i = rng_below(&rng, NAMES);
        snprintf(name, sizeof(name), "label-%zu", i);
        if (refs[i] && rng_below(&rng, 2)) {
            intern_unref(&table, numbers[i]);
            refs[i]--;
        } else {
            sym number = intern_get(&table, str_from(name));
            if (refs[i]++)
                assert_int_equal(number, numbers[i]);
            numbers[i] = number;
        }
        assert_int_equal(intern_find(&table, str_from(name)), refs[i] ? numbers[i] : SYM_NONE);
        if (refs[i])
            assert_str(intern_text(&table, numbers[i]), name);
    }
    assert_true(table.entries.len <= NAMES + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_text_same_number),
        cmocka_unit_test(test_empty_string_is_a_string),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_churn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
