/* DynamicResources: a pod's claims get their devices where the pod goes.
 *
 * Claims that are allocated say where they can be used. For the others the allocator looks for devices on each node;
 * what it found for the chosen one is held for the pod from Reserve on (grant.c), and PreBind makes it true. A pod may
 * also request devices as resources of its containers (extended.c). Devices may take some of the node's own resources
 * (node_claims.c). */
#include "api/fields.h"
#include "api/labels.h"
#include "framework/normalize.h"
#include "framework/shortfall.h"
#include "index/table.h"
#include "plugins/dynamic_resources/allocator.h"
#include "plugins/dynamic_resources/args.h"
#include "plugins/dynamic_resources/claims.h"
#include "plugins/dynamic_resources/grant.h"
#include "plugins/dynamic_resources/node_claims.h"

/* The score of the first alternative of a request; each later one scores one less. */
enum { ALTERNATIVES_MAX = 8 };
#define BINDING_TIMEOUT_NS ((int64_t)600 * 1000000000)

struct self {
    struct cluster *cluster;
    struct allocation_rules rules;
    struct selectors selectors;
    struct arena scratch; /* of one search */
    bool node_claims;     /* devices may take some of the node's own resources */
    int64_t filter_timeout_ns, binding_timeout_ns;
};

/* A claim of the pod. */
struct slot {
    const struct resource_claim *claim;
    bool mapped;      /* it is allocated, and a device stands for resources of the node */
    bool missing;     /* it is allocated, and the node that is looked at cannot have it */
    bool unavailable; /* the same of some node that could have had everything else */
};

/* What was found for a node. */
struct choice {
    struct allocation_result *allocations; /* of the claims that have none, in their order */
    struct extended_claim extended;
    struct node_claim_list node_claims;
};

struct state {
    struct slot *slots;  /* the claim for extended resources comes last */
    uint32_t len, named; /* named: without that one */
    uint32_t to_allocate;
    struct idmap choices; /* row + 1 to struct choice */
    struct grant grant;
};

static int init(const struct plugin_env *env, void **ret_self, _unused_ struct error *err)
{
    const struct dynamic_resources_args *args = env->args;
    struct self *self = arena_new(env->arena, struct self);
    self->cluster = env->cluster;
    allocation_rules_init(&self->rules, &env->cluster->features);
    self->node_claims = env->cluster->features.enabled[FEATURE_DRANodeAllocatableResources];
    self->filter_timeout_ns = args && args->filter_timeout_ns.set ? args->filter_timeout_ns.value : 0;
    self->binding_timeout_ns =
        args && args->binding_timeout_ns.set ? args->binding_timeout_ns.value : BINDING_TIMEOUT_NS;
    *ret_self = self;
    return 0;
}

static void release(void *ptr)
{
    struct self *self = ptr;
    selectors_release(&self->selectors);
    arena_release(&self->scratch);
}

static void forget(void *ptr)
{
    struct state *state = ptr;
    idmap_release(&state->choices);
}

static struct status pre_enqueue(const void *ptr, const struct pod *pod, struct arena *arena)
{
    const struct self *self = ptr;
    struct claim_list claims;
    return pod->spec.resource_claims.len ? claims_of_pod(self->cluster, pod, arena, &claims) : STATUS_OK;
}

/* ---- PreFilter ---- */
static const struct slot *extended_slot(const struct state *state)
{
    return state->len > state->named ? &state->slots[state->named] : NULL;
}

static struct status check_class(struct cycle *cycle, struct str class_name, struct str request)
{
    if (!class_name.len)
        return status_printf(cycle->arena, STATUS_ERROR, "request " STR_FMT ": unsupported request type",
                             STR_ARG(request));
    if (cluster_get(&cycle->cluster->device_classes, (struct str){ 0 }, class_name))
        return STATUS_OK;
    return status_printf(cycle->arena, STATUS_UNRESOLVABLE,
                         "request " STR_FMT ": device class " STR_FMT " does not exist", STR_ARG(request),
                         STR_ARG(class_name));
}

static struct status check_request(struct cycle *cycle, const struct resource_claim *claim,
                                   const struct device_request *request)
{
    const struct self *self = cycle_self(cycle);
    struct status status = STATUS_OK;
    if (request->exactly)
        return check_class(cycle, request->exactly->device_class_name, request->name);
    if (!request->first_available.len)
        return status_printf(cycle->arena, STATUS_UNRESOLVABLE,
                             "resource claim " META_FMT ", request " STR_FMT ": unknown request type",
                             META_ARG(&claim->meta), STR_ARG(request->name));
    if (!self->rules.alternatives)
        return status_printf(cycle->arena, STATUS_UNRESOLVABLE,
                             "resource claim " META_FMT ", request " STR_FMT
                             ": has subrequests, but the DRAPrioritizedList feature is disabled",
                             META_ARG(&claim->meta), STR_ARG(request->name));
    for (uint32_t i = 0; i < request->first_available.len && status_ok(status); i++) {
        const struct device_subrequest *sub = &request->first_available.items[i];
        struct str name =
            arena_printf(cycle->arena, STR_FMT "/" STR_FMT, STR_ARG(request->name), STR_ARG(sub->name));
        status = check_class(cycle, sub->device_class_name, name);
    }
    return status;
}

/* May the scheduler allocate the claim? */
static struct status check_unallocated(struct cycle *cycle, const struct resource_claim *claim)
{
    struct status status = STATUS_OK;
    if (devices_claim_in_flight(cycle->cluster, claim))
        return status_printf(cycle->arena, STATUS_UNRESOLVABLE,
                             "resource claim " META_FMT " is in the process of being allocated",
                             META_ARG(&claim->meta));
    for (uint32_t i = 0; i < claim->spec.requests.len && status_ok(status); i++)
        status = check_request(cycle, claim, &claim->spec.requests.items[i]);
    return status;
}

static struct status check_selector(struct cycle *cycle, const struct node_selector *selector)
{
    struct error err = { 0 };
    if (!selector || node_selector_check(selector, &err) == 0)
        return STATUS_OK;
    return status_printf(cycle->arena, STATUS_ERROR, "%s", err.text);
}

static struct status check_slots(struct cycle *cycle, struct state *state)
{
    const struct self *self = cycle_self(cycle);
    struct status status = STATUS_OK;
    for (uint32_t i = 0; i < state->len && status_ok(status); i++) {
        const struct resource_claim *claim = state->slots[i].claim;
        bool is_new = i == state->named && extended_claim_is_new(claim);
        if (claim->status.allocation)
            status = check_selector(cycle, claim->status.allocation->node_selector);
        else if (i < state->named)
            status = check_unallocated(cycle, claim);
        else if (!is_new && devices_claim_in_flight(cycle->cluster, claim))
            status = check_unallocated(cycle, claim);
        state->to_allocate += !claim->status.allocation;
    }
    for (uint32_t i = 0; i < state->len && self->node_claims && status_ok(status); i++) {
        const struct allocation_result *allocation = state->slots[i].claim->status.allocation;
        state->slots[i].mapped = allocation && node_claim_is_mapped(cycle->cluster, allocation);
    }
    return status;
}

/* The claims that the pod names, and the one that stands for its extended resources. */
static struct status collect_claims(struct cycle *cycle, struct state *state)
{
    struct claim_list named;
    struct status status = claims_of_pod(cycle->cluster, cycle->pod, cycle->arena, &named);
    if (!status_ok(status))
        return status;
    bool extended = extended_is_wanted(cycle->cluster, cycle->info);
    state->slots = arena_array(cycle->arena, struct slot, (size_t)named.len + 1);
    for (uint32_t i = 0; i < named.len; i++)
        state->slots[i].claim = named.items[i];
    state->named = state->len = named.len;
    if (extended)
        state->slots[state->len++].claim = extended_claim_of(cycle);
    return STATUS_OK;
}

static struct status pre_filter(struct cycle *cycle, _unused_ struct node_names *narrow)
{
    struct self *self = cycle_self(cycle);
    void **slot = cycle_state(cycle);
    if (*slot) /* PreFilter runs again */
        forget(*slot);
    struct state *state = *slot = arena_new(cycle->arena, struct state);
    struct state found = { 0 };
    struct status status = collect_claims(cycle, &found);
    if (status_ok(status) && !found.len)
        return STATUS_SKIPPED;
    if (status_ok(status))
        status = check_slots(cycle, &found);
    if (!status_ok(status))
        return status;
    selectors_prepare(&self->selectors, &cycle->cluster->features);
    *state = found;
    return STATUS_OK;
}

/* ---- Filter ---- */
/* The kubelet must know that operations are left out for a device. */
static bool can_skip_operations(const struct self *self, const struct allocation_result *allocation,
                                const struct node *node)
{
    bool skips = false;
    if (self->rules.release->newest_device_fields_count)
        list_for(&allocation->devices.results, result)
            skips |= result->skip_node_operations.len != 0;
    return !skips || str_list_has(&node->status.declared_features, STR(OPTIONAL_OPERATIONS));
}

/* Can the node have the claim, which is allocated? Notes it if not. */
static struct status check_allocated(struct cycle *cycle, struct slot *slot, struct node_view view)
{
    const struct self *self = cycle_self(cycle);
    const struct node *node = node_api(view);
    const struct allocation_result *allocation = slot->claim->status.allocation;
    const struct node_selector *nodes = allocation->node_selector;
    bool here = !nodes || node_selector_matches(nodes, node->meta.name, &node->meta.labels);
    slot->missing = !here || !can_skip_operations(self, allocation, node);
    if (slot->missing)
        return STATUS_OK;
    if (self->rules.preparation) {
        enum status_code ready = claim_is_ready(slot->claim, cycle->arena).code;
        bool overdue =
            claim_is_overdue(slot->claim, cycle->now_ns + cycle->wall_ahead_ns, self->binding_timeout_ns);
        slot->missing = ready != STATUS_SUCCESS && (ready != STATUS_WAIT || overdue);
    }
    return self->node_claims ? node_claim_check_sharing(cycle, slot->claim, slot->mapped, view) : STATUS_OK;
}

static struct status check_all_allocated(struct cycle *cycle, const struct state *state,
                                         struct node_view node)
{
    struct status status = STATUS_OK;
    for (uint32_t i = 0; i < state->len && status_ok(status); i++)
        if (state->slots[i].claim->status.allocation)
            status = check_allocated(cycle, &state->slots[i], node);
    return status;
}

/* Has the node all claims that are allocated? Those that it lacks may be allocated anew. */
static bool has_allocated(const struct state *state)
{
    bool all = true;
    for (uint32_t i = 0; i < state->len; i++) {
        state->slots[i].unavailable |= state->slots[i].missing;
        all &= !state->slots[i].missing;
    }
    return all;
}

/* The claims that have no devices. */
static struct allocate_input claims_to_allocate(struct cycle *cycle, const struct state *state,
                                                const struct node *node, const struct choice *choice)
{
    struct self *self = cycle_self(cycle);
    const struct resource_claim **claims =
        arena_array(&self->scratch, const struct resource_claim *, state->to_allocate);
    struct allocate_input input = {
        .cluster = cycle->cluster,
        .rules = &self->rules,
        .node = node,
        .claims = claims,
        .selectors = &self->selectors,
        .timeout_ns = self->filter_timeout_ns,
        .scratch = &self->scratch,
        .arena = cycle->arena,
    };
    for (uint32_t i = 0; i < state->len; i++) {
        const struct resource_claim *claim = state->slots[i].claim;
        if (!claim->status.allocation)
            claims[input.len++] =
                i == state->named && choice->extended.claim ? choice->extended.claim : claim;
    }
    return input;
}

/* Looks for devices for them. */
static struct status find_devices(struct cycle *cycle, const struct state *state, const struct node *node,
                                  struct choice *choice)
{
    struct self *self = cycle_self(cycle);
    const struct allocate_input input = claims_to_allocate(cycle, state, node, choice);
    struct status status = allocate(&input, &choice->allocations);
    arena_reset(&self->scratch);
    return status;
}

/* Looks for what the devices of all claims take of the node. */
static struct status find_node_claims(struct cycle *cycle, const struct state *state, struct node_view node,
                                      struct choice *choice)
{
    bool divided = cycle->cluster->features.release->claims_divide_node_resources;
    struct claimed_devices *claims = arena_array(cycle->arena, struct claimed_devices, state->len);
    uint32_t len = 0, next = 0;
    for (uint32_t i = 0; i < state->len; i++) {
        const struct resource_claim *claim = state->slots[i].claim;
        const struct allocation_result *allocation = claim->status.allocation;
        if (!allocation)
            claims[len++] = (struct claimed_devices){ claim, &choice->allocations[next++] };
        else if (divided)
            claims[len++] = (struct claimed_devices){ claim, allocation };
    }
    return node_claims_find(cycle, node, claims, len, &choice->node_claims);
}

static struct status choose(struct cycle *cycle, const struct state *state, struct node_view node,
                            struct choice *choice)
{
    const struct self *self = cycle_self(cycle);
    struct status status = check_all_allocated(cycle, state, node);
    if (status_ok(status) && state->to_allocate)
        status = find_devices(cycle, state, node_api(node), choice);
    if (status_ok(status) && self->node_claims)
        status = find_node_claims(cycle, state, node, choice);
    if (status_ok(status) && !has_allocated(state))
        status = reject(STATUS_UNRESOLVABLE, "resourceclaim not available on the node");
    return status;
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    struct state *state = *cycle_state(cycle);
    struct choice choice = { 0 };
    struct status status;
    if (!state)
        return reject(STATUS_ERROR, "not found");
    if (!state->len)
        return STATUS_OK;
    const struct slot *extended = extended_slot(state);
    if (extended) {
        status = extended_for_node(cycle, extended->claim, node, !state->named, &choice.extended);
        if (!status_ok(status) || (!choice.extended.claim && !state->named))
            return status;
    }
    status = choose(cycle, state, node, &choice);
    if (status_ok(status) && (state->to_allocate || choice.node_claims.len)) {
        struct choice *kept = idmap_get(&state->choices, (uint64_t)node.row + 1);
        if (!kept)
            idmap_put(&state->choices, (uint64_t)node.row + 1, kept = arena_new(cycle->arena, struct choice));
        *kept = choice;
    }
    return status;
}

/* ---- what a node lacks ---- */
/* The claim is allocated, and the node cannot have its devices. */
static void explain_missing(const struct slot *slot, const struct node *node, struct shortfall_list *ret)
{
    const struct node_selector *nodes = slot->claim->status.allocation->node_selector;
    struct str name = slot->claim->meta.name,
               subject = arena_printf(ret->arena, "claim " STR_FMT, STR_ARG(name));
    if (nodes && !node_selector_matches(nodes, node->meta.name, &node->meta.labels)) {
        shortfall_add_requirements(ret, "ClaimNodes", subject.ptr, nodes, node);
        return;
    }
    struct shortfall *lack = shortfall_add(ret, "ClaimNotReady");
    lack->key = name;
    lack->sentence =
        arena_printf(ret->arena, "the devices of " STR_FMT " are not ready, or the node cannot use them",
                     STR_ARG(subject));
}

/* Other reasons, such as those of extended resources, say all themselves. */
static void explain(struct cycle *cycle, struct node_view node, struct shortfall_list *ret)
{
    struct self *self = cycle_self(cycle);
    const struct state *state = *cycle_state(cycle);
    bool lacks_claim = false;
    if (!state || extended_slot(state) || !status_ok(check_all_allocated(cycle, state, node)))
        return;
    for (uint32_t i = 0; i < state->len; i++)
        if (state->slots[i].missing)
            explain_missing(&state->slots[i], node_api(node), ret);
    for (uint32_t i = 0; i < state->len; i++)
        lacks_claim |= state->slots[i].missing;
    if (lacks_claim || !state->to_allocate)
        return;
    const struct choice none = { 0 };
    struct choice tried = { 0 };
    if (status_rejected(find_devices(cycle, state, node_api(node), &tried))) {
        const struct allocate_input input = claims_to_allocate(cycle, state, node_api(node), &none);
        allocate_explain(&input, ret);
        arena_reset(&self->scratch);
    }
}

/* ---- PostFilter ---- */
/* A claim that keeps the pod off nodes can be allocated anew if no other pod uses it. */
static bool may_deallocate(const struct slot *slot, const struct pod *pod)
{
    const struct claim_status *status = &slot->claim->status;
    return slot->unavailable && (!status->reserved_for.len ||
                                 (status->reserved_for.len == 1 && claim_is_reserved_for(slot->claim, pod)));
}

static struct status nothing_to_do(const struct cycle *cycle, struct status said)
{
    bool silent = cycle->cluster->features.release->idle_deallocation_is_silent;
    return silent ? (struct status){ .code = said.code } : said;
}

/* Comes before preemption. When PreFilter ended before it reached this plugin, its state is missing; the reference
 * takes that for an error, and preemption does not get its turn. */
static struct status post_filter(struct cycle *cycle, _unused_ struct diagnosis *diagnosis,
                                 _unused_ struct post_filter_result *ret)
{
    const struct state *state = *cycle_state(cycle);
    if (!state)
        return reject(STATUS_ERROR, "not found");
    if (!state->len)
        return nothing_to_do(cycle, reject(STATUS_UNSCHEDULABLE, "no new claims to deallocate"));
    for (uint32_t i = 0; i < state->named; i++) {
        const struct resource_claim *claim = state->slots[i].claim;
        if (!may_deallocate(&state->slots[i], cycle->pod))
            continue;
        grant_send(cycle, EFFECT_CLAIM_STATUS, event_subject_of(&claim->meta),
                   patch_deallocation(claim, cycle->arena));
        return reject(STATUS_UNSCHEDULABLE, "deallocation of ResourceClaim completed");
    }
    const struct slot *extended = extended_slot(state);
    if (extended && !extended_claim_is_new(extended->claim)) {
        grant_delete_claim(cycle, extended->claim);
        return reject(STATUS_UNSCHEDULABLE, "deletion of ResourceClaim completed");
    }
    return nothing_to_do(cycle, reject(STATUS_UNSCHEDULABLE, "still not schedulable"));
}

/* ---- Score ---- */
static bool is_allocated(const struct allocation_result *allocation, struct str request,
                         struct str subrequest)
{
    list_for(&allocation->devices.results, result)
        if (result->request.len == request.len + 1 + subrequest.len &&
            str_starts_with(result->request, request) && result->request.ptr[request.len] == '/' &&
            str_ends_with(result->request, subrequest))
            return true;
    return false;
}

/* The earlier an alternative stands in its list, the better. */
static int64_t claim_score(const struct resource_claim *claim, const struct allocation_result *allocation)
{
    int64_t sum = 0;
    list_for(&claim->spec.requests, request) {
        if (request->exactly)
            continue;
        for (uint32_t i = 0; i < request->first_available.len; i++)
            if (is_allocated(allocation, request->name, request->first_available.items[i].name))
                sum += ALTERNATIVES_MAX - (int64_t)i;
    }
    return sum;
}

static struct status score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    const struct self *self = cycle_self(cycle);
    const struct state *state = *cycle_state(cycle);
    *ret = 0;
    if (!self->rules.alternatives)
        return STATUS_OK;
    if (!state)
        return reject(STATUS_ERROR, "not found");
    const struct choice *choice = state->len ? idmap_get(&state->choices, (uint64_t)node.row + 1) : NULL;
    if (!choice)
        return STATUS_OK;
    uint32_t next = 0;
    for (uint32_t i = 0; i < state->len; i++) {
        const struct resource_claim *claim = state->slots[i].claim;
        const struct allocation_result *allocation = claim->status.allocation;
        *ret += claim_score(claim, allocation ? allocation : &choice->allocations[next++]);
    }
    return STATUS_OK;
}

/* A pod without devices gets 0 everywhere: nothing to fill in. */
static bool needs_devices(const struct cluster *cluster, const struct pod_info *info)
{
    return info->api->spec.resource_claims.len || extended_is_wanted(cluster, info);
}

static bool rows_prepare(struct table *table, _unused_ struct table_part *part)
{
    return !needs_devices(table->cluster, table->pod);
}

static uint64_t rows_version(const struct table *table, _unused_ const struct table_part *part)
{
    return needs_devices(table->cluster, table->pod);
}

static const struct row_forms rows = { .prepare = rows_prepare, .version = rows_version };

/* ---- Reserve, PreBind ---- */
static struct status reserve(struct cycle *cycle, uint32_t row)
{
    struct state *state = *cycle_state(cycle);
    if (!state || !state->len)
        return STATUS_OK;
    const struct choice *choice = idmap_get(&state->choices, (uint64_t)row + 1);
    const struct slot *extended = extended_slot(state);
    uint32_t from_claims = state->to_allocate - (extended && !extended->claim->status.allocation), next = 0;
    if (!choice && from_claims)
        return reject(STATUS_ERROR, "claim allocation not found for node");
    grant_begin(&state->grant, cycle, state->len, choice ? &choice->extended : NULL,
                cluster_node_name(cycle->cluster, row));
    state->grant.prepares = ((const struct self *)cycle_self(cycle))->rules.preparation;
    if (choice && choice->node_claims.len)
        grant_take_node_claims(&state->grant, cycle, &choice->node_claims);
    for (uint32_t i = 0; i < state->len; i++) {
        const struct resource_claim *claim = state->slots[i].claim;
        bool is_extended = i == state->named, allocates = !claim->status.allocation && choice;
        grant_take(&state->grant, cycle, allocates && is_extended ? choice->extended.claim : claim,
                   allocates ? &choice->allocations[next++] : NULL, is_extended);
    }
    return STATUS_OK;
}

static void unreserve(struct cycle *cycle, _unused_ uint32_t row)
{
    struct state *state = *cycle_state(cycle);
    if (state && state->len)
        grant_drop(&state->grant, cycle);
}

static struct status pre_bind_pre_flight(struct cycle *cycle, _unused_ uint32_t row)
{
    const struct state *state = *cycle_state(cycle);
    return state && state->len ? STATUS_OK : STATUS_SKIPPED;
}

static struct status pre_bind(struct cycle *cycle, _unused_ uint32_t row)
{
    const struct self *self = cycle_self(cycle);
    struct state *state = *cycle_state(cycle);
    return state && state->len ? grant_bind(&state->grant, cycle, self->binding_timeout_ns) : STATUS_OK;
}

/* ---- queueing hints ---- */
HINT(claim_changed)
{
    const struct resource_claim *before = event->before, *after = event->after;
    struct claim_list claims;
    if (!status_ok(claims_of_pod(context->cluster, pod, context->arena, &claims)))
        return HINT_SKIP;
    if (before && before->status.allocation && !after->status.allocation)
        return HINT_QUEUE; /* devices are free again */
    bool uses = false;
    for (uint32_t i = 0; i < claims.len; i++)
        uses |= str_eq(claims.items[i]->meta.name, after->meta.name) &&
                str_eq(claims.items[i]->meta.namespace, after->meta.namespace);
    if (!uses)
        return HINT_SKIP;
    bool is_same = before && before->is_partial == after->is_partial &&
                   record_equal(api_claim_status_type, &before->status, &after->status);
    return is_same ? HINT_SKIP : HINT_QUEUE;
}

/* Normally the allocation went before the claim did. */
HINT(claim_deleted)
{
    const struct resource_claim *gone = event->before;
    return gone->status.allocation ? HINT_QUEUE : HINT_SKIP;
}

/* Empty: there is none yet. */
static struct str name_of_claim(const struct pod *pod, const struct pod_claim *wanted)
{
    if (wanted->resource_claim_name.ptr)
        return wanted->resource_claim_name;
    list_for(&pod->status.claim_statuses, status)
        if (str_eq(status->name, wanted->name))
            return status->resource_claim_name;
    return (struct str){ 0 };
}

/* A claim that loses its allocation may help every pod, other changes those that refer to it. */
static bool uses_claim(const struct pod *pod, const struct cluster_event *event)
{
    const struct resource_claim *before = event->before, *after = event->after;
    if (!pod)
        return before && before->status.allocation && !(after && after->status.allocation);
    const struct meta *claim = after ? &after->meta : &before->meta;
    if (!str_eq(pod->meta.namespace, claim->namespace))
        return false;
    list_for(&pod->spec.resource_claims, item) {
        struct str name = name_of_claim(pod, item);
        if (name.len && str_eq(name, claim->name))
            return true;
    }
    return false;
}

HINT(pod_changed)
{
    struct claim_list claims;
    bool helps = pod_is(event->after, pod) &&
                 status_ok(claims_of_pod(context->cluster, event->after, context->arena, &claims));
    return helps ? HINT_QUEUE : HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_NODE, ACTION_ADD | ACTION_NODE_LABEL | ACTION_NODE_ALLOCATABLE, NULL },
    { EVENT_RESOURCE_CLAIM, ACTION_ADD | ACTION_UPDATE, claim_changed, .affects = uses_claim },
    { EVENT_RESOURCE_CLAIM, ACTION_DELETE, claim_deleted, .since = BEHAVIOUR_deleted_claims_wake,
      .affects = uses_claim },
    { EVENT_POD, ACTION_POD_GENERATED_CLAIM, pod_changed, ANY_POD_RULE },
    { EVENT_TARGET_POD, ACTION_POD_GENERATED_CLAIM, pod_changed, DIVIDED_POD_RULE },
    { EVENT_DEVICE_CLASS, ACTION_ADD | ACTION_UPDATE, NULL },
    { EVENT_RESOURCE_SLICE, ACTION_ADD | ACTION_UPDATE, NULL },
    { 0 },
};

const struct plugin plugin_dynamic_resources = {
    .name = "DynamicResources",
    .ignores_resizes = true,
    .args = &dynamic_resources_args_kind,
    .doc = "Allocates devices for the claims of a pod on the node that it gets.",
    .reads = READS("metadata.namespace", "spec.resourceClaims", "spec.containers[].resources",
                   "spec.initContainers[].resources"),
    .init = init,
    .release = release,
    .forget = forget,
    .pre_enqueue = pre_enqueue,
    .silent_points = POINT_BIT(POINT_POD_GROUP_POST_FILTER),
    .needs_pre_filter = POINT_BIT(POINT_FILTER) | POINT_BIT(POINT_SCORE),
    .pre_filter = pre_filter,
    .filter = filter,
    .explain = explain,
    .post_filter = post_filter,
    .post_filter_repeats = true,
    .score = score,
    .normalize = normalize_highest_best,
    .rows = &rows,
    .reserve = reserve,
    .unreserve = unreserve,
    .pre_bind_pre_flight = pre_bind_pre_flight,
    .pre_bind = pre_bind,
    .events = events,
};
