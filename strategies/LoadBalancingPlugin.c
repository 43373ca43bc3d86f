/* LoadBalancingPlugin.c: prefers the least loaded node, by real use.
 *
 *     estimated = use of the node + pods placed since its sample began + this pod        by requests
 *     score     = (allocatable - estimated) 100 / allocatable, 0 if it is more; the weighted mean of CPU and memory,
 *                 rounded
 *
 * A node without a usable sample is judged by requests instead: estimated = requests of its pods + this pod. A pod
 * without a request counts as 0.1 cores and 200 MiB, as for the built-in scorers. */
#include <math.h>

#include "at_once.h"
#include "load.h"

struct weights {
    int64_t of[LOAD_RESOURCES];
};
struct args {
    struct weights weights;
};
static const struct berth_field weight_fields[] = {
    BERTH_FIELD("cpu", BERTH_INT, struct weights, of[LOAD_CPU]),
    BERTH_FIELD("memory", BERTH_INT, struct weights, of[LOAD_MEMORY]),
    { 0 },
};
static const struct berth_field fields[] = {
    BERTH_NESTED("resourceWeights", BERTH_STRUCT, struct args, weights, weight_fields, struct weights),
    { 0 },
};
static const struct args defaults = { { { 1, 1 } } };
static const double unset_requests[] = { 100, 200 << 20 };

struct self {
    struct load load; /* the first: load_release() */
    double weights[LOAD_RESOURCES];
};
/* Without the pod. */
struct node {
    struct load_row row;
    double use[LOAD_RESOURCES]; /* with fresh pods; negative: unknown */
    double requested[LOAD_RESOURCES], allocatable[LOAD_RESOURCES];
};
struct state {
    struct self *self;
    int64_t now;
    double request[LOAD_RESOURCES];
};

static double request_of(const struct self *self, const struct berth_pod_info *pod, int resource)
{
    int64_t request = berth_pod_request(pod, self->load.numbers[resource]);
    return request ? (double)request : unset_requests[resource];
}

static void fill(void *context, struct berth_node_view view, const struct load_sample *sample,
                 struct load_row *row)
{
    const struct self *self = context;
    struct node *node = (struct node *)(void *)row;
    struct berth_pod_infos pods = berth_node_pods(view);
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        node->use[i] = sample->latest[i];
        node->requested[i] = (double)berth_node_used(view, self->load.numbers[i]);
        node->allocatable[i] = sample->allocatable[i];
    }
    for (size_t i = 0; i < pods.len; i++)
        if (load_is_fresh(pods.items[i], sample->at - sample->window_ns))
            for (int j = 0; j < LOAD_RESOURCES; j++)
                node->use[j] += node->use[j] < 0 ? 0 : request_of(self, pods.items[i], j);
}

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    double sum = 0;
    *ret_self = self;
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        if (args->weights.of[i] < 0 || args->weights.of[i] > 100)
            return berth_fail(err, "resourceWeights: expected numbers from 0 to 100, got %lld",
                              (long long)args->weights.of[i]);
        sum += self->weights[i] = (double)args->weights.of[i];
    }
    if (sum == 0)
        return berth_fail(err, "resourceWeights: expected a weight that is not 0");
    for (int i = 0; i < LOAD_RESOURCES; i++)
        self->weights[i] /= sum;
    load_init(&self->load, env, "LoadBalancingPlugin", sizeof(struct node), fill, self);
    return 0;
}

static const struct state *state_of(struct berth_cycle *cycle)
{
    void **state = berth_cycle_state(cycle);
    if (!*state) {
        struct state *made = berth_alloc(berth_cycle_arena(cycle), sizeof(*made));
        made->self = berth_cycle_self(cycle);
        made->now = berth_cycle_now(cycle);
        for (int i = 0; i < LOAD_RESOURCES; i++)
            made->request[i] = request_of(made->self, berth_cycle_info(cycle), i);
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
    bool is_usable = load_usable(&self->load, &node->row, view, state->now);
    double sum = 0;
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        double total = node->allocatable[i];
        double used = is_usable && node->use[i] >= 0 ? node->use[i] : node->requested[i];
        double left = total - used - state->request[i];
        if (left > 0)
            sum += self->weights[i] * left / total;
    }
    return load_round(sum * BERTH_SCORE_MAX);
}

SCORE_SLOTS(state_of, node_score)

static const struct berth_plugin load_balancing = {
    .name = "LoadBalancingPlugin",
    .doc = "Prefers the node with the lowest measured use.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .release = load_release,
    .pre_score = pre_score,
    .score = score,
    .score_nodes = score_nodes,
    .reads = load_request_reads,
    .kinds = load_kinds,
};

BERTH_PLUGINS(&load_balancing)
