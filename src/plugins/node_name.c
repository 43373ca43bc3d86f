/* NodeName: a pod that names its node goes nowhere else. */
#include "framework/rule.h"
#include "framework/shortfall.h"

static int64_t judge(const void *pod, union column_value node)
{
    struct str wanted = ((const struct pod *)pod)->spec.node_name;
    return wanted.len && !str_eq(wanted, node.name);
}

static const struct node_rule rule = {
    .column = COLUMN_NAME,
    .judge = judge,
    .rejections = { { STATUS_UNRESOLVABLE, STR("node(s) didn't match the requested node name") } },
};

static struct status pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    if (!cycle->pod->spec.node_name.len)
        return STATUS_OK;
    *narrow = (struct node_names){ .items = arena_new(cycle->arena, struct str), .len = 1 };
    narrow->items[0] = cycle->pod->spec.node_name;
    return STATUS_OK;
}

static void explain(struct cycle *cycle, struct node_view node, struct shortfall_list *ret)
{
    struct shortfall *lack = shortfall_add(ret, "NodeName");
    lack->key = STR("spec.nodeName");
    lack->wants = cycle->pod->spec.node_name;
    lack->has = node_name(node);
    lack->sentence = arena_printf(ret->arena, "the pod names the node " STR_FMT, STR_ARG(lack->wants));
}

static const struct event_rule events[] = { { EVENT_NODE, ACTION_ADD, NULL }, { 0 } };

const struct plugin plugin_node_name = {
    .name = "NodeName",
    .doc = "Filters out nodes other than the one that spec.nodeName names.",
    .reads = READS("spec.nodeName"),
    .pre_filter = pre_filter,
    .pre_filter_only_narrows = true,
    .newer_points = { POINT_BIT(POINT_PRE_FILTER), BEHAVIOUR_node_filters_have_pre_filter },
    .filter = rule_filter,
    .filter_rule = &rule,
    .explain = explain,
    .events = events,
};
