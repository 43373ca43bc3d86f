/* NodePorts: two pods can not have the same port of a host. */
#include "framework/table.h"

static struct status pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    (void)narrow;
    if (!cycle->info->class->ports_len)
        return STATUS_SKIPPED;
    *cycle_state(cycle) = cycle->info->class;
    return STATUS_OK;
}

static struct status refusal(void)
{
    return reject(STATUS_UNSCHEDULABLE, "node(s) didn't have free ports for the requested pod ports");
}

static bool conflicts(const struct pod_class *wants, struct node_view node)
{
    for (uint32_t i = 0; i < wants->ports_len; i++)
        if (node_port_conflicts(node, &wants->ports[i]))
            return true;
    return false;
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    const struct pod_class *wants = *cycle_state(cycle);
    if (!wants)
        return reject(STATUS_ERROR, "reading \"PreFilterNodePorts\" from cycleState: not found");
    return conflicts(wants, node) ? refusal() : STATUS_OK;
}

/* ---- many rows at once ---- */
static bool rows_prepare(struct table *table, struct table_part *part)
{
    part->filters = table->pod->class->ports_len > 0;
    return true;
}

static void rows_filter(struct table *table, struct table_part *part, struct row_span span)
{
    for (uint32_t i = 0; i < span.len; i++) {
        struct node_view node = { table->cluster, span_row(span, i), NULL };
        if (conflicts(table->pod->class, node))
            table_reject(table, part, node.row, 1);
    }
}

static struct status rows_explain(struct table *table, struct table_part *part, struct cycle *cycle,
                                  uint32_t row, uint32_t detail)
{
    (void)table, (void)part, (void)cycle, (void)row, (void)detail;
    return refusal();
}

static const struct row_forms rows = { .prepare = rows_prepare,
                                       .filter = rows_filter,
                                       .explain = rows_explain };

const struct plugin plugin_node_ports = {
    .name = "NodePorts",
    .doc = "Filters out nodes where a host port that the pod asks for is in use.",
    .pre_filter = pre_filter,
    .filter = filter,
    .rows = &rows,
};
