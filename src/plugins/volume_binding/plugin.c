/* VolumeBinding: a pod's claims get their volumes where the pod goes.
 *
 * Bound volumes must be reachable from the node. Claims that wait for their first user are matched with volumes that
 * exist, else a new volume must be possible there. The choice is made in binder.c; from Reserve on it is held for the
 * pod, and PreBind makes it true (hold.c).
 *
 * Everything that does not depend on the node is found in PreFilter; Filter only reads, and keeps nothing: the
 * decision for the chosen node is made once more at Reserve. */
#include "framework/plugin.h"
#include "api/labels.h"
#include "base/quote.h"
#include "framework/probe.h"
#include "framework/profile.h"
#include "framework/shortfall.h"
#include "plugins/volume_binding/args.h"
#include "plugins/volume_binding/binder.h"
#include "plugins/volume_binding/hold.h"
#include "plugins/volume_claims.h"

extern const struct plugin plugin_volume_binding;

enum { UTILIZATION_MAX = 100, ARGS_SCORE_MAX = 10, BIND_TIMEOUT_S = 600 };

struct state {
    struct pod_claims claims; /* of objects as they were at this version */
    uint64_t storage_version;
    bool all_bound; /* at Reserve: nothing is left to do */
    struct hold hold;
};

struct self {
    const struct volume_binding_args
        *args;     /* NULL: those that are the default without StorageCapacityScoring */
    bool prepares; /* the plugin is at PreFilter */
};

static bool is_at_pre_filter(const struct profile *profile)
{
    const struct plugin_order *order = &profile->points[POINT_PRE_FILTER];
    for (uint32_t i = 0; i < order->len; i++)
        if (order->items[i]->plugin == &plugin_volume_binding)
            return true;
    return false;
}

static int init(const struct plugin_env *env, void **ret_self, _unused_ struct error *err)
{
    struct self *self = arena_new(env->arena, struct self);
    *self = (struct self){ env->args, is_at_pre_filter(env->profile) };
    *ret_self = self;
    return 0;
}

/* StorageCapacityScoring: only then are there points in the shape. */
static bool scores(const struct self *self)
{
    return self->args && self->args->shape.len;
}

/* ---- PreFilter, Filter ---- */
/* Is the claim of a volume there, and usable by the pod? */
static struct status check_claim(struct cycle *cycle, const struct volume_claim *claim)
{
    struct arena *arena = cycle->arena;
    struct str name = quote_go_arena(arena, claim->name);
    const struct pvc *pvc = cluster_get(&cycle->cluster->pvcs, cycle->pod->meta.namespace, claim->name);
    if (!pvc && claim->ephemeral)
        return status_printf(
            arena, STATUS_UNRESOLVABLE,
            "waiting for ephemeral volume controller to create the persistentvolumeclaim " STR_FMT,
            STR_ARG(name));
    if (!pvc)
        return status_printf(arena, STATUS_UNRESOLVABLE, "persistentvolumeclaim " STR_FMT " not found",
                             STR_ARG(name));
    if (str_is(pvc->status.phase, "Lost"))
        return status_printf(arena, STATUS_UNRESOLVABLE,
                             "persistentvolumeclaim " STR_FMT
                             " bound to non-existent persistentvolume " STR_FMT,
                             STR_ARG(name), STR_ARG(quote_go_arena(arena, pvc->spec.volume_name)));
    if (pvc->meta.deletion_time.set)
        return status_printf(arena, STATUS_UNRESOLVABLE, "persistentvolumeclaim " STR_FMT " is being deleted",
                             STR_ARG(name));
    return claim->ephemeral ? volume_claim_check_owner(cycle->pod, pvc, STATUS_UNRESOLVABLE, arena)
                            : STATUS_OK;
}

static void state_look(struct state *state, struct cycle *cycle)
{
    binder_claims(cycle->cluster, cycle->pod, cycle->arena, &state->claims);
    state->storage_version = cycle->cluster->storage_version;
}

static struct state *state_make(struct cycle *cycle)
{
    struct state *state = arena_new(cycle->arena, struct state);
    state_look(state, cycle);
    *cycle_state(cycle) = state;
    return state;
}

static struct status pre_filter(struct cycle *cycle, _unused_ struct node_names *narrow)
{
    const struct pod *pod = cycle->pod;
    bool has_claims = false;
    list_for(&pod->spec.volumes, volume) {
        struct volume_claim claim;
        if (!volume_claim_of(pod, volume, cycle->arena, &claim))
            continue;
        has_claims = true;
        struct status status = check_claim(cycle, &claim);
        if (!status_ok(status))
            return status;
    }
    if (!has_claims)
        return STATUS_SKIPPED;
    if (state_make(cycle)->claims.has_immediate)
        return reject(STATUS_UNRESOLVABLE, "pod has unbound immediate PersistentVolumeClaims");
    return STATUS_OK;
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    const struct state *state = *cycle_state(cycle);
    struct pod_volumes volumes;
    if (!state)
        return reject(STATUS_ERROR, "not found");
    struct status status = binder_find(node.cluster, &state->claims, node_api(node), cycle->arena, &volumes);
    if (status.code == STATUS_ERROR)
        probe_volumes_failed(cycle->probe, VOLUMES_SEARCHED);
    return status;
}

static void explain(struct cycle *cycle, struct node_view node, struct shortfall_list *ret)
{
    const struct state *state = *cycle_state(cycle);
    if (state)
        binder_explain(node.cluster, &state->claims, node_api(node), ret);
}

/* A claim that should have been bound by now. */
static void explain_unbound(const struct cluster *cluster, const struct pvc *pvc, struct shortfall_list *ret)
{
    struct str name = pvc->meta.name, class = pvc_class_name(pvc);
    struct shortfall *lack = shortfall_add(ret, "ClaimNotBound");
    lack->key = name;
    lack->wants = class;
    if (pvc->spec.volume_name.len)
        lack->sentence =
            arena_printf(ret->arena, "claim " STR_FMT " names volume " STR_FMT " and is not bound to it",
                         STR_ARG(name), STR_ARG(pvc->spec.volume_name));
    else if (pvc_class(cluster, pvc))
        lack->sentence =
            arena_printf(ret->arena,
                         "claim " STR_FMT " has no volume, and its storage class " STR_FMT
                         " does not wait for a pod (volumeBindingMode is not WaitForFirstConsumer)",
                         STR_ARG(name), STR_ARG(class));
    else
        lack->sentence = arena_printf(ret->arena, "claim " STR_FMT " has no volume, and %s" STR_FMT "%s",
                                      STR_ARG(name), class.len ? "its storage class " : "no storage class",
                                      STR_ARG(class), class.len ? " does not exist" : "");
}

static void explain_pod(struct cycle *cycle, struct shortfall_list *ret)
{
    const struct pod *pod = cycle->pod;
    list_for(&pod->spec.volumes, volume) {
        struct volume_claim claim;
        const struct pvc *pvc = volume_claim_of(pod, volume, cycle->arena, &claim)
                                    ? cluster_get(&cycle->cluster->pvcs, pod->meta.namespace, claim.name)
                                    : NULL;
        if (pvc && binder_is_immediate(cycle->cluster, pvc))
            explain_unbound(cycle->cluster, pvc, ret);
    }
}

/* ---- Score ---- */
struct class_use {
    struct str class_name;
    int64_t requested, capacity; /* bytes */
};

static struct class_use *class_use_of(struct class_use *uses, uint32_t *len, struct str class_name)
{
    for (uint32_t i = 0; i < *len; i++)
        if (str_eq(uses[i].class_name, class_name))
            return &uses[i];
    uses[*len] = (struct class_use){ .class_name = class_name };
    return &uses[(*len)++];
}

static int64_t saturating_add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* What the pod takes of each class: of the volumes it would bind, else of the pools that it would draw from. */
static uint32_t class_uses(const struct pod_volumes *volumes, struct class_use *uses)
{
    uint32_t len = 0;
    list_for(&volumes->bindings, binding) {
        struct class_use *use = class_use_of(uses, &len, binding->pv->spec.storage_class_name);
        struct quantity wanted = storage_amount(&binding->pvc->spec.resources.requests, NULL);
        struct quantity size = storage_amount(&binding->pv->spec.capacity, NULL);
        use->requested = saturating_add(use->requested, quantity_value(wanted));
        use->capacity = saturating_add(use->capacity, quantity_value(size));
    }
    list_for(&volumes->provisions, provision) {
        if (!provision->pool || volumes->bindings.len)
            continue;
        struct class_use *use = class_use_of(uses, &len, provision->pvc->spec.storage_class_name);
        struct quantity wanted = storage_amount(&provision->pvc->spec.resources.requests, NULL);
        /* All volumes of a class come from one pool: its size counts once. Where that is not known, the largest volume
         * that it can make stands for it. (The reference fails there.) */
        const struct quantity *size =
            provision->pool->capacity ? provision->pool->capacity : provision->pool->maximum_volume_size;
        use->capacity = size ? quantity_value(*size) : 0;
        use->requested = saturating_add(use->requested, quantity_value(wanted));
    }
    return len;
}

/* The shape is linear between its points, and flat outside. */
static int64_t shape_at(const struct volume_binding_args *args, int64_t utilization)
{
    const int64_t unit = SCORE_MAX / ARGS_SCORE_MAX;
    const struct shape_point *points = args->shape.items;
    for (uint32_t i = 0; i < args->shape.len; i++) {
        if (utilization > points[i].utilization)
            continue;
        if (i == 0)
            return points[0].score * unit;
        int64_t rise = (points[i].score - points[i - 1].score) * unit;
        int64_t run = points[i].utilization - points[i - 1].utilization;
        return points[i - 1].score * unit + rise * (utilization - points[i - 1].utilization) / run;
    }
    return points[args->shape.len - 1].score * unit;
}

static int64_t use_percent(const struct class_use *use)
{
    if (use->capacity <= 0 || use->requested > use->capacity)
        return UTILIZATION_MAX;
    return (int64_t)((__int128)use->requested * UTILIZATION_MAX / use->capacity);
}

static struct status pre_score(struct cycle *cycle)
{
    const struct self *self = cycle_self(cycle);
    if (!scores(self))
        return STATUS_SKIPPED;
    return self->prepares ? STATUS_OK : reject(STATUS_ERROR, "not found");
}

/* Without a claim that waits for its volume there is nothing to rate. */
static bool score_is_zero(const struct cycle *cycle)
{
    const struct self *self = cycle_self(cycle);
    const struct state *state = cycle->states[cycle->current->index];
    return self->prepares && (!state || !state->claims.waiting.len);
}

static struct status score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    const struct self *self = cycle_self(cycle);
    const struct state *state = *cycle_state(cycle);
    *ret = 0;
    if (scores(self) && !self->prepares)
        return reject(STATUS_ERROR, "not found");
    if (!scores(self) || !state)
        return STATUS_OK;
    struct pod_volumes volumes;
    struct status status = binder_find(node.cluster, &state->claims, node_api(node), cycle->arena, &volumes);
    if (!status_ok(status))
        return status;
    struct class_use *uses = arena_array(cycle->arena, struct class_use, state->claims.waiting.len);
    uint32_t len = class_uses(&volumes, uses);
    int64_t sum = 0;
    for (uint32_t i = 0; i < len; i++)
        sum += shape_at(self->args, use_percent(&uses[i]));
    if (len)
        *ret = (2 * sum + len) / (2 * (int64_t)len); /* rounded half up */
    return STATUS_OK;
}

/* ---- Reserve, PreBind ---- */
/* A pod without claims has no state; one that was decided without this plugin's Filter gets its state here. */
static struct state *state_get(struct cycle *cycle)
{
    struct state *state = *cycle_state(cycle);
    if (!state)
        return cycle->info->class->has_claims ? state_make(cycle) : NULL;
    if (state->storage_version != cycle->cluster->storage_version)
        state_look(state, cycle);
    return state;
}

static struct status reserve(struct cycle *cycle, uint32_t row)
{
    struct state *state = state_get(cycle);
    if (!state)
        return STATUS_OK;
    const struct node *node = cluster_node(cycle->cluster, row)->api;
    struct pod_volumes volumes;
    struct status status = binder_find(cycle->cluster, &state->claims, node, cycle->arena, &volumes);
    if (!status_ok(status))
        return status;
    state->all_bound = !state->claims.waiting.len && !state->claims.has_immediate;
    hold_take(&state->hold, cycle, &volumes, node->meta.name);
    return STATUS_OK;
}

static void unreserve(struct cycle *cycle, _unused_ uint32_t row)
{
    struct state *state = *cycle_state(cycle);
    if (state)
        hold_drop(&state->hold, cycle->cluster);
}

static struct status pre_bind_pre_flight(struct cycle *cycle, uint32_t row)
{
    const struct state *state = *cycle_state(cycle);
    if (!state || state->all_bound)
        return STATUS_SKIPPED;
    struct str node_name = cluster_node_name(cycle->cluster, row);
    if (!str_eq(state->hold.node_name, node_name))
        return status_printf(cycle->arena, STATUS_ERROR, "no pod volume found for node " STR_FMT,
                             STR_ARG(quote_go_arena(cycle->arena, node_name)));
    return STATUS_OK;
}

static struct status pre_bind(struct cycle *cycle, uint32_t row)
{
    const struct volume_binding_args *args = ((const struct self *)cycle_self(cycle))->args;
    struct state *state = *cycle_state(cycle);
    struct status status = pre_bind_pre_flight(cycle, row);
    if (!status_ok(status))
        return status.code == STATUS_SKIP ? STATUS_OK : status;
    status = hold_bind(&state->hold, cycle, args ? args->bind_timeout_seconds : BIND_TIMEOUT_S);
    if (status.code == STATUS_ERROR)
        probe_volumes_failed(cycle->probe, VOLUMES_BOUND);
    return status;
}

/* ---- queueing hints ---- */
HINT(csi_node_changed)
{
    const struct csi_node *before = event->before, *after = event->after;
    if (!before)
        return HINT_QUEUE;
    const struct str *was = str_map_get(&before->meta.annotations, STR(ANNOTATION_MIGRATED_PLUGINS));
    const struct str *is = str_map_get(&after->meta.annotations, STR(ANNOTATION_MIGRATED_PLUGINS));
    return str_eq(was ? *was : STR(""), is ? *is : STR("")) ? HINT_SKIP : HINT_QUEUE;
}

/* The binding mode of a class is immutable; its allowed topologies are not. */
HINT(class_changed)
{
    const struct storage_class *before = event->before, *after = event->after;
    return before && same_field(KIND_STORAGE_CLASS, "allowedTopologies", before, after) ? HINT_SKIP
                                                                                        : HINT_QUEUE;
}

HINT(capacity_changed)
{
    if (!event->before)
        return HINT_QUEUE;
    const struct quantity *was = provision_pool_limit(event->before),
                          *is = provision_pool_limit(event->after);
    return is && (!was || quantity_value(*is) > quantity_value(*was)) ? HINT_QUEUE : HINT_SKIP;
}

/* A driver that no longer tracks its capacity. */
HINT(driver_changed)
{
    const struct csi_driver *before = event->before, *after = event->after;
    if (!before->storage_capacity.value || after->storage_capacity.value)
        return HINT_SKIP;
    list_for(&pod->spec.volumes, volume)
        if (volume->csi && str_eq(volume->csi->driver, after->meta.name))
            return HINT_QUEUE;
    return HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_STORAGE_CLASS, ACTION_ADD | ACTION_UPDATE, class_changed },
    { EVENT_PVC, ACTION_ADD | ACTION_UPDATE, volume_hint_any_claim },
    { EVENT_PV, ACTION_ADD | ACTION_UPDATE, NULL },
    { EVENT_NODE, ACTION_ADD | ACTION_NODE_LABEL, NULL },
    { EVENT_CSI_NODE, ACTION_ADD | ACTION_UPDATE, csi_node_changed },
    { EVENT_CSI_DRIVER, ACTION_UPDATE, driver_changed },
    { EVENT_CSI_STORAGE_CAPACITY, ACTION_ADD | ACTION_UPDATE, capacity_changed },
    { 0 },
};

const struct plugin plugin_volume_binding = {
    .name = "VolumeBinding",
    .ignores_resizes = true,
    .args = &volume_binding_args_kind,
    .doc = "Binds or provisions the volumes of a pod's claims on the node that it gets.",
    .reads = READS("metadata.namespace", "spec.volumes"),
    .init = init,
    .needs_pre_filter = POINT_BIT(POINT_FILTER) | POINT_BIT(POINT_PRE_SCORE) | POINT_BIT(POINT_SCORE),
    .pre_filter = pre_filter,
    .filter = filter,
    .explain = explain,
    .explain_pod = explain_pod,
    .pre_score = pre_score,
    .score = score,
    .score_is_zero = score_is_zero,
    .reserve = reserve,
    .unreserve = unreserve,
    .pre_bind_pre_flight = pre_bind_pre_flight,
    .pre_bind = pre_bind,
    .events = events,
};
