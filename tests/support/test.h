/* test.h: every unit test includes this first: cmocka with the headers it needs, and reproducible seeds.
 *
 * A randomised test calls test_seed() once. The seed is the same in every run, so that failures are reproducible;
 * BERTH_TEST_SEED=N selects another one. The seed is printed. */
#ifndef SUPPORT_TEST_H
#define SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Skips a test that cannot run on this machine. tools/test-report names it with the reason. */
#define skip_because(reason) \
    do { \
        print_message("skipped: %s\n", reason); \
        skip(); \
    } while (0)

#include "base/rng.h"
#include "base/str.h"

/* ThreadSanitizer delays a signal until the thread calls an intercepted function, so that a handler does not see what
 * was interrupted. */
#if defined(__SANITIZE_THREAD__)
#define LATE_SIGNALS true
#elif defined(__has_feature)
#define LATE_SIGNALS __has_feature(thread_sanitizer)
#else
#define LATE_SIGNALS false
#endif

static inline uint64_t test_seed(void)
{
    const char *text = getenv("BERTH_TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : 1;
    printf("seed: %llu (BERTH_TEST_SEED)\n", (unsigned long long)seed);
    return seed;
}

static inline struct rng test_rng(void)
{
    struct rng rng;
    rng_seed(&rng, test_seed());
    return rng;
}

/* Takes the next part of a text with parts separated by `separator`; a part without a pointer is the end. */
static inline struct str next_part(struct str *rest, char separator)
{
    if (!rest->len)
        return (struct str){ 0 };
    ptrdiff_t at = str_find(*rest, separator);
    struct str part = str_slice(*rest, 0, at < 0 ? rest->len : (size_t)at);
    *rest = str_slice(*rest, at < 0 ? rest->len : (size_t)at + 1, rest->len);
    return part;
}

/* Compares a slice with a C string and shows both when they differ. */
#define assert_str(got, want) \
    do { \
        struct str got_ = (got); \
        const char *want_ = (want); \
        if (!str_is(got_, want_)) \
            fail_msg("got \"" STR_FMT "\", want \"%s\"", STR_ARG(got_), want_); \
    } while (0)

#endif
