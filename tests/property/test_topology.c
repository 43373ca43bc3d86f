/* test_topology.c: PodTopologySpread and InterPodAffinity say what their naive forms say (naive.h).
 *
 *     seed ──▶ cluster, configuration, templates ──▶ step: change, pending pod, filter, what if, filter, score ──▶ ...
 *
 * The plugins are called as the plain path calls them. test_paths holds the other paths to the plain one, so together
 * they hold every path to the naive forms.
 *
 *     test_topology [--seed N] [--seeds COUNT]
 */
#include <stdio.h>
#include <stdlib.h>

#include "property/naive.h"
#include "property/stage.h"

enum { FAILURES_MAX = 5, STEPS = 25, NODES_ASKED = 6 };

static struct {
    uint64_t filtered, rejected, what_ifs, scored;
} seen;

struct step {
    struct stage *stage;
    const struct naive_rule *rule;
    struct naive_world world;
    struct cycle cycle;
    const char *when;
};

static bool fail(const struct step *step, uint32_t row, struct str want, struct str got)
{
    printf("%s, %s, row %u of %u nodes (before: %s)\npod: %s\n  want " STR_FMT "\n   got " STR_FMT "\n",
           step->rule->plugin, step->when, row, step->stage->cluster.live_nodes, step->stage->what,
           step->stage->text.text, STR_ARG(want), STR_ARG(got));
    return false;
}

static struct str describe(struct status status, struct arena *arena)
{
    return arena_printf(arena, "%s: " STR_FMT, status_code_name(status.code),
                        STR_ARG(status_message(status, arena)));
}

static bool check_skip(struct step *step, struct status status, bool want)
{
    struct arena *arena = step->world.arena;
    return (status.code == STATUS_SKIP) == want ||
           fail(step, 0, arena_printf(arena, "skip: %d", want), describe(status, arena));
}

static bool check_filter(struct step *step, uint32_t row)
{
    struct arena *arena = step->world.arena;
    struct node_view view = { step->world.cluster, row, NULL };
    struct str want = describe(step->rule->filter(&step->world, row), arena);
    struct status status = step->world.instance->plugin->filter(&step->cycle, view);
    seen.filtered++;
    seen.rejected += !status_ok(status);
    struct str got = describe(status, arena);
    return str_eq(want, got) || fail(step, row, want, got);
}

static uint32_t any_row(struct stage *stage)
{
    uint32_t len;
    const uint32_t *rows = cluster_order(&stage->cluster, &len);
    return rows[roll(&stage->rng, len)];
}

static bool check_filters(struct step *step, const char *when)
{
    bool ok = true;
    step->when = when;
    for (int i = 0; ok && i < NODES_ASKED; i++)
        ok = check_filter(step, any_row(step->stage));
    return ok;
}

/* ---- what if ---- */
static void change(struct step *step, const struct pod_info *pod, int delta)
{
    struct naive_world *world = &step->world;
    const struct plugin *plugin = world->instance->plugin;
    struct node_view view = { world->cluster, world->row, NULL };
    if (world->changes_len == ARRAY_SIZE(world->changes))
        return;
    world->changes[world->changes_len++] = (struct naive_change){ pod, delta };
    (delta > 0 ? plugin->add_pod : plugin->remove_pod)(&step->cycle, pod, view);
    seen.what_ifs++;
}

/* Some pods leave a node, as in preemption; others join it, as nominated ones do. */
static bool check_what_if(struct step *step)
{
    struct stage *stage = step->stage;
    struct naive_world *world = &step->world;
    const struct plugin *plugin = world->instance->plugin;
    world->row = any_row(stage);
    struct node_view view = { world->cluster, world->row, NULL };
    vec_for(&stage->cluster.nodes.items[world->row].pods, pod)
        if (chance(&stage->rng, 60))
            change(step, *pod, -1);
    vec_for(&stage->waiting, pod)
        if (chance(&stage->rng, 40))
            change(step, *pod, +1);
    step->when = "what if, on its node";
    bool ok = check_filter(step, world->row) && check_filters(step, "what if");
    while (world->changes_len) {
        const struct naive_change *last = &world->changes[--world->changes_len];
        (last->delta > 0 ? plugin->remove_pod : plugin->add_pod)(&step->cycle, last->pod, view);
    }
    return ok && check_filters(step, "after the what-if");
}

/* ---- score ---- */
static struct row_list some_rows(struct stage *stage, struct arena *arena)
{
    uint32_t len, *rows = arena_array(arena, uint32_t, stage->cluster.nodes.len), kept = 0;
    uint32_t percent = chance(&stage->rng, 50) ? 100 : 40;
    const uint32_t *order = cluster_order(&stage->cluster, &len);
    for (uint32_t i = 0; i < len && kept < 40; i++)
        if (chance(&stage->rng, percent))
            rows[kept++] = order[i];
    return (struct row_list){ rows, kept };
}

static bool compare_scores(struct step *step, const char *when, struct row_list rows, const int64_t *want,
                           const int64_t *got)
{
    struct arena *arena = step->world.arena;
    step->when = when;
    for (uint32_t i = 0; i < rows.len; i++)
        if (want[i] != got[i])
            return fail(step, rows.items[i], arena_printf(arena, "%lld", (long long)want[i]),
                        arena_printf(arena, "%lld", (long long)got[i]));
    return true;
}

static bool check_scores(struct step *step)
{
    const struct plugin *plugin = step->world.instance->plugin;
    struct arena *arena = step->world.arena;
    struct row_list rows = some_rows(step->stage, arena);
    int64_t *want = arena_array(arena, int64_t, rows.len), *got = arena_array(arena, int64_t, rows.len);
    step->cycle.feasible = rows;
    struct status status = plugin->pre_score(&step->cycle);
    step->when = "PreScore";
    if (!check_skip(step, status, step->rule->skips_score(&step->world)))
        return false;
    if (!status_ok(status))
        return true;
    step->rule->scores(&step->world, rows, want);
    for (uint32_t i = 0; i < rows.len; i++)
        (void)plugin->score(&step->cycle, (struct node_view){ step->world.cluster, rows.items[i], NULL },
                            &got[i]);
    if (!compare_scores(step, "score", rows, want, got))
        return false;
    seen.scored += rows.len;
    step->rule->normalize(want, rows.len);
    plugin->normalize(&step->cycle, got, rows.len);
    return compare_scores(step, "normalised score", rows, want, got);
}

/* ---- a step, a seed ---- */
static bool check_plugin(struct stage *stage, struct pod_info *pod, const struct naive_rule *rule)
{
    const struct profile *profile = engine_profile(&stage->engine, pod->api);
    const struct plugin_instance *instance = profile_find(profile, rule->plugin);
    struct arena arena = { 0 };
    struct node_names names = { .all = true };
    if (!instance)
        return true;
    struct step step = { .stage = stage, .rule = rule, .when = "PreFilter" };
    step.world = (struct naive_world){
        .cluster = &stage->cluster,
        .instance = instance,
        .args = profile_args(&stage->config.profiles.items[profile - stage->engine.profiles], rule->plugin),
        .pod = pod->api,
        .arena = &arena,
        .row = ROW_NONE,
    };
    cycle_init(&step.cycle, profile, &stage->cluster, pod, &arena);
    step.cycle.current = instance;
    struct status status = instance->plugin->pre_filter(&step.cycle, &names);
    bool ok = check_skip(&step, status, rule->skips_filter(&step.world));
    if (ok && status_ok(status))
        ok = check_filters(&step, "filter") && check_what_if(&step);
    ok = ok && check_scores(&step);
    cycle_release(&step.cycle);
    arena_release(&arena);
    return ok;
}

static bool run_seed(uint64_t seed)
{
    struct stage stage;
    bool ok = true;
    stage_init(&stage, seed);
    for (int i = 0; i < (stage.names > 60 ? STEPS / 5 : STEPS) && ok; i++) {
        for (uint32_t left = roll(&stage.rng, 4); left > 0; left--)
            stage_change(&stage);
        if (!stage.cluster.live_nodes)
            continue;
        struct pod_info *pod = stage_pod(&stage, false);
        ok = check_plugin(&stage, pod, &naive_spread) && check_plugin(&stage, pod, &naive_affinity);
        stage_settle(&stage, pod, chance(&stage.rng, 70) ? any_row(&stage) : ROW_NONE);
    }
    stage_release(&stage);
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
