/* TaintToleration: keeps pods off nodes with taints that they do not tolerate, and prefers nodes with few taints that
 * ask to be avoided (PreferNoSchedule). */
#include "api/taints.h"
#include "framework/normalize.h"
#include "framework/rule.h"
#include "framework/shortfall.h"

/* Tolerations of the pod, all or some. */
struct tolerations {
    struct toleration *items;
    uint32_t len;
    bool compare; /* the gate TaintTolerationComparisonOperators */
};

static struct tolerations *tolerations_new(struct rule_subject *subject)
{
    struct tolerations *tolerations = arena_new(subject->arena, struct tolerations);
    tolerations->compare = subject->cluster->features.enabled[FEATURE_TaintTolerationComparisonOperators];
    return tolerations;
}

/* ---- filter ---- */
static const void *all_tolerations(struct rule_subject *subject)
{
    struct tolerations *all = tolerations_new(subject);
    all->items = subject->pod->spec.tolerations.items;
    all->len = subject->pod->spec.tolerations.len;
    return all;
}

static int64_t is_repelled(const void *pod, union column_value node)
{
    const struct tolerations *all = pod;
    return taints_find_untolerated(node.taints.items, node.taints.len, all->items, all->len, taint_is_hard,
                                   all->compare) != NULL;
}

static const struct node_rule filter_rule = {
    .column = COLUMN_TAINTS,
    .prepare = all_tolerations,
    .judge = is_repelled,
    .rejections = { { STATUS_UNRESOLVABLE, STR("node(s) had untolerated taint(s)") } },
};

/* Every taint that keeps the pod off. */
static void explain(struct cycle *cycle, struct node_view node, struct shortfall_list *ret)
{
    const struct pod_spec *spec = &cycle->pod->spec;
    bool compare = cycle->cluster->features.enabled[FEATURE_TaintTolerationComparisonOperators];
    list_for(&node_api(node)->spec.taints, taint) {
        if (!taint_is_hard(taint) ||
            tolerations_tolerate_taint(spec->tolerations.items, spec->tolerations.len, taint, compare) ||
            shortfall_is_left_out(ret))
            continue;
        struct shortfall *lack = shortfall_add(ret, "Taint");
        lack->key = arena_printf(ret->arena, TAINT_FMT, TAINT_ARG(taint));
        lack->sentence = arena_printf(ret->arena, "taint " STR_FMT " is not tolerated", STR_ARG(lack->key));
    }
}

/* ---- score ---- */
/* The tolerations that can tolerate a PreferNoSchedule taint. */
static const void *soft_tolerations(struct rule_subject *subject)
{
    const struct pod_spec *spec = &subject->pod->spec;
    struct tolerations *soft = tolerations_new(subject);
    soft->items = arena_array(subject->arena, struct toleration, spec->tolerations.len);
    list_for(&spec->tolerations, toleration) {
        if (!toleration->effect.len || str_is(toleration->effect, TAINT_PREFER_NO_SCHEDULE))
            soft->items[soft->len++] = *toleration;
    }
    return soft;
}

static int64_t count_untolerated(const void *pod, union column_value node)
{
    const struct tolerations *soft = pod;
    int64_t count = 0;
    for (uint32_t i = 0; i < node.taints.len; i++)
        count += str_is(node.taints.items[i].effect, TAINT_PREFER_NO_SCHEDULE) &&
                 !tolerations_tolerate_taint(soft->items, soft->len, &node.taints.items[i], soft->compare);
    return count;
}

static const struct node_rule score_rule = {
    .column = COLUMN_TAINTS,
    .prepare = soft_tolerations,
    .judge = count_untolerated,
    .unprepared = "failed to read \"PreScoreTaintToleration\" from cycleState: not found",
};

static const struct event_rule events[] = {
    { EVENT_NODE, ACTION_ADD | ACTION_NODE_TAINT, rule_hint },
    { EVENT_POD, ACTION_POD_TOLERATION, hint_own_change, ANY_POD_RULE },
    { EVENT_TARGET_POD, ACTION_POD_TOLERATION, hint_own_change, DIVIDED_POD_RULE },
    { 0 },
};

const struct plugin plugin_taint_toleration = {
    .name = "TaintToleration",
    .ignores_resizes = true,
    .doc =
        "Filters out nodes with taints that the pod does not tolerate; prefers nodes with fewer soft ones.",
    .reads = READS("spec.tolerations"),
    .pre_filter = pre_filter_all_nodes,
    .pre_filter_only_narrows = true,
    .newer_points = { POINT_BIT(POINT_PRE_FILTER), BEHAVIOUR_node_filters_have_pre_filter },
    .filter = rule_filter,
    .filter_rule = &filter_rule,
    .explain = explain,
    .needs_pre_score = POINT_BIT(POINT_SCORE),
    .pre_score = rule_pre_score,
    .score = rule_score,
    .score_rule = &score_rule,
    .normalize = normalize_lowest_best,
    .events = events,
};
