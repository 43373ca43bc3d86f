/* node_claims.c: see node_claims.h. Texts are the reference's; where it walks a Go map, names are sorted here. */
#include "plugins/dynamic_resources/node_claims.h"

#include <stdlib.h>

#include "api/labels.h"
#include "api/names.h"
#include "api/resource_list.h"
#include "config/requests.h"
#include "plugins/dynamic_resources/claims.h"

/* ---- devices ---- */
static bool selects(const struct node_selector *selector, const struct node *node)
{
    struct error err = { 0 };
    return selector && node_selector_check(selector, &err) == 0 &&
           node_selector_matches(selector, node->meta.name, &node->meta.labels);
}

static bool is_slice_of(const struct resource_slice *slice, const struct node *node)
{
    return (slice->node_name.ptr && str_eq(slice->node_name, node->meta.name)) || slice->all_nodes.value ||
           selects(slice->node_selector, node) || slice->per_device_node_selection.value;
}

static bool is_device_of(const struct device *device, const struct node *node)
{
    return (device->node_name.ptr && str_eq(device->node_name, node->meta.name)) || device->all_nodes.value ||
           selects(device->node_selector, node);
}

/* Of the first slice that has one of that name; without a node, of any slice. *ret_elsewhere: it is there, but not for
 * the node. */
static const struct device *find_in_pool(const struct slice_pool *pool, struct str name,
                                         const struct node *node, bool *ret_elsewhere)
{
    *ret_elsewhere = false;
    for (uint32_t i = 0; pool && i < pool->len; i++) {
        const struct resource_slice *slice = pool->slices[i];
        if (node && !is_slice_of(slice, node))
            continue;
        list_for(&slice->devices, device) {
            if (!str_eq(device->name, name))
                continue;
            *ret_elsewhere = node && slice->per_device_node_selection.value && !is_device_of(device, node);
            return *ret_elsewhere ? NULL : device;
        }
    }
    return NULL;
}

/* NULL: there is none, and *ret_why says so. Releases that do not divide do not look at the driver and at the node. */
static const struct device *find_device(struct cycle *cycle, const struct device_result *result,
                                        const struct node *node, struct str *ret_why)
{
    bool divided = cycle->cluster->features.release->claims_divide_node_resources, elsewhere;
    const struct slice_pool *pool = devices_pool(cycle->cluster, result->driver, result->pool);
    const struct device *device = find_in_pool(pool, result->device, divided ? node : NULL, &elsewhere);
    if (!device && !divided)
        device =
            find_in_pool(devices_pool_of_any(cycle->cluster, result->pool), result->device, NULL, &elsewhere);
    if (device)
        return device;
    if (elsewhere)
        *ret_why =
            arena_printf(cycle->arena, "device " STR_FMT " does not match node", STR_ARG(result->device));
    else if (divided)
        *ret_why =
            arena_printf(cycle->arena, "device " STR_FMT " not found in pool " STR_FMT " for driver " STR_FMT,
                         STR_ARG(result->device), STR_ARG(result->pool), STR_ARG(result->driver));
    else
        *ret_why = arena_printf(cycle->arena, "device " STR_FMT " not found in pool " STR_FMT,
                                STR_ARG(result->device), STR_ARG(result->pool));
    return NULL;
}

bool node_claim_is_mapped(struct cluster *cluster, const struct allocation_result *allocation)
{
    bool elsewhere;
    list_for(&allocation->devices.results, result) {
        const struct slice_pool *pool = devices_pool(cluster, result->driver, result->pool);
        const struct device *device = find_in_pool(pool, result->device, NULL, &elsewhere);
        for (uint32_t i = 0; device && i < device->node_resources.len; i++)
            if (device->node_resources.items[i].mapping)
                return true;
    }
    return false;
}

/* ---- sharing ---- */
static bool is_consumer(const struct pod_info *pod, const struct pod *of, struct str claim)
{
    if (!pod->node_claims || !str_eq(pod->api->meta.namespace, of->meta.namespace))
        return false;
    list_for(&pod->node_claims->list, item)
        if (str_eq(item->resource_claim_name, claim))
            return true;
    return false;
}

static struct status check_consumers(struct cycle *cycle, struct str claim, struct node_view node)
{
    struct pod_span pods = node_pods(node);
    uint32_t consumers = 0;
    bool by_this = false;
    for (size_t i = 0; i < pods.len; i++) {
        if (!is_consumer(pods.items[i], cycle->pod, claim))
            continue;
        consumers++;
        by_this |= pod_is(pods.items[i]->api, cycle->pod);
    }
    if (consumers > 1)
        return status_printf(cycle->arena, STATUS_UNRESOLVABLE,
                             "node allocatable resource claim " STR_FMT " shared by multiple pods",
                             STR_ARG(claim));
    if (consumers == 1 && !by_this)
        return status_printf(cycle->arena, STATUS_UNRESOLVABLE,
                             "node allocatable resource claim " STR_FMT " is already used by another pod",
                             STR_ARG(claim));
    return STATUS_OK;
}

struct status node_claim_check_sharing(struct cycle *cycle, const struct resource_claim *claim, bool mapped,
                                       struct node_view node)
{
    if (!cycle->cluster->features.release->claims_divide_node_resources)
        return check_consumers(cycle, claim->meta.name, node);
    if (!mapped || !claim->status.reserved_for.len || claim_is_reserved_for(claim, cycle->pod))
        return STATUS_OK;
    return status_printf(cycle->arena, STATUS_UNRESOLVABLE,
                         "node allocatable resource claim " STR_FMT
                         " has a mapped device and cannot be shared across pods",
                         STR_ARG(claim->meta.name));
}

/* ---- what a claim takes ---- */
struct taken {
    struct cycle *cycle;
    const struct resource_claim *claim;
    struct resource_total mapping; /* without division: everything */
    struct resource_total per_pod, per_container;
    struct resource_total overhead; /* the names of those two */
};

static void add(struct resource_total *total, struct str name, struct quantity amount)
{
    struct resource one = { name, amount };
    resource_total_join(total, &(struct resource_list){ &one, 1 }, RESOURCE_SUM);
}

static struct status no_capacity(const struct taken *taken, const struct device_result *result,
                                 struct str key, const char *field, struct str resource)
{
    return status_printf(
        taken->cycle->arena, STATUS_ERROR,
        "claim " META_FMT ", device " STR_FMT ": ConsumedCapacity is nil, but Capacity key '" STR_FMT
        "' is set in %s for resource " STR_FMT,
        META_ARG(&taken->claim->meta), STR_ARG(result->device), STR_ARG(key), field, STR_ARG(resource));
}

/* A part of the capacity that was consumed. A key that was not consumed is none. */
static void take_capacity(struct taken *taken, const struct device_result *result, struct str key,
                          const struct quantity *multiplier, struct str resource)
{
    const struct quantity *consumed = resource_list_get(&result->consumed_capacity, key);
    if (!consumed)
        return;
    add(&taken->mapping, resource, multiplier ? quantity_mul(*consumed, *multiplier) : *consumed);
}

static struct status take_mapping(struct taken *taken, const struct device_result *result,
                                  const struct node_resource *resource)
{
    const struct device_mapping *mapping = resource->mapping;
    if (!mapping->capacity_key.len) {
        if (mapping->device_multiplier)
            add(&taken->mapping, resource->key, *mapping->device_multiplier);
        return STATUS_OK;
    }
    if (!result->consumed_capacity.len)
        return no_capacity(taken, result, mapping->capacity_key, "NodeAllocatableResources", resource->key);
    take_capacity(taken, result, mapping->capacity_key, mapping->capacity_multiplier, resource->key);
    return STATUS_OK;
}

static void take_overhead(struct taken *taken, const struct node_resource *resource)
{
    const struct device_overhead *overhead = resource->overhead;
    if (!overhead->per_pod && !overhead->per_container)
        return;
    add(&taken->overhead, resource->key, (struct quantity){ 0 });
    if (overhead->per_pod)
        add(&taken->per_pod, resource->key, *overhead->per_pod);
    if (overhead->per_container)
        add(&taken->per_container, resource->key, *overhead->per_container);
}

static struct status take_divided(struct taken *taken, const struct device_result *result,
                                  const struct device *device)
{
    struct status status = STATUS_OK;
    for (uint32_t i = 0; i < device->node_resources.len && status_ok(status); i++) {
        const struct node_resource *resource = &device->node_resources.items[i];
        if (resource->mapping)
            status = take_mapping(taken, result, resource);
        if (resource->overhead && status_ok(status))
            take_overhead(taken, resource);
    }
    return status;
}

static struct status take_total(struct taken *taken, const struct device_result *result,
                                const struct device *device)
{
    list_for(&device->node_mappings, mapping) {
        const struct quantity *multiplier = mapping->allocation_multiplier;
        if (!mapping->capacity_key.len)
            add(&taken->mapping, mapping->key, multiplier ? *multiplier : (struct quantity){ 0 });
        else if (!result->consumed_capacity.len)
            return no_capacity(taken, result, mapping->capacity_key, "NodeAllocatableResourceMappings",
                               mapping->key);
        else
            take_capacity(taken, result, mapping->capacity_key, multiplier, mapping->key);
    }
    return STATUS_OK;
}

static struct status take_device(struct taken *taken, const struct device_result *result,
                                 const struct node *node)
{
    struct cycle *cycle = taken->cycle;
    bool divided = cycle->cluster->features.release->claims_divide_node_resources;
    struct str why;
    const struct device *device = find_device(cycle, result, node, &why);
    if (device)
        return divided ? take_divided(taken, result, device) : take_total(taken, result, device);
    if (divided)
        return status_printf(cycle->arena, STATUS_ERROR,
                             "claim " META_FMT ", device " STR_FMT ", driver " STR_FMT ": " STR_FMT,
                             META_ARG(&taken->claim->meta), STR_ARG(result->device), STR_ARG(result->driver),
                             STR_ARG(why));
    return status_printf(cycle->arena, STATUS_ERROR, "claim " META_FMT ", device " STR_FMT ": " STR_FMT,
                         META_ARG(&taken->claim->meta), STR_ARG(result->device), STR_ARG(why));
}

/* ---- what a claim takes, as the pod's status says it ---- */
static struct quantity *amount_of(struct arena *arena, const struct resource_list *list, struct str name)
{
    const struct quantity *amount = resource_list_get(list, name);
    struct quantity *copy = amount ? arena_new(arena, struct quantity) : NULL;
    if (copy)
        *copy = *amount;
    return copy;
}

static void describe_divided(struct taken *taken, struct node_claim *ret)
{
    struct arena *arena = taken->cycle->arena;
    struct resource_list mapping, names, per_pod, per_container;
    resource_total_end(&taken->mapping, &mapping);
    resource_total_end(&taken->overhead, &names);
    resource_total_end(&taken->per_pod, &per_pod);
    resource_total_end(&taken->per_container, &per_container);
    ret->mapping.items = arena_array(arena, struct claim_mapping, mapping.len);
    list_for(&mapping, resource)
        ret->mapping.items[ret->mapping.len++] =
            (struct claim_mapping){ resource->name, amount_of(arena, &mapping, resource->name) };
    ret->overhead.items = arena_array(arena, struct claim_overhead, names.len);
    list_for(&names, resource)
        ret->overhead.items[ret->overhead.len++] =
            (struct claim_overhead){ resource->name, amount_of(arena, &per_pod, resource->name),
                                     amount_of(arena, &per_container, resource->name) };
}

/* Does an entry of the pod's list, by its own name there, mean the claim? */
static bool is_named(struct cycle *cycle, struct str entry, const struct resource_claim *claim)
{
    list_for(&cycle->pod->spec.resource_claims, wanted)
        if (str_eq(wanted->name, entry)) {
            struct str name = wanted->resource_claim_name;
            for (uint32_t i = 0; !name.ptr && i < cycle->pod->status.claim_statuses.len; i++)
                if (str_eq(cycle->pod->status.claim_statuses.items[i].name, entry))
                    name = cycle->pod->status.claim_statuses.items[i].resource_claim_name;
            return name.ptr && str_eq(name, claim->meta.name);
        }
    return false;
}

/* The containers that refer to the claim, as often as they do; *ret may be NULL. Returns how many. */
static uint32_t list_containers(struct cycle *cycle, const struct resource_claim *claim, struct str *ret)
{
    const struct pod_spec *spec = &cycle->pod->spec;
    uint32_t len = 0;
    for (uint32_t i = 0; i < spec->init_containers.len + spec->containers.len; i++) {
        const struct container *container = i < spec->init_containers.len
                                                ? &spec->init_containers.items[i]
                                                : &spec->containers.items[i - spec->init_containers.len];
        list_for(&container->resources.claims, entry) {
            if (!is_named(cycle, entry->name, claim))
                continue;
            if (ret)
                ret[len] = container->name;
            len++;
        }
    }
    return len;
}

static void describe(struct taken *taken, struct node_claim *ret)
{
    struct cycle *cycle = taken->cycle;
    *ret = (struct node_claim){ .resource_claim_name = taken->claim->meta.name };
    if (cycle->cluster->features.release->claims_divide_node_resources)
        describe_divided(taken, ret);
    else
        resource_total_end(&taken->mapping, &ret->resources);
    ret->containers.len = list_containers(cycle, taken->claim, NULL);
    ret->containers.items = arena_array(cycle->arena, struct str, ret->containers.len);
    list_containers(cycle, taken->claim, ret->containers.items);
}

static int by_claim(const void *a, const void *b)
{
    return str_cmp(((const struct node_claim *)a)->resource_claim_name,
                   ((const struct node_claim *)b)->resource_claim_name);
}

static bool takes_something(struct cycle *cycle, const struct allocation_result *allocation,
                            const struct node *node)
{
    struct str why;
    list_for(&allocation->devices.results, result) {
        const struct device *device = find_device(cycle, result, node, &why);
        if (device &&
            (cycle->cluster->features.release->claims_divide_node_resources ? device->node_resources.len
                                                                            : device->node_mappings.len))
            return true;
    }
    return false;
}

/* One claim of the pod may be listed twice, under two names. */
static bool is_listed(const struct claimed_devices *claims, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (claims[i].claim == claims[at].claim)
            return true;
    return false;
}

/* *ret_any: some claim has a device that takes something, if only nothing of what the claim consumed. */
static struct status take_claims(struct cycle *cycle, struct node_view node,
                                 const struct claimed_devices *claims, uint32_t len,
                                 struct node_claim_list *ret, bool *ret_any)
{
    struct status status = STATUS_OK;
    *ret = (struct node_claim_list){ arena_array(cycle->arena, struct node_claim, len), 0 };
    *ret_any = false;
    for (uint32_t i = 0; i < len && status_ok(status); i++) {
        struct taken taken = { .cycle = cycle, .claim = claims[i].claim };
        struct arena *arena = cycle->arena;
        taken.mapping.arena = taken.overhead.arena = taken.per_pod.arena = taken.per_container.arena = arena;
        if (is_listed(claims, i) || !takes_something(cycle, claims[i].allocation, node_api(node)))
            continue;
        *ret_any = true;
        for (uint32_t k = 0; k < claims[i].allocation->devices.results.len && status_ok(status); k++)
            status = take_device(&taken, &claims[i].allocation->devices.results.items[k], node_api(node));
        if (status_ok(status) && (taken.mapping.list.len || taken.overhead.list.len))
            describe(&taken, &ret->items[ret->len++]);
        resource_total_release(&taken.mapping);
        resource_total_release(&taken.overhead);
        resource_total_release(&taken.per_pod);
        resource_total_release(&taken.per_container);
    }
    if (ret->len)
        qsort(ret->items, ret->len, sizeof(*ret->items), by_claim);
    return status;
}

/* ---- do pod-level resources cover it? ---- */
static struct status uncovered_request(struct cycle *cycle, struct str resource)
{
    return status_printf(
        cycle->arena, STATUS_UNRESOLVABLE,
        "pod level request for " STR_FMT
        " is insufficient to cover the aggregated container and node-allocatable DRA requests",
        STR_ARG(resource));
}

static bool exceeds(const struct resource_list *list, struct str name, struct quantity bound)
{
    const struct quantity *amount = resource_list_get(list, name);
    return amount && quantity_cmp(*amount, bound) > 0;
}

static struct status check_requests(struct cycle *cycle, const struct resource_list *containers,
                                    const struct resource_list *bounds)
{
    list_for(bounds, bound)
        if (exceeds(containers, bound->name, bound->amount))
            return uncovered_request(cycle, bound->name);
    return STATUS_OK;
}

static bool is_at_pod_level(struct str name)
{
    return str_is(name, "cpu") || str_is(name, "memory") || str_starts_with(name, STR("hugepages-"));
}

static struct status check_pod_requests(struct cycle *cycle, const struct pod *pod,
                                        const struct resource_list *bounds)
{
    struct pod_requests_options opts = { .claims = CLAIMS_DIVIDED,
                                         .skip_pod_level = true,
                                         .exclude_overhead = true };
    struct resource_list containers;
    pod_requests(pod, opts, cycle->arena, &containers);
    list_for(bounds, bound)
        if (is_at_pod_level(bound->name) && exceeds(&containers, bound->name, bound->amount))
            return uncovered_request(cycle, bound->name);
    return STATUS_OK;
}

static struct status check_container_limits(struct cycle *cycle, const struct pod *pod,
                                            const struct container *container,
                                            const struct resource_list *bounds)
{
    struct resource_list claimed;
    pod_container_claims(pod, container->name, cycle->arena, &claimed);
    list_for(&container->resources.limits, limit) {
        const struct quantity *bound = resource_list_get(bounds, limit->name);
        struct quantity sum = quantity_add(limit->amount, resource_list_amount(&claimed, limit->name));
        if (!str_starts_with(limit->name, STR("hugepages-")) && bound && quantity_cmp(sum, *bound) > 0)
            return status_printf(
                cycle->arena, STATUS_UNRESOLVABLE,
                "pod level limit for " STR_FMT
                " is insufficient to cover the limit and DRA overhead for container " STR_FMT,
                STR_ARG(limit->name), STR_ARG(container->name));
    }
    return STATUS_OK;
}

static struct status check_pod_limits(struct cycle *cycle, const struct pod *pod,
                                      const struct resource_list *bounds)
{
    struct pod_requests_options opts = { .claims = CLAIMS_DIVIDED,
                                         .skip_pod_level = true,
                                         .exclude_overhead = true };
    struct status status = STATUS_OK;
    struct resource_list containers;
    pod_limits(pod, opts, cycle->arena, &containers);
    list_for(bounds, bound)
        if (str_starts_with(bound->name, STR("hugepages-")) &&
            exceeds(&containers, bound->name, bound->amount))
            return status_printf(
                cycle->arena, STATUS_UNRESOLVABLE,
                "pod level limit for " STR_FMT
                " is insufficient to cover the aggregated container and node-allocatable DRA limits",
                STR_ARG(bound->name));
    for (uint32_t i = 0; i < pod->spec.containers.len && status_ok(status); i++)
        status = check_container_limits(cycle, pod, &pod->spec.containers.items[i], bounds);
    return status;
}

/* The API server could not see what devices take. `pod` has the claims in its status, `demand` is what it requests. */
static struct status check_pod_level(struct cycle *cycle, const struct pod *pod,
                                     const struct resource_list *demand)
{
    const struct features *features = &cycle->cluster->features;
    const struct resource_requirements *bounds = pod->spec.resources;
    if (!features->enabled[FEATURE_PodLevelResources] || !bounds)
        return STATUS_OK;
    if (!features->release->claims_divide_node_resources) {
        struct pod_requests_options opts = { .claims = CLAIMS_TOTAL, .skip_pod_level = true };
        struct resource_list containers;
        pod_requests(pod, opts, cycle->arena, &containers);
        return bounds->requests.len ? check_requests(cycle, &containers, demand) : STATUS_OK;
    }
    if (!pod->status.node_claims.len)
        return STATUS_OK;
    struct status status = check_pod_requests(cycle, pod, &bounds->requests);
    return status_ok(status) && bounds->limits.len ? check_pod_limits(cycle, pod, &bounds->limits) : status;
}

/* ---- is it free? ---- */
static int64_t value_of(uint32_t number, struct quantity amount)
{
    return number == RES_CPU ? quantity_milli_value(amount) : quantity_value(amount);
}

/* Of a resource that no node has. */
static int64_t used_of_absent(struct node_view node, struct str name)
{
    struct pod_span pods = node_pods(node);
    uint64_t sum = 0;
    for (size_t i = 0; i < pods.len; i++) {
        const struct absent_list *absent = &pod_used(pods.items[i])->absent;
        for (uint32_t k = 0; k < absent->len; k++)
            if (str_eq(absent->items[k].resource->name, name))
                sum += (uint64_t)absent->items[k].value;
    }
    return (int64_t)sum;
}

/* cpu, memory and ephemeral-storage in this order; then huge pages, of which even none may be too much. */
static struct status check_room(struct cycle *cycle, struct node_view node,
                                const struct resource_list *demand)
{
    static const struct str names[] = { STR("cpu"), STR("memory"), STR("ephemeral-storage") };
    size_t fixed = ARRAY_SIZE(names);
    struct str *reasons = arena_array(cycle->arena, struct str, demand->len + fixed);
    struct status status = { .code = STATUS_UNSCHEDULABLE, .reasons = reasons };
    for (size_t i = 0; i < fixed + demand->len; i++) {
        struct str name = i < fixed ? names[i] : demand->items[i - fixed].name;
        if (i >= fixed && !str_starts_with(name, STR("hugepages-")))
            continue;
        uint32_t number;
        bool known = cluster_resource_find(cycle->cluster, name, &number);
        int64_t wanted = value_of(known ? number : UINT32_MAX, resource_list_amount(demand, name));
        int64_t all = known ? node_alloc(node, number) : 0;
        int64_t used = known ? node_used(node, number) : used_of_absent(node, name);
        int64_t room = (int64_t)((uint64_t)all - (uint64_t)used);
        if ((i < fixed && wanted <= 0) || wanted <= room)
            continue;
        reasons[status.len++] = arena_printf(cycle->arena, "Insufficient " STR_FMT, STR_ARG(name));
        if (wanted > all)
            status.code = STATUS_UNRESOLVABLE;
    }
    return status.len ? status : STATUS_OK;
}

struct status node_claims_find(struct cycle *cycle, struct node_view node,
                               const struct claimed_devices *claims, uint32_t len,
                               struct node_claim_list *ret)
{
    const struct features *features = &cycle->cluster->features;
    bool any;
    struct status status = take_claims(cycle, node, claims, len, ret, &any);
    if (!status_ok(status) || !any)
        return status;
    for (uint32_t i = 0; i < ret->len && !features->release->claims_divide_node_resources; i++)
        if (!ret->items[i].containers.len)
            return status_printf(cycle->arena, STATUS_UNRESOLVABLE,
                                 "claim " STR_FMT
                                 ": node-allocatable resource claim not referenced by any container within "
                                 "the pod",
                                 STR_ARG(ret->items[i].resource_claim_name));
    struct pod with_claims = *cycle->pod;
    struct pod_requests_options opts = { .claims = requests_claims(features),
                                         .skip_pod_level = !features->enabled[FEATURE_PodLevelResources] };
    struct resource_list demand;
    with_claims.status.node_claims = *ret;
    pod_requests(&with_claims, opts, cycle->arena, &demand);
    status = check_pod_level(cycle, &with_claims, &demand);
    return status_ok(status) ? check_room(cycle, node, &demand) : status;
}
