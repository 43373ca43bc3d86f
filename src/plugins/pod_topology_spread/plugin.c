/* PodTopologySpread: spreads pods that belong together evenly.
 *
 * Hard constraints filter: a node's domain may hold at most maxSkew more matching pods than the emptiest domain that
 * counts. Soft ones score: the fewer matching pods in the node's domains, the better, each key weighted by the
 * logarithm of its number of domains. */
#include <math.h>
#include <stdlib.h>

#include "api/labels.h"
#include "base/log.h"
#include "framework/shortfall.h"
#include "index/topology_rule.h"
#include "plugins/pod_topology_spread/constraints.h"

static const struct spread_constraint system_defaults[] = {
    { .topology_key = STR("kubernetes.io/hostname"),
      .when_unsatisfiable = STR("ScheduleAnyway"),
      .max_skew = 3 },
    { .topology_key = STR("topology.kubernetes.io/zone"),
      .when_unsatisfiable = STR("ScheduleAnyway"),
      .max_skew = 5 },
};

static int init(const struct plugin_env *env, void **ret_self, _unused_ struct error *err)
{
    const struct pod_topology_spread_args *args = env->args;
    struct spread_self *self = arena_new(env->arena, struct spread_self);
    self->system_defaulted = str_is(args->defaulting_type, "System");
    self->defaults = self->system_defaulted ? system_defaults : args->default_constraints.items;
    self->defaults_len =
        self->system_defaulted ? (uint32_t)ARRAY_SIZE(system_defaults) : args->default_constraints.len;
    *ret_self = self;
    return 0;
}

/* ---- terms: a counter per constraint ---- */
static void add_constraint(struct topology_counts *counts, const struct constraint *constraint,
                           uint32_t number)
{
    struct intern *syms = &counts->cluster->syms;
    sym key = intern_get(syms, constraint->topology_key);
    topology_counts_add_selector(counts, constraint->selector, number, key);
    struct topology_counter *counter = topology_counter_get(counts, number, key);
    intern_unref(syms, key);
    counter->skips_terminating = true;
    counter->counts_none = spread_selector_is_empty(constraint->selector);
    counter->honor_affinity = constraint->honor_affinity;
    counter->honor_taints = constraint->honor_taints;
    if (constraint->honor_affinity)
        topology_counts_honor_affinity(counts);
}

static void add_constraints(struct topology_counts *counts, const void *self, bool hard,
                            struct constraint_list *list)
{
    const struct pod *pod = counts->pod->api;
    constraints_of(self, counts->cluster, pod, hard, counts->arena, list);
    for (uint32_t i = 0; i < list->len; i++)
        add_constraint(counts, &list->items[i], i);
    counts->is_needed = list->len > 0;
    counts->depends_on = pod->spec.spread.len ? NULL : &counts->cluster->controllers_version;
}

/* ---- filter ---- */
static void filter_terms(struct topology_counts *counts, const void *self)
{
    struct constraint_list *hard = arena_new(counts->arena, struct constraint_list);
    add_constraints(counts, self, true, hard);
    counts->data = hard;
    counts->all_keys = true;
}

enum { MISSING_LABEL = 1, TOO_UNEVEN };

/* How many matching pods the emptiest domain has; 0 if there are fewer domains than the constraint wants. */
static int64_t least_of(const struct constraint *constraint, struct domain_counter *sums)
{
    return sums->domains < (uint32_t)constraint->min_domains ? 0 : domain_counter_least(sums);
}

static uint32_t filter(struct topology_counts *counts, const uint32_t *inputs)
{
    const struct constraint_list *hard = counts->data;
    for (uint32_t i = 0; i < hard->len; i++) {
        const struct constraint *constraint = &hard->items[i];
        struct domain_counter *sums = &counts->counters.items[i].sums;
        if (inputs[i] == INPUT_NONE)
            return MISSING_LABEL;
        int64_t matches = domain_counter_resolve(sums, inputs[i]);
        if (matches + constraint->selects_pod - least_of(constraint, sums) > constraint->max_skew)
            return TOO_UNEVEN;
    }
    return 0;
}

/* The first constraint that the node does not meet, with its numbers. */
static void log_rejection(struct topology_counts *counts, const uint32_t *inputs, struct node_view node,
                          const struct pod *pod)
{
    enum { VERDICTS_SHOWN = 5 };
    const struct constraint_list *hard = counts->data;
    if (!log_shows(VERDICTS_SHOWN))
        return;
    struct log_value about = log_ref("pod", pod->meta.namespace, pod->meta.name),
                     where = log_ref("node", STR(""), cluster_node_name(node.cluster, node.row));
    for (uint32_t i = 0; i < hard->len; i++) {
        const struct constraint *constraint = &hard->items[i];
        struct domain_counter *sums = &counts->counters.items[i].sums;
        struct log_value key = log_str("topologyKey", constraint->topology_key);
        if (inputs[i] == INPUT_NONE) {
            log_info(VERDICTS_SHOWN, "Node doesn't have required topology label for spread constraint", about,
                     where, key);
            return;
        }
        int64_t matches = domain_counter_resolve(sums, inputs[i]), least = least_of(constraint, sums);
        if (matches + constraint->selects_pod - least <= constraint->max_skew)
            continue;
        log_info(VERDICTS_SHOWN,
                 "Node failed spreadConstraint: matchNum + selfMatchNum - minMatchNum > maxSkew", about,
                 where, key, log_int("matchNum", matches), log_int("selfMatchNum", constraint->selects_pod),
                 log_int("minMatchNum", least), log_int("maxSkew", constraint->max_skew));
        return;
    }
}

static void explain_skew(const struct constraint *constraint, struct domain_counter *sums, int64_t matches,
                         const struct str_map *labels, struct shortfall_list *ret)
{
    int64_t least = least_of(constraint, sums), skew = matches + constraint->selects_pod - least;
    bool too_few = sums->domains < (uint32_t)constraint->min_domains;
    if (skew <= constraint->max_skew || shortfall_is_left_out(ret))
        return;
    struct shortfall *lack =
        shortfall_add_label(ret, "Spread", constraint->topology_key, (struct str){ 0 }, labels);
    lack->shows_has = false;
    lack->skew = (struct opt_int32){ true, (int32_t)MIN(skew, INT32_MAX) };
    lack->max_skew = constraint->max_skew;
    lack->sentence = arena_printf(
        ret->arena,
        "spread over " STR_FMT ": " STR_FMT
        " has %lld matching pod%s, %s %lld; the skew would be %lld, at most %d "
        "is allowed",
        STR_ARG(lack->key), STR_ARG(lack->has), (long long)matches, matches == 1 ? "" : "s",
        too_few ? "and with fewer domains than minDomains the emptiest counts as" : "the emptiest domain",
        (long long)least, (long long)skew, lack->max_skew);
}

/* Every constraint that the node does not meet. */
static void explain(struct cycle *cycle, struct topology_counts *counts, const uint32_t *inputs,
                    struct node_view node, struct shortfall_list *ret)
{
    const struct constraint_list *hard = counts->data;
    const struct str_map *labels = &node_api(node)->meta.labels;
    (void)cycle;
    for (uint32_t i = 0; i < hard->len; i++) {
        struct domain_counter *sums = &counts->counters.items[i].sums;
        struct str key = hard->items[i].topology_key;
        if (inputs[i] == INPUT_NONE && shortfall_is_left_out(ret))
            continue;
        if (inputs[i] == INPUT_NONE)
            shortfall_add_label(ret, "SpreadLabel", key, (struct str){ 0 }, labels)->sentence = arena_printf(
                ret->arena, "spread over " STR_FMT " wants a node with that label", STR_ARG(key));
        else
            explain_skew(&hard->items[i], sums, domain_counter_resolve(sums, inputs[i]), labels, ret);
    }
}

static struct status rejection(uint32_t detail)
{
    if (detail == MISSING_LABEL)
        return reject(STATUS_UNRESOLVABLE,
                      "node(s) didn't match pod topology spread constraints (missing required label)");
    return reject(STATUS_UNSCHEDULABLE, "node(s) didn't match pod topology spread constraints");
}

/* ---- score ---- */
/* The raw score of a node that lacks a key: real ones are not negative. */
enum { LEFT_OUT = -1 };

/* In how many domains are feasible nodes? */
struct domains_seen {
    uint32_t *decision_of, cap; /* by domain: the last decision in which it had a feasible node */
    int64_t len;
};

struct soft_constraints {
    struct constraint_list list;
    struct domains_seen *seen;
    double *weights;
    uint32_t decision;
};

static void score_terms(struct topology_counts *counts, const void *self)
{
    struct soft_constraints *soft = arena_new(counts->arena, struct soft_constraints);
    add_constraints(counts, self, false, &soft->list);
    soft->seen = arena_array(counts->arena, struct domains_seen, soft->list.len);
    soft->weights = arena_array(counts->arena, double, soft->list.len);
    counts->data = soft;
    counts->all_keys = soft->list.require_all_keys;
    for (uint32_t i = 0; i < soft->list.len; i++) {
        /* Over host names the node's own pods are compared, even where several nodes share the name. */
        counts->counters.items[i].per_node = soft->list.items[i].is_hostname;
        counts->counters.items[i].missing_is_empty = !soft->list.require_all_keys;
    }
}

static bool is_left_out(const struct soft_constraints *soft, const uint32_t *inputs)
{
    for (uint32_t i = 0; soft->list.require_all_keys && i < soft->list.len; i++)
        if (inputs[i] == INPUT_NONE)
            return true;
    return false;
}

static void see_domain(struct domains_seen *seen, uint32_t domain, uint32_t decision, struct arena *arena)
{
    if (domain >= seen->cap) {
        uint32_t cap = MAX(domain + 1, seen->cap * 2);
        seen->decision_of = arena_copy(arena, uint32_t, seen->decision_of, seen->cap, cap);
        seen->cap = cap;
    }
    seen->len += seen->decision_of[domain] != decision;
    seen->decision_of[domain] = decision;
}

/* Only domains of feasible nodes are compared. */
static void feasible(struct topology_counts *counts, const struct group_view *groups, uint32_t len,
                     uint32_t first)
{
    struct soft_constraints *soft = counts->data;
    soft->decision++;
    for (uint32_t i = 0; i < soft->list.len; i++)
        soft->seen[i].len = 0;
    for (uint32_t g = 0; g < len; g++) {
        const uint32_t *inputs = groups[g].inputs + first;
        if (is_left_out(soft, inputs))
            continue;
        for (uint32_t i = 0; i < soft->list.len; i++) {
            uint32_t missing = counts->counters.items[i].sums.missing;
            if (soft->list.items[i].is_hostname || input_is_value(inputs[i]))
                soft->seen[i].len += groups[g].rows;
            else
                see_domain(&soft->seen[i], inputs[i] ? inputs[i] : missing, soft->decision, counts->arena);
        }
    }
    for (uint32_t i = 0; i < soft->list.len; i++)
        soft->weights[i] = log((double)(soft->seen[i].len + 2));
}

static int64_t score(const struct topology_counts *counts, const uint32_t *inputs)
{
    const struct soft_constraints *soft = counts->data;
    double sum = 0;
    if (is_left_out(soft, inputs))
        return LEFT_OUT;
    for (uint32_t i = 0; i < soft->list.len; i++) {
        if (inputs[i] == INPUT_NONE)
            continue;
        int64_t pods = topology_count(counts, i, inputs[i]);
        sum += (double)pods * soft->weights[i] + (double)(soft->list.items[i].max_skew - 1);
    }
    return (int64_t)round(sum);
}

/* Fewest pods is best. Nodes that were left out score 0. */
static void normalize(_unused_ struct cycle *cycle, int64_t *scores, size_t len)
{
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < len; i++) {
        if (scores[i] == LEFT_OUT)
            continue;
        least = MIN(least, scores[i]);
        most = MAX(most, scores[i]);
    }
    for (size_t i = 0; i < len; i++) {
        if (scores[i] == LEFT_OUT)
            scores[i] = 0;
        else
            scores[i] = most ? SCORE_MAX * (most + least - scores[i]) / most : SCORE_MAX;
    }
}

/* ---- queueing hints ---- */
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
           (event_pod_holds_resources(event, other) && str_eq(other->meta.namespace, pod->meta.namespace));
}

/* Does a constraint select the pod after the event and not before, or the other way round? NULL: it was not there. */
static bool count_changed(const struct constraint_list *list, const struct pod *before,
                          const struct pod *after)
{
    list_for(list, constraint) {
        bool was = before && label_selector_matches(constraint->selector, &before->meta.labels);
        if (was != (after && label_selector_matches(constraint->selector, &after->meta.labels)))
            return true;
    }
    return false;
}

HINT(pod_changed)
{
    const struct pod *before = event->before, *after = event->after;
    struct constraint_list list;
    if ((after && !is_involved(event, after, pod)) || (before && !is_involved(event, before, pod)))
        return HINT_SKIP;
    if (!hard_constraints(context, pod, &list))
        return HINT_QUEUE;
    if (before && after && pod_is(after, pod) && !same_field(KIND_POD, "spec.tolerations", before, after))
        list_for(&list, constraint)
            if (constraint->honor_taints)
                return HINT_QUEUE;
    return count_changed(&list, before, after) ? HINT_QUEUE : HINT_SKIP;
}

static bool topology_moved(const struct constraint_list *list, const struct node *before,
                           const struct node *after)
{
    list_for(list, constraint) {
        const struct str *was = str_map_get(&before->meta.labels, constraint->topology_key);
        const struct str *is = str_map_get(&after->meta.labels, constraint->topology_key);
        if (!str_eq(was ? *was : STR(""), is ? *is : STR("")))
            return true;
    }
    return false;
}

static bool node_has_keys(const struct node *node, const struct constraint_list *list)
{
    list_for(list, constraint)
        if (!str_map_get(&node->meta.labels, constraint->topology_key))
            return false;
    return true;
}

/* A node that belongs to a domain of every key, or did. */
HINT(node_changed)
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
    return counts && (topology_moved(&list, before, after) ||
                      !same_field(KIND_NODE, "spec.taints", before, after))
               ? HINT_QUEUE
               : HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_POD, ACTION_ADD | ACTION_POD_LABEL | ACTION_POD_TOLERATION | ACTION_DELETE, pod_changed,
      ANY_POD_RULE },
    { EVENT_ASSIGNED_POD, ACTION_ADD | ACTION_POD_LABEL | ACTION_DELETE, pod_changed, DIVIDED_POD_RULE },
    { EVENT_TARGET_POD, ACTION_POD_LABEL | ACTION_POD_TOLERATION, pod_changed, DIVIDED_POD_RULE },
    { EVENT_NODE, ACTION_ADD | ACTION_DELETE | ACTION_NODE_LABEL | ACTION_NODE_TAINT, node_changed },
    { 0 },
};

static const struct topology_rule rule = {
    .filter_terms = filter_terms,
    .score_terms = score_terms,
    .filter = filter,
    .log_rejection = log_rejection,
    .explain = explain,
    .rejection = rejection,
    .feasible = feasible,
    .score = score,
    .no_pre_filter = "reading \"PreFilterPodTopologySpread\" from cycleState: not found",
    .no_pre_score = "error reading \"PreScorePodTopologySpread\" from cycleState: not found",
};

const struct plugin plugin_pod_topology_spread = {
    .name = "PodTopologySpread",
    .ignores_resizes = true,
    .args = &pod_topology_spread_args_kind,
    .doc = "Keeps pods of one kind evenly spread over zones, nodes or any other topology.",
    .reads = READS("metadata.namespace", "metadata.ownerReferences", "spec.topologySpreadConstraints",
                   "spec.nodeSelector", "spec.affinity", "spec.tolerations"),
    .init = init,
    TOPOLOGY_CALLBACKS,
    .normalize = normalize,
    .topology_rule = &rule,
    .events = events,
};
