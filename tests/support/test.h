/* test.h: what every unit test includes first: cmocka with the headers it needs, and seeds that can be replayed.
 *
 * A randomised test asks test_seed() once. It runs with the same seed every time, so that a failure is not a
 * matter of luck; BERTH_TEST_SEED=N tries another one. The seed is printed, and a failure repeats with it. */
#ifndef SUPPORT_TEST_H
#define SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Leaves out a test that cannot run on this machine. tools/test-report names it with the reason. */
#define skip_because(reason) \
    do { \
        print_message("skipped: %s\n", reason); \
        skip(); \
    } while (0)

#include "base/rng.h"
#include "base/str.h"

/* ThreadSanitizer keeps a signal back until the thread calls something: what the thread does until then happens before
 * its handler, and who was interrupted is not seen. */
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

/* Cuts the next part off a text whose parts are separated by `separator`; a part without a pointer is the end. */
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
