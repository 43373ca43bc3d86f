/* rng.c: xoshiro256** by Blackman and Vigna (public domain), unbiased bounded draws by rejection. */
#include "base/rng.h"

static uint64_t rotate(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

void rng_seed(struct rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += 0x9e3779b97f4a7c15u;
        uint64_t z = seed;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        rng->state[i] = z ^ (z >> 31);
    }
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    assert(bound > 0);
    uint64_t reject_below = -bound % bound;
    for (;;) {
        __uint128_t product = (__uint128_t)rng_next(rng) * bound;
        if ((uint64_t)product >= reject_below)
            return (uint64_t)(product >> 64);
    }
}
