/* NodeUnschedulable: keeps pods off cordoned nodes.
 *
 * A pod that tolerates the taint which stands for a cordon may go there. Evicting pods never uncordons a node, so
 * preemption need not try. */
#include "api/taints.h"
#include "index/table.h"

static bool tolerates_cordon(const struct pod *pod)
{
    static const struct taint cordon = { .key = STR(TAINT_NODE_UNSCHEDULABLE),
                                         .effect = STR(TAINT_NO_SCHEDULE) };
    return tolerations_tolerate_taint(pod->spec.tolerations.items, pod->spec.tolerations.len, &cordon, false);
}

static struct status refusal(void)
{
    return reject(STATUS_UNRESOLVABLE, "node(s) were unschedulable");
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    if (!node.cluster->col.unschedulable[node.row] || tolerates_cordon(cycle->pod))
        return STATUS_OK;
    return refusal();
}

/* ---- many rows at once ---- */
static bool rows_prepare(struct table *table, struct table_part *part)
{
    part->filters = !tolerates_cordon(table->pod->api);
    return true;
}

static void rows_filter(struct table *table, struct table_part *part, struct row_span span)
{
    const uint8_t *unschedulable = table->cluster->col.unschedulable;
    if (!table->cluster->unschedulable_nodes)
        return;
    for (uint32_t i = 0; i < span.len; i++)
        if (unschedulable[span_row(span, i)])
            table_reject(table, part, span_row(span, i), 1);
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

/* ---- what may help ---- */
static enum hint node_changed(const struct hint_context *context, const struct pod *pod,
                              const struct cluster_event *event)
{
    (void)context, (void)pod;
    const struct node *before = event->before, *after = event->after;
    bool was_closed = !before || before->spec.unschedulable;
    return was_closed && !after->spec.unschedulable ? HINT_QUEUE : HINT_SKIP;
}

static enum hint tolerations_changed(const struct hint_context *context, const struct pod *pod,
                                     const struct cluster_event *event)
{
    (void)context;
    return pod_is(event->after, pod) && tolerates_cordon(event->after) ? HINT_QUEUE : HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_NODE, ACTION_ADD | ACTION_NODE_TAINT, node_changed },
    { EVENT_POD, ACTION_POD_TOLERATION, tolerations_changed },
    { 0 },
};

const struct plugin plugin_node_unschedulable = {
    .name = "NodeUnschedulable",
    .doc = "Filters out nodes whose spec.unschedulable is set.",
    .filter = filter,
    .rows = &rows,
    .events = events,
};
