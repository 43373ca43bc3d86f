/* TaintToleration: keeps pods off nodes with taints that they do not tolerate, and prefers nodes with few taints that
 * ask to be avoided (PreferNoSchedule). */
#include "api/taints.h"
#include "framework/normalize.h"
#include "framework/rule.h"

/* ---- filter ---- */
static int64_t is_repelled(const void *pod, union column_value node)
{
    const struct pod_spec *spec = &((const struct pod *)pod)->spec;
    return taints_find_untolerated(node.taints.items, node.taints.len, spec->tolerations.items,
                                   spec->tolerations.len, taint_is_hard, false) != NULL;
}

static const struct node_rule filter_rule = {
    .column = COLUMN_TAINTS,
    .judge = is_repelled,
    .rejections = { { STATUS_UNRESOLVABLE, STR("node(s) had untolerated taint(s)") } },
};

/* ---- score ---- */
/* The tolerations that can tolerate a PreferNoSchedule taint. */
struct soft_tolerations {
    struct toleration *items;
    uint32_t len;
};

static const void *soft_tolerations(struct rule_subject *subject)
{
    const struct pod_spec *spec = &subject->pod->spec;
    struct soft_tolerations *soft = arena_new(subject->arena, struct soft_tolerations);
    soft->items = arena_array(subject->arena, struct toleration, spec->tolerations.len);
    list_for(&spec->tolerations, toleration) {
        if (!toleration->effect.len || str_is(toleration->effect, TAINT_PREFER_NO_SCHEDULE))
            soft->items[soft->len++] = *toleration;
    }
    return soft;
}

static int64_t count_untolerated(const void *pod, union column_value node)
{
    const struct soft_tolerations *soft = pod;
    int64_t count = 0;
    for (uint32_t i = 0; i < node.taints.len; i++)
        count += str_is(node.taints.items[i].effect, TAINT_PREFER_NO_SCHEDULE) &&
                 !tolerations_tolerate_taint(soft->items, soft->len, &node.taints.items[i], false);
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
    { EVENT_POD, ACTION_POD_TOLERATION, hint_own_change },
    { 0 },
};

const struct plugin plugin_taint_toleration = {
    .name = "TaintToleration",
    .doc =
        "Filters out nodes with taints that the pod does not tolerate; prefers nodes with fewer soft ones.",
    .reads = READS("spec.tolerations"),
    .filter = rule_filter,
    .filter_rule = &filter_rule,
    .pre_score = rule_pre_score,
    .score = rule_score,
    .score_rule = &score_rule,
    .normalize = normalize_lowest_best,
    .events = events,
};
