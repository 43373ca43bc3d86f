/* inputs.c: an input changes the model, and becomes an event of the queue as in kube-scheduler's event handlers; see
 * inputs.h. */
#include "engine/inputs.h"

#include "base/log.h"
#include "cluster/devices.h"
#include "engine/announce.h"
#include "engine/binding.h"
#include "engine/eviction.h"
#include "engine/generations.h"
#include "engine/plugin_messages.h"
#include "engine/plugin_ticks.h"
#include "engine/policy_change.h"
#include "framework/observation.h"
#include "framework/probe.h"
#include "queue/hint_eval.h"

/* ---- for the probe: handled events, as kube-scheduler counts them ---- */
static void handled(const struct engine *engine, enum event_resource resource, uint32_t actions,
                    int64_t begun_ns)
{
    const struct cluster_event event = { .resource = resource, .actions = actions };
    probe_event(engine->probe, event_label(&event), begun_ns);
}

/* The queue gets the event, and the probe. */
static void happened(struct engine *engine, const struct cluster_event *event, int64_t begun_ns,
                     int64_t now_ns)
{
    engine_event(engine, event, now_ns);
    probe_event(engine->probe, event_label(event), begun_ns);
}

/* A plain update always counts, and then each special one; of an assigned pod all of them. */
static void handled_update(const struct engine *engine, const struct pod *before, const struct pod *after,
                           int64_t begun_ns)
{
    struct arena arena = { 0 };
    if (!engine->probe)
        return;
    enum event_resource resource = pod_event_resource(before);
    struct action_list actions = pod_update_actions(&engine->cluster->features, before, after, &arena);
    arena_release(&arena);
    handled(engine, resource, ACTION_UPDATE, begun_ns);
    for (uint32_t i = 0; i < actions.len; i++)
        if (resource == EVENT_ASSIGNED_POD || actions.items[i] != ACTION_UPDATE)
            handled(engine, resource, actions.items[i], begun_ns);
}

/* ---- pods ---- */
static struct log_value pod_ref(const struct pod *pod)
{
    return log_ref("pod", pod->meta.namespace, pod->meta.name);
}

/* A pod that has its node waits for a resize: it is queued as others are that have none. */
static void queue_resize(struct engine *engine, struct pod_info *pod, int64_t now_ns)
{
    int64_t begun_ns = probe_now(engine->probe);
    struct status gate;
    log_info(3, "Add event for unscheduled pod", pod_ref(pod->api));
    queue_add(&engine->queue, pod, engine_profile_number(engine, pod->api), now_ns, &gate);
    handled(engine, EVENT_UNSCHEDULED_POD, ACTION_ADD, begun_ns);
}

/* It does no more, or is gone. */
static void unqueue_resize(struct engine *engine, struct pod_info *pod)
{
    int64_t begun_ns = probe_now(engine->probe);
    log_info(3, "Delete event for unscheduled pod", pod_ref(pod->api));
    queue_remove(&engine->queue, pod);
    handled(engine, EVENT_UNSCHEDULED_POD, ACTION_DELETE, begun_ns);
}

/* Both versions have a node. */
static void update_resize(struct engine *engine, struct pod_info *before, struct pod_info *after, bool again,
                          int64_t now_ns)
{
    if (!before->resize_deferred && !after->resize_deferred)
        return;
    uint32_t profile = engine_profile_number(engine, after->api);
    if (profile == engine->profiles_len) {
        queue_remove(&engine->queue, before);
    } else if (!before->resize_deferred) {
        log_info(3, "Assigned pod transitioned to deferred resize, adding to scheduling queue",
                 pod_ref(after->api));
        queue_resize(engine, after, now_ns);
    } else if (!after->resize_deferred) {
        log_info(3, "Assigned pod is no longer deferred, removing from scheduling queue",
                 pod_ref(after->api));
        unqueue_resize(engine, before);
    } else if (again && queue_find(&engine->queue, before)) {
        queue_replace(&engine->queue, before, after);
    } else {
        log_info(3, "Assigned pod spec changed while deferred, updating scheduling queue",
                 pod_ref(after->api));
        queue_update(&engine->queue, before, after, profile, now_ns);
    }
}

static struct pod_info *add_pod(struct engine *engine, const struct pod *pod, int64_t now_ns)
{
    int64_t begun_ns = probe_now(engine->probe);
    struct status gate;
    if (!pod->spec.node_name.len && !engine_profile(engine, pod))
        return announce_is_foreign(engine, pod) ? announce_add(engine, pod) : NULL;
    struct pod_info *info = cluster_add_pod(engine->cluster, pod);
    uint32_t profile = engine_profile_number(engine, info->api);
    if (pod->spec.node_name.len && info->resize_deferred && profile < engine->profiles_len)
        queue_resize(engine, info, now_ns);
    log_info(3, pod->spec.node_name.len ? "Add event for scheduled pod" : "Add event for unscheduled pod",
             pod_ref(pod));
    if (pod->spec.node_name.len)
        engine_pod_bound(engine, info, now_ns);
    else
        queue_add(&engine->queue, info, profile, now_ns, &gate);
    handled(engine, pod_event_resource(pod), ACTION_ADD, begun_ns);
    return info;
}

static void update_assigned(struct engine *engine, const struct pod *before, const struct pod *after,
                            int64_t now_ns)
{
    struct arena arena = { 0 };
    struct action_list actions = pod_update_actions(&engine->cluster->features, before, after, &arena);
    arena_release(&arena);
    log_info(4, "Update event for scheduled pod", pod_ref(after));
    for (uint32_t i = 0; i < actions.len; i++)
        engine_event(engine,
                     &(struct cluster_event){ .resource = pod_event_resource(after),
                                              .actions = actions.items[i],
                                              .before = before,
                                              .after = after },
                     now_ns);
}

/* A pod that was placed here, and is not bound yet: its update is no event. It keeps its place, also if the node is
 * gone: the binding may be under way. One that is being deleted cannot be bound any more: then its resources are
 * free. */
static void update_placed(struct engine *engine, struct pod_info *before, struct pod_info *after,
                          struct str node_name, struct pod_binding *binding, int64_t now_ns)
{
    queue_replace(&engine->queue, before, after);
    cluster_move_node_claims(engine->cluster, before, after);
    if (binding || !after->terminating) /* plugins undo what they did for it while it is there */
        cluster_place_on(engine->cluster, after, node_name);
    if (binding)
        binding_event(binding, &(struct binding_event){ .kind = after->terminating ? BINDING_ON_TERMINATING
                                                                                   : BINDING_ON_UPDATED,
                                                        .now_ns = now_ns,
                                                        .pod = after });
    else if (after->terminating)
        engine_pod_left(engine, after, NULL, now_ns);
}

static bool same_nomination(const struct pod *a, const struct pod *b)
{
    return str_eq(a->status.nominated_node_name, b->status.nominated_node_name);
}

/* Resources that were promised to a pod are not needed any more, or gone: pods of no higher priority may have them. */
void engine_nomination_over(struct engine *engine, const struct pod_info *pod, int64_t now_ns)
{
    const struct queue_filter others = { .has_priority_max = true,
                                         .priority_max = pod->priority,
                                         .except = pod };
    const struct cluster_event event = {
        .resource = EVENT_ASSIGNED_POD, .actions = ACTION_DELETE, .before = pod->api, .holds_resources = true
    };
    queue_event(&engine->queue, &event, &others, now_ns);
}

/* A nomination made here stays while the API server does not know any. */
static void keep_nomination(struct engine *engine, const struct pod *before, struct pod_info *after,
                            uint32_t nominated)
{
    bool keeps = !before->status.nominated_node_name.len && same_nomination(before, after->api);
    if (keeps && nominated != ROW_NONE && engine->cluster->nodes.items[nominated].api)
        cluster_nominate(engine->cluster, after, nominated);
}

/* A nomination that the API server has removed frees resources, unless it was removed here before: then that was told
 * (engine_nomination_over()). */
static void update_waiting(struct engine *engine, struct pod_info *before, struct pod_info *after,
                           uint32_t nominated, int64_t now_ns)
{
    const struct pod *old = before->api;
    keep_nomination(engine, old, after, nominated);
    queue_update(&engine->queue, before, after, engine_profile_number(engine, after->api), now_ns);
    if (old->status.nominated_node_name.len && !same_nomination(old, after->api) && nominated != ROW_NONE)
        engine_nomination_over(engine, before, now_ns);
}

/* The watch was begun again and shows what is known: the version is the same, and that is no event. */
static bool is_listed_again(const struct pod *before, const struct pod *after)
{
    return after->meta.resource_version.len &&
           str_eq(before->meta.resource_version, after->meta.resource_version);
}

static struct pod_info *update_pod(struct engine *engine, struct pod_info *before, const struct pod *object,
                                   int64_t now_ns)
{
    uint32_t row = before->row, nominated = before->nominated_row;
    _cleanup_(strbuf_release) struct strbuf place = { 0 };
    struct pod_binding *binding = binding_find(engine, before->api);
    int64_t begun_ns = probe_now(engine->probe);
    bool is_bound = !before->api->spec.node_name.len && object->spec.node_name.len;
    bool again = is_listed_again(before->api, object);
    if (row != ROW_NONE) /* the row may go with the old version */
        strbuf_str(&place, cluster_node_name(engine->cluster, row));
    pod_info_ref(before);
    struct pod_info *after = cluster_add_pod(engine->cluster, object);
    const struct pod *pod = after->api;
    pod_status_seen(&engine->statuses, pod);
    if (before->api->spec.node_name.len) {
        update_resize(engine, before, after, again, now_ns);
        if (!again)
            update_assigned(engine, before->api, pod, now_ns);
    } else if (pod->spec.node_name.len) {
        log_info(3, "Delete event for unscheduled pod", pod_ref(pod));
        log_info(3, "Add event for scheduled pod", pod_ref(pod));
        queue_remove(&engine->queue, before);
        if (binding)
            binding_event(
                binding, &(struct binding_event){ .kind = BINDING_ON_BOUND, .now_ns = now_ns, .pod = after });
        engine_pod_bound(engine, after, now_ns);
        struct str promised = before->api->status.nominated_node_name;
        if (promised.len && !str_eq(promised, pod->spec.node_name) && nominated != ROW_NONE)
            engine_nomination_over(engine, before, now_ns);
    } else if (row != ROW_NONE) {
        update_placed(engine, before, after, strbuf_slice(&place), binding, now_ns);
    } else if (again && queue_find(&engine->queue, before)) {
        keep_nomination(engine, before->api, after, nominated);
        queue_replace(&engine->queue, before, after);
    } else {
        log_info(4, "Update event for unscheduled pod", pod_ref(pod));
        update_waiting(engine, before, after, nominated, now_ns);
    }
    if (before->api->policy != pod->policy) /* what it adds is no update that hints know of */
        queue_judge_anew(&engine->queue, after, now_ns);
    if (is_bound) {
        handled(engine, EVENT_ASSIGNED_POD, ACTION_ADD, begun_ns);
        handled(engine, EVENT_UNSCHEDULED_POD, ACTION_DELETE, begun_ns);
    } else if (!again) {
        handled_update(engine, before->api, pod, begun_ns);
    }
    pod_info_unref(engine->cluster, before);
    return after;
}

/* Its profile went while it was being bound, and it was not bound. */
static bool lost_its_profile(const struct engine *engine, const struct pod_info *known, const struct pod *pod)
{
    return known->row == ROW_NONE && !pod->spec.node_name.len && !engine_profile(engine, pod);
}

/* Plugins of every profile learn of it: a pod may be of another scheduler. */
static void observe_gone(const struct engine *engine, const struct pod_info *pod, int64_t now_ns)
{
    if (!pod->api->spec.node_name.len || pod->row == ROW_NONE)
        return;
    for (uint32_t i = 0; i < engine->profiles_len; i++)
        if (engine->profiles[i].has_observers)
            profile_observe_own(&engine->profiles[i],
                                &(struct observation){ .kind = OBSERVED_POD_GONE,
                                                       .cluster = engine->cluster,
                                                       .pod = pod,
                                                       .at_ns = now_ns + engine->statuses.wall_ahead_ns });
}

/* Resources that were only promised keep out pods of no higher priority than the one they were promised to. */
static void remove_pod(struct engine *engine, struct pod_info *pod, enum binding_event_kind how,
                       int64_t now_ns)
{
    bool occupied = pod->row != ROW_NONE;
    bool nominated = pod->nominated_row != ROW_NONE || pod->api->status.nominated_node_name.len;
    const struct queue_filter no_higher = { .has_priority_max = true, .priority_max = pod->priority };
    struct pod_binding *binding = binding_find(engine, pod->api);
    int64_t begun_ns = probe_now(engine->probe);
    log_info(3,
             pod->api->spec.node_name.len ? "Delete event for scheduled pod"
                                          : "Delete event for unscheduled pod",
             pod_ref(pod->api));
    if (pod->api->spec.node_name.len && pod->resize_deferred && engine_profile(engine, pod->api))
        unqueue_resize(engine, pod);
    queue_remove(&engine->queue, pod);
    pod_status_forget(&engine->statuses, pod->api, now_ns);
    observe_gone(engine, pod, now_ns);
    pod_info_ref(pod);
    if (binding)
        binding_event(binding, &(struct binding_event){ how, now_ns });
    cluster_remove_pod(engine->cluster, pod);
    evictions_pod_gone(engine, pod->api, now_ns);
    if (occupied || nominated)
        engine_pod_left(engine, pod, occupied ? NULL : &no_higher, now_ns);
    handled(engine, pod_event_resource(pod->api), ACTION_DELETE, begun_ns);
    pod_info_unref(engine->cluster, pod);
}

void engine_remove_pod(struct engine *engine, struct pod_info *pod, int64_t now_ns)
{
    if (pod->is_foreign)
        announce_remove(engine, pod, NULL, now_ns);
    else
        remove_pod(engine, pod, BINDING_ON_GONE, now_ns);
}

static struct pod_info *set_pod(struct engine *engine, const struct pod *pod, int64_t now_ns)
{
    struct pod_info *known = cluster_find_pod(engine->cluster, pod->meta.namespace, pod->meta.name);
    if (known && known->is_foreign) {
        announce_remove(engine, known, pod_is(known->api, pod) ? pod : NULL, now_ns);
        known = NULL;
    }
    if (known &&
        (!pod_is(known->api, pod) /* its deletion was missed */ || lost_its_profile(engine, known, pod))) {
        remove_pod(engine, known, BINDING_ON_REPLACED, now_ns);
        known = NULL;
    }
    return known ? update_pod(engine, known, pod, now_ns) : add_pod(engine, pod, now_ns);
}

/* ---- nodes ---- */
static sym zone_of(const struct engine *engine, uint32_t row)
{
    return row == ROW_NONE ? SYM_NONE : cluster_node(engine->cluster, row)->zone;
}

static void log_zone(const struct engine *engine, const char *what, struct str node, sym zone)
{
    log_info(2, what, log_ref("node", STR(""), node),
             log_str("zone", intern_text(&engine->cluster->syms, zone)));
}

static void set_node(struct engine *engine, const struct node *node, int64_t now_ns)
{
    uint32_t row = cluster_row(engine->cluster, node->meta.name);
    const struct node *before = row == ROW_NONE ? NULL : cluster_node(engine->cluster, row)->api;
    struct action_list actions = { .items = { ACTION_ADD }, .len = 1 };
    int64_t begun_ns = probe_now(engine->probe);
    if (before) {
        log_info(4, "Update event for node", log_ref("node", STR(""), node->meta.name));
        actions = node_update_actions(&engine->cluster->features, before, node);
    } else {
        log_info(3, "Add event for node", log_ref("node", STR(""), node->meta.name));
    }
    sym old_zone = zone_of(engine, row);
    cluster_set_node(engine->cluster, node);
    sym zone = zone_of(engine, cluster_row(engine->cluster, node->meta.name));
    if (!before || zone != old_zone)
        log_zone(engine, "Added node to NodeTree", node->meta.name, zone);
    for (uint32_t i = 0; i < actions.len; i++)
        happened(engine,
                 &(struct cluster_event){
                     .resource = EVENT_NODE, .actions = actions.items[i], .before = before, .after = node },
                 begun_ns, now_ns);
}

static void remove_node(struct engine *engine, struct str name, int64_t now_ns)
{
    uint32_t row = cluster_row(engine->cluster, name);
    if (row == ROW_NONE)
        return;
    struct cluster_event event = { .resource = EVENT_NODE,
                                   .actions = ACTION_DELETE,
                                   .before = cluster_node(engine->cluster, row)->api };
    int64_t begun_ns = probe_now(engine->probe);
    log_info(3, "Delete event for node", log_ref("node", STR(""), name));
    log_zone(engine, "Removed node from NodeTree", name, zone_of(engine, row));
    cluster_remove_node(engine->cluster, name);
    happened(engine, &event, begun_ns, now_ns);
}

/* ---- everything else ---- */
/* Kinds that pods wait for; 0: no pod waits for them. */
static const enum event_resource resources[KIND_COUNT] = {
    [KIND_PV] = EVENT_PV,
    [KIND_PVC] = EVENT_PVC,
    [KIND_STORAGE_CLASS] = EVENT_STORAGE_CLASS,
    [KIND_CSI_NODE] = EVENT_CSI_NODE,
    [KIND_CSI_DRIVER] = EVENT_CSI_DRIVER,
    [KIND_CSI_STORAGE_CAPACITY] = EVENT_CSI_STORAGE_CAPACITY,
    [KIND_VOLUME_ATTACHMENT] = EVENT_VOLUME_ATTACHMENT,
    [KIND_RESOURCE_CLAIM] = EVENT_RESOURCE_CLAIM,
    [KIND_RESOURCE_SLICE] = EVENT_RESOURCE_SLICE,
    [KIND_DEVICE_CLASS] = EVENT_DEVICE_CLASS,
    [KIND_NODE_METRICS] = EVENT_SAMPLE,
};

static void tell(struct engine *engine, enum api_kind kind, const void *before, const void *after,
                 int64_t now_ns);

struct slice_update {
    struct engine *engine;
    int64_t now_ns;
};

static void slice_updated(void *user, const struct resource_slice *slice)
{
    const struct slice_update *update = user;
    tell(update->engine, KIND_RESOURCE_SLICE, slice, slice, update->now_ns);
}

static void tell(struct engine *engine, enum api_kind kind, const void *before, const void *after,
                 int64_t now_ns)
{
    if (kind == KIND_DEVICE_TAINT_RULE) {
        devices_rule_changed(engine->cluster, before, after, slice_updated,
                             &(struct slice_update){ engine, now_ns });
        return;
    }
    enum event_resource resource = kind_is_extra(kind) ? EVENT_OBJECT : resources[kind];
    struct cluster_event event = { .resource = resource,
                                   .actions = !before  ? ACTION_ADD
                                              : !after ? ACTION_DELETE
                                                       : ACTION_UPDATE,
                                   .before = before,
                                   .after = after };
    if (!resource)
        return;
    int64_t begun_ns = probe_now(engine->probe);
    engine_event(engine, &event, now_ns);
    if (engine->probe && hint_eval_any(&engine->queue, &event)) /* kube-scheduler has no handler for others */
        handled(engine, event.resource, event.actions, begun_ns);
}

bool engine_set_object(struct engine *engine, enum api_kind kind, const void *object, const struct meta *meta,
                       int64_t now_ns)
{
    if (kind == KIND_POD)
        return set_pod(engine, object, now_ns);
    if (kind == KIND_NODE) {
        set_node(engine, object, now_ns);
        return true;
    }
    const void *before = cluster_find(engine->cluster, kind, meta->namespace, meta->name);
    if (!cluster_set_object(engine->cluster, kind, object, meta))
        return false;
    tell(engine, kind, before, object, now_ns);
    if (kind == KIND_CONFIG_MAP)
        policy_change_map(engine, object, now_ns);
    else
        policy_change_object(engine, kind, before, meta);
    return true;
}

void engine_list(struct engine *engine, enum api_kind kind, bool begins)
{
    if (kind != KIND_POD)
        return;
    engine->is_listing_pods = begins;
    if (!begins)
        announce_look_everywhere(engine);
}

void engine_remove_object(struct engine *engine, enum api_kind kind, struct str namespace, struct str name,
                          int64_t now_ns)
{
    const void *before = cluster_find(engine->cluster, kind, namespace, name);
    if (!before)
        return;
    if (kind == KIND_POD) {
        engine_remove_pod(engine, cluster_find_pod(engine->cluster, namespace, name), now_ns);
    } else if (kind == KIND_NODE) {
        remove_node(engine, name, now_ns);
    } else {
        cluster_remove_object(engine->cluster, kind, namespace, name);
        tell(engine, kind, before, NULL, now_ns);
        if (kind == KIND_CONFIG_MAP)
            policy_change_map(engine, NULL, now_ns);
        else
            policy_change_object(engine, kind, before, NULL);
    }
}

/* ---- answers, messages, time ---- */
void engine_answer(struct engine *engine, uint64_t ticket, const struct answer *answer, int64_t now_ns)
{
    writes_answer(&engine->writes, ticket, answer, now_ns);
}

void engine_plugin_message(struct engine *engine, struct plugin_message *message)
{
    mailbox_post(&engine->replayed, message);
}

void engine_tick(struct engine *engine, int64_t now_ns)
{
    plugin_messages_read(engine, now_ns);
    writes_tick(&engine->writes, now_ns);
    pod_statuses_tick(&engine->statuses, now_ns);
    bindings_tick(engine, now_ns);
    evictions_tick(engine, now_ns);
    alarms_ring(engine, now_ns);
    plugin_ticks_run(engine, now_ns);
    queue_tick(&engine->queue, now_ns);
    generations_tick(engine, now_ns);
}

/* ---- for hosts without an API server ---- */
int engine_add_pod(struct engine *engine, struct pod_info *pod, int64_t now_ns, struct status *ret_gate,
                   struct error *err)
{
    uint32_t number = engine_profile_number(engine, pod->api);
    if (number == engine->profiles_len)
        return error_set(err, -ENOENT,
                         "pod " STR_FMT "/" STR_FMT ": no profile for scheduler name \"" STR_FMT "\"",
                         STR_ARG(pod->api->meta.namespace), STR_ARG(pod->api->meta.name),
                         STR_ARG(pod->api->spec.scheduler_name));
    queue_add(&engine->queue, pod, number, now_ns, ret_gate);
    return 0;
}

void engine_pod_bound(struct engine *engine, struct pod_info *pod, int64_t now_ns)
{
    struct cluster_event event = {
        .resource = EVENT_ASSIGNED_POD, .actions = ACTION_ADD, .after = pod->api, .holds_resources = true
    };
    queue_event(&engine->queue, &event, NULL, now_ns);
}

void engine_pod_left(struct engine *engine, const struct pod_info *pod, const struct queue_filter *only,
                     int64_t now_ns)
{
    const struct cluster_event event = {
        .resource = EVENT_ASSIGNED_POD, .actions = ACTION_DELETE, .before = pod->api, .holds_resources = true
    };
    queue_event(&engine->queue, &event, only, now_ns);
}

void engine_preemption_done(struct engine *engine, struct pod_info *pod, bool at_once, int64_t now_ns)
{
    queue_hold_end(&engine->queue, pod, at_once, now_ns);
}

void engine_event(struct engine *engine, const struct cluster_event *event, int64_t now_ns)
{
    queue_event(&engine->queue, event, NULL, now_ns);
}
