/* claims.c: claims of pods; see claims.h. Sentences are the reference's. */
#include "plugins/dynamic_resources/claims.h"

#include "api/labels.h"

enum { NS_PER_S = 1000000000 };

/* The claim behind an entry of the pod; *ret is NULL where none was needed. */
static struct status find_claim(const struct cluster *cluster, const struct pod *pod,
                                const struct pod_claim *wanted, struct arena *arena,
                                const struct resource_claim **ret)
{
    struct str name = wanted->resource_claim_name;
    bool made = !name.ptr, found = !made;
    *ret = NULL;
    if (made && !wanted->resource_claim_template_name.ptr)
        return status_printf(arena, STATUS_UNRESOLVABLE,
                             "pod \"" META_FMT "\", spec.resourceClaim \"" STR_FMT
                             "\": none of the supported fields are set",
                             META_ARG(&pod->meta), STR_ARG(wanted->name));
    for (uint32_t i = 0; i < pod->status.claim_statuses.len && !found; i++) {
        const struct pod_claim_status *status = &pod->status.claim_statuses.items[i];
        found = str_eq(status->name, wanted->name);
        name = status->resource_claim_name;
    }
    if (!found)
        return status_printf(arena, STATUS_UNRESOLVABLE,
                             "pod \"" META_FMT "\": ResourceClaim not created yet", META_ARG(&pod->meta));
    if (!name.ptr)
        return STATUS_OK;
    const struct resource_claim *claim = devices_claim(cluster, pod->meta.namespace, name);
    if (!claim)
        return status_printf(arena, STATUS_UNRESOLVABLE,
                             "could not find ResourceClaim \"" STR_FMT "/" STR_FMT "\"",
                             STR_ARG(pod->meta.namespace), STR_ARG(name));
    if (claim->meta.deletion_time.set)
        return status_printf(arena, STATUS_UNRESOLVABLE, "resourceclaim \"" STR_FMT "\" is being deleted",
                             STR_ARG(name));
    if (claim->is_partial)
        return status_printf(arena, STATUS_UNRESOLVABLE, "resourceclaim \"" STR_FMT "\" cannot be read",
                             STR_ARG(name));
    const struct owner_ref *owner = controller_of(&claim->meta);
    if (made && (!owner || !str_eq(owner->uid, pod->meta.uid)))
        return status_printf(arena, STATUS_UNRESOLVABLE,
                             "ResourceClaim " META_FMT " was not created for Pod " META_FMT
                             " (Pod is not owner)",
                             META_ARG(&claim->meta), META_ARG(&pod->meta));
    *ret = claim;
    return STATUS_OK;
}

struct status claims_of_pod(const struct cluster *cluster, const struct pod *pod, struct arena *arena,
                            struct claim_list *ret)
{
    size_t most = (size_t)pod->spec.resource_claims.len + 1;
    *ret = (struct claim_list){ .items = arena_array(arena, const struct resource_claim *, most) };
    list_for(&pod->spec.resource_claims, wanted) {
        struct status status = find_claim(cluster, pod, wanted, arena, &ret->items[ret->len]);
        if (!status_ok(status))
            return status;
        ret->len += ret->items[ret->len] != NULL;
    }
    return STATUS_OK;
}

/* Objects from files may have no uid: then the name decides. */
bool claim_is_reserved_for(const struct resource_claim *claim, const struct pod *pod)
{
    list_for(&claim->status.reserved_for, consumer)
        if (str_eq(consumer->uid, pod->meta.uid) &&
            (consumer->uid.len || str_eq(consumer->name, pod->meta.name)))
            return true;
    return false;
}

/* ---- devices that must be prepared ---- */
static const struct device_status *status_of(const struct resource_claim *claim,
                                             const struct device_result *result)
{
    list_for(&claim->status.devices, status)
        if (str_eq(status->device, result->device) && str_eq(status->driver, result->driver) &&
            str_eq(status->pool, result->pool))
            return status;
    return NULL;
}

static const struct pod_condition *true_condition(const struct device_status *status, struct str type)
{
    list_for(&status->conditions, condition)
        if (str_eq(condition->type, type))
            return str_is(condition->status, "True") ? condition : NULL;
    return NULL;
}

static struct status is_device_ready(const struct resource_claim *claim, const struct device_result *result,
                                     struct arena *arena)
{
    const struct device_status *status = status_of(claim, result);
    if (!status)
        return STATUS_WAITING;
    list_for(&result->binding_failure_conditions, type) {
        const struct pod_condition *failed = true_condition(status, *type);
        if (failed)
            return status_printf(
                arena, STATUS_ERROR,
                "device binding failed: claim=" STR_FMT ", reason=" STR_FMT ", message=\"" STR_FMT "\"",
                STR_ARG(claim->meta.name), STR_ARG(failed->reason), STR_ARG(failed->message));
    }
    list_for(&result->binding_conditions, type)
        if (!true_condition(status, *type))
            return STATUS_WAITING;
    return STATUS_OK;
}

struct status claim_is_ready(const struct resource_claim *claim, struct arena *arena)
{
    struct status status = claim->status.allocation ? STATUS_OK : STATUS_WAITING;
    if (claim->status.allocation)
        list_for(&claim->status.allocation->devices.results, result)
            if (result->binding_conditions.len && status_ok(status))
                status = is_device_ready(claim, result, arena);
    return status;
}

bool claim_needs_preparation(const struct resource_claim *claim)
{
    if (claim->status.allocation)
        list_for(&claim->status.allocation->devices.results, result)
            if (result->binding_conditions.len)
                return true;
    return false;
}

bool claim_is_overdue(const struct resource_claim *claim, int64_t wall_ns, int64_t timeout_ns)
{
    if (!claim_needs_preparation(claim) || !claim->status.allocation->timestamp.set)
        return false;
    __int128 since = (__int128)claim->status.allocation->timestamp.seconds * NS_PER_S +
                     claim->status.allocation->timestamp.nanos;
    return since + timeout_ns < wall_ns;
}
