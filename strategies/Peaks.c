/* Peaks.c: prefers the node whose power rises least, as the plugin of that name in kubernetes-sigs/scheduler-plugins
 * does, with its arguments.
 *
 *     P(u)  = k0 + k1 e^(k2 u)        watts, at a CPU use of u percent
 *     raw   = P(u with this pod) - P(u)
 *     score = 100 - (raw - lowest) 100 / (highest - lowest), without the fraction; 100 if all are equal
 *
 * u counts pods placed since the sample began by their requests. A node without a usable sample or without a model, or
 * which the pod would fill beyond 100 percent, has 0 and is not part of the range.
 *
 * With `powerModel: Parts` the power is that of the node's parts: sockets, of which as many are busy as the used cores
 * fill, and GPUs, which are busy when a pod has one.
 *
 *     P = busy sockets x full + other sockets x idle + GPUs of pods x full + other GPUs x idle */
#include <math.h>
#include <stdlib.h>

#include "at_once.h"
#include "json_scan.h"
#include "load.h"

#define NO_SCORE INT64_MIN
#define SCALE 1e12 /* scores are whole numbers */
#define RAW_MAX 9e18

/* ---- arguments ---- */
struct gpu_watts {
    struct berth_str model;
    double idle, full;
};
struct parts_args {
    double idle, full; /* watts of a socket */
    int64_t cores_per_socket;
    struct berth_str gpu_resource, gpu_label;
    struct berth_list gpus;
};
struct args {
    struct berth_str watcher_address, models, file, power_model;
    struct parts_args parts;
};
static const struct berth_field gpu_fields[] = {
    BERTH_FIELD("model", BERTH_STRING, struct gpu_watts, model),
    BERTH_FIELD("idleWatts", BERTH_DOUBLE, struct gpu_watts, idle),
    BERTH_FIELD("fullWatts", BERTH_DOUBLE, struct gpu_watts, full),
    { 0 },
};
static const struct berth_field parts_fields[] = {
    BERTH_FIELD("socketIdleWatts", BERTH_DOUBLE, struct parts_args, idle),
    BERTH_FIELD("socketFullWatts", BERTH_DOUBLE, struct parts_args, full),
    BERTH_FIELD("coresPerSocket", BERTH_INT, struct parts_args, cores_per_socket),
    BERTH_FIELD("gpuResource", BERTH_STRING, struct parts_args, gpu_resource),
    BERTH_FIELD("gpuLabel", BERTH_STRING, struct parts_args, gpu_label),
    BERTH_NESTED("gpus", BERTH_LIST, struct parts_args, gpus, gpu_fields, struct gpu_watts),
    { 0 },
};
/* The original has no names of its own for its fields: they are written as in its code. */
static const struct berth_field fields[] = {
    BERTH_FIELD("watcherAddress", BERTH_STRING, struct args, watcher_address),
    BERTH_FIELD("WatcherAddress", BERTH_STRING, struct args, watcher_address),
    BERTH_FIELD("nodePowerModel", BERTH_JSON, struct args, models),
    BERTH_FIELD("NodePowerModel", BERTH_JSON, struct args, models),
    BERTH_FIELD("nodePowerModelFile", BERTH_STRING, struct args, file),
    BERTH_FIELD("powerModel", BERTH_STRING, struct args, power_model),
    BERTH_NESTED("parts", BERTH_STRUCT, struct args, parts, parts_fields, struct parts_args),
    { 0 },
};

#define TEXT(literal) { (literal), sizeof(literal) - 1 }
static const struct gpu_watts default_gpus[] = {
    { TEXT("T4"), 10, 70 },    { TEXT("A10"), 30, 150 },  { TEXT("P100"), 25, 250 },
    { TEXT("V100"), 30, 300 }, { TEXT("A100"), 50, 400 },
};
static const struct args defaults = {
    .power_model = TEXT("Exponential"),
    .parts = { .idle = 15,
               .full = 120,
               .cores_per_socket = 16,
               .gpu_resource = TEXT("nvidia.com/gpu"),
               .gpu_label = TEXT("nvidia.com/gpu.product"),
               .gpus = { default_gpus, sizeof(default_gpus) / sizeof(default_gpus[0]) } },
};

/* ---- data ---- */
enum { K0, K1, K2, KS };
struct model {
    struct berth_str node;
    double k[KS];
};
struct self {
    struct load load; /* the first: load_release() */
    struct parts_args parts;
    bool by_parts;
    uint32_t gpu_number;
    struct model *models;
    uint32_t models_len;
    struct berth_arena *arena;
};
/* Without the pod. */
struct node {
    struct load_row row;
    bool has_model;
    const struct model *model;
    double used_milli, capacity_milli, power;
    double gpu_idle, gpu_full;
    int64_t gpus, gpus_used;
};
struct state {
    struct self *self;
    int64_t now, gpus;
    double pod_milli;
};

/* ---- power ---- */
static double exponential(const struct model *model, double percent)
{
    return model->k[K0] + model->k[K1] * exp(model->k[K2] * percent);
}

static double by_parts(const struct self *self, const struct node *node, double milli, int64_t gpus)
{
    double per_socket = (double)self->parts.cores_per_socket * 1000;
    double sockets = ceil(node->capacity_milli / per_socket);
    double busy = fmin(ceil(milli / per_socket), sockets);
    return busy * self->parts.full + (sockets - busy) * self->parts.idle + (double)gpus * node->gpu_full +
           (double)(node->gpus - gpus) * node->gpu_idle;
}

static double power_of(const struct self *self, const struct node *node, double milli, int64_t gpus)
{
    if (self->by_parts)
        return by_parts(self, node, milli, gpus);
    return exponential(node->model, 100 * milli / node->capacity_milli);
}

/* ---- models ---- */
static struct model *model_named(struct self *self, struct berth_str node)
{
    uint32_t len = self->models_len;
    if (len && berth_eq(self->models[len - 1].node, node)) /* its numbers come one after the other */
        return &self->models[len - 1];
    if (!(len & (len - 1))) { /* full: twice the room */
        struct model *models = berth_alloc(self->arena, (len ? 2 * len : 1) * sizeof(*models));
        if (len)
            memcpy(models, self->models, len * sizeof(*models));
        self->models = models;
    }
    self->models[len] = (struct model){ .node = node };
    self->models_len++;
    return &self->models[len];
}

/* Numbers may be written as texts. */
static bool read_model(void *context, const struct berth_str *keys, uint32_t depth, struct berth_str value,
                       bool is_text)
{
    static const char *const names[] = { "k0", "k1", "k2" };
    double number;
    (void)is_text;
    if (depth != 2 || !json_number(value, &number))
        return false;
    for (int i = 0; i < KS; i++)
        if (berth_is(keys[1], names[i])) {
            model_named(context, keys[0])->k[i] = number;
            return true;
        }
    return false;
}

static int compare_models(const void *a, const void *b)
{
    const struct model *left = a, *right = b;
    uint32_t len = left->node.len < right->node.len ? left->node.len : right->node.len;
    int order = memcmp(left->node.ptr, right->node.ptr, len);
    return order ? order : (left->node.len > right->node.len) - (left->node.len < right->node.len);
}

static int read_file(const char *path, struct berth_arena *arena, struct berth_str *ret,
                     struct berth_error *err)
{
    enum { BYTES_MAX = 16 << 20 };
    FILE *file = fopen(path, "re");
    if (!file)
        return berth_fail(err, "nodePowerModelFile: %s cannot be read", path);
    long bytes = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    char *text = bytes >= 0 && bytes <= BYTES_MAX ? berth_alloc(arena, (size_t)bytes + 1) : NULL;
    rewind(file);
    bool is_read = text && fread(text, 1, (size_t)bytes, file) == (size_t)bytes;
    fclose(file);
    if (!is_read)
        return berth_fail(err, "nodePowerModelFile: %s cannot be read, or is larger than 16 MiB", path);
    *ret = (struct berth_str){ text, (uint32_t)bytes };
    return 0;
}

static int read_models(const struct args *args, struct self *self, struct berth_error *err)
{
    struct berth_str text = args->models;
    const char *path = args->file.len ? args->file.ptr : getenv("NODE_POWER_MODEL");
    bool is_empty = !text.len || berth_is(text, "{}") || berth_is(text, "null");
    if (is_empty && !path)
        return berth_fail(
            err,
            "nodePowerModel: expected {node: {k0, k1, k2}}, or nodePowerModelFile with the name of a file");
    if (is_empty && read_file(path, self->arena, &text, err) < 0)
        return -1;
    if (!json_scan(text, read_model, self))
        return berth_fail(err, "%s: expected {node: {k0, k1, k2}} with numbers",
                          is_empty ? path : "nodePowerModel");
    if (self->models_len)
        qsort(self->models, self->models_len, sizeof(*self->models), compare_models);
    return 0;
}

/* ---- nodes ---- */
/* The model with the longest name that is part of the label: "NVIDIA-A100-SXM4-80GB" is an A100, not an A10. */
static const struct gpu_watts *gpu_of(const struct self *self, struct berth_str label)
{
    const struct gpu_watts *gpus = self->parts.gpus.items, *found = NULL;
    for (uint32_t i = 0; i < self->parts.gpus.len; i++)
        if (gpus[i].model.len && memmem(label.ptr, label.len, gpus[i].model.ptr, gpus[i].model.len) &&
            (!found || gpus[i].model.len > found->model.len))
            found = &gpus[i];
    return found;
}

static void find_model(const struct self *self, struct berth_node_view view, struct node *node)
{
    struct model wanted = { .node = berth_node_name(view) };
    node->has_model = node->capacity_milli > 0;
    if (self->by_parts) {
        node->gpus = berth_node_allocatable(view, self->gpu_number);
        node->gpus_used = berth_node_used(view, self->gpu_number);
        struct berth_str label = berth_node_label(view, self->parts.gpu_label.ptr);
        const struct gpu_watts *gpu = node->gpus && label.len ? gpu_of(self, label) : NULL;
        node->gpu_idle = gpu ? gpu->idle : 0;
        node->gpu_full = gpu ? gpu->full : 0;
        return;
    }
    node->model = self->models_len ? bsearch(&wanted, self->models, self->models_len, sizeof(*self->models),
                                             compare_models)
                                   : NULL;
    node->has_model &= node->model != NULL;
}

static void fill(void *context, struct berth_node_view view, const struct load_sample *sample,
                 struct load_row *row)
{
    const struct self *self = context;
    struct node *node = (struct node *)(void *)row;
    double fresh[LOAD_RESOURCES];
    node->capacity_milli = sample->capacity[LOAD_CPU];
    find_model(self, view, node);
    load_fresh_requests(&self->load, view, sample->at - sample->window_ns, fresh);
    node->used_milli = sample->latest[LOAD_CPU] + fresh[LOAD_CPU];
    node->power = node->has_model ? power_of(self, node, node->used_milli, node->gpus_used) : 0;
}

/* ---- init ---- */
static int check_parts(const struct parts_args *parts, struct berth_error *err)
{
    const struct gpu_watts *gpus = parts->gpus.items;
    if (parts->cores_per_socket < 1 || parts->cores_per_socket > 4096)
        return berth_fail(err, "parts.coresPerSocket: expected a number from 1 to 4096, got %lld",
                          (long long)parts->cores_per_socket);
    if (!(parts->idle >= 0 && parts->full >= parts->idle && parts->full <= 1e6))
        return berth_fail(err,
                          "parts.socketFullWatts: expected at least socketIdleWatts, which is not negative");
    for (uint32_t i = 0; i < parts->gpus.len; i++)
        if (!gpus[i].model.len || !(gpus[i].idle >= 0 && gpus[i].full >= gpus[i].idle && gpus[i].full <= 1e6))
            return berth_fail(err, "parts.gpus[%u]: expected a model, and fullWatts of at least idleWatts",
                              i);
    return 0;
}

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    const struct load_source source = { .watcher_address = args->watcher_address };
    *ret_self = self;
    load_init(&self->load, env, "Peaks", sizeof(struct node), fill, self);
    self->load.needs_cpu = true;
    self->arena = env->arena;
    self->parts = args->parts;
    self->by_parts = berth_is(args->power_model, "Parts");
    self->gpu_number = berth_resource(env->cluster, args->parts.gpu_resource.ptr);
    if (!self->by_parts && !berth_is(args->power_model, "Exponential"))
        return berth_fail(err, "powerModel: expected Exponential or Parts, got \"" BERTH_FMT "\"",
                          BERTH_ARG(args->power_model));
    if ((self->by_parts ? check_parts(&args->parts, err) : read_models(args, self, err)) < 0)
        return -1;
    return load_source_check(&source, "Peaks", err);
}

/* ---- Score ---- */
static const struct state *state_of(struct berth_cycle *cycle)
{
    void **state = berth_cycle_state(cycle);
    if (!*state) {
        struct state *made = berth_alloc(berth_cycle_arena(cycle), sizeof(*made));
        const struct berth_pod_info *pod = berth_cycle_info(cycle);
        const struct self *self = made->self = berth_cycle_self(cycle);
        made->now = berth_cycle_now(cycle);
        made->pod_milli = (double)berth_pod_request(pod, self->load.numbers[LOAD_CPU]);
        made->gpus = self->by_parts ? berth_pod_request(pod, self->gpu_number) : 0;
        load_begin(&made->self->load, berth_cycle_cluster(cycle));
        *state = made;
    }
    return *state;
}

static struct berth_status pre_score(struct berth_cycle *cycle)
{
    state_of(cycle);
    return BERTH_OK;
}

AT_ONCE int64_t node_score(const struct state *state, struct berth_node_view view)
{
    struct self *self = state->self;
    const struct node *node = load_row(&self->load, view);
    double milli = node->used_milli + state->pod_milli;
    if (!load_usable(&self->load, &node->row, view, state->now) || !node->has_model ||
        milli > node->capacity_milli)
        return NO_SCORE;
    double raw = SCALE * (power_of(self, node, milli, node->gpus_used + state->gpus) - node->power);
    return (int64_t)fmin(fmax(raw, -RAW_MAX), RAW_MAX); /* not NaN: fmin() and fmax() leave it out */
}

SCORE_SLOTS(state_of, node_score)

static void normalize(struct berth_cycle *cycle, int64_t *scores, size_t len)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    (void)cycle;
    for (size_t i = 0; i < len; i++)
        if (scores[i] != NO_SCORE) {
            low = scores[i] < low ? scores[i] : low;
            high = scores[i] > high ? scores[i] : high;
        }
    for (size_t i = 0; i < len; i++) {
        double range = (double)high - (double)low;
        if (scores[i] == NO_SCORE)
            scores[i] = 0;
        else
            scores[i] = BERTH_SCORE_MAX -
                        (range > 0 ? (int64_t)(100 * ((double)scores[i] - (double)low) / range) : 0);
    }
}

static const struct berth_plugin peaks = {
    .name = "Peaks",
    .doc = "Prefers the node whose power rises least.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .release = load_release,
    .pre_score = pre_score,
    .score = score,
    .score_nodes = score_nodes,
    .normalize = normalize,
    .reads = load_request_reads,
    .kinds = load_kinds,
};

BERTH_PLUGINS(&peaks)
