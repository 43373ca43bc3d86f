/* budget_use.h: which PodDisruptionBudgets evictions are charged to, and what they allow.
 *
 * As the eviction API does it: pods that are pending or on their way out are free, a pod with two budgets cannot be
 * evicted, and a budget lets as many pods go at once as its status says. A budget that no API server has seen has no
 * status: what it allows is computed from its spec and the pods of the input. */
#ifndef INPUT_BUDGET_USE_H
#define INPUT_BUDGET_USE_H

#include "input/load.h"

struct budget_use {
    const struct pdb *budget;
    int64_t allowed;              /* at once */
    VEC(const struct pod *) pods; /* to be evicted */
    bool is_double;               /* one of them has another budget as well */
};

struct budget_uses {
    VEC(struct budget_use) items; /* by namespace and name; only those that are needed */
    struct strmap by_namespace;   /* of all budgets: struct budget_list */
    struct arena arena;
    const struct load *load;
};

/* Before the first pod. */
void budget_uses_init(struct budget_uses *uses, const struct load *load);
void budget_uses_release(struct budget_uses *uses);
/* As if no pod had been added. */
void budget_uses_clear(struct budget_uses *uses);
void budget_uses_add(struct budget_uses *uses, const struct pod *pod);
/* No eviction is allowed, however long one waits. */
bool budget_use_blocks(const struct budget_use *use);

#endif
