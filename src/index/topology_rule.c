/* topology_rule.c: from counts to statuses and scores, a node at a time or over a table. */
#include "index/topology_rule.h"

#include <string.h>

/* Of a cycle, or of a table's part. */
struct topology_state {
    struct topology_counts filter, score;
};

/* ---- the plain path ---- */
static struct topology_state *state_of(struct cycle *cycle)
{
    void **slot = cycle_state(cycle);
    if (!*slot)
        *slot = arena_new(cycle->arena, struct topology_state);
    return *slot;
}

void topology_forget(void *state_ptr)
{
    struct topology_state *state = state_ptr;
    topology_counts_release(&state->filter);
    topology_counts_release(&state->score);
}

/* Skip: there is nothing to check, or to score. */
static struct status count(struct cycle *cycle, struct topology_counts *counts,
                           void (*terms)(struct topology_counts *counts, const void *self))
{
    struct cluster *cluster = cycle->cluster;
    topology_counts_release(counts);
    topology_counts_init(counts, cluster, cycle->info, cycle->arena, false);
    terms(counts, cycle_self(cycle));
    arena_reset(&cluster->scratch_arena);
    (void)topology_counts_fill(counts, (struct row_span){ .len = (uint32_t)cluster->nodes.len },
                               &cluster->scratch_arena);
    return topology_counts_are_idle(counts) ? STATUS_SKIPPED : STATUS_OK;
}

struct status topology_pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    (void)narrow;
    return count(cycle, &state_of(cycle)->filter, cycle->current->plugin->topology_rule->filter_terms);
}

void topology_add_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node)
{
    topology_counts_change(&state_of(cycle)->filter, pod, node.row, +1);
}

void topology_remove_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node)
{
    topology_counts_change(&state_of(cycle)->filter, pod, node.row, -1);
}

struct status topology_filter(struct cycle *cycle, struct node_view node)
{
    const struct topology_rule *rule = cycle->current->plugin->topology_rule;
    struct topology_counts *counts = &state_of(cycle)->filter;
    if (!counts->cluster)
        return status_printf(cycle->arena, STATUS_ERROR, "%s", rule->no_pre_filter);
    const uint32_t *inputs = topology_counts_row(counts, node.row);
    uint32_t detail = rule->filter(counts, inputs);
    if (detail && rule->log_rejection)
        rule->log_rejection(counts, inputs, node, cycle->pod);
    return detail ? rule->rejection(detail) : STATUS_OK;
}

void topology_explain(struct cycle *cycle, struct node_view node, struct shortfall_list *ret)
{
    const struct topology_rule *rule = cycle->current->plugin->topology_rule;
    struct topology_counts *counts = &state_of(cycle)->filter;
    if (rule->explain && counts->cluster)
        rule->explain(cycle, counts, topology_counts_row(counts, node.row), node, ret);
}

struct status topology_pre_score(struct cycle *cycle)
{
    const struct topology_rule *rule = cycle->current->plugin->topology_rule;
    struct topology_counts *counts = &state_of(cycle)->score;
    struct arena *scratch = &cycle->cluster->scratch_arena;
    struct status status = count(cycle, counts, rule->score_terms);
    if (!status_ok(status) || !rule->feasible)
        return status;
    size_t width = counts->counters.len;
    struct row_list feasible = cycle_feasible(cycle);
    struct group_view *groups = arena_array(scratch, struct group_view, feasible.len);
    uint32_t *inputs = arena_alloc(scratch, arena_bytes(feasible.len * width, sizeof(*inputs)));
    for (uint32_t i = 0; i < feasible.len; i++, inputs += width) {
        memcpy(inputs, topology_counts_row(counts, feasible.items[i]), width * sizeof(*inputs));
        groups[i] = (struct group_view){ inputs, 1 };
    }
    rule->feasible(counts, groups, feasible.len, 0);
    return STATUS_OK;
}

struct status topology_score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    const struct topology_rule *rule = cycle->current->plugin->topology_rule;
    struct topology_counts *counts = &state_of(cycle)->score;
    *ret = 0;
    if (!counts->cluster)
        return status_printf(cycle->arena, STATUS_ERROR, "%s", rule->no_pre_score);
    *ret = rule->score(counts, topology_counts_row(counts, node.row));
    return STATUS_OK;
}

/* ---- a table ---- */
static bool has_terms(const struct topology_counts *counts)
{
    return counts->terms.len || counts->selecting_len;
}

static bool form_prepare(struct table *table, struct table_part *part)
{
    const struct topology_rule *rule = part->instance->plugin->topology_rule;
    struct topology_state *state = arena_new(&table->arena, struct topology_state);
    topology_counts_init(&state->filter, table->cluster, table->pod, &table->arena, true);
    topology_counts_init(&state->score, table->cluster, table->pod, &table->arena, true);
    rule->filter_terms(&state->filter, part->instance->self);
    rule->score_terms(&state->score, part->instance->self);
    bool is_possible = state->filter.counters.len + state->score.counters.len <= TABLE_INPUTS_MAX;
    if (is_possible && (has_terms(&state->filter) || has_terms(&state->score)))
        part->state = state;
    else
        topology_forget(state);
    return is_possible;
}

static void form_release(struct table *table, struct table_part *part)
{
    (void)table;
    topology_forget(part->state);
}

static uint64_t form_version(const struct table *table, const struct table_part *part)
{
    const struct topology_state *state = part->state;
    if (!state) /* default constraints may appear */
        return table->cluster->controllers_version;
    return topology_counts_version(&state->filter) * 31 + topology_counts_version(&state->score);
}

static void form_count(struct table *table, struct table_part *part, struct row_span span)
{
    struct topology_state *state = part->state;
    bool suffices = topology_counts_fill(&state->filter, span, table_scratch(table));
    suffices &= topology_counts_fill(&state->score, span, table_scratch(table));
    table->must_rebuild |= !suffices;
    if (span.rows)
        return;
    part->inputs = (uint32_t)(state->filter.counters.len + state->score.counters.len);
    part->filters_groups = state->filter.is_needed || state->filter.counters.len;
    part->scores_groups = state->score.counters.len;
}

static uint32_t first_score_input(const struct table_part *part)
{
    const struct topology_state *state = part->state;
    return part->first_input + (uint32_t)state->filter.counters.len;
}

static void form_input(struct table *table, struct table_part *part, struct row_span span)
{
    const struct topology_state *state = part->state;
    if (table->must_rebuild) /* counters may have no column yet */
        return;
    topology_counts_inputs(&state->filter, span, table->inputs + part->first_input);
    topology_counts_inputs(&state->score, span, table->inputs + first_score_input(part));
}

static uint32_t form_group_filter(struct table *table, struct table_part *part, const uint32_t *inputs)
{
    (void)table;
    struct topology_state *state = part->state;
    return part->instance->plugin->topology_rule->filter(&state->filter, inputs + part->first_input);
}

static void form_group_begin(struct table *table, struct table_part *part, const struct group_view *groups,
                             uint32_t len)
{
    (void)table;
    const struct topology_rule *rule = part->instance->plugin->topology_rule;
    struct topology_state *state = part->state;
    if (rule->feasible)
        rule->feasible(&state->score, groups, len, first_score_input(part));
}

static int64_t form_group_score(struct table *table, struct table_part *part, const uint32_t *inputs)
{
    (void)table;
    const struct topology_state *state = part->state;
    return part->instance->plugin->topology_rule->score(&state->score, inputs + first_score_input(part));
}

static struct status form_explain(struct table *table, struct table_part *part, struct cycle *cycle,
                                  uint32_t row, uint32_t detail)
{
    (void)table, (void)cycle, (void)row;
    return part->instance->plugin->topology_rule->rejection(detail);
}

const struct row_forms topology_rows = {
    .prepare = form_prepare,
    .release = form_release,
    .version = form_version,
    .count = form_count,
    .input = form_input,
    .group_filter = form_group_filter,
    .group_begin = form_group_begin,
    .group_score = form_group_score,
    .explain = form_explain,
};
