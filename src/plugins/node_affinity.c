/* NodeAffinity: the pod's nodeSelector and node affinity, and an affinity that the configuration adds to every pod.
 *
 * For a pod whose every alternative names nodes, only those nodes are looked at. */
#include <stdlib.h>

#include "api/labels.h"
#include "framework/normalize.h"
#include "framework/rule.h"
#include "framework/shortfall.h"
#include "index/row_match.h"
#include "plugins/node_affinity_args.h"

static int init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    const struct node_affinity_args *args = env->args;
    struct node_affinity *added = args ? args->added_affinity : NULL;
    if (added && added->required && node_selector_check(added->required, err) < 0) {
        error_prefix(err, "parsing addedAffinity.requiredDuringSchedulingIgnoredDuringExecution");
        return -EINVAL;
    }
    if (added && preferred_node_terms_check(added->preferred.items, added->preferred.len, err) < 0) {
        error_prefix(err, "parsing addedAffinity.preferredDuringSchedulingIgnoredDuringExecution");
        return -EINVAL;
    }
    *ret_self = added;
    return 0;
}

static const struct node_affinity *affinity_of(const struct pod *pod)
{
    return pod->spec.affinity ? pod->spec.affinity->node : NULL;
}

/* ---- filter ---- */
/* Keeps of `names` what the values list too; both without duplicates. */
static uint32_t keep_listed(struct str *names, uint32_t len, const struct str_list *values)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < len; i++)
        if (str_list_has(values, names[i]))
            names[kept++] = names[i];
    return kept;
}

static bool names_nodes(const struct selector_requirement *field)
{
    return field->op == OP_IN && str_is(field->key, "metadata.name");
}

/* The nodes that a term names, at the end of `names`; false when it names none in particular. */
static bool term_names(const struct node_selector_term *term, struct str *names, uint32_t *len)
{
    bool found = false;
    uint32_t added = 0;
    list_for(&term->match_fields, field) {
        if (!names_nodes(field))
            continue;
        if (found) {
            added = keep_listed(names + *len, added, &field->values);
            continue;
        }
        found = true;
        for (uint32_t v = 0; v < field->values.len; v++)
            names[*len + added++] = field->values.items[v];
    }
    *len += added;
    return found;
}

static struct status narrow_to_named(struct cycle *cycle, const struct node_selector *required,
                                     struct node_names *narrow)
{
    size_t most = 0;
    list_for(&required->terms, term)
        list_for(&term->match_fields, field)
            most += field->values.len;
    struct str_list names = { .items = arena_array(cycle->arena, struct str, most) };
    list_for(&required->terms, term)
        if (!term_names(term, names.items, &names.len))
            return STATUS_OK; /* terms are alternatives: this one leaves every node open */
    if (!names.len)
        return reject(STATUS_UNRESOLVABLE, "pod affinity terms conflict");
    str_list_sort_unique(&names);
    *narrow = (struct node_names){ .items = names.items, .len = names.len };
    return STATUS_OK;
}

/* What the configuration and the pod require. */
struct required {
    struct row_selector enforced, wanted;
};

enum { NOT_ENFORCED = 1, NOT_WANTED };

static const void *required_prepare(struct rule_subject *subject)
{
    const struct node_affinity *added = subject->self, *own = affinity_of(subject->pod);
    const struct str_map *labels = &subject->pod->spec.node_selector;
    if (!(own && own->required) && !(added && added->required) && !labels->len)
        return NULL;
    struct required *required = arena_new(subject->arena, struct required);
    row_selector_init(&required->enforced, subject->cluster, subject->arena, NULL,
                      added ? added->required : NULL);
    row_selector_init(&required->wanted, subject->cluster, subject->arena, labels,
                      own ? own->required : NULL);
    return required;
}

static void required_release(void *pod, struct cluster *cluster)
{
    struct required *required = pod;
    row_selector_release(&required->enforced, cluster);
    row_selector_release(&required->wanted, cluster);
}

static int64_t required_judge(const void *pod, union column_value node)
{
    const struct required *required = pod;
    if (!row_selector_matches(&required->enforced, node.labels.cluster, node.labels.row))
        return NOT_ENFORCED;
    return row_selector_matches(&required->wanted, node.labels.cluster, node.labels.row) ? 0 : NOT_WANTED;
}

static void scan_selector(const struct row_selector *selector, int32_t rejection,
                          const struct rule_scan *scan, int32_t *ret)
{
    if (!selector->has_terms && selector_is_empty(&selector->all))
        return;
    uint8_t *ok = arena_alloc(scan->scratch, scan->rows);
    row_selector_match_all(selector, scan->cluster, scan->scratch, scan->rows, ok);
    for (uint32_t row = 0; row < scan->rows; row++)
        ret[row] = ret[row] || ok[row] ? ret[row] : rejection;
}

static void required_scan(const void *pod, const struct rule_scan *scan, int32_t *ret)
{
    const struct required *required = pod;
    scan_selector(&required->enforced, NOT_ENFORCED, scan, ret);
    scan_selector(&required->wanted, NOT_WANTED, scan, ret);
}

static const struct node_rule filter_rule = {
    .column = COLUMN_LABELS,
    .prepare = required_prepare,
    .release = required_release,
    .judge = required_judge,
    .scan = required_scan,
    .rejections = { { STATUS_UNRESOLVABLE, STR("node(s) didn't match scheduler-enforced node affinity") },
                    { STATUS_UNRESOLVABLE, STR("node(s) didn't match Pod's node affinity/selector") } },
};

/* The labels of the nodeSelector that the node does not have, and what its affinity wants. */
static void explain_wanted(const struct pod *pod, const struct node *node, struct shortfall_list *ret)
{
    const struct node_affinity *own = affinity_of(pod);
    list_for(&pod->spec.node_selector, pair) {
        const struct str *value = str_map_get(&node->meta.labels, pair->key);
        if ((value && str_eq(*value, pair->value)) || shortfall_is_left_out(ret))
            continue;
        shortfall_add_label(ret, "NodeSelector", pair->key, pair->value, &node->meta.labels)->sentence =
            arena_printf(ret->arena, "nodeSelector wants " STR_FMT "=" STR_FMT, STR_ARG(pair->key),
                         STR_ARG(pair->value));
    }
    if (own && own->required && !node_selector_matches(own->required, node->meta.name, &node->meta.labels))
        shortfall_add_requirements(ret, "NodeAffinity", "node affinity", own->required, node);
}

static void explain(struct cycle *cycle, struct node_view view, struct shortfall_list *ret)
{
    const struct node_affinity *added = cycle_self(cycle);
    const struct node *node = node_api(view);
    if (added && added->required &&
        !node_selector_matches(added->required, node->meta.name, &node->meta.labels))
        shortfall_add_requirements(ret, "AddedAffinity", "addedAffinity of the configuration",
                                   added->required, node);
    explain_wanted(cycle->pod, node, ret);
}

/* A pod without requirements is skipped. */
static struct status pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    const struct node_affinity *affinity = affinity_of(cycle->pod);
    struct status status = rule_pre_filter(cycle, narrow);
    if (!status_ok(status) || !affinity || !affinity->required || !affinity->required->terms.len)
        return status;
    return narrow_to_named(cycle, affinity->required, narrow);
}

/* ---- score ---- */
struct preference {
    struct row_term term;
    int32_t weight;
};

struct preferences {
    struct preference *items;
    uint32_t len;
};

/* A term of weight 0 adds nothing, an empty one matches nothing. */
static void add_preferences(struct preferences *preferences, const struct node_affinity *affinity,
                            const struct rule_subject *subject)
{
    if (!affinity)
        return;
    list_for(&affinity->preferred, item) {
        if (!item->weight)
            continue;
        struct preference *preference = &preferences->items[preferences->len++];
        preference->weight = item->weight;
        row_term_init(&preference->term, subject->cluster, subject->arena, &item->preference);
    }
}

/* The weights of addedAffinity may be any of 32 bits, and are added in 64. */
static int64_t weights_in_sum(const struct preferences *preferences)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < preferences->len; i++)
        sum += llabs((long long)preferences->items[i].weight);
    return sum;
}

static const void *preferences_prepare(struct rule_subject *subject)
{
    const struct node_affinity *added = subject->self, *own = affinity_of(subject->pod);
    struct error err;
    if (own && preferred_node_terms_check(own->preferred.items, own->preferred.len, &err) < 0)
        subject->failure = status_printf(subject->arena, STATUS_ERROR, "%s", err.text);
    if (!(own && own->preferred.items) && !(added && added->preferred.len))
        return NULL;
    uint32_t most = (added ? added->preferred.len : 0) + (own ? own->preferred.len : 0);
    struct preferences *preferences = arena_new(subject->arena, struct preferences);
    preferences->items = arena_array(subject->arena, struct preference, most);
    add_preferences(preferences, added, subject);
    add_preferences(preferences, own, subject);
    subject->is_wide = weights_in_sum(preferences) > INT32_MAX;
    return preferences;
}

static void preferences_release(void *pod, struct cluster *cluster)
{
    struct preferences *preferences = pod;
    for (uint32_t i = 0; i < preferences->len; i++)
        row_term_release(&preferences->items[i].term, cluster);
}

/* The sum of the weights of the terms that match. */
static int64_t preferences_judge(const void *pod, union column_value node)
{
    const struct preferences *preferences = pod;
    int64_t sum = 0;
    for (uint32_t i = 0; i < preferences->len; i++)
        if (row_term_matches(&preferences->items[i].term, node.labels.cluster, node.labels.row))
            sum += preferences->items[i].weight;
    return sum;
}

static void preferences_scan(const void *pod, const struct rule_scan *scan, int32_t *ret)
{
    const struct preferences *preferences = pod;
    uint8_t *ok = arena_alloc(scan->scratch, scan->rows);
    for (uint32_t i = 0; i < preferences->len; i++) {
        const struct preference *preference = &preferences->items[i];
        row_term_match_all(&preference->term, scan->cluster, scan->scratch, scan->rows, ok);
        for (uint32_t row = 0; row < scan->rows; row++)
            ret[row] = (int32_t)((uint32_t)ret[row] + (ok[row] ? (uint32_t)preference->weight : 0));
    }
}

static const struct node_rule score_rule = {
    .column = COLUMN_LABELS,
    .prepare = preferences_prepare,
    .release = preferences_release,
    .judge = preferences_judge,
    .scan = preferences_scan,
};

/* ---- queueing hints ---- */
static bool matches(const struct node_affinity *affinity, const struct meta *node)
{
    return !affinity || !affinity->required ||
           node_selector_matches(affinity->required, node->name, &node->labels);
}

enum match { NO_MATCH, MATCHES, INVALID };

/* Alternatives that cannot be parsed matter only where no other one fits. */
static enum match match_of(const struct pod *pod, const struct node *node)
{
    const struct node_affinity *affinity = affinity_of(pod);
    if (!str_map_contains_all(&node->meta.labels, &pod->spec.node_selector))
        return NO_MATCH;
    if (matches(affinity, &node->meta))
        return MATCHES;
    list_for(&affinity->required->terms, term)
        if (term->invalid)
            return INVALID;
    return NO_MATCH;
}

/* A node that matches now, and did not before. The reference checks the added affinity against the changed node
 * only, and lets a pod try whose affinity is invalid: that is not quite the rule before and after. */
HINT(node_changed)
{
    const struct node *before = event->before, *after = event->after;
    if (!matches(context->self, &after->meta))
        return HINT_SKIP;
    enum match match = match_of(pod, after);
    if (match != MATCHES)
        return match == INVALID ? HINT_QUEUE : HINT_SKIP;
    return before && match_of(pod, before) == MATCHES ? HINT_SKIP : HINT_QUEUE;
}

static const struct event_rule events[] = {
    { EVENT_NODE, ACTION_ADD | ACTION_NODE_LABEL, node_changed },
    { 0 },
};

const struct plugin plugin_node_affinity = {
    .name = "NodeAffinity",
    .ignores_resizes = true,
    .args = &node_affinity_args_kind,
    .doc = "Filters and scores nodes by the pod's node selector and node affinity.",
    .reads = READS("spec.nodeSelector", "spec.affinity"),
    .init = init,
    .forget = rule_forget,
    .pre_filter = pre_filter,
    .filter = rule_filter,
    .filter_rule = &filter_rule,
    .explain = explain,
    .pre_score = rule_pre_score,
    .score = rule_score,
    .score_rule = &score_rule,
    .normalize = normalize_highest_best,
    .events = events,
};
