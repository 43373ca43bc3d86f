/* LoadAwareScheduling.c: keeps pods off nodes that are busy, and prefers the least used ones, as the plugin of that
 * name in Koordinator does, with its arguments.
 *
 *     estimated = use of the node, or a percentile of it
 *               + for each pod that is not, or not fully, in the sample: its estimate, less what was measured of it
 *               + the estimate of this pod
 *     Filter    : round(100 estimated / allocatable) above a threshold: rejected
 *     Score     : (allocatable - estimated) 100 / allocatable; the weighted mean of CPU and memory, and of the lowest
 *                 one of them with its own weight
 *
 * For pods of the class koord-prod the thresholds, and the use, can be those of all such pods of the node. Pods of
 * DaemonSets are not filtered. */
#include <math.h>

#include "at_once.h"
#include "json_scan.h"
#include "koord_pod.h"
#include "pod_amounts.h"

#define THRESHOLDS_ANNOTATION "scheduling.koordinator.sh/usage-thresholds"
#define RAW_ALLOCATABLE_ANNOTATION "node.koordinator.sh/raw-allocatable"
/* Between two reports of a koordlet; for samples whose time is not known. */
#define REPORT_NS (60 * LOAD_SECOND_NS)

static const char *const resource_names[] = { "cpu", "memory" };

/* ---- arguments ---- */
enum { UNSET = -1 };
struct percents {
    int64_t of[LOAD_RESOURCES];
};
#define NO_PERCENTS \
    { \
        { \
            UNSET, UNSET \
        } \
    }
struct aggregated {
    struct percents thresholds;
    struct berth_str usage_type, score_type;
    int64_t usage_duration_ns, score_duration_ns;
};
struct args {
    bool filter_expired, schedule_when_expired, prod_includes_system, score_by_prod, is_customizable;
    int64_t expiration_s, dominant_weight, after_scheduled_s, after_initialized_s;
    struct percents weights, thresholds, prod_thresholds, factors;
    struct berth_str estimator;
    struct aggregated aggregated;
    struct berth_strs supported_resources;
};

static const struct berth_field percent_fields[] = {
    BERTH_FIELD("cpu", BERTH_INT, struct percents, of[LOAD_CPU]),
    BERTH_FIELD("memory", BERTH_INT, struct percents, of[LOAD_MEMORY]),
    { 0 },
};
#define PERCENTS(name, type, member) \
    BERTH_NESTED(name, BERTH_STRUCT, type, member, percent_fields, struct percents)

static const struct berth_field aggregated_fields[] = {
    PERCENTS("usageThresholds", struct aggregated, thresholds),
    BERTH_FIELD("usageAggregationType", BERTH_STRING, struct aggregated, usage_type),
    BERTH_FIELD("usageAggregatedDuration", BERTH_DURATION, struct aggregated, usage_duration_ns),
    BERTH_FIELD("scoreAggregationType", BERTH_STRING, struct aggregated, score_type),
    BERTH_FIELD("scoreAggregatedDuration", BERTH_DURATION, struct aggregated, score_duration_ns),
    { 0 },
};
static const struct berth_field fields[] = {
    BERTH_FIELD("filterExpiredNodeMetrics", BERTH_BOOL, struct args, filter_expired),
    BERTH_FIELD("nodeMetricExpirationSeconds", BERTH_INT, struct args, expiration_s),
    BERTH_FIELD("enableScheduleWhenNodeMetricsExpired", BERTH_BOOL, struct args, schedule_when_expired),
    PERCENTS("resourceWeights", struct args, weights),
    BERTH_FIELD("dominantResourceWeight", BERTH_INT, struct args, dominant_weight),
    PERCENTS("usageThresholds", struct args, thresholds),
    PERCENTS("prodUsageThresholds", struct args, prod_thresholds),
    BERTH_FIELD("prodUsageIncludeSys", BERTH_BOOL, struct args, prod_includes_system),
    BERTH_FIELD("scoreAccordingProdUsage", BERTH_BOOL, struct args, score_by_prod),
    BERTH_FIELD("estimator", BERTH_STRING, struct args, estimator),
    PERCENTS("estimatedScalingFactors", struct args, factors),
    BERTH_FIELD("estimatedSecondsAfterPodScheduled", BERTH_INT, struct args, after_scheduled_s),
    BERTH_FIELD("estimatedSecondsAfterInitialized", BERTH_INT, struct args, after_initialized_s),
    BERTH_FIELD("allowCustomizeEstimation", BERTH_BOOL, struct args, is_customizable),
    BERTH_NESTED("aggregated", BERTH_STRUCT, struct args, aggregated, aggregated_fields, struct aggregated),
    BERTH_FIELD("supportedResources", BERTH_STRINGS, struct args, supported_resources),
    { 0 },
};
static const struct args defaults = {
    .filter_expired = true,
    .expiration_s = 180,
    .after_scheduled_s = UNSET,
    .after_initialized_s = UNSET,
    .weights = NO_PERCENTS,
    .thresholds = NO_PERCENTS,
    .prod_thresholds = NO_PERCENTS,
    .factors = { { 85, 70 } },
    .aggregated = { .thresholds = NO_PERCENTS },
};

/* ---- data ---- */
enum { NO_STATISTIC = -1 };
/* The thresholds of a node: 0 is none. */
struct limits {
    int64_t use[LOAD_RESOURCES], prod[LOAD_RESOURCES], aggregated[LOAD_RESOURCES];
    int aggregation; /* the statistic that `aggregated` is about, or NO_STATISTIC */
};
struct self {
    struct load load; /* the first: load_release() */
    struct koord koord;
    const struct args *args;
    struct limits limits;
    int64_t weights[LOAD_RESOURCES];
    int score_statistic;
};
/* The use that a threshold is about, and the thresholds; by whether the pod is of the class prod. */
enum { OTHER_PODS, PROD_PODS, POD_KINDS };
/* Without the pod. */
struct node {
    struct load_row row;
    bool has_limits[POD_KINDS], is_aggregated[POD_KINDS];
    int64_t room[POD_KINDS][LOAD_RESOURCES]; /* what a pod may use at most */
    int64_t allocatable[LOAD_RESOURCES], score_use[LOAD_RESOURCES], prod_use[LOAD_RESOURCES];
};
struct state {
    struct self *self;
    int64_t now;
    bool is_prod, is_daemon, has_samples;
    int64_t estimate[LOAD_RESOURCES];
};

static bool any_of(const int64_t values[LOAD_RESOURCES])
{
    return values[LOAD_CPU] || values[LOAD_MEMORY];
}

static bool is_set(const struct percents *percents)
{
    return percents->of[LOAD_CPU] != UNSET || percents->of[LOAD_MEMORY] != UNSET;
}

/* What is not named in a map that is there is 0. */
static void copy_percents(const struct percents *percents, int64_t ret[LOAD_RESOURCES])
{
    for (int i = 0; i < LOAD_RESOURCES; i++)
        ret[i] = percents->of[i] == UNSET ? 0 : percents->of[i];
}

/* ---- checks ---- */
static int statistic_of(struct berth_str type)
{
    static const struct {
        const char *name;
        enum berth_statistic statistic;
    } types[] = { { "avg", BERTH_AVERAGE },
                  { "p50", BERTH_P50 },
                  { "p90", BERTH_P90 },
                  { "p95", BERTH_P95 },
                  { "p99", BERTH_P99 } };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (berth_is(type, types[i].name))
            return (int)types[i].statistic;
    return NO_STATISTIC;
}

static int check_percents(const struct args *args, struct berth_error *err)
{
    const struct {
        const char *name;
        const struct percents *percents;
        int64_t min;
    } rows[] = {
        { "resourceWeights", &args->weights, 1 },
        { "usageThresholds", &args->thresholds, 0 },
        { "prodUsageThresholds", &args->prod_thresholds, 0 },
        { "estimatedScalingFactors", &args->factors, 1 },
        { "aggregated.usageThresholds", &args->aggregated.thresholds, 0 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int j = 0; j < LOAD_RESOURCES; j++) {
            int64_t value = rows[i].percents->of[j];
            if (value != UNSET && (value < rows[i].min || value > 100))
                return berth_fail(err, "%s.%s: expected a number from %lld to 100, got %lld", rows[i].name,
                                  resource_names[j], (long long)rows[i].min, (long long)value);
        }
    return 0;
}

static int check_aggregated(const struct aggregated *args, struct berth_error *err)
{
    const struct {
        const char *name;
        struct berth_str type;
        int64_t duration_ns;
    } rows[] = { { "usage", args->usage_type, args->usage_duration_ns },
                 { "score", args->score_type, args->score_duration_ns } };
    for (size_t i = 0; i < 2; i++) {
        if (rows[i].type.len && statistic_of(rows[i].type) == NO_STATISTIC)
            return berth_fail(
                err,
                "aggregated.%sAggregationType: expected avg, p50, p90, p95 or p99, got \"" BERTH_FMT "\"",
                rows[i].name, BERTH_ARG(rows[i].type));
        if (rows[i].duration_ns < 0)
            return berth_fail(err, "aggregated.%sAggregatedDuration: expected no negative duration",
                              rows[i].name);
    }
    return 0;
}

static int check(const struct args *args, struct berth_error *err)
{
    if (args->expiration_s <= 0 || args->expiration_s > INT32_MAX)
        return berth_fail(err, "nodeMetricExpirationSeconds: expected a positive number of seconds, got %lld",
                          (long long)args->expiration_s);
    if (args->dominant_weight < 0 || args->dominant_weight > 100)
        return berth_fail(err, "dominantResourceWeight: expected a number from 0 to 100, got %lld",
                          (long long)args->dominant_weight);
    if (args->estimator.len && !berth_is(args->estimator, "defaultEstimator"))
        return berth_fail(err, "estimator: expected defaultEstimator, got \"" BERTH_FMT "\"",
                          BERTH_ARG(args->estimator));
    return check_percents(args, err) < 0 ? -1 : check_aggregated(&args->aggregated, err);
}

/* ---- init ---- */
static void set_limits(struct self *self)
{
    static const struct percents default_thresholds = { { 65, 95 } }, default_weights = { { 1, 1 } };
    const struct args *args = self->args;
    const struct aggregated *aggregated = &args->aggregated;
    struct limits *limits = &self->limits;
    copy_percents(is_set(&args->thresholds) ? &args->thresholds : &default_thresholds, limits->use);
    copy_percents(&args->prod_thresholds, limits->prod);
    copy_percents(&aggregated->thresholds, limits->aggregated);
    limits->aggregation =
        is_set(&aggregated->thresholds) ? statistic_of(aggregated->usage_type) : NO_STATISTIC;
    self->score_statistic = statistic_of(aggregated->score_type);
    copy_percents(is_set(&args->weights) || args->dominant_weight ? &args->weights : &default_weights,
                  self->weights);
    if (aggregated->usage_duration_ns || aggregated->score_duration_ns)
        berth_log(0, "LoadAwareScheduling: durations in `aggregated` have no effect: statistics are over 15 "
                     "minutes, or over what their source chooses");
}

static void fill(void *self, struct berth_node_view node, const struct load_sample *sample,
                 struct load_row *row);

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    *ret_self = self;
    self->args = args;
    if (check(args, err) < 0)
        return -1;
    load_init(&self->load, env, "LoadAwareScheduling", sizeof(struct node), fill, self);
    self->load.expiry_ns = args->expiration_s * LOAD_SECOND_NS;
    self->koord = (struct koord){ .is_customizable = args->is_customizable,
                                  .factors = { args->factors.of[LOAD_CPU], args->factors.of[LOAD_MEMORY] },
                                  .after_scheduled_s = args->after_scheduled_s,
                                  .after_initialized_s = args->after_initialized_s };
    koord_init(&self->koord, env->cluster, self->load.numbers);
    set_limits(self);
    return 0;
}

/* ---- annotations of a node ---- */
struct custom {
    struct percents use, prod, aggregated;
    int aggregation;
};

static bool read_percent(struct percents *percents, struct berth_str key, struct berth_str value,
                         bool is_text)
{
    int64_t number;
    if (is_text || !berth_to_int(value, &number))
        return false;
    for (int i = 0; i < LOAD_RESOURCES; i++)
        if (berth_is(key, resource_names[i]))
            percents->of[i] = number;
    return true;
}

static bool read_custom(void *context, const struct berth_str *keys, uint32_t depth, struct berth_str value,
                        bool is_text)
{
    struct custom *custom = context;
    bool is_aggregated = depth > 1 && berth_is(keys[0], "aggregatedUsage");
    if (depth == 2 && berth_is(keys[0], "usageThresholds"))
        return read_percent(&custom->use, keys[1], value, is_text);
    if (depth == 2 && berth_is(keys[0], "prodUsageThresholds"))
        return read_percent(&custom->prod, keys[1], value, is_text);
    if (is_aggregated && depth == 3 && berth_is(keys[1], "usageThresholds"))
        return read_percent(&custom->aggregated, keys[2], value, is_text);
    if (is_aggregated && depth == 2 && berth_is(keys[1], "usageAggregationType"))
        custom->aggregation = statistic_of(value);
    return true;
}

/* What the annotation names replaces the arguments. One that cannot be read changes nothing. */
static struct limits limits_of(const struct self *self, const void *object)
{
    struct limits limits = self->limits;
    struct custom custom = { NO_PERCENTS, NO_PERCENTS, NO_PERCENTS, NO_STATISTIC };
    struct berth_str text = berth_object_annotation(object, THRESHOLDS_ANNOTATION);
    if (!text.len || !json_scan(text, read_custom, &custom))
        return limits;
    if (is_set(&custom.use))
        copy_percents(&custom.use, limits.use);
    if (is_set(&custom.prod))
        copy_percents(&custom.prod, limits.prod);
    if (is_set(&custom.aggregated) && custom.aggregation != NO_STATISTIC) {
        copy_percents(&custom.aggregated, limits.aggregated);
        limits.aggregation = custom.aggregation;
    }
    return limits;
}

static bool read_raw(void *context, const struct berth_str *keys, uint32_t depth, struct berth_str value,
                     bool is_text)
{
    int64_t *amounts = context;
    double milli;
    (void)is_text;
    if (depth != 1 || !amount_parse(value, &milli))
        return false;
    if (berth_is(keys[0], "cpu"))
        amounts[LOAD_CPU] = (int64_t)ceil(milli);
    if (berth_is(keys[0], "memory"))
        amounts[LOAD_MEMORY] = (int64_t)ceil(milli / 1000);
    return true;
}

/* A node whose CPU is amplified shows more than it has. */
static void read_allocatable(const void *object, const struct load_sample *sample, struct node *node)
{
    int64_t raw[LOAD_RESOURCES];
    struct berth_str text = berth_object_annotation(object, RAW_ALLOCATABLE_ANNOTATION);
    for (int i = 0; i < LOAD_RESOURCES; i++)
        node->allocatable[i] = raw[i] = (int64_t)sample->allocatable[i];
    if (text.len && json_scan(text, read_raw, raw))
        memcpy(node->allocatable, raw, sizeof(raw));
}

/* ---- use ---- */
/* What the pods of a node add to its sample, and what its pods of the class prod use. */
struct pod_sums {
    bool has_samples;
    double measured[LOAD_RESOURCES]; /* of all pods */
    int64_t more[LOAD_RESOURCES], prod[LOAD_RESOURCES];
};

/* Of one pod: 0 if it is not known. */
static bool measured_of(const struct self *self, const struct berth_cluster *cluster,
                        const struct berth_pod_info *pod, double ret[LOAD_RESOURCES])
{
    bool is_known = false;
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        double use = berth_pod_sample(cluster, pod, self->load.numbers[i]);
        ret[i] = use >= 0 ? use : 0;
        is_known |= use >= 0;
    }
    return is_known;
}

static void add_missing(int64_t sum[LOAD_RESOURCES], const int64_t estimate[LOAD_RESOURCES],
                        const double measured[LOAD_RESOURCES])
{
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        int64_t missing = estimate[i] - (int64_t)ceil(measured[i]);
        sum[i] += missing > 0 ? missing : 0;
    }
}

/* A pod that is not measured is in the node's sample all the same if no pod of the node is measured: then there are
 * no samples of pods. */
static void add_pod(const struct self *self, const struct berth_cluster *cluster,
                    const struct load_sample *sample, const struct berth_pod_info *pod, bool with_prod,
                    struct pod_sums *sums)
{
    double measured[LOAD_RESOURCES];
    int64_t estimate[LOAD_RESOURCES];
    int64_t interval = sample->window_ns > 0 ? sample->window_ns : REPORT_NS;
    bool is_known = measured_of(self, cluster, pod, measured);
    bool is_prod = with_prod && koord_class(&self->koord, pod) == KOORD_PROD;
    bool is_new =
        load_is_fresh(pod, sample->at - interval) || koord_estimated_until(&self->koord, pod) > sample->at;
    bool is_left_out = is_new || (!is_known && sums->has_samples);
    for (int i = 0; is_prod && i < LOAD_RESOURCES; i++)
        sums->prod[i] += (int64_t)ceil(measured[i]);
    if (!is_left_out && !(is_prod && !is_known))
        return;
    koord_estimate(&self->koord, pod, estimate);
    if (is_left_out)
        add_missing(sums->more, estimate, measured);
    if (is_prod)
        add_missing(sums->prod, estimate, measured);
}

static struct pod_sums sum_pods(const struct self *self, struct berth_node_view view,
                                const struct load_sample *sample, bool with_prod)
{
    struct pod_sums sums = { 0 };
    struct berth_pod_infos pods = berth_node_pods(view);
    double measured[LOAD_RESOURCES];
    for (size_t i = 0; i < pods.len; i++)
        if (measured_of(self, view.cluster, pods.items[i], measured)) {
            sums.has_samples = true;
            for (int j = 0; j < LOAD_RESOURCES; j++)
                sums.measured[j] += measured[j];
        }
    for (size_t i = 0; i < pods.len; i++)
        add_pod(self, view.cluster, sample, pods.items[i], with_prod, &sums);
    return sums;
}

/* A statistic of the node that is not known is replaced by the newest value. */
static int64_t use_by(const struct self *self, struct berth_node_view view, const struct load_sample *sample,
                      int statistic, int resource)
{
    double use = statistic == NO_STATISTIC
                     ? UNSET
                     : berth_node_sample(view, self->load.numbers[resource], (enum berth_statistic)statistic);
    use = use >= 0 ? use : sample->latest[resource];
    return use > 0 ? (int64_t)ceil(use) : 0;
}

/* ---- thresholds ---- */
static double percent_of(int64_t use, int64_t total)
{
    return round((double)use / (double)total * 100);
}

/* The highest use whose percentage is not above the threshold. */
static int64_t highest_use(int64_t threshold, int64_t total)
{
    int64_t use = (int64_t)(((double)threshold + 0.5) / 100 * (double)total);
    while (use > 0 && percent_of(use, total) > (double)threshold)
        use--;
    while (percent_of(use + 1, total) <= (double)threshold)
        use++;
    return use;
}

static void set_room(struct node *node, int kind, const int64_t *thresholds, const int64_t *use)
{
    node->has_limits[kind] = any_of(thresholds);
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        bool is_limited = thresholds[i] && node->allocatable[i] > 0;
        node->room[kind][i] =
            is_limited ? highest_use(thresholds[i], node->allocatable[i]) - use[i] : INT64_MAX;
    }
}

/* `use` is that of the newest value, and by the statistic of the filter. */
static void set_rooms(struct node *node, const struct limits *limits, const int64_t *use,
                      const int64_t *aggregated_use)
{
    bool is_aggregated = limits->aggregation != NO_STATISTIC;
    for (int kind = 0; kind < POD_KINDS; kind++) {
        node->is_aggregated[kind] = is_aggregated;
        set_room(node, kind, is_aggregated ? limits->aggregated : limits->use,
                 is_aggregated ? aggregated_use : use);
    }
    if (any_of(limits->prod)) {
        node->is_aggregated[PROD_PODS] = false;
        set_room(node, PROD_PODS, limits->prod, node->prod_use);
    }
}

static void fill(void *context, struct berth_node_view view, const struct load_sample *sample,
                 struct load_row *row)
{
    const struct self *self = context;
    struct node *node = (struct node *)(void *)row;
    const void *object = berth_node_object(view);
    struct limits limits = limits_of(self, object);
    struct pod_sums sums = sum_pods(self, view, sample, self->args->score_by_prod || any_of(limits.prod));
    int64_t use[LOAD_RESOURCES], aggregated_use[LOAD_RESOURCES];
    read_allocatable(object, sample, node);
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        double system = sample->latest[i] - sums.measured[i];
        use[i] = use_by(self, view, sample, NO_STATISTIC, i) + sums.more[i];
        aggregated_use[i] = use_by(self, view, sample, limits.aggregation, i) + sums.more[i];
        node->score_use[i] = use_by(self, view, sample, self->score_statistic, i) + sums.more[i];
        node->prod_use[i] = sums.prod[i];
        if (self->args->prod_includes_system && system > 0)
            node->prod_use[i] += (int64_t)ceil(system);
    }
    set_rooms(node, &limits, use, aggregated_use);
}

/* ---- the pod ---- */
/* If no node has a sample that is not old, the source is silent. This says nothing about nodes: none is rejected. */
static bool has_samples(const struct self *self, struct berth_cycle *cycle, int64_t now)
{
    const struct berth_cluster *cluster = berth_cycle_cluster(cycle);
    struct berth_rows rows = berth_nodes(cluster);
    for (uint32_t i = 0; i < rows.len; i++)
        if (now - berth_node_sampled_at(berth_node(cluster, rows.items[i])) < self->load.expiry_ns)
            return true;
    return false;
}

static void describe_pod(const struct self *self, const struct berth_pod_info *pod, struct state *ret)
{
    ret->is_prod = koord_class(&self->koord, pod) == KOORD_PROD;
    ret->is_daemon = koord_is_daemon(berth_info_pod(pod));
    koord_estimate(&self->koord, pod, ret->estimate);
}

static const struct state *state_of(struct berth_cycle *cycle)
{
    void **state = berth_cycle_state(cycle);
    if (!*state) {
        struct state *made = berth_alloc(berth_cycle_arena(cycle), sizeof(*made));
        const struct self *self = made->self = berth_cycle_self(cycle);
        made->now = berth_cycle_now(cycle);
        describe_pod(self, berth_cycle_info(cycle), made);
        made->has_samples = self->args->filter_expired && !self->args->schedule_when_expired &&
                            has_samples(self, cycle, made->now);
        load_begin(&made->self->load, berth_cycle_cluster(cycle));
        *state = made;
    }
    return *state;
}

/* ---- Filter ---- */
static struct berth_status pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    (void)narrow;
    return state_of(cycle)->is_daemon ? berth_verdict(BERTH_SKIP) : BERTH_OK;
}

static struct berth_status reject_use(int resource, bool is_aggregated)
{
    if (resource == LOAD_CPU)
        return is_aggregated
                   ? BERTH_REJECT(BERTH_UNSCHEDULABLE, "node(s) aggregated cpu usage was above the threshold")
                   : BERTH_REJECT(BERTH_UNSCHEDULABLE, "node(s) cpu usage was above the threshold");
    return is_aggregated
               ? BERTH_REJECT(BERTH_UNSCHEDULABLE, "node(s) aggregated memory usage was above the threshold")
               : BERTH_REJECT(BERTH_UNSCHEDULABLE, "node(s) memory usage was above the threshold");
}

static struct berth_status judge_use(const struct node *node, const struct state *state)
{
    const int64_t *room = node->room[state->is_prod];
    for (int i = 0; i < LOAD_RESOURCES; i++)
        if (state->estimate[i] > room[i])
            return reject_use(i, node->is_aggregated[state->is_prod]);
    return BERTH_OK;
}

AT_ONCE struct berth_status judge(const struct state *state, struct berth_node_view view)
{
    struct self *self = state->self;
    if (state->is_daemon)
        return BERTH_OK;
    const struct node *node = load_row(&self->load, view);
    enum load_state sample = load_state(&self->load, &node->row, state->now);
    if (!node->has_limits[state->is_prod])
        return BERTH_OK;
    if (sample != LOAD_USABLE)
        load_report(&self->load, sample, view);
    if (sample == LOAD_OLD && self->args->filter_expired)
        return state->has_samples
                   ? BERTH_REJECT(BERTH_UNSCHEDULABLE, "node(s) had no recent sample of their usage")
                   : BERTH_OK;
    return sample == LOAD_USABLE || sample == LOAD_OLD ? judge_use(node, state) : BERTH_OK;
}

FILTER_SLOTS(state_of, judge)

/* ---- Score ---- */
static struct berth_status pre_score(struct berth_cycle *cycle)
{
    state_of(cycle);
    return BERTH_OK;
}

static int64_t free_percent(int64_t used, int64_t total)
{
    int64_t hundredfold;
    if (total <= 0 || used > total)
        return 0;
    if (__builtin_mul_overflow(total - used, BERTH_SCORE_MAX, &hundredfold))
        return (total - used) / (total / BERTH_SCORE_MAX);
    return hundredfold / total;
}

static int64_t score_of(const struct self *self, const struct node *node, const struct state *state,
                        const int64_t *use)
{
    int64_t dominant = self->args->dominant_weight;
    int64_t sum = 0, weights = dominant, lowest = BERTH_SCORE_MAX;
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        int64_t percent = free_percent(use[i] + state->estimate[i], node->allocatable[i]);
        sum += percent * self->weights[i];
        weights += self->weights[i];
        lowest = percent < lowest ? percent : lowest;
    }
    return weights > 0 ? (sum + lowest * dominant) / weights : 0;
}

AT_ONCE int64_t node_score(const struct state *state, struct berth_node_view view)
{
    struct self *self = state->self;
    const struct node *node = load_row(&self->load, view);
    if (!load_usable(&self->load, &node->row, view, state->now))
        return 0;
    return score_of(self, node, state,
                    self->args->score_by_prod && state->is_prod ? node->prod_use : node->score_use);
}

SCORE_SLOTS(state_of, node_score)

/* ---- waking ---- */
/* Whether a pod that uses nothing would be rejected: then any is, and need not be looked at. */
static bool is_full(const struct node *node)
{
    static const struct state nothing[POD_KINDS] = { { .is_prod = false }, { .is_prod = true } };
    return judge_use(node, &nothing[OTHER_PODS]).code != BERTH_SUCCESS &&
           judge_use(node, &nothing[PROD_PODS]).code != BERTH_SUCCESS;
}

/* A sample helps if the node that it is about is below the thresholds now. */
static enum berth_hint_answer sampled(const struct berth_hint *hint, const struct berth_pod *pod,
                                      const struct berth_event *event)
{
    struct self *self = berth_hint_self(hint);
    const struct berth_cluster *cluster = berth_hint_cluster(hint);
    const void *sample = berth_event_after(event);
    uint32_t row = berth_node_row(cluster, berth_object_name(sample));
    struct state state = { .self = self };
    if (!sample) /* the node passes without one */
        return BERTH_HINT_QUEUE;
    if (row == BERTH_ROW_NONE)
        return BERTH_HINT_SKIP;
    load_refresh(&self->load, cluster);
    const struct node *node = load_row(&self->load, berth_node(cluster, row));
    if (is_full(node))
        return BERTH_HINT_SKIP;
    describe_pod(self, berth_find_pod(cluster, berth_object_namespace(pod), berth_object_name(pod)), &state);
    return judge_use(node, &state).code == BERTH_SUCCESS ? BERTH_HINT_QUEUE : BERTH_HINT_SKIP;
}

static const struct berth_event_rule events[] = {
    { BERTH_EVENT_SAMPLE, BERTH_ADD | BERTH_UPDATE | BERTH_DELETE, sampled },
    { BERTH_EVENT_ASSIGNED_POD, BERTH_DELETE | BERTH_POD_SCALE_DOWN, NULL },
    { BERTH_EVENT_TARGET_POD, BERTH_POD_LABEL | BERTH_POD_SCALE_DOWN, NULL },
    { BERTH_EVENT_NODE, BERTH_ADD | BERTH_NODE_ALLOCATABLE | BERTH_NODE_ANNOTATION, NULL },
    { 0 },
};

/* ---- Reserve ---- */
/* Koordinator's configurations enable it there: it counts the pod then, and here the model does. */
static struct berth_status reserve(struct berth_cycle *cycle, uint32_t row)
{
    (void)cycle;
    (void)row;
    return BERTH_OK;
}

static void unreserve(struct berth_cycle *cycle, uint32_t row)
{
    (void)cycle;
    (void)row;
}

static const char *const kinds[] = { "NodeMetrics", "PodMetrics", NULL };

static const struct berth_plugin load_aware_scheduling = {
    .name = "LoadAwareScheduling",
    .doc = "Keeps pods off nodes whose measured use is high, and prefers the least used ones.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .release = load_release,
    .pre_filter = pre_filter,
    .filter = filter,
    .filter_nodes = filter_nodes,
    .pre_score = pre_score,
    .score = score,
    .score_nodes = score_nodes,
    .reserve = reserve,
    .unreserve = unreserve,
    .events = events,
    .kinds = kinds,
};

BERTH_PLUGINS(&load_aware_scheduling)
