/* pod_resources.c: resource totals of pods.
 *
 * Requests and limits follow the same formula with small differences, which struct side names. */
#include "api/pod_resources.h"

#include "api/labels.h"
#include "api/resource_list.h"

static struct resource nonzero_items[] = {
    { { "cpu", 3 }, { 0, NONZERO_CPU_MILLI * 1000000u } },
    { { "memory", 6 }, { NONZERO_MEMORY_BYTES, 0 } },
};
const struct resource_list nonzero_requests = { nonzero_items, ARRAY_SIZE(nonzero_items) };

/* Which half of struct resource_requirements is being totalled. */
enum side { SIDE_REQUESTS, SIDE_LIMITS };

/* What a container's amounts are. */
enum basis {
    BY_SPEC,
    BY_LARGEST,   /* of the three others */
    BY_ALLOCATED, /* what the kubelet reserved; where it has not said: the spec, unless that is infeasible */
    BY_ENFORCED,  /* what is enforced; where it is not known: what is allocated */
};

struct total {
    const struct pod *pod;
    struct pod_requests_options opts;
    enum side side;
    enum basis basis;
    bool resize_infeasible; /* the pod's spec will not be actuated: only what it has counts */
    struct arena *arena;
    struct strmap statuses; /* by name, if there are many */
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

bool pod_resize_waits(const struct pod *pod, struct str reason)
{
    list_for(&pod->status.conditions, condition)
        if (str_eq(condition->type, STR("PodResizePending")))
            return str_eq(condition->reason, reason);
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

/* ---- statuses of containers ---- */

enum { STATUSES_SCANNED = 8 }; /* a pod with so few statuses is searched from the beginning */

static uint32_t statuses_len(const struct pod *pod)
{
    return pod->status.container_statuses.len + pod->status.init_container_statuses.len;
}

/* By number, those of ordinary containers first. */
static struct container_status *status_at(const struct pod *pod, uint32_t number)
{
    uint32_t len = pod->status.container_statuses.len;
    return number < len ? &pod->status.container_statuses.items[number]
                        : &pod->status.init_container_statuses.items[number - len];
}

/* A name that is in both lists, or twice in one, means its last status; with largest_total its first. */
static const struct container_status *scan_statuses(const struct total *total, struct str name)
{
    uint32_t len = statuses_len(total->pod);
    for (uint32_t i = 0; i < len; i++) {
        const struct container_status *status =
            status_at(total->pod, total->opts.largest_total ? i : len - 1 - i);
        if (str_eq(status->name, name))
            return status;
    }
    return NULL;
}

static void total_index_statuses(struct total *total)
{
    uint32_t len = statuses_len(total->pod);
    if (!total->opts.use_status || len <= STATUSES_SCANNED)
        return;
    for (uint32_t i = 0; i < len; i++) { /* the last one stays */
        struct container_status *status = status_at(total->pod, total->opts.largest_total ? len - 1 - i : i);
        strmap_put(&total->statuses, status->name, status);
    }
}

static const struct container_status *find_status(const struct total *total, struct str name)
{
    return total->statuses.len ? strmap_get(&total->statuses, name) : scan_statuses(total, name);
}

/* ---- totals ---- */

/* A list that is there and empty says that nothing is requested. */
static bool is_given(const struct resource_list *list)
{
    return list->items;
}

static struct resource_list reported_requests(const struct total *total, const struct container *container,
                                              const struct container_status *status)
{
    if (status && total->basis == BY_ENFORCED && status->resources && is_given(&status->resources->requests))
        return status->resources->requests;
    if (status && is_given(&status->allocated_resources))
        return status->allocated_resources;
    return total->resize_infeasible ? (struct resource_list){ 0 } : container->resources.requests;
}

static struct resource_list container_amounts(const struct total *total, const struct container *container,
                                              bool is_running)
{
    const struct resource_list *spec = side_of(total->side, &container->resources);
    struct resource_list list = *spec;
    const struct container_status *status = NULL;
    if (total->basis != BY_SPEC && (is_running || total->basis != BY_LARGEST))
        status = find_status(total, container->name);
    if (total->basis == BY_ALLOCATED || total->basis == BY_ENFORCED)
        list = reported_requests(total, container, status);
    else if (status && status->resources)
        list = effective(total, spec, side_of(total->side, status->resources), &status->allocated_resources);
    if (total->side == SIDE_REQUESTS && total->opts.non_missing) {
        struct resource_list filled = { 0 };
        resource_list_join(&filled, &list, RESOURCE_SUM, total->arena);
        resource_list_join(&filled, total->opts.non_missing, RESOURCE_KEEP, total->arena);
        return filled;
    }
    return list;
}

static void add_containers(const struct total *total, struct resource_total *sum)
{
    list_for(&total->pod->spec.containers, container) {
        struct resource_list amounts = container_amounts(total, container, true);
        resource_total_join(sum, &amounts, RESOURCE_SUM);
    }
}

/* The most that init containers need at any time: a container, and the sidecars that were started before it. Names
 * that a container does not have need no look: their sidecars' sum was the peak's when it last changed. */
static void add_init_containers(const struct total *total, struct resource_total *sum)
{
    struct resource_total sidecars = { .arena = total->arena }, peak = { .arena = total->arena };
    list_for(&total->pod->spec.init_containers, container) {
        bool sidecar = container_is_sidecar(container);
        struct resource_list amounts = container_amounts(total, container, sidecar);
        if (sidecar) {
            resource_total_join(sum, &amounts, RESOURCE_SUM);
            resource_total_join(&sidecars, &amounts, RESOURCE_SUM);
        }
        list_for(&amounts, resource) {
            const struct quantity *beside = resource_total_find(&sidecars, resource->name);
            struct quantity amount = sidecar  ? *beside
                                     : beside ? quantity_add(resource->amount, *beside)
                                              : resource->amount;
            struct resource with_sidecars = { resource->name, amount };
            resource_total_join(&peak, &(struct resource_list){ &with_sidecars, 1 }, RESOURCE_MAX);
        }
    }
    resource_total_join(sum, &peak.list, RESOURCE_MAX);
    resource_total_release(&sidecars);
    resource_total_release(&peak);
}

/* ---- claims ---- */
static void add_amount(struct resource_total *sum, struct str name, struct quantity amount)
{
    struct resource one = { name, amount };
    resource_total_join(sum, &(struct resource_list){ &one, 1 }, RESOURCE_SUM);
}

static struct quantity overhead_of(const struct claim_overhead *overhead, uint32_t containers)
{
    struct quantity amount = { 0 };
    if (overhead->per_pod)
        amount = quantity_add(amount, *overhead->per_pod);
    if (overhead->per_container && containers)
        amount = quantity_add(amount, quantity_mul(*overhead->per_container, quantity_from_int(containers)));
    return amount;
}

static void add_divided_claim(struct resource_total *sum, const struct node_claim *claim, uint32_t containers)
{
    list_for(&claim->mapping, mapping)
        if (mapping->quantity)
            add_amount(sum, mapping->name, *mapping->quantity);
    list_for(&claim->overhead, overhead)
        add_amount(sum, overhead->name, overhead_of(overhead, containers));
}

/* What the kubelet enforces has it already. No limit is none, except of huge pages. */
static void add_claims(const struct total *total, struct resource_total *sum)
{
    struct resource_total claims = { .arena = total->arena };
    if (total->opts.claims == CLAIMS_LEFT_OUT || total->basis == BY_ENFORCED)
        return;
    list_for(&total->pod->status.node_claims, claim) {
        if (total->opts.claims == CLAIMS_DIVIDED)
            add_divided_claim(&claims, claim, claim->containers.len);
        else if (total->side == SIDE_REQUESTS)
            resource_total_join(&claims, &claim->resources, RESOURCE_SUM);
    }
    list_for(&claims.list, resource)
        if (total->side == SIDE_REQUESTS || resource_total_find(sum, resource->name) ||
            str_starts_with(resource->name, STR("hugepages-")))
            add_amount(sum, resource->name, resource->amount);
    resource_total_release(&claims);
}

void pod_container_claims(const struct pod *pod, struct str container, struct arena *arena,
                          struct resource_list *ret)
{
    struct resource_total sum = { .arena = arena };
    list_for(&pod->status.node_claims, claim)
        if (str_list_has(&claim->containers, container))
            add_divided_claim(&sum, claim, 1);
    resource_total_end(&sum, ret);
}

static void add_all(struct total *total, enum basis basis, struct resource_total *sum)
{
    total->basis = basis;
    add_containers(total, sum);
    add_init_containers(total, sum);
    add_claims(total, sum);
}

static void join_total(struct total *total, enum basis basis, struct resource_total *sum)
{
    struct resource_total one = { .arena = total->arena };
    add_all(total, basis, &one);
    resource_total_join(sum, &one.list, RESOURCE_MAX);
    resource_total_release(&one);
}

/* Totals that the kubelet reports for the pod stand for those over its containers. */
static void add_largest_total(struct total *total, struct resource_total *sum)
{
    const struct pod_status *status = &total->pod->status;
    bool by_pod = total->opts.use_status_pod_level && is_given(&status->allocated_resources) &&
                  status->resources && is_given(&status->resources->requests);
    if (!total->resize_infeasible)
        join_total(total, BY_SPEC, sum);
    if (by_pod) {
        resource_total_join(sum, &status->allocated_resources, RESOURCE_MAX);
        resource_total_join(sum, &status->resources->requests, RESOURCE_MAX);
    } else if (total->resize_infeasible || statuses_len(total->pod)) {
        join_total(total, BY_ALLOCATED, sum);
        join_total(total, BY_ENFORCED, sum);
    }
}

static void total_containers(struct total *total, struct resource_total *sum)
{
    total_index_statuses(total);
    if (!total->opts.use_status)
        add_all(total, BY_SPEC, sum);
    else if (total->opts.largest_total && total->side == SIDE_REQUESTS)
        add_largest_total(total, sum);
    else
        add_all(total, BY_LARGEST, sum);
    strmap_release(&total->statuses);
}

static void replace_by_pod_level(const struct total *total, struct resource_total *sum)
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
    const struct resource_list *names = total->opts.largest_total ? &list : spec;
    list_for(names, resource) {
        if (!supported_at_pod_level(resource->name))
            continue;
        struct resource one = { resource->name, resource_list_amount(&list, resource->name) };
        resource_total_join(sum, &(struct resource_list){ &one, 1 }, RESOURCE_REPLACE);
    }
}

void pod_requests(const struct pod *pod, struct pod_requests_options opts, struct arena *arena,
                  struct resource_list *ret)
{
    struct total total = { .pod = pod,
                           .opts = opts,
                           .side = SIDE_REQUESTS,
                           .resize_infeasible = pod_resize_waits(pod, STR("Infeasible")),
                           .arena = arena };
    struct resource_total sum = { .arena = arena };
    total_containers(&total, &sum);
    if (!opts.skip_pod_level && pod_level_requests_set(pod))
        replace_by_pod_level(&total, &sum);
    if (!opts.exclude_overhead)
        resource_total_join(&sum, &pod->spec.overhead, RESOURCE_SUM);
    resource_total_end(&sum, ret);
}

void pod_limits(const struct pod *pod, struct pod_requests_options opts, struct arena *arena,
                struct resource_list *ret)
{
    struct total total = { .pod = pod,
                           .opts = opts,
                           .side = SIDE_LIMITS,
                           .resize_infeasible = pod_resize_waits(pod, STR("Infeasible")),
                           .arena = arena };
    struct resource_total sum = { .arena = arena };
    total_containers(&total, &sum);
    if (!opts.skip_pod_level && pod->spec.resources)
        replace_by_pod_level(&total, &sum);
    if (!opts.exclude_overhead) {
        list_for(&pod->spec.overhead, overhead) {
            struct quantity *limit = resource_total_find(&sum, overhead->name);
            if (limit && !quantity_is_zero(*limit))
                *limit = quantity_add(*limit, overhead->amount);
        }
    }
    resource_total_end(&sum, ret);
}

void pod_fit_requests(const struct pod *pod, struct pod_requests_options opts, struct arena *arena,
                      struct resource_list *ret)
{
    opts.use_status = false;
    pod_requests(pod, opts, arena, ret);
}

void pod_node_requests(const struct pod *pod, struct pod_requests_options opts, struct arena *arena,
                       struct pod_node_usage *ret)
{
    pod_requests(pod, opts, arena, &ret->requests);
    /* With pod-level requests the containers' gaps matter only where the pod's total has one as well. */
    struct resource missing[ARRAY_SIZE(nonzero_items)];
    struct resource_list non_missing = { missing, 0 };
    bool pod_level = !opts.skip_pod_level && pod_level_requests_set(pod);
    list_for(&nonzero_requests, wanted)
        if (!pod_level || !resource_list_get(&ret->requests, wanted->name))
            missing[non_missing.len++] = *wanted;
    struct resource_list nonzero = ret->requests;
    if (non_missing.len) {
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
