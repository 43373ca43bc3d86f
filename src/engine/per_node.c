/* per_node.c: calls plugins as the plain path does; see per_node.h. */
#include "engine/per_node.h"

#include "framework/profile.h"

static bool is_per_node(uint64_t plugins, const struct plugin_instance *instance)
{
    return plugins >> instance->index & 1;
}

static bool run_pre_filters(const struct per_node *per_node, struct cycle *cycle)
{
    const struct plugin_order *order = &cycle->profile->points[POINT_PRE_FILTER];
    for (uint32_t i = 0; i < order->len; i++) {
        struct node_names names = { .all = true };
        if (!is_per_node(per_node->plugins, order->items[i]))
            continue;
        cycle->current = order->items[i];
        struct status status = order->items[i]->plugin->pre_filter(cycle, &names);
        if (status.code == STATUS_SKIP)
            cycle->skip_filter |= (uint64_t)1 << order->items[i]->index;
        else if (!status_ok(status) || !names.all)
            return false;
    }
    return true;
}

uint32_t per_node_place(const struct table *table, const struct table_part *part)
{
    uint32_t place = 0;
    while (&table->parts[table->filter_order[place]] != part)
        place++;
    return place;
}

/* Where a filter of rows comes behind one that is per_node, and that behind one of groups, it is not known whether the
 * group would have been refused first: false. */
static bool list_filters(struct per_node *per_node, const struct table *table, const struct cycle *cycle)
{
    bool groups = false, behind_groups = false;
    for (uint32_t i = 0; i < table->filter_len; i++) {
        const struct table_part *part = &table->parts[table->filter_order[i]];
        if (is_per_node(per_node->plugins & ~cycle->skip_filter, part->instance)) {
            per_node->filters[per_node->filters_len++] = (struct per_node_filter){ part->instance, i };
            behind_groups |= groups;
        } else if (part->filters || part->filters_groups) {
            per_node->filters_last &= !per_node->filters_len;
        }
        groups |= part->filters_groups;
        if (part->filters && behind_groups)
            return false;
    }
    return true;
}

bool per_node_begin(struct per_node *per_node, const struct table *table, struct cycle *cycle)
{
    const struct plugin_order *scorers = &cycle->profile->points[POINT_SCORE];
    *per_node = (struct per_node){ .plugins = table->per_node, .filters_last = true };
    if (!per_node->plugins)
        return true;
    if (!run_pre_filters(per_node, cycle) || !list_filters(per_node, table, cycle))
        return false;
    for (uint32_t i = 0; i < scorers->len; i++)
        per_node->scores |= is_per_node(per_node->plugins, scorers->items[i]);
    return true;
}

struct status per_node_filter(const struct per_node *per_node, struct cycle *cycle, uint32_t row,
                              uint32_t place)
{
    struct node_view node = { cycle->cluster, row, NULL };
    for (uint32_t i = 0; i < per_node->filters_len && per_node->filters[i].place < place; i++) {
        cycle->current = per_node->filters[i].instance;
        struct status status = cycle->current->plugin->filter(cycle, node);
        if (!status_ok(status)) {
            status = status_without_missing_reasons(
                status); /* what else is wrong with it is the plain path's to say */
            status.plugin = cycle->current->plugin;
            return status;
        }
    }
    return STATUS_OK;
}

static struct status run_pre_score(struct cycle *cycle, const struct plugin_instance *instance)
{
    const struct plugin *plugin = instance->plugin;
    cycle->current = instance;
    return plugin->pre_score(cycle, plugin->reads ? cycle_feasible(cycle) : (struct row_list){ 0 });
}

bool per_node_pre_scores(struct per_node *per_node, struct cycle *cycle, struct row_lister *lister)
{
    const struct plugin_order *order = &cycle->profile->points[POINT_PRE_SCORE];
    const struct plugin_order *scorers = &cycle->profile->points[POINT_SCORE];
    cycle->feasible = (struct row_list){ 0 };
    cycle->lister = lister;
    for (uint32_t i = 0; i < order->len; i++) {
        if (!is_per_node(per_node->plugins, order->items[i]))
            continue;
        struct status status = run_pre_score(cycle, order->items[i]);
        if (status.code == STATUS_SKIP)
            cycle->skip_score |= (uint64_t)1 << order->items[i]->index;
        else if (!status_ok(status))
            return false;
    }
    per_node->scores = false;
    for (uint32_t i = 0; i < scorers->len; i++)
        per_node->scores |= is_per_node(per_node->plugins & ~cycle->skip_score, scorers->items[i]);
    return true;
}

static bool run_scorer(struct cycle *cycle, const struct plugin_instance *instance, struct row_list rows,
                       int64_t *scores, int64_t *totals)
{
    cycle->current = instance;
    for (uint32_t i = 0; i < rows.len; i++) {
        struct node_view node = { cycle->cluster, rows.items[i], NULL };
        if (!status_ok(instance->plugin->score(cycle, node, &scores[i])))
            return false;
    }
    if (instance->plugin->normalize)
        instance->plugin->normalize(cycle, scores, rows.len);
    for (uint32_t i = 0; i < rows.len; i++) {
        if (scores[i] < 0 || scores[i] > SCORE_MAX)
            return false;
        totals[i] += scores[i] * instance->weight;
    }
    return true;
}

bool per_node_scores(const struct per_node *per_node, struct cycle *cycle, struct row_list rows,
                     int64_t *totals, int64_t **ret_given)
{
    const struct plugin_order *order = &cycle->profile->points[POINT_SCORE];
    int64_t *scores = NULL;
    for (uint32_t i = 0; i < order->len; i++) {
        if (!is_per_node(per_node->plugins & ~cycle->skip_score, order->items[i]))
            continue;
        if (!scores || ret_given)
            scores = arena_array(cycle->arena, int64_t, rows.len);
        if (!run_scorer(cycle, order->items[i], rows, scores, totals))
            return false;
        if (ret_given)
            ret_given[i] = scores;
    }
    return true;
}
