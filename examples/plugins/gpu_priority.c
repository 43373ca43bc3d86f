/* gpu_priority.c: GPU pods go to GPU nodes, the fastest cards first; other pods avoid them.
 *
 *     pluginConfig:
 *     - name: GpuPriority
 *       args:
 *         resource: nvidia.com/gpu      # what makes a node a GPU node, and a pod a GPU pod
 *         modelLabel: nvidia.com/gpu.product
 *         models: [NVIDIA-H100, NVIDIA-A100]   # best first
 *         strict: false                 # true: other pods never run on GPU nodes
 *
 * NodeResourcesFit checks that enough GPUs are free. Here, Filter rejects other pods if `strict` is set. Score: for a
 * GPU pod the better model, then the fuller node (so that complete nodes stay free for large jobs); for any other pod
 * 100 on nodes without a GPU and 0 on nodes with one. */
#include <berth/plugin.h>

struct args {
    struct berth_str resource, model_label;
    struct berth_strs models;
    bool strict;
};

static const struct berth_field fields[] = {
    BERTH_FIELD("resource", BERTH_STRING, struct args, resource),
    BERTH_FIELD("modelLabel", BERTH_STRING, struct args, model_label),
    BERTH_FIELD("models", BERTH_STRINGS, struct args, models),
    BERTH_FIELD("strict", BERTH_BOOL, struct args, strict),
    { 0 },
};

static const struct args defaults = {
    .resource = { "nvidia.com/gpu", sizeof("nvidia.com/gpu") - 1 },
    .model_label = { "nvidia.com/gpu.product", sizeof("nvidia.com/gpu.product") - 1 },
};

struct self {
    const struct args *args;
    const char *model_label;
    uint32_t gpu; /* the resource number */
};

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    self->args = args;
    self->model_label = args->model_label.ptr;
    self->gpu = berth_resource(env->cluster, args->resource.ptr); /* strings of arguments are terminated */
    if (self->gpu == UINT32_MAX)
        return berth_fail(err, "resource: " BERTH_FMT " is not a resource that is scheduled",
                          BERTH_ARG(args->resource));
    *ret_self = self;
    return 0;
}

static int64_t wanted(struct berth_cycle *cycle, const struct self *self)
{
    return berth_pod_request(berth_cycle_info(cycle), self->gpu);
}

/* Nothing to filter for GPU pods, or if other pods may share their nodes. */
static struct berth_status pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    const struct self *self = berth_cycle_self(cycle);
    (void)narrow;
    return self->args->strict && !wanted(cycle, self) ? BERTH_OK : berth_verdict(BERTH_SKIP);
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    const struct self *self = berth_cycle_self(cycle);
    if (berth_node_allocatable(node, self->gpu))
        return BERTH_REJECT(BERTH_UNRESOLVABLE, "node(s) were kept for GPU pods");
    return BERTH_OK;
}

/* 50 to 100 by the position of the node's model in the list; 50 for an unlisted model. */
static int64_t model_score(const struct self *self, struct berth_node_view node)
{
    struct berth_str model = berth_node_label(node, self->model_label);
    uint32_t len = self->args->models.len;
    for (uint32_t i = 0; i < len; i++)
        if (berth_eq(model, self->args->models.items[i]))
            return 50 + 50 * (int64_t)(len - i) / len;
    return 50;
}

static struct berth_status score(struct berth_cycle *cycle, struct berth_node_view node, int64_t *ret)
{
    const struct self *self = berth_cycle_self(cycle);
    int64_t want = wanted(cycle, self), has = berth_node_allocatable(node, self->gpu);
    if (!want) {
        *ret = has ? 0 : BERTH_SCORE_MAX;
        return BERTH_OK;
    }
    int64_t left = has - berth_node_used(node, self->gpu) - want;
    *ret = model_score(self, node) - (has > 0 && left > 0 ? 49 * left / has : 0);
    return BERTH_OK;
}

/* A rejected pod may run on a node without GPUs. */
static enum berth_hint_answer node_changed(const struct berth_hint *hint, const struct berth_pod *pod,
                                           const struct berth_event *event)
{
    const struct self *self = berth_hint_self(hint);
    const struct berth_cluster *cluster = berth_hint_cluster(hint);
    uint32_t row = berth_node_row(cluster, berth_object_name(berth_event_after(event)));
    (void)pod;
    bool open = row != BERTH_ROW_NONE && !berth_node_allocatable(berth_node(cluster, row), self->gpu);
    return open ? BERTH_HINT_QUEUE : BERTH_HINT_SKIP;
}

static const struct berth_event_rule events[] = {
    { BERTH_EVENT_NODE, BERTH_ADD | BERTH_NODE_ALLOCATABLE, node_changed },
    { 0 },
};

static const struct berth_plugin gpu_priority = {
    .name = "GpuPriority",
    .doc = "Sends GPU pods to GPU nodes, the best cards first, and all others away from them.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .pre_filter = pre_filter,
    .filter = filter,
    .score = score,
    .events = events,
};

BERTH_PLUGINS(&gpu_priority)
