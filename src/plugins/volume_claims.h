/* volume_claims.h: which claim stands behind a pod's volume, and what else the plugins for volumes share. */
#ifndef PLUGINS_VOLUME_CLAIMS_H
#define PLUGINS_VOLUME_CLAIMS_H

#include "framework/events.h"
#include "framework/status.h"

#define LABEL_ZONE "topology.kubernetes.io/zone"
#define LABEL_ZONE_BETA "failure-domain.beta.kubernetes.io/zone"
#define LABEL_REGION "topology.kubernetes.io/region"
#define LABEL_REGION_BETA "failure-domain.beta.kubernetes.io/region"

struct volume_claim {
    struct str name;
    bool ephemeral; /* made for the pod, and named after it */
};

/* False for a volume that has no claim. */
bool volume_claim_of(const struct pod *pod, const struct volume *volume, struct arena *arena,
                     struct volume_claim *ret);
/* A claim of an ephemeral volume must belong to the pod; a status with this code if it does not. */
struct status volume_claim_check_owner(const struct pod *pod, const struct pvc *pvc, enum status_code code,
                                       struct arena *arena);
/* Does a volume of the pod name the claim? Ephemeral volumes do not count. */
bool volume_claims_include(const struct pod *pod, struct str claim_name);
/* Does the class bind when a pod is scheduled, rather than at once? */
bool storage_class_waits(const struct storage_class *class);
/* The parts of a zone label, "a__b"; there is at least one, and each may be empty. `trimmed`: without spaces around
 * them. */
struct str_list volume_zones(struct str label, bool trimmed, struct arena *arena);

/* Hints: the claim of the event is one that the pod names, or any claim of its volumes. */
enum hint volume_hint_own_claim(const struct hint_context *context, const struct pod *pod,
                                const struct cluster_event *event);
enum hint volume_hint_any_claim(const struct hint_context *context, const struct pod *pod,
                                const struct cluster_event *event);

#endif
