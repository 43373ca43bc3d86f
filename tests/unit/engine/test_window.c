/* What a search looks at, against a search place by place. */
#include "support/test.h"

#include "base/rng.h"
#include "engine/window.h"

enum { PLACES = 700, ROUNDS = 4000 };

static void random_bits(struct rng *rng, uint64_t *bits, uint32_t all, uint32_t percent)
{
    memset(bits, 0, bitmap_words(PLACES) * sizeof(*bits));
    for (uint32_t place = 0; place < all; place++)
        bitmap_assign(bits, place, rng_below(rng, 100) < percent);
}

static void check(struct rng *rng)
{
    uint64_t passing[PLACES / 64 + 1], refused[2][PLACES / 64 + 1];
    uint32_t all = 1 + (uint32_t)rng_below(rng, PLACES), start = (uint32_t)rng_below(rng, all);
    uint32_t enough = 1 + (uint32_t)rng_below(rng, all), examined = 0, found = 0, counted = 0;
    const uint64_t *lists[] = { refused[0], refused[1] };
    struct window_bits bits = { passing, lists, (uint32_t)rng_below(rng, 3) };
    struct window window;
    bool seen[PLACES] = { false };
    random_bits(rng, passing, all, (uint32_t)rng_below(rng, 101));
    random_bits(rng, refused[0], all, 30);
    random_bits(rng, refused[1], all, 30);
    window_search(&window, &bits, start, all, enough);
    for (; examined < all && found < enough; examined++) {
        uint32_t place = (start + examined) % all;
        bool passes = bitmap_get(passing, place);
        for (uint32_t i = 0; i < bits.refused_len; i++)
            passes &= !bitmap_get(refused[i], place);
        seen[place] = true;
        found += passes;
        counted += bitmap_get(passing, place);
    }
    assert_int_equal(window.examined, examined);
    assert_int_equal(window_count(&window, passing), counted);
    uint32_t next = 0;
    window_for_words(&window, word, mask) bitmap_for_word(mask, bit)
    {
        uint32_t place = word * 64 + (uint32_t)bit;
        assert_true(place >= next && seen[place]);
        seen[place] = false;
        next = place + 1;
    }
    for (uint32_t place = 0; place < all; place++)
        assert_false(seen[place]);
}

static void test_search(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    for (int round = 0; round < ROUNDS; round++)
        check(&rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_search) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
