/* A bitmap agrees with an array of bools; the bits of a word come out in order. */
#include "support/test.h"

#include "base/bitmap.h"

enum { BITS = 200 };

static void test_words(void **state)
{
    (void)state;
    static const struct {
        size_t bits, words;
    } cases[] = { { 0, 0 }, { 1, 1 }, { 63, 1 }, { 64, 1 }, { 65, 2 }, { 128, 2 }, { 129, 3 } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(bitmap_words(cases[i].bits), cases[i].words);
}

static void test_against_model(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    uint64_t words[(BITS + 63) / 64] = { 0 };
    bool model[BITS] = { 0 };
    for (int step = 0; step < 20000; step++) {
        size_t bit = rng_below(&rng, BITS);
        switch (rng_below(&rng, 3)) {
        case 0:
            bitmap_set(words, bit);
            model[bit] = true;
            break;
        case 1:
            bitmap_clear(words, bit);
            model[bit] = false;
            break;
        default:
            model[bit] = rng_below(&rng, 2);
            bitmap_assign(words, bit, model[bit]);
        }
        size_t probe = rng_below(&rng, BITS);
        assert_int_equal(bitmap_get(words, probe), model[probe]);
    }
    for (size_t bit = 0; bit < BITS; bit++)
        assert_int_equal(bitmap_get(words, bit), model[bit]);
}

static void test_select_and_iterate(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    for (int round = 0; round < 2000; round++) {
        uint64_t word = rng_next(&rng) & rng_next(&rng);
        if (round < 4)
            word = (uint64_t[]){ 0, 1, (uint64_t)1 << 63, UINT64_MAX }[round];
        unsigned rank = 0;
        bitmap_for_word(word, bit)
            assert_int_equal(bit, word_select(word, rank++));
        assert_int_equal(rank, __builtin_popcountll(word));
        unsigned seen = 0;
        for (unsigned bit = 0; bit < 64; bit++)
            if (word >> bit & 1)
                assert_int_equal(word_select(word, seen++), bit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_select_and_iterate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
