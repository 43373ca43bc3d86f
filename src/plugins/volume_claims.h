/* volume_claims.h: which claim stands behind a pod's volume. Shared by the plugins that look at volumes. */
#ifndef PLUGINS_VOLUME_CLAIMS_H
#define PLUGINS_VOLUME_CLAIMS_H

#include "api/types.h"
#include "base/arena.h"

struct volume_claim {
    struct str name;
    bool ephemeral; /* made for the pod, and named after it */
};

/* False for a volume that has no claim. */
bool volume_claim_of(const struct pod *pod, const struct volume *volume, struct arena *arena,
                     struct volume_claim *ret);
/* A claim of an ephemeral volume must belong to the pod; *ret_why tells when it does not. */
bool volume_claim_is_for_pod(const struct pod *pod, const struct pvc *pvc, struct arena *arena,
                             struct str *ret_why);
/* Text in double quotes, with escapes as Go's %q has them. */
struct str volume_quoted(struct str text, struct arena *arena);
/* Does the class bind when a pod is scheduled, rather than at once? */
bool storage_class_waits(const struct storage_class *class);

#endif
