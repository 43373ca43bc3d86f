/* patches.h: what is sent to the API server about claims, as JSON. */
#ifndef PLUGINS_DYNAMIC_RESOURCES_PATCHES_H
#define PLUGINS_DYNAMIC_RESOURCES_PATCHES_H

#include "plugins/dynamic_resources/extended.h"

/* The claim gets the finalizer that keeps it while it is allocated, or loses it. The version must match. */
struct str patch_finalizer(const struct resource_claim *claim, bool wanted, struct arena *arena);
/* The claim gets an allocation (NULL: it has one, at most its time is missing) and is reserved for the pod. The version
 * must match. */
struct str patch_allocation(const struct resource_claim *claim, const struct allocation_result *allocation,
                            struct opt_time timestamp, const struct event_subject *pod, struct arena *arena);
/* The claim is not reserved for the pod any more, whatever else has changed. */
struct str patch_release(const struct resource_claim *claim, struct str pod_uid, struct arena *arena);
/* The claim has no allocation any more. The version must match. */
struct str patch_deallocation(const struct resource_claim *claim, struct arena *arena);
/* A claim to be created. */
struct str patch_new_claim(const struct resource_claim *claim, struct arena *arena);
/* The pod says which claim stands for its extended resources. */
struct str patch_pod_claim(const struct event_subject *pod, struct str claim_name,
                           const struct extended_claim *extended, struct arena *arena);

#endif
