/* budget_use.c: see budget_use.h. */
#include "input/budget_use.h"

#include "api/labels.h"

struct budget_list {
    struct str namespace;
    VEC(const struct pdb *) budgets;
};

void budget_uses_init(struct budget_uses *uses, const struct load *load)
{
    *uses = (struct budget_uses){ .load = load };
    struct meta **budgets = load_sorted(load, KIND_PDB);
    for (size_t i = 0; i < load->objects[KIND_PDB].len; i++) {
        struct budget_list *list = strmap_get(&uses->by_namespace, budgets[i]->namespace);
        if (!list) {
            list = arena_new(&uses->arena, struct budget_list);
            list->namespace = budgets[i]->namespace;
            strmap_put(&uses->by_namespace, list->namespace, list);
        }
        *vec_push(&list->budgets) = (const struct pdb *)budgets[i];
    }
    free(budgets);
}

void budget_uses_clear(struct budget_uses *uses)
{
    vec_for(&uses->items, use)
        vec_release(&use->pods);
    vec_clear(&uses->items);
}

void budget_uses_release(struct budget_uses *uses)
{
    budget_uses_clear(uses);
    map_for(&uses->by_namespace, slot) {
        struct budget_list *list = slot->value;
        vec_release(&list->budgets);
    }
    strmap_release(&uses->by_namespace);
    vec_release(&uses->items);
    arena_release(&uses->arena);
}

/* ---- what is allowed ---- */

/* A share is rounded up, as the disruption controller does it. */
static int64_t scaled(const struct int_or_str *value, int64_t of)
{
    int64_t percent;
    struct str text = value->text;
    if (!text.ptr)
        return value->number;
    if (!str_ends_with(text, STR("%")) || !str_to_int64(str_slice(text, 0, text.len - 1), &percent))
        return 0;
    return (percent * of + 99) / 100;
}

static int64_t computed(const struct budget_uses *uses, const struct pdb *budget)
{
    int64_t matching = 0, healthy = 0;
    vec_for(&uses->load->objects[KIND_POD], item) {
        const struct pod *pod = (const struct pod *)*item;
        if (!str_eq(pod->meta.namespace, budget->meta.namespace) ||
            !label_selector_matches(budget->selector, &pod->meta.labels))
            continue;
        matching++;
        healthy += pod->spec.node_name.len && !pod->meta.deletion_time.set;
    }
    int64_t desired = budget->max_unavailable.set ? matching - scaled(&budget->max_unavailable, matching)
                                                  : scaled(&budget->min_available, matching);
    return MAX(healthy - MAX(desired, 0), 0);
}

/* Only an API server says when an object was created: other budgets have not met the controller of their status. */
static int64_t allowed_by(const struct budget_uses *uses, const struct pdb *budget)
{
    if (budget->meta.creation_time.set || budget->disruptions_allowed)
        return MAX(budget->disruptions_allowed, 0);
    return computed(uses, budget);
}

/* ---- pods ---- */

static struct budget_use *use_of(struct budget_uses *uses, const struct pdb *budget)
{
    vec_for(&uses->items, use)
        if (use->budget == budget)
            return use;
    struct budget_use *use = vec_push(&uses->items);
    *use = (struct budget_use){ .budget = budget, .allowed = allowed_by(uses, budget) };
    return use;
}

void budget_uses_add(struct budget_uses *uses, const struct pod *pod)
{
    const struct budget_list *list = strmap_get(&uses->by_namespace, pod->meta.namespace);
    const struct pdb *first = NULL;
    if (!list || pod->meta.deletion_time.set || str_is(pod->status.phase, "Pending"))
        return;
    vec_for(&list->budgets, budget) {
        if (!label_selector_matches((*budget)->selector, &pod->meta.labels))
            continue;
        struct budget_use *use = use_of(uses, *budget);
        *vec_push(&use->pods) = pod;
        if (first)
            use->is_double = use_of(uses, first)->is_double = true;
        first = *budget;
    }
}

bool budget_use_blocks(const struct budget_use *use)
{
    return use->allowed == 0 || use->is_double;
}
