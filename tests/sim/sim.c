/* sim.c: the agenda, and the phases of a run. */
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "actors.h"
#include "check.h"
#include "core.h"

/* Backoffs end within ten seconds; a pod that waits longer must be requeued by an event, or was lost. The queue's flush
 * of leftovers comes after five minutes, and must not be what finds a pod. */
enum { SETTLE_S = 100, LEFTOVERS_S = 700, DRAIN_S = 60 };

/* ---- traces ---- */
static void vtrace(const struct sim *sim, const char *format, va_list args)
{
    printf("%10.3f  ", (double)sim->now_ns / 1e9);
    vprintf(format, args);
    putchar('\n');
}

void sim_trace(const struct sim *sim, const char *format, ...)
{
    va_list args;
    if (!sim->verbose)
        return;
    va_start(args, format);
    vtrace(sim, format, args);
    va_end(args);
}

void sim_fail(struct sim *sim, const char *format, ...)
{
    va_list args;
    if (sim->failed)
        return;
    sim->failed = true;
    printf("seed %llu:\n", (unsigned long long)sim->seed);
    va_start(args, format);
    vtrace(sim, format, args);
    va_end(args);
}

/* ---- the agenda ---- */
static bool comes_before(const void *a, const void *b, const void *context)
{
    const struct happening *x = a, *y = b;
    (void)context;
    return x->at_ns != y->at_ns ? x->at_ns < y->at_ns : x->order < y->order;
}

void sim_plan(struct sim *sim, int64_t in_ns, void (*run)(struct sim *sim, void *what), void *what,
              void (*drop)(void *what))
{
    struct happening *happening = xmalloc(sizeof(*happening));
    *happening = (struct happening){
        .at_ns = sim->now_ns + in_ns, .order = sim->happenings++, .run = run, .what = what, .drop = drop
    };
    heap_push(&sim->agenda, happening);
}

/* When the engine is due, in true time. */
static int64_t engine_due_ns(const struct sim *sim)
{
    if (!sim->core.alive)
        return INT64_MAX;
    int64_t due_ns = engine_next_due(&sim->core.engine);
    return due_ns == INT64_MAX ? due_ns : MAX(sim->now_ns, due_ns - SIM_EPOCH_NS - sim->clock_offset_ns);
}

static void go_to(struct sim *sim, int64_t at_ns)
{
    if (at_ns > sim->now_ns)
        sim->pumps_in_place = 0;
    sim->now_ns = MAX(sim->now_ns, at_ns);
    sim->store.now_s = (SIM_EPOCH_NS + sim->now_ns) / SIM_S;
}

void sim_until(struct sim *sim, int64_t until_ns)
{
    while (!sim->failed) {
        struct happening *next = sim->agenda.items.len ? sim->agenda.items.items[0] : NULL;
        int64_t due_ns = engine_due_ns(sim);
        int64_t at_ns = next ? MIN(next->at_ns, due_ns) : due_ns;
        if (at_ns > until_ns)
            break;
        go_to(sim, at_ns);
        if (next && next->at_ns <= sim->now_ns) {
            heap_pop(&sim->agenda);
            next->run(sim, next->what);
            free(next);
        }
        core_pump(sim);
    }
    go_to(sim, until_ns);
}

/* ---- a run ---- */
static void choose_knobs(struct sim *sim)
{
    struct knobs *knobs = &sim->knobs;
    bool quiet = chance(sim, 100); /* sometimes no faults at all */
#define X(name, most, percent) \
    knobs->name = !quiet && chance(sim, (percent) * 10) ? roll(sim, (most) + 1) : 0;
    SIM_KNOBS(X)
#undef X
    knobs->nodes = 2 + roll(sim, 6);
    knobs->pods = 8 + roll(sim, 40);
    knobs->pods_at_first = roll(sim, knobs->pods);
    knobs->claims = 1 + roll(sim, 6);
    knobs->volumes = knobs->claims * 2 + 8;
    knobs->budgets = 2;
    knobs->storm_s = 5 + roll(sim, 40);
    knobs->action_ms = 50 + roll(sim, 600);
    knobs->clock_jumps = !quiet && chance(sim, 300);
    knobs->leader_changes = !quiet && chance(sim, 300);
    knobs->outages = !quiet && chance(sim, 300);
    knobs->refusals = !quiet && chance(sim, 200);
    knobs->reloads = chance(sim, 400);
    knobs->claims_used = chance(sim, 400);
    knobs->ports_used = chance(sim, 500);
    knobs->priorities_used = chance(sim, 600);
    knobs->gates_used = chance(sim, 500);
    knobs->terms_used = chance(sim, 500);
    knobs->labels_change = chance(sim, 500);
}

void sim_init(struct sim *sim, uint64_t seed)
{
    rng_seed(&sim->rng, seed);
    sim->seed = seed;
    sim->storm = true;
    sim->agenda.before = comes_before;
    if (!sim->has_knobs)
        choose_knobs(sim);
    const uint32_t lens[SIM_KIND_COUNT] = {
        [SIM_NODES] = sim->knobs.nodes,     [SIM_PODS] = sim->knobs.pods,
        [SIM_CLAIMS] = sim->knobs.claims,   [SIM_VOLUMES] = sim->knobs.volumes,
        [SIM_BUDGETS] = sim->knobs.budgets, [SIM_CLASSES] = CLASS_COUNT,
    };
    store_init(&sim->store, lens);
    sim->node_most = xcalloc(sim->knobs.nodes, sizeof(*sim->node_most));
    sim->paces = xcalloc(sim->knobs.pods, sizeof(*sim->paces));
    sim->words = xcalloc(sim->knobs.pods, sizeof(*sim->words));
    go_to(sim, 0);
}

void sim_release(struct sim *sim)
{
    core_stop(sim);
    if (sim->configs_used)
        sim_fail(sim, "%u configurations were not given back", sim->configs_used);
    check_forget(sim);
    vec_for(&sim->agenda.items, item) {
        struct happening *happening = *item;
        if (happening->drop)
            happening->drop(happening->what);
        free(happening);
    }
    heap_release(&sim->agenda);
    store_release(&sim->store);
    arena_release(&sim->arena);
    vec_release(&sim->intents);
    vec_release(&sim->bindings_out);
    vec_release(&sim->early_deletions);
    free(sim->node_most);
    free(sim->paces);
    free(sim->words);
}

/* Where kube-scheduler's queueing hints have gaps, so do ours, and only the flush of leftovers finds the pod: what made
 * preemption fail on a node is not among the rejecting plugins, unless it also rejected the node in the first place;
 * and a pod that is held while its victims are evicted is requeued only by deleted pods. */
static bool hints_suffice(const struct knobs *knobs)
{
    return !knobs->priorities_used || !(knobs->claims_used || knobs->ports_used || knobs->terms_used);
}

static void run_phases(struct sim *sim)
{
    actors_begin(sim);
    core_start(sim);
    sim_until(sim, sim->knobs.storm_s * SIM_S);
    actors_calm(sim);
    sim_until(sim, sim->now_ns + LATE_MS_MAX * SIM_MS + SETTLE_S * SIM_S);
    if (!sim->failed && hints_suffice(&sim->knobs))
        check_no_fitting_pod_waits(sim);
    if (!sim->failed && !sim->knobs.refused && !sim->knobs.conflict) /* otherwise writes may have been lost */
        check_conditions(sim);
    sim_until(sim, sim->now_ns + LEFTOVERS_S * SIM_S);
    if (!sim->failed)
        check_calm(sim);
    actors_delete_everything(sim);
    sim_until(sim, sim->now_ns + DRAIN_S * SIM_S);
    if (!sim->failed)
        check_drained(sim);
}

bool sim_run(uint64_t seed, bool verbose, struct sim *totals)
{
    struct sim sim = { .verbose = verbose };
    sim_init(&sim, seed);
    run_phases(&sim);
    totals->happenings += sim.happenings;
    totals->decisions += sim.decisions;
    totals->bound += sim.bound;
    totals->evicted += sim.evicted;
    totals->lives += sim.lives;
    totals->relists += sim.relists;
    totals->requests += sim.requests;
    totals->reloads += sim.reloads;
    sim_release(&sim);
    return !sim.failed;
}
