/* constraints.c: which constraints, and which pods they select. */
#include "plugins/pod_topology_spread/constraints.h"

#include "api/labels.h"

bool spread_selector_is_empty(const struct label_selector *selector)
{
    return selector && !selector->match_labels.len && !selector->match_expressions.len;
}

/* A copy of the selector, which may be NULL, with more pairs in front. */
static struct label_selector *selector_with(const struct label_selector *selector, const struct pair *pairs,
                                            uint32_t len, struct arena *arena)
{
    struct label_selector *copy = arena_new(arena, struct label_selector);
    uint32_t own = selector ? selector->match_labels.len : 0;
    if (selector)
        *copy = *selector;
    copy->match_labels.items = arena_copy(arena, struct pair, pairs, len, len + own);
    copy->match_labels.len = len + own;
    for (uint32_t i = 0; i < own; i++)
        copy->match_labels.items[len + i] = selector->match_labels.items[i];
    return copy;
}

/* ---- from the API's constraints ---- */
/* matchLabelKeys: the pod's own values of these labels are required too. A selector that matches nothing stays so. */
static const struct label_selector *with_label_keys(const struct cluster *cluster,
                                                    const struct spread_constraint *api,
                                                    const struct pod *pod, struct arena *arena)
{
    if (!api->selector || !api->match_label_keys.len ||
        !cluster->features.enabled[FEATURE_MatchLabelKeysInPodTopologySpread])
        return api->selector;
    struct pair *pairs = arena_array(arena, struct pair, api->match_label_keys.len);
    uint32_t len = 0;
    list_for(&api->match_label_keys, key) {
        const struct str *value = str_map_get(&pod->meta.labels, *key);
        if (value)
            pairs[len++] = (struct pair){ *key, *value };
    }
    return selector_with(api->selector, pairs, len, arena);
}

static struct constraint constraint_from(const struct cluster *cluster, const struct spread_constraint *api,
                                         const struct pod *pod, struct arena *arena)
{
    return (struct constraint){
        .max_skew = api->max_skew,
        .min_domains = api->min_domains.set ? api->min_domains.value : 1,
        .topology_key = api->topology_key,
        .honor_affinity = !api->node_affinity_policy.ptr || str_is(api->node_affinity_policy, "Honor"),
        .honor_taints = str_is(api->node_taints_policy, "Honor"),
        .is_hostname = str_is(api->topology_key, "kubernetes.io/hostname"),
        .selector = with_label_keys(cluster, api, pod, arena),
    };
}

/* ---- the default selector ---- */
struct ranked_pair {
    struct pair pair;
    size_t rank;
};

struct default_selector {
    VEC(struct ranked_pair) pairs; /* as they come: a later one replaces those before with its key */
    const struct label_selector *controller; /* NULL: none, or without requirements */
};

static void add_pairs(struct default_selector *selector, const struct str_map *more)
{
    list_for(more, pair) {
        size_t rank = selector->pairs.len;
        *vec_push(&selector->pairs) = (struct ranked_pair){ *pair, rank };
    }
}

static int by_key_and_rank(const void *a, const void *b)
{
    const struct ranked_pair *x = a, *y = b;
    int order = str_cmp(x->pair.key, y->pair.key);
    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Sorted by key, each key once. */
static struct str_map merged_pairs(struct default_selector *selector, struct arena *arena)
{
    struct str_map merged = { .items = arena_array(arena, struct pair, selector->pairs.len) };
    vec_sort(&selector->pairs, by_key_and_rank);
    vec_for(&selector->pairs, ranked) {
        bool is_new = !merged.len || !str_eq(merged.items[merged.len - 1].key, ranked->pair.key);
        merged.len += is_new;
        merged.items[merged.len - 1] = ranked->pair;
    }
    return merged;
}

static int by_name(const void *a, const void *b)
{
    const struct service *x = *(const struct service *const *)a, *y = *(const struct service *const *)b;
    return str_cmp(x->meta.name, y->meta.name);
}

/* Services of the pod's namespace that select it; by name, so that the outcome does not depend on a map's order. */
static void add_services(struct default_selector *selector, const struct cluster *cluster,
                         const struct pod *pod)
{
    VEC(const struct service *) found = { 0 };
    map_for(&cluster->services, slot) {
        const struct service *service = stored_object(slot);
        if (str_eq(service->meta.namespace, pod->meta.namespace) && service->selector.items &&
            str_map_contains_all(&pod->meta.labels, &service->selector))
            *vec_push(&found) = service;
    }
    vec_sort(&found, by_name);
    vec_for(&found, service)
        add_pairs(selector, &(*service)->selector);
    vec_release(&found);
}

static void add_controller(struct default_selector *selector, const struct cluster *cluster,
                           const struct pod *pod)
{
    list_for(&pod->meta.owners, owner) {
        if (!owner->controller.value)
            continue;
        if (str_is(owner->kind, "ReplicationController") && str_is(owner->api_version, "v1")) {
            const struct replication_controller *rc =
                cluster_get(&cluster->replication_controllers, pod->meta.namespace, owner->name);
            if (rc)
                add_pairs(selector, &rc->selector);
        } else if (str_is(owner->api_version, "apps/v1")) {
            const struct strmap *store = str_is(owner->kind, "ReplicaSet")    ? &cluster->replica_sets
                                         : str_is(owner->kind, "StatefulSet") ? &cluster->stateful_sets
                                                                              : NULL;
            const struct workload *set = store ? cluster_get(store, pod->meta.namespace, owner->name) : NULL;
            selector->controller = set ? set->spec.selector : NULL;
        }
        return;
    }
}

static void select_by_default(struct constraint_list *list, const struct cluster *cluster,
                              const struct pod *pod, struct arena *arena)
{
    struct default_selector found = { 0 };
    add_services(&found, cluster, pod);
    add_controller(&found, cluster, pod);
    struct str_map pairs = merged_pairs(&found, arena);
    vec_release(&found.pairs);
    const struct label_selector *selector = selector_with(found.controller, pairs.items, pairs.len, arena);
    if (spread_selector_is_empty(selector))
        list->len = 0;
    for (uint32_t i = 0; i < list->len; i++)
        list->items[i].selector = selector;
}

void constraints_of(const struct spread_self *self, const struct cluster *cluster, const struct pod *pod,
                    bool hard, struct arena *arena, struct constraint_list *ret)
{
    bool own = pod->spec.spread.len > 0;
    const struct spread_constraint *items = own ? pod->spec.spread.items : self->defaults;
    uint32_t len = own ? pod->spec.spread.len : self->defaults_len;
    *ret = (struct constraint_list){ .items = arena_array(arena, struct constraint, len),
                                     .require_all_keys = own || !self->system_defaulted };
    for (uint32_t i = 0; i < len; i++)
        if (str_is(items[i].when_unsatisfiable, hard ? "DoNotSchedule" : "ScheduleAnyway"))
            ret->items[ret->len++] = constraint_from(cluster, &items[i], pod, arena);
    if (!own && ret->len)
        select_by_default(ret, cluster, pod, arena);
    for (uint32_t i = 0; i < ret->len; i++)
        ret->items[i].selects_pod = label_selector_matches(ret->items[i].selector, &pod->meta.labels);
}
