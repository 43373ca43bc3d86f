/* pool_order.c: fills pools of nodes in a given order.
 *
 *     pluginConfig:
 *     - name: PoolOrder
 *       args: {label: pool, pools: [reserved, on-demand, spot]}      # the first one first
 *
 * Score: 100 for the first pool, and in equal steps down to 0 for nodes of no listed pool. */
#include <berth/plugin.h>

struct args {
    struct berth_str label;
    struct berth_strs pools;
};

static const struct berth_field fields[] = {
    BERTH_FIELD("label", BERTH_STRING, struct args, label),
    BERTH_FIELD("pools", BERTH_STRINGS, struct args, pools),
    { 0 },
};

static const struct args defaults = { .label = { "pool", 4 } };

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    if (!args->pools.len)
        return berth_fail(err, "pools: expected the names of pools");
    *ret_self = (void *)args; /* valid as long as the plugin */
    return 0;
}

static struct berth_status score(struct berth_cycle *cycle, struct berth_node_view node, int64_t *ret)
{
    const struct args *args = berth_cycle_self(cycle);
    struct berth_str pool = berth_node_label(node, args->label.ptr); /* strings of arguments are terminated */
    uint32_t i = 0;
    while (i < args->pools.len && !(pool.ptr && berth_eq(pool, args->pools.items[i])))
        i++;
    *ret = BERTH_SCORE_MAX * (int64_t)(args->pools.len - i) / args->pools.len;
    return BERTH_OK;
}

/* The score is the same for all pods. */
static const char *const reads[] = { NULL };

static const struct berth_plugin pool_order = {
    .name = "PoolOrder",
    .doc = "Prefers nodes by the order of their pools.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .score = score,
    .reads = reads,
};

BERTH_PLUGINS(&pool_order)
