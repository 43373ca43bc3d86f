/* test_runs.c: complete runs of the engine on the plain path and on the fastest path are the same, decision by
 * decision: nodes, messages, nominations and victims.
 *
 * Two fixtures with the same seed go through the same changes; one engine may only use the plain path, and remembers
 * nothing about rows.
 *
 *     test_runs [--seed N] [--seeds COUNT]
 */
#include <stdio.h>
#include <stdlib.h>

#include "property/random_fixture.h"

enum { DECISIONS_MAX = 120, FAILURES_MAX = 3 };

static uint64_t decisions, preemptions, fast, nominated, remembered;

/* ---- two fixtures: [0] plain, [1] fast ---- */
struct fixture_pair {
    struct random_fixture fixtures[2];
    uint64_t seed;
};

/* ---- comparing ---- */
static struct str describe(const struct decision *decision, const struct cluster *cluster,
                           struct arena *arena)
{
    struct strbuf out = { 0 };
    strbuf_printf(
        &out,
        "pod " STR_FMT ": row %d, nominated %d, %u of %u nodes feasible, %u equal with %lld%s%s: " STR_FMT,
        STR_ARG(decision->pod->api->meta.name), (int)decision->row, (int)decision->nominated_row,
        decision->feasible, decision->examined, decision->ties, (long long)decision->total,
        decision->is_error ? ", error" : "", decision->retry ? ", again" : "", STR_ARG(decision->message));
    for (uint32_t i = 0; i < decision->victims_len; i++)
        strbuf_printf(&out, " -" STR_FMT, STR_ARG(decision->victims[i]->api->meta.name));
    strbuf_printf(&out, " (%u nodes)", cluster->live_nodes);
    struct str text = arena_str(arena, strbuf_slice(&out));
    strbuf_release(&out);
    return text;
}

static bool step(struct fixture_pair *pair, bool *ret_same)
{
    struct decision made[2];
    struct arena arena = { 0 };
    bool more[2];
    for (int i = 0; i < 2; i++) {
        random_fixture_live(&pair->fixtures[i]);
        more[i] = engine_step(&pair->fixtures[i].engine, RANDOM_FIXTURE_NOW_NS, &made[i]);
    }
    *ret_same = more[0] == more[1];
    if (more[0] && more[1]) {
        struct str plain = describe(&made[0], &pair->fixtures[0].cluster, &arena);
        struct str other = describe(&made[1], &pair->fixtures[1].cluster, &arena);
        *ret_same = str_eq(plain, other);
        if (!*ret_same)
            printf("seed %llu, path %s:\n  want " STR_FMT "\n   got " STR_FMT "\n",
                   (unsigned long long)pair->seed, decision_path_names[made[1].path], STR_ARG(plain),
                   STR_ARG(other));
        decisions++;
        preemptions += made[0].victims_len > 0;
        fast += made[1].path != PATH_PLAIN;
        nominated += made[1].path != PATH_PLAIN && made[1].nomination == NOMINATION_KEEP &&
                     made[1].pod->nominated_row != ROW_NONE;
    }
    arena_release(&arena);
    for (int i = 0; i < 2 && *ret_same && more[i]; i++)
        random_fixture_follow(&pair->fixtures[i], &made[i]);
    return *ret_same;
}

static bool run_seed(uint64_t seed)
{
    struct fixture_pair pair = { .seed = seed };
    bool same = true;
    for (int i = 0; i < 2; i++) {
        random_fixture_init(&pair.fixtures[i], seed);
        pair.fixtures[i].nominates = false; /* preemption does that in this test */
        pair.fixtures[i].engine.slowest = i == 0 ? PATH_PLAIN : PATH_INDEX;
    }
    for (uint32_t left = DECISIONS_MAX; left > 0 && same; left--)
        step(&pair, &same);
    if (!same)
        printf("again with: test_runs --seed %llu\n", (unsigned long long)seed);
    remembered += pair.fixtures[1].engine.stats.rows_remembered;
    for (int i = 0; i < 2; i++)
        random_fixture_release(&pair.fixtures[i]);
    return same;
}

int main(int argc, char **argv)
{
    int64_t first = 1, seeds = 1, value;
    for (int i = 1; i < argc; i += 2) {
        bool is_seed = strcmp(argv[i], "--seed") == 0, is_count = strcmp(argv[i], "--seeds") == 0;
        if (i + 1 == argc || !(is_seed || is_count) || !str_to_int64(str_from(argv[i + 1]), &value)) {
            fprintf(stderr, "usage: test_runs [--seed N] [--seeds COUNT]\n");
            return 2;
        }
        *(is_seed ? &first : &seeds) = value;
    }
    int failed = 0;
    printf("seeds %lld to %lld\n", (long long)first, (long long)(first + seeds - 1));
    for (int64_t i = 0; i < seeds && failed < FAILURES_MAX; i++)
        failed += !run_seed((uint64_t)(first + i));
    printf("%llu decisions, %llu of them on a fast path, %llu preemptions\n", (unsigned long long)decisions,
           (unsigned long long)fast, (unsigned long long)preemptions);
    printf("%llu decisions on a fast path for pods that wait for victims, %llu rows remembered\n",
           (unsigned long long)nominated, (unsigned long long)remembered);
    if (seeds >= 100 && (nominated < (uint64_t)seeds / 20 || remembered < (uint64_t)seeds * 2)) {
        printf("too few of them\n");
        return 1;
    }
    return failed ? 1 : 0;
}
