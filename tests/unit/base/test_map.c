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
    size_t seen = 0;
    map_for(&map, slot)
        seen++;
    assert_int_equal(seen, model_len);
    assert_true(map.map.cap <= 1024); /* churn does not grow it */
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

/* Entries come in the order in which they were added; one that is replaced stays where it is. */
static void test_order(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    static char values[2];
    uint64_t model[KEYS];
    size_t len = 0, at = 0;
    _cleanup_(idmap_release) struct idmap map = { 0 };
    for (size_t step = 0; step < STEPS / 4; step++) {
        uint64_t key = colliding_key(rng_below(&rng, KEYS));
        for (at = 0; at < len && model[at] != key;)
            at++;
        if (rng_below(&rng, 10) < (step / 5000 % 2 ? 7 : 3)) {
            idmap_remove(&map, key);
            if (at < len)
                memmove(&model[at], &model[at + 1], (--len - at) * sizeof(*model));
        } else {
            idmap_put(&map, key, &values[rng_below(&rng, 2)]);
            if (at == len)
                model[len++] = key;
        }
        if (step % 97)
            continue;
        at = 0;
        map_for(&map, slot)
            assert_true(slot->key == model[at++]);
        assert_int_equal(at, len);
    }
}

/* Entries are removed while the map is read: the present one, earlier ones and later ones. */
static void test_removal_while_reading(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    static char value;
    for (size_t round = 0; round < 200; round++) {
        _cleanup_(idmap_release) struct idmap map = { 0 };
        bool there[KEYS] = { 0 }, all = round % 2;
        size_t len = 1 + rng_below(&rng, KEYS), seen = 0, expected_min = 0;
        for (size_t i = 0; i < len; i++) {
            idmap_put(&map, i, &value);
            there[i] = true;
        }
        map_for(&map, slot) {
            assert_true(there[slot->key]);
            assert_true(slot->key >= expected_min);
            expected_min = slot->key + 1;
            seen++;
            size_t gone = all ? slot->key : rng_below(&rng, len);
            there[gone] = false;
            idmap_remove(&map, gone);
        }
        assert_true(all ? seen == len && !map.len : seen <= len);
        for (size_t i = 0; i < len; i++)
            assert_true(there[i] == (idmap_get(&map, i) != NULL));
    }
}

/* Memory returns: all of it when the last entry leaves, most of it once an entry comes after most have left. */
static void test_memory_returns(void **state)
{
    (void)state;
    static char value;
    _cleanup_(idmap_release) struct idmap map = { 0 };
    for (uint64_t i = 0; i < 20000; i++)
        idmap_put(&map, i, &value);
    for (uint64_t i = 0; i < 20000; i++)
        idmap_remove(&map, i);
    assert_int_equal(map.map.cap, 0);
    for (uint64_t i = 0; i < 20000; i++)
        idmap_put(&map, i, &value);
    for (uint64_t i = 0; i < 19990; i++)
        idmap_remove(&map, i);
    idmap_put(&map, 0, &value);
    assert_int_equal(map.len, 11);
    assert_true(map.map.cap <= 16);
}

/* ---- keys that collide on purpose ---- */

enum { COLLIDING = 20000 };

static uint64_t mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Texts with one and the same str_hash(), which is public: the second word undoes what the first did. */
static struct str *colliding_texts(void)
{
    static char bytes[COLLIDING][16];
    static struct str texts[COLLIDING];
    for (uint64_t i = 0; i < COLLIDING; i++) {
        uint64_t second = mix(16 * 0x9e3779b97f4a7c15u ^ i, 0xa0761d6478bd642fu) ^ 42;
        memcpy(bytes[i], &i, 8);
        memcpy(bytes[i] + 8, &second, 8);
        texts[i] = (struct str){ bytes[i], 16 };
    }
    return texts;
}

/* An entry is passed by few lookups, whichever keys there are: an index that is half full has fewer than one step per
 * lookup on average. */
static void test_keys_do_not_collide_on_purpose(void **state)
{
    (void)state;
    struct str *texts = colliding_texts();
    _cleanup_(strmap_release) struct strmap names = { 0 };
    for (size_t i = 0; i < COLLIDING; i++) {
        assert_true(str_hash(texts[i]) == str_hash(texts[0]));
        assert_null(strmap_put(&names, texts[i], &texts[i]));
    }
    assert_int_equal(names.len, COLLIDING);
    assert_true(strmap_steps(&names) < 2 * COLLIDING);
    for (size_t i = 0; i < COLLIDING; i += 2)
        assert_ptr_equal(strmap_remove(&names, texts[i]), &texts[i]);
    assert_true(strmap_steps(&names) < 2 * COLLIDING);

    /* Texts that differ in few bits, at any of the places of any length. */
    for (uint32_t len = 3; len <= 64; len++) {
        static char bytes[8192][64];
        _cleanup_(strmap_release) struct strmap similar = { 0 };
        for (size_t i = 0; i < ARRAY_SIZE(bytes); i++) {
            memset(bytes[i], 'a', sizeof(bytes[i]));
            for (uint32_t bit = 0; bit < 13; bit++)
                bytes[i][bit * (len - 1) / 13] ^= (char)((i >> bit & 1) << (len < 13 ? bit % 8 : 7));
            strmap_put(&similar, (struct str){ bytes[i], len }, bytes);
        }
        assert_true(strmap_steps(&similar) < 2 * similar.len + 16);
    }
    for (int shift = 0; shift < 64; shift++) {
        _cleanup_(idmap_release) struct idmap ids = { 0 };
        for (uint64_t i = 0; i < 8192; i++)
            idmap_put(&ids, i << shift | i >> 1, texts);
        assert_true(idmap_steps(&ids) < 2 * ids.len + 16);
    }
}

/* Two processes hash differently: what depends on it cannot be foreseen. Here, the values are at least not the public
 * ones, and they are the same as often as they are asked for. */
static void test_hash_is_keyed(void **state)
{
    (void)state;
    char text[80];
    memset(text, 'x', sizeof(text));
    for (uint32_t len = 0; len <= sizeof(text); len++) {
        struct str key = { text, len };
        assert_true(table_hash(key) == table_hash(key));
        assert_true(table_hash(key) != str_hash(key));
        for (uint32_t at = 0; at < len; at++) { /* every byte counts */
            uint64_t before = table_hash(key);
            text[at] ^= 1;
            assert_true(table_hash(key) != before);
            text[at] ^= 1;
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Neither names that count up nor texts of one byte, of which some are longer than others. */
static void test_lengths_do_not_collide(void **state)
{
    (void)state;
    enum { NAMES = 20000, BYTES = 256, LENGTHS = 40 };
    static uint64_t hashes[NAMES + BYTES * LENGTHS];
    size_t len = 0;
    char text[LENGTHS];
    for (; len < NAMES; len++) {
        snprintf(text, sizeof(text), "o%zu", len);
        hashes[len] = table_hash(str_from(text));
    }
    for (int byte = 0; byte < BYTES; byte++)
        for (uint32_t i = 1; i <= LENGTHS; i++) {
            memset(text, byte, i);
            hashes[len++] = table_hash((struct str){ text, i });
        }
    qsort(hashes, len, sizeof(*hashes), by_value);
    for (size_t i = 1; i < len; i++)
        assert_true(hashes[i] != hashes[i - 1]);
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
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_removal_while_reading),
        cmocka_unit_test(test_memory_returns),
        cmocka_unit_test(test_keys_do_not_collide_on_purpose),
        cmocka_unit_test(test_hash_is_keyed),
        cmocka_unit_test(test_lengths_do_not_collide),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_make),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
