/* rivals.c: see rivals.h. */
#include "engine/rivals.h"

#include "framework/probe.h"

/* Pods without a uid are nobody's rivals if the others have none either: that is no matter of the class. */
struct row_memo *class_memo(const struct engine *engine, struct class_table *source,
                            const struct cycle *cycle, struct row_memo *memo)
{
    const struct pod_class *cls = cycle->info->class;
    bool is_general = source->owner && !source->table.per_node && !source->table.filtering_groups.len &&
                      !cls->has_claims && !cls->has_volumes && !cls->has_devices;
    return engine->slowest == PATH_INDEX && is_general && cycle->pod->meta.uid.len ? memo : NULL;
}

bool own_nomination_fails(struct engine *engine, struct cycle *cycle, struct choice *ret)
{
    uint32_t row = run_own_nomination(cycle);
    if (row == ROW_NONE)
        return true;
    struct node_names names;
    uint64_t blamed;
    ret->nomination_began_ns = probe_now(engine->probe);
    ret->nomination = row;
    cycle_reset(cycle);
    struct status status = run_pre_filter(cycle, &names, &blamed);
    bool fails = status_ok(status) && names.all && status_rejected(run_filters_nominated(cycle, row));
    ret->nomination_ended_ns = probe_now(engine->probe);
    cycle_reset(cycle);
    return fails;
}

/* Filters with the rivals of a row, after PreFilter for the first one. */
static struct status try_row(struct cycle *cycle, uint32_t row, bool *ran)
{
    if (!*ran)
        run_pre_filter_again(cycle);
    *ran = true;
    return run_filters_nominated(cycle, row);
}

void rivals_exclude(struct engine *engine, struct cycle *cycle, struct class_table *source,
                    struct excluded *ret)
{
    const struct cluster *cluster = engine->cluster;
    *ret = (struct excluded){ 0 };
    if (!cluster->nominations)
        return;
    struct row_memo_use memo =
        row_memo_begin(class_memo(engine, source, cycle, &source->rivals), cycle, NULL);
    for (uint32_t row = 0; row < cluster->nodes.len; row++) {
        if (!cluster->nodes.items[row].nominated.len || !source->groups.group_of[row] ||
            !row_has_rivals(cluster, row, cycle->info))
            continue;
        if (!row_memo_rejects(&memo, row)) {
            struct status status = try_row(cycle, row, &ret->ran);
            ret->failed |= status.code == STATUS_ERROR;
            if (status_ok(status))
                continue;
            row_memo_keep(&memo, row, status);
        }
        if (!ret->rows)
            ret->rows = arena_array(cycle->arena, uint32_t, cluster->nominations);
        ret->rows[ret->len++] = row;
    }
    if (ret->ran)
        cycle_reset(cycle);
    for (uint32_t i = 0; i < ret->len; i++)
        groups_remove(&source->groups, &source->table, ret->rows[i]);
}

void rivals_include_again(struct class_table *source, const struct excluded *excluded)
{
    for (uint32_t i = 0; i < excluded->len; i++)
        groups_insert(&source->groups, &source->table, excluded->rows[i]);
}

bool rivals_diagnose(struct engine *engine, struct cycle *cycle, struct class_table *source,
                     struct diagnosis *diagnosis)
{
    const struct cluster *cluster = cycle->cluster;
    bool ran = false;
    if (!cluster->nominations)
        return false;
    struct row_memo_use memo =
        row_memo_begin(class_memo(engine, source, cycle, &source->rivals), cycle, diagnosis);
    for (uint32_t row = 0; row < cluster->nodes.len; row++) {
        if (!cluster->nodes.items[row].api || !row_has_rivals(cluster, row, cycle->info) ||
            row_memo_repeat(&memo, row))
            continue;
        struct status status = try_row(cycle, row, &ran);
        row_memo_keep(&memo, row, status);
        diagnosis_blame(diagnosis, cycle->profile, status);
        diagnosis_set(diagnosis, row, status);
    }
    if (ran)
        cycle_reset(cycle);
    return ran;
}
