/* facets.h: the canonical bytes of everything about a pod that scheduling depends on.
 *
 * Two pods with equal bytes are interchangeable for every plugin that keeps no state per pod. Claims of volumes and
 * devices are not in it (they belong to one pod); whether there are any is. */
#ifndef CLUSTER_FACETS_H
#define CLUSTER_FACETS_H

#include "api/types.h"

/* Namespace and labels. */
void facets_labels(struct strbuf *out, const struct pod *pod);
/* Namespace and pod affinity, both kinds. */
void facets_terms(struct strbuf *out, const struct pod *pod);
/* All of it. */
void facets_encode(struct strbuf *out, const struct pod *pod);

/* Does the pod have volumes that some plugin must look at, claims (or ephemeral volumes) among them, devices? */
bool pod_has_volumes(const struct pod *pod);
bool pod_has_claims(const struct pod *pod);
bool pod_has_devices(const struct pod *pod);

#endif
