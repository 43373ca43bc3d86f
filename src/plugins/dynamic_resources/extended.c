/* extended.c: claims for extended resources; see extended.h. */
#include "plugins/dynamic_resources/extended.h"

#include <stdlib.h>

#include "api/labels.h"
#include "api/resource_list.h"
#include "plugins/device_classes.h"

bool extended_is_wanted(const struct cluster *cluster, const struct pod_info *info)
{
    const struct pod_class *class = info->class;
    if (!cluster->device_classes.len)
        return false;
    for (uint32_t i = 0; i < class->fit_len; i++)
        if (class->fit[i].value && class->fit[i].resource >= RES_SCALAR_FIRST &&
            device_class_provides(cluster, cluster->resource_names.items[class->fit[i].resource]))
            return true;
    for (uint32_t i = 0; i < class->fit_absent.len; i++)
        if (device_class_provides(cluster, class->fit_absent.items[i].resource->name))
            return true;
    return false;
}

/* ---- the claim ---- */
static bool is_made_for(const struct resource_claim *claim, const struct pod *pod)
{
    const struct str *marked = str_map_get(&claim->meta.annotations, STR(EXTENDED_CLAIM_ANNOTATION));
    if (!marked || !str_is(*marked, "true"))
        return false;
    list_for(&claim->meta.owners, owner)
        if (str_eq(owner->name, pod->meta.name) && owner->controller.value &&
            str_eq(owner->uid, pod->meta.uid))
            return true;
    return false;
}

/* The claim is this pod's alone, so its uid may be derived from the pod's. */
static struct str temporary_uid(const struct pod *pod, struct arena *arena)
{
    return arena_printf(arena, "extended-resources-" STR_FMT, STR_ARG(pod->meta.uid));
}

static struct resource_claim *claim_new(const struct pod *pod, struct arena *arena)
{
    struct resource_claim *claim = arena_new(arena, struct resource_claim);
    struct owner_ref *owner = arena_new(arena, struct owner_ref);
    struct pair *annotation = arena_new(arena, struct pair);
    *owner = (struct owner_ref){ .api_version = STR("v1"),
                                 .kind = STR("Pod"),
                                 .name = pod->meta.name,
                                 .uid = pod->meta.uid,
                                 .controller = { true, true } };
    *annotation = (struct pair){ STR(EXTENDED_CLAIM_ANNOTATION), STR("true") };
    claim->meta = (struct meta){
        .namespace = pod->meta.namespace,
        .name = STR(EXTENDED_CLAIM_NAME),
        .uid = temporary_uid(pod, arena),
        .generate_name = arena_printf(arena, STR_FMT "-extended-resources-", STR_ARG(pod->meta.name)),
        .annotations = { annotation, 1 },
    };
    claim->meta.owners.items = owner;
    claim->meta.owners.len = 1;
    return claim;
}

const struct resource_claim *extended_claim_of(struct cycle *cycle)
{
    const struct resource_claim *found = NULL;
    map_for(&cycle->cluster->claims, slot) {
        const struct resource_claim *claim = stored_object(slot);
        if (is_made_for(claim, cycle->pod) && (!found || str_cmp(claim->meta.name, found->meta.name) < 0))
            found = claim;
    }
    return found ? devices_claim(cycle->cluster, found->meta.namespace, found->meta.name)
                 : claim_new(cycle->pod, cycle->arena);
}

/* ---- requests ---- */
/* All containers, init containers first. */
struct containers {
    const struct pod_spec *spec;
    uint32_t inits, len;
};

static const struct container *container_at(const struct containers *containers, uint32_t i)
{
    return i < containers->inits ? &containers->spec->init_containers.items[i]
                                 : &containers->spec->containers.items[i - containers->inits];
}

/* Does it end before the others begin? What it uses can be used again. */
static bool is_short_lived(const struct containers *containers, uint32_t i)
{
    return i < containers->inits && !str_is(container_at(containers, i)->restart_policy, "Always");
}

/* Requests and mappings as they are collected. */
struct collection {
    struct arena *arena;
    struct device_request *requests;
    uint32_t requests_len;
    struct request_mapping *mappings;
    uint32_t mappings_len;
    uint32_t mappings_cap;
};

static void add_mapping(struct collection *to, const struct container *container, struct str resource,
                        struct str request)
{
    if (to->mappings_len == to->mappings_cap) {
        to->mappings_cap = to->mappings_cap * 2 + 8;
        to->mappings =
            arena_copy(to->arena, struct request_mapping, to->mappings, to->mappings_len, to->mappings_cap);
    }
    to->mappings[to->mappings_len++] =
        (struct request_mapping){ .container = container->name, .resource = resource, .request = request };
}

/* How much a container wants, as an integer; 0: nothing. */
static int64_t wanted_by(const struct container *container, struct str resource, uint32_t *ret_place)
{
    const struct resource_list *requests = &container->resources.requests;
    for (uint32_t i = 0; i < requests->len; i++)
        if (str_eq(requests->items[i].name, resource)) {
            *ret_place = i;
            return requests->items[i].amount.finer ? 0 : requests->items[i].amount.units;
        }
    return 0;
}

static struct device_request *request_new(struct collection *to, uint32_t container, uint32_t place,
                                          struct str class_name, int64_t count)
{
    struct device_request *request = arena_new(to->arena, struct device_request);
    request->name = arena_printf(to->arena, "container-%u-request-%u", container, place);
    request->exactly = arena_new(to->arena, struct device_subrequest);
    request->exactly->device_class_name = class_name;
    request->exactly->allocation_mode = STR("ExactCount");
    request->exactly->count = count;
    return request;
}

/* What a container needs beyond `reusable` requests of others (some may be NULL); NULL: no more. */
static struct device_request *request_for(struct collection *to, const struct containers *containers,
                                          uint32_t number, struct str resource, struct str class_name,
                                          struct device_request *const *reusable, uint32_t reusable_len)
{
    const struct container *container = container_at(containers, number);
    uint32_t place = 0;
    int64_t wanted = wanted_by(container, resource, &place), sum = 0;
    if (!wanted)
        return NULL;
    for (uint32_t i = 0; i < reusable_len; i++) {
        if (!reusable[i])
            continue;
        if (__builtin_add_overflow(sum, reusable[i]->exactly->count, &sum))
            sum = INT64_MAX;
        add_mapping(to, container, resource, reusable[i]->name);
        if (sum >= wanted)
            return NULL;
    }
    struct device_request *request = request_new(to, number, place, class_name, wanted - sum);
    add_mapping(to, container, resource, request->name);
    return request;
}

/* Init containers run one after the other: one request, the largest, serves all of them. */
static struct device_request *request_for_short_lived(struct collection *to,
                                                      const struct containers *containers,
                                                      struct str resource, struct str class_name,
                                                      struct device_request *const *longs)
{
    struct device_request *largest = NULL;
    struct str *names = arena_array(to->arena, struct str, containers->len);
    uint32_t names_len = 0, first = to->mappings_len;
    for (uint32_t i = 0; i < containers->len; i++) {
        if (!is_short_lived(containers, i))
            continue;
        struct device_request *request =
            request_for(to, containers, i, resource, class_name, longs + i, containers->len - i);
        if (!request)
            continue;
        names[names_len++] = request->name;
        if (!largest || largest->exactly->count < request->exactly->count)
            largest = request;
    }
    for (uint32_t m = first; m < to->mappings_len && largest; m++)
        for (uint32_t n = 0; n < names_len; n++)
            if (str_eq(to->mappings[m].request, names[n])) {
                to->mappings[m].request = largest->name;
                break;
            }
    return largest;
}

static void collect_resource(struct collection *to, const struct containers *containers, struct str resource,
                             struct str class_name)
{
    struct device_request **longs =
        arena_array(to->arena, struct device_request *, (size_t)containers->len + 1);
    for (uint32_t i = 0; i < containers->len; i++)
        if (!is_short_lived(containers, i))
            longs[i] = request_for(to, containers, i, resource, class_name, NULL, 0);
    struct device_request *largest = request_for_short_lived(to, containers, resource, class_name, longs);
    if (largest)
        to->requests[to->requests_len++] = *largest;
    for (uint32_t i = 0; i < containers->len; i++)
        if (longs[i])
            to->requests[to->requests_len++] = *longs[i];
}

static int request_cmp(const void *a, const void *b)
{
    return str_cmp(((const struct device_request *)a)->name, ((const struct device_request *)b)->name);
}

/* Requests for the resources, which are sorted. */
static void collect(const struct cluster *cluster, const struct pod *pod, const struct str *resources,
                    uint32_t len, struct collection *to)
{
    struct containers containers = { .spec = &pod->spec,
                                     .inits = pod->spec.init_containers.len,
                                     .len = pod->spec.init_containers.len + pod->spec.containers.len };
    to->requests = arena_array(to->arena, struct device_request, ((size_t)containers.len + 1) * len);
    for (uint32_t i = 0; i < len; i++)
        collect_resource(to, &containers, resources[i], device_class_of(cluster, resources[i])->meta.name);
    if (to->requests_len)
        qsort(to->requests, to->requests_len, sizeof(*to->requests), request_cmp);
}

/* ---- nodes ---- */
/* The resources that devices must stand for on the node, sorted; false: the node cannot have one of them at all. */
static bool left_to_devices(const struct cycle *cycle, struct node_view node, struct str *ret,
                            uint32_t *ret_len)
{
    const struct pod_class *class = cycle->info->class;
    *ret_len = 0;
    for (uint32_t i = 0; i < class->fit_len; i++) {
        const struct amount *want = &class->fit[i];
        struct str name = cycle->cluster->resource_names.items[want->resource];
        if (want->resource < RES_SCALAR_FIRST || !want->value || !resource_may_be_devices(name))
            continue;
        if (!node_alloc(node, want->resource) && device_class_provides(cycle->cluster, name))
            ret[(*ret_len)++] = name;
        else if (!resource_list_get(&node_api(node)->status.allocatable, name))
            return false;
    }
    for (uint32_t i = 0; i < class->fit_absent.len; i++) {
        struct str name = class->fit_absent.items[i].resource->name;
        if (!resource_may_be_devices(name))
            continue;
        if (device_class_provides(cycle->cluster, name))
            ret[(*ret_len)++] = name;
        else if (!resource_list_get(&node_api(node)->status.allocatable, name))
            return false;
    }
    if (*ret_len)
        qsort(ret, *ret_len, sizeof(*ret), str_qsort_cmp);
    return true;
}

struct status extended_for_node(struct cycle *cycle, const struct resource_claim *claim,
                                struct node_view node, bool alone, struct extended_claim *ret)
{
    *ret = (struct extended_claim){ 0 };
    /* It is from an attempt that failed. PostFilter deletes it. */
    if (claim->spec.requests.items)
        return reject(STATUS_UNRESOLVABLE, "cannot schedule extended resource claim");
    const struct pod_class *class = cycle->info->class;
    struct str *names = arena_array(cycle->arena, struct str, (size_t)class->fit_len + class->fit_absent.len);
    uint32_t len;
    if (!left_to_devices(cycle, node, names, &len))
        return reject(STATUS_UNRESOLVABLE, "cannot fit resource");
    if ((alone && !len) || claim->status.allocation)
        return STATUS_OK;
    struct collection collection = { .arena = cycle->arena };
    collect(cycle->cluster, cycle->pod, names, len, &collection);
    struct resource_claim *copy = arena_new(cycle->arena, struct resource_claim);
    *copy = *claim;
    copy->spec.requests.items = collection.requests;
    copy->spec.requests.len = collection.requests_len;
    *ret = (struct extended_claim){ copy, { collection.mappings, collection.mappings_len } };
    return STATUS_OK;
}
