/* NodePorts: two pods can not have the same port of a host. */
#include "api/pod_resources.h"
#include "index/table.h"

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

/* ---- what may help ---- */
static struct str or_default(struct str text, struct str fallback)
{
    return text.len ? text : fallback;
}

static bool ports_clash(const struct container_port *a, const struct container_port *b)
{
    struct str any = STR("0.0.0.0"), tcp = STR("TCP");
    struct str one = or_default(a->host_ip, any), other = or_default(b->host_ip, any);
    return a->host_port == b->host_port &&
           str_eq(or_default(a->protocol, tcp), or_default(b->protocol, tcp)) &&
           (str_eq(one, other) || str_eq(one, any) || str_eq(other, any));
}

/* A pod that leaves with a port that this one wants. */
static enum hint pod_deleted(const struct hint_context *context, const struct pod *pod,
                             const struct cluster_event *event)
{
    const struct container_port **freed, **wanted;
    if (!event_pod_holds_room(event, event->before))
        return HINT_SKIP;
    uint32_t freed_len = pod_host_ports(event->before, context->arena, &freed);
    uint32_t wanted_len = pod_host_ports(pod, context->arena, &wanted);
    for (uint32_t i = 0; i < wanted_len; i++)
        for (uint32_t k = 0; k < freed_len; k++)
            if (ports_clash(wanted[i], freed[k]))
                return HINT_QUEUE;
    return HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_POD, ACTION_DELETE, pod_deleted },
    { EVENT_NODE, ACTION_ADD, NULL },
    { 0 },
};

const struct plugin plugin_node_ports = {
    .name = "NodePorts",
    .doc = "Filters out nodes where a host port that the pod asks for is in use.",
    .pre_filter = pre_filter,
    .filter = filter,
    .rows = &rows,
    .events = events,
};
