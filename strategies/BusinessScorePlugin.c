/* BusinessScorePlugin.c: one score for cost, performance and reliability of a node.
 *
 *     score        = (40 cost + 35 performance + 25 reliability) / 100     weights are arguments
 *     cost         = steps of the price per core and hour
 *     performance  = as measured, or the weighted mean of labels: CPU generation, network, disk
 *     reliability  = the weighted mean of age, restarts, conditions, and spot or not
 *
 * Each part is a whole number from 0 to 100, rounded down. What is not known about a node is left out of a mean; a
 * part of which nothing is known has the score `unknown`.
 *
 * The age of a node is that at the creation of the pod, so that a decision can be repeated. It is the only thing that
 * differs between pods. */
#include <berth/plugin.h>

#include "at_once.h"
#include "node_price.h"
#include "row_cache.h"

enum { SECONDS_PER_HOUR = 3600 };

/* ---- tables ---- */
/* From this number on, until the next step; the first one counts below, too. */
struct step {
    double from;
    int64_t score;
};
struct value_row {
    struct berth_str value;
    int64_t score;
};
struct metric {
    struct berth_str label, annotation;
    int64_t weight;
    struct berth_list values, steps;
};
struct condition_row {
    struct berth_str type;
    int64_t penalty;
};

static const struct berth_field step_fields[] = {
    BERTH_FIELD("from", BERTH_DOUBLE, struct step, from),
    BERTH_FIELD("score", BERTH_INT, struct step, score),
    { 0 },
};
static const struct berth_field value_fields[] = {
    BERTH_FIELD("value", BERTH_STRING, struct value_row, value),
    BERTH_FIELD("score", BERTH_INT, struct value_row, score),
    { 0 },
};
static const struct berth_field metric_fields[] = {
    BERTH_FIELD("nodeLabel", BERTH_STRING, struct metric, label),
    BERTH_FIELD("nodeAnnotation", BERTH_STRING, struct metric, annotation),
    BERTH_FIELD("weight", BERTH_INT, struct metric, weight),
    BERTH_NESTED("values", BERTH_LIST, struct metric, values, value_fields, struct value_row),
    BERTH_NESTED("steps", BERTH_LIST, struct metric, steps, step_fields, struct step),
    { 0 },
};
static const struct berth_field condition_fields[] = {
    BERTH_FIELD("type", BERTH_STRING, struct condition_row, type),
    BERTH_FIELD("penalty", BERTH_INT, struct condition_row, penalty),
    { 0 },
};

/* ---- arguments ---- */
struct weights {
    int64_t cost, performance, reliability;
};
struct cost_args {
    struct price_args prices;
    struct berth_list steps;
    bool per_core;
};
struct age_args {
    int64_t weight;
    struct berth_list steps; /* hours */
};
struct restart_args {
    int64_t weight;
    struct berth_list steps;
    struct berth_str label, annotation;
};
struct condition_args {
    int64_t weight;
    struct berth_list penalties;
};
struct spot_args {
    int64_t weight, score;
};
struct reliability_args {
    struct age_args age;
    struct restart_args restarts;
    struct condition_args conditions;
    struct spot_args spot;
};
struct args {
    struct weights weights;
    int64_t unknown;
    struct cost_args cost;
    struct berth_list performance;
    struct berth_str measured;
    struct reliability_args reliability;
};

static const struct berth_field weight_fields[] = {
    BERTH_FIELD("cost", BERTH_INT, struct weights, cost),
    BERTH_FIELD("performance", BERTH_INT, struct weights, performance),
    BERTH_FIELD("reliability", BERTH_INT, struct weights, reliability),
    { 0 },
};
static const struct berth_field cost_fields[] = {
    PRICE_FIELDS(struct cost_args),
    BERTH_FIELD("perCore", BERTH_BOOL, struct cost_args, per_core),
    BERTH_NESTED("steps", BERTH_LIST, struct cost_args, steps, step_fields, struct step),
    { 0 },
};
static const struct berth_field age_fields[] = {
    BERTH_FIELD("weight", BERTH_INT, struct age_args, weight),
    BERTH_NESTED("stepsHours", BERTH_LIST, struct age_args, steps, step_fields, struct step),
    { 0 },
};
static const struct berth_field restart_fields[] = {
    BERTH_FIELD("weight", BERTH_INT, struct restart_args, weight),
    BERTH_FIELD("nodeLabel", BERTH_STRING, struct restart_args, label),
    BERTH_FIELD("nodeAnnotation", BERTH_STRING, struct restart_args, annotation),
    BERTH_NESTED("steps", BERTH_LIST, struct restart_args, steps, step_fields, struct step),
    { 0 },
};
static const struct berth_field conditions_fields[] = {
    BERTH_FIELD("weight", BERTH_INT, struct condition_args, weight),
    BERTH_NESTED("penalties", BERTH_LIST, struct condition_args, penalties, condition_fields,
                 struct condition_row),
    { 0 },
};
static const struct berth_field spot_fields[] = {
    BERTH_FIELD("weight", BERTH_INT, struct spot_args, weight),
    BERTH_FIELD("score", BERTH_INT, struct spot_args, score),
    { 0 },
};
static const struct berth_field reliability_fields[] = {
    BERTH_NESTED("age", BERTH_STRUCT, struct reliability_args, age, age_fields, struct age_args),
    BERTH_NESTED("restarts", BERTH_STRUCT, struct reliability_args, restarts, restart_fields,
                 struct restart_args),
    BERTH_NESTED("conditions", BERTH_STRUCT, struct reliability_args, conditions, conditions_fields,
                 struct condition_args),
    BERTH_NESTED("spot", BERTH_STRUCT, struct reliability_args, spot, spot_fields, struct spot_args),
    { 0 },
};
static const struct berth_field fields[] = {
    BERTH_NESTED("weights", BERTH_STRUCT, struct args, weights, weight_fields, struct weights),
    BERTH_FIELD("unknown", BERTH_INT, struct args, unknown),
    BERTH_NESTED("cost", BERTH_STRUCT, struct args, cost, cost_fields, struct cost_args),
    BERTH_NESTED("performance", BERTH_LIST, struct args, performance, metric_fields, struct metric),
    BERTH_FIELD("performanceAnnotation", BERTH_STRING, struct args, measured),
    BERTH_NESTED("reliability", BERTH_STRUCT, struct args, reliability, reliability_fields,
                 struct reliability_args),
    { 0 },
};

/* ---- defaults ---- */
#define LIST(array) { (array), sizeof(array) / sizeof((array)[0]) }
static const struct step price_steps[] = { { 0, 100 },   { 0.02, 80 }, { 0.04, 60 },
                                           { 0.06, 40 }, { 0.1, 20 },  { 0.2, 0 } };
static const struct step generation_steps[] = { { 0, 20 }, { 3, 40 }, { 4, 55 },
                                                { 5, 70 }, { 6, 85 }, { 7, 100 } };
static const struct step network_steps[] = { { 0, 20 }, { 1, 40 }, { 10, 70 }, { 25, 85 }, { 100, 100 } };
static const struct value_row network_values[] = { { TEXT("low"), 20 },
                                                   { TEXT("medium"), 60 },
                                                   { TEXT("high"), 100 } };
static const struct value_row disk_values[] = { { TEXT("hdd"), 20 },
                                                { TEXT("ssd"), 70 },
                                                { TEXT("nvme"), 100 } };
static const struct metric default_metrics[] = {
    { .label = TEXT("cpu-generation"), .weight = 40, .steps = LIST(generation_steps) },
    { .label = TEXT("network"), .weight = 30, .values = LIST(network_values), .steps = LIST(network_steps) },
    { .label = TEXT("disk"), .weight = 30, .values = LIST(disk_values) },
};
static const struct step age_steps[] = { { 0, 40 }, { 24, 70 }, { 168, 100 } };
static const struct step restart_steps[] = { { 0, 100 }, { 1, 70 }, { 5, 40 }, { 20, 0 } };
static const struct condition_row default_penalties[] = {
    { TEXT("Ready"), 100 },
    { TEXT("NetworkUnavailable"), 100 },
    { TEXT("MemoryPressure"), 50 },
    { TEXT("DiskPressure"), 50 },
    { TEXT("PIDPressure"), 50 },
    { TEXT("KernelDeadlock"), 100 }, /* from here on: of node-problem-detector */
    { TEXT("ReadonlyFilesystem"), 100 },
    { TEXT("FrequentKubeletRestart"), 50 },
    { TEXT("FrequentContainerdRestart"), 50 },
    { TEXT("FrequentDockerRestart"), 50 },
};
static const struct args defaults = {
    .weights = { 40, 35, 25 },
    .unknown = 50,
    .cost = { .prices = PRICE_DEFAULTS, .steps = LIST(price_steps), .per_core = true },
    .performance = LIST(default_metrics),
    .measured = TEXT("scheduling.berth.dev/performance"),
    .reliability = { .age = { 25, LIST(age_steps) },
                     .restarts = { 25, LIST(restart_steps), TEXT("scheduling.berth.dev/restarts"),
                                   TEXT("scheduling.berth.dev/restarts") },
                     .conditions = { 25, LIST(default_penalties) },
                     .spot = { 25, 30 } },
};

/* ---- checks ---- */
static bool in_percent(int64_t number)
{
    return number >= 0 && number <= 100;
}

static int check_steps(const struct berth_list *list, const char *name, struct berth_error *err)
{
    const struct step *steps = list->items;
    if (!list->len)
        return berth_fail(err, "%s: expected at least one step", name);
    for (uint32_t i = 0; i < list->len; i++) {
        if (!in_percent(steps[i].score))
            return berth_fail(err, "%s[%u].score: expected a number from 0 to 100", name, i);
        if (i && !(steps[i].from > steps[i - 1].from))
            return berth_fail(err, "%s[%u].from: expected more than the step before", name, i);
    }
    return 0;
}

static int check_metric(const struct metric *metric, uint32_t number, struct berth_error *err)
{
    char name[64];
    const struct value_row *values = metric->values.items;
    snprintf(name, sizeof(name), "performance[%u].steps", number);
    if (!metric->label.len == !metric->annotation.len)
        return berth_fail(err, "performance[%u]: expected a nodeLabel or a nodeAnnotation", number);
    if (!metric->values.len && !metric->steps.len)
        return berth_fail(err, "performance[%u]: expected values or steps", number);
    if (!in_percent(metric->weight))
        return berth_fail(err, "performance[%u].weight: expected a number from 0 to 100", number);
    for (uint32_t i = 0; i < metric->values.len; i++)
        if (!in_percent(values[i].score))
            return berth_fail(err, "performance[%u].values[%u].score: expected a number from 0 to 100",
                              number, i);
    return metric->steps.len ? check_steps(&metric->steps, name, err) : 0;
}

static int check_numbers(const struct args *args, struct berth_error *err)
{
    const struct reliability_args *reliability = &args->reliability;
    const struct {
        const char *name;
        int64_t number;
    } numbers[] = {
        { "weights.cost", args->weights.cost },
        { "weights.performance", args->weights.performance },
        { "weights.reliability", args->weights.reliability },
        { "unknown", args->unknown },
        { "reliability.age.weight", reliability->age.weight },
        { "reliability.restarts.weight", reliability->restarts.weight },
        { "reliability.conditions.weight", reliability->conditions.weight },
        { "reliability.spot.weight", reliability->spot.weight },
        { "reliability.spot.score", reliability->spot.score },
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (!in_percent(numbers[i].number))
            return berth_fail(err, "%s: expected a number from 0 to 100, got %lld", numbers[i].name,
                              (long long)numbers[i].number);
    if (!args->weights.cost && !args->weights.performance && !args->weights.reliability)
        return berth_fail(err, "weights: expected one that is more than 0");
    return 0;
}

static int check(const struct args *args, struct berth_error *err)
{
    const struct metric *metrics = args->performance.items;
    const struct condition_row *penalties = args->reliability.conditions.penalties.items;
    int r = check_numbers(args, err);
    if (r == 0)
        r = price_check(&args->cost.prices, err);
    if (r == 0)
        r = check_steps(&args->cost.steps, "cost.steps", err);
    if (r == 0)
        r = check_steps(&args->reliability.age.steps, "reliability.age.stepsHours", err);
    if (r == 0)
        r = check_steps(&args->reliability.restarts.steps, "reliability.restarts.steps", err);
    for (uint32_t i = 0; i < args->performance.len && r == 0; i++)
        r = check_metric(&metrics[i], i, err);
    for (uint32_t i = 0; i < args->reliability.conditions.penalties.len && r == 0; i++)
        if (!penalties[i].type.len || !in_percent(penalties[i].penalty))
            r = berth_fail(
                err, "reliability.conditions.penalties[%u]: expected a type, and a penalty from 0 to 100", i);
    return r;
}

/* ---- a node ---- */
struct mean {
    int64_t sum, weight;
};
struct self {
    const struct args *args;
    uint32_t weight; /* of all parts */
    struct row_cache nodes;
};
struct node_parts {
    struct row_entry entry;
    int64_t fixed;           /* cost and performance, times their weights */
    struct mean reliability; /* without the age */
    int64_t created_s;       /* 0: not known */
};

static void mean_add(struct mean *mean, int64_t weight, int64_t score)
{
    mean->sum += weight * score;
    mean->weight += weight;
}

static int64_t mean_of(const struct mean *mean, int64_t unknown)
{
    return mean->weight ? (uint32_t)mean->sum / (uint32_t)mean->weight
                        : unknown; /* much quicker than 64 bits */
}

static int64_t step_score(const struct berth_list *list, double number)
{
    const struct step *steps = list->items;
    uint32_t i = 0;
    while (i + 1 < list->len && number >= steps[i + 1].from)
        i++;
    return steps[i].score;
}

static int64_t cost_score(const struct args *args, const void *node, bool is_spot)
{
    double price, cores = value_allocatable(node, "status.allocatable[cpu]");
    if (!price_of(&args->cost.prices, node, is_spot, &price) || (args->cost.per_core && !(cores > 0)))
        return args->unknown;
    return step_score(&args->cost.steps, args->cost.per_core ? price / cores : price);
}

/* False: the node does not have it, or its value is in no table. */
static bool metric_score(const struct metric *metric, const void *node, int64_t *ret)
{
    const struct value_row *values = metric->values.items;
    struct berth_str text = metric->label.len ? berth_object_label(node, metric->label.ptr)
                                              : berth_object_annotation(node, metric->annotation.ptr);
    double number;
    for (uint32_t i = 0; text.ptr && i < metric->values.len; i++)
        if (berth_eq(values[i].value, text)) {
            *ret = values[i].score;
            return true;
        }
    if (!metric->steps.len || !value_number(text, &number))
        return false;
    *ret = step_score(&metric->steps, number);
    return true;
}

static int64_t performance_score(const struct args *args, const void *node)
{
    const struct metric *metrics = args->performance.items;
    const struct berth_str none = { NULL, 0 };
    struct mean mean = { 0, 0 };
    double measured;
    if (value_of_keys(node, args->measured, none, &measured))
        return measured < 0 ? 0 : measured > 100 ? 100 : (int64_t)measured;
    for (uint32_t i = 0; i < args->performance.len; i++) {
        int64_t score;
        if (metric_score(&metrics[i], node, &score))
            mean_add(&mean, metrics[i].weight, score);
    }
    return mean_of(&mean, args->unknown);
}

/* A condition is bad if it is True; Ready is bad if it is not. */
static int64_t penalty_of(const struct berth_list *list, const void *node, uint32_t number)
{
    const struct condition_row *rows = list->items;
    char path[64];
    snprintf(path, sizeof(path), "status.conditions[%u].type", number);
    struct berth_str type = berth_read("Node", node, path).text;
    snprintf(path, sizeof(path), "status.conditions[%u].status", number);
    bool is_true = berth_is(berth_read("Node", node, path).text, "True");
    for (uint32_t i = 0; i < list->len; i++)
        if (berth_eq(rows[i].type, type))
            return is_true != berth_is(type, "Ready") ? rows[i].penalty : 0;
    return 0;
}

static void add_reliability(const struct reliability_args *args, const void *node, bool is_spot,
                            struct mean *ret)
{
    uint32_t conditions = berth_read("Node", node, "status.conditions").len;
    int64_t left = 100;
    double restarts;
    mean_add(ret, args->spot.weight, is_spot ? args->spot.score : 100);
    if (value_of_keys(node, args->restarts.annotation, args->restarts.label, &restarts))
        mean_add(ret, args->restarts.weight, step_score(&args->restarts.steps, restarts));
    for (uint32_t i = 0; i < conditions; i++)
        left -= penalty_of(&args->conditions.penalties, node, i);
    if (conditions)
        mean_add(ret, args->conditions.weight, left > 0 ? left : 0);
}

static void fill_node(const void *context, const void *node, struct row_entry *ret)
{
    const struct self *self = context;
    const struct args *args = self->args;
    struct node_parts *parts = (struct node_parts *)(void *)ret;
    bool is_spot = value_is_spot(node, args->cost.prices.spot_label);
    parts->fixed = args->weights.cost * cost_score(args, node, is_spot) +
                   args->weights.performance * performance_score(args, node);
    parts->reliability = (struct mean){ 0, 0 };
    add_reliability(&args->reliability, node, is_spot, &parts->reliability);
    parts->created_s = berth_read("Node", node, "metadata.creationTimestamp").number;
}

/* ---- slots ---- */
static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    const struct args *args = env->args;
    const struct weights *weights = &args->weights;
    *self = (struct self){
        .args = args,
        .weight = (uint32_t)(weights->cost + weights->performance + weights->reliability),
        .nodes = { .size = sizeof(struct node_parts), .fill = fill_node },
    };
    *ret_self = self;
    return check(args, err);
}

static void release(void *data)
{
    struct self *self = data;
    row_cache_release(&self->nodes);
}

struct attempt {
    struct self *self;
    int64_t created_s; /* when the pod was created; 0: not known */
};

static const struct attempt *attempt_of(struct berth_cycle *cycle)
{
    void **state = berth_cycle_state(cycle);
    if (!*state) {
        struct attempt *attempt = berth_alloc(berth_cycle_arena(cycle), sizeof(*attempt));
        attempt->self = berth_cycle_self(cycle);
        row_cache_begin(&attempt->self->nodes, berth_cycle_cluster(cycle));
        attempt->created_s = berth_read("Pod", berth_cycle_pod(cycle), "metadata.creationTimestamp").number;
        *state = attempt;
    }
    return *state;
}

AT_ONCE int64_t node_score(const struct attempt *attempt, struct berth_node_view node)
{
    struct self *self = attempt->self;
    const struct args *args = self->args;
    const struct node_parts *parts = row_cache_get(&self->nodes, self, node);
    struct mean reliability = parts->reliability;
    int64_t now_s = attempt->created_s;
    if (now_s && parts->created_s)
        mean_add(
            &reliability, args->reliability.age.weight,
            step_score(&args->reliability.age.steps, (double)(now_s - parts->created_s) / SECONDS_PER_HOUR));
    int64_t sum = parts->fixed + args->weights.reliability * mean_of(&reliability, args->unknown);
    return (uint32_t)sum / self->weight;
}

SCORE_SLOTS(attempt_of, node_score)

/* No `reads`: the creation of a pod would put every pod in a class of its own, and no pod is skipped here. */
static const struct berth_plugin business_score = {
    .name = "BusinessScorePlugin",
    .doc = "Scores nodes by cost, performance and reliability together.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .release = release,
    .score = score,
    .score_nodes = score_nodes,
};

BERTH_PLUGINS(&business_score)
