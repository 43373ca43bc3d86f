/* DeferredPodScheduling: other pods may leave a node to make room for the resize of one of its pods.
 *
 * The kubelet defers a resize that its node has no room for. Such a pod waits in the queue though it has its node
 * (pod_info.resize_deferred), and is judged by this plugin, by NodeName and by NodeResourcesFit alone: the others say
 * nothing about a pod that runs already (plugin.ignores_resizes). On a node whose podPreemptionPolicy has items in
 * disableResizePreemption it waits until that list is empty. */
#include "framework/plugin.h"
#include "framework/shortfall.h"

static bool is_disabled(const struct node *node)
{
    const struct node_preemption_policy *policy = node->spec.pod_preemption_policy;
    return policy && policy->disable_resize_preemption.len;
}

static struct status pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    (void)narrow;
    return cycle->info->resize_deferred ? STATUS_OK : (struct status){ .code = STATUS_SKIP };
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    struct str own = cycle->pod->spec.node_name;
    if (!cycle->info->resize_deferred)
        return STATUS_OK;
    if (own.len && !str_eq(own, cluster_node_name(node.cluster, node.row)))
        return reject(STATUS_UNRESOLVABLE, "pod assigned to different node");
    if (is_disabled(cluster_node(node.cluster, node.row)->api))
        return reject(STATUS_UNRESOLVABLE, "node had resize preemption disabled");
    return STATUS_OK;
}

static void explain(struct cycle *cycle, struct node_view node, struct shortfall_list *ret)
{
    struct str own = cycle->pod->spec.node_name;
    bool elsewhere = own.len && !str_eq(own, cluster_node_name(node.cluster, node.row));
    shortfall_add(ret, "Resize")->sentence =
        elsewhere ? arena_printf(ret->arena, "the pod waits for its resize on " STR_FMT, STR_ARG(own))
                  : STR("spec.podPreemptionPolicy of the node disables preemption for resizes");
}

/* Only a pod without a node comes here; one that has its node is not bound again (engine.c). */
static struct status permit(struct cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    (void)row, (void)ret_timeout_ms;
    return cycle->info->resize_deferred
               ? reject(STATUS_UNRESOLVABLE, "pod resize fits, waiting for Kubelet actuation")
               : STATUS_OK;
}

HINT(policy_changed)
{
    const struct node *before = event->before, *after = event->after;
    return context->info->resize_deferred && str_eq(pod->spec.node_name, after->meta.name) &&
                   is_disabled(before) && !is_disabled(after)
               ? HINT_QUEUE
               : HINT_SKIP;
}

HINT(node_added)
{
    const struct node *after = event->after;
    return context->info->resize_deferred && str_eq(pod->spec.node_name, after->meta.name) &&
                   !is_disabled(after)
               ? HINT_QUEUE
               : HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_NODE, ACTION_NODE_PREEMPTION_POLICY, policy_changed },
    { EVENT_NODE, ACTION_ADD, node_added },
    { 0 },
};

const struct plugin plugin_deferred_pod_scheduling = {
    .name = "DeferredPodScheduling",
    .doc = "Lets a pod whose resize is deferred preempt pods on its node, unless the node disables that.",
    .since = BEHAVIOUR_deferred_resizes_have_a_plugin,
    .reads = READS("spec.nodeName"),
    .pre_filter = pre_filter,
    .filter = filter,
    .explain = explain,
    .permit = permit,
    .events = events,
};
