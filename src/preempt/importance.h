/* importance.h: the order in which pods are kept when some have to leave.
 *
 * A higher priority is more important; among equals the pod that has run longer is. A pod that has not started yet
 * counts as started now, that is after every pod that has. */
#ifndef PREEMPT_IMPORTANCE_H
#define PREEMPT_IMPORTANCE_H

#include "cluster/cluster.h"

/* Nanoseconds since 1970 at which the pod started; INT64_MAX for one that has not. */
int64_t pod_start_ns(const struct pod_info *pod);
/* Puts the most important first. Equal pods end up where kube-scheduler's sort leaves them. Up to 1.36 it reads its
 * clock twice for two that have not started, and the left one, read first, seems to be the older; since 1.37 it is read
 * once for each pod of the node, in the order of the node's list. */
void sort_by_importance(struct pod_info **pods, uint32_t len, const struct release *release);

#endif
