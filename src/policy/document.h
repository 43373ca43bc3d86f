/* document.h: one SchedulingPolicy, as it is written and checked.
 *
 *     apiVersion: scheduling.k8s.io/v1
 *     kind: SchedulingPolicy
 *     metadata: {name: gpu-policy}
 *     spec:
 *       resourceWeights: {nvidia.com/gpu: 80, cpu: 15, memory: 5}
 *
 * The kind is berth's own: no API server has it. docs/POLICIES.md says what the fields mean. A document is read
 * strictly: an unknown field is an error. */
#ifndef POLICY_DOCUMENT_H
#define POLICY_DOCUMENT_H

#include "api/types.h"
#include "base/arena.h"
#include "codec/doc.h"
#include "codec/problems.h"
#include "config/kinds.h"
#include "framework/profile.h"

#define POLICY_VERSION "scheduling.k8s.io/v1"
#define POLICY_KIND "SchedulingPolicy"
#define POLICY_LABEL "scheduling.berth.dev/policy"
#define POLICY_DEFAULT "default-policy"

struct policy_spec {
    struct weight_map resource_weights, plugin_weights;
    struct node_affinity *node_affinity;
    LIST(struct toleration) tolerations;
    LIST(struct spread_constraint) spread;
    struct str priority_class;
    struct label_selector *pod_selector, *namespace_selector;
};

struct policy {
    struct pod_policy shown; /* what pods point to */
    struct policy_spec spec;
    struct str key;           /* two that say the same have equal ones */
    struct affinity affinity; /* of pods that have none of their own */
    bool is_empty;            /* it changes nothing */
};

static inline const struct policy *policy_of(const struct pod *pod)
{
    return pod->policy ? container_of(pod->policy, const struct policy, shown) : NULL;
}

/* Everything lives in the arena. */
int policy_read(const struct doc *doc, const struct registry *registry, struct arena *arena,
                struct policy *ret, struct error *err);

/* check.c: all that is wrong with the values. */
void policy_check(const struct policy *policy, const struct registry *registry, struct problems *problems);

#endif
