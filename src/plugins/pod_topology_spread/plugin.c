/* PodTopologySpread: keep pods that belong together evenly apart.
 *
 * Hard constraints filter: a node's domain may hold at most maxSkew more matching pods than the emptiest domain that
 * counts. Soft ones score: the fewer matching pods in the node's domains, the better, each key weighted by the
 * logarithm of its number of domains. */
#include <math.h>
#include <stdlib.h>

#include "api/labels.h"
#include "plugins/pod_topology_spread/constraints.h"
#include "plugins/pod_topology_spread/rows.h"

struct domain_count {
    struct str value;
    int64_t pods;
    int64_t real; /* pods, as long as nobody asks what if */
};

/* The two emptiest domains: enough to know the minimum while one domain changes. */
struct emptiest {
    struct str value;
    int64_t pods;
};

struct filter_count {
    struct strmap domains; /* value to struct domain_count */
    struct emptiest least[2], real_least[2];
    uint32_t changed; /* domains that a what-if has changed */
};

struct spread_state {
    struct constraint_list hard, soft;
    struct filter_count *counts; /* by hard constraint */
    struct strmap *totals;       /* by soft constraint: value to struct domain_count */
    double *weights;             /* by soft constraint */
};

static const struct spread_constraint system_defaults[] = {
    { .topology_key = STR("kubernetes.io/hostname"),
      .when_unsatisfiable = STR("ScheduleAnyway"),
      .max_skew = 3 },
    { .topology_key = STR("topology.kubernetes.io/zone"),
      .when_unsatisfiable = STR("ScheduleAnyway"),
      .max_skew = 5 },
};

static int spread_init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    (void)err;
    const struct pod_topology_spread_args *args = env->args;
    struct spread_self *self = arena_new(env->arena, struct spread_self);
    self->system_defaulted = str_is(args->defaulting_type, "System");
    self->defaults = self->system_defaulted ? system_defaults : args->default_constraints.items;
    self->defaults_len =
        self->system_defaulted ? (uint32_t)ARRAY_SIZE(system_defaults) : args->default_constraints.len;
    *ret_self = self;
    return 0;
}

/* Maps in the cycle's state live until the next cycle starts; they are freed with it. */
static struct domain_count *domain_of(struct strmap *domains, struct str value, struct arena *arena,
                                      bool make)
{
    struct domain_count *domain = strmap_get(domains, value);
    if (!domain && make) {
        domain = arena_new(arena, struct domain_count);
        domain->value = value;
        strmap_put(domains, value, domain);
    }
    return domain;
}

static struct spread_state *state_of(struct cycle *cycle)
{
    void **slot = cycle_state(cycle);
    if (!*slot)
        *slot = arena_new(cycle->arena, struct spread_state);
    return *slot;
}

static void spread_forget(void *state_ptr)
{
    struct spread_state *state = state_ptr;
    for (uint32_t i = 0; state->counts && i < state->hard.len; i++)
        strmap_release(&state->counts[i].domains);
    for (uint32_t i = 0; state->totals && i < state->soft.len; i++)
        strmap_release(&state->totals[i]);
}

/* ---- filter ---- */
static void least_update(struct emptiest least[2], struct str value, int64_t pods)
{
    int at = str_eq(value, least[0].value) ? 0 : str_eq(value, least[1].value) ? 1 : -1;
    if (at >= 0) {
        least[at].pods = pods;
    } else if (pods < least[0].pods) {
        least[1] = least[0];
        least[0] = (struct emptiest){ value, pods };
    } else if (pods < least[1].pods) {
        least[1] = (struct emptiest){ value, pods };
    }
    if (least[0].pods > least[1].pods) {
        struct emptiest swap = least[0];
        least[0] = least[1];
        least[1] = swap;
    }
}

static void count_node(struct cycle *cycle, struct spread_state *state, uint32_t row)
{
    struct node_view view = { cycle->cluster, row, NULL };
    const struct node *node = node_api(view);
    if (!node_has_keys(node, &state->hard))
        return;
    for (uint32_t i = 0; i < state->hard.len; i++) {
        const struct constraint *constraint = &state->hard.items[i];
        if (!constraint_counts_node(constraint, cycle->pod, node))
            continue;
        struct str value = *str_map_get(&node->meta.labels, constraint->topology_key);
        struct domain_count *domain = domain_of(&state->counts[i].domains, value, cycle->arena, true);
        domain->pods += constraint_count(constraint, node_pods(view), cycle->pod->meta.namespace);
    }
}

static struct status spread_pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    (void)narrow;
    struct spread_state *state = state_of(cycle);
    constraints_of(cycle_self(cycle), cycle->cluster, cycle->pod, true, cycle->arena, &state->hard);
    if (!state->hard.len)
        return STATUS_SKIPPED;
    state->counts = arena_array(cycle->arena, struct filter_count, state->hard.len);
    uint32_t len;
    const uint32_t *rows = cluster_order(cycle->cluster, &len);
    for (uint32_t i = 0; i < len; i++)
        count_node(cycle, state, rows[i]);
    for (uint32_t i = 0; i < state->hard.len; i++) {
        struct filter_count *count = &state->counts[i];
        count->least[0].pods = count->least[1].pods = INT32_MAX;
        map_for(&count->domains, slot) {
            struct domain_count *domain = slot->value;
            domain->real = domain->pods;
            least_update(count->least, domain->value, domain->pods);
        }
        memcpy(count->real_least, count->least, sizeof(count->least));
    }
    return STATUS_OK;
}

/* Who is emptied for a while may push the second emptiest domain out of the two: when a what-if is over, they are put
 * back as they were. */
static void change_count(struct filter_count *count, struct domain_count *domain, int delta)
{
    count->changed -= domain->pods != domain->real;
    domain->pods += delta;
    count->changed += domain->pods != domain->real;
    least_update(count->least, domain->value, domain->pods);
    if (!count->changed)
        memcpy(count->least, count->real_least, sizeof(count->least));
}

static void change_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view view, int delta)
{
    struct spread_state *state = state_of(cycle);
    const struct node *node = node_api(view);
    if (!str_eq(pod->api->meta.namespace, cycle->pod->meta.namespace) || !node_has_keys(node, &state->hard))
        return;
    for (uint32_t i = 0; i < state->hard.len; i++) {
        const struct constraint *constraint = &state->hard.items[i];
        if (!spread_selector_matches(&constraint->selector, &pod->api->meta.labels) ||
            !constraint_counts_node(constraint, cycle->pod, node))
            continue;
        struct str value = *str_map_get(&node->meta.labels, constraint->topology_key);
        change_count(&state->counts[i], domain_of(&state->counts[i].domains, value, cycle->arena, true),
                     delta);
    }
}

static void spread_add_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node)
{
    change_pod(cycle, pod, node, +1);
}

static void spread_remove_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node)
{
    change_pod(cycle, pod, node, -1);
}

static struct status spread_filter(struct cycle *cycle, struct node_view view)
{
    struct spread_state *state = state_of(cycle);
    if (!state->counts)
        return reject(STATUS_ERROR, "reading \"PreFilterPodTopologySpread\" from cycleState: not found");
    for (uint32_t i = 0; i < state->hard.len; i++) {
        const struct constraint *constraint = &state->hard.items[i];
        const struct str *value = str_map_get(&node_api(view)->meta.labels, constraint->topology_key);
        if (!value)
            return reject(STATUS_UNRESOLVABLE, SPREAD_MISSING_LABEL);
        struct filter_count *count = &state->counts[i];
        int64_t least = count->domains.len < (size_t)constraint->min_domains ? 0 : count->least[0].pods;
        const struct domain_count *domain = domain_of(&count->domains, *value, NULL, false);
        int64_t self = spread_selector_matches(&constraint->selector, &cycle->pod->meta.labels);
        if ((domain ? domain->pods : 0) + self - least > constraint->max_skew)
            return reject(STATUS_UNSCHEDULABLE, SPREAD_TOO_UNEVEN);
    }
    return STATUS_OK;
}

/* ---- score ---- */
/* Which domains do the feasible nodes offer? Only those are compared. */
static void collect_domains(struct cycle *cycle, struct spread_state *state, struct row_list feasible)
{
    struct constraint_list *soft = &state->soft;
    int64_t left_out = 0;
    for (uint32_t n = 0; n < feasible.len; n++) {
        const struct node *node = cluster_node(cycle->cluster, feasible.items[n])->api;
        if (soft->require_all_keys && !node_has_keys(node, soft)) {
            left_out++;
            continue;
        }
        for (uint32_t i = 0; i < soft->len; i++) {
            const struct str *value = str_map_get(&node->meta.labels, soft->items[i].topology_key);
            if (!soft->items[i].is_hostname)
                domain_of(&state->totals[i], value ? *value : STR(""), cycle->arena, true);
        }
    }
    for (uint32_t i = 0; i < soft->len; i++) {
        int64_t size = soft->items[i].is_hostname ? feasible.len - left_out : (int64_t)state->totals[i].len;
        state->weights[i] = log((double)(size + 2));
    }
}

static void total_node(struct cycle *cycle, struct spread_state *state, uint32_t row)
{
    struct constraint_list *soft = &state->soft;
    struct node_view view = { cycle->cluster, row, NULL };
    const struct node *node = node_api(view);
    if (soft->require_all_keys && !node_has_keys(node, soft))
        return;
    for (uint32_t i = 0; i < soft->len; i++) {
        if (!constraint_counts_node(&soft->items[i], cycle->pod, node))
            continue;
        const struct str *value = str_map_get(&node->meta.labels, soft->items[i].topology_key);
        struct domain_count *domain = domain_of(&state->totals[i], value ? *value : STR(""), NULL, false);
        if (domain)
            domain->pods += constraint_count(&soft->items[i], node_pods(view), cycle->pod->meta.namespace);
    }
}

static struct status spread_pre_score(struct cycle *cycle, struct row_list feasible)
{
    struct spread_state *state = state_of(cycle);
    constraints_of(cycle_self(cycle), cycle->cluster, cycle->pod, false, cycle->arena, &state->soft);
    if (!state->soft.len)
        return STATUS_SKIPPED;
    state->totals = arena_array(cycle->arena, struct strmap, state->soft.len);
    state->weights = arena_array(cycle->arena, double, state->soft.len);
    collect_domains(cycle, state, feasible);
    uint32_t len;
    const uint32_t *rows = cluster_order(cycle->cluster, &len);
    for (uint32_t i = 0; i < len; i++)
        total_node(cycle, state, rows[i]);
    return STATUS_OK;
}

static struct status spread_score(struct cycle *cycle, struct node_view view, int64_t *ret)
{
    struct spread_state *state = state_of(cycle);
    const struct node *node = node_api(view);
    if (!state->totals)
        return reject(STATUS_ERROR, "error reading \"PreScorePodTopologySpread\" from cycleState: not found");
    if (state->soft.require_all_keys && !node_has_keys(node, &state->soft)) {
        *ret = SPREAD_LEFT_OUT;
        return STATUS_OK;
    }
    double score = 0;
    for (uint32_t i = 0; i < state->soft.len; i++) {
        const struct constraint *constraint = &state->soft.items[i];
        const struct str *value = str_map_get(&node->meta.labels, constraint->topology_key);
        if (!value)
            continue;
        int64_t pods = constraint->is_hostname
                           ? constraint_count(constraint, node_pods(view), cycle->pod->meta.namespace)
                           : domain_of(&state->totals[i], *value, NULL, false)->pods;
        score += (double)pods * state->weights[i] + (double)(constraint->max_skew - 1);
    }
    *ret = (int64_t)round(score);
    return STATUS_OK;
}

/* Fewest pods is best. Nodes that were left out get nothing. */
static void spread_normalize(struct cycle *cycle, int64_t *scores, size_t len)
{
    (void)cycle;
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < len; i++) {
        if (scores[i] == SPREAD_LEFT_OUT)
            continue;
        least = MIN(least, scores[i]);
        most = MAX(most, scores[i]);
    }
    for (size_t i = 0; i < len; i++) {
        if (scores[i] == SPREAD_LEFT_OUT)
            scores[i] = 0;
        else
            scores[i] = most ? SCORE_MAX * (most + least - scores[i]) / most : SCORE_MAX;
    }
}

/* ---- what may help ---- */
/* The hard constraints of the pod; false where the reference could not read them, and wakes the pod. */
static bool hard_constraints(const struct hint_context *context, const struct pod *pod,
                             struct constraint_list *ret)
{
    list_for(&pod->spec.spread, api)
        if (str_is(api->when_unsatisfiable, "DoNotSchedule") && api->selector && api->selector->invalid)
            return false;
    constraints_of(context->self, context->cluster, pod, true, context->arena, ret);
    return true;
}

/* Does the pod of the event count for the other's constraints, whatever its labels are? */
static bool is_involved(const struct cluster_event *event, const struct pod *other, const struct pod *pod)
{
    return pod_is(other, pod) ||
           (event_pod_holds_room(event, other) && str_eq(other->meta.namespace, pod->meta.namespace));
}

static bool any_selects(const struct constraint_list *list, const struct pod *pod)
{
    for (uint32_t i = 0; i < list->len; i++)
        if (spread_selector_matches(&list->items[i].selector, &pod->meta.labels))
            return true;
    return false;
}

/* A change of labels matters where a constraint selects the pod now and did not before, or the other way round. */
static enum hint labels_changed(const struct constraint_list *list, const struct pod *before,
                                const struct pod *after)
{
    for (uint32_t i = 0; i < list->len; i++)
        if (spread_selector_matches(&list->items[i].selector, &before->meta.labels) !=
            spread_selector_matches(&list->items[i].selector, &after->meta.labels))
            return HINT_QUEUE;
    return HINT_SKIP;
}

static enum hint pod_changed(const struct hint_context *context, const struct pod *pod,
                             const struct cluster_event *event)
{
    const struct pod *before = event->before, *after = event->after;
    struct constraint_list list;
    if ((after && !is_involved(event, after, pod)) || (before && !is_involved(event, before, pod)))
        return HINT_SKIP;
    if (!hard_constraints(context, pod, &list))
        return HINT_QUEUE;
    if (!before || !after)
        return any_selects(&list, after ? after : before) ? HINT_QUEUE : HINT_SKIP;
    if (pod_is(after, pod) && !tolerations_eq(before, after)) {
        for (uint32_t i = 0; i < list.len; i++)
            if (list.items[i].honor_taints)
                return HINT_QUEUE;
    }
    return labels_changed(&list, before, after);
}

static bool topology_moved(const struct constraint_list *list, const struct node *before,
                           const struct node *after)
{
    for (uint32_t i = 0; i < list->len; i++) {
        const struct str *was = str_map_get(&before->meta.labels, list->items[i].topology_key);
        const struct str *is = str_map_get(&after->meta.labels, list->items[i].topology_key);
        if (!str_eq(was ? *was : STR(""), is ? *is : STR("")))
            return true;
    }
    return false;
}

/* A node that belongs to a domain of every key, or did. */
static enum hint node_changed(const struct hint_context *context, const struct pod *pod,
                              const struct cluster_event *event)
{
    const struct node *before = event->before, *after = event->after;
    struct constraint_list list;
    if (!hard_constraints(context, pod, &list))
        return HINT_QUEUE;
    bool counted = before && node_has_keys(before, &list), counts = after && node_has_keys(after, &list);
    if (!before || !after)
        return counted || counts ? HINT_QUEUE : HINT_SKIP;
    if (counted != counts)
        return HINT_QUEUE;
    return counts && (topology_moved(&list, before, after) || !taints_eq(before, after)) ? HINT_QUEUE
                                                                                         : HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_POD, ACTION_ADD | ACTION_POD_LABEL | ACTION_POD_TOLERATION | ACTION_DELETE, pod_changed },
    { EVENT_NODE, ACTION_ADD | ACTION_DELETE | ACTION_NODE_LABEL | ACTION_NODE_TAINT, node_changed },
    { 0 },
};

const struct plugin plugin_pod_topology_spread = {
    .name = "PodTopologySpread",
    .args = &pod_topology_spread_args_kind,
    .doc = "Keeps pods of one kind evenly spread over zones, nodes or any other topology.",
    .reads = READS("metadata.namespace", "metadata.ownerReferences", "spec.topologySpreadConstraints",
                   "spec.nodeSelector", "spec.affinity", "spec.tolerations"),
    .init = spread_init,
    .forget = spread_forget,
    .pre_filter = spread_pre_filter,
    .add_pod = spread_add_pod,
    .remove_pod = spread_remove_pod,
    .filter = spread_filter,
    .pre_score = spread_pre_score,
    .score = spread_score,
    .normalize = spread_normalize,
    .rows = &spread_rows,
    .events = events,
};
