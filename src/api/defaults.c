/* defaults.c: the defaulting of kube-apiserver with default feature gates, as far as scheduling can notice.
 *
 * Two rules of the reference are easy to miss. Requests follow limits in pods only, never in templates. And amounts are
 * rounded up to thousandths, after everything that is computed from them. */
#include "api/defaults.h"

#include "api/fields.h"
#include "api/labels.h"
#include "api/pod_resources.h"
#include "api/resource_list.h"

enum { TERMINATION_GRACE_SECONDS = 30 };

/* For fields where "" is a value, and for those where it is not. */
static void if_absent(struct str *text, struct str value)
{
    if (!text->ptr)
        *text = value;
}

static void if_empty(struct str *text, struct str value)
{
    if (!text->len)
        *text = value;
}

static void if_unset(struct opt_int32 *number, int32_t value)
{
    if (!number->set)
        *number = (struct opt_int32){ true, value };
}

static void round_amounts(struct resource_list *list)
{
    list_for(list, resource)
        resource->amount = quantity_round_to_milli(resource->amount);
}

static void round_requirements(struct resource_requirements *resources)
{
    if (!resources)
        return;
    round_amounts(&resources->requests);
    round_amounts(&resources->limits);
}

/* ---- what pods and templates share ---- */

static void default_claim_spec(struct pvc_spec *spec)
{
    if_absent(&spec->volume_mode, STR("Filesystem"));
    round_requirements(&spec->resources);
}

static void default_claim_template(struct pvc_template *template, struct arena *arena)
{
    if (!template->spec)
        template->spec = arena_new(arena, struct pvc_spec);
    default_claim_spec(template->spec);
}

static void default_volume(struct volume *volume, struct arena *arena)
{
    if (volume->iscsi)
        if_empty(&volume->iscsi->iscsi_interface, STR("default"));
    if (volume->rbd)
        if_empty(&volume->rbd->pool, STR("rbd"));
    if (volume->azure_disk)
        if_absent(&volume->azure_disk->kind, STR("Shared"));
    if (volume->ephemeral && volume->ephemeral->template)
        default_claim_template(volume->ephemeral->template, arena);
}

static void default_container(struct container *container)
{
    list_for(&container->ports, port)
        if_empty(&port->protocol, STR("TCP"));
    round_requirements(&container->resources);
}

static void default_pod_spec(struct pod_spec *spec, struct arena *arena)
{
    if_empty(&spec->restart_policy, STR("Always"));
    if_empty(&spec->scheduler_name, STR("default-scheduler"));
    if (!spec->termination_grace_seconds.set)
        spec->termination_grace_seconds = (struct opt_int64){ true, TERMINATION_GRACE_SECONDS };
    list_for(&spec->volumes, volume)
        default_volume(volume, arena);
    list_for(&spec->init_containers, container)
        default_container(container);
    list_for(&spec->containers, container)
        default_container(container);
    round_amounts(&spec->overhead);
    round_requirements(spec->resources);
}

/* ---- pods only ---- */

/* Adds what `list` lacks. The list is built anew, because others may hold its items. */
static void fill_missing(struct resource_list *list, const struct resource_list *from, struct arena *arena)
{
    bool missing = false;
    list_for(from, resource)
        missing |= !resource_list_get(list, resource->name);
    if (!missing)
        return;
    struct resource_list filled = { 0 };
    resource_list_join(&filled, list, RESOURCE_KEEP, arena);
    resource_list_join(&filled, from, RESOURCE_KEEP, arena);
    *list = filled;
}

/* The same with those resources only that `wanted` accepts. */
static void fill_missing_if(struct resource_list *list, const struct resource_list *from,
                            bool (*wanted)(struct str name), struct arena *arena)
{
    struct resource_list some = { arena_array(arena, struct resource, from->len), 0 };
    list_for(from, resource)
        if (wanted(resource->name))
            some.items[some.len++] = *resource;
    fill_missing(list, &some, arena);
}

static void default_host_ports(struct container *container)
{
    list_for(&container->ports, port)
        if (port->host_port == 0)
            port->host_port = port->container_port;
}

static bool is_huge_pages(struct str name)
{
    return str_starts_with(name, STR("hugepages-"));
}

static bool is_cpu_or_memory(struct str name)
{
    return str_eq(name, STR("cpu")) || str_eq(name, STR("memory"));
}

static bool is_pod_level(struct str name)
{
    return is_cpu_or_memory(name) || is_huge_pages(name);
}

static const struct pod_requests_options containers_only = { .skip_pod_level = true,
                                                             .exclude_overhead = true };

/* The containers' limits of huge pages are the pod's, unless the pod has its own. */
static void default_huge_page_limits(struct pod *pod, struct arena *arena)
{
    struct resource_requirements *resources = pod->spec.resources;
    if (resources->limits.len == 0 && resources->requests.len == 0)
        return;
    struct resource_list sum, unrequested;
    pod_limits(pod, containers_only, arena, &sum);
    unrequested = (struct resource_list){ arena_array(arena, struct resource, sum.len), 0 };
    list_for(&sum, limit)
        if (!resource_list_get(&resources->requests, limit->name))
            unrequested.items[unrequested.len++] = *limit;
    fill_missing_if(&resources->limits, &unrequested, is_huge_pages, arena);
}

/* A pod with limits requests what its containers request (cpu and memory), else its limits. */
static void default_pod_level_requests(struct pod *pod, struct arena *arena)
{
    struct resource_requirements *resources = pod->spec.resources;
    if (resources->limits.len == 0)
        return;
    struct resource_list sum;
    pod_requests(pod, containers_only, arena, &sum);
    fill_missing_if(&resources->requests, &sum, is_cpu_or_memory, arena);
    fill_missing_if(&resources->requests, &resources->limits, is_pod_level, arena);
}

static void default_requests(struct pod *pod, struct arena *arena)
{
    list_for(&pod->spec.containers, container)
        fill_missing(&container->resources.requests, &container->resources.limits, arena);
    list_for(&pod->spec.init_containers, container)
        fill_missing(&container->resources.requests, &container->resources.limits, arena);
    if (!pod->spec.resources)
        return;
    default_huge_page_limits(pod, arena);
    default_pod_level_requests(pod, arena);
}

static void default_container_status(struct container_status *status)
{
    round_amounts(&status->allocated_resources);
    round_requirements(status->resources);
}

void pod_default(struct pod *pod, struct arena *arena)
{
    default_requests(pod, arena);
    if (pod->spec.host_network) {
        list_for(&pod->spec.containers, container)
            default_host_ports(container);
        list_for(&pod->spec.init_containers, container)
            default_host_ports(container);
    }
    default_pod_spec(&pod->spec, arena);
    list_for(&pod->status.container_statuses, status)
        default_container_status(status);
    list_for(&pod->status.init_container_statuses, status)
        default_container_status(status);
    round_amounts(&pod->status.allocated_resources);
    round_requirements(pod->status.resources);
}

/* ---- the other kinds ---- */

static void default_pod_object(void *ptr, struct arena *arena)
{
    pod_default(ptr, arena);
}

static void default_node(void *ptr, struct arena *arena _unused_)
{
    struct node *node = ptr;
    if (!node->status.allocatable.items)
        node->status.allocatable = node->status.capacity;
    round_amounts(&node->status.capacity);
    round_amounts(&node->status.allocatable);
}

/* Every namespace carries its name as a label. */
static void default_namespace(void *ptr, struct arena *arena)
{
    struct namespace *namespace = ptr;
    struct str_map *labels = &namespace->meta.labels;
    struct pair name = { STR("kubernetes.io/metadata.name"), namespace->meta.name };
    const struct str *value = str_map_get(labels, name.key);
    if (name.value.len == 0 || (value && str_eq(*value, name.value)))
        return;
    struct pair *items = arena_array(arena, struct pair, (size_t)labels->len + 1);
    uint32_t len = 0;
    list_for(labels, label)
        if (str_cmp(label->key, name.key) < 0)
            items[len++] = *label;
    items[len++] = name;
    list_for(labels, label)
        if (str_cmp(label->key, name.key) > 0)
            items[len++] = *label;
    *labels = (struct str_map){ items, len };
}

static void default_pv(void *ptr, struct arena *arena _unused_)
{
    struct pv *pv = ptr;
    if_empty(&pv->phase, STR("Pending"));
    if_absent(&pv->spec.volume_mode, STR("Filesystem"));
    round_amounts(&pv->spec.capacity);
}

static void default_pvc(void *ptr, struct arena *arena _unused_)
{
    struct pvc *pvc = ptr;
    if_empty(&pvc->status.phase, STR("Pending"));
    default_claim_spec(&pvc->spec);
    round_amounts(&pvc->status.capacity);
}

static void default_storage_class(void *ptr, struct arena *arena _unused_)
{
    struct storage_class *class = ptr;
    if_absent(&class->reclaim_policy, STR("Delete"));
    if_absent(&class->binding_mode, STR("Immediate"));
}

static void default_csi_driver(void *ptr, struct arena *arena _unused_)
{
    struct csi_driver *driver = ptr;
    if (!driver->attach_required.set)
        driver->attach_required = (struct opt_bool){ true, true };
    if (!driver->storage_capacity.set)
        driver->storage_capacity = (struct opt_bool){ true, false };
}

static void default_volume_attachment(void *ptr, struct arena *arena _unused_)
{
    struct volume_attachment *attachment = ptr;
    if (attachment->inline_volume)
        round_amounts(&attachment->inline_volume->spec.capacity);
}

static void default_priority_class(void *ptr, struct arena *arena _unused_)
{
    struct priority_class *class = ptr;
    if_absent(&class->preemption_policy, STR("PreemptLowerPriority"));
}

static void default_replication_controller(void *ptr, struct arena *arena)
{
    struct replication_controller *controller = ptr;
    const struct str_map *labels = &controller->template.meta.labels;
    if (controller->selector.len == 0)
        controller->selector = *labels;
    if (controller->meta.labels.len == 0)
        controller->meta.labels = *labels;
    if_unset(&controller->replicas, 1);
    default_pod_spec(&controller->template.spec, arena);
}

static void default_daemon_set(void *ptr, struct arena *arena)
{
    struct workload *workload = ptr;
    default_pod_spec(&workload->spec.template.spec, arena);
}

static void default_replicas(void *ptr, struct arena *arena)
{
    struct workload *workload = ptr;
    if_unset(&workload->spec.replicas, 1);
    default_pod_spec(&workload->spec.template.spec, arena);
    list_for(&workload->spec.volume_claim_templates, template)
        default_claim_template(template, arena);
}

static void default_job(void *ptr, struct arena *arena)
{
    struct workload *job = ptr;
    if (!job->spec.parallelism.set)
        if_unset(&job->spec.completions, 1);
    if_unset(&job->spec.parallelism, 1);
    if (job->meta.labels.len == 0)
        job->meta.labels = job->spec.template.meta.labels;
    if_absent(&job->spec.completion_mode, STR("NonIndexed"));
    if (!job->spec.suspend.set)
        job->spec.suspend = (struct opt_bool){ true, false };
    default_pod_spec(&job->spec.template.spec, arena);
}

/* ---- devices ---- */
static void default_device_request(struct device_subrequest *request)
{
    if_absent(&request->allocation_mode, STR("ExactCount"));
    if (!request->count && str_is(request->allocation_mode, "ExactCount"))
        request->count = 1;
}

static void default_resource_claim(void *ptr, struct arena *arena _unused_)
{
    struct resource_claim *claim = ptr;
    list_for(&claim->spec.requests, request) {
        if (request->exactly)
            default_device_request(request->exactly);
        list_for(&request->first_available, subrequest)
            default_device_request(subrequest);
    }
}

static void default_claim_of_template(void *ptr, struct arena *arena)
{
    default_resource_claim(&((struct resource_claim_template *)ptr)->claim, arena);
}

/* 1.36 alone has these. */
static void default_resource_slice(void *ptr, struct arena *arena)
{
    struct resource_slice *slice = ptr;
    list_for(&slice->devices, device)
        list_for(&device->node_mappings, mapping)
            if (!mapping->allocation_multiplier) {
                mapping->allocation_multiplier = arena_new(arena, struct quantity);
                *mapping->allocation_multiplier = quantity_from_int(1);
            }
}

static void (*const defaulters[KIND_COUNT])(void *ptr, struct arena *arena) = {
    [KIND_POD] = default_pod_object,
    [KIND_NODE] = default_node,
    [KIND_NAMESPACE] = default_namespace,
    [KIND_PV] = default_pv,
    [KIND_PVC] = default_pvc,
    [KIND_STORAGE_CLASS] = default_storage_class,
    [KIND_CSI_DRIVER] = default_csi_driver,
    [KIND_VOLUME_ATTACHMENT] = default_volume_attachment,
    [KIND_REPLICATION_CONTROLLER] = default_replication_controller,
    [KIND_REPLICA_SET] = default_replicas,
    [KIND_DEPLOYMENT] = default_replicas,
    [KIND_STATEFUL_SET] = default_replicas,
    [KIND_DAEMON_SET] = default_daemon_set,
    [KIND_JOB] = default_job,
    [KIND_PRIORITY_CLASS] = default_priority_class,
    [KIND_RESOURCE_CLAIM] = default_resource_claim,
    [KIND_CLAIM_TEMPLATE] = default_claim_of_template,
    [KIND_RESOURCE_SLICE] = default_resource_slice,
};

/* An object that no server has stored yet gets a uid that names it, and the first version. */
static void default_meta(const struct object *obj, struct arena *arena)
{
    struct meta *meta = obj->meta;
    if (!meta->uid.len) {
        struct str kind = api_kinds[obj->kind].kind;
        char *text = arena_alloc(arena, (size_t)kind.len + meta->namespace.len + meta->name.len + 2),
             *at = text;
        for (uint32_t i = 0; i < kind.len; i++) {
            char c = kind.ptr[i];
            *at++ = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
        *at++ = ':';
        if (meta->namespace.len)
            at = mempcpy(at, meta->namespace.ptr, meta->namespace.len);
        *at++ = '/';
        if (meta->name.len)
            at = mempcpy(at, meta->name.ptr, meta->name.len);
        meta->uid = (struct str){ text, (uint32_t)(at - text) };
    }
    if_empty(&meta->resource_version, STR("1"));
    if (api_kinds[obj->kind].namespaced)
        if_empty(&meta->namespace, STR("default"));
}

void object_default(struct object *obj, struct arena *arena)
{
    if (obj->kind == KIND_UNKNOWN)
        return;
    if (defaulters[obj->kind])
        defaulters[obj->kind](obj->ptr, arena);
    default_meta(obj, arena);
}
