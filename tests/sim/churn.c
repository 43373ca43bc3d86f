/* churn.c: a day of churn in a minute: hundreds of thousands of pods are created, bound and deleted, and at the end as
 * much memory is in use as at the beginning.
 *
 *     churn [--pods COUNT] [--faults PER_MILLE]
 *
 * The same cluster as in sim.c, with a constant population: each deleted pod is replaced. Memory is measured
 * with the cluster empty: after the first quarter of all pods, when tables have reached their size, and at the end. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "actors.h"
#include "check.h"
#include "controllers.h"
#include "core.h"
#include "server.h"
#include "watch.h"

enum {
    NODES = 50,
    POPULATION = 600,
    BATCH = 20, /* pods of the population are replaced */
    WAVE_MS = 40,
    RARE = 100, /* of 1000 */
    GROWTH_PERCENT_MAX = 5,
};

struct churn {
    struct sim sim;
    uint64_t created, wanted;
    uint32_t next; /* number of the pod to be deleted next */
};

/* ---- the cluster ---- */
static void add_node(struct sim *sim, uint32_t number)
{
    struct stored *node = store_create(&sim->store, SIM_NODES, number);
    node->facts.node = (struct node_facts){ .has = { 16000, INT64_C(64) << 30, 4 },
                                            .pods_max = 110,
                                            .zone = (int)(number % ZONES) };
    store_commit(&sim->store, SIM_NODES, node);
    check_node(sim, node);
}

static void replace_pod(struct churn *churn)
{
    struct sim *sim = &churn->sim;
    struct stored *pod = store_get(&sim->store, SIM_PODS, churn->next);
    struct pod_facts facts;
    if (pod->exists)
        store_remove(&sim->store, SIM_PODS, pod);
    actors_random_pod(sim, &facts);
    facts.finalizer = false;
    if (!chance(sim, RARE))
        facts.host_port = facts.repels = 0; /* most pods fit */
    actors_create_pod(sim, churn->next, &facts);
    churn->next = (churn->next + 1) % POPULATION;
    churn->created++;
}

static void wave(struct sim *sim, void *what)
{
    struct churn *churn = what;
    for (uint32_t i = 0; i < BATCH && churn->created < churn->wanted; i++)
        replace_pod(churn);
    watches_wake(sim);
    if (churn->created < churn->wanted)
        sim_plan(sim, WAVE_MS * SIM_MS, wave, churn, NULL);
}

/* ---- measuring ---- */
static size_t heap_bytes(void)
{
    malloc_trim(0);
    return mallinfo2().uordblks + mallinfo2().hblkhd;
}

/* Creates `pods` more pods, deletes all of them, and measures the memory in use. */
static size_t run(struct churn *churn, uint64_t pods)
{
    struct sim *sim = &churn->sim;
    churn->wanted += pods;
    sim->storm = true;
    for (uint32_t i = 0; i < POPULATION; i++) /* all at once: tables reach their size */
        replace_pod(churn);
    wave(sim, churn);
    while (churn->created < churn->wanted && !sim->failed)
        sim_until(sim, sim->now_ns + SIM_S);
    sim->storm = false;
    sim_until(sim, sim->now_ns + 2 * LATE_MS_MAX * SIM_MS);
    actors_delete_everything(sim);
    sim_until(sim, sim->now_ns + 30 * SIM_S);
    if (!sim->failed)
        check_drained(sim);
    check_forget(sim);
    return heap_bytes();
}

static int compare(const struct churn *churn, size_t before, size_t after)
{
    size_t allowed = before + before / 100 * GROWTH_PERCENT_MAX;
    printf("%llu pods created, %llu bound, %llu evicted, %llu requests, %llu decisions\n",
           (unsigned long long)churn->created, (unsigned long long)churn->sim.bound,
           (unsigned long long)churn->sim.evicted, (unsigned long long)churn->sim.requests,
           (unsigned long long)churn->sim.decisions);
    printf("in use with the cluster empty: %zu bytes after the beginning, %zu at the end (%+.2f %%)\n",
           before, after, before ? 100.0 * ((double)after - (double)before) / (double)before : 0);
    if (!before)
        printf("(not measured with a sanitizer)\n");
    if (churn->sim.bound < churn->created / 2)
        printf("too few pods were bound for a result\n");
    else if (after > allowed)
        printf("memory grows\n");
    else
        return 0;
    return 1;
}

static void begin(struct churn *churn, uint32_t faults)
{
    struct sim *sim = &churn->sim;
    sim->has_knobs = true;
    sim->knobs = (struct knobs){ .nodes = NODES,
                                 .pods = POPULATION,
                                 .claims = 1,
                                 .volumes = 1,
                                 .budgets = 1,
                                 .unsent = faults,
                                 .lost = faults,
                                 .half_lost = faults,
                                 .late = faults / 2,
                                 .refused = faults / 2,
                                 .conflict = faults / 2,
                                 .watch_again = faults,
                                 .watch_break = faults / 4,
                                 .watch_lag_ms = 20,
                                 .ports_used = true,
                                 .terms_used = true,
                                 .priorities_used = true };
    sim_init(sim, 1);
    for (uint32_t i = 0; i < CLASS_COUNT; i++)
        store_commit(&sim->store, SIM_CLASSES, store_create(&sim->store, SIM_CLASSES, i));
    for (uint32_t i = 0; i < NODES; i++)
        add_node(sim, i);
    controllers_begin(sim);
    core_start(sim);
}

int main(int argc, char **argv)
{
    int64_t pods = 50000, faults = 5;
    for (int i = 1; i < argc; i += 2) {
        int64_t *value = str_is(str_from(argv[i]), "--pods")     ? &pods
                         : str_is(str_from(argv[i]), "--faults") ? &faults
                                                                 : NULL;
        if (!value || i + 1 == argc || !str_to_int64(str_from(argv[i + 1]), value) || *value < 0) {
            fprintf(stderr, "usage: churn [--pods COUNT] [--faults PER_MILLE]\n");
            return 2;
        }
    }
    struct churn churn = { 0 };
    begin(&churn, (uint32_t)faults);
    uint64_t warm_up = MAX((uint64_t)pods / 3, (uint64_t)4 * POPULATION);
    size_t before = run(&churn, warm_up);
    size_t after = run(&churn, (uint64_t)pods);
    int result = churn.sim.failed ? 1 : compare(&churn, before, after);
    sim_release(&churn.sim);
    return result;
}
