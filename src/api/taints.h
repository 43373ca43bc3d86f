/* taints.h: which tolerations tolerate which taints. */
#ifndef API_TAINTS_H
#define API_TAINTS_H

#include "api/types.h"

#define TAINT_NO_SCHEDULE "NoSchedule"
#define TAINT_NO_EXECUTE "NoExecute"
#define TAINT_PREFER_NO_SCHEDULE "PreferNoSchedule"
#define TAINT_NODE_UNSCHEDULABLE "node.kubernetes.io/unschedulable"

/* Gt and Lt compare numbers behind the gate TaintTolerationComparisonOperators; while it is off they tolerate
 * nothing. */
bool toleration_tolerates_taint(const struct toleration *toleration, const struct taint *taint,
                                bool comparison_operators);
bool tolerations_tolerate_taint(const struct toleration *tolerations, uint32_t len, const struct taint *taint,
                                bool comparison_operators);

/* The first taint that no toleration tolerates, or NULL. Only taints that `is_relevant` accepts are looked at; NULL
 * accepts all. */
const struct taint *taints_find_untolerated(const struct taint *taints, uint32_t taints_len,
                                            const struct toleration *tolerations, uint32_t tolerations_len,
                                            bool (*is_relevant)(const struct taint *),
                                            bool comparison_operators);

/* Taints that keep a pod off a node: NoSchedule and NoExecute. */
bool taint_is_hard(const struct taint *taint);
/* "key=value:Effect", as kubectl writes it. */
#define TAINT_FMT STR_FMT "%s" STR_FMT ":" STR_FMT
#define TAINT_ARG(taint) \
    STR_ARG((taint)->key), (taint)->value.len ? "=" : "", STR_ARG((taint)->value), STR_ARG((taint)->effect)

#endif
