/* test_paths.c: the plain path, the scan and the index make the same decision, whatever happened before.
 *
 *     seed ──▶ cluster, configuration, templates ──▶ step: change, pending pod, decide three times, place ──▶ step ...
 *
 * The plain path is the reference (golden cases compare it with kube-scheduler). The other paths must give the same
 * row, number of feasible, equal and examined nodes, total, next start and random state; if no node is feasible, the
 * same message, status per node and rejecting plugins; if several are, the same ranking of the best. If the pod has
 * claims, Reserve after each path holds the same volumes.
 *
 *     test_paths [--seed N] [--seeds COUNT] [--steps COUNT]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cluster/volumes.h"
#include "engine/decide.h"
#include "framework/weights.h"
#include "property/random_fixture.h"

enum { FAILURES_MAX = 5 };

static struct options {
    uint64_t seed, seeds;
    uint32_t steps;
} options = { .seed = 1, .seeds = 1, .steps = 50 };

/* The number of decisions, and by which path. */
static struct counts {
    uint64_t steps, placed, unfit, errors, answered[PATH_COUNT], tried[PATH_COUNT], windows;
    uint64_t reweighted;                            /* with other weights than those of the configuration */
    uint64_t ranked;                                /* nodes, with the scores of each plugin */
    uint64_t with_volumes, with_volumes_fast, held; /* decisions of pods with volumes; those that held some */
} counts;

/* One decision with everything that is compared. */
struct outcome {
    const char *name;
    bool answered;
    struct arena arena;
    struct cycle cycle;
    struct choice choice;
    uint32_t next_start;
    struct rng rng;
    struct str held; /* what Reserve holds for the pod */
    struct ranking ranking;
};

struct step {
    struct random_fixture *fixture;
    uint64_t seed;
    uint32_t number;
    struct pod_info *pod;
};

/* ---- deciding ---- */
/* All volumes and claims with the pods that hold them. */
static struct str describe_holds(struct cluster *cluster, uint32_t nodes, struct arena *arena)
{
    const struct volumes *volumes = volumes_get(cluster, VOLUMES_PVS);
    struct strbuf out = { 0 };
    for (uint32_t i = 0; i < storage_count(STORAGE_VOLUME, nodes); i++) {
        const struct pv *pv = cluster_get(&cluster->pvs, (struct str){ 0 }, arena_printf(arena, "pv%u", i));
        const struct object_ref *ref = pv ? volumes_claim_ref(volumes, pv) : NULL;
        if (ref)
            strbuf_printf(&out, "pv%u: " STR_FMT "/" STR_FMT ", ", i, STR_ARG(ref->namespace),
                          STR_ARG(ref->name));
    }
    for (uint32_t i = 0; i < storage_count(STORAGE_CLAIM, nodes); i++) {
        const struct pvc *pvc = cluster_get(&cluster->pvcs, str_from(namespaces[i % NAMESPACES]),
                                            arena_printf(arena, "c%u", i / NAMESPACES));
        const struct str *node = pvc ? volumes_selected_node(volumes, pvc) : NULL;
        if (node)
            strbuf_printf(&out, STR_FMT "/" STR_FMT ": " STR_FMT ", ", STR_ARG(pvc->meta.namespace),
                          STR_ARG(pvc->meta.name), STR_ARG(*node));
    }
    struct str text = arena_str(arena, strbuf_slice(&out));
    strbuf_release(&out);
    return text;
}

static void try_reserve(struct outcome *outcome, struct step *step)
{
    struct cluster *cluster = &step->fixture->cluster;
    uint32_t row = outcome->choice.row, nodes = step->fixture->names;
    if (row == ROW_NONE || !step->pod->class->has_claims)
        return;
    struct str before = describe_holds(cluster, nodes, &outcome->arena);
    struct status status = run_reserve(&outcome->cycle, row);
    struct str after = describe_holds(cluster, nodes, &outcome->arena);
    run_unreserve(&outcome->cycle, row);
    counts.held += !str_eq(before, after);
    outcome->held =
        arena_printf(&outcome->arena, "%s, " STR_FMT, status_code_name(status.code), STR_ARG(after));
}

static void decide(struct outcome *ret, const char *name, struct step *step, enum decision_path path,
                   const struct rng *rng, uint32_t start)
{
    struct engine *engine = &step->fixture->engine;
    uint64_t windows = engine->stats.windows;
    *ret = (struct outcome){ .name = name };
    engine->rng = *rng;
    engine->next_start = start;
    engine->slowest = path;
    engine->ranking = &ret->ranking;
    cycle_init(&ret->cycle, engine_profile(engine, step->pod->api), engine->cluster, step->pod, &ret->arena);
    run_weigh(&ret->cycle);
    counts.reweighted += ret->cycle.weights != NULL;
    ret->choice = (struct choice){ .row = ROW_NONE };
    ret->answered = true;
    if (path == PATH_PLAIN)
        decide_plain(engine, &ret->cycle, &ret->choice);
    else
        ret->answered = decide_fast(engine, &ret->cycle, &ret->choice);
    engine->ranking = NULL;
    counts.windows += engine->stats.windows - windows;
    ret->next_start = engine->next_start;
    ret->rng = engine->rng;
    counts.tried[path]++;
    counts.answered[path] += ret->answered && ret->choice.path == path;
    if (ret->answered)
        try_reserve(ret, step);
    if (path != PATH_PLAIN && step->pod->class->has_volumes) {
        counts.with_volumes++;
        counts.with_volumes_fast += ret->answered;
    }
}

static void outcome_release(struct outcome *outcome)
{
    if (outcome->choice.diagnosis)
        diagnosis_release(outcome->choice.diagnosis);
    cycle_release(&outcome->cycle);
    arena_release(&outcome->arena);
}

/* ---- comparing ---- */
static void print_where(const struct step *step)
{
    const struct profile *profile = engine_profile(&step->fixture->engine, step->pod->api);
    printf("seed %llu, step %u (before it: %s), %u nodes, scheduler " STR_FMT "\npod: %s\n",
           (unsigned long long)step->seed, step->number, step->fixture->what,
           step->fixture->cluster.live_nodes, STR_ARG(profile->scheduler_name), step->fixture->text.text);
}

static bool differ(const struct step *step, const char *path, const char *what, long long want, long long got)
{
    if (want == got)
        return false;
    print_where(step);
    printf("%s: %s: want %lld, got %lld\n", path, what, want, got);
    return true;
}

static bool differ_text(const struct step *step, const char *path, const char *what, struct str want,
                        struct str got)
{
    if (str_eq(want, got))
        return false;
    print_where(step);
    printf("%s: %s:\n  want " STR_FMT "\n   got " STR_FMT "\n", path, what, STR_ARG(want), STR_ARG(got));
    return true;
}

static struct str describe(struct status status, struct arena *arena)
{
    return arena_printf(arena, "%s by %s: " STR_FMT, status_code_name(status.code),
                        status.plugin ? status.plugin->name : "no plugin",
                        STR_ARG(status_message(status, arena)));
}

static bool diagnoses_differ(const struct step *step, struct outcome *want, struct outcome *got)
{
    const struct cluster *cluster = &step->fixture->cluster;
    const struct diagnosis *a = want->choice.diagnosis, *b = got->choice.diagnosis;
    char what[64];
    for (uint32_t row = 0; row < cluster->nodes.len; row++) {
        if (!cluster->nodes.items[row].api)
            continue;
        snprintf(what, sizeof(what), "status of row %u", row);
        if (differ_text(step, got->name, what, describe(diagnosis_get(a, row), &want->arena),
                        describe(diagnosis_get(b, row), &got->arena)))
            return true;
    }
    return differ_text(step, got->name, "message", diagnosis_message(a, cluster->live_nodes),
                       diagnosis_message(b, cluster->live_nodes)) ||
           differ(step, got->name, "plugins to blame", (long long)a->unschedulable_plugins,
                  (long long)b->unschedulable_plugins) ||
           differ(step, got->name, "pending plugins", (long long)a->pending_plugins,
                  (long long)b->pending_plugins);
}

static bool rankings_differ(const struct step *step, const struct outcome *want, const struct outcome *got)
{
    const struct ranking *a = &want->ranking, *b = &got->ranking;
    char what[64];
    if (differ(step, got->name, "ranked nodes", a->len, b->len) ||
        differ(step, got->name, "scorers", a->plugins, b->plugins))
        return true;
    counts.ranked += a->len;
    for (uint32_t i = 0; i < a->len; i++) {
        int64_t rest = a->totals[i];
        snprintf(what, sizeof(what), "of number %u of the ranking", i);
        if (differ(step, got->name, what, a->rows[i], b->rows[i]) ||
            differ(step, got->name, what, a->totals[i], b->totals[i]))
            return true;
        for (uint32_t p = 0; p < a->plugins; p++) {
            if (differ(step, got->name, what, a->scores[i][p], b->scores[i][p]))
                return true;
            rest -= a->scores[i][p];
        }
        if (differ(step, got->name, "rest of a total", 0, rest))
            return true;
    }
    return false;
}

static bool outcomes_differ(const struct step *step, struct outcome *want, struct outcome *got)
{
    const struct choice *a = &want->choice, *b = &got->choice;
    if (!got->answered) /* the plain path will decide; nothing may have changed */
        return differ(step, got->name, "next start", step->fixture->engine.next_start, got->next_start);
    if (differ_text(step, got->name, "error", describe(a->error, &want->arena),
                    describe(b->error, &got->arena)) ||
        differ(step, got->name, "feasible nodes", a->feasible, b->feasible) ||
        differ(step, got->name, "total", a->total, b->total) ||
        differ(step, got->name, "equal nodes", a->ties, b->ties) ||
        differ(step, got->name, "row", a->row, b->row) ||
        differ(step, got->name, "examined nodes", a->examined, b->examined) ||
        differ(step, got->name, "next start", want->next_start, got->next_start) ||
        differ_text(step, got->name, "what Reserve holds", want->held, got->held))
        return true;
    if (rankings_differ(step, want, got))
        return true;
    if (memcmp(&want->rng, &got->rng, sizeof(want->rng)) != 0)
        return differ(step, got->name, "random state", 0, 1);
    return a->row == ROW_NONE && status_ok(a->error) && diagnoses_differ(step, want, got);
}

/* ---- invariants of a placement ---- */
static bool filters_with(const struct profile *profile, const char *name)
{
    const struct plugin_order *order = &profile->points[POINT_FILTER];
    for (uint32_t i = 0; i < order->len; i++)
        if (strcmp(order->items[i]->plugin->name, name) == 0)
            return true;
    return false;
}

static bool is_ignored(struct str resource)
{
    return str_starts_with(resource, STR("example.com/"));
}

static bool overcommits(const struct step *step, const struct profile *profile)
{
    const struct cluster *cluster = &step->fixture->cluster;
    const struct pod_class *cls = step->pod->class;
    uint32_t row = step->pod->row;
    if (!filters_with(profile, "NodeResourcesFit"))
        return false;
    int64_t left = cluster->col.alloc[RES_PODS][row] - cluster->col.used[RES_PODS][row];
    for (uint32_t i = 0; left >= 0 && i < cls->fit_len; i++) {
        const struct amount *amount = &cls->fit[i];
        if (amount->value > 0 && !is_ignored(cluster->resource_names.items[amount->resource]))
            left = cluster->col.alloc[amount->resource][row] - cluster->col.used[amount->resource][row];
    }
    return left < 0 && differ(step, "placement", "what is left of a resource", 0, left);
}

/* ---- a step, a seed ---- */
static bool compare_paths(struct step *step, uint32_t *ret_row)
{
    static const struct {
        enum decision_path path;
        const char *name;
        uint32_t percent;
    } paths[] = { { PATH_SCAN, "scan", 50 }, { PATH_INDEX, "index", 80 }, { PATH_INDEX, "index again", 10 } };
    struct random_fixture *fixture = step->fixture;
    struct rng rng = fixture->engine.rng;
    uint32_t start = fixture->engine.next_start;
    struct outcome plain;
    bool ok = true;
    decide(&plain, "plain", step, PATH_PLAIN, &rng, start);
    counts.errors += !status_ok(plain.choice.error);
    for (size_t i = 0; i < ARRAY_SIZE(paths) && ok; i++) {
        struct outcome fast;
        if (!chance(&fixture->rng, paths[i].percent))
            continue;
        decide(&fast, paths[i].name, step, paths[i].path, &rng, start);
        fixture->engine.next_start = start;
        ok = !outcomes_differ(step, &plain, &fast);
        outcome_release(&fast);
    }
    fixture->engine.rng = plain.rng;
    fixture->engine.next_start = plain.next_start;
    *ret_row = plain.choice.row;
    outcome_release(&plain);
    return ok;
}

static bool run_step(struct step *step)
{
    struct random_fixture *fixture = step->fixture;
    bool rare = chance(&fixture->rng, 6);
    uint32_t row;
    for (uint32_t left = random_below(&fixture->rng, 3) + (rare ? random_below(&fixture->rng, 8) : 0);
         left > 0; left--)
        random_fixture_change(fixture);
    if (!fixture->cluster.live_nodes)
        return true;
    step->pod = random_fixture_pod(fixture, rare);
    const struct profile *profile = engine_profile(&fixture->engine, step->pod->api);
    bool ok = compare_paths(step, &row);
    counts.steps++;
    counts.placed += row != ROW_NONE;
    counts.unfit += row == ROW_NONE;
    if (chance(&fixture->rng, 10)) { /* the pod leaves before it is placed */
        cluster_remove_pod(&fixture->cluster, step->pod);
        return ok;
    }
    random_fixture_settle(fixture, step->pod, row);
    return ok && (row == ROW_NONE || !overcommits(step, profile));
}

static bool run_seed(uint64_t seed)
{
    struct random_fixture fixture;
    random_fixture_init(&fixture, seed);
    struct step step = { .fixture = &fixture, .seed = seed };
    uint32_t steps = fixture.crowded       ? CROWDED_STEPS
                     : fixture.names > 100 ? options.steps / 2
                                           : options.steps;
    bool ok = true;
    for (step.number = 1; ok && step.number <= steps; step.number++)
        ok = run_step(&step);
    if (!random_fixture_adds_up(&fixture))
        ok = differ(&step, "model", "sums", 0, 1), ok = false;
    random_fixture_release(&fixture);
    if (!ok)
        printf("again with: test_paths --seed %llu\n", (unsigned long long)seed);
    return ok;
}

/* ---- the program ---- */
static volatile uint64_t current_seed;

/* A crash prints its seed too. */
static void on_crash(int number)
{
    char text[64];
    int len = snprintf(text, sizeof(text), "crash with --seed %llu\n", (unsigned long long)current_seed);
    if (write(STDOUT_FILENO, text, (size_t)len) < 0)
        _exit(1);
    signal(number, SIG_DFL);
    raise(number);
}

static bool parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        int64_t value;
        if (i + 1 == argc || !str_to_int64(str_from(argv[i + 1]), &value) || value < 0)
            return false;
        if (strcmp(argv[i], "--seed") == 0)
            options.seed = (uint64_t)value;
        else if (strcmp(argv[i], "--seeds") == 0)
            options.seeds = (uint64_t)value;
        else if (strcmp(argv[i], "--steps") == 0)
            options.steps = (uint32_t)value;
        else
            return false;
    }
    return true;
}

/* A test that never leaves the plain path proves nothing. */
static bool covers_enough(void)
{
    uint64_t fast = counts.answered[PATH_SCAN] + counts.answered[PATH_INDEX];
    uint64_t tried = counts.tried[PATH_SCAN] + counts.tried[PATH_INDEX];
    printf("%llu decisions, %llu placed, %llu without a node, %llu errors\n",
           (unsigned long long)counts.steps, (unsigned long long)counts.placed,
           (unsigned long long)counts.unfit, (unsigned long long)counts.errors);
    printf("scan: %llu of %llu answered; index: %llu of %llu\n",
           (unsigned long long)counts.answered[PATH_SCAN], (unsigned long long)counts.tried[PATH_SCAN],
           (unsigned long long)counts.answered[PATH_INDEX], (unsigned long long)counts.tried[PATH_INDEX]);
    printf("pods with volumes: %llu of %llu answered; volumes held by %llu\n",
           (unsigned long long)counts.with_volumes_fast, (unsigned long long)counts.with_volumes,
           (unsigned long long)counts.held);
    printf("ranked with all scores: %llu nodes; a part of the order was read %llu times\n",
           (unsigned long long)counts.ranked, (unsigned long long)counts.windows);
    printf("with other weights: %llu\n", (unsigned long long)counts.reweighted);
    if (options.seeds < 20 || (fast * 2 > tried && counts.ranked > fast && counts.windows * 100 > fast &&
                               counts.with_volumes_fast * 4 > counts.with_volumes))
        return true;
    printf("too few decisions took a fast path\n");
    return false;
}

int main(int argc, char **argv)
{
    if (!parse(argc, argv)) {
        fprintf(stderr, "usage: test_paths [--seed N] [--seeds COUNT] [--steps COUNT]\n");
        return 2;
    }
    uint64_t failed = 0;
    printf("seeds %llu to %llu\n", (unsigned long long)options.seed,
           (unsigned long long)(options.seed + options.seeds - 1));
    fflush(stdout);
    signal(SIGABRT, on_crash);
    signal(SIGSEGV, on_crash);
    for (uint64_t i = 0; i < options.seeds && failed < FAILURES_MAX; i++) {
        current_seed = options.seed + i;
        failed += !run_seed(current_seed);
    }
    return covers_enough() && !failed ? 0 : 1;
}
