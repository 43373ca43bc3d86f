/* Both maps agree with a plain table in long random runs of put, replace, get and remove. */
#include "support/test.h"

#include "base/map.h"

enum { KEYS = 300, STEPS = 200000 };

/* Keys that collide: small ones, multiples of large powers of two, and the extremes. */
static uint64_t colliding_key(size_t i)
{
    switch (i % 4) {
    case 0:
        return i;
    case 1:
        return (uint64_t)i << 32;
    case 2:
        return (uint64_t)i << 56 | i;
    default:
        return UINT64_MAX - i;
    }
}

static size_t count_slots(const struct map_slot *slots, size_t cap)
{
    size_t used = 0;
    for (size_t i = 0; i < cap; i++)
        used += slots[i].value != NULL;
    return used;
}

static void test_idmap_against_model(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    static char values[16];
    void *model[KEYS] = { 0 };
    size_t model_len = 0;
    _cleanup_(idmap_release) struct idmap map = { 0 };
    for (size_t step = 0; step < STEPS; step++) {
        size_t i = rng_below(&rng, KEYS);
        void *value = &values[rng_below(&rng, ARRAY_SIZE(values))], *before = model[i];
        /* Long phases of growth and of shrinking, so that every fill level is visited. */
        bool remove = rng_below(&rng, 10) < (step / 20000 % 2 ? 8 : 2);
        assert_ptr_equal(idmap_get(&map, colliding_key(i)), before);
        if (remove) {
            assert_ptr_equal(idmap_remove(&map, colliding_key(i)), before);
            model[i] = NULL;
        } else {
            assert_ptr_equal(idmap_put(&map, colliding_key(i), value), before);
            model[i] = value;
        }
        model_len = model_len + (model[i] && !before) - (!model[i] && before);
        assert_int_equal(map.len, model_len);
        if (step % 997 == 0)
            for (size_t k = 0; k < KEYS; k++)
                assert_ptr_equal(idmap_get(&map, colliding_key(k)), model[k]);
    }
    assert_int_equal(count_slots(map.slots, map.cap), model_len);
    assert_true(map.cap <= 1024); /* churn does not grow it */
}

static void test_strmap_against_model(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    char names[KEYS][24];
    for (size_t i = 0; i < KEYS; i++)
        snprintf(names[i], sizeof(names[i]), i % 2 ? "k%zu" : "app.kubernetes.io/%zu", i);
    names[0][0] = '\0'; /* the empty string is a valid key */
    void *model[KEYS] = { 0 };
    size_t model_len = 0;
    _cleanup_(strmap_release) struct strmap map = { 0 };
    for (size_t step = 0; step < STEPS; step++) {
        size_t i = rng_below(&rng, KEYS);
        char lookup[24];
        memcpy(lookup, names[i], sizeof(lookup)); /* found by text, not by address */
        struct str key = str_from(lookup);
        void *before = model[i];
        assert_ptr_equal(strmap_get(&map, key), before);
        if (rng_below(&rng, 10) < (step / 20000 % 2 ? 8 : 2)) {
            assert_ptr_equal(strmap_remove(&map, key), before);
            model[i] = NULL;
        } else {
            assert_ptr_equal(strmap_put(&map, str_from(names[i]), names[i]), before);
            model[i] = names[i];
        }
        model_len = model_len + (model[i] && !before) - (!model[i] && before);
        assert_int_equal(map.len, model_len);
    }
    size_t seen = 0;
    map_for(&map, slot) {
        assert_str(slot->name, slot->value);
        seen++;
    }
    assert_int_equal(seen, model_len);
}

static void test_empty(void **state)
{
    (void)state;
    struct idmap ids = { 0 };
    assert_null(idmap_get(&ids, 0));
    assert_null(idmap_remove(&ids, 0));
    map_for(&ids, slot)
        fail_msg("an empty map has no slot at %p", (void *)slot);
    idmap_release(&ids);
    struct strmap names = { 0 };
    assert_null(strmap_get(&names, STR("a")));
    assert_null(strmap_remove(&names, STR("")));
    strmap_release(&names);
}

/* An entry is made once, and owns a copy of its key. */
static void test_make(void **state)
{
    (void)state;
    struct entry {
        struct str key;
        int count;
    };
    struct strmap map = { 0 };
    for (int i = 0; i < 6; i++) {
        char key[] = { (char)('a' + i % 2), 'x' };
        struct entry *entry = strmap_make(&map, (struct str){ key, (uint32_t)(i % 3) }, sizeof(*entry));
        entry->count++;
    }
    assert_int_equal(map.len, 5); /* "", which comes twice, "a", "ax", "b", "bx" */
    assert_int_equal(((struct entry *)strmap_get(&map, STR("")))->count, 2);
    assert_int_equal(((struct entry *)strmap_get(&map, STR("bx")))->count, 1);
    map_for(&map, slot) {
        assert_str(((struct entry *)slot->value)->key, slot->name.ptr);
        free(slot->value);
    }
    strmap_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idmap_against_model),
        cmocka_unit_test(test_strmap_against_model),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_make),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
