/* scorer.c: amounts per scored resource. */
#include "plugins/node_resources/scorer.h"

#include <stdlib.h>

#include "base/log.h"
#include "plugins/device_classes.h"

int scorer_init(struct scorer *scorer, struct cluster *cluster, const struct resource_weight *resources,
                uint32_t len, bool use_requested, struct error *err)
{
    if (len > SCORER_RESOURCES_MAX)
        return error_set(err, -E2BIG, "more than %d resources to score", SCORER_RESOURCES_MAX);
    *scorer = (struct scorer){ .len = len, .use_requested = use_requested };
    scorer->options = use_requested ? requests_options(&cluster->features)
                                    : (struct pod_requests_options){ .skip_pod_level = true,
                                                                     .non_missing = &nonzero_requests };
    for (uint32_t i = 0; i < len; i++) {
        struct scored_resource *item = &scorer->items[i];
        scorer->names[i] = resources[i].name;
        item->weight = resources[i].weight;
        item->scalar = resource_is_scalar(resources[i].name);
        if (!cluster_resource(cluster, resources[i].name, &item->number) || item->number == RES_PODS)
            item->number = UINT32_MAX;
        if (cluster->features.enabled[FEATURE_DRAExtendedResource] && item->scalar &&
            resource_may_be_devices(resources[i].name) && !scorer->devices)
            scorer->devices = xcalloc(1, sizeof(*scorer->devices));
    }
    return 0;
}

void scorer_release(struct scorer *scorer)
{
    if (scorer->devices)
        device_counts_release(scorer->devices);
    free(scorer->devices);
}

bool scorer_needs_devices(const struct scorer *scorer, const struct cluster *cluster, const int64_t *requests)
{
    for (uint32_t i = 0; scorer->devices && i < scorer->len; i++)
        if (requests[i] && scorer->items[i].scalar && device_class_provides(cluster, scorer->names[i]))
            return true;
    return false;
}

void scorer_requests(const struct scorer *scorer, const struct pod *pod, struct arena *arena, int64_t *ret)
{
    struct resource_list requests;
    pod_requests(pod, scorer->options, arena, &requests);
    for (uint32_t i = 0; i < scorer->len; i++) {
        ret[i] = 0;
        list_for(&requests, item)
            if (str_eq(item->name, scorer->names[i]))
                ret[i] = scorer->items[i].number == RES_CPU ? quantity_milli_value(item->amount)
                                                            : quantity_value(item->amount);
    }
}

static int64_t taken(const struct scorer *scorer, struct node_view node, uint32_t number)
{
    if (!scorer->use_requested && number == RES_CPU)
        return node_nonzero_cpu(node);
    if (!scorer->use_requested && number == RES_MEMORY)
        return node_nonzero_memory(node);
    return node_used(node, number);
}

/* Where the node itself has none of the resource. */
static void take_devices(const struct scorer *scorer, struct node_view node, struct str resource,
                         int64_t *ret_allocated, int64_t *ret_allocatable)
{
    const struct device_class *class = scorer->devices ? device_class_of(node.cluster, resource) : NULL;
    int64_t capacity, in_use;
    if (!class || !device_counts_of(scorer->devices, (struct cluster *)node.cluster, node_api(node), class,
                                    &capacity, &in_use))
        return;
    *ret_allocatable = capacity;
    *ret_allocated = in_use;
}

void scorer_node(const struct scorer *scorer, struct node_view node, const int64_t *requests,
                 int64_t *requested, int64_t *allocated, int64_t *allocatable)
{
    for (uint32_t i = 0; i < scorer->len; i++) {
        const struct scored_resource *item = &scorer->items[i];
        requested[i] = allocated[i] = allocatable[i] = 0;
        if (requests[i] == 0 && item->scalar)
            continue;
        if (item->number != UINT32_MAX)
            allocatable[i] = node_alloc(node, item->number);
        if (allocatable[i])
            allocated[i] = taken(scorer, node, item->number);
        else if (item->scalar)
            take_devices(scorer, node, scorer->names[i], &allocated[i], &allocatable[i]);
        if (!allocatable[i])
            continue;
        requested[i] = wrap_add(allocated[i], requests[i]);
    }
}

void scorer_log(const struct scorer *scorer, struct node_view node, const struct pod *pod, const char *name,
                const int64_t *allocatable, const int64_t *requested, int64_t score)
{
    const int level = node.cluster->features.release->levels_of_scores_add_up ? 22 : 10;
    log_info(level, "Listed internal info for allocatable resources, requested resources and score",
             log_ref("pod", pod->meta.namespace, pod->meta.name),
             log_ref("node", STR(""), cluster_node_name(node.cluster, node.row)),
             log_str("resourceAllocationScorer", str_from(name)),
             log_numbers("allocatableResource", allocatable, scorer->len),
             log_numbers("requestedResource", requested, scorer->len), log_int("resourceScore", score));
}

/* Doubles are exact for these amounts, and so is their quotient, truncated: the nearest quotients that an integer
 * division tells apart differ by more than a double's rounding. */
enum { EXACT_BITS = 46 };

bool scorer_columns(const struct scorer *scorer, const struct cluster *cluster, const int64_t *requests,
                    struct scored_column *ret, uint32_t *ret_len)
{
    const struct columns *col = &cluster->col;
    *ret_len = 0;
    for (uint32_t i = 0; i < scorer->len; i++) {
        uint32_t number = scorer->items[i].number;
        if (number == UINT32_MAX || (requests[i] == 0 && scorer->items[i].scalar))
            continue;
        struct scored_column *column = &ret[(*ret_len)++];
        bool defaults = !scorer->use_requested;
        *column = (struct scored_column){
            .allocatable = col->alloc[number],
            .taken = defaults && number == RES_CPU      ? col->nonzero_cpu
                     : defaults && number == RES_MEMORY ? col->nonzero_memory
                                                        : col->used[number],
            .request = requests[i],
            .weight = (double)scorer->items[i].weight,
        };
        if (col->lacking[number] || (col->bits[number] | (uint64_t)requests[i]) >> EXACT_BITS)
            return false;
    }
    return true;
}
