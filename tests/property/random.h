/* random.h: small random choices, and JSON written with single quotes to stay readable. */
#ifndef PROPERTY_RANDOM_H
#define PROPERTY_RANDOM_H

#include <stdarg.h>

#include "base/rng.h"
#include "base/str.h"

/* 0 to count - 1. */
static inline uint32_t random_below(struct rng *rng, uint32_t count)
{
    return (uint32_t)rng_below(rng, count);
}

static inline int32_t between(struct rng *rng, int32_t low, int32_t high)
{
    return low + (int32_t)rng_below(rng, (uint64_t)(high - low) + 1);
}

static inline bool chance(struct rng *rng, uint32_t percent)
{
    return random_below(rng, 100) < percent;
}

#define one_of(rng, ...) \
    ({ \
        static const char *const choices_[] = { __VA_ARGS__ }; \
        choices_[random_below((rng), (uint32_t)ARRAY_SIZE(choices_))]; \
    })

/* printf, with every ' of the result as ". */
void put(struct strbuf *out, const char *format, ...) _printf_(2, 3);
/* A comma, unless a list or an object has just begun. */
void comma(struct strbuf *out);

#endif
