/* NodeUnschedulable: keeps pods off cordoned nodes.
 *
 * A pod that tolerates the taint which stands for a cordon may go there. Evicting pods never uncordons a node, so
 * preemption need not try. */
#include "api/taints.h"
#include "framework/plugin.h"

static struct status filter(struct cycle *cycle, struct node_view node)
{
    static const struct taint cordon = { .key = STR(TAINT_NODE_UNSCHEDULABLE), .effect = STR(TAINT_NO_SCHEDULE) };
    if (!node.cluster->col.unschedulable[node.row])
        return STATUS_OK;
    if (tolerations_tolerate_taint(cycle->pod->spec.tolerations.items, cycle->pod->spec.tolerations.len, &cordon, false))
        return STATUS_OK;
    return reject(STATUS_UNRESOLVABLE, "node(s) were unschedulable");
}

const struct plugin plugin_node_unschedulable = {
    .name = "NodeUnschedulable",
    .doc = "Filters out nodes whose spec.unschedulable is set.",
    .filter = filter,
};
