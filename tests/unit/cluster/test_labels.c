/* Labels and selectors as symbols match exactly as api/labels.h matches them as text, and release their symbols. */
#include "support/test.h"

#include "api/labels.h"
#include "base/vec.h"
#include "cluster/labels.h"

/* ---- random selectors ---- */
static const struct str keys[] = { STR("app"), STR("tier"), STR("zone"), STR("a"), STR("") };
/* Numbers of all kinds, since Gt and Lt read them. */
static const struct str values[] = { STR("web"),
                                     STR("db"),
                                     STR(""),
                                     STR("7"),
                                     STR("-3"),
                                     STR("+7"),
                                     STR("0x7"),
                                     STR("9223372036854775807"),
                                     STR("9223372036854775808"),
                                     STR("7 ") };
static const char *const operators[] = { "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "in" };

static struct str any(struct rng *rng, const struct str *list, size_t len)
{
    return list[rng_below(rng, len)];
}

/* Sorted and unique, as decoded maps are. */
static struct str_map random_map(struct rng *rng, struct arena *arena, uint32_t most)
{
    struct str_map map = { .items = arena_array(arena, struct pair, most + 1) };
    uint32_t wanted = (uint32_t)rng_below(rng, most + 1);
    while (map.len < wanted) {
        struct str key = any(rng, keys, ARRAY_SIZE(keys));
        uint32_t at = 0;
        while (at < map.len && str_cmp(map.items[at].key, key) < 0)
            at++;
        if (at < map.len && str_eq(map.items[at].key, key))
            continue;
        memmove(map.items + at + 1, map.items + at, (map.len - at) * sizeof(*map.items));
        map.items[at] = (struct pair){ key, any(rng, values, ARRAY_SIZE(values)) };
        map.len++;
    }
    return map;
}

static struct selector_requirement random_requirement(struct rng *rng, struct arena *arena)
{
    struct selector_requirement req = {
        .key = any(rng, keys, ARRAY_SIZE(keys)),
        .operator= str_from(operators[rng_below(rng, ARRAY_SIZE(operators))]),
    };
    req.op = selector_op_from(req.operator);
    req.values.len = (uint32_t)rng_below(rng, 4);
    req.values.items = arena_array(arena, struct str, req.values.len + 1);
    list_for(&req.values, value)
        *value = any(rng, values, ARRAY_SIZE(values));
    return req;
}

static struct label_selector *random_selector(struct rng *rng, struct arena *arena)
{
    if (rng_below(rng, 20) == 0)
        return NULL;
    struct label_selector *sel = arena_new(arena, struct label_selector);
    sel->match_labels = random_map(rng, arena, 2);
    sel->match_expressions.len = (uint32_t)rng_below(rng, 3);
    sel->match_expressions.items =
        arena_array(arena, struct selector_requirement, sel->match_expressions.len + 1);
    list_for(&sel->match_expressions, req)
        *req = random_requirement(rng, arena);
    sel->invalid = label_selector_check(sel, NULL) < 0; /* as the decoder does */
    return sel;
}

static void test_against_text(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct intern syms = { 0 };
    struct arena arena = { 0 };
    int matched = 0;
    for (int round = 0; round < 20000; round++) {
        struct str_map labels = random_map(&rng, &arena, 4);
        const struct label_selector *api = random_selector(&rng, &arena);
        struct label_set set;
        struct selector sel;
        label_set_init(&set, &syms, &labels);
        selector_init(&sel, &syms, &arena, api);
        bool want = label_selector_matches(api, &labels), got = selector_matches(&sel, &set, &syms);
        if (got != want)
            fail_msg("round %d: got %d, want %d", round, got, want);
        matched += want;
        label_set_release(&set, &syms);
        selector_release(&sel, &syms);
        assert_int_equal(syms.by_name.len, 0); /* every symbol was released */
        arena_reset(&arena);
    }
    assert_in_range(matched, 2000, 18000);
    arena_release(&arena);
    intern_release(&syms);
}

/* Requirements of node selectors: Gt and Lt compare numbers, and an invalid one makes the selector match nothing. */
static void test_requirements_against_text(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct intern syms = { 0 };
    struct arena arena = { 0 };
    for (int round = 0; round < 20000; round++) {
        struct str_map labels = random_map(&rng, &arena, 4);
        struct selector_requirement req = random_requirement(&rng, &arena);
        struct label_set set;
        struct selector sel = { 0 };
        label_set_init(&set, &syms, &labels);
        selector_add(&sel, &syms, &arena, &req, 1);
        bool want = requirement_matches(&req, &labels);
        if (selector_matches(&sel, &set, &syms) != want)
            fail_msg("round %d: " STR_FMT " " STR_FMT ": want %d", round, STR_ARG(req.key),
                     STR_ARG(req.operator), want);
        label_set_release(&set, &syms);
        selector_release(&sel, &syms);
        arena_reset(&arena);
    }
    assert_int_equal(syms.by_name.len, 0);
    arena_release(&arena);
    intern_release(&syms);
}

/* ---- by hand ---- */
static void test_set(void **state)
{
    (void)state;
    struct intern syms = { 0 };
    struct pair pairs[] = { { STR("a"), STR("") }, { STR("b"), STR("1") }, { STR("c"), STR("1") } };
    struct str_map labels = { pairs, ARRAY_SIZE(pairs) };
    struct label_set set, empty;
    sym other = intern_get(&syms, STR("b")); /* so that symbol numbers do not follow text order */
    label_set_init(&set, &syms, &labels);
    label_set_init(&empty, &syms, &(struct str_map){ 0 });
    for (uint32_t i = 1; i < set.len; i++)
        assert_true(set.items[i - 1].key < set.items[i].key);
    assert_str(intern_text(&syms, label_set_get(&set, intern_find(&syms, STR("a")))), "");
    assert_int_not_equal(label_set_get(&set, intern_find(&syms, STR("a"))), SYM_NONE); /* "" is a value */
    assert_int_equal(label_set_get(&set, other), intern_find(&syms, STR("1")));
    assert_int_equal(label_set_get(&empty, other), SYM_NONE);
    label_set_release(&set, &syms);
    label_set_release(&set, &syms); /* empty now */
    label_set_release(&empty, &syms);
    intern_unref(&syms, other);
    assert_int_equal(syms.by_name.len, 0);
    intern_release(&syms);
}

static void test_nothing_and_everything(void **state)
{
    (void)state;
    struct intern syms = { 0 };
    struct arena arena = { 0 };
    struct label_set none = { 0 };
    struct selector sel;
    selector_init(&sel, &syms, &arena, NULL);
    assert_false(selector_matches(&sel, &none, &syms));
    assert_false(selector_is_empty(&sel));
    selector_init(&sel, &syms, &arena, &(struct label_selector){ 0 });
    assert_true(selector_matches(&sel, &none, &syms));
    assert_true(selector_is_empty(&sel));
    struct pair pair = { STR("k"), STR("v") };
    selector_add_pairs(&sel, &syms, &arena, &pair, 1);
    assert_false(selector_matches(&sel, &none, &syms));
    assert_false(selector_is_empty(&sel));
    selector_release(&sel, &syms);
    assert_false(
        selector_matches(&sel, &none, &syms)); /* a released selector matches nothing, not everything */
    arena_release(&arena);
    intern_release(&syms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_text),
        cmocka_unit_test(test_requirements_against_text),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_nothing_and_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
