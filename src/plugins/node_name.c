/* NodeName: a pod that names its node goes nowhere else. */
#include "index/table.h"

static struct status filter(struct cycle *cycle, struct node_view node)
{
    struct str wanted = cycle->pod->spec.node_name;
    if (!wanted.len || str_eq(wanted, node_name(node)))
        return STATUS_OK;
    return reject(STATUS_UNRESOLVABLE, "node(s) didn't match the requested node name");
}

/* A pod that waits has no node name (one that has takes the plain path); the pod that stands for its class may. */
static bool rows_prepare(struct table *table, struct table_part *part)
{
    (void)table, (void)part;
    return true;
}

static const struct row_forms rows = { .prepare = rows_prepare };

static const struct event_rule events[] = {
    { EVENT_NODE, ACTION_ADD, NULL },
    { 0 },
};

const struct plugin plugin_node_name = {
    .name = "NodeName",
    .doc = "Filters out nodes other than the one that spec.nodeName names.",
    .filter = filter,
    .rows = &rows,
    .events = events,
};
