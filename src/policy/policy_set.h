/* policy_set.h: the policies that are in effect together, and which of them a pod gets.
 *
 *     a ConfigMap's data: one text per key, each with documents ──▶ all of them, or one sentence about what is wrong
 *
 * The order in which a pod's policy is looked for; the first that is there counts:
 *     1. the label scheduling.berth.dev/policy of the pod
 *     2. the same label of its namespace
 *     3. the first policy by name whose podSelector and namespaceSelector match (one that has neither does not count)
 *     4. default-policy, if it has no selectors
 * A label with an empty value means no policy. A label means nothing if it names an unknown policy, or one whose
 * namespaceSelector does not match: the users of a namespace cannot take a policy that is not for them.
 *
 * A set does not change. Pods refer to its policies: it stays until the last of them is gone. */
#ifndef POLICY_POLICY_SET_H
#define POLICY_POLICY_SET_H

#include "cluster/cluster.h"
#include "policy/document.h"

struct policy_set {
    uint32_t refs;
    struct policy *items; /* by name */
    uint32_t len;
    uint32_t weighing; /* how many of them have weights */
    struct arena arena;
};

/* A ConfigMap without a namespace stands for the folder that it is named after. `registry`: the plugins that there
 * are. The caller gets a reference. */
int policy_set_read(const struct config_map *map, const struct registry *registry, struct policy_set **ret,
                    struct error *err);
struct policy_set *policy_set_ref(struct policy_set *set);
/* NULL is fine. */
void policy_set_unref(struct policy_set *set);

const struct policy *policy_set_find(const struct policy_set *set, struct str name);
/* The policy of a pod, which may be an empty one; NULL: none. */
const struct policy *policy_set_choose(const struct policy_set *set, const struct cluster *cluster,
                                       const struct pod *pod, enum policy_source *ret_by);
/* The object has the label of policies, and it means nothing. */
bool policy_set_passes_over(const struct policy_set *set, const struct meta *meta,
                            const struct namespace *namespace);
/* Both say the same. */
bool policy_set_equal(const struct policy_set *a, const struct policy_set *b);

#endif
