/* When memory is given back to the system: after bursts, and after the last of a few large objects. */
#include "support/test.h"

#include "base/clock.h"
#include "live/burst.h"

enum { MIB = 1 << 20 };

/* At that time, in milliseconds, so much comes. */
struct arrival {
    int64_t at_ms;
    size_t messages, bytes;
};

static const struct burst_case {
    const char *what;
    struct arrival arrivals[8]; /* up to the first without a time */
    int64_t given_back_ms[4];   /* likewise */
} cases[] = {
    { "nothing comes", { { 0 } }, { 0 } },
    { "a pod now and then", { { 100000, 1, 5000 }, { 200000, 1, 5000 } }, { 0 } },
    { "a list in two parts", { { 100000, 5000, 6 * MIB }, { 100050, 4100, 6 * MIB } }, { 100150 } },
    { "a list of small messages", { { 100000, 4096, 0 } }, { 100100 } },
    { "large objects, one after the other, and the last of them",
      { { 100000, 1, 5 * MIB },
        { 100010, 1, 5 * MIB },
        { 100500, 1, 5 * MIB },
        { 101000, 1, 5 * MIB },
        { 108000, 1, 2 * MIB } },
      { 100100, 105100, 135100 } },
    { "many bytes after some",
      { { 100000, 1, 2 * MIB }, { 101000, 1, 2 * MIB }, { 102000, 1, 9 * MIB } },
      { 100100, 105100 } },
    { "less than some", { { 100000, 1, 2 * MIB }, { 101000, 1, MIB - 1 } }, { 100100 } },
    { "what is left over counts later",
      { { 100000, 1, 2 * MIB }, { 101000, 1, MIB - 1 }, { 200000, 1, 1 } },
      { 100100, 200100 } },
};

/* The next time at which it is asked: for an arrival, or because it is due. */
static void test_times(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct burst burst = BURST_NONE;
        const struct arrival *next = cases[i].arrivals;
        const int64_t *want = cases[i].given_back_ms;
        while (next->at_ms || burst.due_ns != INT64_MAX) {
            bool arrives = next->at_ms && next->at_ms * NS_PER_MS <= burst.due_ns;
            int64_t now_ns = arrives ? next->at_ms * NS_PER_MS : burst.due_ns;
            bool ends = burst_ends(&burst, arrives ? next->messages : 0, arrives ? next->bytes : 0, now_ns);
            if (ends && now_ns != *want * NS_PER_MS)
                fail_msg("%s: given back at %lld ms, not at %lld", cases[i].what,
                         (long long)(now_ns / NS_PER_MS), (long long)*want);
            want += ends;
            next += arrives;
        }
        if (*want)
            fail_msg("%s: not given back at %lld ms", cases[i].what, (long long)*want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
