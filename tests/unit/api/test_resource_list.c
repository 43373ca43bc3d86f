/* Joined lists stay sorted, have each name once, and do not change the other list. */
#include "support/test.h"

#include "api/resource_list.h"

enum { NAMES = 40 };

static struct str name_of(unsigned i)
{
    static char names[NAMES][8];
    if (!names[i][0])
        snprintf(names[i], sizeof(names[i]), "r%02u", i);
    return str_from(names[i]);
}

static int64_t joined(enum resource_join join, int64_t there, int64_t other)
{
    switch (join) {
    case RESOURCE_SUM:
        return there + other;
    case RESOURCE_MAX:
        return MAX(there, other);
    case RESOURCE_REPLACE:
        return other;
    case RESOURCE_KEEP:
        break;
    }
    return there;
}

/* Many small lists joined into one, compared with a plain array of numbers. */
static void test_join(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct arena arena = { 0 };
    for (int round = 0; round < 500; round++) {
        struct resource_list list = { 0 };
        int64_t want[NAMES];
        bool there[NAMES] = { 0 };
        for (unsigned step = 0; step < 8; step++) {
            enum resource_join join = (enum resource_join)rng_below(&rng, 4);
            struct resource items[NAMES];
            struct resource_list other = { items, 0 };
            for (unsigned i = 0; i < NAMES; i++) {
                if (rng_below(&rng, 6))
                    continue;
                int64_t amount = (int64_t)rng_below(&rng, 100);
                items[other.len++] = (struct resource){ name_of(i), quantity_from_int(amount) };
                want[i] = there[i] ? joined(join, want[i], amount) : amount;
                there[i] = true;
            }
            resource_list_join(&list, &other, join, &arena);
        }
        uint32_t at = 0;
        for (unsigned i = 0; i < NAMES; i++) {
            assert_int_equal(resource_list_get(&list, name_of(i)) != NULL, there[i]);
            if (!there[i])
                continue;
            assert_true(str_eq(list.items[at].name, name_of(i)));
            assert_int_equal(quantity_value(list.items[at++].amount), want[i]);
        }
        assert_int_equal(list.len, at);
        arena_reset(&arena);
    }
    arena_release(&arena);
}

static void test_amount(void **state)
{
    (void)state;
    struct resource items[] = { { STR("cpu"), { 2, 0 } } };
    struct resource_list list = { items, 1 };
    assert_int_equal(resource_list_amount(&list, STR("cpu")).units, 2);
    assert_true(quantity_is_zero(resource_list_amount(&list, STR("memory"))));
    assert_null(resource_list_get(&(struct resource_list){ 0 }, STR("cpu")));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_join), cmocka_unit_test(test_amount) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
