/* LowRiskOverCommitment.c: prefers nodes where limits beyond the node's size and real use beyond the requests are
 * unlikely to harm, as the plugin of that name in kubernetes-sigs/scheduler-plugins does, with its arguments.
 *
 *     riskLimit = (limit - size) / (limit - request)        limit > size, with this pod; else 0
 *     riskLoad  = 1 - P(use <= request share) / P(use <= limit share)        without this pod
 *     risk      = w riskLimit + (1 - w) riskLoad
 *     score     = 100 (1 - the higher risk of CPU's and memory's)
 *
 * The size is what is allocatable. P is a beta distribution with the mean mu = average use / capacity + fresh pods /
 * allocatable and the deviation sigma = deviation / capacity x sqrt(window size), at most 0.99 of the largest variance.
 * The divisor counts only if the limits are less than the size. A best-effort pod, and a node without a usable sample,
 * have 0. */
#include <math.h>

#include "at_once.h"
#include "beta.h"
#include "load.h"
#include "pod_amounts.h"

#define VARIANCE_SHARE_MAX 0.99

static const char *const resources[] = { "cpu", "memory" };

struct weights {
    double of[LOAD_RESOURCES];
};
struct args {
    struct load_source source;
    int64_t window_size;
    struct weights weights;
};
static const struct berth_field weight_fields[] = {
    BERTH_FIELD("cpu", BERTH_DOUBLE, struct weights, of[LOAD_CPU]),
    BERTH_FIELD("memory", BERTH_DOUBLE, struct weights, of[LOAD_MEMORY]),
    { 0 },
};
static const struct berth_field fields[] = {
    LOAD_SOURCE_FIELDS(struct args),
    BERTH_FIELD("smoothingWindowSize", BERTH_INT, struct args, window_size),
    BERTH_NESTED("riskLimitWeights", BERTH_STRUCT, struct args, weights, weight_fields, struct weights),
    { 0 },
};
#define WEIGHT_DEFAULT 0.5
enum { WINDOW_SIZE_DEFAULT = 5 };
static const struct args defaults = { .window_size = WINDOW_SIZE_DEFAULT,
                                      .weights = { { WEIGHT_DEFAULT, WEIGHT_DEFAULT } } };

struct amounts {
    int64_t request[LOAD_RESOURCES], limit[LOAD_RESOURCES];
};
struct self {
    struct load load; /* the first: load_release() */
    double window_root, weights[LOAD_RESOURCES];
};
/* Without the pod. */
struct node {
    struct load_row row;
    double risk_load[LOAD_RESOURCES], size[LOAD_RESOURCES];
    struct amounts sum;
};
struct state {
    struct self *self;
    int64_t now;
    struct amounts pod;
};

/* ---- amounts ---- */
/* A limit below the request counts as the request. */
static struct amounts amounts_of(const struct self *self, const struct berth_pod_info *pod)
{
    struct amounts amounts;
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        int64_t limit = amount_limit(berth_info_pod(pod), resources[i]);
        amounts.request[i] = berth_pod_request(pod, self->load.numbers[i]);
        amounts.limit[i] = limit > amounts.request[i] ? limit : amounts.request[i];
    }
    return amounts;
}

/* ---- risk by use ---- */
struct fit {
    bool is_beta;
    double a, b;
};

static double probability(double mu, double sigma, double threshold, struct fit *ret)
{
    *ret = (struct fit){ 0 };
    if (mu == 0 || (sigma == 0 && mu <= threshold))
        return 1;
    double variance = sigma * sigma;
    if (sigma == 0 || variance >= mu * (1 - mu))
        return 0;
    double size = mu * (1 - mu) / variance - 1;
    *ret = (struct fit){ true, mu * size, (1 - mu) * size };
    return beta_cdf(ret->a, ret->b, threshold);
}

static double risk_of_use(double mu, double sigma, double request, double limit, double size)
{
    struct fit fit;
    double within = probability(mu, sigma, load_clip(request / size), &fit);
    if (limit < size && request <= limit) {
        double below_limit = fit.is_beta ? beta_cdf(fit.a, fit.b, limit / size) : 0;
        if (limit == 0)
            within = 1;
        else if (below_limit > 0)
            within = load_clip(within / below_limit);
    }
    return 1 - within;
}

static double node_risk(const struct self *self, const struct load_sample *sample, const struct node *node,
                        const double *fresh, int resource)
{
    double size = sample->allocatable[resource];
    double deviation = sample->deviation[resource] > 0 ? sample->deviation[resource] : 0;
    if (sample->average[resource] < 0 || !(size > 0))
        return 0;
    double mu =
        load_clip(load_clip(sample->average[resource] / sample->capacity[resource]) + fresh[resource] / size);
    double sigma = load_clip(deviation / sample->capacity[resource]) * self->window_root;
    double most = sqrt(mu * (1 - mu) * VARIANCE_SHARE_MAX);
    double request = fmin((double)node->sum.request[resource], size);
    return risk_of_use(mu, fmin(sigma, most), request, (double)node->sum.limit[resource], size);
}

static void fill(void *context, struct berth_node_view view, const struct load_sample *sample,
                 struct load_row *row)
{
    const struct self *self = context;
    struct node *node = (struct node *)(void *)row;
    struct berth_pod_infos pods = berth_node_pods(view);
    double fresh[LOAD_RESOURCES];
    node->sum = (struct amounts){ 0 };
    for (size_t i = 0; i < pods.len; i++) {
        struct amounts amounts = amounts_of(self, pods.items[i]);
        for (int j = 0; j < LOAD_RESOURCES; j++) {
            node->sum.request[j] += amounts.request[j];
            node->sum.limit[j] += amounts.limit[j];
        }
    }
    load_fresh_requests(&self->load, view, sample->at - sample->window_ns, fresh);
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        node->size[i] = sample->allocatable[i];
        node->risk_load[i] = node_risk(self, sample, node, fresh, i);
    }
}

/* ---- init ---- */
static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    *ret_self = self;
    load_init(&self->load, env, "LowRiskOverCommitment", sizeof(struct node), fill, self);
    self->window_root = sqrt((double)(args->window_size > 0 ? args->window_size : WINDOW_SIZE_DEFAULT));
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        double weight = args->weights.of[i];
        self->weights[i] = weight >= 0 && weight <= 1 ? weight : WEIGHT_DEFAULT;
    }
    return load_source_check(&args->source, "LowRiskOverCommitment", err);
}

/* ---- Score ---- */
static const struct state *state_of(struct berth_cycle *cycle)
{
    void **state = berth_cycle_state(cycle);
    if (!*state) {
        struct state *made = berth_alloc(berth_cycle_arena(cycle), sizeof(*made));
        made->self = berth_cycle_self(cycle);
        made->now = berth_cycle_now(cycle);
        made->pod = amounts_of(made->self, berth_cycle_info(cycle));
        load_begin(&made->self->load, berth_cycle_cluster(cycle));
        *state = made;
    }
    return *state;
}

static bool is_best_effort(const struct amounts *amounts)
{
    return !amounts->limit[LOAD_CPU] && !amounts->limit[LOAD_MEMORY];
}

static struct berth_status pre_score(struct berth_cycle *cycle)
{
    return is_best_effort(&state_of(cycle)->pod) ? berth_verdict(BERTH_SKIP) : BERTH_OK;
}

static double risk_of_limits(const struct node *node, const struct amounts *pod, int resource)
{
    double size = node->size[resource];
    double limit = (double)(node->sum.limit[resource] + pod->limit[resource]);
    double request = fmin((double)(node->sum.request[resource] + pod->request[resource]), size);
    return limit > size ? (limit - size) / (limit - request) : 0;
}

AT_ONCE int64_t node_score(const struct state *state, struct berth_node_view view)
{
    struct self *self = state->self;
    const struct node *node = load_row(&self->load, view);
    double risk = 0;
    if (is_best_effort(&state->pod) || !load_usable(&self->load, &node->row, view, state->now))
        return 0;
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        double w = self->weights[i];
        double of_resource =
            load_clip(w * risk_of_limits(node, &state->pod, i) + (1 - w) * node->risk_load[i]);
        risk = of_resource > risk ? of_resource : risk;
    }
    return load_round((1 - risk) * BERTH_SCORE_MAX);
}

SCORE_SLOTS(state_of, node_score)

static const char *const reads[] = { "spec.containers[].resources",
                                     "spec.initContainers[].resources",
                                     "spec.initContainers[].restartPolicy",
                                     "spec.overhead",
                                     "spec.resources",
                                     NULL };

static const struct berth_plugin low_risk_over_commitment = {
    .name = "LowRiskOverCommitment",
    .doc = "Prefers nodes where limits and measured use are unlikely to exceed what the node has.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .release = load_release,
    .pre_score = pre_score,
    .score = score,
    .score_nodes = score_nodes,
    .reads = reads,
    .kinds = load_kinds,
};

BERTH_PLUGINS(&low_risk_over_commitment)
