/* constraints.c: which constraints, which pods, which nodes. */
#include "plugins/pod_topology_spread/constraints.h"

#include "index/match.h"

bool spread_selector_matches(const struct spread_selector *selector, const struct str_map *labels)
{
    for (uint32_t i = 0; i < selector->pairs_len; i++) {
        const struct str *value = str_map_get(labels, selector->pairs[i].key);
        if (!value || !str_eq(*value, selector->pairs[i].value))
            return false;
    }
    for (uint32_t i = 0; i < selector->selectors_len; i++)
        if (!label_selector_matches(selector->selectors[i], labels))
            return false;
    return true;
}

bool spread_selector_empty(const struct spread_selector *selector)
{
    for (uint32_t i = 0; i < selector->selectors_len; i++)
        if (!selector->selectors[i] || selector->selectors[i]->match_labels.len ||
            selector->selectors[i]->match_expressions.len)
            return false;
    return selector->pairs_len == 0;
}

bool constraint_counts_node(const struct constraint *constraint, const struct pod *pod,
                            const struct node *node)
{
    if (constraint->honor_affinity && !pod_selects_node(pod, node))
        return false;
    return !constraint->honor_taints || !node_repels_pod(node, pod);
}

bool node_has_keys(const struct node *node, const struct constraint_list *list)
{
    for (uint32_t i = 0; i < list->len; i++)
        if (!str_map_get(&node->meta.labels, list->items[i].topology_key))
            return false;
    return true;
}

int64_t constraint_count(const struct constraint *constraint, struct pod_span pods, struct str namespace)
{
    if (spread_selector_empty(&constraint->selector))
        return 0;
    int64_t count = 0;
    for (size_t i = 0; i < pods.len; i++) {
        const struct pod *pod = pods.items[i]->api;
        count += !pods.items[i]->terminating && str_eq(pod->meta.namespace, namespace) &&
                 spread_selector_matches(&constraint->selector, &pod->meta.labels);
    }
    return count;
}

/* ---- from the API's constraints ---- */
/* matchLabelKeys: the pod's own values of these labels are required too. A selector that matches nothing stays so. */
static void add_label_keys(struct spread_selector *selector, const struct spread_constraint *api,
                           const struct pod *pod, struct arena *arena)
{
    if (!api->selector)
        return;
    selector->pairs = arena_array(arena, struct pair, api->match_label_keys.len);
    list_for(&api->match_label_keys, key) {
        const struct str *value = str_map_get(&pod->meta.labels, *key);
        if (value)
            selector->pairs[selector->pairs_len++] = (struct pair){ *key, *value };
    }
}

static struct constraint constraint_from(const struct spread_constraint *api, const struct pod *pod,
                                         struct arena *arena)
{
    struct constraint constraint = {
        .max_skew = api->max_skew,
        .min_domains = api->min_domains.set ? api->min_domains.value : 1,
        .topology_key = api->topology_key,
        .honor_affinity = !api->node_affinity_policy.ptr || str_is(api->node_affinity_policy, "Honor"),
        .honor_taints = str_is(api->node_taints_policy, "Honor"),
        .is_hostname = str_is(api->topology_key, "kubernetes.io/hostname"),
        .selector = { .selectors = { api->selector }, .selectors_len = 1 },
    };
    add_label_keys(&constraint.selector, api, pod, arena);
    return constraint;
}

/* ---- the default selector ---- */
/* Later pairs replace earlier ones with the same key. */
static void merge_pairs(struct spread_selector *selector, const struct str_map *more, struct arena *arena)
{
    struct pair *pairs = arena_array(arena, struct pair, selector->pairs_len + more->len);
    if (selector->pairs_len)
        memcpy(pairs, selector->pairs, selector->pairs_len * sizeof(*pairs));
    selector->pairs = pairs;
    list_for(more, pair) {
        uint32_t at = 0;
        while (at < selector->pairs_len && !str_eq(pairs[at].key, pair->key))
            at++;
        pairs[at] = *pair;
        selector->pairs_len += at == selector->pairs_len;
    }
}

static int by_name(const void *a, const void *b)
{
    const struct service *x = *(const struct service *const *)a, *y = *(const struct service *const *)b;
    return str_cmp(x->meta.name, y->meta.name);
}

/* Services of the pod's namespace that select it; by name, so that the outcome does not depend on a map's order. */
static void add_services(struct spread_selector *selector, const struct cluster *cluster,
                         const struct pod *pod, struct arena *arena)
{
    VEC(const struct service *) found = { 0 };
    map_for(&cluster->services, slot) {
        const struct service *service = stored_object(slot);
        if (str_eq(service->meta.namespace, pod->meta.namespace) && service->selector.items &&
            str_map_contains_all(&pod->meta.labels, &service->selector))
            *vec_push(&found) = service;
    }
    if (found.len)
        qsort(found.items, found.len, sizeof(*found.items), by_name);
    vec_for(&found, service)
        merge_pairs(selector, &(*service)->selector, arena);
    vec_release(&found);
}

static void add_controller(struct spread_selector *selector, const struct cluster *cluster,
                           const struct pod *pod, struct arena *arena)
{
    list_for(&pod->meta.owners, owner) {
        if (!owner->controller.value)
            continue;
        if (str_is(owner->kind, "ReplicationController") && str_is(owner->api_version, "v1")) {
            const struct replication_controller *rc =
                cluster_get(&cluster->replication_controllers, pod->meta.namespace, owner->name);
            if (rc)
                merge_pairs(selector, &rc->selector, arena);
        } else if (str_is(owner->api_version, "apps/v1")) {
            const struct strmap *store = str_is(owner->kind, "ReplicaSet")    ? &cluster->replica_sets
                                         : str_is(owner->kind, "StatefulSet") ? &cluster->stateful_sets
                                                                              : NULL;
            const struct workload *set = store ? cluster_get(store, pod->meta.namespace, owner->name) : NULL;
            /* An absent selector has no requirements to add. */
            if (set && set->spec.selector)
                selector->selectors[selector->selectors_len++] = set->spec.selector;
        }
        return;
    }
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
            ret->items[ret->len++] = constraint_from(&items[i], pod, arena);
    if (own || !ret->len)
        return;
    struct spread_selector selector = { 0 };
    add_services(&selector, cluster, pod, arena);
    add_controller(&selector, cluster, pod, arena);
    if (spread_selector_empty(&selector))
        ret->len = 0;
    for (uint32_t i = 0; i < ret->len; i++)
        ret->items[i].selector = selector;
}
