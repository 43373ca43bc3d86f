/* pod_resources.c: resource totals of pods.
 *
 * Requests and limits follow the same formula with small differences, which struct side names. */
#include "api/pod_resources.h"

#include "api/resource_list.h"

/* The feature gates that matter here and are on by default: InPlacePodVerticalScaling (locked), PodLevelResources,
 * InPlacePodLevelResourcesVerticalScaling. DRANodeAllocatableResources is off. */
static const struct pod_requests_options node_options = { .use_status = true, .use_status_pod_level = true };
static const struct pod_requests_options fit_options = { 0 };

static struct resource nonzero_items[] = {
    { { "cpu", 3 }, { 0, NONZERO_CPU_MILLI * 1000000u } },
    { { "memory", 6 }, { NONZERO_MEMORY_BYTES, 0 } },
};
const struct resource_list nonzero_requests = { nonzero_items, ARRAY_SIZE(nonzero_items) };

/* Which half of struct resource_requirements is being totalled. */
enum side { SIDE_REQUESTS, SIDE_LIMITS };

struct total {
    const struct pod *pod;
    struct pod_requests_options opts;
    enum side side;
    bool resize_infeasible; /* the pod's spec will not be actuated: only what it has counts */
    struct arena *arena;
};

static const struct resource_list *side_of(enum side side, const struct resource_requirements *resources)
{
    return side == SIDE_REQUESTS ? &resources->requests : &resources->limits;
}

static bool supported_at_pod_level(struct str name)
{
    return str_eq(name, STR("cpu")) || str_eq(name, STR("memory")) ||
           str_starts_with(name, STR("hugepages-"));
}

static bool any_at_pod_level(const struct resource_list *list)
{
    list_for(list, resource)
        if (supported_at_pod_level(resource->name))
            return true;
    return false;
}

bool pod_level_requests_set(const struct pod *pod)
{
    return pod->spec.resources && any_at_pod_level(&pod->spec.resources->requests);
}

static bool is_resize_infeasible(const struct pod *pod)
{
    list_for(&pod->status.conditions, condition)
        if (str_eq(condition->type, STR("PodResizePending")))
            return str_eq(condition->reason, STR("Infeasible"));
    return false;
}

/* The largest of what is wanted, enforced and (requests only) allocated. */
static struct resource_list effective(const struct total *total, const struct resource_list *spec,
                                      const struct resource_list *actuated,
                                      const struct resource_list *allocated)
{
    struct resource_list list = { 0 };
    if (!total->resize_infeasible)
        resource_list_join(&list, spec, RESOURCE_MAX, total->arena);
    resource_list_join(&list, actuated, RESOURCE_MAX, total->arena);
    if (total->side == SIDE_REQUESTS)
        resource_list_join(&list, allocated, RESOURCE_MAX, total->arena);
    return list;
}

static const struct container_status *find_status(const struct pod *pod, struct str name)
{
    /* A name that is in both lists, or twice in one, means its last status. */
    const struct container_status *found = NULL;
    list_for(&pod->status.container_statuses, status)
        if (str_eq(status->name, name))
            found = status;
    list_for(&pod->status.init_container_statuses, status)
        if (str_eq(status->name, name))
            found = status;
    return found;
}

static struct resource_list container_amounts(const struct total *total, const struct container *container,
                                              bool use_status)
{
    const struct resource_list *spec = side_of(total->side, &container->resources);
    struct resource_list list = *spec;
    const struct container_status *status = use_status ? find_status(total->pod, container->name) : NULL;
    if (status && status->resources)
        list = effective(total, spec, side_of(total->side, status->resources), &status->allocated_resources);
    if (total->side == SIDE_REQUESTS && total->opts.non_missing) {
        struct resource_list filled = { 0 };
        resource_list_join(&filled, &list, RESOURCE_SUM, total->arena);
        resource_list_join(&filled, total->opts.non_missing, RESOURCE_KEEP, total->arena);
        return filled;
    }
    return list;
}

static void add_containers(const struct total *total, struct resource_list *sum)
{
    list_for(&total->pod->spec.containers, container) {
        struct resource_list amounts = container_amounts(total, container, total->opts.use_status);
        resource_list_join(sum, &amounts, RESOURCE_SUM, total->arena);
    }
}

static void add_init_containers(const struct total *total, struct resource_list *sum)
{
    struct resource_list sidecars = { 0 }, peak = { 0 };
    list_for(&total->pod->spec.init_containers, container) {
        bool sidecar = container_is_sidecar(container);
        struct resource_list amounts = container_amounts(total, container, sidecar && total->opts.use_status);
        if (sidecar) {
            resource_list_join(sum, &amounts, RESOURCE_SUM, total->arena);
            resource_list_join(&sidecars, &amounts, RESOURCE_SUM, total->arena);
            resource_list_join(&peak, &sidecars, RESOURCE_MAX, total->arena);
            continue;
        }
        struct resource_list with_sidecars = { 0 };
        resource_list_join(&with_sidecars, &amounts, RESOURCE_SUM, total->arena);
        resource_list_join(&with_sidecars, &sidecars, RESOURCE_SUM, total->arena);
        resource_list_join(&peak, &with_sidecars, RESOURCE_MAX, total->arena);
    }
    resource_list_join(sum, &peak, RESOURCE_MAX, total->arena);
}

static void replace_by_pod_level(const struct total *total, struct resource_list *sum)
{
    const struct pod *pod = total->pod;
    const struct resource_list *spec = side_of(total->side, pod->spec.resources);
    const struct resource_requirements *reported = pod->status.resources;
    bool use_status = total->opts.use_status && total->opts.use_status_pod_level && reported;
    /* The reference does not distinguish absent limits from limits that were not requested. */
    if (use_status && total->side == SIDE_LIMITS && total->resize_infeasible && !reported->limits.items)
        use_status = false;
    struct resource_list list = *spec;
    if (use_status)
        list = effective(total, spec, side_of(total->side, reported), &pod->status.allocated_resources);
    list_for(spec, resource) {
        if (!supported_at_pod_level(resource->name))
            continue;
        struct resource one = { resource->name, resource_list_amount(&list, resource->name) };
        resource_list_join(sum, &(struct resource_list){ &one, 1 }, RESOURCE_REPLACE, total->arena);
    }
}

void pod_requests(const struct pod *pod, struct pod_requests_options opts, struct arena *arena,
                  struct resource_list *ret)
{
    struct total total = { pod, opts, SIDE_REQUESTS, is_resize_infeasible(pod), arena };
    struct resource_list sum = { 0 };
    add_containers(&total, &sum);
    add_init_containers(&total, &sum);
    if (!opts.skip_pod_level && pod_level_requests_set(pod))
        replace_by_pod_level(&total, &sum);
    if (!opts.exclude_overhead)
        resource_list_join(&sum, &pod->spec.overhead, RESOURCE_SUM, arena);
    *ret = sum;
}

void pod_limits(const struct pod *pod, struct pod_requests_options opts, struct arena *arena,
                struct resource_list *ret)
{
    struct total total = { pod, opts, SIDE_LIMITS, is_resize_infeasible(pod), arena };
    struct resource_list sum = { 0 };
    add_containers(&total, &sum);
    add_init_containers(&total, &sum);
    if (!opts.skip_pod_level && pod->spec.resources)
        replace_by_pod_level(&total, &sum);
    if (!opts.exclude_overhead) {
        list_for(&pod->spec.overhead, overhead) {
            struct quantity *limit = resource_list_get(&sum, overhead->name);
            if (limit && !quantity_is_zero(*limit))
                *limit = quantity_add(*limit, overhead->amount);
        }
    }
    *ret = sum;
}

void pod_fit_requests(const struct pod *pod, struct arena *arena, struct resource_list *ret)
{
    pod_requests(pod, fit_options, arena, ret);
}

void pod_node_requests(const struct pod *pod, struct arena *arena, struct pod_node_usage *ret)
{
    pod_requests(pod, node_options, arena, &ret->requests);
    /* With pod-level requests the containers' gaps matter only where the pod's total has one as well. */
    struct resource missing[ARRAY_SIZE(nonzero_items)];
    struct resource_list non_missing = { missing, 0 };
    bool pod_level = pod_level_requests_set(pod);
    list_for(&nonzero_requests, wanted)
        if (!pod_level || !resource_list_get(&ret->requests, wanted->name))
            missing[non_missing.len++] = *wanted;
    struct resource_list nonzero = ret->requests;
    if (non_missing.len) {
        struct pod_requests_options opts = node_options;
        opts.non_missing = &non_missing;
        pod_requests(pod, opts, arena, &nonzero);
    }
    ret->nonzero_cpu_milli = quantity_milli_value(resource_list_amount(&nonzero, STR("cpu")));
    ret->nonzero_memory = quantity_value(resource_list_amount(&nonzero, STR("memory")));
}

static uint32_t collect_ports(const struct container *container, const struct container_port **ret)
{
    uint32_t count = 0;
    list_for(&container->ports, port) {
        if (port->host_port <= 0)
            continue;
        if (ret)
            ret[count] = port;
        count++;
    }
    return count;
}

static uint32_t collect_pod_ports(const struct pod *pod, const struct container_port **ret)
{
    uint32_t count = 0;
    list_for(&pod->spec.init_containers, container)
        if (container_is_sidecar(container))
            count += collect_ports(container, ret ? ret + count : NULL);
    list_for(&pod->spec.containers, container)
        count += collect_ports(container, ret ? ret + count : NULL);
    return count;
}

uint32_t pod_host_ports(const struct pod *pod, struct arena *arena, const struct container_port ***ret)
{
    uint32_t count = collect_pod_ports(pod, NULL);
    *ret = arena_alloc(arena, arena_bytes(count, sizeof(**ret)));
    return collect_pod_ports(pod, *ret);
}
