/* binding.c: the stages, and how a pod leaves them. */
#include "engine/binding.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/workers.h"
#include "config/duration.h"
#include "engine/account.h"
#include "engine/generations.h"
#include "engine/plugin_mail.h"
#include "engine/report.h"
#include "framework/blocking_work.h"
#include "framework/extender.h"
#include "framework/probe.h"

const char *const binding_stage_names[BINDING_STAGE_COUNT] = {
#define X(name, text) [BINDING_##name] = text,
    BINDING_STAGES(X)
#undef X
};

enum { NS_PER_MS = 1000000, WORK_END_MS_MAX = 5000 };
/* A Permit plugin cannot make a pod wait for longer. */
#define PERMIT_TIMEOUT_MS_MAX ((int64_t)15 * 60 * 1000)
/* After that no API server will still do what it was asked to: they give up after a minute. */
#define DOUBT_NS ((int64_t)90 * 1000 * NS_PER_MS)

static void advance(struct pod_binding *binding, int64_t now_ns);

/* ---- the list of those that are asked again from time to time ---- */
static void poll_stop(struct pod_binding *binding)
{
    struct engine *engine = binding->engine;
    if (!binding->polled)
        return;
    binding->polled = false;
    vec_swap_remove(&engine->waiting, binding->at);
    if (binding->at < engine->waiting.len)
        engine->waiting.items[binding->at]->at = binding->at;
}

static void poll_start(struct pod_binding *binding)
{
    struct engine *engine = binding->engine;
    if (binding->polled)
        return;
    binding->polled = true;
    binding->at = engine->waiting.len;
    *vec_push(&engine->waiting) = binding;
}

/* ---- writes of plugins ---- */
/* A write of the cycle and its answer; lives in the binding's arena. */
struct binding_write {
    struct binding_write *next;
    struct pod_binding *binding;
    struct answer answer;
    struct write *write;    /* under way; NULL: answered */
    struct effect effect;   /* of a bind, to send it again; texts in the arena */
    uint32_t rounds;        /* how often it was sent again after a look at the pod */
    bool in_doubt;          /* some attempt to bind may have been done ... */
    int64_t doubt_until_ns; /* ... or may be until then */
};

static struct answer copy_answer(struct arena *arena, const struct answer *answer)
{
    struct answer copy = *answer;
    copy.message = arena_str(arena, answer->message);
    copy.resource_version = arena_str(arena, answer->resource_version);
    copy.node = arena_str(arena, answer->node);
    copy.uid = arena_str(arena, answer->uid);
    copy.name = arena_str(arena, answer->name);
    return copy;
}

/* A write over a version that is there no more, after an attempt without an answer: it may be in conflict with itself.
 * Whoever wrote it waits for the object to show it anyway, and finds out. */
static bool may_be_own_conflict(const struct write *write, const struct answer *answer)
{
    enum effect_kind kind = write->effect.kind;
    return answer->kind == ANSWER_CONFLICT && write->in_doubt &&
           (kind == EFFECT_PV_CLAIM || kind == EFFECT_PVC_NODE);
}

static void answered(void *context, const struct write *write, const struct answer *answer, int64_t now_ns)
{
    struct binding_write *own = context;
    own->write = NULL;
    if (may_be_own_conflict(write, answer))
        own->answer = (struct answer){ .kind = ANSWER_DONE, .in_doubt = true };
    else
        own->answer = copy_answer(&own->binding->arena, answer);
    advance(own->binding, now_ns);
}

static void bind_answered(void *context, const struct write *write, const struct answer *answer,
                          int64_t now_ns);

/* Where is the pod really? `own->answer` holds what the server said to the binding, under `verdict`. */
struct doubt {
    struct binding_write *own;
    struct answer verdict;
};

static void read_answered(void *context, const struct write *write, const struct answer *answer,
                          int64_t now_ns)
{
    struct doubt *doubt = context;
    struct binding_write *own = doubt->own;
    struct pod_binding *binding = own->binding;
    (void)write;
    own->write = NULL;
    bool found = answer->kind == ANSWER_DONE;
    if (found && !answer->node.len && !answer->terminating && own->in_doubt && now_ns < own->doubt_until_ns) {
        /* The lost attempt may still arrive: its room is not given away. */
        own->write = writes_send_later(&binding->engine->writes, &own->effect, bind_answered, own,
                                       ++own->rounds, now_ns);
        return;
    }
    own->answer = doubt->verdict;
    if (found && str_eq(answer->node, binding->node))
        own->answer.kind = ANSWER_DONE;
    else if (found && answer->node.len)
        binding->elsewhere = arena_str(&binding->arena, answer->node);
    advance(binding, now_ns);
}

static void bind_answered(void *context, const struct write *write, const struct answer *answer,
                          int64_t now_ns)
{
    struct binding_write *own = context;
    if (write->in_doubt) {
        own->in_doubt = true;
        own->doubt_until_ns = now_ns + DOUBT_NS;
    }
    /* What an extender says that failed may have been done all the same: its answer may have come too late. */
    bool is_fact = answer->kind != ANSWER_CONFLICT && !own->in_doubt && !own->effect.by;
    if (answer->kind == ANSWER_DONE || is_fact) {
        answered(context, write, answer, now_ns);
        return;
    }
    struct doubt *doubt = arena_new(&own->binding->arena, struct doubt);
    struct effect read = own->effect;
    *doubt = (struct doubt){ .own = own, .verdict = copy_answer(&own->binding->arena, answer) };
    read.kind = EFFECT_READ_POD;
    read.by = NULL;
    own->write = writes_send(&own->binding->engine->writes, &read, read_answered, doubt, now_ns);
}

static void send_bind(struct binding_write *own, int64_t now_ns)
{
    own->write = writes_send(&own->binding->engine->writes, &own->effect, bind_answered, own, now_ns);
}

static const struct binding_write *begin_write(struct pod_binding *binding, const struct effect *effect)
{
    struct binding_write *own = arena_new(&binding->arena, struct binding_write);
    *own =
        (struct binding_write){ .binding = binding, .next = binding->writes, .answer.kind = ANSWER_PENDING };
    binding->writes = own;
    if (effect->kind == EFFECT_EVENT) { /* nobody answers */
        binding->engine->host.emit(binding->engine->host.context, effect);
        own->answer.kind = ANSWER_DONE;
    } else if (effect->kind == EFFECT_BIND) {
        own->effect = (struct effect){ .kind = EFFECT_BIND,
                                       .namespace = arena_str(&binding->arena, effect->namespace),
                                       .name = arena_str(&binding->arena, effect->name),
                                       .uid = arena_str(&binding->arena, effect->uid),
                                       .node = arena_str(&binding->arena, effect->node),
                                       .by = effect->by };
        send_bind(own, binding->cycle.now_ns);
    } else {
        own->write = writes_send(&binding->engine->writes, effect, answered, own, binding->cycle.now_ns);
    }
    return own;
}

static const struct answer *write_of_cycle(struct cycle_writer *writer, const struct effect *effect)
{
    return &begin_write(container_of(writer, struct pod_binding, writer), effect)->answer;
}

/* ---- ends ---- */
static void leave_stage(struct pod_binding *binding)
{
    binding->engine->bindings_at[binding->stage]--;
}

static void enter_stage(struct pod_binding *binding, enum binding_stage stage)
{
    leave_stage(binding);
    binding->stage = stage;
    binding->stage_ns = probe_now(binding->engine->probe);
    binding->engine->bindings_at[stage]++;
}

static void cancel_writes(struct pod_binding *binding)
{
    for (struct binding_write *own = binding->writes; own; own = own->next)
        if (own->write) {
            writes_cancel(&binding->engine->writes, own->write);
            own->write = NULL;
        }
}

/* Out of every list; the memory stays until nobody on the stack uses it. */
static void retire(struct pod_binding *binding)
{
    struct engine *engine = binding->engine;
    binding->ended = true;
    work_cancel(&binding->cycle);
    cancel_writes(binding);
    poll_stop(binding);
    leave_stage(binding);
    strmap_remove(&engine->bindings, (struct str){ binding->key.text, (uint32_t)binding->key.len });
    *vec_push(&engine->ended) = binding;
}

static void binding_free(struct pod_binding *binding)
{
    struct cluster *cluster = binding->engine->cluster;
    cycle_release(&binding->cycle);
    pod_info_unref(cluster, binding->origin);
    arena_release(&binding->arena);
    strbuf_release(&binding->key);
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
}

/* Whoever waits for room hears of it; the pod itself is not to be woken by its own leaving if it was rejected. */
static void tell_room(struct engine *engine, const struct pod_info *pod, bool rejected, int64_t now_ns)
{
    struct cluster_event event = {
        .resource = EVENT_ASSIGNED_POD, .actions = ACTION_DELETE, .before = pod->api, .holds_room = true
    };
    struct queue_filter others = { .except = pod };
    queue_event(&engine->queue, &event, rejected ? &others : NULL, now_ns);
}

/* Somebody else bound it: there is nothing left to do but to remember where. */
static void settle_elsewhere(struct pod_binding *binding, struct str node, int64_t now_ns)
{
    struct engine *engine = binding->engine;
    give_back(binding);
    if (binding->pod->row == ROW_NONE)
        cluster_place_on(engine->cluster, binding->pod, node);
    queue_remove(&engine->queue, binding->pod);
    queue_done(&engine->queue, binding->entry);
    tell_room(engine, binding->origin, false, now_ns);
    retire(binding);
}

static void fail(struct pod_binding *binding, struct status status, int64_t now_ns)
{
    struct engine *engine = binding->engine;
    struct pod_info *pod = binding->pod;
    bool rejected = status_rejected(status);
    struct diagnosis who = { 0 };
    account_stage(binding, status.code);
    if (binding->elsewhere.len) {
        settle_elsewhere(binding, binding->elsewhere, now_ns);
        return;
    }
    give_back(binding);
    if (binding->stage == BINDING_PERMIT) /* the last ones that can reject a pod */
        diagnosis_blame(&who, binding->cycle.profile, status);
    if (!rejected)
        tell_room(engine, pod, false, now_ns);
    report_binding_failure(engine, binding, status, now_ns);
    generations_requeue(engine, binding->entry, binding->cycle.profile, who.unschedulable_plugins, now_ns);
    if (rejected)
        tell_room(engine, pod, true, now_ns);
    retire(binding);
}

/* ---- stages ---- */
static bool wait_permit(struct pod_binding *binding)
{
    if (binding->waits_for) {
        poll_start(binding);
        return true;
    }
    account_stage(binding, STATUS_SUCCESS);
    queue_settle(&binding->engine->queue, binding->entry);
    poll_stop(binding);
    enter_stage(binding, BINDING_PRE_BIND);
    return false;
}

/* True: it waits, or has ended. */
static bool pre_bind(struct pod_binding *binding, int64_t now_ns)
{
    struct status status = run_pre_bind(&binding->cycle, binding->row, &binding->resume);
    if (status.code == STATUS_WAIT) {
        poll_start(binding);
        return true;
    }
    if (!status_ok(status)) {
        fail(binding, status, now_ns);
        return true;
    }
    poll_stop(binding);
    account_stage(binding, STATUS_SUCCESS);
    enter_stage(binding, BINDING_BIND);
    binding->resume = 0;
    return false;
}

/* An extender that binds goes before the plugins. Skip: nobody has. */
static struct status bind_by_extender(struct pod_binding *binding)
{
    const struct pod *pod = binding->origin->api;
    struct extender *extender = extenders_binder(binding->cycle.profile, pod);
    struct error err;
    if (!extender || binding->undelegated || !binding->engine->host.emit)
        return STATUS_SKIPPED;
    if (!binding->delegated)
        binding->delegated = begin_write(binding, &(struct effect){ .kind = EFFECT_BIND,
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

static void bind(struct pod_binding *binding, int64_t now_ns)
{
    struct engine *engine = binding->engine;
    if (engine->host.emit)
        pod_status_void(&engine->statuses, binding->pod->api);
    if (engine->host.emit && pod_status_busy(&engine->statuses, binding->pod->api))
        return; /* bindings_idle() comes */
    struct status status = bind_by_extender(binding);
    if (status.code == STATUS_SKIP)
        status = run_bind(&binding->cycle, binding->row, &binding->resume);
    if (status.code == STATUS_WAIT) {
        if (binding->cycle.wake_ns)
            poll_start(binding);
    } else if (status_ok(status)) {
        succeed(binding, now_ns);
    } else {
        fail(binding, status, now_ns);
    }
}

/* Plugins may be answered while they are called: that is noticed when they return. */
static void advance(struct pod_binding *binding, int64_t now_ns)
{
    if (binding->advancing || binding->ended)
        return;
    binding->advancing = true;
    binding->cycle.now_ns = now_ns;
    binding->cycle.wake_ns = 0;
    bool waits = binding->stage == BINDING_PERMIT && wait_permit(binding);
    if (!waits && binding->stage == BINDING_PRE_BIND)
        waits = pre_bind(binding, now_ns);
    if (!waits && binding->stage == BINDING_BIND)
        bind(binding, now_ns);
    binding->advancing = false;
}

/* ---- the beginning ---- */
static struct pod_binding *binding_new(struct engine *engine, struct cycle *cycle, struct queued_pod *entry,
                                       uint32_t row, int64_t now_ns)
{
    struct pod_binding *binding = xcalloc(1, sizeof(*binding));
    _cleanup_(strbuf_release) struct strbuf scratch = { 0 };
    binding->engine = engine;
    binding->cycle = *cycle;
    memset(cycle->states, 0, sizeof(cycle->states)); /* they are ours now */
    binding->arena = engine->arena;
    engine->arena = (struct arena){ 0 };
    cycle->arena = &engine->arena;
    binding->cycle.arena = &binding->arena;
    binding->writer.write = write_of_cycle;
    binding->cycle.writer = engine->host.emit ? &binding->writer : NULL;
    binding->origin = binding->pod = entry->pod;
    pod_info_ref(binding->origin);
    binding->entry = entry;
    binding->row = row;
    binding->node = arena_str(&binding->arena, cluster_node_name(engine->cluster, row));
    binding->started_ns = now_ns;
    binding->stage = BINDING_PERMIT;
    binding->stage_ns = probe_now(engine->probe);
    engine->bindings_at[BINDING_PERMIT]++;
    strbuf_str(&binding->key, pod_key(entry->pod->api, &scratch));
    strmap_put(&engine->bindings, (struct str){ binding->key.text, (uint32_t)binding->key.len }, binding);
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
    ret->message = status_rejected(status) ? diagnosis_of_one(status, cycle->arena)
                                           : status_message(status, cycle->arena);
    ret->is_error = !status_rejected(status);
}

/* Without a host nothing has to be waited for but permission, and no memory is needed. */
static bool bind_at_once(struct engine *engine, struct cycle *cycle, struct queued_pod *entry, uint32_t row,
                         struct decision *ret)
{
    uint32_t resume = 0;
    struct status status = run_pre_bind_pre_flights(cycle, row);
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

/* Where others should know where the pod is going, because it takes a while. */
static void announce(struct pod_binding *binding, bool prepares, int64_t now_ns)
{
    struct engine *engine = binding->engine;
    if (engine->host.emit && (prepares || binding->waits_for))
        pod_status_set(&engine->statuses, binding->pod->api,
                       &(struct status_change){ .nomination = NOMINATION_SET, .node = binding->node },
                       now_ns);
}

static void wait_for_permission(struct pod_binding *binding, const struct permit_wait *wait)
{
    binding->waits_for = wait->plugins;
    binding->permit_ms = arena_array(&binding->arena, int64_t, PLUGINS_MAX);
    for (uint32_t i = 0; i < PLUGINS_MAX; i++)
        if (wait->plugins >> i & 1)
            binding->permit_ms[i] = MIN(wait->timeout_ms[i], PERMIT_TIMEOUT_MS_MAX);
}

/* The first of those it waits for that will have waited for too long. */
static uint32_t least_patient(const struct pod_binding *binding)
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
    return binding->started_ns + binding->permit_ms[least_patient(binding)] * NS_PER_MS;
}

void binding_begin(struct engine *engine, struct cycle *cycle, struct queued_pod *entry, uint32_t row,
                   int64_t now_ns, struct decision *ret)
{
    struct permit_wait wait;
    wait.plugins = 0;
    cycle->now_ns = now_ns;
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
    status = run_pre_bind_pre_flights(&binding->cycle, row);
    if (!status_ok(status) && status.code != STATUS_SKIP) {
        fail(binding, status, now_ns);
        return;
    }
    announce(binding, status_ok(status), now_ns);
    advance(binding, now_ns);
}

/* ---- what happens meanwhile ---- */
struct pod_binding *binding_find(const struct engine *engine, const struct pod *pod)
{
    _cleanup_(strbuf_release) struct strbuf scratch = { 0 };
    return engine->bindings.len ? strmap_get(&engine->bindings, pod_key(pod, &scratch)) : NULL;
}

void binding_updated(struct pod_binding *binding, struct pod_info *pod, int64_t now_ns)
{
    binding->pod = pod;
    if (!pod->terminating) {
        binding->row = pod->row; /* another one where the old one went with the node */
        return;
    }
    struct str name = pod->api->meta.name;
    fail(binding,
         status_printf(&binding->arena, STATUS_ERROR,
                       "running Bind plugin \"DefaultBinder\": Operation cannot be fulfilled on pods/binding "
                       "\"" STR_FMT "\": pod " STR_FMT " is being deleted, cannot be assigned to a host",
                       STR_ARG(name), STR_ARG(name)),
         now_ns);
}

void binding_seen(struct pod_binding *binding, struct pod_info *pod, int64_t now_ns)
{
    binding->pod = pod;
    if (str_eq(pod->api->spec.node_name, binding->node)) {
        succeed(binding, now_ns);
        return;
    }
    settle_elsewhere(binding, pod->api->spec.node_name, now_ns);
}

void binding_dropped(struct pod_binding *binding)
{
    run_unreserve(&binding->cycle, binding->row);
    queue_done(&binding->engine->queue, binding->entry);
    retire(binding);
}

bool binding_preempt(struct pod_binding *binding, const char *plugin, int64_t now_ns)
{
    struct arena *arena = &binding->arena;
    if (binding->ended || binding->stage == BINDING_BIND)
        return false;
    if (binding->stage == BINDING_PERMIT) {
        fail(binding, status_printf(arena, STATUS_ERROR, "waiting on permit for pod: preempted"), now_ns);
        return true;
    }
    const struct plugin_order *order = &binding->cycle.profile->points[POINT_PRE_BIND];
    fail(binding,
         status_printf(arena, STATUS_ERROR, "running PreBind plugin \"%s\": preempted by %s",
                       order->items[binding->resume]->plugin->name, plugin),
         now_ns);
    return true;
}

static uint64_t permit_bit(const struct pod_binding *binding, const char *plugin)
{
    const struct plugin_instance *instance = profile_find(binding->cycle.profile, plugin);
    return instance ? (uint64_t)1 << instance->index : 0;
}

void binding_allow(struct pod_binding *binding, const char *plugin, int64_t now_ns)
{
    binding->waits_for &= ~permit_bit(binding, plugin);
    if (binding->stage == BINDING_PERMIT && !binding->waits_for)
        advance(binding, now_ns);
}

void binding_reject(struct pod_binding *binding, const char *plugin, struct str why, int64_t now_ns)
{
    const struct plugin_instance *instance = profile_find(binding->cycle.profile, plugin);
    if (binding->stage != BINDING_PERMIT || binding->ended)
        return;
    struct status status = status_printf(&binding->arena, STATUS_UNSCHEDULABLE, STR_FMT, STR_ARG(why));
    status.plugin = instance ? instance->plugin : NULL;
    fail(binding, status, now_ns);
}

static void permit_timed_out(struct pod_binding *binding, int64_t now_ns)
{
    uint32_t index = least_patient(binding);
    const char *plugin = binding->cycle.profile->plugins[index].plugin->name;
    char duration[DURATION_TEXT_MAX];
    duration_format(binding->permit_ms[index] * NS_PER_MS, duration);
    struct str why = arena_printf(&binding->arena, "rejected due to timeout after waiting %s at plugin %s",
                                  duration, plugin);
    binding_reject(binding, plugin, why, now_ns);
}

static void poll(struct pod_binding *binding, bool changed, int64_t now_ns)
{
    if (binding->stage == BINDING_PERMIT) {
        if (permit_until(binding) <= now_ns)
            permit_timed_out(binding, now_ns);
    } else if (changed || (binding->cycle.wake_ns && binding->cycle.wake_ns <= now_ns)) {
        advance(binding, now_ns);
    }
}

void bindings_tick(struct engine *engine, int64_t now_ns)
{
    bool changed = engine->polled_version != engine->cluster->storage_version;
    engine->polled_version = engine->cluster->storage_version;
    for (size_t i = engine->waiting.len;
         i-- > 0;) /* backwards: who leaves is replaced by one that was asked */
        if (i < engine->waiting.len)
            poll(engine->waiting.items[i], changed, now_ns);
    free_ended(engine);
}

int64_t bindings_next_due(const struct engine *engine)
{
    int64_t due = INT64_MAX;
    vec_for(&engine->waiting, binding) {
        int64_t own =
            (*binding)->stage == BINDING_PERMIT ? permit_until(*binding) : (*binding)->cycle.wake_ns;
        if (own)
            due = MIN(due, own);
    }
    return engine->polled_version != engine->cluster->storage_version && engine->waiting.len ? 0 : due;
}

void bindings_idle(void *engine, struct str pod_key, int64_t now_ns)
{
    struct pod_binding *binding = strmap_get(&((struct engine *)engine)->bindings, pod_key);
    if (binding && binding->stage == BINDING_BIND)
        advance(binding, now_ns);
}

void binding_work_done(struct cycle *cycle, int64_t now_ns)
{
    advance(container_of(cycle, struct pod_binding, cycle), now_ns);
}

void bindings_each_waiting(const struct engine *engine, const struct plugin *plugin,
                           bool (*visit)(void *context, const struct pod_info *pod), void *context)
{
    vec_for(&engine->waiting, binding) {
        uint64_t bit = permit_bit(*binding, plugin->name);
        if ((*binding)->stage == BINDING_PERMIT && (*binding)->waits_for & bit &&
            !visit(context, (*binding)->pod))
            return;
    }
}

/* Waits until no thread of the pool can touch anything of the engine's any more, its last word included. What is still
 * at work after a while keeps what it uses: the process is about to end. */
static void wait_for_work(struct engine *engine)
{
    if (!workers_wait(WORK_END_MS_MAX))
        log_warning("A plugin is still busy with a pod that nobody waits for");
    engine->host.heard = NULL; /* nothing comes of it any more */
    plugin_mail_read(engine, 0);
}

void bindings_release(struct engine *engine)
{
    map_for(&engine->bindings, slot) {
        struct pod_binding *binding = slot->value;
        binding->ended = true;
        work_cancel(&binding->cycle);
        *vec_push(&engine->ended) = binding;
    }
    wait_for_work(engine);
    free_ended(engine);
    engine->is_stuck = engine->ended.len != 0;
    strmap_release(&engine->bindings);
    vec_release(&engine->waiting);
}
