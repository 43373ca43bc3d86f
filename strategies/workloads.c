/* workloads.c: see workloads.h. */
#include "workloads.h"

#include <math.h>
#include <stdlib.h>

/* The work of a part of a survey, of which a pod is one unit and a node four: half a millisecond. */
enum { SLOTS = 2 * WORKLOADS_MAX, PART_WORK = 1200, NODE_WORK = 4 };
#define MILLISECOND INT64_C(1000000)

/* ---- counts of the last time ---- */
static int64_t part_of(const struct workloads *workloads, int64_t now)
{
    return now / (workloads->options.window_ns / WINDOW_PARTS);
}

/* Parts that are over are cleared when their place is used again. The clock may be set back: the newest part stays. */
static int64_t *counts_at(const struct workloads *workloads, struct window *window, int64_t now)
{
    int64_t part = part_of(workloads, now), passed = part - window->part;
    for (int64_t i = 1; i <= passed && i <= WINDOW_PARTS; i++)
        memset(window->counts[(window->part + i) % WINDOW_PARTS], 0, sizeof(window->counts[0]));
    if (passed > 0)
        window->part = part;
    return window->counts[window->part % WINDOW_PARTS];
}

static double count_of(const struct workloads *workloads, const struct window *window, enum count kind,
                       int64_t now)
{
    int64_t oldest = part_of(workloads, now) - WINDOW_PARTS, sum = 0;
    for (int64_t i = 0; i < WINDOW_PARTS && window->part - i > oldest && window->part - i >= 0; i++)
        sum += window->counts[(window->part - i) % WINDOW_PARTS][kind];
    return (double)sum;
}

/* ---- namespaces ---- */
static uint64_t hash_of(const struct workloads *workloads, struct berth_str name)
{
    return keyed_hash(&workloads->key, name.ptr, name.len);
}

static bool is_named(const struct workload *workload, struct berth_str name, uint64_t hash)
{
    return workload->hash == hash && berth_is(name, workload->name);
}

/* The place of the name in the slots, or the free one where it belongs. */
static uint32_t slot_of(const struct workloads *workloads, struct berth_str name, uint64_t hash)
{
    uint32_t at = (uint32_t)(hash % SLOTS);
    while (workloads->slots[at] && !is_named(&workloads->items[workloads->slots[at] - 1], name, hash))
        at = (at + 1) % SLOTS;
    return at;
}

struct workload *workloads_find(const struct workloads *workloads, struct berth_str name)
{
    uint32_t number = workloads->slots[slot_of(workloads, name, hash_of(workloads, name))];
    return number ? &workloads->items[number - 1] : NULL;
}

/* The one that was not used for the longest time, of those that need not stay. */
static struct workload *dispensable(const struct workloads *workloads, int64_t now)
{
    struct workload *oldest = NULL;
    for (uint32_t i = 0; i < workloads->len; i++) {
        struct workload *workload = &workloads->items[i];
        if (!workloads->is_needed(workload) && (!oldest || workload->used_at < oldest->used_at))
            oldest = workload;
    }
    return oldest && now - oldest->used_at > workloads->options.window_ns ? oldest : NULL;
}

static void rebuild_slots(struct workloads *workloads)
{
    memset(workloads->slots, 0, sizeof(workloads->slots));
    for (uint32_t i = 0; i < workloads->len; i++) {
        struct berth_str name = berth_text(workloads->items[i].name);
        workloads->slots[slot_of(workloads, name, workloads->items[i].hash)] = i + 1;
    }
}

static struct workload *place_for(struct workloads *workloads, int64_t now)
{
    if (workloads->len < WORKLOADS_MAX)
        return &workloads->items[workloads->len++];
    struct workload *workload = now < workloads->full_until ? NULL : dispensable(workloads, now);
    if (!workload) {
        workloads->full_until = now < workloads->full_until
                                    ? workloads->full_until
                                    : now + workloads->options.window_ns / WINDOW_PARTS;
        return NULL;
    }
    free(workload->name);
    free(workload->more);
    return workload;
}

struct workload *workloads_get(struct workloads *workloads, struct berth_str name, int64_t now)
{
    uint32_t slot = slot_of(workloads, name, hash_of(workloads, name)), len = workloads->len;
    struct workload *workload =
        workloads->slots[slot] ? &workloads->items[workloads->slots[slot] - 1] : place_for(workloads, now);
    if (!workload)
        return NULL;
    if (!workloads->slots[slot]) {
        *workload = (struct workload){ .name = strndup(name.ptr ? name.ptr : "", name.len),
                                       .hash = hash_of(workloads, name) };
        if (!workload->name)
            abort();
        workloads->slots[slot] = workloads->len;
        if (workloads->len == len) /* it has the place of another one */
            rebuild_slots(workloads);
    }
    workload->used_at = now;
    return workload;
}

/* ---- what happens ---- */
void workloads_attempt(struct workloads *workloads, struct workload *workload, bool is_placed,
                       int64_t waited_ns, int64_t now)
{
    int64_t *all = counts_at(workloads, &workloads->window, now);
    all[is_placed ? COUNT_PLACED : COUNT_FAILED]++;
    if (is_placed)
        all[COUNT_WAITED_MS] += waited_ns / MILLISECOND;
    if (workload)
        counts_at(workloads, &workload->window, now)[is_placed ? COUNT_PLACED : COUNT_FAILED]++;
}

void workloads_gone(struct workloads *workloads, const struct berth_pod_info *pod, int64_t now)
{
    struct workload *workload = workloads_find(workloads, berth_object_namespace(berth_info_pod(pod)));
    int64_t ran_ns = now - berth_info_placed_at(pod);
    if (!workload)
        return;
    int64_t *counts = counts_at(workloads, &workload->window, now);
    counts[COUNT_ENDED]++;
    counts[COUNT_SHORT] += ran_ns < workloads->options.short_ns;
    counts[COUNT_LONG] += ran_ns >= workloads->options.long_ns;
}

/* ---- the survey ---- */
/* What is kept about a node: the higher share of CPU and memory that is in use. */
struct node_use {
    struct load_row row;
    double use, requested;
};

static double higher_share(const double used[], const struct load_sample *sample)
{
    double share = 0;
    for (int i = 0; i < LOAD_RESOURCES; i++)
        if (sample->allocatable[i] > 0 && used[i] / sample->allocatable[i] > share)
            share = used[i] / sample->allocatable[i];
    return share;
}

static void fill(void *context, struct berth_node_view view, const struct load_sample *sample,
                 struct load_row *row)
{
    const struct workloads *workloads = context;
    struct node_use *node = (struct node_use *)(void *)row;
    double use[LOAD_RESOURCES], requested[LOAD_RESOURCES];
    load_fresh_requests(&workloads->load, view, sample->at - sample->window_ns, use);
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        requested[i] = (double)berth_node_used(view, workloads->load.numbers[i]);
        use[i] = sample->latest[i] >= 0 ? use[i] + sample->latest[i] : requested[i];
    }
    node->use = higher_share(use, sample);
    node->requested = higher_share(requested, sample);
}

static size_t survey_pods(struct workloads *workloads, struct berth_node_view view, int64_t now)
{
    struct berth_pod_infos pods = berth_node_pods(view);
    for (size_t i = 0; i < pods.len; i++) {
        struct workload *workload =
            workloads_get(workloads, berth_object_namespace(berth_info_pod(pods.items[i])), now);
        if (!workload)
            continue;
        struct pod_sums *sums = &workload->counted;
        sums->running++;
        sums->long_running += now - berth_info_placed_at(pods.items[i]) >= workloads->options.long_ns;
        for (int j = 0; j < LOAD_RESOURCES; j++)
            sums->requests[j] += (double)berth_pod_request(pods.items[i], workloads->load.numbers[j]);
    }
    return pods.len;
}

static size_t survey_node(struct workloads *workloads, struct berth_node_view view, int64_t now)
{
    struct node_sums *sums = &workloads->node_count;
    const struct node_use *node = load_row(&workloads->load, view);
    double use = load_usable(&workloads->load, &node->row, view, now) ? node->use : node->requested;
    sums->nodes++;
    sums->use += use;
    sums->squares += use * use;
    for (int j = 0; j < LOAD_RESOURCES; j++)
        sums->allocatable[j] += (double)berth_node_allocatable(view, workloads->load.numbers[j]);
    return NODE_WORK + survey_pods(workloads, view, now);
}

static void begin_survey(struct workloads *workloads, const struct berth_cluster *cluster)
{
    load_begin(&workloads->load, cluster);
    workloads->node_count = (struct node_sums){ 0 };
    workloads->next = 0;
    for (uint32_t i = 0; i < workloads->len; i++)
        workloads->items[i].counted = (struct pod_sums){ 0 };
}

static void end_survey(struct workloads *workloads)
{
    workloads->nodes = workloads->node_count;
    for (uint32_t i = 0; i < workloads->len; i++)
        workloads->items[i].pods = workloads->items[i].counted;
}

bool workloads_survey(struct workloads *workloads, const struct berth_cluster *cluster, bool all_the_rest,
                      int64_t now)
{
    struct berth_rows rows = berth_nodes(cluster);
    size_t work = 0;
    if (!workloads->is_surveying)
        begin_survey(workloads, cluster);
    else
        load_refresh(&workloads->load, cluster);
    for (; workloads->next < rows.len && (all_the_rest || work < PART_WORK); workloads->next++)
        work += survey_node(workloads, berth_node(cluster, rows.items[workloads->next]), now);
    workloads->is_surveying = workloads->next < rows.len;
    if (!workloads->is_surveying)
        end_survey(workloads);
    return !workloads->is_surveying;
}

/* In one pass, which is good enough for shares from 0 to about 1. */
static double spread_of(const struct node_sums *sums)
{
    double mean = sums->nodes ? sums->use / sums->nodes : 0;
    double variance = sums->nodes ? sums->squares / sums->nodes - mean * mean : 0;
    return variance > 0 ? sqrt(variance) : 0;
}

/* ---- values ---- */
static double share(double part, double all)
{
    return all > 0 ? part / all : 0;
}

static double value_of_namespace(const struct workloads *workloads, const struct workload *workload,
                                 enum condition condition, int64_t now, double *ret_observations)
{
    const struct window *window = &workload->window;
    const struct pod_sums *pods = &workload->pods;
    double ended = count_of(workloads, window, COUNT_ENDED, now);
    double failed = count_of(workloads, window, COUNT_FAILED, now);
    double cpu = share(pods->requests[LOAD_CPU], workloads->nodes.allocatable[LOAD_CPU]);
    double memory = share(pods->requests[LOAD_MEMORY], workloads->nodes.allocatable[LOAD_MEMORY]);
    *ret_observations = pods->running + ended;
    switch (condition) {
    case CONDITION_SHORT_RUNNING:
        return share(count_of(workloads, window, COUNT_SHORT, now), *ret_observations);
    case CONDITION_LONG_RUNNING:
        return share(pods->long_running + count_of(workloads, window, COUNT_LONG, now), *ret_observations);
    case CONDITION_CPU_HEAVY:
        *ret_observations = memory > 0 ? pods->running : 0;
        return share(cpu, memory);
    case CONDITION_MEMORY_HEAVY:
        *ret_observations = cpu > 0 ? pods->running : 0;
        return share(memory, cpu);
    default:
        *ret_observations = failed + count_of(workloads, window, COUNT_PLACED, now);
        return share(failed, *ret_observations);
    }
}

double workload_value(const struct workloads *workloads, const struct workload *workload,
                      enum condition condition, int64_t now, double *ret_observations)
{
    const struct window *all = &workloads->window;
    if (condition < CONDITION_OF_CLUSTER)
        return value_of_namespace(workloads, workload, condition, now, ret_observations);
    double placed = count_of(workloads, all, COUNT_PLACED, now);
    *ret_observations = workloads->nodes.nodes ? INFINITY : 0; /* they need not be many */
    switch (condition) {
    case CONDITION_UNEVEN:
        return spread_of(&workloads->nodes);
    case CONDITION_SLOW:
        *ret_observations = placed;
        return share(count_of(workloads, all, COUNT_WAITED_MS, now) / 1000, placed);
    case CONDITION_FAILING:
        *ret_observations = placed + count_of(workloads, all, COUNT_FAILED, now);
        return share(placed, *ret_observations);
    default:
        return share(workloads->nodes.use, workloads->nodes.nodes);
    }
}

/* ---- init ---- */
void workloads_init(struct workloads *workloads, const struct berth_env *env, const char *plugin,
                    const struct workloads_options *options)
{
    workloads->options = *options;
    workloads->key = hash_key_new();
    workloads->items = calloc(WORKLOADS_MAX, sizeof(*workloads->items));
    if (!workloads->items)
        abort();
    load_init(&workloads->load, env, plugin, sizeof(struct node_use), fill, workloads);
}

void workloads_release(struct workloads *workloads)
{
    for (uint32_t i = 0; i < workloads->len; i++) {
        free(workloads->items[i].name);
        free(workloads->items[i].more);
    }
    free(workloads->items);
    load_release(&workloads->load);
    *workloads = (struct workloads){ 0 };
}
