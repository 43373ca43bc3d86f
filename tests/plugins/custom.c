/* custom.c: the plugins that tests/cli/user-files/custom-plugins.yaml names, as its owner may have written them.
 *
 *     CustomFilterPlugin   no pods on nodes that are labelled `custom: closed`
 *     CustomScorePlugin    weightFactor for a node that is labelled `custom: good`; with enableGPUScheduling, as much
 *                          again for a node that has a GPU */
#include <berth/plugin.h>

struct args {
    int64_t weight_factor;
    bool enables_gpu;
};
static const struct berth_field fields[] = {
    BERTH_FIELD("weightFactor", BERTH_INT, struct args, weight_factor),
    BERTH_FIELD("enableGPUScheduling", BERTH_BOOL, struct args, enables_gpu),
    { 0 },
};

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    (void)err;
    *ret_self = (void *)env->args;
    return 0;
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    (void)cycle;
    if (berth_is(berth_node_label(node, "custom"), "closed"))
        return BERTH_REJECT(BERTH_UNRESOLVABLE, "node(s) were closed");
    return BERTH_OK;
}

static struct berth_status score(struct berth_cycle *cycle, struct berth_node_view node, int64_t *ret)
{
    const struct args *args = berth_cycle_self(cycle);
    uint32_t gpu = berth_resource(berth_cycle_cluster(cycle), "nvidia.com/gpu");
    *ret = berth_is(berth_node_label(node, "custom"), "good") ? args->weight_factor : 0;
    if (args->enables_gpu && berth_node_allocatable(node, gpu) > 0)
        *ret += args->weight_factor;
    return BERTH_OK;
}

static const struct berth_plugin custom_filter = { .name = "CustomFilterPlugin", .filter = filter };
static const struct berth_plugin custom_score = { .name = "CustomScorePlugin",
                                                  .args = fields,
                                                  .args_size = sizeof(struct args),
                                                  .init = init,
                                                  .score = score };

BERTH_PLUGINS(&custom_filter, &custom_score)
