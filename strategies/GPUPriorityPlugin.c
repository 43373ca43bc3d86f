/* GPUPriorityPlugin.c: GPU pods run on GPU nodes only; other pods prefer nodes without GPUs.
 *
 *     score        GPU node   other node
 *     GPU pod           100            0
 *     other pod          10           50        each times gpuWeight / 100
 *
 * For a GPU pod, a GPU node has some of a resource that the pod requests; for other pods, some of any listed one. With
 * `models` or `modelLabel`, GPU nodes differ for GPU pods: the better card first, then the fuller node, so that
 * complete nodes stay free for large jobs. */
#include <berth/plugin.h>

#include "at_once.h"
#include "node_value.h"

enum { GPU_POD = 100, OTHER_POD_GPU_NODE = 10, OTHER_POD = 50, RESOURCES_MAX = 16 };

struct args {
    struct berth_strs resources, models;
    struct berth_str resource, model_label;
    int64_t gpu_weight;
    bool strict;
};

static const struct berth_field fields[] = {
    BERTH_FIELD("gpuWeight", BERTH_INT, struct args, gpu_weight),
    BERTH_FIELD("resources", BERTH_STRINGS, struct args, resources),
    BERTH_FIELD("resource", BERTH_STRING, struct args, resource),
    BERTH_FIELD("modelLabel", BERTH_STRING, struct args, model_label),
    BERTH_FIELD("models", BERTH_STRINGS, struct args, models),
    BERTH_FIELD("strict", BERTH_BOOL, struct args, strict),
    { 0 },
};

static const struct args defaults = { .gpu_weight = 100 };
static const struct berth_str nvidia = TEXT("nvidia.com/gpu");

struct self {
    const struct args *args;
    const char *model_label;
    bool ranks; /* GPU nodes differ for GPU pods */
    uint32_t len, numbers[RESOURCES_MAX];
    const char *paths[RESOURCES_MAX];
};

/* What the pod requests; kept for the attempt. */
struct request {
    const struct self *self;
    bool any;
    int64_t amounts[RESOURCES_MAX];
};

static int init_resources(const struct berth_env *env, struct self *self, struct berth_error *err)
{
    const struct args *args = env->args;
    struct berth_strs list = args->resources;
    if (args->resource.len && list.len)
        return berth_fail(err, "resource and resources: expected one of them, not both");
    if (!list.len)
        list = (struct berth_strs){ args->resource.len ? &args->resource : &nvidia, 1 };
    if (list.len > RESOURCES_MAX)
        return berth_fail(err, "resources: expected at most %d names, got %u", RESOURCES_MAX, list.len);
    for (self->len = 0; self->len < list.len; self->len++) {
        struct berth_str name = list.items[self->len];
        uint32_t number = berth_resource(env->cluster, name.ptr); /* strings of arguments are terminated */
        if (number == UINT32_MAX)
            return berth_fail(err, "%s: " BERTH_FMT " is not a resource that is scheduled",
                              args->resource.len ? "resource" : "resources", BERTH_ARG(name));
        self->numbers[self->len] = number;
        self->paths[self->len] = value_allocatable_path(env->arena, name);
    }
    return 0;
}

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    if (args->gpu_weight < 0 || args->gpu_weight > 100)
        return berth_fail(err, "gpuWeight: expected a number from 0 to 100, got %lld",
                          (long long)args->gpu_weight);
    self->args = args;
    self->ranks = args->models.len || args->model_label.len;
    self->model_label = args->model_label.len ? args->model_label.ptr : "nvidia.com/gpu.product";
    *ret_self = self;
    return init_resources(env, self, err);
}

/* ---- pods and nodes ---- */
static struct request read_request(const struct self *self, const struct berth_pod_info *pod)
{
    struct request request = { .self = self };
    for (uint32_t i = 0; i < self->len; i++) {
        request.amounts[i] = berth_pod_request(pod, self->numbers[i]);
        request.any |= request.amounts[i] > 0;
    }
    return request;
}

/* PreFilter and PreScore need not be enabled, so each slot may be the first one. */
static const struct request *request_of(struct berth_cycle *cycle)
{
    void **state = berth_cycle_state(cycle);
    if (!*state) {
        struct request *request = berth_alloc(berth_cycle_arena(cycle), sizeof(*request));
        *request = read_request(berth_cycle_self(cycle), berth_cycle_info(cycle));
        *state = request;
    }
    return *state;
}

/* The number of the resource that makes it a GPU node for this pod, or -1. */
static int gpu_of(const struct self *self, const struct request *request, struct berth_node_view node)
{
    for (uint32_t i = 0; i < self->len; i++)
        if ((!request->any || request->amounts[i]) && berth_node_allocatable(node, self->numbers[i]) > 0)
            return (int)i;
    return -1;
}

/* ---- Filter ---- */
static struct berth_status pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    const struct request *request = request_of(cycle);
    (void)narrow;
    return request->any || request->self->args->strict ? BERTH_OK : berth_verdict(BERTH_SKIP);
}

AT_ONCE struct berth_status judge(const struct request *request, struct berth_node_view node)
{
    const struct self *self = request->self;
    bool is_gpu_node = gpu_of(self, request, node) >= 0;
    if (request->any && !is_gpu_node)
        return BERTH_REJECT(BERTH_UNRESOLVABLE, "node(s) had no GPU");
    if (!request->any && self->args->strict && is_gpu_node)
        return BERTH_REJECT(BERTH_UNRESOLVABLE, "node(s) were kept for GPU pods");
    return BERTH_OK;
}

FILTER_SLOTS(request_of, judge)

/* ---- Score ---- */
static struct berth_status pre_score(struct berth_cycle *cycle)
{
    const struct self *self = berth_cycle_self(cycle);
    return self->args->gpu_weight ? BERTH_OK : berth_verdict(BERTH_SKIP);
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

/* The model's score, less up to 49 for GPUs that stay free. */
static int64_t ranked(const struct self *self, int64_t amount, struct berth_node_view node, int gpu)
{
    int64_t has = berth_node_allocatable(node, self->numbers[gpu]);
    int64_t left = has - berth_node_used(node, self->numbers[gpu]) - amount;
    return model_score(self, node) - (left > 0 ? 49 * left / has : 0);
}

AT_ONCE int64_t node_score(const struct request *request, struct berth_node_view node)
{
    const struct self *self = request->self;
    int gpu = gpu_of(self, request, node);
    int64_t raw;
    if (!request->any)
        raw = gpu >= 0 ? OTHER_POD_GPU_NODE : OTHER_POD;
    else if (gpu < 0)
        raw = 0;
    else
        raw = self->ranks ? ranked(self, request->amounts[gpu], node, gpu) : GPU_POD;
    return raw * self->args->gpu_weight / 100;
}

SCORE_SLOTS(request_of, node_score)

/* ---- waking ---- */
static bool accepts(const struct self *self, const struct request *request, const void *node)
{
    bool is_gpu_node = false;
    for (uint32_t i = 0; i < self->len; i++)
        is_gpu_node |= (!request->any || request->amounts[i]) && value_allocatable(node, self->paths[i]) > 0;
    return request->any == is_gpu_node;
}

/* A rejected pod may run on a node that this plugin accepts, and did not accept before. */
static enum berth_hint_answer node_changed(const struct berth_hint *hint, const struct berth_pod *pod,
                                           const struct berth_event *event)
{
    const struct self *self = berth_hint_self(hint);
    struct request request = read_request(
        self, berth_find_pod(berth_hint_cluster(hint), berth_object_namespace(pod), berth_object_name(pod)));
    const void *before = berth_event_before(event);
    bool helps =
        accepts(self, &request, berth_event_after(event)) && !(before && accepts(self, &request, before));
    return helps ? BERTH_HINT_QUEUE : BERTH_HINT_SKIP;
}

static const struct berth_event_rule events[] = {
    { BERTH_EVENT_NODE, BERTH_ADD | BERTH_NODE_ALLOCATABLE, node_changed },
    { 0 },
};

static const char *const reads[] = { "spec.containers[].resources", "spec.initContainers[].resources",
                                     "spec.overhead", "spec.resources", NULL };

#define DESCRIPTOR(name_) \
    { \
        .name = (name_), \
        .doc = "Keeps GPU pods on GPU nodes, and prefers other nodes for other pods.", \
        .args = fields, \
        .args_size = sizeof(struct args), \
        .args_defaults = &defaults, \
        .init = init, \
        .pre_filter = pre_filter, \
        .filter = filter, \
        .filter_nodes = filter_nodes, \
        .pre_score = pre_score, \
        .score = score, \
        .score_nodes = score_nodes, \
        .events = events, \
        .reads = reads, \
    }
static const struct berth_plugin gpu_priority = DESCRIPTOR("GPUPriorityPlugin");
static const struct berth_plugin alias = DESCRIPTOR("GpuPriority");

BERTH_PLUGINS(&gpu_priority, &alias)
