/* NodeResourcesFit: does the pod fit into what the node has left, and how well?
 *
 * The filter names every resource that is short. Evicting pods does not help a request larger than the whole node,
 * so the status is then UnschedulableAndUnresolvable; too many pods alone does not. */
#include "plugins/node_resources/scorer.h"

#include <math.h>

#include "api/names.h"
#include "api/pod_resources.h"
#include "api/resource_list.h"
#include "framework/shortfall.h"
#include "plugins/device_classes.h"

enum { SHAPE_POINTS_MAX = 101 };

struct fit {
    struct scorer scorer;
    enum scoring_type strategy;
    struct shape_point shape[SHAPE_POINTS_MAX]; /* scores already scaled to SCORE_MAX */
    uint32_t shape_len;
    struct str_list ignored, ignored_groups;
};

/* A resource that can be short. */
struct want {
    uint32_t resource;
    bool by_devices; /* on a node that has none of it, devices may stand for it */
    int64_t value;
};

/* What the pod needs of columns, and the resources that no node has and no device stands for. */
struct wants {
    struct str *missing;
    uint32_t missing_len;
    uint32_t len;
    struct want items[];
};

/* The status of nodes that are short of the same. */
struct known_shortage {
    uint64_t bits;
    const bool *by_want; /* NULL: as the bits say */
    struct status status;
    struct known_shortage *next;
};
enum { KNOWN_BUCKETS = 64 };

struct fit_state {
    struct wants *wants;                    /* NULL: PreFilter did not run */
    struct known_shortage **known;          /* by hash; NULL: no node was rejected */
    bool scores;                            /* requests are known */
    int64_t requests[SCORER_RESOURCES_MAX]; /* for scoring */
};

static int fit_init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    const struct node_resources_fit_args *args = env->args;
    const struct scoring_strategy *strategy = args->scoring_strategy;
    struct fit *fit = arena_new(env->arena, struct fit);
    fit->strategy = strategy->kind;
    fit->ignored = args->ignored_resources;
    fit->ignored_groups = args->ignored_resource_groups;
    if (strategy->requested_to_capacity_ratio) {
        list_for(&strategy->requested_to_capacity_ratio->shape, point) {
            if (fit->shape_len == SHAPE_POINTS_MAX)
                return error_set(err, -E2BIG, "more than %d points in the shape", SHAPE_POINTS_MAX);
            fit->shape[fit->shape_len++] = (struct shape_point){ point->utilization, point->score * 10 };
        }
    }
    *ret_self = fit;
    return scorer_init(&fit->scorer, env->cluster, strategy->resources.items, strategy->resources.len, false,
                       err);
}

static void fit_release(void *self)
{
    scorer_release(&((struct fit *)self)->scorer);
}

static bool listed(const struct str_list *list, struct str name)
{
    list_for(list, item)
        if (str_eq(*item, name))
            return true;
    return false;
}

static bool is_ignored(const struct fit *fit, struct str name)
{
    if (!fit->ignored.len && !fit->ignored_groups.len)
        return false;
    ptrdiff_t slash = str_find(name, '/');
    struct str group = str_slice(name, 0, slash < 0 ? name.len : (size_t)slash);
    return name_is_extended_resource(name) &&
           (listed(&fit->ignored, name) || listed(&fit->ignored_groups, group));
}

static struct fit_state *fit_state(struct cycle *cycle)
{
    void **slot = cycle_state(cycle);
    if (!*slot)
        *slot = arena_new(cycle->arena, struct fit_state);
    return *slot;
}

static bool is_wanted(const struct amount *want)
{
    return want->resource >= RES_SCALAR_FIRST ? want->value != 0 : want->value > 0;
}

static void add_missing(const struct fit *fit, const struct cluster *cluster,
                        const struct absent_list *absent, struct wants *wants, struct arena *arena)
{
    wants->missing = absent->len ? arena_array(arena, struct str, absent->len) : NULL;
    for (uint32_t i = 0; i < absent->len; i++) {
        struct str name = absent->items[i].resource->name;
        if (!is_ignored(fit, name) && !device_class_provides(cluster, name))
            wants->missing[wants->missing_len++] = name;
    }
}

static struct wants *wants_of(const struct fit *fit, const struct cluster *cluster,
                              const struct pod_class *cls, struct arena *arena)
{
    struct wants *wants = arena_zalloc(arena, sizeof(*wants) + cls->fit_len * sizeof(struct want));
    for (uint32_t i = 0; i < cls->fit_len; i++) {
        const struct amount *want = &cls->fit[i];
        struct str name = cluster->resource_names.items[want->resource];
        bool scalar = want->resource >= RES_SCALAR_FIRST;
        if (is_wanted(want) && !(scalar && is_ignored(fit, name)))
            wants->items[wants->len++] =
                (struct want){ want->resource, scalar && device_class_provides(cluster, name), want->value };
    }
    add_missing(fit, cluster, &cls->fit_absent, wants, arena);
    return wants;
}

static struct status fit_pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    (void)narrow;
    struct fit_state *state = fit_state(cycle);
    state->wants = wants_of(cycle_self(cycle), cycle->cluster, cycle->info->class, cycle->arena);
    state->known = NULL;
    return STATUS_OK;
}

static bool is_left_to_devices(const struct want *want, int64_t there)
{
    return want->by_devices && there <= 0;
}

/* What the node is short of: bits, the last ones by number of the want. No node has what is missing. */
enum { SHORT_OF_PODS = 1, SHORT_FOR_EVER = 2, SHORT_OF_MISSING = 4, SHORT_OF_FIRST = 8, SHORT_BITS = 3 };
enum { WANTS_IN_BITS = 64 - SHORT_BITS };

static _always_inline_ bool is_short(const struct want *want, struct node_view node, int64_t there)
{
    return want->value > wrap_add(there, -node_used(node, want->resource)) &&
           !is_left_to_devices(want, there);
}

/* Inlined into the repair of rows, where the view is of the cluster as it is. Of at most WANTS_IN_BITS. */
static _always_inline_ uint64_t shortage(const struct wants *wants, struct node_view node)
{
    uint64_t shorts = node_used(node, RES_PODS) + 1 > node_alloc(node, RES_PODS) ? SHORT_OF_PODS : 0;
    if (wants->missing_len)
        shorts |= SHORT_OF_MISSING | SHORT_FOR_EVER;
    for (uint32_t i = 0; i < wants->len; i++) {
        const struct want *want = &wants->items[i];
        int64_t there = node_alloc(node, want->resource);
        if (is_short(want, node, there))
            shorts |= (uint64_t)SHORT_OF_FIRST << i | (want->value > there ? SHORT_FOR_EVER : 0);
    }
    return shorts;
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The resources that are short, by number of the want; NULL: as the bits say. */
struct shortages {
    const struct wants *wants;
    uint64_t bits;
    const bool *by_want;
};

static bool shortages_have(const struct shortages *shorts, uint32_t i)
{
    return shorts->by_want ? shorts->by_want[i] : shorts->bits >> (SHORT_BITS + i) & 1;
}

static void add_reasons(struct cycle *cycle, const struct shortages *shorts, uint32_t from, uint32_t to,
                        struct str *reasons, uint32_t *len)
{
    for (uint32_t i = 0; i < shorts->wants->len; i++) {
        uint32_t resource = shorts->wants->items[i].resource;
        if (resource >= from && resource < to && shortages_have(shorts, i))
            reasons[(*len)++] = arena_printf(cycle->arena, "Insufficient " STR_FMT,
                                             STR_ARG(cycle->cluster->resource_names.items[resource]));
    }
}

/* The reference walks scalar resources in no particular order; we name them sorted. */
static struct status shortage_status(struct cycle *cycle, const struct shortages *shorts)
{
    const struct wants *wants = shorts->wants;
    uint32_t len = 0;
    if (!shorts->bits)
        return STATUS_OK;
    struct str *reasons = arena_array(cycle->arena, struct str, (size_t)wants->len + wants->missing_len + 1);
    if (shorts->bits & SHORT_OF_PODS)
        reasons[len++] = STR("Too many pods");
    for (uint32_t resource = RES_CPU; resource <= RES_EPHEMERAL; resource++)
        add_reasons(cycle, shorts, resource, resource + 1, reasons, &len);
    uint32_t fixed = len;
    add_reasons(cycle, shorts, RES_SCALAR_FIRST, UINT32_MAX, reasons, &len);
    for (uint32_t i = 0; i < wants->missing_len; i++)
        reasons[len++] = arena_printf(cycle->arena, "Insufficient " STR_FMT, STR_ARG(wants->missing[i]));
    qsort(reasons + fixed, len - fixed, sizeof(*reasons), by_text);
    return (struct status){ .code =
                                shorts->bits & SHORT_FOR_EVER ? STATUS_UNRESOLVABLE : STATUS_UNSCHEDULABLE,
                            .reasons = reasons,
                            .len = len };
}

/* ---- nodes that are short of the same have one status: a pod may name thousands of resources ---- */
static bool is_same_shortage(const struct known_shortage *known, const struct shortages *shorts)
{
    return known->bits == shorts->bits &&
           (!shorts->by_want ||
            memcmp(known->by_want, shorts->by_want, shorts->wants->len * sizeof(*shorts->by_want)) == 0);
}

static struct known_shortage **bucket_of(struct cycle *cycle, struct fit_state *state,
                                         const struct shortages *shorts)
{
    struct str by_want = { (const char *)shorts->by_want, shorts->by_want ? shorts->wants->len : 0 };
    if (!state->known)
        state->known = arena_array(cycle->arena, struct known_shortage *, KNOWN_BUCKETS);
    return &state->known[(table_hash(by_want) ^ table_hash_number(shorts->bits)) % KNOWN_BUCKETS];
}

static struct status known_status(struct cycle *cycle, struct fit_state *state,
                                  const struct shortages *shorts)
{
    if (!shorts->bits)
        return STATUS_OK;
    struct known_shortage **bucket = bucket_of(cycle, state, shorts);
    for (const struct known_shortage *known = *bucket; known; known = known->next)
        if (is_same_shortage(known, shorts))
            return known->status;
    struct known_shortage *added = arena_new(cycle->arena, struct known_shortage);
    *added = (struct known_shortage){ shorts->bits, NULL, shortage_status(cycle, shorts), *bucket };
    if (shorts->by_want)
        added->by_want =
            arena_copy(cycle->arena, bool, shorts->by_want, shorts->wants->len, shorts->wants->len);
    *bucket = added;
    return added->status;
}

/* More resources than there are bits. */
static struct status status_of_many(struct cycle *cycle, struct fit_state *state, struct node_view node)
{
    const struct wants *wants = state->wants;
    _cleanup_(freep) bool *by_want = xcalloc(wants->len, sizeof(*by_want));
    uint64_t bits = node_used(node, RES_PODS) + 1 > node_alloc(node, RES_PODS) ? SHORT_OF_PODS : 0;
    if (wants->missing_len)
        bits |= SHORT_OF_MISSING | SHORT_FOR_EVER;
    for (uint32_t i = 0; i < wants->len; i++) {
        int64_t there = node_alloc(node, wants->items[i].resource);
        by_want[i] = is_short(&wants->items[i], node, there);
        if (by_want[i])
            bits |= SHORT_OF_FIRST | (wants->items[i].value > there ? SHORT_FOR_EVER : 0);
    }
    return known_status(cycle, state, &(struct shortages){ wants, bits, by_want });
}

/* What the pod's node counts for it already. */
static int64_t counted_already(const struct pod_usage *used, uint32_t resource)
{
    for (uint32_t i = 0; i < used->len; i++)
        if (used->items[i].resource == resource)
            return used->items[i].value;
    return 0;
}

/* A resize of a pod on its own node, where it is counted with the larger size: the node is short if it is promised more
 * than it has. As in the reference the pod needs another place among the node's pods, and of scalar resources only what
 * is not counted yet is looked at. */
static struct status status_of_resize(struct cycle *cycle, const struct wants *wants, struct node_view node)
{
    bool *by_want = arena_array(cycle->arena, bool, wants->len);
    uint64_t bits = node_used(node, RES_PODS) + 1 > node_alloc(node, RES_PODS) ? SHORT_OF_PODS : 0;
    for (uint32_t i = 0; i < wants->len; i++) {
        struct want more = wants->items[i];
        int64_t there = node_alloc(node, more.resource), value = more.value;
        bool scalar = more.resource >= RES_SCALAR_FIRST;
        more.value = MAX(wrap_add(value, -counted_already(pod_used(cycle->info), more.resource)), 0);
        by_want[i] = !(scalar && !more.value) && is_short(&more, node, there);
        if (by_want[i])
            bits |= SHORT_OF_FIRST | ((scalar ? more.value : value) > there ? SHORT_FOR_EVER : 0);
    }
    return shortage_status(cycle, &(struct shortages){ wants, bits, by_want });
}

static struct status fit_filter(struct cycle *cycle, struct node_view node)
{
    struct fit_state *state = fit_state(cycle);
    const struct wants *wants = state->wants;
    if (!wants)
        return reject(STATUS_ERROR, "error reading \"PreFilterNodeResourcesFit\" from cycleState: not found");
    if (cycle->info->resize_deferred && cycle->info->row == node.row)
        return status_of_resize(cycle, wants, node);
    if (wants->len > WANTS_IN_BITS)
        return status_of_many(cycle, state, node);
    return known_status(cycle, state, &(struct shortages){ wants, shortage(wants, node), NULL });
}

/* A resource of which the node has too little, or none. */
static void explain_want(const struct cycle *cycle, struct node_view node, struct want want,
                         struct shortfall_list *ret)
{
    struct str name = cycle->cluster->resource_names.items[want.resource];
    int64_t there = node_alloc(node, want.resource);
    if (is_short(&want, node, there))
        shortfall_add_amount(ret, name, want.value, wrap_add(there, -node_used(node, want.resource)), there);
}

static void fit_explain(struct cycle *cycle, struct node_view node, struct shortfall_list *ret)
{
    const struct wants *wants = fit_state(cycle)->wants;
    const struct absent_list *absent = &cycle->info->class->fit_absent;
    bool is_resize = cycle->info->resize_deferred && cycle->info->row == node.row;
    int64_t places = node_alloc(node, RES_PODS), pods = node_used(node, RES_PODS);
    if (pods + 1 > places)
        shortfall_add_amount(ret, STR("pods"), 1, places - pods, places);
    for (uint32_t i = 0; i < wants->len; i++) {
        struct want want = wants->items[i];
        if (is_resize)
            want.value = MAX(wrap_add(want.value, -counted_already(pod_used(cycle->info), want.resource)), 0);
        explain_want(cycle, node, want, ret);
    }
    for (uint32_t i = 0, k = 0; i < absent->len && k < wants->missing_len && !is_resize; i++)
        if (str_eq(absent->items[i].resource->name, wants->missing[k])) /* they are in the same order */
            shortfall_add_amount(ret, wants->missing[k++], absent->items[i].value, 0, 0);
}

/* ---- scoring ---- */
/* Worked out before scoring, or with the first node where the profile runs the plugin at Score alone. */
static const struct fit_state *scoring_state(struct cycle *cycle)
{
    const struct fit *fit = cycle_self(cycle);
    struct fit_state *state = fit_state(cycle);
    if (!state->scores)
        scorer_requests(&fit->scorer, cycle->pod, cycle->arena, state->requests);
    state->scores = true;
    return state;
}

static struct status fit_pre_score(struct cycle *cycle)
{
    (void)scoring_state(cycle);
    return STATUS_OK;
}

static int64_t least_allocated(const struct fit *fit, int64_t requested, int64_t capacity)
{
    (void)fit;
    return requested > capacity ? 0 : wrap_div(wrap_mul(wrap_add(capacity, -requested), SCORE_MAX), capacity);
}

static int64_t most_allocated(const struct fit *fit, int64_t requested, int64_t capacity)
{
    (void)fit;
    return wrap_div(wrap_mul(MIN(requested, capacity), SCORE_MAX), capacity);
}

/* A broken line through the points of the shape. */
static int64_t shape_value(const struct fit *fit, int64_t percent)
{
    const struct shape_point *shape = fit->shape;
    for (uint32_t i = 0; i < fit->shape_len; i++) {
        if (percent > shape[i].utilization)
            continue;
        if (i == 0)
            return shape[0].score;
        return shape[i - 1].score + (shape[i].score - shape[i - 1].score) *
                                        (percent - shape[i - 1].utilization) /
                                        (shape[i].utilization - shape[i - 1].utilization);
    }
    return fit->shape_len ? shape[fit->shape_len - 1].score : 0;
}

static int64_t capacity_ratio(const struct fit *fit, int64_t requested, int64_t capacity)
{
    return shape_value(fit, requested > capacity ? 100 : wrap_div(wrap_mul(requested, 100), capacity));
}

static int64_t (*const strategies[SCORING_TYPES])(const struct fit *, int64_t, int64_t) = {
    [SCORING_LEAST_ALLOCATED] = least_allocated,
    [SCORING_MOST_ALLOCATED] = most_allocated,
    [SCORING_REQUESTED_TO_CAPACITY] = capacity_ratio,
};

/* The weighted mean over the resources that the node has. */
static int64_t fit_value(const struct fit *fit, const int64_t *requested, const int64_t *allocatable)
{
    bool ratio = fit->strategy == SCORING_REQUESTED_TO_CAPACITY;
    int64_t sum = 0, weights = 0;
    for (uint32_t i = 0; i < fit->scorer.len; i++) {
        if (!allocatable[i])
            continue;
        int64_t score = strategies[fit->strategy](fit, requested[i], allocatable[i]);
        if (ratio && score <= 0)
            continue;
        sum += score * fit->scorer.items[i].weight;
        weights += fit->scorer.items[i].weight;
    }
    if (!weights)
        return 0;
    return ratio ? (int64_t)round((double)sum / (double)weights) : sum / weights;
}

static const char *const strategy_names[] = { [SCORING_LEAST_ALLOCATED] = "LeastAllocated",
                                              [SCORING_MOST_ALLOCATED] = "MostAllocated",
                                              [SCORING_REQUESTED_TO_CAPACITY] = "RequestedToCapacityRatio" };

static struct status fit_score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    const struct fit *fit = cycle_self(cycle);
    const struct fit_state *state = scoring_state(cycle);
    int64_t requested[SCORER_RESOURCES_MAX], allocated[SCORER_RESOURCES_MAX],
        allocatable[SCORER_RESOURCES_MAX];
    scorer_node(&fit->scorer, node, state->requests, requested, allocated, allocatable);
    *ret = fit_value(fit, requested, allocatable);
    scorer_log(&fit->scorer, node, cycle->pod, strategy_names[fit->strategy], allocatable, requested, *ret);
    return STATUS_OK;
}

/* ---- many rows at once ---- */
struct rows_state {
    struct wants *wants;
    int64_t requests[SCORER_RESOURCES_MAX];
};

static bool rows_prepare(struct table *table, struct table_part *part)
{
    const struct fit *fit = part->instance->self;
    struct rows_state *state = arena_new(&table->arena, struct rows_state);
    state->wants = wants_of(fit, table->cluster, table->pod->class, &table->arena);
    scorer_requests(&fit->scorer, table->pod->api, &table->arena, state->requests);
    part->state = state;
    part->filters = part->scores = true;
    part->has_version = table->pod->class->fit_absent.len > 0 || fit->scorer.devices;
    for (uint32_t i = 0; i < state->wants->len; i++)
        part->has_version |= state->wants->items[i].resource >= RES_SCALAR_FIRST;
    return state->wants->len <= 32 - SHORT_BITS /* a detail has 32 bits */ &&
           !scorer_needs_devices(&fit->scorer, table->cluster, state->requests);
}

/* Device classes come and go. */
static uint64_t rows_version(const struct table *table, const struct table_part *part)
{
    const struct wants *wants = ((const struct rows_state *)part->state)->wants;
    const struct absent_list *absent = &table->pod->class->fit_absent;
    const struct fit *fit = part->instance->self;
    const int64_t *requests = ((const struct rows_state *)part->state)->requests;
    uint64_t version = scorer_needs_devices(&fit->scorer, table->cluster, requests);
    for (uint32_t i = 0; table->cluster->device_classes.len && i < absent->len; i++)
        version = version * 31 + device_class_provides(table->cluster, absent->items[i].resource->name);
    for (uint32_t i = 0; i < wants->len; i++)
        version = version * 2 +
                  device_class_provides(table->cluster,
                                        table->cluster->resource_names.items[wants->items[i].resource]);
    return version;
}

static void reject_short(struct table *table, struct table_part *part, const struct wants *wants,
                         uint32_t row)
{
    uint64_t shorts = shortage(wants, (struct node_view){ table->cluster, row, NULL });
    if (shorts)
        table_reject(table, part, row, (uint32_t)shorts);
}

VECTOR_LEAF static void mark_short(const int64_t *restrict alloc, const int64_t *restrict used, int64_t want,
                                   uint32_t len, uint8_t *restrict shorts)
{
    for (uint32_t row = 0; row < len; row++)
        shorts[row] |= want > (int64_t)((uint64_t)alloc[row] - (uint64_t)used[row]);
}

static void rows_filter(struct table *table, struct table_part *part, struct row_span span)
{
    const struct wants *wants = ((const struct rows_state *)part->state)->wants;
    const struct columns *col = &table->cluster->col;
    for (uint32_t i = 0; span.rows && i < span.len; i++)
        reject_short(table, part, wants, span.rows[i]);
    if (span.rows)
        return;
    uint8_t *shorts = arena_array(table_scratch(table), uint8_t, span.len); /* a flag per row */
    if (wants->missing_len)
        memset(shorts, 1, span.len);
    else
        mark_short(col->alloc[RES_PODS], col->used[RES_PODS], 1, span.len, shorts);
    for (uint32_t i = 0; !wants->missing_len && i < wants->len; i++)
        mark_short(col->alloc[wants->items[i].resource], col->used[wants->items[i].resource],
                   wants->items[i].value, span.len, shorts);
    for (uint32_t row = 0; row < span.len; row++)
        if (shorts[row] && !table->rejection[row])
            reject_short(table, part, wants, row);
}

/* Adds one resource's score, 0 to 100 rounded down, times its weight. */
VECTOR_LEAF static void add_least(const struct scored_column *column, uint32_t len, double *restrict sums)
{
    const int64_t *restrict alloc = column->allocatable, *restrict taken = column->taken;
    double weight = column->weight;
    for (uint32_t row = 0; row < len; row++) {
        double capacity = (double)alloc[row];
        double left = capacity - (double)(taken[row] + column->request);
        left = left < 0 ? 0 : left;
        sums[row] += (double)(int32_t)(left * SCORE_MAX / (capacity + (capacity == 0))) * weight;
    }
}

VECTOR_LEAF static void add_most(const struct scored_column *column, uint32_t len, double *restrict sums)
{
    const int64_t *restrict alloc = column->allocatable, *restrict taken = column->taken;
    double weight = column->weight;
    for (uint32_t row = 0; row < len; row++) {
        double capacity = (double)alloc[row];
        double used = (double)(taken[row] + column->request);
        used = used > capacity ? capacity : used;
        sums[row] += (double)(int32_t)(used * SCORE_MAX / (capacity + (capacity == 0))) * weight;
    }
}

VECTOR_LEAF static void add_weighted(const double *restrict sums, double weights, int32_t factor,
                                     uint32_t len, int32_t *restrict local)
{
    for (uint32_t row = 0; row < len; row++)
        local[row] += (int32_t)(sums[row] / weights) * factor;
}

static bool score_by_columns(struct table *table, struct table_part *part, uint32_t len)
{
    const struct fit *fit = part->instance->self;
    const struct rows_state *state = part->state;
    struct scored_column columns[SCORER_RESOURCES_MAX];
    uint32_t columns_len;
    if (fit->strategy == SCORING_REQUESTED_TO_CAPACITY ||
        !scorer_columns(&fit->scorer, table->cluster, state->requests, columns, &columns_len) || !columns_len)
        return false;
    double *sums = arena_array(table_scratch(table), double, len), weights = 0;
    for (uint32_t i = 0; i < columns_len; i++) {
        (fit->strategy == SCORING_LEAST_ALLOCATED ? add_least : add_most)(&columns[i], len, sums);
        weights += columns[i].weight;
    }
    add_weighted(sums, weights, part->weight, len, table->local);
    return true;
}

static void rows_score(struct table *table, struct table_part *part, struct row_span span)
{
    const struct fit *fit = part->instance->self;
    const struct rows_state *state = part->state;
    int64_t requested[SCORER_RESOURCES_MAX], allocated[SCORER_RESOURCES_MAX],
        allocatable[SCORER_RESOURCES_MAX];
    if (!span.rows && score_by_columns(table, part, span.len))
        return;
    for (uint32_t i = 0; i < span.len; i++) {
        struct node_view node = { table->cluster, span_row(span, i), NULL };
        if (table->rejection[node.row])
            continue;
        scorer_node(&fit->scorer, node, state->requests, requested, allocated, allocatable);
        table->local[node.row] += (int32_t)fit_value(fit, requested, allocatable) * part->weight;
    }
}

static struct status rows_explain(struct table *table, struct table_part *part, struct cycle *cycle,
                                  uint32_t row, uint32_t detail)
{
    (void)table, (void)row;
    const struct wants *wants = ((const struct rows_state *)part->state)->wants;
    return shortage_status(cycle, &(struct shortages){ wants, detail, NULL });
}

static const struct row_forms rows = {
    .prepare = rows_prepare,
    .version = rows_version,
    .filter = rows_filter,
    .score = rows_score,
    .explain = rows_explain,
};

/* ---- what may help ---- */
/* What a node offers of a resource, from its object: the columns show only what it is now. */
static int64_t offered(const struct cluster *cluster, const struct node *node, uint32_t resource)
{
    struct quantity amount =
        resource_list_amount(&node->status.allocatable, cluster->resource_names.items[resource]);
    return resource == RES_CPU ? quantity_milli_value(amount) : quantity_value(amount);
}

static int64_t offered_by_name(const struct node *node, struct str name)
{
    return quantity_value(resource_list_amount(&node->status.allocatable, name));
}

/* Would the pod fit if it were alone on the node? */
static bool fits_alone(const struct hint_context *context, const struct node *node)
{
    const struct wants *wants =
        wants_of(context->self, context->cluster, context->info->class, context->arena);
    for (uint32_t i = 0; i < wants->len; i++) {
        int64_t there = offered(context->cluster, node, wants->items[i].resource);
        if (wants->items[i].value > there && !is_left_to_devices(&wants->items[i], there))
            return false;
    }
    /* Nodes do not have what is absent, but an event may be about one as it was or will be. */
    const struct absent_list *absent = &context->info->class->fit_absent;
    for (uint32_t i = 0; i < absent->len; i++) {
        struct str name = absent->items[i].resource->name;
        int64_t there = offered_by_name(node, name);
        if (absent->items[i].value > there && !is_ignored(context->self, name) &&
            !(there <= 0 && device_class_provides(context->cluster, name)))
            return false;
    }
    return offered(context->cluster, node, RES_PODS) >= 1;
}

/* Does the node offer more than before of something that the pod needs? */
static bool offers_more(const struct hint_context *context, const struct node *before,
                        const struct node *after)
{
    const struct cluster *cluster = context->cluster;
    const struct pod_class *cls = context->info->class;
    if (offered(cluster, after, RES_PODS) > offered(cluster, before, RES_PODS))
        return true;
    for (uint32_t i = 0; i < cls->fit_len; i++) {
        const struct amount *want = &cls->fit[i];
        int64_t there = offered(cluster, after, want->resource);
        bool by_devices = want->resource >= RES_SCALAR_FIRST && there <= 0 &&
                          device_class_provides(cluster, cluster->resource_names.items[want->resource]);
        if (is_wanted(want) && (there > offered(cluster, before, want->resource) || by_devices))
            return true;
    }
    for (uint32_t i = 0; i < cls->fit_absent.len; i++) {
        struct str name = cls->fit_absent.items[i].resource->name;
        int64_t there = offered_by_name(after, name);
        if (there > offered_by_name(before, name) || (there <= 0 && device_class_provides(cluster, name)))
            return true;
    }
    return false;
}

/* Is the node another one than that where the pod waits for its resize? */
static bool is_elsewhere(const struct hint_context *context, const struct pod *pod, struct str node)
{
    return context->info->resize_deferred && node.len && !str_eq(node, pod->spec.node_name);
}

static enum hint node_changed(const struct hint_context *context, const struct pod *pod,
                              const struct cluster_event *event)
{
    const struct node *node = event->after;
    if (is_elsewhere(context, pod, node->meta.name) || !fits_alone(context, node))
        return HINT_SKIP;
    return !event->before || offers_more(context, event->before, event->after) ? HINT_QUEUE : HINT_SKIP;
}

/* An amount as the scheduler counts it; -1 for a resource that it does not count. */
static int64_t counted(struct str name, struct quantity amount)
{
    if (str_is(name, "cpu"))
        return quantity_milli_value(amount);
    if (str_is(name, "memory") || str_is(name, "ephemeral-storage") || resource_is_scalar(name))
        return quantity_value(amount);
    return -1;
}

/* A pod got smaller: this one, or one on a node in something that this one needs. */
static enum hint pod_scaled_down(const struct hint_context *context, const struct pod *pod,
                                 const struct cluster_event *event)
{
    struct pod_requests_options opts = requests_options(&context->cluster->features);
    const struct pod *after = event->after;
    struct resource_list wanted, had, has;
    if (pod_is(after, pod))
        return HINT_QUEUE;
    if (!after->spec.node_name.len || is_elsewhere(context, pod, after->spec.node_name))
        return HINT_SKIP;
    opts.skip_pod_level = false; /* the reference does not ask for the gate here */
    pod_requests(pod, opts, context->arena, &wanted);
    pod_requests(event->before, opts, context->arena, &had);
    pod_requests(after, opts, context->arena, &has);
    list_for(&wanted, want) {
        if (!quantity_is_zero(want->amount) &&
            counted(want->name, resource_list_amount(&had, want->name)) >
                counted(want->name, resource_list_amount(&has, want->name)))
            return HINT_QUEUE;
    }
    return HINT_SKIP;
}

static enum hint pod_changed(const struct hint_context *context, const struct pod *pod,
                             const struct cluster_event *event)
{
    if (event->after)
        return pod_scaled_down(context, pod, event);
    if (is_elsewhere(context, pod, ((const struct pod *)event->before)->spec.node_name))
        return HINT_SKIP;
    return event_pod_holds_resources(event, event->before) ? HINT_QUEUE : HINT_SKIP;
}

/* A pod got larger: for a resize that had room there may be none now, and other pods have to leave. */
HINT(pod_scaled_up)
{
    const struct pod *after = event->after;
    return context->info->resize_deferred && !is_elsewhere(context, pod, after->spec.node_name) ? HINT_QUEUE
                                                                                                : HINT_SKIP;
}

/* A class may provide a resource that the pod asks for by name. */
static enum hint device_class_changed(const struct hint_context *context, const struct pod *pod,
                                      const struct cluster_event *event)
{
    const struct device_class *before = event->before, *after = event->after;
    struct resource_list wanted;
    if (!context->cluster->features.enabled[FEATURE_DRAExtendedResource] ||
        (before && str_eq(before->extended_resource_name, after->extended_resource_name)))
        return HINT_SKIP;
    pod_requests(pod, (struct pod_requests_options){ 0 }, context->arena, &wanted);
    struct str implied = arena_printf(context->arena, DEVICE_CLASS_PREFIX STR_FMT, STR_ARG(after->meta.name));
    if (!before && resource_list_get(&wanted, implied))
        return HINT_QUEUE;
    return after->extended_resource_name.len && resource_list_get(&wanted, after->extended_resource_name)
               ? HINT_QUEUE
               : HINT_SKIP;
}

enum { RESIZE_GATE = 1 + FEATURE_InPlacePodVerticalScalingSchedulerPreemption };

static const struct event_rule events[] = {
    { EVENT_POD, ACTION_DELETE | ACTION_POD_SCALE_DOWN, pod_changed, ANY_POD_RULE },
    { EVENT_ASSIGNED_POD, ACTION_DELETE | ACTION_POD_SCALE_DOWN, pod_changed, DIVIDED_POD_RULE },
    { EVENT_TARGET_POD, ACTION_POD_SCALE_DOWN, pod_changed, DIVIDED_POD_RULE },
    { EVENT_ASSIGNED_POD, ACTION_POD_SCALE_UP, pod_scaled_up, DIVIDED_POD_RULE, .gate = RESIZE_GATE },
    { EVENT_TARGET_POD, ACTION_POD_SCALE_UP, pod_scaled_up, DIVIDED_POD_RULE, .gate = RESIZE_GATE },
    { EVENT_NODE, ACTION_ADD | ACTION_NODE_ALLOCATABLE, node_changed },
    { EVENT_DEVICE_CLASS, ACTION_ADD | ACTION_UPDATE, device_class_changed },
    { 0 },
};

const struct plugin plugin_node_resources_fit = {
    .name = "NodeResourcesFit",
    .judges_room = true,
    .args = &node_resources_fit_args_kind,
    .doc = "Filters out nodes that lack a resource that the pod requests; scores by what is left or used.",
    .reads = RESOURCE_READS,
    .silent_points = POINT_BIT(POINT_PLACEMENT_SCORE),
    .init = fit_init,
    .release = fit_release,
    .needs_pre_filter = POINT_BIT(POINT_FILTER),
    .pre_filter = fit_pre_filter,
    .filter = fit_filter,
    .explain = fit_explain,
    .pre_score = fit_pre_score,
    .score = fit_score,
    .rows = &rows,
    .events = events,
};
