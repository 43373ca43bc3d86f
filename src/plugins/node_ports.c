/* NodePorts: two pods can not have the same port of a host. */
#include "framework/plugin.h"

static struct status pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    (void)narrow;
    if (!cycle->info->class->ports_len)
        return STATUS_SKIPPED;
    *cycle_state(cycle) = cycle->info->class;
    return STATUS_OK;
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    const struct pod_class *wants = *cycle_state(cycle);
    if (!wants)
        return reject(STATUS_ERROR, "reading \"PreFilterNodePorts\" from cycleState: not found");
    for (uint32_t i = 0; i < wants->ports_len; i++)
        if (node_port_conflicts(node, &wants->ports[i]))
            return reject(STATUS_UNSCHEDULABLE, "node(s) didn't have free ports for the requested pod ports");
    return STATUS_OK;
}

const struct plugin plugin_node_ports = {
    .name = "NodePorts",
    .doc = "Filters out nodes where a host port that the pod asks for is in use.",
    .pre_filter = pre_filter,
    .filter = filter,
};
