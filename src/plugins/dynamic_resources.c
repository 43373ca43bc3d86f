/* DynamicResources: devices that a pod asks for by ResourceClaim.
 *
 * Devices are not allocated yet: a pod that needs some waits and is told why. Every other pod passes, and every node
 * gets the same score of 0, as the reference gives it. */
#include "framework/normalize.h"
#include "framework/table.h"
#include "plugins/device_classes.h"

struct request {
    bool claims; /* does the pod need devices? */
};

/* A claim made from a template is named in the pod's status; named there without a claim, none was needed. */
static bool needs_no_claim(const struct pod *pod, const struct pod_claim *claim)
{
    if (claim->resource_claim_name.ptr)
        return false;
    list_for(&pod->status.claim_statuses, status) {
        if (str_eq(status->name, claim->name))
            return !status->resource_claim_name.ptr;
    }
    return false;
}

static bool needs_devices(const struct cluster *cluster, const struct pod_info *info)
{
    list_for(&info->api->spec.resource_claims, claim) {
        if (!needs_no_claim(info->api, claim))
            return true;
    }
    if (!cluster->device_classes.len)
        return false;
    const struct pod_class *class = info->class;
    for (uint32_t i = 0; i < class->fit_len; i++)
        if (class->fit[i].value && class->fit[i].resource >= RES_SCALAR_FIRST &&
            device_class_provides(cluster, cluster->resource_names.items[class->fit[i].resource]))
            return true;
    return false;
}

static struct status pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    (void)narrow;
    struct request *request = arena_new(cycle->arena, struct request);
    *cycle_state(cycle) = request;
    request->claims = needs_devices(cycle->cluster, cycle->info);
    if (!request->claims)
        return STATUS_SKIPPED;
    return reject(STATUS_UNRESOLVABLE, "the pod needs dynamic resources, which are not supported yet");
}

/* Asked only of pods that need devices, or where PreFilter did not run. */
static struct status filter(struct cycle *cycle, struct node_view node)
{
    (void)node;
    return *cycle_state(cycle) ? STATUS_OK : reject(STATUS_ERROR, "not found");
}

/* Comes before preemption. When PreFilter ended before it reached this plugin, its state is missing; the reference
 * takes that for an error, and preemption does not get its turn. */
static struct status post_filter(struct cycle *cycle, struct diagnosis *diagnosis,
                                 struct post_filter_result *ret)
{
    (void)diagnosis;
    (void)ret;
    const struct request *request = *cycle_state(cycle);
    if (!request)
        return reject(STATUS_ERROR, "not found");
    if (!request->claims)
        return reject(STATUS_UNSCHEDULABLE, "no new claims to deallocate");
    return reject(STATUS_UNSCHEDULABLE, "still not schedulable");
}

static struct status score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    (void)node;
    if (!*cycle_state(cycle))
        return reject(STATUS_ERROR, "not found");
    *ret = 0;
    return STATUS_OK;
}

static void normalize(struct cycle *cycle, int64_t *scores, size_t len)
{
    (void)cycle;
    normalize_scores(scores, len, false);
}

/* A pod without devices gets 0 everywhere: nothing to fill in. */
static bool rows_prepare(struct table *table, struct table_part *part)
{
    (void)part;
    return !needs_devices(table->cluster, table->pod);
}

static uint64_t rows_version(const struct table *table, const struct table_part *part)
{
    (void)part;
    return needs_devices(table->cluster, table->pod);
}

static const struct row_forms rows = { .prepare = rows_prepare, .version = rows_version };

/* ---- what may help ---- */
/* A claim made from a template belongs to the pod. */
static bool is_owned(const struct meta *claim, const struct pod *pod)
{
    list_for(&claim->owners, owner)
        if (owner->controller.value)
            return str_eq(owner->uid, pod->meta.uid);
    return false;
}

/* Are all claims of the pod there? *ret_uses: is the given one among them? */
static bool claims_exist(const struct cluster *cluster, const struct pod *pod,
                         const struct resource_claim *given, bool *ret_uses)
{
    *ret_uses = false;
    list_for(&pod->spec.resource_claims, wanted) {
        struct str name = wanted->resource_claim_name;
        bool named = name.ptr;
        list_for(&pod->status.claim_statuses, status) {
            if (!wanted->resource_claim_name.ptr && str_eq(status->name, wanted->name)) {
                name = status->resource_claim_name;
                named = true;
                break;
            }
        }
        if (!named)
            return false;
        if (!name.ptr)
            continue; /* none was needed */
        const struct resource_claim *claim = cluster_get(&cluster->claims, pod->meta.namespace, name);
        if (!claim || claim->meta.deletion_time.set ||
            (!wanted->resource_claim_name.ptr && !is_owned(&claim->meta, pod)))
            return false;
        *ret_uses |= given && str_eq(claim->meta.name, given->meta.name) &&
                     str_eq(claim->meta.namespace, given->meta.namespace);
    }
    return true;
}

static enum hint claim_changed(const struct hint_context *context, const struct pod *pod,
                               const struct cluster_event *event)
{
    bool uses;
    return claims_exist(context->cluster, pod, event->after, &uses) && uses ? HINT_QUEUE : HINT_SKIP;
}

static enum hint pod_changed(const struct hint_context *context, const struct pod *pod,
                             const struct cluster_event *event)
{
    bool uses;
    return pod_is(event->after, pod) && claims_exist(context->cluster, event->after, NULL, &uses) ? HINT_QUEUE
                                                                                                  : HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_NODE, ACTION_ADD | ACTION_NODE_LABEL | ACTION_NODE_ALLOCATABLE, NULL },
    { EVENT_RESOURCE_CLAIM, ACTION_ADD | ACTION_UPDATE, claim_changed },
    { EVENT_POD, ACTION_POD_GENERATED_CLAIM, pod_changed },
    { EVENT_DEVICE_CLASS, ACTION_ADD | ACTION_UPDATE, NULL },
    { EVENT_RESOURCE_SLICE, ACTION_ADD | ACTION_UPDATE, NULL },
    { 0 },
};

const struct plugin plugin_dynamic_resources = {
    .name = "DynamicResources",
    .doc = "Holds back pods that need devices by ResourceClaim.",
    .silent_points = POINT_BIT(POINT_PRE_ENQUEUE) | POINT_BIT(POINT_RESERVE) | POINT_BIT(POINT_PRE_BIND),
    .pre_filter = pre_filter,
    .filter = filter,
    .post_filter = post_filter,
    .score = score,
    .normalize = normalize,
    .rows = &rows,
    .events = events,
};
