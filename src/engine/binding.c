/* binding.c: what each stage runs, and what happens to a pod in it: two tables, with the actions above them. */
#include "engine/binding.h"

#include <stdlib.h>

#include "base/bitmap.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/workers.h"
#include "engine/account.h"
#include "engine/announce.h"
#include "engine/binding_calls.h"
#include "engine/binding_write.h"
#include "engine/generations.h"
#include "engine/plugin_messages.h"
#include "engine/policy_change.h"
#include "engine/report.h"
#include "framework/blocking_work.h"
#include "framework/extender.h"
#include "framework/probe.h"

const char *const binding_stage_names[BINDING_STAGE_COUNT] = {
#define X(name, text) [BINDING_##name] = text,
    BINDING_STAGES(X)
#undef X
};

/* The time for work of plugins is less than what the process has to end (cmd_scheduler.c), so that they are named. */
enum { NS_PER_MS = 1000000, WORK_END_MS_MAX = 3000 };
/* A Permit plugin cannot make a pod wait for longer. */
#define PERMIT_TIMEOUT_MS_MAX ((int64_t)15 * 60 * 1000)

/* ---- who waits for which plugin at Permit ---- */
struct permit_list {
    struct str plugin;
    struct list waits; /* struct permit_place */
};

struct permit_place {
    struct list_link link;
    struct permit_list *list;
    struct pod_binding *binding;
};

static void permit_enter(struct pod_binding *binding)
{
    struct strmap *lists = &binding->engine->permit_lists;
    binding->places = arena_array(&binding->arena, struct permit_place, PLUGINS_MAX);
    bitmap_for_word(binding->waits_for, i) {
        struct str plugin = str_from(binding->cycle.profile->plugins[i].plugin->name);
        struct permit_place *place = &binding->places[i];
        place->binding = binding;
        place->list = strmap_make(lists, plugin, sizeof(*place->list));
        list_append(&place->list->waits, &place->link);
    }
}

static void permit_leave(struct pod_binding *binding, uint64_t plugins)
{
    bitmap_for_word(binding->waits_for &plugins, i) {
        struct permit_list *list = binding->places[i].list;
        list_remove(&list->waits, &binding->places[i].link);
        if (list_empty(&list->waits))
            free(strmap_remove(&binding->engine->permit_lists, list->plugin));
    }
    binding->waits_for &= ~plugins;
}

/* ---- ends ---- */
static void leave_stage(struct pod_binding *binding)
{
    binding->engine->bindings_at[binding->stage]--;
}

static void enter_stage(struct pod_binding *binding, enum binding_stage stage)
{
    account_stage(binding, STATUS_SUCCESS);
    binding_due(binding, 0);
    binding_unwatch(binding);
    leave_stage(binding);
    binding->stage = stage;
    binding->resume = 0;
    binding->stage_ns = probe_now(binding->engine->probe);
    binding->engine->bindings_at[stage]++;
}

/* Out of every list; the memory stays until the callers on the stack have returned. */
static void retire(struct pod_binding *binding)
{
    struct engine *engine = binding->engine;
    binding->ended = true;
    work_cancel(&binding->cycle);
    binding_writes_cancel(binding);
    binding_due(binding, 0);
    binding_unwatch(binding);
    permit_leave(binding, UINT64_MAX);
    leave_stage(binding);
    strmap_remove(&engine->bindings, binding->key);
    *vec_push(&engine->ended) = binding;
}

static void binding_free(struct pod_binding *binding)
{
    struct cluster *cluster = binding->engine->cluster;
    cycle_release(&binding->cycle);
    pod_info_unref(cluster, binding->pod);
    pod_info_unref(cluster, binding->origin);
    cluster_unhold_row(cluster, binding->row);
    arena_release(&binding->arena);
    free(binding);
}

/* Blocking work of a plugin may go on after its binding has ended: what it uses stays until then. */
static void free_ended(struct engine *engine)
{
    size_t kept = 0;
    vec_for(&engine->ended, binding) {
        if (work_busy(&(*binding)->cycle))
            engine->ended.items[kept++] = *binding;
        else
            binding_free(*binding);
    }
    engine->ended.len = kept;
}

static void succeed(struct pod_binding *binding, int64_t now_ns)
{
    struct engine *engine = binding->engine;
    binding_writes_shown(binding, now_ns);
    if (binding->stage == BINDING_BIND)
        account_stage(binding, STATUS_SUCCESS);
    report_bound(engine, binding, now_ns);
    run_post_bind(&binding->cycle, binding->row);
    queue_done(&engine->queue, binding->entry);
    retire(binding);
}

static void give_back(struct pod_binding *binding)
{
    run_unreserve(&binding->cycle, binding->row);
    if (binding->pod->row != ROW_NONE && !binding->pod->api->spec.node_name.len)
        cluster_displace(binding->engine->cluster, binding->pod);
    cluster_set_node_claims(binding->engine->cluster, binding->pod, &binding->pod->api->status.node_claims);
}

/* Plugins see the pod as it was decided, and its place in the model as it is. */
static void take_version(struct pod_binding *binding, struct pod_info *pod)
{
    pod_info_ref(pod);
    pod_info_unref(binding->engine->cluster, binding->pod);
    binding->pod = binding->cycle.info = pod;
}

/* Another client bound it: there is nothing left to do but to remember where. */
static void settle_elsewhere(struct pod_binding *binding, struct str node, int64_t now_ns)
{
    struct engine *engine = binding->engine;
    give_back(binding);
    if (binding->pod->row == ROW_NONE)
        cluster_place_on(engine->cluster, binding->pod, node);
    queue_remove(&engine->queue, binding->pod);
    queue_done(&engine->queue, binding->entry);
    engine_pod_left(engine, binding->origin, NULL, now_ns);
    retire(binding);
}

static void fail(struct pod_binding *binding, struct status status, int64_t now_ns)
{
    struct engine *engine = binding->engine;
    struct pod_info *pod = binding->pod;
    bool rejected = status_rejected(status);
    struct diagnosis blamed = { 0 };
    account_stage(binding, status.code);
    if (binding->elsewhere.len) {
        settle_elsewhere(binding, binding->elsewhere, now_ns);
        return;
    }
    give_back(binding);
    if (binding->stage == BINDING_PERMIT) /* the last plugins that can reject a pod */
        diagnosis_blame(&blamed, binding->cycle.profile, status);
    if (rejected && !status.plugin && !binding->is_withdrawn)
        blamed.unschedulable_plugins = QUEUE_REJECTED_BY_NONE;
    if (!rejected)
        engine_pod_left(engine, pod, NULL, now_ns);
    report_binding_failure(engine, binding, status, now_ns);
    policy_change_binding_failed(engine);
    generations_requeue(engine, binding->entry, binding->cycle.profile, blamed.unschedulable_plugins, now_ns);
    if (rejected) /* by its own leaving it is not woken */
        engine_pod_left(engine, pod, &(struct queue_filter){ .except = pod }, now_ns);
    retire(binding);
}

/* The Permit plugin whose time-out ends first. */
static uint32_t first_timeout(const struct pod_binding *binding)
{
    uint32_t first = PLUGINS_MAX;
    for (uint32_t i = 0; i < PLUGINS_MAX; i++)
        if ((binding->waits_for >> i & 1) &&
            (first == PLUGINS_MAX || binding->permit_ms[i] < binding->permit_ms[first]))
            first = i;
    return first;
}

static int64_t permit_until(const struct pod_binding *binding)
{
    return binding->started_ns + binding->permit_ms[first_timeout(binding)] * NS_PER_MS;
}

/* ---- stages: Wait stays in the stage, Success goes on to the next ---- */
static struct status permit(struct pod_binding *binding)
{
    if (binding->waits_for)
        return (struct status){ .code = STATUS_WAIT };
    queue_settle(&binding->engine->queue, binding->entry);
    return STATUS_OK;
}

/* Its room is judged in a tick. */
static struct status await_room(struct pod_binding *binding)
{
    if (binding->has_room)
        return STATUS_OK;
    announce_look(binding);
    return (struct status){ .code = STATUS_WAIT };
}

static struct status pre_bind(struct pod_binding *binding)
{
    return run_pre_bind(&binding->cycle, binding->row, &binding->resume);
}

/* An extender that binds comes before the plugins. Skip: there is none, or its failure is ignored. */
static struct status bind_by_extender(struct pod_binding *binding)
{
    const struct pod *pod = binding->origin->api;
    struct extender *extender = extenders_binder(binding->cycle.profile, pod);
    struct error err;
    if (!extender || binding->undelegated || !binding->engine->host.emit)
        return STATUS_SKIPPED;
    if (!binding->delegated)
        binding->delegated = binding_write(binding, &(struct effect){ .kind = EFFECT_BIND,
                                                                      .namespace = pod->meta.namespace,
                                                                      .name = pod->meta.name,
                                                                      .uid = pod->meta.uid,
                                                                      .node = binding->node,
                                                                      .by = extender });
    const struct answer *answer = &binding->delegated->answer;
    if (answer->kind == ANSWER_PENDING || answer->kind == ANSWER_DONE)
        return answer->kind == ANSWER_DONE ? STATUS_OK : (struct status){ .code = STATUS_WAIT };
    error_set(&err, 0, STR_FMT, STR_ARG(answer->message));
    struct status status = extender_failed(extender, &binding->cycle, &err);
    binding->undelegated = status_ok(status);
    return binding->undelegated ? STATUS_SKIPPED : status;
}

/* Waits for BINDING_ON_IDLE while the pod's status is being written. */
static struct status bind(struct pod_binding *binding)
{
    struct engine *engine = binding->engine;
    if (engine->host.emit) {
        pod_status_void(&engine->statuses, binding->pod->api);
        if (pod_status_busy(&engine->statuses, binding->pod->api))
            return (struct status){ .code = STATUS_WAIT };
    }
    struct status status = bind_by_extender(binding);
    return status.code == STATUS_SKIP ? run_bind(&binding->cycle, binding->row, &binding->resume) : status;
}

static const struct {
    struct status (*run)(struct pod_binding *binding);
    bool watches; /* while it waits: objects of the cluster, also if it does not say for how long */
    enum binding_stage next;
} stages[BINDING_STAGE_COUNT] = {
    [BINDING_PERMIT] = { permit, false, BINDING_ANNOUNCE },
    [BINDING_ANNOUNCE] = { await_room, false, BINDING_PRE_BIND },
    [BINDING_PRE_BIND] = { pre_bind, true, BINDING_BIND },
    [BINDING_BIND] = { bind, false, BINDING_STAGE_COUNT },
};

static enum binding_stage stage_after(const struct pod_binding *binding)
{
    enum binding_stage next = stages[binding->stage].next;
    return next == BINDING_ANNOUNCE && !binding->engine->announces ? BINDING_PRE_BIND : next;
}

/* It waits: until when, and for what? */
static void wait_on(struct pod_binding *binding)
{
    bool at_permit = binding->stage == BINDING_PERMIT;
    binding_due(binding, at_permit ? permit_until(binding) : binding->cycle.wake_ns);
    if (stages[binding->stage].watches || (!at_permit && binding->cycle.wake_ns))
        binding_watch(binding);
}

/* Plugins may be answered while they are called: that is noticed when they return. */
static void advance(struct pod_binding *binding, int64_t now_ns)
{
    if (binding->advancing)
        return;
    binding->advancing = true;
    binding->cycle.now_ns = now_ns;
    binding->cycle.wall_ahead_ns = binding->engine->statuses.wall_ahead_ns;
    binding->cycle.wake_ns = 0;
    while (!binding->ended) {
        struct status status = stages[binding->stage].run(binding);
        enum binding_stage next = stage_after(binding);
        if (status.code == STATUS_WAIT) {
            wait_on(binding);
            break;
        }
        if (!status_ok(status))
            fail(binding, status, now_ns);
        else if (next == BINDING_STAGE_COUNT)
            succeed(binding, now_ns);
        else
            enter_stage(binding, next);
    }
    binding->advancing = false;
}

/* ---- the beginning ---- */
static const struct answer *write_of_cycle(struct cycle_writer *writer, const struct effect *effect)
{
    return &binding_write(container_of(writer, struct pod_binding, writer), effect)->answer;
}

static struct pod_binding *binding_new(struct engine *engine, struct cycle *cycle, struct queued_pod *entry,
                                       uint32_t row, int64_t now_ns)
{
    struct pod_binding *binding = xcalloc(1, sizeof(*binding));
    _cleanup_(strbuf_release) struct strbuf scratch = { 0 };
    binding->engine = engine;
    binding->cycle = *cycle;
    memset(cycle->states, 0, sizeof(cycle->states)); /* the binding owns them now */
    binding->arena = engine->arena;
    engine->arena = (struct arena){ 0 };
    cycle->arena = &engine->arena;
    binding->cycle.arena = &binding->arena;
    binding->writer.write = write_of_cycle;
    binding->cycle.writer = engine->host.emit ? &binding->writer : NULL;
    binding->origin = binding->pod = entry->pod;
    pod_info_ref(binding->origin);
    pod_info_ref(binding->pod);
    binding->entry = entry;
    binding->row = row;
    cluster_hold_row(engine->cluster, row);
    binding->node = arena_str(&binding->arena, cluster_node_name(engine->cluster, row));
    binding->started_ns = now_ns;
    binding->number = ++engine->bindings_begun;
    binding->stage = BINDING_PERMIT;
    binding->stage_ns = probe_now(engine->probe);
    engine->bindings_at[BINDING_PERMIT]++;
    binding->key = arena_str(&binding->arena, pod_key(entry->pod->api, &scratch));
    strmap_put(&engine->bindings, binding->key, binding);
    return binding;
}

static void blame(const struct cycle *cycle, struct status status, struct decision *ret)
{
    struct diagnosis diagnosis = { 0 };
    diagnosis_blame(&diagnosis, cycle->profile, status);
    ret->unschedulable_plugins = diagnosis.unschedulable_plugins;
    ret->pending_plugins = diagnosis.pending_plugins;
}

/* Before there is a binding: the decision itself fails. */
static void refuse(struct engine *engine, struct cycle *cycle, uint32_t row, struct status status,
                   struct decision *ret)
{
    blame(cycle, status, ret);
    run_unreserve(cycle, row);
    cluster_displace(engine->cluster, ret->pod);
    cluster_set_node_claims(engine->cluster, ret->pod, &ret->pod->api->status.node_claims);
    ret->message = status_rejected(status) ? diagnosis_of_one(status, cycle->arena)
                                           : status_message(status, cycle->arena);
    ret->is_error = !status_rejected(status);
    if (ret->is_error)
        ret->failed_by = attempt_failed_by(cycle, status);
}

/* Is it told early which node a pod will have? Only then the plugins are asked whether PreBind has something to do. */
static bool is_expected_early(const struct engine *engine)
{
    return engine->cluster->features.enabled[FEATURE_NominatedNodeNameForExpectation];
}

/* Without a host nothing has to be waited for but permission, and no memory is needed. */
static bool bind_at_once(struct engine *engine, struct cycle *cycle, struct queued_pod *entry, uint32_t row,
                         struct decision *ret)
{
    uint32_t resume = 0;
    struct status status = is_expected_early(engine) ? run_pre_bind_pre_flights(cycle, row) : STATUS_OK;
    if (status_ok(status))
        status = run_pre_bind(cycle, row, &resume);
    resume = 0;
    if (status_ok(status) || status.code == STATUS_SKIP)
        status = run_bind(cycle, row, &resume);
    if (status.code == STATUS_WAIT)
        return false;
    if (status_ok(status)) {
        run_post_bind(cycle, row);
        ret->row = row;
        queue_done(&engine->queue, entry);
    } else {
        refuse(engine, cycle, row, status, ret);
        ret->unschedulable_plugins = ret->pending_plugins = 0;
    }
    return true;
}

/* Other components learn the node of a pod whose binding takes a while, and other schedulers that of each pod. */
static void announce(struct pod_binding *binding, bool prepares, int64_t now_ns)
{
    if (binding->engine->host.emit && (binding->engine->announces || prepares || binding->waits_for))
        announce_begin(binding, now_ns);
}

static void wait_for_permission(struct pod_binding *binding, const struct permit_wait *wait)
{
    binding->waits_for = wait->plugins;
    binding->permit_ms = arena_array(&binding->arena, int64_t, PLUGINS_MAX);
    for (uint32_t i = 0; i < PLUGINS_MAX; i++)
        if (wait->plugins >> i & 1)
            binding->permit_ms[i] = MIN(wait->timeout_ms[i], PERMIT_TIMEOUT_MS_MAX);
    permit_enter(binding);
    queue_await(&binding->engine->queue, binding->entry, wait->plugins);
}

void binding_begin(struct engine *engine, struct cycle *cycle, struct queued_pod *entry, uint32_t row,
                   int64_t now_ns, struct decision *ret)
{
    struct permit_wait wait;
    wait.plugins = 0;
    cycle->now_ns = now_ns;
    cycle->wall_ahead_ns = engine->statuses.wall_ahead_ns;
    /* What an earlier attempt left in its status does not count: plugins say it anew. */
    cluster_set_node_claims(engine->cluster, ret->pod, &(struct node_claim_list){ 0 });
    ret->pod->placed_ns = now_ns + cycle->wall_ahead_ns;
    cluster_place(engine->cluster, ret->pod, row);
    struct status status = run_reserve(cycle, row);
    if (status_ok(status))
        status = run_permit(cycle, row, &wait);
    if (!status_ok(status) && status.code != STATUS_WAIT) {
        refuse(engine, cycle, row, status, ret);
        return;
    }
    if (!engine->host.emit && !wait.plugins && bind_at_once(engine, cycle, entry, row, ret))
        return;
    struct pod_binding *binding = binding_new(engine, cycle, entry, row, now_ns);
    binding->decision = *ret;
    ret->row = row;
    if (wait.plugins)
        wait_for_permission(binding, &wait);
    status = is_expected_early(engine) ? run_pre_bind_pre_flights(&binding->cycle, row) : STATUS_SKIPPED;
    if (!status_ok(status) && status.code != STATUS_SKIP) {
        fail(binding, status, now_ns);
        return;
    }
    if (is_expected_early(engine) || engine->announces)
        announce(binding, status_ok(status), now_ns);
    advance(binding, now_ns);
}

/* ---- what happens to a pod that is being bound ---- */
static void go_on(struct pod_binding *binding, const struct binding_event *event)
{
    advance(binding, event->now_ns);
}

static uint64_t permit_bit(const struct pod_binding *binding, const char *plugin)
{
    const struct plugin_instance *instance = profile_find(binding->cycle.profile, plugin);
    return instance ? (uint64_t)1 << instance->index : 0;
}

static void allow(struct pod_binding *binding, const struct binding_event *event)
{
    permit_leave(binding, permit_bit(binding, event->plugin));
    if (!binding->waits_for)
        advance(binding, event->now_ns);
    else
        wait_on(binding);
}

static void reject_permit(struct pod_binding *binding, const struct binding_event *event)
{
    const struct plugin_instance *instance = profile_find(binding->cycle.profile, event->plugin);
    struct status status = status_printf(&binding->arena, STATUS_UNSCHEDULABLE, STR_FMT, STR_ARG(event->why));
    status.plugin = instance ? instance->plugin : NULL;
    fail(binding, status, event->now_ns);
}

static void end_wait(struct pod_binding *binding, const struct binding_event *event)
{
    if (permit_until(binding) > event->now_ns) {
        wait_on(binding);
        return;
    }
    uint32_t index = first_timeout(binding);
    struct binding_event rejected = *event;
    char duration[DURATION_TEXT_MAX];
    duration_format(binding->permit_ms[index] * NS_PER_MS, duration);
    rejected.plugin = binding->cycle.profile->plugins[index].plugin->name;
    rejected.why = arena_printf(&binding->arena, "rejected due to timeout after waiting %s at plugin %s",
                                duration, rejected.plugin);
    reject_permit(binding, &rejected);
}

static void preempt_permit(struct pod_binding *binding, const struct binding_event *event)
{
    fail(binding, status_printf(&binding->arena, STATUS_ERROR, "waiting on permit for pod: preempted"),
         event->now_ns);
}

static void preempt_announced(struct pod_binding *binding, const struct binding_event *event)
{
    fail(binding, status_printf(&binding->arena, STATUS_ERROR, "announcing the node of the pod: preempted"),
         event->now_ns);
}

static void preempt_pre_bind(struct pod_binding *binding, const struct binding_event *event)
{
    const struct plugin_order *order = &binding->cycle.profile->points[POINT_PRE_BIND];
    fail(binding,
         status_printf(&binding->arena, STATUS_ERROR, "running PreBind plugin \"%s\": preempted by %s",
                       order->items[binding->resume]->plugin->name, event->plugin),
         event->now_ns);
}

static void update(struct pod_binding *binding, const struct binding_event *event)
{
    take_version(binding, event->pod);
    announce_look(binding);
}

static void look(struct pod_binding *binding, const struct binding_event *event _unused_)
{
    announce_look(binding);
}

static void take_room(struct pod_binding *binding, const struct binding_event *event)
{
    binding->has_room = true;
    advance(binding, event->now_ns);
}

/* It may have room elsewhere, and is tried again soon. */
static void withdraw(struct pod_binding *binding, const struct binding_event *event)
{
    binding->is_withdrawn = true;
    fail(binding, status_printf(&binding->arena, STATUS_UNSCHEDULABLE, STR_FMT, STR_ARG(event->why)),
         event->now_ns);
}

/* Its deletion has begun while it waits for permission: no plugin's doing, so that no event helps it. */
static void reject_removed(struct pod_binding *binding, const struct binding_event *event)
{
    take_version(binding, event->pod);
    fail(binding, reject(STATUS_UNSCHEDULABLE, "removed"), event->now_ns);
}

static void fail_terminating(struct pod_binding *binding, const struct binding_event *event)
{
    struct str name = event->pod->api->meta.name;
    take_version(binding, event->pod);
    fail(binding,
         status_printf(&binding->arena, STATUS_ERROR,
                       "running Bind plugin \"DefaultBinder\": Operation cannot be fulfilled on pods/binding "
                       "\"" STR_FMT "\": pod " STR_FMT " is being deleted, cannot be assigned to a host",
                       STR_ARG(name), STR_ARG(name)),
         event->now_ns);
}

static void end_bound(struct pod_binding *binding, const struct binding_event *event)
{
    struct str node = event->pod->api->spec.node_name;
    take_version(binding, event->pod);
    if (str_eq(node, binding->node))
        succeed(binding, event->now_ns);
    else
        settle_elsewhere(binding, node, event->now_ns);
}

static void end_gone(struct pod_binding *binding, const struct binding_event *event)
{
    (void)event;
    run_unreserve(&binding->cycle, binding->row);
    queue_done(&binding->engine->queue, binding->entry);
    retire(binding);
}

/* A pod that waits for permission is rejected as if its deletion had only begun; its status cannot be written. */
static void end_removed(struct pod_binding *binding, const struct binding_event *event)
{
    account_stage(binding, STATUS_UNSCHEDULABLE);
    if (event->kind == BINDING_ON_GONE)
        report_removed(binding->engine, binding, reject(STATUS_UNSCHEDULABLE, "removed"), event->now_ns);
    end_gone(binding, event);
}

typedef void (*binding_action)(struct pod_binding *binding, const struct binding_event *event);

#define ENDED_BY_REMOVAL \
    { [BINDING_PERMIT] = end_removed, \
      [BINDING_ANNOUNCE] = end_gone, \
      [BINDING_PRE_BIND] = end_gone, \
      [BINDING_BIND] = end_gone }
#define ANYWHERE(action) \
    { [BINDING_PERMIT] = action, \
      [BINDING_ANNOUNCE] = action, \
      [BINDING_PRE_BIND] = action, \
      [BINDING_BIND] = action }

/* In a stage without an action the event means nothing. */
static const binding_action actions[BINDING_EVENT_COUNT][BINDING_STAGE_COUNT] = {
    [BINDING_ON_ALLOWED] = { [BINDING_PERMIT] = allow },
    [BINDING_ON_REJECTED] = { [BINDING_PERMIT] = reject_permit },
    [BINDING_ON_PREEMPTED] = { [BINDING_PERMIT] = preempt_permit,
                               [BINDING_ANNOUNCE] = preempt_announced,
                               [BINDING_PRE_BIND] = preempt_pre_bind },
    [BINDING_ON_UPDATED] = ANYWHERE(update),
    [BINDING_ON_TERMINATING] = { [BINDING_PERMIT] = reject_removed,
                                 [BINDING_ANNOUNCE] = fail_terminating,
                                 [BINDING_PRE_BIND] = fail_terminating,
                                 [BINDING_BIND] = fail_terminating },
    [BINDING_ON_BOUND] = ANYWHERE(end_bound),
    [BINDING_ON_GONE] = ENDED_BY_REMOVAL,
    [BINDING_ON_REPLACED] = ENDED_BY_REMOVAL,
    [BINDING_ON_ROOM] = { [BINDING_ANNOUNCE] = take_room },
    [BINDING_ON_NO_ROOM] = { [BINDING_PERMIT] = withdraw, [BINDING_ANNOUNCE] = withdraw },
    [BINDING_ON_IDLE] = { [BINDING_PERMIT] = look, [BINDING_ANNOUNCE] = look, [BINDING_BIND] = go_on },
    [BINDING_ON_ANSWERED] = ANYWHERE(go_on),
    [BINDING_ON_DUE] = { [BINDING_PERMIT] = end_wait,
                         [BINDING_ANNOUNCE] = look,
                         [BINDING_PRE_BIND] = go_on,
                         [BINDING_BIND] = go_on },
    [BINDING_ON_CHANGED] = { [BINDING_PRE_BIND] = go_on, [BINDING_BIND] = go_on },
};

bool binding_event(struct pod_binding *binding, const struct binding_event *event)
{
    binding_action action = binding->ended ? NULL : actions[event->kind][binding->stage];
    if (action)
        action(binding, event);
    return action;
}

/* ---- all of them ---- */
struct pod_binding *binding_find(const struct engine *engine, const struct pod *pod)
{
    _cleanup_(strbuf_release) struct strbuf scratch = { 0 };
    return engine->bindings.len ? strmap_get(&engine->bindings, pod_key(pod, &scratch)) : NULL;
}

void bindings_tick(struct engine *engine, int64_t now_ns)
{
    bindings_call_due(engine, now_ns);
    announce_tick(engine, now_ns);
    bindings_call_watching(engine, now_ns);
    free_ended(engine);
}

void bindings_idle(void *engine, struct str pod_key, int64_t now_ns)
{
    struct pod_binding *binding = strmap_get(&((struct engine *)engine)->bindings, pod_key);
    if (binding)
        binding_event(binding, &(struct binding_event){ BINDING_ON_IDLE, now_ns });
}

void bindings_each_waiting(void *engine, const struct plugin *plugin,
                           bool (*visit)(void *context, const struct pod_info *pod), void *context)
{
    const struct permit_list *list =
        strmap_get(&((struct engine *)engine)->permit_lists, str_from(plugin->name));
    if (!list)
        return;
    list_for_each(&list->waits, struct permit_place, place, link)
        if (!visit(context, place->binding->pod))
            return;
}

/* Waits until no thread of the pool can touch anything of the engine any more, its messages included. What still runs
 * after a while keeps what it uses: the process is about to end. */
static void wait_for_work(struct engine *engine)
{
    if (!workers_wait(WORK_END_MS_MAX))
        log_warning("A plugin is still busy with a pod that was given up");
    engine->host.on_plugin_message = NULL; /* nothing is recorded any more */
    plugin_messages_read(engine, 0);
}

void bindings_release(struct engine *engine)
{
    map_for(&engine->bindings, slot) {
        struct pod_binding *binding = slot->value;
        binding->ended = true;
        work_cancel(&binding->cycle);
        permit_leave(binding, UINT64_MAX);
        *vec_push(&engine->ended) = binding;
    }
    wait_for_work(engine);
    free_ended(engine);
    engine->is_stuck = engine->ended.len != 0;
    strmap_release(&engine->bindings);
    strmap_release(&engine->permit_lists);
    vec_release(&engine->watching);
    vec_release(&engine->looks);
    heap_release(&engine->due);
}
