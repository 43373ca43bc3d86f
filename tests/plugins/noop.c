/* noop.c: plugins that do nothing, to measure their overhead.
 *
 *     Noop       a filter that accepts every node
 *     NoopScore  a scorer with equal scores
 *     Idle       a filter and a scorer that are never called, because PreFilter and PreScore return Skip
 *     Absent     loaded, and not enabled */
#include <berth/plugin.h>

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    (void)cycle, (void)node;
    return BERTH_OK;
}

static struct berth_status score(struct berth_cycle *cycle, struct berth_node_view node, int64_t *ret)
{
    (void)cycle, (void)node;
    *ret = 0;
    return BERTH_OK;
}

static struct berth_status skip_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    (void)cycle, (void)narrow;
    return berth_verdict(BERTH_SKIP);
}

static struct berth_status skip_score(struct berth_cycle *cycle)
{
    (void)cycle;
    return berth_verdict(BERTH_SKIP);
}

static const struct berth_plugin noop = { .name = "Noop", .filter = filter };
static const struct berth_plugin noop_score = { .name = "NoopScore", .score = score };
static const struct berth_plugin idle = {
    .name = "Idle", .pre_filter = skip_filter, .filter = filter, .pre_score = skip_score, .score = score
};
static const struct berth_plugin absent = { .name = "Absent", .filter = filter };

BERTH_PLUGINS(&noop, &noop_score, &idle, &absent)
