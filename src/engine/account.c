/* account.c: points and evaluations of a decision that was made from a table.
 *
 * Who would have been skipped is known from the parts of the table. How many nodes an early filter kept from the later
 * ones is not: every filter that takes part counts as asked about every node that was examined. */
#include "engine/account.h"

#include "framework/probe.h"

static const struct table_part *part_of(const struct table *table, const struct plugin_instance *instance)
{
    for (uint32_t i = 0; i < table->parts_len; i++)
        if (table->parts[i].instance == instance)
            return &table->parts[i];
    return NULL;
}

/* A plugin with a first point (PreFilter, PreScore) may bow out there; one without is always asked. */
static bool filters(const struct cycle *cycle, const struct table *table, const struct plugin_instance *instance)
{
    const struct table_part *part = part_of(table, instance);
    if (!instance->plugin->pre_filter)
        return true;
    if (!part || !part->forms)
        return (table->asked & ~cycle->skip_filter) >> instance->index & 1;
    return part->filters || part->filters_groups;
}

static bool scores(const struct cycle *cycle, const struct table *table, const struct plugin_instance *instance)
{
    const struct table_part *part = part_of(table, instance);
    if (!instance->plugin->pre_score)
        return true;
    if (!part || !part->forms)
        return (table->asked & ~cycle->skip_score) >> instance->index & 1;
    return part->scores || part->scores_groups;
}

/* The points of a decision, in their order; a stage ends with a point that all its plugins take part in. */
static const struct {
    enum extension_point point;
    enum probe_point name;
    bool (*takes_part)(const struct cycle *cycle, const struct table *table,
                       const struct plugin_instance *instance);
    bool is_first; /* asked once, not about each node */
} stages[] = {
    { POINT_PRE_FILTER, PROBE_PRE_FILTER, filters, true },
    { POINT_FILTER, PROBE_FILTER, filters, false },
    { POINT_PRE_SCORE, PROBE_PRE_SCORE, scores, true },
    { POINT_SCORE, PROBE_SCORE, scores, false },
};

static void count(const struct cycle *cycle, const struct choice *choice, size_t stage)
{
    const struct plugin_order *order = &cycle->profile->points[stages[stage].point];
    uint32_t nodes = stages[stage].name == PROBE_FILTER ? choice->examined : choice->feasible;
    for (uint32_t i = 0; i < order->len; i++)
        if (stages[stage].takes_part(cycle, choice->table, order->items[i]))
            probe_evaluated(cycle, order->items[i], stages[stage].name, stages[stage].is_first ? 1 : nodes);
}

void account_fast(const struct cycle *cycle, const struct choice *choice, int64_t begun_ns)
{
    const struct probe *probe = cycle->probe;
    if (!probe)
        return;
    int64_t filtered_ns = choice->filtered_ns ? choice->filtered_ns : probe_now(probe);
    const int64_t times[] = { [PROBE_PRE_FILTER] = 0,
                              [PROBE_FILTER] = filtered_ns - begun_ns,
                              [PROBE_PRE_SCORE] = 0,
                              [PROBE_SCORE] = probe_now(probe) - filtered_ns };
    bool scored = choice->feasible > 1 && cycle->profile->points[POINT_SCORE].len;
    for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
        enum probe_point name = stages[i].name;
        bool of_scores = name == PROBE_PRE_SCORE || name == PROBE_SCORE;
        if ((of_scores && !scored) || (name == PROBE_FILTER && !cycle->profile->points[POINT_FILTER].len))
            continue;
        probe->point(probe->context, cycle->profile, name, STATUS_SUCCESS, times[name]);
        count(cycle, choice, i);
    }
}

void engine_watch(struct engine *engine, const struct probe *probe)
{
    engine->probe = probe;
    for (uint32_t i = 0; i < engine->profiles_len; i++)
        engine->profiles[i].probe = probe;
}
