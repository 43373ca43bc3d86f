/* derive.c: a pod with what its policy adds.
 *
 * The copy is shallow: it points into the object and into the policy, both of which stay as long as it does. Lists that
 * both have are put together in the copy's own arena. */
#include <stdlib.h>

#include "policy/policies.h"

enum { SYSTEM_CLUSTER_CRITICAL = 2000000000, SYSTEM_NODE_CRITICAL = 2000001000 };

struct derived_pod {
    struct pod pod;
    struct policy_set *set;
    struct arena arena;
};

#define CONCAT(arena, type, list, more) \
    do { \
        if (!(list)->len) { \
            (list)->items = (more)->items; \
            (list)->len = (more)->len; \
        } else if ((more)->len) { \
            type *items_ = \
                arena_copy((arena), type, (list)->items, (list)->len, (size_t)(list)->len + (more)->len); \
            memcpy(items_ + (list)->len, (more)->items, (more)->len * sizeof(type)); \
            (list)->items = items_; \
            (list)->len += (more)->len; \
        } \
    } while (0)

/* ---- node affinity ---- */
/* Terms without any condition match no node. */
static bool is_empty(const struct node_selector_term *term)
{
    return !term->match_expressions.len && !term->match_fields.len;
}

/* (a or b) and (c or d): a and c, a and d, b and c, b and d. */
static struct node_selector *both(struct arena *arena, const struct node_selector *own,
                                  const struct node_selector *added)
{
    struct node_selector *ret = arena_new(arena, struct node_selector);
    ret->terms.items =
        arena_array(arena, struct node_selector_term, (size_t)own->terms.len * added->terms.len);
    list_for(&own->terms, a)
        list_for(&added->terms, b) {
            if (is_empty(a) || is_empty(b))
                continue;
            struct node_selector_term *term = &ret->terms.items[ret->terms.len++];
            *term = *a;
            term->invalid = a->invalid || b->invalid;
            CONCAT(arena, struct selector_requirement, &term->match_expressions, &b->match_expressions);
            CONCAT(arena, struct selector_requirement, &term->match_fields, &b->match_fields);
        }
    return ret;
}

static void add_affinity(struct derived_pod *derived, const struct policy *policy)
{
    const struct node_affinity *added = policy->spec.node_affinity;
    const struct affinity *own = derived->pod.spec.affinity;
    struct arena *arena = &derived->arena;
    if (!added)
        return;
    if (!own) {
        derived->pod.spec.affinity = (struct affinity *)&policy->affinity;
        return;
    }
    struct affinity *affinity = arena_new(arena, struct affinity);
    *affinity = *own;
    affinity->node = (struct node_affinity *)added;
    if (own->node) {
        struct node_affinity *node = arena_new(arena, struct node_affinity);
        *node = *own->node;
        CONCAT(arena, struct preferred_node_term, &node->preferred, &added->preferred);
        if (!node->required)
            node->required = added->required;
        else if (added->required)
            node->required = both(arena, node->required, added->required);
        affinity->node = node;
    }
    derived->pod.spec.affinity = affinity;
}

/* ---- spread constraints ---- */
/* A pod has one constraint for a topology key and what to do about it: its own one counts. */
static bool has_constraint(const struct pod_spec *spec, const struct spread_constraint *wanted)
{
    list_for(&spec->spread, own)
        if (str_eq(own->topology_key, wanted->topology_key) &&
            str_eq(own->when_unsatisfiable, wanted->when_unsatisfiable))
            return true;
    return false;
}

static void add_spread(struct derived_pod *derived, const struct policy *policy)
{
    struct pod_spec *spec = &derived->pod.spec;
    if (!policy->spec.spread.len)
        return;
    struct spread_constraint *items =
        arena_copy(&derived->arena, struct spread_constraint, spec->spread.items, spec->spread.len,
                   (size_t)spec->spread.len + policy->spec.spread.len);
    uint32_t len = spec->spread.len;
    list_for(&policy->spec.spread, constraint)
        if (!has_constraint(spec, constraint))
            items[len++] = *constraint;
    spec->spread.items = items;
    spec->spread.len = len;
}

/* ---- priority ---- */
struct policy_priority policy_priority(const struct cluster *cluster, const struct policy *policy)
{
    const struct str preempts = STR("PreemptLowerPriority"), never = STR("Never");
    struct str name = policy->spec.priority_class;
    const struct priority_class *class =
        name.len ? cluster_get(&cluster->priority_classes, (struct str){ 0 }, name) : NULL;
    if (class)
        return (struct policy_priority){ true, class->value,
                                         str_eq(class->preemption_policy, never) ? never : preempts };
    if (str_is(name, "system-cluster-critical"))
        return (struct policy_priority){ true, SYSTEM_CLUSTER_CRITICAL, preempts };
    if (str_is(name, "system-node-critical"))
        return (struct policy_priority){ true, SYSTEM_NODE_CRITICAL, preempts };
    return (struct policy_priority){ 0 };
}

static void set_priority(struct derived_pod *derived, const struct policy *policy,
                         const struct policy_priority *priority)
{
    struct pod_spec *spec = &derived->pod.spec;
    if (!priority->known)
        return;
    spec->priority = (struct opt_int32){ true, priority->value };
    spec->priority_class_name = policy->spec.priority_class;
    spec->preemption_policy = priority->preemption_policy;
}

const struct pod *policy_derive(struct policy_set *set, const struct policy *policy, enum policy_source by,
                                const struct policy_priority *priority, const struct pod *object)
{
    struct derived_pod *derived = xcalloc(1, sizeof(*derived));
    derived->pod = *object;
    derived->pod.policy = &policy->shown;
    derived->pod.policy_by = by;
    derived->set = policy_set_ref(set);
    add_affinity(derived, policy);
    CONCAT(&derived->arena, struct toleration, &derived->pod.spec.tolerations, &policy->spec.tolerations);
    add_spread(derived, policy);
    set_priority(derived, policy, priority);
    return &derived->pod;
}

void policy_release_derived(const struct pod *pod)
{
    struct derived_pod *derived = container_of((struct pod *)pod, struct derived_pod, pod);
    policy_set_unref(derived->set);
    arena_release(&derived->arena);
    free(derived);
}
