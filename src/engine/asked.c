/* asked.c: calls plugins as the plain path does; see asked.h. */
#include "engine/asked.h"

#include "framework/profile.h"

static bool is_asked(uint64_t plugins, const struct plugin_instance *instance)
{
    return plugins >> instance->index & 1;
}

static bool ask_pre_filters(const struct asked *asked, struct cycle *cycle)
{
    const struct plugin_order *order = &cycle->profile->points[POINT_PRE_FILTER];
    for (uint32_t i = 0; i < order->len; i++) {
        struct node_names names = { .all = true };
        if (!is_asked(asked->plugins, order->items[i]))
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

uint32_t asked_place(const struct table *table, const struct table_part *part)
{
    uint32_t place = 0;
    while (&table->parts[table->filter_order[place]] != part)
        place++;
    return place;
}

/* Where a filter of rows comes behind one that is asked, and that behind one of groups, it is not known whether the
 * group would have been refused first: false. */
static bool list_filters(struct asked *asked, const struct table *table, const struct cycle *cycle)
{
    bool groups = false, asked_behind_groups = false;
    for (uint32_t i = 0; i < table->filter_len; i++) {
        const struct table_part *part = &table->parts[table->filter_order[i]];
        if (is_asked(asked->plugins & ~cycle->skip_filter, part->instance)) {
            asked->filters[asked->filters_len++] = (struct asked_filter){ part->instance, i };
            asked_behind_groups |= groups;
        } else if (part->filters || part->filters_groups) {
            asked->filters_last &= !asked->filters_len;
        }
        groups |= part->filters_groups;
        if (part->filters && asked_behind_groups)
            return false;
    }
    return true;
}

bool asked_begin(struct asked *asked, const struct table *table, struct cycle *cycle)
{
    const struct plugin_order *scorers = &cycle->profile->points[POINT_SCORE];
    *asked = (struct asked){ .plugins = table->asked, .filters_last = true };
    if (!asked->plugins)
        return true;
    if (!ask_pre_filters(asked, cycle) || !list_filters(asked, table, cycle))
        return false;
    for (uint32_t i = 0; i < scorers->len; i++)
        asked->scores |= is_asked(asked->plugins, scorers->items[i]);
    return true;
}

struct status asked_row(const struct asked *asked, struct cycle *cycle, uint32_t row, uint32_t place)
{
    struct node_view node = { cycle->cluster, row, NULL };
    for (uint32_t i = 0; i < asked->filters_len && asked->filters[i].place < place; i++) {
        cycle->current = asked->filters[i].instance;
        struct status status = cycle->current->plugin->filter(cycle, node);
        if (!status_ok(status)) {
            status = status_without_gaps(status); /* what else is wrong with it is the plain path's to say */
            status.plugin = cycle->current->plugin;
            return status;
        }
    }
    return STATUS_OK;
}

static struct status ask_pre_score(struct cycle *cycle, const struct plugin_instance *instance)
{
    const struct plugin *plugin = instance->plugin;
    cycle->current = instance;
    return plugin->pre_score(cycle, plugin->is_moody ? (struct row_list){ 0 } : cycle_feasible(cycle));
}

bool asked_pre_scores(struct asked *asked, struct cycle *cycle, struct row_lister *lister)
{
    const struct plugin_order *order = &cycle->profile->points[POINT_PRE_SCORE];
    const struct plugin_order *scorers = &cycle->profile->points[POINT_SCORE];
    cycle->feasible = (struct row_list){ 0 };
    cycle->lister = lister;
    for (uint32_t i = 0; i < order->len; i++) {
        if (!is_asked(asked->plugins, order->items[i]))
            continue;
        struct status status = ask_pre_score(cycle, order->items[i]);
        if (status.code == STATUS_SKIP)
            cycle->skip_score |= (uint64_t)1 << order->items[i]->index;
        else if (!status_ok(status))
            return false;
    }
    asked->scores = false;
    for (uint32_t i = 0; i < scorers->len; i++)
        asked->scores |= is_asked(asked->plugins & ~cycle->skip_score, scorers->items[i]);
    return true;
}

static bool ask_scorer(struct cycle *cycle, const struct plugin_instance *instance, struct row_list rows,
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

bool asked_scores(const struct asked *asked, struct cycle *cycle, struct row_list rows, int64_t *totals,
                  int64_t **ret_given)
{
    const struct plugin_order *order = &cycle->profile->points[POINT_SCORE];
    int64_t *scores = NULL;
    for (uint32_t i = 0; i < order->len; i++) {
        if (!is_asked(asked->plugins & ~cycle->skip_score, order->items[i]))
            continue;
        if (!scores || ret_given)
            scores = arena_array(cycle->arena, int64_t, rows.len);
        if (!ask_scorer(cycle, order->items[i], rows, scores, totals))
            return false;
        if (ret_given)
            ret_given[i] = scores;
    }
    return true;
}
