/* main.c: many seeds, each a small cluster with faults.
 *
 *     sim [--seed N] [--seeds COUNT] [--verbose]
 */
#include <stdio.h>

#include "sim.h"

enum { FAILURES_MAX = 3 };

static int usage(void)
{
    fprintf(stderr, "usage: sim [--seed N] [--seeds COUNT] [--verbose]\n");
    return 2;
}

int main(int argc, char **argv)
{
    int64_t first = 1, seeds = 1;
    bool verbose = false;
    for (int i = 1; i < argc; i++) {
        struct str option = str_from(argv[i]);
        int64_t *value = str_is(option, "--seed") ? &first : str_is(option, "--seeds") ? &seeds : NULL;
        if (str_is(option, "--verbose"))
            verbose = true;
        else if (!value || ++i == argc || !str_to_int64(str_from(argv[i]), value))
            return usage();
    }
    struct sim totals = { 0 };
    int failed = 0;
    printf("seeds %lld to %lld\n", (long long)first, (long long)(first + seeds - 1));
    for (int64_t i = 0; i < seeds && failed < FAILURES_MAX; i++) {
        if (sim_run((uint64_t)(first + i), verbose, &totals))
            continue;
        printf("again with: build/tests/sim/sim --seed %lld --verbose\n", (long long)(first + i));
        failed++;
    }
    printf("%llu happenings, %llu decisions, %llu requests, %llu pods bound, %llu evicted, %llu lists, "
           "%llu schedulers, %llu configurations\n",
           (unsigned long long)totals.happenings, (unsigned long long)totals.decisions,
           (unsigned long long)totals.requests, (unsigned long long)totals.bound,
           (unsigned long long)totals.evicted, (unsigned long long)totals.relists,
           (unsigned long long)totals.lives, (unsigned long long)totals.reloads);
    return failed ? 1 : 0;
}
