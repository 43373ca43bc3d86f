/* budgets.h: which pods cannot be evicted without violating a PodDisruptionBudget?
 *
 * A budget is found by the namespace of the pod; its selector is compiled once for all nodes. Each node is checked
 * with fresh allowances: nodes are alternatives, only one of them loses its pods. */
#ifndef PREEMPT_BUDGETS_H
#define PREEMPT_BUDGETS_H

#include "cluster/cluster.h"

struct budget;

struct budgets {
    struct cluster *cluster;
    struct budget *items;
    uint32_t len;
    struct idmap heads;             /* namespace symbol to number + 1 of its first budget */
    int32_t *left;                  /* by budget: how many pods may still be evicted */
    const struct budget **matching; /* of the pod that is being looked at */
};

/* Compiles all budgets of the cluster that can match a pod; nothing may change until budgets_release(). */
void budgets_init(struct budgets *budgets, struct cluster *cluster, struct arena *arena);
void budgets_release(struct budgets *budgets);
/* Takes the pods in turn off their budgets: violating[i] says that evicting pods[i] violates one. */
void budgets_check(struct budgets *budgets, struct pod_info *const *pods, uint32_t len, bool *violating);

#endif
