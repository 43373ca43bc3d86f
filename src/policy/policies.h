/* policies.h: the policies in effect for a model of the cluster: what pods are decided by.
 *
 *     object of a pod ──policy_set_choose()──▶ policy ──derive.c──▶ a copy with more in its spec: pod_info.api
 *
 * A pod of the scheduler's own profiles that has a policy enters the model as a copy whose spec is complemented:
 * affinity, tolerations and spread constraints are added, the priority is another one. Plugins, classes and hints see
 * that copy and nothing else, so no path knows about policies. Weights are not in a spec: pods with such a policy
 * are decided by a variant of their profile (framework/profile.h). The objects themselves are never changed.
 *
 * A pod keeps its policy when it is bound: it has the same priority as a victim as it had in the queue. Otherwise two
 * pods could preempt each other for ever. */
#ifndef POLICY_POLICIES_H
#define POLICY_POLICIES_H

#include "policy/policy_set.h"

struct policies {
    struct cluster *cluster;
    const struct scheduler_config *config; /* whose pods have policies; NULL: no pods */
    struct policy_set *set;                /* NULL: none */
};

/* Pods of the cluster have policies from now on. Those that are there are not touched. */
void policies_init(struct policies *policies, struct cluster *cluster, const struct scheduler_config *config);
/* The model may stay: pods that come to it have no policies any more. */
void policies_release(struct policies *policies);
/* Takes a reference; NULL: none. */
void policies_use(struct policies *policies, struct policy_set *set);
/* Would the pod be derived as it was? */
bool policies_is_current(const struct policies *policies, const struct pod_info *pod);
/* Its weights, for profile_init_variant(). */
struct profile_variant policy_variant(const struct policy *policy);
/* What it says, in words: "resource weights cpu 70, memory 30; tolerations; priority class batch". */
void policy_describe(const struct policy *policy, struct strbuf *out);
/* What a pod, its namespace or its policy names and what is not there, in sentences; or nothing. */
void policies_describe_missing(const struct cluster *cluster, const struct pod *pod, struct strbuf *out);
extern const char *const policy_source_names[POLICY_SOURCE_COUNT];

/* ---- derive.c ---- */
/* What a priority class means for its pods. */
struct policy_priority {
    bool known; /* there is such a class */
    int32_t value;
    struct str preemption_policy;
};
struct policy_priority policy_priority(const struct cluster *cluster, const struct policy *policy);
/* A copy that keeps the set. */
const struct pod *policy_derive(struct policy_set *set, const struct policy *policy, enum policy_source by,
                                const struct policy_priority *priority, const struct pod *object);
void policy_release_derived(const struct pod *derived);

#endif
