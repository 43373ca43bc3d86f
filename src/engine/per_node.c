/* per_node.c: calls plugins as the plain path does; see per_node.h. */
#include "engine/per_node.h"

#include "framework/run.h"

uint32_t per_node_place(const struct table *table, const struct table_part *part)
{
    uint32_t place = 0;
    while (&table->parts[table->filters.items[place]] != part)
        place++;
    return place;
}

/* Where a filter of rows comes behind one that is per_node, and that behind one of groups, it is not known whether the
 * group would have been refused first: false. */
static bool list_filters(struct per_node *per_node, const struct table *table, const struct cycle *cycle)
{
    bool groups = false, behind_groups = false;
    for (uint32_t i = 0; i < table->filters.len; i++) {
        const struct table_part *part = &table->parts[table->filters.items[i]];
        if (!(cycle->skip_filter >> part->instance->index & 1)) {
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
    struct node_names names;
    uint64_t blamed;
    per_node->filters_len = 0;
    per_node->filters_last = true;
    cycle->skip_filter = cycle->skip_score = ~table->per_node;
    cycle->zero_score = 0;
    return !table->per_node || (status_ok(run_pre_filter(cycle, &names, &blamed)) && names.all &&
                                list_filters(per_node, table, cycle));
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

void per_node_skip_zeros(struct cycle *cycle)
{
    const struct plugin_order *scorers = &cycle->profile->points[POINT_SCORE];
    for (uint32_t i = 0; i < scorers->len; i++) {
        uint64_t bit = (uint64_t)1 << scorers->items[i]->index;
        cycle->current = scorers->items[i];
        if (!(cycle->skip_score & bit) && cycle->current->plugin->score_is_zero &&
            cycle->current->plugin->score_is_zero(cycle))
            cycle->zero_score |= bit;
    }
    cycle->skip_score |= cycle->zero_score;
}

bool per_node_scores(const struct cycle *cycle)
{
    const struct plugin_order *scorers = &cycle->profile->points[POINT_SCORE];
    for (uint32_t i = 0; ~cycle->skip_score && i < scorers->len; i++)
        if (!(cycle->skip_score >> scorers->items[i]->index & 1))
            return true;
    return false;
}
