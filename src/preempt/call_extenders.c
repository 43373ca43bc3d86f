/* call_extenders.c: extenders may change the candidates for preemption before one is chosen.
 *
 * They are called one after another, each with the candidates that the one before left. One without a preempt verb is
 * not called: it may reject the node later. */
#include "base/log.h"
#include "framework/extender.h"
#include "preempt/preempt.h"

/* A node without victims is no candidate; from an extender that is not ignorable it is an error. */
static struct status check_victims(const struct extender *extender, struct cycle *cycle,
                                   struct preempt_candidate *candidates, uint32_t *len)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *len; i++) {
        struct str node = cluster_node_name(cycle->cluster, candidates[i].row);
        if (candidates[i].victims_len)
            candidates[kept++] = candidates[i];
        else if (!extender->ignorable)
            return status_printf(cycle->arena, STATUS_ERROR,
                                 "expected at least one victim pod on node \"" STR_FMT "\"", STR_ARG(node));
        else
            log_info(2, "Ignored node for which the extender didn't report victims",
                     log_ref("node", STR(""), node), log_str("extender", extender->name));
    }
    *len = kept;
    return STATUS_OK;
}

static struct status call(struct extender *extender, struct cycle *cycle,
                          struct preempt_candidate **candidates, uint32_t *len)
{
    struct preempt_candidate *left;
    uint32_t left_len;
    struct error err;
    if (extender->calls->preempt(extender, cycle, *candidates, *len, &left, &left_len, &err) < 0)
        return extender_failed(extender, cycle, &err);
    *candidates = left;
    *len = left_len;
    return check_victims(extender, cycle, left, len);
}

struct status preempt_call_extenders(struct cycle *cycle, struct preempt_candidate **candidates,
                                     uint32_t *len)
{
    const struct extenders *extenders = cycle->profile->extenders;
    for (uint32_t i = 0; extenders && i < extenders->len && *len; i++) {
        struct extender *extender = extenders->items[i];
        if (!extender->preempts || !extender_wants(extender, cycle->pod))
            continue;
        struct status status = call(extender, cycle, candidates, len);
        if (!status_ok(status))
            return status;
    }
    return STATUS_OK;
}
