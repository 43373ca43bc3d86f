/* node_claims.h: claims whose devices take some of the node's own resources (DRANodeAllocatableResources).
 *
 * A slice says what a device takes of cpu, memory and the like. What the devices of a pod's claims take is added to
 * what the pod requests, and the sum must be free on the node. It is written to the pod's status, by which it counts
 * from then on (cluster_set_node_claims()). In 1.36 only claims that are allocated for this pod take something. */
#ifndef PLUGINS_DYNAMIC_RESOURCES_NODE_CLAIMS_H
#define PLUGINS_DYNAMIC_RESOURCES_NODE_CLAIMS_H

#include "cluster/devices.h"
#include "framework/plugin.h"

/* A claim of the pod and the allocation that it has or would have. */
struct claimed_devices {
    const struct resource_claim *claim;
    const struct allocation_result *allocation;
};

/* Does a device of the allocation stand for resources of the node, and not only for overhead? */
bool node_claim_is_mapped(struct cluster *cluster, const struct allocation_result *allocation);
/* May the pod use the claim, which is allocated? UnschedulableAndUnresolvable: not together with another pod. `mapped`
 * is what the function above said. */
struct status node_claim_check_sharing(struct cycle *cycle, const struct resource_claim *claim, bool mapped,
                                       struct node_view node);
/* What the claims take of the node, in the cycle's arena; texts are borrowed. A status of the filter: not all of it is
 * free. Error: a device is not there, or does not say how much it takes. */
struct status node_claims_find(struct cycle *cycle, struct node_view node,
                               const struct claimed_devices *claims, uint32_t len,
                               struct node_claim_list *ret);

#endif
