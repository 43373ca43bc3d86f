/* TaintToleration: keeps pods off nodes with taints that they do not tolerate, and prefers nodes with few taints that
 * ask to be avoided (PreferNoSchedule). */
#include "api/taints.h"
#include "framework/normalize.h"
#include "framework/plugin.h"

static struct status filter(struct cycle *cycle, struct node_view node)
{
    const struct node *api = node_api(node);
    const struct pod_spec *spec = &cycle->pod->spec;
    if (!taints_find_untolerated(api->spec.taints.items, api->spec.taints.len, spec->tolerations.items,
                                 spec->tolerations.len, taint_is_hard, false))
        return STATUS_OK;
    return reject(STATUS_UNRESOLVABLE, "node(s) had untolerated taint(s)");
}

/* The tolerations that can tolerate a PreferNoSchedule taint. */
struct soft_tolerations {
    struct toleration *items;
    uint32_t len;
};

static struct status pre_score(struct cycle *cycle, struct row_list feasible)
{
    (void)feasible;
    const struct pod_spec *spec = &cycle->pod->spec;
    struct soft_tolerations *soft = arena_new(cycle->arena, struct soft_tolerations);
    soft->items = arena_array(cycle->arena, struct toleration, spec->tolerations.len);
    list_for(&spec->tolerations, toleration) {
        if (!toleration->effect.len || str_is(toleration->effect, TAINT_PREFER_NO_SCHEDULE))
            soft->items[soft->len++] = *toleration;
    }
    *cycle_state(cycle) = soft;
    return STATUS_OK;
}

static struct status score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    const struct soft_tolerations *soft = *cycle_state(cycle);
    if (!soft)
        return reject(STATUS_ERROR, "failed to read \"PreScoreTaintToleration\" from cycleState: not found");
    *ret = 0;
    list_for(&node_api(node)->spec.taints, taint) {
        if (str_is(taint->effect, TAINT_PREFER_NO_SCHEDULE) &&
            !tolerations_tolerate_taint(soft->items, soft->len, taint, false))
            ++*ret;
    }
    return STATUS_OK;
}

static void normalize(struct cycle *cycle, int64_t *scores, size_t len)
{
    (void)cycle;
    normalize_scores(scores, len, true);
}

const struct plugin plugin_taint_toleration = {
    .name = "TaintToleration",
    .doc = "Filters out nodes with taints that the pod does not tolerate; prefers nodes with fewer soft ones.",
    .filter = filter,
    .pre_score = pre_score,
    .score = score,
    .normalize = normalize,
};
