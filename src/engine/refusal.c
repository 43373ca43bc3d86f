/* refusal.c: see refusal.h. */
#include "engine/refusal.h"

#include <stdlib.h>

#include "framework/extender.h"

struct refusal {
    struct arena arena;
    uint64_t version; /* of the model */
    int32_t priority;
    bool never_preempts;
    struct diagnosis diagnosis;
    struct decision decision; /* what it says about the refusal; texts in the arena */
};

static bool never_preempts(const struct cycle *cycle)
{
    return str_is(cycle->pod->spec.preemption_policy, "Never");
}

/* Is the answer the same for all pods of the class, until the model changes? */
static bool is_general(const struct class_table *source, const struct cycle *cycle)
{
    const struct pod_class *cls = cycle->info->class;
    const struct plugin_order *post_filters = &cycle->profile->points[POINT_POST_FILTER];
    if (!source->owner || source->table.per_node || cls->has_claims || cls->has_volumes || cls->has_devices ||
        cycle->info->nominated_row != ROW_NONE || cycle->pod->status.nominated_node_name.len ||
        (cycle->profile->extenders && cycle->profile->extenders->len))
        return false;
    for (uint32_t i = 0; i < post_filters->len; i++)
        if (!post_filters->items[i]->plugin->post_filter_repeats)
            return false;
    return true;
}

const struct refusal *refusal_find(const struct class_table *source, const struct cycle *cycle)
{
    const struct refusal *known = source->refusal;
    return known && known->version == cluster_version(cycle->cluster) &&
                   known->priority == cycle->info->priority &&
                   known->never_preempts == never_preempts(cycle) && is_general(source, cycle)
               ? known
               : NULL;
}

void refusal_keep(struct class_table *source, const struct cycle *cycle, const struct decision *decision,
                  uint64_t number)
{
    if (!is_general(source, cycle) || decision->victims_len || decision->nomination == NOMINATION_SET ||
        decision->is_error || decision->post_filter_error.len)
        return;
    struct refusal *kept = source->refusal;
    if (!kept)
        kept = source->refusal = xcalloc(1, sizeof(*kept));
    diagnosis_release(&kept->diagnosis);
    arena_reset(&kept->arena);
    kept->version = cluster_version(cycle->cluster);
    kept->priority = cycle->info->priority;
    kept->never_preempts = never_preempts(cycle);
    diagnosis_copy(&kept->diagnosis, decision->diagnosis, &kept->arena);
    kept->decision = (struct decision){
        .message = arena_str(&kept->arena, decision->message),
        .diagnosis = &kept->diagnosis,
        .unschedulable_plugins = decision->unschedulable_plugins,
        .pending_plugins = decision->pending_plugins,
        .nomination = decision->nomination,
        .preemption_tried = decision->preemption_tried,
        .refusal = number,
    };
}

void refusal_repeat(const struct refusal *refusal, struct cycle *cycle, struct decision *ret)
{
    const struct decision *kept = &refusal->decision;
    if (cycle->profile->points[POINT_POST_FILTER].len)
        report_post_filter_again(cycle);
    ret->message = kept->message;
    ret->diagnosis = kept->diagnosis;
    ret->unschedulable_plugins = kept->unschedulable_plugins;
    ret->pending_plugins = kept->pending_plugins;
    ret->nomination = kept->nomination;
    ret->preemption_tried = kept->preemption_tried;
    ret->refusal = kept->refusal;
}

void refusal_free(struct refusal *refusal)
{
    if (!refusal)
        return;
    diagnosis_release(&refusal->diagnosis);
    arena_release(&refusal->arena);
    free(refusal);
}
