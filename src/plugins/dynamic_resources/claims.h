/* claims.h: the claims of a pod: which they are, and what they say. */
#ifndef PLUGINS_DYNAMIC_RESOURCES_CLAIMS_H
#define PLUGINS_DYNAMIC_RESOURCES_CLAIMS_H

#include "cluster/devices.h"
#include "framework/status.h"

#define CLAIM_FINALIZER "resource.kubernetes.io/delete-protection"

struct claim_list {
    const struct resource_claim **items;
    uint32_t len;
};

/* The claims that the pod names, in its order, in the arena. UnschedulableAndUnresolvable, in the reference's words:
 * one is missing or not the pod's. */
struct status claims_of_pod(const struct cluster *cluster, const struct pod *pod, struct arena *arena,
                            struct claim_list *ret);
bool claim_is_reserved_for(const struct resource_claim *claim, const struct pod *pod);

/* Is every device of the allocation prepared? Success, Wait, or Error: a device failed. */
struct status claim_is_ready(const struct resource_claim *claim, struct arena *arena);
/* Has a device been unprepared for longer than the timeout? */
bool claim_is_overdue(const struct resource_claim *claim, int64_t wall_ns, int64_t timeout_ns);
/* Does a device need preparation? */
bool claim_needs_preparation(const struct resource_claim *claim);

#endif
