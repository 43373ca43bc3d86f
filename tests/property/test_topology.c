/* test_topology.c: PodTopologySpread and InterPodAffinity agree with their naive forms (naive.h).
 *
 *     seed ──▶ cluster, configuration, templates ──▶ step: change, pending pod, filter, what if, filter, score ──▶ ...
 *
 * The plugins are called as the plain path calls them. test_paths compares the other paths with the plain one, so
 * together the two tests compare every path with the naive forms.
 *
 *     test_topology [--seed N] [--seeds COUNT]
 */
#include <stdio.h>
#include <stdlib.h>

#include "property/naive.h"
#include "property/random_fixture.h"

enum { FAILURES_MAX = 5, STEPS = 25, NODES_CHECKED = 6 };

static struct {
    uint64_t filtered, rejected, what_ifs, scored;
} seen;

struct step {
    struct random_fixture *fixture;
    const struct naive_rule *rule;
    struct naive_context context;
    struct cycle cycle;
    const char *when;
};

static bool fail(const struct step *step, uint32_t row, struct str want, struct str got)
{
    printf("%s, %s, row %u of %u nodes (before: %s)\npod: %s\n  want " STR_FMT "\n   got " STR_FMT "\n",
           step->rule->plugin, step->when, row, step->fixture->cluster.live_nodes, step->fixture->what,
           step->fixture->text.text, STR_ARG(want), STR_ARG(got));
    return false;
}

static struct str describe(struct status status, struct arena *arena)
{
    return arena_printf(arena, "%s: " STR_FMT, status_code_name(status.code),
                        STR_ARG(status_message(status, arena)));
}

static bool check_skip(struct step *step, struct status status, bool want)
{
    struct arena *arena = step->context.arena;
    return (status.code == STATUS_SKIP) == want ||
           fail(step, 0, arena_printf(arena, "skip: %d", want), describe(status, arena));
}

static bool check_filter(struct step *step, uint32_t row)
{
    struct arena *arena = step->context.arena;
    struct node_view view = { step->context.cluster, row, NULL };
    struct str want = describe(step->rule->filter(&step->context, row), arena);
    struct status status = step->context.instance->plugin->filter(&step->cycle, view);
    seen.filtered++;
    seen.rejected += !status_ok(status);
    struct str got = describe(status, arena);
    return str_eq(want, got) || fail(step, row, want, got);
}

static uint32_t any_row(struct random_fixture *fixture)
{
    uint32_t len;
    const uint32_t *rows = cluster_order(&fixture->cluster, &len);
    return rows[random_below(&fixture->rng, len)];
}

static bool check_filters(struct step *step, const char *when)
{
    bool ok = true;
    step->when = when;
    for (int i = 0; ok && i < NODES_CHECKED; i++)
        ok = check_filter(step, any_row(step->fixture));
    return ok;
}

/* ---- what if ---- */
static void change(struct step *step, const struct pod_info *pod, int delta)
{
    struct naive_context *context = &step->context;
    const struct plugin *plugin = context->instance->plugin;
    struct node_view view = { context->cluster, context->row, NULL };
    if (context->changes_len == ARRAY_SIZE(context->changes))
        return;
    context->changes[context->changes_len++] = (struct naive_change){ pod, delta };
    (delta > 0 ? plugin->add_pod : plugin->remove_pod)(&step->cycle, pod, view);
    seen.what_ifs++;
}

/* Some pods leave a node, as in preemption; others join it, as nominated pods do. */
static bool check_what_if(struct step *step)
{
    struct random_fixture *fixture = step->fixture;
    struct naive_context *context = &step->context;
    const struct plugin *plugin = context->instance->plugin;
    context->row = any_row(fixture);
    struct node_view view = { context->cluster, context->row, NULL };
    vec_for(&fixture->cluster.nodes.items[context->row].pods, pod)
        if (chance(&fixture->rng, 60))
            change(step, *pod, -1);
    vec_for(&fixture->waiting, pod)
        if (chance(&fixture->rng, 40))
            change(step, *pod, +1);
    step->when = "what if, on its node";
    bool ok = check_filter(step, context->row) && check_filters(step, "what if");
    while (context->changes_len) {
        const struct naive_change *last = &context->changes[--context->changes_len];
        (last->delta > 0 ? plugin->remove_pod : plugin->add_pod)(&step->cycle, last->pod, view);
    }
    return ok && check_filters(step, "after the what-if");
}

/* ---- score ---- */
static struct row_list some_rows(struct random_fixture *fixture, struct arena *arena)
{
    uint32_t len, *rows = arena_array(arena, uint32_t, fixture->cluster.nodes.len), kept = 0;
    uint32_t percent = chance(&fixture->rng, 50) ? 100 : 40;
    const uint32_t *order = cluster_order(&fixture->cluster, &len);
    for (uint32_t i = 0; i < len && kept < 40; i++)
        if (chance(&fixture->rng, percent))
            rows[kept++] = order[i];
    return (struct row_list){ rows, kept };
}

static bool compare_scores(struct step *step, const char *when, struct row_list rows, const int64_t *want,
                           const int64_t *got)
{
    struct arena *arena = step->context.arena;
    step->when = when;
    for (uint32_t i = 0; i < rows.len; i++)
        if (want[i] != got[i])
            return fail(step, rows.items[i], arena_printf(arena, "%lld", (long long)want[i]),
                        arena_printf(arena, "%lld", (long long)got[i]));
    return true;
}

static bool check_scores(struct step *step)
{
    const struct plugin *plugin = step->context.instance->plugin;
    struct arena *arena = step->context.arena;
    struct row_list rows = some_rows(step->fixture, arena);
    int64_t *want = arena_array(arena, int64_t, rows.len), *got = arena_array(arena, int64_t, rows.len);
    step->cycle.feasible = rows;
    struct status status = plugin->pre_score(&step->cycle);
    step->when = "PreScore";
    if (!check_skip(step, status, step->rule->skips_score(&step->context)))
        return false;
    if (!status_ok(status))
        return true;
    step->rule->scores(&step->context, rows, want);
    for (uint32_t i = 0; i < rows.len; i++)
        (void)plugin->score(&step->cycle, (struct node_view){ step->context.cluster, rows.items[i], NULL },
                            &got[i]);
    if (!compare_scores(step, "score", rows, want, got))
        return false;
    seen.scored += rows.len;
    step->rule->normalize(want, rows.len);
    plugin->normalize(&step->cycle, got, rows.len);
    return compare_scores(step, "normalised score", rows, want, got);
}

/* ---- a step, a seed ---- */
static bool check_plugin(struct random_fixture *fixture, struct pod_info *pod, const struct naive_rule *rule)
{
    const struct profile *profile = engine_profile(&fixture->engine, pod->api);
    const struct plugin_instance *instance = profile_find(profile, rule->plugin);
    struct arena arena = { 0 };
    struct node_names names = { .all = true };
    if (!instance)
        return true;
    struct step step = { .fixture = fixture, .rule = rule, .when = "PreFilter" };
    step.context = (struct naive_context){
        .cluster = &fixture->cluster,
        .instance = instance,
        .args = profile_args(config_profile(&fixture->config, profile->scheduler_name), rule->plugin),
        .pod = pod->api,
        .arena = &arena,
        .row = ROW_NONE,
    };
    cycle_init(&step.cycle, profile, &fixture->cluster, pod, &arena);
    step.cycle.current = instance;
    struct status status = instance->plugin->pre_filter(&step.cycle, &names);
    bool ok = check_skip(&step, status, rule->skips_filter(&step.context));
    if (ok && status_ok(status))
        ok = check_filters(&step, "filter") && check_what_if(&step);
    ok = ok && check_scores(&step);
    cycle_release(&step.cycle);
    arena_release(&arena);
    return ok;
}

static bool run_seed(uint64_t seed)
{
    struct random_fixture fixture;
    bool ok = true;
    random_fixture_init(&fixture, seed);
    for (int i = 0; i < (fixture.names > 60 ? STEPS / 5 : STEPS) && ok; i++) {
        for (uint32_t left = random_below(&fixture.rng, 4); left > 0; left--)
            random_fixture_change(&fixture);
        if (!fixture.cluster.live_nodes)
            continue;
        struct pod_info *pod = random_fixture_pod(&fixture, false);
        ok = check_plugin(&fixture, pod, &naive_spread) && check_plugin(&fixture, pod, &naive_affinity);
        random_fixture_settle(&fixture, pod, chance(&fixture.rng, 70) ? any_row(&fixture) : ROW_NONE);
    }
    random_fixture_release(&fixture);
    if (!ok)
        printf("again with: test_topology --seed %llu\n", (unsigned long long)seed);
    return ok;
}

int main(int argc, char **argv)
{
    int64_t first = 1, seeds = 1, value;
    for (int i = 1; i < argc; i += 2) {
        bool is_seed = strcmp(argv[i], "--seed") == 0, is_count = strcmp(argv[i], "--seeds") == 0;
        if (i + 1 == argc || !(is_seed || is_count) || !str_to_int64(str_from(argv[i + 1]), &value)) {
            fprintf(stderr, "usage: test_topology [--seed N] [--seeds COUNT]\n");
            return 2;
        }
        *(is_seed ? &first : &seeds) = value;
    }
    int failed = 0;
    printf("seeds %lld to %lld\n", (long long)first, (long long)(first + seeds - 1));
    for (int64_t i = 0; i < seeds && failed < FAILURES_MAX; i++)
        failed += !run_seed((uint64_t)(first + i));
    printf("%llu statuses, %llu of them rejections; %llu changes by what-ifs; %llu scores\n",
           (unsigned long long)seen.filtered, (unsigned long long)seen.rejected,
           (unsigned long long)seen.what_ifs, (unsigned long long)seen.scored);
    return failed ? 1 : 0;
}
