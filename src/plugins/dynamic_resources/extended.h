/* extended.h: devices that a pod requests as extended resources of its containers.
 *
 * A node may offer such a resource itself (through a device plugin); where it does not, devices of the class that
 * stands for the resource are wanted, by a claim that the scheduler makes for the pod. What goes into that claim
 * depends on the node. Until PreBind creates it, the claim exists only here, under a name that no object can have. */
#ifndef PLUGINS_DYNAMIC_RESOURCES_EXTENDED_H
#define PLUGINS_DYNAMIC_RESOURCES_EXTENDED_H

#include "cluster/devices.h"
#include "framework/plugin.h"

#define EXTENDED_CLAIM_NAME "<extended-resources>"
#define EXTENDED_CLAIM_ANNOTATION "resource.kubernetes.io/extended-resource-claim"

/* Which request of the claim gives a container its resource. */
struct request_mapping {
    struct str container, resource, request;
};

struct extended_claim {
    const struct resource_claim *claim; /* with the requests for the node */
    LIST(struct request_mapping) mappings;
};

/* Does the pod request a resource that devices may stand for? */
bool extended_is_wanted(const struct cluster *cluster, const struct pod_info *info);
/* The claim that stands for all of them: one from an earlier attempt, or a new one without requests. */
const struct resource_claim *extended_claim_of(struct cycle *cycle);
static inline bool extended_claim_is_new(const struct resource_claim *claim)
{
    return str_is(claim->meta.name, EXTENDED_CLAIM_NAME);
}
/* What the claim requests on a node. Success with ret->claim NULL: the node itself has all. `alone`: the pod has no
 * other claims. */
struct status extended_for_node(struct cycle *cycle, const struct resource_claim *claim,
                                struct node_view node, bool alone, struct extended_claim *ret);

#endif
