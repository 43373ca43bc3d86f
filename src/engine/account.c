/* account.c: points and evaluations of a decision that was made from a table.
 *
 * Which plugins would have been skipped is known from the parts of the table. How many nodes an early filter kept from
 * the later ones is not: every filter that takes part counts as called for every node that was examined. */
#include "engine/account.h"

#include "framework/probe.h"
#include "index/table.h"

/* By index in the profile. */
struct participants {
    uint64_t filters, scores;
};

/* Per-node plugins take part unless they skipped. */
static struct participants participants_of(const struct cycle *cycle, const struct table *table)
{
    struct participants ret = { table->per_node & ~cycle->skip_filter,
                                (table->per_node & ~cycle->skip_score) | table->zero_scores |
                                    cycle->zero_score };
    for (uint32_t i = 0; i < table->parts_len; i++) {
        const struct table_part *part = &table->parts[i];
        uint64_t bit = (uint64_t)1 << part->instance->index;
        ret.filters |= part->filters || part->filters_groups ? bit : 0;
        ret.scores |= part->scores || part->scores_groups ? bit : 0;
    }
    return ret;
}

static const struct {
    enum extension_point point;
    enum probe_point name;
    bool of_scores;
    bool is_first; /* called once, not for each node */
} stages[] = {
    { POINT_PRE_FILTER, PROBE_PRE_FILTER, false, true },
    { POINT_FILTER, PROBE_FILTER, false, false },
    { POINT_PRE_SCORE, PROBE_PRE_SCORE, true, true },
    { POINT_SCORE, PROBE_SCORE, true, false },
};

/* A plugin with a first point (PreFilter, PreScore) may skip there; one without is always called. */
static void count(const struct cycle *cycle, const struct choice *choice,
                  const struct participants *participants, size_t stage)
{
    const struct plugin_order *order = &cycle->profile->points[stages[stage].point];
    bool of_scores = stages[stage].of_scores;
    uint32_t nodes = of_scores ? choice->feasible : choice->examined + (choice->nomination != ROW_NONE);
    uint64_t plugins = of_scores ? participants->scores : participants->filters;
    for (uint32_t i = 0; i < order->len; i++) {
        const struct plugin *plugin = order->items[i]->plugin;
        bool may_skip =
            of_scores ? plugin->pre_score != NULL : plugin->pre_filter && !plugin->pre_filter_only_narrows;
        if (!may_skip || plugins >> order->items[i]->index & 1)
            probe_evaluated(cycle, order->items[i], stages[stage].name, stages[stage].is_first ? 1 : nodes);
    }
}

int64_t account_fast(const struct cycle *cycle, const struct choice *choice, int64_t begun_ns)
{
    const struct probe *probe = cycle->probe;
    if (!probe)
        return 0;
    bool scored = choice->feasible > 1 && cycle->profile->points[POINT_SCORE].len;
    int64_t filtered_ns = choice->filtered_ns ? choice->filtered_ns : probe_now(probe);
    int64_t ended_ns = scored ? probe_now(probe) : filtered_ns;
    const int64_t times[] = { [PROBE_PRE_FILTER] = 0,
                              [PROBE_FILTER] = filtered_ns - begun_ns,
                              [PROBE_PRE_SCORE] = 0,
                              [PROBE_SCORE] = ended_ns - filtered_ns };
    struct participants participants = participants_of(cycle, choice->table);
    if (choice->nomination != ROW_NONE && cycle->profile->points[POINT_FILTER].len)
        probe->point(probe->context, cycle->profile, PROBE_FILTER, STATUS_SUCCESS,
                     choice->nomination_ended_ns - choice->nomination_began_ns);
    for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
        enum probe_point name = stages[i].name;
        if ((stages[i].of_scores && !scored) ||
            (name == PROBE_FILTER && !cycle->profile->points[POINT_FILTER].len))
            continue;
        probe->point(probe->context, cycle->profile, name, STATUS_SUCCESS, times[name]);
        count(cycle, choice, &participants, i);
    }
    return ended_ns;
}

void account_stage(const struct pod_binding *binding, enum status_code code)
{
    const struct probe *probe = binding->engine->probe;
    const struct profile *profile = binding->cycle.profile;
    if (!probe)
        return;
    if (binding->stage == BINDING_PRE_BIND)
        probe_point(probe, profile, PROBE_PRE_BIND, code, binding->stage_ns);
    else if (binding->stage == BINDING_BIND && (!binding->delegated || binding->undelegated))
        probe_point(probe, profile, PROBE_BIND, code, binding->stage_ns);
    else if (binding->stage == BINDING_PERMIT && binding->permit_ms)
        probe->permit_wait(probe->context, code, probe_now(probe) - binding->stage_ns);
}

void engine_watch(struct engine *engine, const struct probe *probe)
{
    engine->probe = probe;
    for (uint32_t i = 0; i < engine->profiles_len; i++) {
        engine->profiles[i].probe = probe;
        if (probe && probe->meet)
            probe->meet(probe->context, &engine->profiles[i]);
    }
}
