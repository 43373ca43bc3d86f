/* rng.h: a small reproducible random generator (splitmix64 seeding xoshiro256**). Same seed, same numbers, on
 * every machine: what makes a run repeatable. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include "base/common.h"

struct rng {
    uint64_t state[4];
};

void rng_seed(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
/* Uniform in [0, bound); bound > 0. */
uint64_t rng_below(struct rng *rng, uint64_t bound);

#endif
