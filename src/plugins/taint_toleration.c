/* TaintToleration: keeps pods off nodes with taints that they do not tolerate, and prefers nodes with few taints that
 * ask to be avoided (PreferNoSchedule). */
#include "api/taints.h"
#include "framework/normalize.h"
#include "index/table.h"

static bool repels(const struct taint *taints, uint32_t len, const struct pod_spec *spec)
{
    return taints_find_untolerated(taints, len, spec->tolerations.items, spec->tolerations.len, taint_is_hard,
                                   false);
}

static struct status refusal(void)
{
    return reject(STATUS_UNRESOLVABLE, "node(s) had untolerated taint(s)");
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    const struct node *api = node_api(node);
    return repels(api->spec.taints.items, api->spec.taints.len, &cycle->pod->spec) ? refusal() : STATUS_OK;
}

/* The tolerations that can tolerate a PreferNoSchedule taint. */
struct soft_tolerations {
    struct toleration *items;
    uint32_t len;
};

static struct soft_tolerations *soft_tolerations(const struct pod_spec *spec, struct arena *arena)
{
    struct soft_tolerations *soft = arena_new(arena, struct soft_tolerations);
    soft->items = arena_array(arena, struct toleration, spec->tolerations.len);
    list_for(&spec->tolerations, toleration) {
        if (!toleration->effect.len || str_is(toleration->effect, TAINT_PREFER_NO_SCHEDULE))
            soft->items[soft->len++] = *toleration;
    }
    return soft;
}

static struct status pre_score(struct cycle *cycle, struct row_list feasible)
{
    (void)feasible;
    *cycle_state(cycle) = soft_tolerations(&cycle->pod->spec, cycle->arena);
    return STATUS_OK;
}

static int64_t count_disliked(const struct soft_tolerations *soft, const struct taint *taints, uint32_t len)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < len; i++)
        count += str_is(taints[i].effect, TAINT_PREFER_NO_SCHEDULE) &&
                 !tolerations_tolerate_taint(soft->items, soft->len, &taints[i], false);
    return count;
}

static struct status score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    const struct soft_tolerations *soft = *cycle_state(cycle);
    if (!soft)
        return reject(STATUS_ERROR, "failed to read \"PreScoreTaintToleration\" from cycleState: not found");
    *ret = count_disliked(soft, node_api(node)->spec.taints.items, node_api(node)->spec.taints.len);
    return STATUS_OK;
}

static void normalize(struct cycle *cycle, int64_t *scores, size_t len)
{
    (void)cycle;
    normalize_scores(scores, len, true);
}

/* ---- many rows at once ----
 * Nodes share a few lists of taints: each list is judged once per fill. */
struct rows_state {
    struct soft_tolerations *soft;
    uint8_t *refused;   /* by number of the list */
    uint32_t *disliked; /* by number of the list */
};

static bool rows_prepare(struct table *table, struct table_part *part)
{
    struct rows_state *state = arena_new(&table->arena, struct rows_state);
    state->soft = soft_tolerations(&table->pod->api->spec, &table->arena);
    part->state = state;
    part->filters = true;
    part->scores_groups = true;
    part->inputs = table->cluster->tainted_nodes > 0;
    return true;
}

static uint64_t rows_version(const struct table *table, const struct table_part *part)
{
    (void)part;
    return table->cluster->tainted_nodes > 0;
}

static void rows_judge_lists(struct table *table, struct table_part *part)
{
    struct rows_state *state = part->state;
    const struct cluster *cluster = table->cluster;
    size_t lists = cluster->taint_lists.len;
    state->refused = arena_array(&table->arena, uint8_t, lists);
    state->disliked = arena_array(&table->arena, uint32_t, lists);
    for (size_t i = 1; i < lists; i++) {
        const struct taint_list *list = cluster->taint_lists.items[i];
        if (!list)
            continue;
        state->refused[i] = repels(list->items, list->len, &table->pod->api->spec);
        state->disliked[i] = (uint32_t)count_disliked(state->soft, list->items, list->len);
    }
}

static void rows_filter(struct table *table, struct table_part *part, struct row_span span)
{
    const struct cluster *cluster = table->cluster;
    if (!cluster->tainted_nodes)
        return;
    if (!span.rows) {
        rows_judge_lists(table, part);
        const uint8_t *refused = ((struct rows_state *)part->state)->refused;
        for (uint32_t row = 0; row < span.len; row++)
            if (refused[cluster->col.taints[row]])
                table_reject(table, part, row, 1);
        return;
    }
    for (uint32_t i = 0; i < span.len; i++) {
        const struct taint_list *list = cluster->taint_lists.items[cluster->col.taints[span.rows[i]]];
        if (repels(list->items, list->len, &table->pod->api->spec))
            table_reject(table, part, span.rows[i], 1);
    }
}

static void rows_input(struct table *table, struct table_part *part, struct row_span span)
{
    const struct rows_state *state = part->state;
    const struct cluster *cluster = table->cluster;
    uint32_t *column = table->inputs[part->first_input];
    for (uint32_t i = 0; i < span.len; i++) {
        uint32_t row = span_row(span, i), number = cluster->col.taints[row];
        const struct taint_list *list = cluster->taint_lists.items[number];
        column[row] = !span.rows ? state->disliked[number]
                                 : (uint32_t)count_disliked(state->soft, list->items, list->len);
    }
}

static int64_t rows_group_score(struct table *table, struct table_part *part, const uint32_t *inputs)
{
    (void)table;
    return part->inputs ? inputs[part->first_input] : 0;
}

static struct status rows_explain(struct table *table, struct table_part *part, struct cycle *cycle,
                                  uint32_t row, uint32_t detail)
{
    (void)table, (void)part, (void)cycle, (void)row, (void)detail;
    return refusal();
}

static const struct row_forms rows = {
    .prepare = rows_prepare,
    .version = rows_version,
    .filter = rows_filter,
    .input = rows_input,
    .group_score = rows_group_score,
    .explain = rows_explain,
};

/* ---- what may help ---- */
static enum hint node_changed(const struct hint_context *context, const struct pod *pod,
                              const struct cluster_event *event)
{
    (void)context;
    const struct node *before = event->before, *after = event->after;
    bool repelled = !before || repels(before->spec.taints.items, before->spec.taints.len, &pod->spec);
    bool repels_now = repels(after->spec.taints.items, after->spec.taints.len, &pod->spec);
    return repelled && !repels_now ? HINT_QUEUE : HINT_SKIP;
}

static enum hint tolerations_changed(const struct hint_context *context, const struct pod *pod,
                                     const struct cluster_event *event)
{
    (void)context;
    return pod_is(event->after, pod) ? HINT_QUEUE : HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_NODE, ACTION_ADD | ACTION_NODE_TAINT, node_changed },
    { EVENT_POD, ACTION_POD_TOLERATION, tolerations_changed },
    { 0 },
};

const struct plugin plugin_taint_toleration = {
    .name = "TaintToleration",
    .doc =
        "Filters out nodes with taints that the pod does not tolerate; prefers nodes with fewer soft ones.",
    .filter = filter,
    .pre_score = pre_score,
    .score = score,
    .normalize = normalize,
    .rows = &rows,
    .events = events,
};
