/* DefaultBinder: tells the API server on which node the pod runs. */
#include "framework/plugin.h"

static struct status bind(struct cycle *cycle, uint32_t row)
{
    const struct answer **answer = (const struct answer **)cycle_state(cycle);
    const struct meta *meta = &cycle->pod->meta;
    if (!*answer)
        *answer = cycle_write(cycle, &(struct effect){ .kind = EFFECT_BIND,
                                                       .namespace = meta->namespace,
                                                       .name = meta->name,
                                                       .uid = meta->uid,
                                                       .node = cluster_node_name(cycle->cluster, row) });
    if ((*answer)->kind == ANSWER_PENDING)
        return STATUS_WAITING;
    if ((*answer)->kind == ANSWER_DONE)
        return STATUS_OK;
    return status_printf(cycle->arena, STATUS_ERROR, STR_FMT, STR_ARG((*answer)->message));
}

const struct plugin plugin_default_binder = {
    .name = "DefaultBinder",
    .doc = "Binds the pod to its node.",
    .bind = bind,
};
