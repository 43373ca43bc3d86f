/* AdaptiveSchedulingPlugin.c: moves the weights of other plugins, by what is known about a namespace and the cluster.
 *
 *     observe ──▶ workloads.h: numbers ──▶ conditions that hold ──▶ rules ──▶ a target for each weight
 *                                                                              │ one step per interval
 *     weigh   ◀── the weights of the pod's namespace ◀─────────────────────────┘
 *
 * A rule says that a weight goes up or down while a condition holds. If more rules that apply say up than down, the
 * target is the upper bound, if fewer, the lower one, and else the configured weight: so each move is taken back, step
 * by step, when its reason is gone. A condition ends only when its value is some way beyond the threshold, so that
 * weights do not go back and forth.
 *
 * Weights move when an attempt begins, before anything of it is decided, and not while it is under way. All nodes and
 * pods are looked at once per interval: a part with each attempt, and with each tick. */
#include <stdlib.h>

#include "workloads.h"

#define NAME "AdaptiveSchedulingPlugin"
#define SECOND LOAD_SECOND_NS
#define TICK_NS (SECOND / 5)
enum { WEIGHTS_MAX = 16, RULES_MAX = 64, REASON_LEN = 256 };

/* ---- arguments ---- */
struct bounds {
    struct berth_str plugin;
    int64_t min, max, step;
};
struct rule_args {
    struct berth_str when, plugin, direction;
};
struct args {
    int64_t interval_ns, window_ns, short_ns, long_ns, min_observations;
    double hysteresis, thresholds[CONDITION_COUNT];
    struct berth_list weights, rules;
};

static const struct berth_field bounds_fields[] = {
    BERTH_FIELD("plugin", BERTH_STRING, struct bounds, plugin),
    BERTH_FIELD("min", BERTH_INT, struct bounds, min),
    BERTH_FIELD("max", BERTH_INT, struct bounds, max),
    BERTH_FIELD("step", BERTH_INT, struct bounds, step),
    { 0 },
};
static const struct berth_field rule_fields[] = {
    BERTH_FIELD("when", BERTH_STRING, struct rule_args, when),
    BERTH_FIELD("plugin", BERTH_STRING, struct rule_args, plugin),
    BERTH_FIELD("direction", BERTH_STRING, struct rule_args, direction),
    { 0 },
};
static const struct berth_field threshold_fields[] = {
#define X(name, text, argument, threshold, is_most, words) \
    { argument, BERTH_DOUBLE, CONDITION_##name * sizeof(double), NULL, 0 },
    CONDITIONS(X)
#undef X
        { 0 },
};
static const struct berth_field fields[] = {
    BERTH_FIELD("interval", BERTH_DURATION, struct args, interval_ns),
    BERTH_FIELD("window", BERTH_DURATION, struct args, window_ns),
    BERTH_FIELD("shortRunning", BERTH_DURATION, struct args, short_ns),
    BERTH_FIELD("longRunning", BERTH_DURATION, struct args, long_ns),
    BERTH_FIELD("minObservations", BERTH_INT, struct args, min_observations),
    BERTH_FIELD("hysteresis", BERTH_DOUBLE, struct args, hysteresis),
    BERTH_NESTED("thresholds", BERTH_STRUCT, struct args, thresholds, threshold_fields,
                 double[CONDITION_COUNT]),
    BERTH_NESTED("weights", BERTH_LIST, struct args, weights, bounds_fields, struct bounds),
    BERTH_NESTED("rules", BERTH_LIST, struct args, rules, rule_fields, struct rule_args),
    { 0 },
};
static const struct args defaults = {
    .interval_ns = 60 * SECOND,
    .window_ns = 900 * SECOND,
    .short_ns = 300 * SECOND,
    .long_ns = 3600 * SECOND,
    .min_observations = 10,
    .hysteresis = 0.1,
    .thresholds = {
#define X(name, text, argument, threshold, is_most, words) [CONDITION_##name] = threshold,
        CONDITIONS(X)
#undef X
    },
};

static const struct {
    const char *name, *words;
    bool is_most; /* holds if the value is at most the threshold */
} conditions[] = {
#define X(name, text, argument, threshold, is_most, words) { text, words, is_most },
    CONDITIONS(X)
#undef X
};

/* Without `rules`. Those about plugins that do not score here are left out. */
static const struct {
    enum condition when;
    int direction;
    const char *plugin;
} default_rules[] = {
    { CONDITION_UNEVEN, +1, "LoadBalancingPlugin" },
    { CONDITION_UNEVEN, +1, "LoadAwareScheduling" },
    { CONDITION_UNEVEN, +1, "LoadVariationRiskBalancing" },
    { CONDITION_BUSY, +1, "LoadBalancingPlugin" },
    { CONDITION_BUSY, +1, "LoadAwareScheduling" },
    { CONDITION_BUSY, +1, "LowRiskOverCommitment" },
    { CONDITION_BUSY, -1, "CostOptimizationPlugin" },
    { CONDITION_IDLE, +1, "CostOptimizationPlugin" },
    { CONDITION_IDLE, +1, "TargetLoadPacking" },
    { CONDITION_IDLE, +1, "Peaks" },
    { CONDITION_CPU_HEAVY, +1, "NodeResourcesBalancedAllocation" },
    { CONDITION_MEMORY_HEAVY, +1, "NodeResourcesBalancedAllocation" },
    { CONDITION_SHORT_RUNNING, +1, "ImageLocality" },
    { CONDITION_LONG_RUNNING, +1, "PodTopologySpread" },
    { CONDITION_LONG_RUNNING, +1, "BusinessScorePlugin" },
    { CONDITION_PENDING, -1, "CostOptimizationPlugin" },
    { CONDITION_SLOW, +1, "ImageLocality" },
    { CONDITION_FAILING, -1, "CostOptimizationPlugin" },
    { CONDITION_FAILING, -1, "Peaks" },
};
#define LEN(array) (sizeof(array) / sizeof((array)[0]))

/* ---- data ---- */
struct weight {
    const char *plugin;
    uint32_t scorer; /* its number */
    int32_t configured, min, max, step;
};
struct rule {
    enum condition when;
    uint32_t weight;
    int direction;
};

struct self {
    const struct args *args;
    const char *profile;
    struct workloads workloads;
    struct weight weights[WEIGHTS_MAX];
    uint32_t weights_len;
    struct rule rules[RULES_MAX];
    uint32_t rules_len;
    uint32_t holds;      /* conditions of the cluster: 1 << enum condition */
    int64_t surveyed_at; /* when the last survey began; 0: none has */
    bool is_known;       /* one has ended */
};

/* What is kept about a namespace: workload.more. */
struct move {
    int32_t weight;
    char reason[REASON_LEN];
};
struct moves {
    int64_t evaluated_at;
    uint32_t holds;
    bool is_moved;
    struct move items[];
};

/* ---- arguments to data ---- */
static char *copy(struct berth_arena *arena, struct berth_str text)
{
    char *found = berth_alloc(arena, text.len + 1);
    if (text.len)
        memcpy(found, text.ptr, text.len);
    return found;
}

/* BERTH_SCORER_NONE: none with that name. */
static uint32_t find_weight(const struct self *self, const char *plugin)
{
    for (uint32_t i = 0; i < self->weights_len; i++)
        if (strcmp(self->weights[i].plugin, plugin) == 0)
            return i;
    return BERTH_SCORER_NONE;
}

static int add_bounds(struct self *self, const struct berth_env *env, const struct bounds *bounds,
                      uint32_t number, struct berth_error *err)
{
    struct weight weight = { .plugin = copy(env->arena, bounds->plugin) };
    weight.scorer = berth_scorer(env->handle, weight.plugin);
    weight.configured = berth_scorer_weight(env->handle, weight.scorer);
    if (weight.scorer == BERTH_SCORER_NONE)
        return berth_fail(err, "weights[%u].plugin: expected a plugin that is enabled at score, got \"%s\"",
                          number, weight.plugin);
    if (find_weight(self, weight.plugin) != BERTH_SCORER_NONE)
        return berth_fail(err, "weights[%u].plugin: \"%s\" is in the list twice", number, weight.plugin);
    if (bounds->min < 0 || bounds->max > BERTH_WEIGHT_MAX || bounds->min > weight.configured ||
        bounds->max < weight.configured)
        return berth_fail(err,
                          "weights[%u]: expected min and max from 0 to %d, with the configured weight %d "
                          "between them, got %lld and %lld",
                          number, BERTH_WEIGHT_MAX, weight.configured, (long long)bounds->min,
                          (long long)bounds->max);
    if (bounds->step < 0 || bounds->step > BERTH_WEIGHT_MAX)
        return berth_fail(err, "weights[%u].step: expected a number from 1 to %d, got %lld", number,
                          BERTH_WEIGHT_MAX, (long long)bounds->step);
    weight.min = (int32_t)bounds->min;
    weight.max = (int32_t)bounds->max;
    weight.step = bounds->step ? (int32_t)bounds->step : 1;
    self->weights[self->weights_len++] = weight;
    return 0;
}

/* Without `weights`: from half to twice the weight in quarters of it, of the plugins that default rules name. */
static void add_default_bounds(struct self *self, const struct berth_env *env, const char *plugin)
{
    struct weight weight = { .plugin = plugin, .scorer = berth_scorer(env->handle, plugin) };
    weight.configured = berth_scorer_weight(env->handle, weight.scorer);
    if (weight.scorer == BERTH_SCORER_NONE || find_weight(self, plugin) != BERTH_SCORER_NONE ||
        weight.configured < 1 || weight.configured > BERTH_WEIGHT_MAX / 2 || self->weights_len == WEIGHTS_MAX)
        return;
    weight.min = (weight.configured + 1) / 2;
    weight.max = weight.configured * 2;
    weight.step = (weight.configured + 3) / 4;
    self->weights[self->weights_len++] = weight;
}

static int read_weights(struct self *self, const struct berth_env *env, struct berth_error *err)
{
    const struct bounds *items = self->args->weights.items;
    uint32_t len = self->args->weights.len;
    if (len > WEIGHTS_MAX)
        return berth_fail(err, "weights: expected at most %d plugins, got %u", WEIGHTS_MAX, len);
    for (uint32_t i = 0; i < len; i++)
        if (add_bounds(self, env, &items[i], i, err) < 0)
            return -1;
    for (size_t i = 0; !len && i < LEN(default_rules); i++)
        add_default_bounds(self, env, default_rules[i].plugin);
    return 0;
}

static int add_rule(struct self *self, const struct berth_env *env, const struct rule_args *args,
                    uint32_t number, struct berth_error *err)
{
    struct rule rule = { .when = 0, .weight = find_weight(self, copy(env->arena, args->plugin)) };
    while (rule.when < CONDITION_COUNT && !berth_is(args->when, conditions[rule.when].name))
        rule.when++;
    if (rule.when == CONDITION_COUNT)
        return berth_fail(
            err,
            "rules[%u].when: expected ShortRunning, LongRunning, CPUHeavy, MemoryHeavy, Pending, "
            "Busy, Idle, Uneven, Slow or Failing, got \"" BERTH_FMT "\"",
            number, BERTH_ARG(args->when));
    if (rule.weight == BERTH_SCORER_NONE)
        return berth_fail(err, "rules[%u].plugin: expected a plugin of weights, got \"" BERTH_FMT "\"",
                          number, BERTH_ARG(args->plugin));
    rule.direction = berth_is(args->direction, "Up") ? 1 : berth_is(args->direction, "Down") ? -1 : 0;
    if (!rule.direction)
        return berth_fail(err, "rules[%u].direction: expected Up or Down, got \"" BERTH_FMT "\"", number,
                          BERTH_ARG(args->direction));
    self->rules[self->rules_len++] = rule;
    return 0;
}

static int read_rules(struct self *self, const struct berth_env *env, struct berth_error *err)
{
    const struct rule_args *items = self->args->rules.items;
    uint32_t len = self->args->rules.len;
    if (len > RULES_MAX)
        return berth_fail(err, "rules: expected at most %d, got %u", RULES_MAX, len);
    for (uint32_t i = 0; i < len; i++)
        if (add_rule(self, env, &items[i], i, err) < 0)
            return -1;
    for (size_t i = 0; !len && i < LEN(default_rules); i++) {
        uint32_t weight = find_weight(self, default_rules[i].plugin);
        if (weight != BERTH_SCORER_NONE)
            self->rules[self->rules_len++] =
                (struct rule){ default_rules[i].when, weight, default_rules[i].direction };
    }
    return 0;
}

static int check(const struct args *args, struct berth_error *err)
{
    if (args->interval_ns < SECOND || args->interval_ns > 3600 * SECOND)
        return berth_fail(err, "interval: expected a duration from 1s to 1h");
    if (args->window_ns < 10 * SECOND || args->window_ns > 24 * 3600 * SECOND)
        return berth_fail(err, "window: expected a duration from 10s to 24h");
    if (args->short_ns <= 0 || args->short_ns > args->long_ns)
        return berth_fail(err, "shortRunning: expected a duration that is not longer than longRunning");
    if (args->min_observations < 1)
        return berth_fail(err, "minObservations: expected a number from 1 on, got %lld",
                          (long long)args->min_observations);
    if (!(args->hysteresis >= 0 && args->hysteresis < 1))
        return berth_fail(err, "hysteresis: expected a number from 0 to less than 1, got %g",
                          args->hysteresis);
    for (int i = 0; i < CONDITION_COUNT; i++)
        if (!(args->thresholds[i] > 0 && args->thresholds[i] < 1e9))
            return berth_fail(err, "thresholds.%s: expected a number above 0, got %g",
                              threshold_fields[i].name, args->thresholds[i]);
    return 0;
}

static bool is_needed(const struct workload *workload)
{
    const struct moves *moves = workload->more;
    return moves && moves->is_moved;
}

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    const struct args *args = env->args;
    self->args = args;
    self->profile = copy(env->arena, env->scheduler_name);
    if (check(args, err) < 0 || read_weights(self, env, err) < 0 || read_rules(self, env, err) < 0)
        return -1;
    if (!self->rules_len)
        berth_log(0, NAME ": no rule is about a plugin that scores in profile %s, so no weight is moved",
                  self->profile);
    workloads_init(&self->workloads, env, NAME,
                   &(struct workloads_options){ args->window_ns, args->short_ns, args->long_ns });
    self->workloads.is_needed = is_needed;
    if (self->rules_len)
        berth_tick_every(env->handle, TICK_NS);
    *ret_self = self;
    return 0;
}

static void release(void *data)
{
    struct self *self = data;
    if (self)
        workloads_release(&self->workloads);
}

/* ---- conditions ---- */
static bool holds(const struct self *self, const struct workload *workload, enum condition condition,
                  bool held, int64_t now)
{
    double observations, threshold = self->args->thresholds[condition];
    double value = workload_value(&self->workloads, workload, condition, now, &observations);
    double margin = held ? self->args->hysteresis * threshold : 0;
    if (observations < (double)self->args->min_observations)
        return false;
    return conditions[condition].is_most ? value <= threshold + margin : value >= threshold - margin;
}

static uint32_t which_hold(const struct self *self, const struct workload *workload, enum condition first,
                           enum condition end, uint32_t held, int64_t now)
{
    uint32_t found = 0;
    for (enum condition i = first; i < end; i++)
        found |= (uint32_t)holds(self, workload, i, held >> i & 1, now) << i;
    return found;
}

/* "Uneven (spread of use of nodes 0.21, threshold 0.15), Busy (...)": of the rules that apply to the weight. */
static void explain(const struct self *self, const struct workload *workload, uint32_t weight, uint32_t held,
                    int direction, int64_t now, char *ret)
{
    size_t len = 0;
    ret[0] = '\0';
    for (uint32_t i = 0; i < self->rules_len; i++) {
        const struct rule *rule = &self->rules[i];
        double observations;
        if (rule->weight != weight || rule->direction != direction || !(held >> rule->when & 1))
            continue;
        double value = workload_value(&self->workloads, workload, rule->when, now, &observations);
        int n = snprintf(ret + len, REASON_LEN - len, "%s%s (%s %.3g, threshold %.3g)", len ? ", " : "",
                         conditions[rule->when].name, conditions[rule->when].words, value,
                         self->args->thresholds[rule->when]);
        if (n < 0 || (size_t)n >= REASON_LEN - len)
            break;
        len += (size_t)n;
    }
}

/* ---- moves ---- */
static void count_move(const struct self *self, const struct workload *workload, const struct weight *weight,
                       int32_t from, int32_t to)
{
    static const struct berth_metric_info gauge = {
        .name = "berth_strategy_weight",
        .help = "Weights of scores that were moved for a namespace.",
        .type = BERTH_GAUGE,
        .labels = { "profile", "namespace", "plugin" },
    };
    static const struct berth_metric_info counter = {
        .name = "berth_strategy_weight_moves_total",
        .help = "Moves of the weights of scores, by direction.",
        .type = BERTH_COUNTER,
        .labels = { "profile", "namespace", "plugin", "direction" },
    };
    const struct berth_str labels[] = { berth_text(self->profile), berth_text(workload->name),
                                        berth_text(weight->plugin), berth_text(to > from ? "up" : "down") };
    berth_metric_set(berth_metric_get(&gauge, labels), to);
    berth_metric_add(berth_metric_get(&counter, labels), 1);
}

/* Away from the configured weight: one step. Back to it: as many steps as intervals have passed, for nothing of the
 * namespace was decided meanwhile. A move ends at the configured weight. */
static int32_t next_weight(const struct weight *weight, int32_t from, int32_t target, int64_t intervals)
{
    int32_t end = target;
    bool is_back = (from - weight->configured) * (int64_t)(target - from) < 0;
    if (is_back && (from - weight->configured) * (int64_t)(target - weight->configured) < 0)
        end = weight->configured;
    int64_t most = (is_back && intervals > 1 ? intervals : 1) * weight->step;
    int64_t way = end > from ? (int64_t)end - from : (int64_t)from - end;
    way = way > most ? most : way;
    return (int32_t)(end > from ? from + way : from - way);
}

static void move(const struct self *self, struct workload *workload, uint32_t number, int32_t target,
                 const char *reason, int64_t intervals)
{
    const struct weight *weight = &self->weights[number];
    struct move *item = &((struct moves *)workload->more)->items[number];
    int32_t from = item->weight, to = next_weight(weight, from, target, intervals);
    snprintf(item->reason, sizeof(item->reason), "%s", reason);
    if (from == to)
        return;
    item->weight = to;
    berth_log(0, NAME ": namespace %s: the weight of %s moves from %d to %d (configured: %d): %s",
              workload->name, weight->plugin, from, to, weight->configured, reason);
    count_move(self, workload, weight, from, to);
}

static void evaluate_weight(struct self *self, struct workload *workload, uint32_t number, uint32_t held,
                            int64_t intervals, int64_t now)
{
    const struct weight *weight = &self->weights[number];
    char reason[REASON_LEN];
    int votes = 0;
    for (uint32_t i = 0; i < self->rules_len; i++)
        if (self->rules[i].weight == number && held >> self->rules[i].when & 1)
            votes += self->rules[i].direction;
    if (votes)
        explain(self, workload, number, held, votes > 0 ? 1 : -1, now, reason);
    else
        snprintf(reason, sizeof(reason), "back to %d: no rule applies any more", weight->configured);
    move(self, workload, number,
         votes > 0   ? weight->max
         : votes < 0 ? weight->min
                     : weight->configured,
         reason, intervals);
}

static struct moves *moves_of(const struct self *self, struct workload *workload)
{
    if (!workload->more) {
        struct moves *moves = calloc(1, sizeof(*moves) + self->weights_len * sizeof(moves->items[0]));
        if (!moves)
            abort();
        for (uint32_t i = 0; i < self->weights_len; i++)
            moves->items[i].weight = self->weights[i].configured;
        workload->more = moves;
    }
    return workload->more;
}

static void evaluate(struct self *self, struct workload *workload, int64_t now)
{
    struct moves *moves = moves_of(self, workload);
    int64_t intervals = moves->evaluated_at ? (now - moves->evaluated_at) / self->args->interval_ns : 1;
    if (now < moves->evaluated_at) /* the clock was set back: an interval begins */
        moves->evaluated_at = now;
    if (intervals < 1)
        return;
    moves->evaluated_at = now;
    moves->holds = which_hold(self, workload, 0, CONDITION_OF_CLUSTER, moves->holds, now);
    moves->is_moved = false;
    for (uint32_t i = 0; i < self->weights_len; i++) {
        evaluate_weight(self, workload, i, moves->holds | self->holds, intervals, now);
        moves->is_moved |= moves->items[i].weight != self->weights[i].configured;
    }
}

/* ---- the survey ---- */
static void go_on(struct self *self, const struct berth_cluster *cluster, bool all_the_rest, int64_t now)
{
    if (!workloads_survey(&self->workloads, cluster, all_the_rest, now))
        return;
    self->is_known = true;
    self->holds = which_hold(self, NULL, CONDITION_OF_CLUSTER, CONDITION_COUNT, self->holds, now);
}

static bool is_due(const struct self *self, int64_t now)
{
    bool is_early = now >= self->surveyed_at && now - self->surveyed_at < self->args->interval_ns;
    return !self->workloads.is_surveying && (!self->surveyed_at || !is_early);
}

static void begin(struct self *self, const struct berth_cluster *cluster, bool whole, int64_t now)
{
    self->surveyed_at = now;
    go_on(self, cluster, whole, now);
}

/* Also while there are no attempts. Before the first one the cluster may be incomplete. */
static void tick(void *data, const struct berth_cluster *cluster, int64_t now)
{
    struct self *self = data;
    if (self->workloads.is_surveying)
        go_on(self, cluster, false, now);
    else if (self->surveyed_at && is_due(self, now))
        begin(self, cluster, false, now);
}

/* ---- slots ---- */
static void observe(void *data, const struct berth_observation *what)
{
    struct self *self = data;
    const struct berth_pod_info *pod = berth_observed_pod(what);
    int64_t now = berth_observed_at(what);
    enum berth_observed kind = berth_observed_kind(what);
    if (!self->rules_len)
        return;
    if (kind == BERTH_POD_GONE) {
        workloads_gone(&self->workloads, pod, now);
        return;
    }
    /* What goes on does so where an attempt ends: its beginning is told twice if it is explained. */
    if (kind == BERTH_ATTEMPT_BEGINS && is_due(self, now))
        begin(self, berth_observed_cluster(what), berth_observed_alone(what), now);
    else if (kind != BERTH_ATTEMPT_BEGINS && self->workloads.is_surveying)
        go_on(self, berth_observed_cluster(what), false, now);
    struct workload *workload =
        workloads_get(&self->workloads, berth_object_namespace(berth_info_pod(pod)), now);
    if (kind != BERTH_ATTEMPT_BEGINS)
        workloads_attempt(&self->workloads, workload, kind == BERTH_ATTEMPT_PLACED, berth_observed_wait(what),
                          now);
    else if (workload && self->is_known)
        evaluate(self, workload, now);
}

static void weigh(struct berth_cycle *cycle)
{
    const struct self *self = berth_cycle_self(cycle);
    const struct workload *workload =
        workloads_find(&self->workloads, berth_object_namespace(berth_cycle_pod(cycle)));
    const struct moves *moves = workload ? workload->more : NULL;
    for (uint32_t i = 0; moves && moves->is_moved && i < self->weights_len; i++)
        if (moves->items[i].weight != self->weights[i].configured)
            berth_set_weight(cycle, self->weights[i].scorer, moves->items[i].weight,
                             berth_text(moves->items[i].reason));
}

static const char *const reads[] = { "metadata.namespace", NULL };

static const struct berth_plugin adaptive_scheduling = {
    .name = NAME,
    .doc = "Moves the weights of other plugins by the workload of a namespace and the state of the cluster.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .release = release,
    .weigh = weigh,
    .observe = observe,
    .tick = tick,
    .reads = reads,
    .kinds = load_kinds,
};

BERTH_PLUGINS(&adaptive_scheduling)
