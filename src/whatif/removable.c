/* removable.c: nodes are emptied in the engine's model, and filled again where that does not work; see removable.h. */
#include "whatif/removable.h"

#include "api/labels.h"
#include "input/daemon.h"

const char *const stay_reason_words[STAY_REASON_COUNT] = {
#define X(name, word, text) #word,
    STAY_REASONS(X)
#undef X
};

const char *const stay_reason_texts[STAY_REASON_COUNT] = {
#define X(name, word, text) text,
    STAY_REASONS(X)
#undef X
};

struct emptied {
    const struct pod *pod;
    const struct pod *successor; /* NULL: there is none */
};

struct attempt {
    struct simulation *simulation;
    struct error *err;
    bool force;
    struct budget_uses budgets;
    uint32_t row;
    const struct node *node;
    VEC(struct emptied) pods;
};

void removable_release(struct removable *removable)
{
    vec_release(&removable->nodes);
}

/* ---- may its pods leave? ---- */

static bool is_control_plane(const struct node *node)
{
    return str_map_get(&node->meta.labels, STR("node-role.kubernetes.io/control-plane")) ||
           str_map_get(&node->meta.labels, STR("node-role.kubernetes.io/master"));
}

static enum stay_reason look_at_pods(struct attempt *attempt)
{
    const struct node_entry *node = cluster_node(&attempt->simulation->input->cluster, attempt->row);
    vec_clear(&attempt->pods);
    budget_uses_clear(&attempt->budgets);
    vec_for(&node->pods, info) {
        const struct pod *pod = pod_info_object(*info);
        bool is_managed = controller_of(&pod->meta);
        if (pod_stays_with_node(pod))
            continue;
        if (!is_managed && !attempt->force)
            return STAY_UNMANAGED;
        if (is_managed && !engine_profile(&attempt->simulation->engine, pod))
            return STAY_FOREIGN;
        budget_uses_add(&attempt->budgets, pod);
        *vec_push(&attempt->pods) = (struct emptied){ pod, NULL };
    }
    vec_for(&attempt->budgets.items, use)
        if (budget_use_blocks(use))
            return STAY_BUDGET;
    return STAY_NOT;
}

/* ---- out, and back ---- */

static struct pod_info *info_of(const struct attempt *attempt, const struct pod *pod)
{
    return cluster_find_pod(&attempt->simulation->input->cluster, pod->meta.namespace, pod->meta.name);
}

static void set_node(const struct attempt *attempt, const struct node *node)
{
    struct simulation *simulation = attempt->simulation;
    engine_set_object(&simulation->engine, KIND_NODE, node, &node->meta, simulation->now_ns);
}

static int empty_node(struct attempt *attempt)
{
    struct simulation *simulation = attempt->simulation;
    struct engine *engine = &simulation->engine;
    struct input *input = simulation->input;
    struct status gate;
    set_node(attempt, changes_cordon(&simulation->arena, attempt->node, true));
    vec_for(&attempt->pods, emptied)
        engine_remove_pod(engine, info_of(attempt, emptied->pod), simulation->now_ns);
    vec_for(&attempt->pods, emptied) {
        if (!controller_of(&emptied->pod->meta))
            continue;
        emptied->successor = expansion_bring_back(&input->expansion, emptied->pod);
        input_apply_claims(input);
        if (!emptied->successor)
            continue;
        struct pod_info *info = cluster_add_pod(&input->cluster, emptied->successor);
        int r = engine_add_pod(engine, info, simulation->now_ns, &gate, attempt->err);
        if (r < 0)
            return r;
    }
    return 0;
}

static void fill_node(struct attempt *attempt)
{
    struct simulation *simulation = attempt->simulation;
    struct cluster *cluster = &simulation->input->cluster;
    set_node(attempt, attempt->node);
    vec_for(&attempt->pods, emptied)
        if (emptied->successor)
            engine_remove_pod(&simulation->engine, info_of(attempt, emptied->successor), simulation->now_ns);
    vec_for(&attempt->pods, emptied) {
        expansion_keep(&simulation->input->expansion, emptied->pod);
        struct pod_info *info = cluster_add_pod(cluster, emptied->pod);
        if (info->row == ROW_NONE) /* it was placed by the simulation */
            cluster_place(cluster, info, attempt->row);
        engine_pod_bound(&simulation->engine, info, simulation->now_ns);
    }
}

/* Every pod gets a node at its first try, and nothing leaves for it. */
static bool all_placed(struct attempt *attempt)
{
    struct simulation *simulation = attempt->simulation;
    struct decision decision;
    while (engine_step(&simulation->engine, simulation->now_ns, &decision)) {
        if (decision.row == ROW_NONE) {
            if (decision.retry)
                engine_preemption_done(&simulation->engine, decision.pod, true, simulation->now_ns);
            return false;
        }
        engine_pod_bound(&simulation->engine, decision.pod, simulation->now_ns);
    }
    vec_for(&attempt->pods, emptied)
        if (emptied->successor && info_of(attempt, emptied->successor)->row == ROW_NONE)
            return false;
    return true;
}

/* ---- all nodes ---- */

static int try_node(struct attempt *attempt, struct removable_node *ret)
{
    attempt->row = ret->row;
    attempt->node = cluster_node(&attempt->simulation->input->cluster, ret->row)->api;
    ret->reason = is_control_plane(attempt->node) ? STAY_CONTROL_PLANE : look_at_pods(attempt);
    if (ret->reason != STAY_NOT)
        return 0;
    int r = empty_node(attempt);
    if (r < 0)
        return r;
    if (all_placed(attempt)) {
        vec_for(&attempt->pods, emptied)
            ret->pods += emptied->successor != NULL;
    } else {
        ret->reason = STAY_PENDING;
        fill_node(attempt);
    }
    return 0;
}

static void sum_up(struct removable *removable, const struct cluster *cluster)
{
    static const uint32_t resources[] = { RES_CPU, RES_MEMORY };
    for (size_t i = 0; i < ARRAY_SIZE(resources); i++) {
        double used = 0, alloc = 0;
        vec_for(&removable->nodes, node) {
            if (node->reason == STAY_NOT)
                continue;
            used += (double)cluster->col.used[resources[i]][node->row];
            alloc += (double)cluster->col.alloc[resources[i]][node->row];
        }
        removable->share[i] = alloc > 0 ? used / alloc : 0;
    }
}

int removable_find(struct removable *removable, const struct facts *facts, struct simulation *simulation,
                   const struct removable_options *options, struct error *err)
{
    struct attempt attempt = { .simulation = simulation, .err = err, .force = options->force };
    const struct changes *changes = &simulation->input->changes;
    struct cluster *cluster = &simulation->input->cluster;
    double start = now_seconds();
    int r = 0;
    *removable = (struct removable){ 0 };
    budget_uses_init(&attempt.budgets, &simulation->input->load);
    vec_for(&simulation->waiting,
            waiting) { /* that they wait is known; they must not take what becomes free */
        const struct meta *meta = &waiting->pod->meta;
        struct pod_info *info = cluster_find_pod(cluster, meta->namespace, meta->name);
        if (info && info->row == ROW_NONE)
            engine_remove_pod(&simulation->engine, info, simulation->now_ns);
    }
    for (size_t i = facts->nodes.len; i-- > 0 && r == 0;) {
        struct removable_node node = { .row = facts->nodes.items[i].row, .reason = STAY_NOT };
        if (changes_of_node(changes, cluster_node_name(cluster, node.row)) == CHANGE_DRAIN)
            continue;
        r = try_node(&attempt, &node);
        if (options->progress)
            options->progress(facts->nodes.len - i, facts->nodes.len, now_seconds() - start);
        *vec_push(&removable->nodes) = node;
        if (node.reason == STAY_NOT)
            removable->count++;
        else
            removable->stay[node.reason]++;
    }
    sum_up(removable, cluster);
    budget_uses_release(&attempt.budgets);
    vec_release(&attempt.pods);
    return r;
}
