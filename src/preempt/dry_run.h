/* dry_run.h: would the pod fit on a node without pods of lower priority, and which of them must leave? */
#ifndef PREEMPT_DRY_RUN_H
#define PREEMPT_DRY_RUN_H

#include "framework/run.h"
#include "preempt/budgets.h"

/* What a search for victims shares between nodes. */
struct dry_run {
    struct cycle *cycle;
    struct budgets budgets; /* made for the first node that needs them */
    bool budgets_ready;
};

struct victims {
    struct pod_info **items; /* most important first; arena-owned */
    uint32_t len;
    int64_t pdb_violations;
};

/* Success with at least one victim, or why the node does not help. Leaves cluster and plugins as they were. */
struct status dry_run_node(struct dry_run *run, uint32_t row, struct victims *ret);
void dry_run_release(struct dry_run *run);

#endif
