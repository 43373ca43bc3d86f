/* claims.c: claims of pods; see claims.h. Sentences are the reference's. */
#include "plugins/dynamic_resources/claims.h"

#include "api/labels.h"

enum { NS_PER_S = 1000000000 };

/* The name of the claim behind an entry of the pod; ret_name->ptr NULL: none was needed. False: there is none yet. */
static bool claim_name(const struct pod *pod, const struct pod_claim *wanted, struct arena *arena,
                       struct str *ret_name, bool *ret_made, struct str *ret_why)
{
    *ret_made = !wanted->resource_claim_name.ptr;
    *ret_name = wanted->resource_claim_name;
    if (!*ret_made)
        return true;
    if (!wanted->resource_claim_template_name.ptr) {
        *ret_why = arena_printf(arena,
                                "pod \"" META_FMT "\", spec.resourceClaim \"" STR_FMT
                                "\": none of the supported fields are set",
                                META_ARG(&pod->meta), STR_ARG(wanted->name));
        return false;
    }
    list_for(&pod->status.claim_statuses, status) {
        if (str_eq(status->name, wanted->name)) {
            *ret_name = status->resource_claim_name;
            return true;
        }
    }
    *ret_why =
        arena_printf(arena, "pod \"" META_FMT "\": ResourceClaim not created yet", META_ARG(&pod->meta));
    return false;
}

static bool check_claim(const struct resource_claim *claim, const struct pod *pod, struct str name, bool made,
                        struct arena *arena, struct str *ret_why)
{
    const struct owner_ref *owner = claim ? controller_of(&claim->meta) : NULL;
    if (!claim)
        *ret_why = arena_printf(arena, "could not find ResourceClaim \"" STR_FMT "/" STR_FMT "\"",
                                STR_ARG(pod->meta.namespace), STR_ARG(name));
    else if (claim->meta.deletion_time.set)
        *ret_why = arena_printf(arena, "resourceclaim \"" STR_FMT "\" is being deleted", STR_ARG(name));
    else if (made && (!owner || !str_eq(owner->uid, pod->meta.uid)))
        *ret_why = arena_printf(
            arena, "ResourceClaim " META_FMT " was not created for Pod " META_FMT " (Pod is not owner)",
            META_ARG(&claim->meta), META_ARG(&pod->meta));
    else
        return true;
    return false;
}

bool claims_of_pod(const struct cluster *cluster, const struct pod *pod, struct arena *arena,
                   struct claim_list *ret, struct str *ret_why)
{
    uint32_t most = pod->spec.resource_claims.len;
    *ret =
        (struct claim_list){ .items = arena_array(arena, const struct resource_claim *, (size_t)most + 1) };
    list_for(&pod->spec.resource_claims, wanted) {
        struct str name;
        bool made;
        if (!claim_name(pod, wanted, arena, &name, &made, ret_why))
            return false;
        if (!name.ptr)
            continue;
        const struct resource_claim *claim = devices_claim(cluster, pod->meta.namespace, name);
        if (!check_claim(claim, pod, name, made, arena, ret_why))
            return false;
        ret->items[ret->len++] = claim;
    }
    return true;
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

static const struct device_condition *true_condition(const struct device_status *status, struct str type)
{
    list_for(&status->conditions, condition)
        if (str_eq(condition->type, type))
            return str_is(condition->status, "True") ? condition : NULL;
    return NULL;
}

static int is_device_ready(const struct resource_claim *claim, const struct device_result *result,
                           struct arena *arena, struct str *ret_why)
{
    const struct device_status *status = status_of(claim, result);
    if (!status)
        return 0;
    list_for(&result->binding_failure_conditions, type) {
        const struct device_condition *failed = true_condition(status, *type);
        if (!failed)
            continue;
        *ret_why = arena_printf(
            arena, "device binding failed: claim=" STR_FMT ", reason=" STR_FMT ", message=\"" STR_FMT "\"",
            STR_ARG(claim->meta.name), STR_ARG(failed->reason), STR_ARG(failed->message));
        return -1;
    }
    list_for(&result->binding_conditions, type)
        if (!true_condition(status, *type))
            return 0;
    return 1;
}

int claim_is_ready(const struct resource_claim *claim, struct arena *arena, struct str *ret_why)
{
    if (!claim->status.allocation)
        return 0;
    list_for(&claim->status.allocation->devices.results, result) {
        int r = result->binding_conditions.len ? is_device_ready(claim, result, arena, ret_why) : 1;
        if (r <= 0)
            return r;
    }
    return 1;
}

bool claim_needs_preparation(const struct resource_claim *claim)
{
    if (claim->status.allocation)
        list_for(&claim->status.allocation->devices.results, result)
            if (result->binding_conditions.len)
                return true;
    return false;
}

bool claim_is_overdue(const struct resource_claim *claim, int64_t now_ns, int64_t timeout_ns)
{
    if (!claim_needs_preparation(claim) || !claim->status.allocation->timestamp.set)
        return false;
    __int128 since = (__int128)claim->status.allocation->timestamp.seconds * NS_PER_S +
                     claim->status.allocation->timestamp.nanos;
    return since + timeout_ns < now_ns;
}
