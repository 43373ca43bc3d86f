/* grant.c: assuming, writing and releasing the claims of one pod. Texts of failures are the reference's. */
#include "plugins/dynamic_resources/grant.h"

#include "api/fields.h"
#include "api/labels.h"
#include "framework/probe.h"
#include "plugins/dynamic_resources/claims.h"

enum {
    NS_PER_S = 1000000000,
    TRIES_MAX = 5,
    POD_TRIES_MAX = 4,
    REFRESH_S = 10,
    APPEAR_S = 120,
    LOOK_AGAIN_S = 5
};

/* ---- taking ---- */
/* A claim that does not exist yet is kept apart from those of other pods. */
static struct str flight_name(const struct grant *grant, struct arena *arena)
{
    return arena_printf(arena, EXTENDED_CLAIM_NAME "/" STR_FMT, STR_ARG(grant->pod.name));
}

static bool has_finalizer(const struct resource_claim *claim)
{
    return str_list_has(&claim->meta.finalizers, STR(CLAIM_FINALIZER));
}

/* The claim as it will be. */
static struct resource_claim allocated(const struct granted_claim *given, struct arena *arena)
{
    struct resource_claim claim = given->claim;
    if (given->allocation)
        claim.status.allocation = (struct allocation_result *)given->allocation;
    if (!has_finalizer(&claim)) {
        struct str_list *list = &claim.meta.finalizers;
        list->items = arena_copy(arena, struct str, list->items, list->len, (size_t)list->len + 1);
        list->items[list->len++] = STR(CLAIM_FINALIZER);
    }
    return claim;
}

static enum grant_stage first_stage(const struct granted_claim *given, const struct pod *pod, bool allocates)
{
    if (claim_is_reserved_for(&given->claim, pod))
        return GRANT_DONE;
    if (!given->extended || !extended_claim_is_new(&given->claim))
        return GRANT_FINALIZER;
    return allocates ? GRANT_CREATE : GRANT_DONE; /* done: the node itself has the resources */
}

static void copy_claim(const struct resource_claim *from, struct arena *arena, struct resource_claim *ret)
{
    record_copy(api_kinds[KIND_RESOURCE_CLAIM].type, from, arena, ret);
    ret->meta.home = NULL;
    ret->meta.source = (struct str){ 0 };
}

void grant_begin(struct grant *grant, struct cycle *cycle, uint32_t claims,
                 const struct extended_claim *extended, struct str node_name)
{
    struct arena *arena = cycle->arena;
    uint32_t mappings = extended ? extended->mappings.len : 0;
    *grant = (struct grant){ .claims = arena_array(arena, struct granted_claim, claims),
                             .node_name = arena_str(arena, node_name),
                             .pod = event_subject_copy(arena, event_subject_of(&cycle->pod->meta)) };
    grant->extended.mappings.items = arena_array(arena, struct request_mapping, mappings);
    grant->extended.mappings.len = mappings;
    for (uint32_t i = 0; i < mappings; i++) {
        const struct request_mapping *from = &extended->mappings.items[i];
        grant->extended.mappings.items[i] =
            (struct request_mapping){ arena_str(arena, from->container), arena_str(arena, from->resource),
                                      arena_str(arena, from->request) };
    }
}

void grant_take(struct grant *grant, struct cycle *cycle, const struct resource_claim *claim,
                const struct allocation_result *allocation, bool extended)
{
    struct granted_claim *given = &grant->claims[grant->len++];
    given->extended = extended;
    copy_claim(claim, cycle->arena, &given->claim);
    given->stage = first_stage(given, cycle->pod, allocation);
    if (!allocation)
        return;
    struct allocation_result *copy = arena_new(cycle->arena, struct allocation_result);
    record_copy(api_allocation_type, allocation, cycle->arena, copy);
    given->allocation = copy;
    struct resource_claim taken = allocated(given, cycle->arena);
    if (given->stage == GRANT_CREATE)
        taken.meta.name = flight_name(grant, cycle->arena);
    devices_take(cycle->cluster, &taken);
}

void grant_take_node_claims(struct grant *grant, struct cycle *cycle, const struct node_claim_list *list)
{
    grant->node_claims.items = arena_array(cycle->arena, struct node_claim, list->len);
    grant->node_claims.len = list->len;
    for (uint32_t i = 0; i < list->len; i++)
        record_copy(&node_claim_type, &list->items[i], cycle->arena, &grant->node_claims.items[i]);
    cluster_set_node_claims(cycle->cluster, cycle->info, &grant->node_claims);
}

/* ---- dropping ---- */
const struct answer *grant_send(struct cycle *cycle, enum effect_kind kind, struct event_subject object,
                                struct str body)
{
    if (!cycle->writer)
        return NULL;
    return cycle_write(cycle, &(struct effect){ .kind = kind,
                                                .namespace = object.namespace,
                                                .name = object.name,
                                                .uid = object.uid,
                                                .body = body });
}

void grant_delete_claim(struct cycle *cycle, const struct resource_claim *claim)
{
    struct event_subject object = event_subject_of(&claim->meta);
    grant_send(cycle, EFFECT_CLAIM_PATCH, object, patch_finalizer(claim, false, cycle->arena));
    grant_send(cycle, EFFECT_CLAIM_DELETE, object, (struct str){ 0 });
}

static bool is_created(const struct granted_claim *given)
{
    return given->extended && !extended_claim_is_new(&given->claim);
}

void grant_drop(struct grant *grant, struct cycle *cycle)
{
    struct arena *arena = cycle->arena;
    for (uint32_t i = 0; i < grant->len; i++) {
        struct granted_claim *given = &grant->claims[i];
        const struct meta *meta = &given->claim.meta;
        devices_drop(cycle->cluster, meta->namespace, meta->name);
        if (given->allocation)
            devices_let_go(cycle->cluster, meta->namespace, meta->name);
        if (given->extended)
            devices_drop(cycle->cluster, meta->namespace, flight_name(grant, arena));
        bool reserved = given->claim.status.allocation && claim_is_reserved_for(&given->claim, cycle->pod);
        if (!given->extended && reserved) {
            grant_send(cycle, EFFECT_CLAIM_STATUS, event_subject_of(meta),
                       patch_release(&given->claim, grant->pod.uid, arena));
        } else if (is_created(given)) {
            struct resource_claim any = given->claim;
            any.meta.resource_version = (struct str){ 0 };
            grant_delete_claim(cycle, &any);
        }
    }
    /* Also where nothing was written yet: an earlier attempt may have. */
    if (grant->node_claims.len)
        grant_send(cycle, EFFECT_POD_UNCLAIM, grant->pod,
                   patch_node_claims(&grant->pod, &(struct node_claim_list){ 0 }, arena));
    *grant = (struct grant){ 0 };
}

/* ---- writing ---- */
static struct status stage_failed(const struct grant *grant, const struct granted_claim *given,
                                  struct arena *arena)
{
    const struct meta *claim = &given->claim.meta;
    struct str why = answer_text(given->answer, "resourceclaims.resource.k8s.io", claim->name, arena), what;
    if (given->stage == GRANT_CREATE)
        what = arena_printf(arena, "create claim for extended resources " STR_FMT "/",
                            STR_ARG(grant->pod.namespace));
    else if (given->stage == GRANT_FINALIZER)
        what = arena_printf(arena, "add finalizer to claim " META_FMT, META_ARG(claim));
    else if (given->stage == GRANT_POD)
        what =
            arena_printf(arena, "update pod " META_FMT " ExtendedResourceClaimStatus", META_ARG(&grant->pod));
    else
        what = arena_printf(arena, "add %sreservation to claim " META_FMT,
                            given->allocation ? "allocation and " : "", META_ARG(claim));
    return status_printf(arena, STATUS_ERROR, STR_FMT ": " STR_FMT, STR_ARG(what), STR_ARG(why));
}

/* Sends what the stage needs, once. Success: it is done. */
static struct status write_stage(const struct grant *grant, struct granted_claim *given, struct cycle *cycle,
                                 enum effect_kind kind, struct event_subject object, struct str body)
{
    if (!given->answer)
        given->answer = grant_send(cycle, kind, object, body);
    if (given->answer->kind == ANSWER_PENDING)
        return STATUS_WAITING;
    return given->answer->kind == ANSWER_DONE ? STATUS_OK : stage_failed(grant, given, cycle->arena);
}

static void enter(struct granted_claim *given, enum grant_stage stage)
{
    given->stage = stage;
    given->answer = NULL;
    given->deadline_ns = 0;
}

/* Whether the wait is over; until then the cycle is called again in time. */
static bool is_over(struct cycle *cycle, int64_t *deadline_ns, int64_t timeout_ns)
{
    if (!*deadline_ns && __builtin_add_overflow(cycle->now_ns, timeout_ns, deadline_ns))
        *deadline_ns = INT64_MAX;
    if (cycle->now_ns >= *deadline_ns)
        return true;
    cycle->wake_ns = MIN(cycle->now_ns + (int64_t)LOOK_AGAIN_S * NS_PER_S, *deadline_ns);
    return false;
}

static const struct resource_claim *known_claim(const struct granted_claim *given, const struct cycle *cycle)
{
    return devices_claim(cycle->cluster, given->claim.meta.namespace, given->claim.meta.name);
}

/* The name is made here, so that a request that is sent twice makes one claim; each attempt has another one. */
static struct str new_name(const struct grant *grant, const struct granted_claim *given, int64_t now_ns,
                           struct arena *arena)
{
    enum { BASE_LEN_MAX = 58, RANDOM_LEN = 5 };
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    struct str base = str_slice(given->claim.meta.generate_name, 0,
                                MIN(given->claim.meta.generate_name.len, (uint32_t)BASE_LEN_MAX));
    uint64_t hash = hash_bytes(grant->pod.uid.ptr, grant->pod.uid.len, (uint64_t)now_ns);
    char end[RANDOM_LEN + 1] = { 0 };
    for (int i = 0; i < RANDOM_LEN; i++, hash /= sizeof(letters) - 1)
        end[i] = letters[hash % (sizeof(letters) - 1)];
    return arena_printf(arena, STR_FMT "%s", STR_ARG(base), end);
}

static struct status create(struct grant *grant, struct granted_claim *given, struct cycle *cycle)
{
    struct str body = STR("");
    if (!given->answer) {
        struct resource_claim wanted = given->claim;
        wanted.meta.name = grant->made_name = new_name(grant, given, cycle->now_ns, cycle->arena);
        body = patch_new_claim(&wanted, cycle->arena);
    }
    struct event_subject nameless = { .namespace = given->claim.meta.namespace };
    struct status status = write_stage(grant, given, cycle, EFFECT_CLAIM_CREATE, nameless, body);
    if (given->answer->kind == ANSWER_DONE) {
        given->claim.meta.name = grant->made_name;
        given->claim.meta.uid = given->answer->uid;
        given->claim.meta.resource_version = given->answer->resource_version;
    } else if (given->answer->kind == ANSWER_CONFLICT) { /* an answer was lost: this request created it */
        const struct resource_claim *made =
            devices_claim(cycle->cluster, given->claim.meta.namespace, grant->made_name);
        if (!made)
            return is_over(cycle, &given->deadline_ns, (int64_t)REFRESH_S * NS_PER_S) ? status
                                                                                      : STATUS_WAITING;
        copy_claim(made, cycle->arena, &given->claim);
    } else {
        return status;
    }
    enter(given, GRANT_FINALIZER);
    return STATUS_OK;
}

/* May the claim be written as it is? */
static struct status check_claim(const struct granted_claim *given, struct arena *arena)
{
    const struct resource_claim *claim = &given->claim;
    if (claim->meta.deletion_time.set)
        return status_printf(arena, STATUS_ERROR, "claim " META_FMT " got deleted in the meantime",
                             META_ARG(&claim->meta));
    if (given->allocation && claim->status.allocation)
        return status_printf(arena, STATUS_ERROR,
                             "claim " META_FMT " got allocated elsewhere in the meantime",
                             META_ARG(&claim->meta));
    if (!given->allocation && !claim->status.allocation)
        return status_printf(arena, STATUS_ERROR,
                             "claim " META_FMT " got deallocated elsewhere in the meantime",
                             META_ARG(&claim->meta));
    return STATUS_OK;
}

static struct status conflict_or(struct granted_claim *given, struct status status)
{
    if (given->answer && given->answer->kind == ANSWER_CONFLICT && ++given->conflicts < TRIES_MAX) {
        given->stage = GRANT_CONFLICT;
        return STATUS_OK;
    }
    return status;
}

static struct status add_finalizer(struct grant *grant, struct granted_claim *given, struct cycle *cycle)
{
    struct status status = check_claim(given, cycle->arena);
    if (!status_ok(status))
        return status;
    if (given->allocation && !has_finalizer(&given->claim)) {
        struct str body = given->answer ? STR("") : patch_finalizer(&given->claim, true, cycle->arena);
        status =
            write_stage(grant, given, cycle, EFFECT_CLAIM_PATCH, event_subject_of(&given->claim.meta), body);
        if (!status_ok(status))
            return conflict_or(given, status);
        given->claim = allocated(&(struct granted_claim){ .claim = given->claim }, cycle->arena);
        given->claim.meta.resource_version = given->answer->resource_version;
    }
    enter(given, GRANT_STATUS);
    return STATUS_OK;
}

static struct opt_time time_of(int64_t now_ns)
{
    return (struct opt_time){ .set = true, .seconds = now_ns / NS_PER_S };
}

/* Notes the claim as the API server has it after the write. */
static void note_written(struct grant *grant, struct granted_claim *given, struct cycle *cycle,
                         struct str version)
{
    struct arena *arena = cycle->arena;
    struct resource_claim claim = allocated(given, arena);
    uint32_t len = claim.status.reserved_for.len++;
    claim.status.reserved_for.items =
        arena_copy(arena, struct claim_consumer, claim.status.reserved_for.items, len, (size_t)len + 1);
    claim.status.reserved_for.items[len] =
        (struct claim_consumer){ .resource = STR("pods"), .name = grant->pod.name, .uid = grant->pod.uid };
    claim.meta.resource_version = version;
    struct allocation_result *allocation = arena_new(arena, struct allocation_result);
    *allocation = *claim.status.allocation;
    if (!allocation->timestamp.set && grant->prepares)
        allocation->timestamp = time_of(cycle->now_ns + cycle->wall_ahead_ns);
    claim.status.allocation = allocation;
    given->claim = claim;
}

static struct status write_status(struct grant *grant, struct granted_claim *given, struct cycle *cycle)
{
    struct str body = STR("");
    if (!given->answer)
        body = patch_allocation(&given->claim, given->allocation,
                                grant->prepares ? time_of(cycle->now_ns + cycle->wall_ahead_ns)
                                                : (struct opt_time){ 0 },
                                &grant->pod, cycle->arena);
    struct status status =
        write_stage(grant, given, cycle, EFFECT_CLAIM_STATUS, event_subject_of(&given->claim.meta), body);
    if (!status_ok(status))
        return conflict_or(given, status);
    note_written(grant, given, cycle, given->answer->resource_version);
    if (!given->extended)
        devices_written(cycle->cluster, &given->claim);
    if (!given->extended && given->allocation && cycle->cluster->features.release->claims_stay_in_flight)
        devices_hold(cycle->cluster, &given->claim);
    enter(given, given->extended ? GRANT_POD : GRANT_DONE);
    return STATUS_OK;
}

/* The claim was changed. When the newer version has arrived, all is tried again with it. */
static struct status retry_conflict(struct grant *grant, struct granted_claim *given, struct cycle *cycle)
{
    const struct resource_claim *newer = known_claim(given, cycle);
    if (!newer || !str_eq(newer->meta.uid, given->claim.meta.uid))
        return status_printf(cycle->arena, STATUS_ERROR,
                             "get updated claim " META_FMT
                             " after conflict: resourceclaims.resource.k8s.io \"" STR_FMT "\" not found",
                             META_ARG(&given->claim.meta), STR_ARG(given->claim.meta.name));
    if (str_eq(newer->meta.resource_version, given->claim.meta.resource_version)) {
        if (!is_over(cycle, &given->deadline_ns, (int64_t)REFRESH_S * NS_PER_S))
            return STATUS_WAITING;
        given->stage = GRANT_STATUS;
        return stage_failed(grant, given, cycle->arena);
    }
    copy_claim(newer, cycle->arena, &given->claim);
    /* It may be this pod's own request that did it, and only the answer was lost. */
    if (given->claim.status.allocation && claim_is_reserved_for(&given->claim, cycle->pod))
        enter(given, given->extended ? GRANT_POD : GRANT_DONE);
    else
        enter(given, GRANT_FINALIZER);
    if (given->stage == GRANT_DONE)
        devices_drop(cycle->cluster, given->claim.meta.namespace, given->claim.meta.name);
    return STATUS_OK;
}

static struct status write_pod_status(struct grant *grant, struct granted_claim *given, struct cycle *cycle)
{
    if (!grant->extended.mappings.len)
        return status_printf(cycle->arena, STATUS_ERROR,
                             "nil or empty request mappings, no update of pod " META_FMT
                             " ExtendedResourceClaimStatus",
                             META_ARG(&grant->pod));
    struct str body = STR("");
    if (!given->answer)
        body = patch_pod_claim(&grant->pod, given->claim.meta.name, &grant->extended, cycle->arena);
    struct status status = write_stage(grant, given, cycle, EFFECT_POD_CLAIM, grant->pod, body);
    if (status_ok(status))
        enter(given, GRANT_APPEAR);
    return status;
}

/* Until the claim is stored, its devices stay taken under the temporary name. */
static struct status await_claim(struct grant *grant, struct granted_claim *given, struct cycle *cycle)
{
    const struct meta *meta = &given->claim.meta;
    if (!cluster_get(&cycle->cluster->claims, meta->namespace, meta->name) &&
        !is_over(cycle, &given->deadline_ns, (int64_t)APPEAR_S * NS_PER_S))
        return STATUS_WAITING;
    devices_written(cycle->cluster, &given->claim);
    devices_drop(cycle->cluster, meta->namespace, flight_name(grant, cycle->arena));
    enter(given, GRANT_DONE);
    return STATUS_OK;
}

/* What the claims take of the node, when all of them are written. */
static struct status write_node_claims(struct grant *grant, struct cycle *cycle)
{
    if (!grant->node_claims.len)
        return STATUS_OK;
    if (!grant->pod_answer)
        grant->pod_answer = grant_send(cycle, EFFECT_POD_CLAIM, grant->pod,
                                       patch_node_claims(&grant->pod, &grant->node_claims, cycle->arena));
    if (grant->pod_answer->kind == ANSWER_CONFLICT && ++grant->pod_conflicts < POD_TRIES_MAX) {
        grant->pod_answer = NULL;
        return write_node_claims(grant, cycle);
    }
    if (grant->pod_answer->kind == ANSWER_PENDING)
        return STATUS_WAITING;
    if (grant->pod_answer->kind == ANSWER_DONE)
        return STATUS_OK;
    struct str why = answer_text(grant->pod_answer, "pods", grant->pod.name, cycle->arena);
    return status_printf(cycle->arena, STATUS_ERROR,
                         "updating pod " META_FMT " NodeAllocatableResourceClaimStatuses: " STR_FMT,
                         META_ARG(&grant->pod), STR_ARG(why));
}

static struct status take_stage(struct grant *grant, struct granted_claim *given, struct cycle *cycle)
{
    static struct status (*const stages[])(struct grant *, struct granted_claim *, struct cycle *) = {
        [GRANT_CREATE] = create,           [GRANT_FINALIZER] = add_finalizer, [GRANT_STATUS] = write_status,
        [GRANT_CONFLICT] = retry_conflict, [GRANT_POD] = write_pod_status,    [GRANT_APPEAR] = await_claim,
    };
    return stages[given->stage](grant, given, cycle);
}

/* ---- waiting for devices ---- */
static void send_waiting_event(const struct grant *grant, struct cycle *cycle)
{
    (void)cycle_write(
        cycle, &(struct effect){
                   .kind = EFFECT_EVENT,
                   .namespace = grant->pod.namespace,
                   .name = grant->pod.name,
                   .uid = grant->pod.uid,
                   .resource_version = grant->pod.resource_version,
                   .event = { .type = STR("Normal"),
                              .reason = STR("BindingConditionsPending"),
                              .action = STR("Scheduling"),
                              .note = arena_printf(
                                  cycle->arena, "waiting for binding conditions for device on node " STR_FMT,
                                  STR_ARG(grant->node_name)),
                              .scheduler_name = cycle->profile->scheduler_name },
               });
}

/* *ret_end: how the wait ends, if it does. */
static struct status check_devices(const struct grant *grant, struct cycle *cycle, int64_t timeout_ns,
                                   enum probe_wait_end *ret_end)
{
    for (uint32_t i = 0; i < grant->len; i++) {
        const struct resource_claim *claim = known_claim(&grant->claims[i], cycle);
        *ret_end = WAIT_END_ERROR;
        if (!claim)
            return status_printf(cycle->arena, STATUS_ERROR, "could not find ResourceClaim \"" META_FMT "\"",
                                 META_ARG(&grant->claims[i].claim.meta));
        struct status status = claim_is_ready(claim, cycle->arena);
        *ret_end = WAIT_END_FAILURE;
        if (status.code == STATUS_WAIT &&
            claim_is_overdue(claim, cycle->now_ns + cycle->wall_ahead_ns, timeout_ns)) {
            *ret_end = WAIT_END_TIMEOUT;
            return status_printf(cycle->arena, STATUS_ERROR, "device binding timeout: claim=" STR_FMT,
                                 STR_ARG(claim->meta.name));
        }
        if (!status_ok(status))
            return status;
    }
    *ret_end = WAIT_END_SUCCESS;
    return STATUS_OK;
}

/* Claims count as the cluster has them now. */
static void report_wait(const struct grant *grant, const struct cycle *cycle, enum probe_wait_end end)
{
    const struct probe *probe = cycle->probe;
    int64_t took_ns = probe_now(probe) - grant->waited_ns;
    for (uint32_t i = 0; probe && probe->device && i < grant->len; i++) {
        const struct resource_claim *claim = known_claim(&grant->claims[i], cycle);
        if (!claim || !claim->status.allocation)
            continue;
        list_for(&claim->status.allocation->devices.results, result)
            probe->device(probe->context, cycle->profile, result->driver, result->binding_conditions.len, end,
                          took_ns);
    }
}

static struct status await_devices(struct grant *grant, struct cycle *cycle, int64_t timeout_ns)
{
    bool needed = false;
    for (uint32_t i = 0; i < grant->len && grant->prepares; i++)
        needed |= claim_needs_preparation(&grant->claims[i].claim);
    if (!needed)
        return STATUS_OK;
    if (!grant->waits) {
        send_waiting_event(grant, cycle);
        grant->waited_ns = probe_now(cycle->probe);
    }
    grant->waits = true;
    enum probe_wait_end end;
    struct status status = check_devices(grant, cycle, timeout_ns, &end);
    if (status.code == STATUS_WAIT && is_over(cycle, &grant->deadline_ns, timeout_ns)) {
        end = WAIT_END_TIMEOUT;
        status = reject(STATUS_ERROR, "device binding timeout: context deadline exceeded");
    }
    if (status.code != STATUS_WAIT)
        report_wait(grant, cycle, end);
    return status;
}

/* Without an API server every write is done at once. */
static void bind_at_once(struct grant *grant, struct cycle *cycle)
{
    for (uint32_t i = 0; i < grant->len; i++) {
        struct granted_claim *given = &grant->claims[i];
        if (given->stage == GRANT_DONE || given->extended) /* one that was only made up stays in flight */
            continue;
        note_written(grant, given, cycle, (struct str){ 0 });
        devices_written(cycle->cluster, &given->claim);
        given->stage = GRANT_DONE;
    }
}

struct status grant_bind(struct grant *grant, struct cycle *cycle, int64_t timeout_ns)
{
    if (!cycle->writer) {
        bind_at_once(grant, cycle);
        return STATUS_OK;
    }
    while (grant->next < grant->len) {
        struct granted_claim *given = &grant->claims[grant->next];
        struct status status = given->stage == GRANT_DONE ? STATUS_OK : take_stage(grant, given, cycle);
        if (!status_ok(status))
            return status;
        grant->next += given->stage == GRANT_DONE;
    }
    struct status status = write_node_claims(grant, cycle);
    if (status_ok(status))
        status = await_devices(grant, cycle, timeout_ns);
    for (uint32_t i = 0; i < grant->len && status_ok(status); i++)
        if (grant->claims[i].allocation)
            devices_let_go(cycle->cluster, grant->claims[i].claim.meta.namespace,
                           grant->claims[i].claim.meta.name);
    return status;
}
