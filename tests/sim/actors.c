/* actors.c: a table of random changes to a cluster. */
#include "actors.h"

#include "check.h"
#include "controllers.h"
#include "core.h"
#include "reload.h"
#include "server.h"
#include "watch.h"

enum {
    CALM_GATES_OPEN = 500, /* of 1000 */
    CLOCK_OFF_S_MAX = 30,
};

/* ---- choosing ---- */
/* A random object of the kind, or NULL. */
static struct stored *any(struct sim *sim, enum sim_kind kind)
{
    const struct kind_store *store = &sim->store.kinds[kind];
    uint32_t from = roll(sim, store->len);
    for (uint32_t i = 0; i < store->len; i++)
        if (store->items[(from + i) % store->len].exists)
            return &store->items[(from + i) % store->len];
    return NULL;
}

/* A random pod for which the predicate holds, or NULL. */
static struct stored *any_pod(struct sim *sim, bool (*wanted)(const struct pod_facts *facts))
{
    const struct kind_store *store = &sim->store.kinds[SIM_PODS];
    uint32_t from = roll(sim, store->len);
    for (uint32_t i = 0; i < store->len; i++) {
        struct stored *pod = &store->items[(from + i) % store->len];
        if (pod->exists && !pod->facts.pod.finished && wanted(&pod->facts.pod))
            return pod;
    }
    return NULL;
}

/* ---- nodes ---- */
static void random_amounts(struct sim *sim, struct node_facts *facts)
{
    facts->has[AMOUNT_CPU] = 1000 * (1 + roll(sim, 4));
    facts->has[AMOUNT_MEMORY] = (int64_t)(2 + roll(sim, 7)) << 30;
    facts->has[AMOUNT_GPU] = chance(sim, 400) ? 1 + roll(sim, 2) : 0;
    facts->pods_max = chance(sim, 300) ? 2 + roll(sim, 3) : 20;
}

static void commit_node(struct sim *sim, struct stored *node)
{
    const struct node_facts *facts = &node->facts.node;
    store_commit(&sim->store, SIM_NODES, node);
    check_node(sim, node);
    sim_trace(sim, "node n%u: cpu %lldm, memory %lldGi, gpu %lld, pods %lld, zone %d, taints %x%s",
              node->facts.number, (long long)facts->has[AMOUNT_CPU],
              (long long)facts->has[AMOUNT_MEMORY] >> 30, (long long)facts->has[AMOUNT_GPU],
              (long long)facts->pods_max, facts->zone, facts->taints, facts->cordoned ? ", cordoned" : "");
}

static void add_node(struct sim *sim)
{
    int number = store_free_number(&sim->store, SIM_NODES, roll(sim, sim->knobs.nodes));
    if (number == NONE)
        return;
    struct stored *node = store_create(&sim->store, SIM_NODES, (uint32_t)number);
    random_amounts(sim, &node->facts.node);
    node->facts.node.zone = (int)roll(sim, ZONES);
    commit_node(sim, node);
}

static void remove_node(struct sim *sim)
{
    struct stored *node = any(sim, SIM_NODES);
    if (node)
        store_remove(&sim->store, SIM_NODES, node);
}

/* Another machine with the same name joins at once. */
static void replace_node(struct sim *sim)
{
    struct stored *node = any(sim, SIM_NODES);
    if (!node)
        return;
    struct node_facts facts = node->facts.node;
    store_remove(&sim->store, SIM_NODES, node);
    store_create(&sim->store, SIM_NODES, node->facts.number)->facts.node = facts;
    if (chance(sim, 300))
        random_amounts(sim, &node->facts.node);
    commit_node(sim, node);
}

static void cordon_node(struct sim *sim)
{
    struct stored *node = any(sim, SIM_NODES);
    if (!node)
        return;
    node->facts.node.cordoned = !node->facts.node.cordoned;
    commit_node(sim, node);
}

static void resize_node(struct sim *sim)
{
    struct stored *node = any(sim, SIM_NODES);
    if (!node)
        return;
    random_amounts(sim, &node->facts.node);
    commit_node(sim, node);
}

static void taint_node(struct sim *sim)
{
    struct stored *node = any(sim, SIM_NODES);
    if (!node)
        return;
    node->facts.node.taints ^= (uint8_t)(1 << roll(sim, TAINTS));
    commit_node(sim, node);
}

static void relabel_node(struct sim *sim)
{
    struct stored *node = any(sim, SIM_NODES);
    if (!node)
        return;
    node->facts.node.zone = (int)roll(sim, ZONES);
    commit_node(sim, node);
}

/* ---- pods ---- */
void actors_random_pod(struct sim *sim, struct pod_facts *ret)
{
    static const int32_t priorities[] = { 0, 0, 0, 10, 10, 100, -5 };
    const struct knobs *knobs = &sim->knobs;
    *ret =
        (struct pod_facts){ .zone = NONE, .claim = NONE, .node = NONE, .nominated = NONE, .generation = 1 };
    ret->requests[AMOUNT_CPU] = 100 * (int64_t)roll(sim, 16);
    ret->requests[AMOUNT_MEMORY] = (int64_t)roll(sim, 3) << 30;
    ret->requests[AMOUNT_GPU] = chance(sim, 100);
    ret->app = (int)roll(sim, APPS);
    ret->repels = knobs->terms_used && chance(sim, 200);
    ret->finalizer = chance(sim, 50);
    ret->tolerates = chance(sim, 300) ? (uint8_t)roll(sim, 1 << TAINTS) : 0;
    if (chance(sim, 150))
        ret->zone = (int)roll(sim, ZONES);
    if (knobs->priorities_used)
        ret->priority = priorities[roll(sim, ARRAY_SIZE(priorities))];
    ret->never_preempts = chance(sim, 100);
    ret->gated = knobs->gates_used && chance(sim, 150);
    if (knobs->ports_used && chance(sim, 200))
        ret->host_port = 8000 + (int)roll(sim, 2);
    /* A pod that never preempts keeps its nomination forever, as in kube-scheduler, if a scheduler ends while it
     * waits for its volume: no other pod can then use the resources. */
    if (knobs->claims_used && !ret->never_preempts && chance(sim, 300))
        ret->claim = (int)roll(sim, knobs->claims);
}

struct stored *actors_create_pod(struct sim *sim, uint32_t number, const struct pod_facts *facts)
{
    struct stored *pod = store_create(&sim->store, SIM_PODS, number);
    pod->facts.pod = *facts;
    if (facts->claim != NONE && !store_at(&sim->store, SIM_CLAIMS, facts->claim))
        controllers_create_claim(sim, (uint32_t)facts->claim);
    store_commit(&sim->store, SIM_PODS, pod);
    sim_trace(sim,
              "pod p%u: priority %d, cpu %lldm, memory %lldGi, gpu %lld, port %d, zone %d, claim %d, app "
              "%d%s%s%s%s",
              number, facts->priority, (long long)facts->requests[AMOUNT_CPU],
              (long long)facts->requests[AMOUNT_MEMORY] >> 30, (long long)facts->requests[AMOUNT_GPU],
              facts->host_port, facts->zone, facts->claim, facts->app, facts->repels ? ", repels" : "",
              facts->gated ? ", gated" : "", facts->foreign ? ", foreign" : "",
              facts->never_preempts ? ", never preempts" : "");
    return pod;
}

static void create_pod(struct sim *sim)
{
    struct pod_facts facts;
    int number = store_free_number(&sim->store, SIM_PODS, roll(sim, sim->knobs.pods));
    actors_random_pod(sim, &facts);
    if (number != NONE)
        actors_create_pod(sim, (uint32_t)number, &facts);
}

/* Many equal pods, as a controller creates them. */
static void create_several(struct sim *sim)
{
    struct pod_facts facts;
    actors_random_pod(sim, &facts);
    facts.claim = NONE;
    for (uint32_t left = 2 + roll(sim, 5); left > 0; left--) {
        int number = store_free_number(&sim->store, SIM_PODS, roll(sim, sim->knobs.pods));
        if (number != NONE)
            actors_create_pod(sim, (uint32_t)number, &facts);
    }
}

static void delete_pod(struct sim *sim)
{
    struct stored *pod = any(sim, SIM_PODS);
    if (pod)
        server_delete_pod(sim, pod, false);
}

static void delete_pod_now(struct sim *sim)
{
    struct stored *pod = any(sim, SIM_PODS);
    if (pod)
        server_delete_pod(sim, pod, true);
}

/* The same name again at once, as a StatefulSet does. */
static void recreate_pod(struct sim *sim)
{
    struct stored *pod = any(sim, SIM_PODS);
    if (!pod || pod->facts.pod.finalizer || pod->facts.pod.foreign)
        return;
    struct pod_facts facts;
    actors_random_pod(sim, &facts);
    server_delete_pod(sim, pod, true);
    actors_create_pod(sim, pod->facts.number, &facts);
}

static bool is_on_node(const struct pod_facts *facts)
{
    return facts->node != NONE;
}

static void finish_pod(struct sim *sim)
{
    struct stored *pod = any_pod(sim, is_on_node);
    if (!pod)
        return;
    pod->facts.pod.finished = true;
    store_commit(&sim->store, SIM_PODS, pod);
}

static void relabel_pod(struct sim *sim)
{
    struct stored *pod = any(sim, SIM_PODS);
    if (!pod || pod->facts.pod.finished)
        return;
    /* The term of a pod with anti-affinity would no longer match its own label. */
    if (sim->knobs.labels_change && !pod->facts.pod.repels)
        pod->facts.pod.app = (int)roll(sim, APPS);
    store_commit(&sim->store, SIM_PODS, pod);
}

static bool is_gated(const struct pod_facts *facts)
{
    return facts->gated;
}

static void open_gate(struct sim *sim)
{
    struct stored *pod = any_pod(sim, is_gated);
    if (!pod)
        return;
    pod->facts.pod.gated = false;
    pod->facts.pod.generation++;
    store_commit(&sim->store, SIM_PODS, pod);
}

/* ---- another scheduler ---- */
static bool is_waiting(const struct pod_facts *facts)
{
    return facts->node == NONE && !facts->gated && !facts->terminating && !facts->host_port;
}

static void bind_from_outside(struct sim *sim)
{
    struct stored *pod = any_pod(sim, is_waiting), *node = any(sim, SIM_NODES);
    if (pod && node)
        server_assign(sim, pod, (int)node->facts.number, false);
}

static void use_capacity(struct sim *sim)
{
    struct pod_facts facts;
    struct stored *node = any(sim, SIM_NODES);
    int number = store_free_number(&sim->store, SIM_PODS, roll(sim, sim->knobs.pods));
    if (!node || number == NONE)
        return;
    actors_random_pod(sim, &facts);
    facts.foreign = true;
    facts.gated = false;
    facts.claim = NONE;
    facts.host_port = 0;
    if (chance(sim, 700))
        facts.node = (int)node->facts.number;
    actors_create_pod(sim, (uint32_t)number, &facts);
}

/* ---- the operator ---- */
static void change_budget(struct sim *sim)
{
    uint32_t number = roll(sim, sim->knobs.budgets);
    struct stored *budget = store_get(&sim->store, SIM_BUDGETS, number);
    if (budget->exists && chance(sim, 200)) {
        store_remove(&sim->store, SIM_BUDGETS, budget);
        return;
    }
    if (!budget->exists)
        store_create(&sim->store, SIM_BUDGETS, number)->facts.budget.app = (int)roll(sim, APPS);
    budget->facts.budget.allowed = (int)roll(sim, 3);
    store_commit(&sim->store, SIM_BUDGETS, budget);
}

/* The live scheduler's clock does not jump. A bounded jump must be harmless: a wait until a time becomes
 * longer or shorter. */
static void jump_clock(struct sim *sim)
{
    if (!sim->knobs.clock_jumps)
        return;
    int64_t seconds = chance(sim, 500) ? roll(sim, 5) : roll(sim, CLOCK_OFF_S_MAX);
    sim->clock_offset_ns = chance(sim, 500) ? seconds * SIM_S : -seconds * SIM_S;
    sim_trace(sim, "the clock jumps: %lld s off", (long long)(sim->clock_offset_ns / SIM_S));
}

/* The next leader starts when no request of the last one can be in flight. */
static void take_over(struct sim *sim, void *what)
{
    (void)what;
    if (sim->core.alive)
        return;
    if (sim->requests_in_flight)
        sim_plan(sim, SIM_S, take_over, NULL, NULL);
    else
        core_start(sim);
}

static void change_leader(struct sim *sim)
{
    if (!sim->knobs.leader_changes || !sim->core.alive)
        return;
    core_stop(sim);
    sim_plan(sim, SIM_S * (1 + roll(sim, 5)), take_over, NULL, NULL);
}

static void cut_network(struct sim *sim)
{
    if (!sim->knobs.outages)
        return;
    sim->outage_until_ns = sim->now_ns + SIM_S * (1 + roll(sim, 15));
    sim_trace(sim, "the network is cut");
}

static void refuse_bindings(struct sim *sim)
{
    if (!sim->knobs.refusals)
        return;
    sim->no_binding_until_ns = sim->now_ns + SIM_S * (1 + roll(sim, 30));
    sim_trace(sim, "bindings are forbidden");
}

static void break_watch(struct sim *sim)
{
    if (sim->core.alive && sim->knobs.watch_break)
        watch_break(sim, roll(sim, SIM_KIND_COUNT));
}

static const struct {
    uint32_t weight;
    const char *what;
    void (*act)(struct sim *sim);
} actions[] = {
    { 30, "create a pod", create_pod },
    { 4, "create several pods", create_several },
    { 10, "delete a pod", delete_pod },
    { 5, "delete a pod at once", delete_pod_now },
    { 4, "recreate a pod", recreate_pod },
    { 6, "a pod finishes", finish_pod },
    { 6, "relabel a pod", relabel_pod },
    { 8, "open a gate", open_gate },
    { 3, "bind from outside", bind_from_outside },
    { 3, "use capacity", use_capacity },
    { 4, "add a node", add_node },
    { 2, "remove a node", remove_node },
    { 3, "replace a node", replace_node },
    { 4, "cordon a node", cordon_node },
    { 3, "resize a node", resize_node },
    { 3, "taint a node", taint_node },
    { 3, "relabel a node", relabel_node },
    { 2, "change a budget", change_budget },
    { 2, "jump", jump_clock },
    { 1, "change the leader", change_leader },
    { 1, "cut the network", cut_network },
    { 1, "refuse bindings", refuse_bindings },
    { 2, "break a watch", break_watch },
    { 2, "delete a claim", controllers_delete_claim },
    { 3, "change the configuration", reload_change },
};

/* ---- the storm phase and the calm phase ---- */
static void act(struct sim *sim, void *what)
{
    uint64_t mask = (uint64_t)(uintptr_t)what; /* of the actions that this seed uses */
    uint32_t sum = 0, at;
    if (!sim->storm)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
        sum += mask >> i & 1 ? actions[i].weight : 0;
    at = roll(sim, sum);
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        uint32_t weight = mask >> i & 1 ? actions[i].weight : 0;
        if (at >= weight) {
            at -= weight;
            continue;
        }
        sim_trace(sim, "act: %s", actions[i].what);
        actions[i].act(sim);
        break;
    }
    watches_wake(sim);
    sim_plan(sim, SIM_MS * (1 + (int64_t)roll(sim, (uint32_t)sim->knobs.action_ms * 2)), act, what, NULL);
}

void actors_begin(struct sim *sim)
{
    uint64_t mask = 1; /* pods are always created */
    for (size_t i = 1; i < ARRAY_SIZE(actions); i++)
        if (chance(sim, 650))
            mask |= (uint64_t)1 << i;
    for (uint32_t i = 0; i < CLASS_COUNT; i++)
        store_commit(&sim->store, SIM_CLASSES, store_create(&sim->store, SIM_CLASSES, i));
    for (uint32_t left = 1 + roll(sim, sim->knobs.nodes); left > 0; left--)
        add_node(sim);
    if (sim->knobs.claims_used)
        controllers_create_volumes(sim, 1 + roll(sim, 4));
    for (uint32_t left = sim->knobs.pods_at_first; left > 0; left--)
        create_pod(sim);
    controllers_begin(sim);
    sim_plan(sim, SIM_MS, act, (void *)(uintptr_t)mask, NULL);
}

void actors_calm(struct sim *sim)
{
    sim_trace(sim, "---- calm ----");
    sim->storm = false;
    sim->outage_until_ns = sim->no_binding_until_ns = sim->now_ns;
    bool open = chance(sim, CALM_GATES_OPEN);
    while (open && any_pod(sim, is_gated))
        open_gate(sim);
    take_over(sim, NULL);
    watches_wake(sim);
}

void actors_delete_everything(struct sim *sim)
{
    struct kind_store *pods = &sim->store.kinds[SIM_PODS];
    sim_trace(sim, "---- everything is deleted ----");
    for (uint32_t i = 0; i < pods->len; i++)
        if (pods->items[i].exists)
            store_remove(&sim->store, SIM_PODS, &pods->items[i]);
    watches_wake(sim);
}
