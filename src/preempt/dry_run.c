/* dry_run.c: takes all pods of lower priority off a copy of the node, then gives back as many as still fit.
 *
 *     all pods ──remove lower──▶ does the pod fit? ──no──▶ the filters' status
 *                                     │ yes
 *                                     ▼
 *               give back, one by one: first those whose loss breaks a budget, then the others,
 *               each time the most important first; one that does not fit beside the pod is a victim
 *
 * The node is an overlay that is thrown away. What plugins remember about the cluster is changed by run_add_pod() and
 * run_remove_pod() and changed back the same way, so no state is copied. */
#include "preempt/dry_run.h"

#include "base/log.h"
#include "preempt/importance.h"

struct what_if {
    struct cycle *cycle;
    struct node_overlay overlay;
    uint32_t row;
    bool has_rivals; /* pods that wait for the node and that the pod must not push aside */
};

static struct node_view view_of(const struct what_if *node)
{
    return (struct node_view){ .cluster = node->cycle->cluster, .row = node->row, .overlay = &node->overlay };
}

static void put(struct what_if *node, const struct pod_info *pod)
{
    overlay_add(&node->overlay, pod);
    run_add_pod(node->cycle, pod, view_of(node));
}

static void take(struct what_if *node, const struct pod_info *pod)
{
    overlay_remove(&node->overlay, pod);
    run_remove_pod(node->cycle, pod, view_of(node));
}

static void overlay_copy(struct node_overlay *ret, const struct what_if *node)
{
    const struct node_overlay *from = &node->overlay;
    uint32_t resources = from->resources;
    *ret = (struct node_overlay){ .resources = resources,
                                  .nonzero_cpu = from->nonzero_cpu,
                                  .nonzero_memory = from->nonzero_memory };
    ret->used = arena_array(node->cycle->arena, int64_t, resources);
    memcpy(ret->used, from->used, resources * sizeof(*ret->used));
    vec_for(&from->pods, pod)
        *vec_push(&ret->pods) = *pod;
    vec_for(&from->ports, port)
        *vec_push(&ret->ports) = *port;
}

/* With and without the pods that wait for the node: it is not known yet whether they will come. They join a second
 * copy: ports are a set, and when they leave again they could take along a port that another pod holds too. */
static struct status fits(struct what_if *node)
{
    if (node->has_rivals) {
        struct node_overlay crowded;
        overlay_copy(&crowded, node);
        struct status status = run_filters_with_rivals(node->cycle, node->row, &crowded);
        overlay_release(&crowded);
        if (!status_ok(status))
            return status;
    }
    return run_filters(node->cycle, view_of(node));
}

static void log_victim(const struct what_if *node, const struct pod_info *pod)
{
    const struct cluster *cluster = node->cycle->cluster;
    const struct meta *meta = &pod->api->meta;
    const struct meta *preemptor = &node->cycle->pod->meta;
    struct str name = cluster_node_name(cluster, node->row);
    if (cluster->features.release->victims_are_logged_as_lists)
        log_info(5, "Pods are potential preemption victims on node",
                 log_ref("pod", preemptor->namespace, preemptor->name),
                 log_refs("pods", (const struct str[]){ meta->namespace, meta->name }, 1),
                 log_str("node", name));
    else
        log_info(5, "Pod is a potential preemption victim on node",
                 log_ref("pod", meta->namespace, meta->name), log_ref("node", STR(""), name));
}

/* Gives back the pods that fit beside the preemptor; the others are victims. Returns their number. */
static uint32_t reprieve(struct what_if *node, struct pod_info *const *pods, const bool *violating,
                         uint32_t len, bool wanted, struct victims *victims)
{
    uint32_t lost = 0;
    for (uint32_t i = 0; i < len; i++) {
        if (violating[i] != wanted)
            continue;
        put(node, pods[i]);
        if (status_ok(fits(node)))
            continue;
        take(node, pods[i]);
        log_victim(node, pods[i]);
        victims->items[victims->len++] = pods[i];
        lost++;
    }
    return lost;
}

static void select_victims(struct dry_run *run, struct what_if *node, struct pod_info **lower, uint32_t len,
                           struct victims *ret)
{
    struct arena *arena = run->cycle->arena;
    if (!run->budgets_ready)
        budgets_init(&run->budgets, run->cycle->cluster, arena);
    run->budgets_ready = true;
    sort_by_importance(lower, len, run->cycle->cluster->features.release);
    bool *violating = arena_array(arena, bool, len);
    budgets_check(&run->budgets, lower, len, violating);
    *ret = (struct victims){ .items = arena_array(arena, struct pod_info *, len) };
    ret->pdb_violations = reprieve(node, lower, violating, len, true, ret);
    reprieve(node, lower, violating, len, false, ret);
    /* With victims of one kind only they are in order already; sorting again could change that of equals. */
    bool mixed = false;
    for (uint32_t i = 1; i < len; i++)
        mixed |= violating[i] != violating[0];
    if (mixed)
        sort_by_importance(ret->items, ret->len, run->cycle->cluster->features.release);
}

static uint32_t lower_pods(const struct cycle *cycle, uint32_t row, struct pod_info ***ret)
{
    const struct node_entry *node = cluster_node(cycle->cluster, row);
    uint32_t len = 0;
    vec_for(&node->pods, pod)
        len += (*pod)->priority < cycle->info->priority;
    *ret = arena_array(cycle->arena, struct pod_info *, len);
    len = 0;
    vec_for(&node->pods, pod)
        if ((*pod)->priority < cycle->info->priority)
            (*ret)[len++] = *pod;
    return len;
}

struct status dry_run_node(struct dry_run *run, uint32_t row, struct victims *ret)
{
    struct cycle *cycle = run->cycle;
    struct pod_info **lower;
    uint32_t len = lower_pods(cycle, row, &lower);
    if (!len)
        return reject(STATUS_UNRESOLVABLE, "No preemption victims found for incoming pod");

    struct what_if node = { .cycle = cycle, .row = row };
    node.has_rivals = row_has_rivals(cycle->cluster, row, cycle->info);
    overlay_init(&node.overlay, cycle->cluster, row, cycle->arena);
    for (uint32_t i = 0; i < len; i++)
        take(&node, lower[i]);
    struct status status = fits(&node);
    struct victims victims = { .items = lower, .len = len };
    if (status_ok(status))
        select_victims(run, &node, lower, len, &victims);
    for (uint32_t i = 0; i < victims.len; i++)
        put(&node, victims.items[i]);
    overlay_release(&node.overlay);

    if (!status_ok(status))
        return status;
    if (!victims.len)
        return status_printf(cycle->arena, STATUS_ERROR,
                             "expected at least one victim pod on node \"" STR_FMT "\"",
                             STR_ARG(cluster_node_name(cycle->cluster, row)));
    *ret = victims;
    return STATUS_OK;
}

void dry_run_release(struct dry_run *run)
{
    if (run->budgets_ready)
        budgets_release(&run->budgets);
}
