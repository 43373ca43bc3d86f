/* budgets.c: matches pods with disruption budgets. */
#include "preempt/budgets.h"

#include <stdlib.h>

struct budget {
    const struct pdb *api;
    struct selector selector;
    uint32_t next; /* number + 1 of the next budget of the namespace */
};

/* A budget whose selector is missing, empty or malformed matches no pod. */
static bool matches_nothing(const struct pdb *pdb)
{
    const struct label_selector *selector = pdb->selector;
    return !selector || selector->invalid || !(selector->match_labels.len || selector->match_expressions.len);
}

void budgets_init(struct budgets *budgets, struct cluster *cluster, struct arena *arena)
{
    *budgets = (struct budgets){ .cluster = cluster };
    budgets->items = arena_array(arena, struct budget, cluster->pdbs.len);
    budgets->left = arena_array(arena, int32_t, cluster->pdbs.len);
    budgets->matching = arena_array(arena, const struct budget *, cluster->pdbs.len);
    map_for(&cluster->pdbs, slot) {
        const struct pdb *pdb = stored_object(slot);
        sym namespace = intern_find(&cluster->syms, pdb->meta.namespace);
        if (!namespace || matches_nothing(pdb))
            continue;
        struct budget *budget = &budgets->items[budgets->len++];
        budget->api = pdb;
        selector_init(&budget->selector, &cluster->syms, arena, pdb->selector);
        budget->next =
            (uint32_t)(uintptr_t)idmap_put(&budgets->heads, namespace, (void *)(uintptr_t)budgets->len);
    }
}

void budgets_release(struct budgets *budgets)
{
    for (uint32_t i = 0; i < budgets->len; i++)
        selector_release(&budgets->items[i].selector, &budgets->cluster->syms);
    idmap_release(&budgets->heads);
    *budgets = (struct budgets){ 0 };
}

/* The eviction of a pod that the budget's controller already counts as disrupted costs nothing more. */
static bool already_disrupted(const struct pdb *pdb, struct str name)
{
    for (uint32_t i = 0; i < pdb->disrupted_pods.len; i++)
        if (str_eq(pdb->disrupted_pods.items[i], name))
            return true;
    return false;
}

static int by_name(const void *a, const void *b)
{
    const struct budget *const *x = a, *const *y = b;
    return str_cmp((*x)->api->meta.name, (*y)->api->meta.name);
}

/* The budgets that the eviction of the pod would be charged to; all are of its namespace. */
static uint32_t find_matching(struct budgets *budgets, const struct pod_info *pod)
{
    const struct label_owner *owner = pod->class->labels;
    uint32_t len = 0;
    if (!owner->labels.len)
        return 0;
    uint32_t at = (uint32_t)(uintptr_t)idmap_get(&budgets->heads, owner->namespace);
    for (; at; at = budgets->items[at - 1].next) {
        const struct budget *budget = &budgets->items[at - 1];
        if (selector_matches(&budget->selector, &owner->labels, &budgets->cluster->syms) &&
            !already_disrupted(budget->api, pod->api->meta.name))
            budgets->matching[len++] = budget;
    }
    return len;
}

/* kube-scheduler takes them in any order, which makes a difference where it ends at a broken one. */
static bool breaks_a_budget(struct budgets *budgets, const struct pod_info *pod)
{
    bool ends = budgets->cluster->features.release->budgets_end_at_a_broken_one;
    uint32_t len = find_matching(budgets, pod);
    bool breaks = false;
    if (ends && len > 1)
        qsort(budgets->matching, len, sizeof(*budgets->matching), by_name);
    for (uint32_t i = 0; i < len && !(ends && breaks); i++) {
        int32_t *left = &budgets->left[budgets->matching[i] - budgets->items];
        if (*left > INT32_MIN)
            --*left;
        breaks |= *left < 0;
    }
    return breaks;
}

void budgets_check(struct budgets *budgets, struct pod_info *const *pods, uint32_t len, bool *violating)
{
    for (uint32_t i = 0; i < budgets->len; i++)
        budgets->left[i] = budgets->items[i].api->disruptions_allowed;
    for (uint32_t i = 0; i < len; i++)
        violating[i] = breaks_a_budget(budgets, pods[i]);
}
