/* LoadVariationRiskBalancing.c: prefers nodes whose use is low and steady, as the plugin of that name in
 * kubernetes-sigs/scheduler-plugins does, with its arguments.
 *
 *     mu    = average use / capacity + (this pod + fresh pods) / allocatable        by requests; 0 to 1
 *     sigma = margin x (deviation / capacity)^(1 / sensitivity)                     0 to 1
 *     score = 100 (1 - (mu + sigma) / 2), the lower one of CPU's and memory's
 *
 * A node without a usable sample has 0. Fresh pods are those placed since the sample began. */
#include <math.h>

#include "at_once.h"
#include "load.h"

struct args {
    struct load_source source;
    double margin, sensitivity;
};
static const struct berth_field fields[] = {
    LOAD_SOURCE_FIELDS(struct args),
    BERTH_FIELD("safeVarianceMargin", BERTH_DOUBLE, struct args, margin),
    BERTH_FIELD("safeVarianceSensitivity", BERTH_DOUBLE, struct args, sensitivity),
    { 0 },
};
static const struct args defaults = { .margin = 1, .sensitivity = 1 };

struct self {
    struct load load; /* the first: load_release() */
    double margin, sensitivity;
};
/* Without the pod. Shares; use is negative if it is not known. */
struct node {
    struct load_row row;
    double use[LOAD_RESOURCES], sigma[LOAD_RESOURCES], fresh[LOAD_RESOURCES], allocatable[LOAD_RESOURCES];
};
struct state {
    struct self *self;
    int64_t now;
    double request[LOAD_RESOURCES];
};

/* The deviation does not depend on the pod: the power is computed once per sample. */
static double risk_of_deviation(const struct self *self, double share)
{
    return load_clip(self->margin * pow(load_clip(share), 1 / self->sensitivity));
}

static void fill(void *context, struct berth_node_view view, const struct load_sample *sample,
                 struct load_row *row)
{
    const struct self *self = context;
    struct node *node = (struct node *)(void *)row;
    load_fresh_requests(&self->load, view, sample->at - sample->window_ns, node->fresh);
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        bool has_any = sample->allocatable[i] > 0;
        node->use[i] =
            sample->average[i] >= 0 && has_any ? load_clip(sample->average[i] / sample->capacity[i]) : -1;
        node->sigma[i] = has_any ? risk_of_deviation(self, sample->deviation[i] / sample->capacity[i]) : 0;
        node->allocatable[i] = sample->allocatable[i];
    }
}

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    *ret_self = self;
    load_init(&self->load, env, "LoadVariationRiskBalancing", sizeof(struct node), fill, self);
    self->margin = args->margin < 0 ? defaults.margin : args->margin;
    self->sensitivity = args->sensitivity < 0 ? defaults.sensitivity : args->sensitivity;
    return load_source_check(&args->source, "LoadVariationRiskBalancing", err);
}

static const struct state *state_of(struct berth_cycle *cycle)
{
    void **state = berth_cycle_state(cycle);
    if (!*state) {
        struct state *made = berth_alloc(berth_cycle_arena(cycle), sizeof(*made));
        made->self = berth_cycle_self(cycle);
        made->now = berth_cycle_now(cycle);
        for (int i = 0; i < LOAD_RESOURCES; i++)
            made->request[i] =
                (double)berth_pod_request(berth_cycle_info(cycle), made->self->load.numbers[i]);
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
    double risk = -1; /* the higher one of those that are known */
    if (!load_usable(&self->load, &node->row, view, state->now))
        return 0;
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        if (node->use[i] < 0)
            continue;
        double mu = load_clip(node->use[i] + (node->fresh[i] + state->request[i]) / node->allocatable[i]);
        double of_resource = (mu + node->sigma[i]) / 2;
        risk = of_resource > risk ? of_resource : risk;
    }
    return risk < 0 ? 0 : load_round((1 - risk) * BERTH_SCORE_MAX);
}

SCORE_SLOTS(state_of, node_score)

static const struct berth_plugin load_variation_risk_balancing = {
    .name = "LoadVariationRiskBalancing",
    .doc = "Prefers nodes whose measured use is low and steady.",
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

BERTH_PLUGINS(&load_variation_risk_balancing)
