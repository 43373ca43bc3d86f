/* NodeUnschedulable: keeps pods off cordoned nodes.
 *
 * A pod that tolerates the taint which stands for a cordon may go there. Evicting pods never uncordons a node, so
 * preemption need not try. */
#include "api/taints.h"
#include "framework/rule.h"
#include "framework/shortfall.h"

static bool tolerates_cordon(const struct cluster *cluster, const struct pod *pod)
{
    static const struct taint cordon = { .key = STR(TAINT_NODE_UNSCHEDULABLE),
                                         .effect = STR(TAINT_NO_SCHEDULE) };
    return tolerations_tolerate_taint(pod->spec.tolerations.items, pod->spec.tolerations.len, &cordon,
                                      cluster->features.enabled[FEATURE_TaintTolerationComparisonOperators]);
}

static const void *prepare(struct rule_subject *subject)
{
    return tolerates_cordon(subject->cluster, subject->pod) ? NULL : subject->pod;
}

static int64_t judge(_unused_ const void *pod, union column_value node)
{
    return node.unschedulable;
}

static const struct node_rule rule = {
    .column = COLUMN_UNSCHEDULABLE,
    .prepare = prepare,
    .judge = judge,
    .rejections = { { STATUS_UNRESOLVABLE, STR("node(s) were unschedulable") } },
};

static void explain(struct cycle *cycle, struct node_view node, struct shortfall_list *ret)
{
    (void)cycle, (void)node;
    shortfall_add(ret, "Unschedulable")->sentence = STR("the node is cordoned (spec.unschedulable)");
}

/* The reference does not look at the pod's tolerations here. */
HINT(node_opened)
{
    const struct node *before = event->before, *after = event->after;
    bool was_closed = !before || before->spec.unschedulable;
    return was_closed && !after->spec.unschedulable ? HINT_QUEUE : HINT_SKIP;
}

HINT(tolerations_changed)
{
    return pod_is(event->after, pod) && tolerates_cordon(context->cluster, event->after) ? HINT_QUEUE
                                                                                         : HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_NODE, ACTION_ADD | ACTION_NODE_TAINT, node_opened },
    { EVENT_POD, ACTION_POD_TOLERATION, tolerations_changed, ANY_POD_RULE },
    { EVENT_TARGET_POD, ACTION_POD_TOLERATION, tolerations_changed, DIVIDED_POD_RULE },
    { 0 },
};

const struct plugin plugin_node_unschedulable = {
    .name = "NodeUnschedulable",
    .ignores_resizes = true,
    .doc = "Filters out nodes whose spec.unschedulable is set.",
    .reads = READS("spec.tolerations"),
    .pre_filter = pre_filter_all_nodes,
    .pre_filter_only_narrows = true,
    .newer_points = { POINT_BIT(POINT_PRE_FILTER), BEHAVIOUR_node_filters_have_pre_filter },
    .filter = rule_filter,
    .filter_rule = &rule,
    .explain = explain,
    .events = events,
};
