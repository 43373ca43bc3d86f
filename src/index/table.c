/* table.c: sets up the parts of a table and runs their forms over rows. */
#include "index/table.h"

#include <stdlib.h>
#include <string.h>

#include "framework/run.h"
#include "framework/weights.h"
#include "index/rule_rows.h"
#include "index/topology_rule.h"

static void grow_columns(struct table *table)
{
    uint32_t cap = table->cluster->rows_cap;
    table->rows = (uint32_t)table->cluster->nodes.len;
    if (cap > table->rows_cap) {
        table->rows_cap = cap;
        table->rejection = xreallocarray(table->rejection, cap, sizeof(*table->rejection));
        table->local = xreallocarray(table->local, cap, sizeof(*table->local));
        for (uint32_t i = 0; i < table->inputs_allocated; i++)
            table->inputs[i] = xreallocarray(table->inputs[i], cap, sizeof(*table->inputs[i]));
    }
    for (; table->inputs_allocated < table->inputs_len; table->inputs_allocated++)
        table->inputs[table->inputs_allocated] = xreallocarray(NULL, table->rows_cap, sizeof(uint32_t));
}

static void release_parts(struct table *table)
{
    for (uint32_t i = 0; i < table->parts_len; i++) {
        struct table_part *part = &table->parts[i];
        if (part->state && part->forms && part->forms->release)
            part->forms->release(table, part);
    }
    table->parts_len = 0;
}

/* A plugin without forms need not be called where it skips pods of the class, or has 0 for every node. */
static bool plugin_is_idle(struct table *table, struct cycle *cycle, const struct plugin_instance *instance)
{
    const struct plugin *plugin = instance->plugin;
    struct node_names names = { .all = true };
    cycle->current = instance;
    if (plugin->pre_filter && !plugin->filter)
        return false;
    if (plugin->filter && (!plugin->pre_filter || plugin->pre_filter(cycle, &names).code != STATUS_SKIP))
        return false;
    if (!plugin->score)
        return true;
    struct status status = plugin->pre_score ? plugin->pre_score(cycle) : STATUS_OK;
    if (!status_ok(status) || !plugin->score_is_zero || !plugin->score_is_zero(cycle))
        return status.code == STATUS_SKIP;
    table->zero_scores |= (uint64_t)1 << instance->index;
    return true;
}

static const struct row_forms *forms_of(const struct plugin *plugin)
{
    if (plugin->topology_rule)
        return &topology_rows;
    return plugin->filter_rule || plugin->score_rule ? &rule_rows : plugin->rows;
}

/* PreFilter alone may reject the pod or narrow the nodes: such pods take the plain path. */
static bool prefilter_is_neutral(struct cycle *cycle, const struct plugin_instance *instance)
{
    struct node_names names = { .all = true };
    if (!instance->plugin->pre_filter || instance->plugin->pre_filter == rule_pre_filter ||
        instance->plugin->pre_filter_only_narrows || forms_of(instance->plugin)->count)
        return true;
    cycle->current = instance;
    struct status status = instance->plugin->pre_filter(cycle, &names);
    return names.all && (status_ok(status) || status.code == STATUS_SKIP);
}

static bool prepare_part(struct table *table, struct cycle *cycle, const struct plugin_instance *instance,
                         bool joins_all, const struct score_weights *weights)
{
    struct table_part *part = &table->parts[table->parts_len++];
    *part = (struct table_part){ .instance = instance,
                                 .forms = forms_of(instance->plugin),
                                 .weight = weight_in_effect(weights, instance) };
    if (!part->forms) {
        /* What there is to say of volumes depends on the pod's own claims, which a class does not know. */
        bool depends = !instance->plugin->reads || cycle->info->class->has_volumes;
        if (depends || !joins_all || !plugin_is_idle(table, cycle, instance))
            table->per_node |= (uint64_t)1 << instance->index;
        return true;
    }
    if (!joins_all || !prefilter_is_neutral(cycle, instance))
        return false;
    part->has_version = part->forms->version;
    return part->forms->prepare(table, part);
}

static bool joins(const struct plugin_order *order, const struct plugin_instance *instance)
{
    for (uint32_t i = 0; i < order->len; i++)
        if (order->items[i] == instance)
            return true;
    return false;
}

/* Does the plugin run at any of the points that a table stands for, and at all of those that it knows? Forms take
 * it for granted that it does. */
static void how_it_joins(const struct profile *profile, const struct plugin_instance *instance, bool *ret_any,
                         bool *ret_all)
{
    const struct plugin *plugin = instance->plugin;
    const struct {
        enum extension_point point;
        bool known;
    } points[] = {
        { POINT_PRE_FILTER, plugin->pre_filter },
        { POINT_FILTER, plugin->filter },
        { POINT_PRE_SCORE, plugin->pre_score },
        { POINT_SCORE, plugin->score },
    };
    *ret_any = false;
    *ret_all = true;
    for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
        bool there = joins(&profile->points[points[i].point], instance);
        *ret_any |= there;
        *ret_all &= there == points[i].known ||
                    (points[i].point == POINT_PRE_FILTER && plugin->pre_filter_only_narrows);
    }
}

static void list_add(struct part_list *list, uint32_t place, bool belongs)
{
    if (belongs)
        list->items[list->len++] = (uint8_t)place;
}

static void order_parts(struct table *table, const struct plugin_order *order, struct part_list *ret)
{
    ret->len = 0;
    for (uint32_t i = 0; i < order->len; i++)
        for (uint32_t p = 0; p < table->parts_len; p++)
            list_add(ret, p, table->parts[p].instance == order->items[i]);
}

/* Before rows are counted. */
static void list_prepared(struct table *table)
{
    table->versioned.len = table->counting.len = 0;
    for (uint32_t i = 0; i < table->parts_len; i++) {
        const struct table_part *part = &table->parts[i];
        list_add(&table->versioned, i, part->has_version);
        list_add(&table->counting, i, part->forms && part->forms->count && part->state);
    }
}

/* After all rows were counted. */
static void list_counted(struct table *table)
{
    table->filtering.len = table->filtering_groups.len = table->scoring.len = table->with_inputs.len = 0;
    for (uint32_t i = 0; i < table->filters.len; i++) {
        uint32_t place = table->filters.items[i];
        list_add(&table->filtering, place, table->parts[place].filters);
        list_add(&table->filtering_groups, place, table->parts[place].filters_groups);
    }
    for (uint32_t i = 0; i < table->scores.len; i++)
        list_add(&table->scoring, table->scores.items[i], table->parts[table->scores.items[i]].scores);
    for (uint32_t i = 0; i < table->parts_len; i++)
        list_add(&table->with_inputs, i, table->parts[i].inputs);
}

static bool prepare_parts(struct table *table, struct cycle *cycle, const struct score_weights *weights)
{
    const struct profile *profile = table->profile;
    for (uint32_t i = 0; i < profile->plugins_len; i++) {
        const struct plugin_instance *instance = &profile->plugins[i];
        bool any, all;
        how_it_joins(profile, instance, &any, &all);
        if (any && !prepare_part(table, cycle, instance, all, weights))
            return false;
    }
    order_parts(table, &profile->points[POINT_FILTER], &table->filters);
    order_parts(table, &profile->points[POINT_SCORE], &table->scores);
    list_prepared(table);
    return true;
}

static uint64_t current_version(const struct table *table)
{
    uint64_t version = table->cluster->extra_version; /* plugins that are idle may have looked at them */
    table_parts_for(table, table->versioned, part) version =
        version * 1000003 + part->forms->version(table, part);
    return version;
}

bool table_prepare(struct table *table, struct cluster *cluster, const struct profile *profile,
                   struct pod_info *pod, const struct score_weights *weights)
{
    release_parts(table);
    arena_reset(&table->arena);
    table->cluster = cluster;
    table->profile = profile;
    table->pod = pod;
    table->inputs_len = 0;
    table->per_node = table->zero_scores = 0;
    table->must_rebuild = false;
    table->is_reweighted = weights;
    vec_clear(&table->rejections);
    *vec_push(&table->rejections) = (struct rejection){ 0 };
    struct cycle cycle;
    cycle_init(&cycle, profile, cluster, pod, table_scratch(table));
    bool ok = prepare_parts(table, &cycle, weights);
    cycle_release(&cycle);
    if (!ok)
        return false;
    grow_columns(table);
    return true;
}

/* Plugins without forms have their weight in each decision anew. */
bool table_has_weights(const struct table *table, const struct score_weights *weights)
{
    if (!weights && !table->is_reweighted)
        return true;
    for (uint32_t i = 0; i < table->scores.len; i++) {
        const struct table_part *part = &table->parts[table->scores.items[i]];
        if (part->forms && part->weight != weight_in_effect(weights, part->instance))
            return false;
    }
    return true;
}

bool table_is_current(const struct table *table)
{
    return !table->must_rebuild && table->rows_cap >= table->cluster->rows_cap &&
           table->version == current_version(table);
}

uint32_t table_rejection(struct table *table, struct table_part *part, uint32_t detail)
{
    for (size_t i = table->rejections.len; i-- > 1;)
        if (table->rejections.items[i].part == part && table->rejections.items[i].detail == detail)
            return (uint32_t)i;
    *vec_push(&table->rejections) = (struct rejection){ part, detail };
    return (uint32_t)table->rejections.len - 1;
}

/* A live row starts without a rejection, another one with REJECTION_ABSENT, which is 0 - 1. */
static void clear_rows(struct table *table, struct row_span span)
{
    const uint8_t *live = table->cluster->col.live;
    uint32_t *rejection = table->rejection;
    if (!span.rows) {
        for (uint32_t row = 0; row < span.len; row++)
            rejection[row] = (uint32_t)live[row] - 1;
        memset(table->local, 0, span.len * sizeof(*table->local));
        return;
    }
    for (uint32_t i = 0; i < span.len; i++) {
        rejection[span.rows[i]] = (uint32_t)live[span.rows[i]] - 1;
        table->local[span.rows[i]] = 0;
    }
}

/* After all rows were counted, every part knows its inputs. */
static bool assign_inputs(struct table *table)
{
    table->inputs_len = 0;
    for (uint32_t i = 0; i < table->parts_len; i++) {
        table->parts[i].first_input = table->inputs_len;
        table->inputs_len += table->parts[i].inputs;
    }
    if (table->inputs_len > TABLE_INPUTS_MAX)
        return false;
    grow_columns(table);
    list_counted(table);
    table->version = current_version(table);
    return true;
}

bool table_fill(struct table *table, struct row_span span)
{
    table->rows = (uint32_t)table->cluster->nodes.len;
    clear_rows(table, span);
    table_parts_for(table, table->counting, part) part->forms->count(table, part, span);
    if (!span.rows && !assign_inputs(table))
        return false;
    table_parts_for(table, table->filtering, part) part->forms->filter(table, part, span);
    table_parts_for(table, table->scoring, part) part->forms->score(table, part, span);
    table_parts_for(table, table->with_inputs, part) part->forms->input(table, part, span);
    return true;
}

void table_release(struct table *table)
{
    release_parts(table);
    arena_release(&table->arena);
    free(table->rejection);
    free(table->local);
    for (uint32_t i = 0; i < table->inputs_allocated; i++)
        free(table->inputs[i]);
    vec_release(&table->rejections);
    *table = (struct table){ 0 };
}
