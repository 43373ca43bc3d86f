/* engine.c: one step of the loop. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/account.h"
#include "engine/binding.h"
#include "engine/class_cache.h"
#include "engine/decide.h"
#include "engine/eviction.h"
#include "engine/generations.h"
#include "engine/plugin_messages.h"
#include "engine/plugin_ticks.h"
#include "engine/policy_change.h"
#include "engine/refusal.h"
#include "engine/report.h"
#include "engine/rivals.h"
#include "engine/slow.h"
#include "framework/extender.h"
#include "framework/observation.h"
#include "framework/probe.h"
#include "framework/weights.h"
#include "preempt/preempt.h"

const char *const decision_path_names[PATH_COUNT] = {
#define X(name, text) [PATH_##name] = text,
    DECISION_PATHS(X)
#undef X
};

static_assert((int)ENGINE_BINDING_STAGES == (int)BINDING_STAGE_COUNT, "a counter per stage");

enum { BINDINGS_MAX_DEFAULT = 1024, VERDICTS_SHOWN = 5 };

static void init_queue(struct engine *engine, const struct engine_options *options)
{
    struct queue_options queue = generation_queue(engine, options->config);
    queue.unschedulable_max_ns = options->unschedulable_max_ns;
    queue.now_ns = options->now_ns;
    queue_init(&engine->queue, &queue);
    alarms_init(&engine->alarms);
}

/* ---- writes of plugins before there is a binding ---- */
static void ignore_answer(void *context, const struct write *write, const struct answer *answer,
                          int64_t now_ns)
{
    (void)context, (void)write, (void)answer, (void)now_ns;
}

static const struct answer *write_unanswered(struct cycle_writer *writer, const struct effect *effect)
{
    static const struct answer pending = { .kind = ANSWER_PENDING };
    struct engine *engine = container_of(writer, struct engine, unanswered);
    writes_send(&engine->writes, effect, ignore_answer, NULL, 0);
    return &pending;
}

static const struct pod *known_pod(void *context, struct str namespace, struct str name)
{
    const struct pod_info *pod = cluster_find_pod(((struct engine *)context)->cluster, namespace, name);
    return pod ? pod->api : NULL;
}

static void status_written(void *context, bool failed, int64_t took_ns)
{
    const struct probe *probe = ((const struct engine *)context)->probe;
    if (probe && probe->api_call)
        probe->api_call(probe->context, API_CALL_STATUS, failed, took_ns);
}

int engine_init(struct engine *engine, struct cluster *cluster, const struct engine_options *options,
                struct error *err)
{
    *engine = (struct engine){
        .cluster = cluster,
        .percentage_override = options->percentage,
        .tables_bytes_max = options->tables_bytes_max,
        .slowest = options->slowest,
        .announces = options->announces && options->host.emit,
        .policies = options->policies,
        .host = options->host,
    };
    cluster->shares_ports = engine->announces;
    if (!engine->host.bindings_max)
        engine->host.bindings_max = BINDINGS_MAX_DEFAULT;
    engine->unanswered.write = write_unanswered;
    writes_init(&engine->writes, engine->host.emit, engine->host.context, options->seed);
    engine->writes.last_ticket = options->last_ticket;
    engine->statuses = (struct pod_statuses){ .writes = &engine->writes,
                                              .known = known_pod,
                                              .idle = bindings_idle,
                                              .written = status_written,
                                              .bindings_replace_all =
                                                  cluster->features.enabled[FEATURE_SchedulerAsyncAPICalls],
                                              .context = engine };
    bindings_init(engine);
    rng_seed(&engine->rng, options->seed);
    struct generation first;
    const struct engine_setup setup = { options->config, options->registry, options->extenders,
                                        options->owner };
    int r = generation_make(engine, &setup, &first, err);
    if (r < 0)
        return r;
    generation_use(engine, &first, &setup);
    init_queue(engine, options);
    engine->classes = class_cache_new(cluster, engine->tables_bytes_max, &engine->stats);
    if (options->ranks)
        engine->ranking = xcalloc(1, sizeof(*engine->ranking));
    return 0;
}

/* The last decision is over: its texts are not read any more. */
static void forget_cycle(struct engine *engine)
{
    if (engine->diagnosis)
        diagnosis_release(engine->diagnosis);
    engine->diagnosis = NULL;
    arena_reset(&engine->arena);
}

void engine_release(struct engine *engine)
{
    bindings_release(engine);
    evictions_release(engine);
    if (engine->open.entry) {
        cluster_unhold_row(engine->cluster, engine->open.decision.nominated_row);
        pod_info_unref(engine->cluster, engine->open.decision.pod);
    }
    pod_statuses_release(&engine->statuses);
    writes_release(&engine->writes);
    class_cache_free(engine->classes);
    generations_release(engine);
    alarms_release(&engine->alarms);
    vec_release(&engine->tickers);
    queue_release(&engine->queue);
    policy_change_release(engine);
    forget_cycle(engine);
    arena_release(&engine->arena);
    free(engine->ranking);
}

uint32_t engine_profile_number(const struct engine *engine, const struct pod *pod)
{
    return profile_of_pod(engine->profiles, engine->profiles_len, pod);
}

const struct profile *engine_profile(const struct engine *engine, const struct pod *pod)
{
    uint32_t number = engine_profile_number(engine, pod);
    return number < engine->profiles_len ? &engine->profiles[number] : NULL;
}

/* ---- a step ---- */
static void decide(struct engine *engine, struct cycle *cycle, enum probe_sample sample, struct choice *ret)
{
    /* Plugins log verdicts and scores where they are called for each node. */
    bool plain = engine->slowest == PATH_PLAIN || extenders_decide(cycle->profile, cycle->pod) ||
                 sample == SAMPLE_PLAIN || log_shows(VERDICTS_SHOWN) || cycle->info->resize_deferred;
    int64_t begun_ns = probe_now(engine->probe), ended_ns;
    if (engine->ranking)
        engine->ranking->len = 0;
    cycle->probe = NULL; /* account_fast() reports for a fast path */
    plain = plain || !decide_fast(engine, cycle, ret);
    cycle->probe = engine->probe;
    if (!plain) {
        ended_ns = account_fast(cycle, ret, begun_ns);
    } else {
        cycle_reset(cycle);
        decide_plain(engine, cycle, ret);
        ended_ns = probe_now(engine->probe);
    }
    slow_decision_log(cycle, ret, begun_ns, ended_ns);
    if (sample == SAMPLE_PLAIN)
        engine->probe->plain(engine->probe->context, ended_ns - begun_ns);
    engine->stats.decisions[ret->path]++;
}

/* No node is feasible: may other pods leave? The message is that of the pod's condition, in all cases. */
static void handle_no_fit(struct engine *engine, struct cycle *cycle, struct choice *choice,
                          struct decision *ret)
{
    struct diagnosis *diagnosis = choice->diagnosis;
    struct post_filter_result result = { .nominated_row = ROW_NONE, .clear_nomination = true };
    if (cycle->profile->points[POINT_POST_FILTER].len) {
        if (choice->path != PATH_PLAIN)
            run_pre_filter_again(cycle);
        result.clear_nomination = false;
        if (choice->source)
            cycle->useless = class_memo(engine, choice->source, cycle, &choice->source->useless);
        struct status status = run_post_filter(cycle, diagnosis, &result);
        diagnosis->post_filter_message = status_message(status, cycle->arena);
        ret->preemption_tried = preempt_was_tried(cycle->profile, status);
        if (!status_ok(status) && !status_rejected(status))
            ret->post_filter_error = diagnosis->post_filter_message;
    }
    ret->message = diagnosis_message(diagnosis, engine->cluster->live_nodes);
    ret->unschedulable_plugins = diagnosis->unschedulable_plugins;
    ret->pending_plugins = diagnosis->pending_plugins;
    ret->nomination = result.clear_nomination ? NOMINATION_CLEAR : NOMINATION_KEEP;
    if (result.nominated_row == ROW_NONE)
        return;
    ret->nomination = NOMINATION_SET;
    ret->nominated_row = result.nominated_row;
    ret->victims = result.victims;
    ret->victims_len = result.victims_len;
    ret->victims_named = result.victims_named;
    ret->retry = true;
}

/* The resize has room: the kubelet carries it out, and there is nothing to bind. The reference fails here, and tries
 * the pod again after its backoff until the kubelet has. So a pod that loses its room meanwhile is noticed. */
static void leave_to_kubelet(const struct cycle *cycle, struct decision *ret)
{
    const struct meta *meta = &cycle->pod->meta;
    ret->message = arena_printf(
        cycle->arena, "pod " STR_FMT "(" STR_FMT "/" STR_FMT ") is in the cache, so can't be assumed",
        STR_ARG(meta->uid), STR_ARG(meta->namespace), STR_ARG(meta->name));
    ret->is_error = ret->resize_fits = true;
}

static void attempt(struct engine *engine, struct cycle *cycle, struct queued_pod *entry, int64_t now_ns,
                    struct decision *ret)
{
    struct choice choice = { .row = ROW_NONE };
    enum probe_sample sample = probe_sample(engine->probe);
    cycle->is_sampled = sample != SAMPLE_NONE;
    ret->nomination = NOMINATION_CLEAR;
    if (!engine->cluster->live_nodes) {
        ret->message = STR("no nodes available to schedule pods");
        return;
    }
    decide(engine, cycle, sample, &choice);
    ret->path = choice.path;
    ret->examined = choice.examined;
    ret->feasible = choice.feasible;
    ret->total = choice.total;
    ret->ties = choice.ties;
    ret->ranking = engine->ranking && engine->ranking->len ? engine->ranking : NULL;
    if (!status_ok(choice.error)) {
        ret->message = status_message(choice.error, cycle->arena);
        ret->failed_by = attempt_failed_by(cycle, choice.error);
        ret->is_error = true;
    } else if (choice.refusal) {
        refusal_repeat(choice.refusal, cycle, ret);
        return;
    } else if (choice.row == ROW_NONE) {
        handle_no_fit(engine, cycle, &choice, ret);
    } else if (cycle->pod->spec.node_name.len) {
        leave_to_kubelet(cycle, ret);
    } else {
        binding_begin(engine, cycle, entry, choice.row, now_ns, ret);
    }
    if (choice.diagnosis && choice.row != ROW_NONE) /* its arena may be the binding's now */
        diagnosis_release(choice.diagnosis);
    else
        engine->diagnosis = choice.diagnosis;
    ret->diagnosis = status_ok(choice.error) ? engine->diagnosis : NULL;
    if (choice.source && ret->diagnosis)
        refusal_keep(choice.source, cycle, ret, ++engine->refusals);
}

static bool preempts_asynchronously(const struct engine *engine)
{
    return engine->cluster->features.enabled[FEATURE_SchedulerAsyncPreemption];
}

/* The event and the condition of the pod say why it has no node; it may have a nomination. */
static void tell_failure(struct engine *engine, const struct decision *decision, int64_t now_ns)
{
    struct str node = STR("");
    if (decision->nomination == NOMINATION_SET) {
        cluster_nominate(engine->cluster, decision->pod, decision->nominated_row);
        node = cluster_node_name(engine->cluster, decision->nominated_row);
    } else if (decision->nomination == NOMINATION_CLEAR) {
        cluster_denominate(engine->cluster, decision->pod);
    }
    report_failure(engine, decision->profile, decision->pod->api, decision->message, decision->is_error,
                   decision->nomination, node, now_ns);
}

/* The pod has no node: it waits again. */
static void put_back(struct engine *engine, struct queued_pod *entry, const struct decision *decision,
                     int64_t now_ns)
{
    bool evicts = preempts_asynchronously(engine) && decision->victims_len;
    if (evicts && eviction_needed(decision))
        queue_hold(entry);
    if (decision->profile == &engine->profiles[entry->profile])
        queue_requeue(&engine->queue, entry, decision->unschedulable_plugins, decision->pending_plugins,
                      now_ns);
    else
        generations_requeue(engine, entry, decision->profile, decision->unschedulable_plugins, now_ns);
    if (!decision->pod->resize_deferred) /* else it has its node */
        tell_failure(engine, decision, now_ns);
    if (evicts && engine->host.emit)
        eviction_begin(engine, decision->profile, decision, now_ns);
}

static void close_decision(struct engine *engine, struct queued_pod *entry, const struct decision *decision,
                           uint32_t promised, int64_t now_ns)
{
    if (decision->row == ROW_NONE)
        put_back(engine, entry, decision, now_ns);
    if (promised != ROW_NONE && promised != decision->pod->nominated_row && promised != decision->row)
        engine_nomination_over(engine, decision->pod, now_ns);
}

/* Victims are deleted before the decision is known: one that cannot be deleted changes it. */
static void open_decision(struct engine *engine, struct queued_pod *entry, const struct decision *decision,
                          uint32_t promised, int64_t now_ns)
{
    engine->open = (struct open_decision){
        .entry = entry, .decision = *decision, .promised = promised, .nodes = engine->cluster->live_nodes
    };
    pod_info_ref(decision->pod);
    cluster_hold_row(engine->cluster, decision->nominated_row);
    eviction_begin(engine, decision->profile, decision, now_ns);
}

/* As if PostFilter had failed: its text takes the place of what it found. */
static void fail_preemption(struct engine *engine, struct open_decision *open, struct str error)
{
    open->decision.nomination = NOMINATION_KEEP;
    open->decision.nominated_row = ROW_NONE;
    open->decision.retry = false;
    if (!engine->diagnosis)
        return;
    engine->diagnosis->post_filter_message =
        arena_printf(&engine->arena, "preemption: " STR_FMT, STR_ARG(error));
    open->decision.message = diagnosis_message(engine->diagnosis, open->nodes);
}

void engine_victims_settled(struct engine *engine, struct str error, int64_t now_ns)
{
    struct open_decision open = engine->open;
    struct pod_info *decided = open.decision.pod;
    uint32_t row = open.decision.nominated_row;
    engine->open.entry = NULL;
    open.decision.pod = open.entry->pod; /* its newest version */
    open.decision.victims_len = 0;
    if (!open.entry->pod) {
        queue_done(&engine->queue, open.entry);
    } else {
        if (error.len) {
            fail_preemption(engine, &open, error);
            eviction_retry(engine, open.entry);
        } else {
            eviction_clear_lower(engine, &open.decision, now_ns);
        }
        close_decision(engine, open.entry, &open.decision, open.promised, now_ns);
    }
    cluster_unhold_row(engine->cluster, row);
    pod_info_unref(engine->cluster, decided);
}

static void skip_deleted(struct engine *engine, struct queued_pod *entry, struct decision *ret)
{
    const struct meta *meta = &ret->pod->api->meta;
    ret->is_deleted = true;
    ret->message = arena_printf(&engine->arena, "skip schedule deleting pod: " STR_FMT "/" STR_FMT,
                                STR_ARG(meta->namespace), STR_ARG(meta->name));
    report_skipped(engine, &engine->profiles[entry->profile], ret->pod->api, ret->message);
    queue_done(&engine->queue, entry);
}

void engine_set_wall_clock(struct engine *engine, int64_t ahead_ns)
{
    engine->statuses.wall_ahead_ns = ahead_ns;
}

/* A pod that has its node, and waits for a resize, says nothing about placing pods. */
static void observe(const struct engine *engine, enum observed kind, const struct decision *decision,
                    int64_t first_ns, int64_t now_ns)
{
    if (decision->profile->has_observers && !decision->pod->resize_deferred)
        profile_observe(decision->profile,
                        &(struct observation){ .kind = kind,
                                               .cluster = engine->cluster,
                                               .pod = decision->pod,
                                               .at_ns = now_ns + engine->statuses.wall_ahead_ns,
                                               .waited_ns = MAX(now_ns - first_ns, 0) });
}

bool engine_step(struct engine *engine, int64_t now_ns, struct decision *ret)
{
    engine_tick(engine, now_ns);
    uint32_t waiting = engine->bindings_at[BINDING_ANNOUNCE] + engine->bindings_at[BINDING_BIND];
    if (engine->open.entry || waiting >= engine->host.bindings_max)
        return false;
    policy_change_settle(engine, now_ns);
    struct queued_pod *entry = queue_pop(&engine->queue);
    if (!entry)
        return false;
    forget_cycle(engine);
    *ret = (struct decision){ .pod = entry->pod,
                              .profile = &engine->profiles[entry->profile],
                              .row = ROW_NONE,
                              .nominated_row = ROW_NONE,
                              .attempt = entry->attempts,
                              .woken_by = entry->woken_by };
    if (entry->pod->terminating) {
        skip_deleted(engine, entry, ret);
        return true;
    }
    uint32_t promised = entry->pod->nominated_row;
    int64_t first_ns = entry->first_attempt_ns; /* the entry may be gone after the attempt */
    struct cycle cycle;
    observe(engine, OBSERVED_ATTEMPT_BEGINS, ret, first_ns, now_ns);
    cluster_settle_resources(engine->cluster); /* a plugin may have named a new one during the last attempt */
    if (engine->host.deciding)
        engine->host.deciding(engine->host.context, ret->profile, entry->pod, now_ns);
    cycle_init(&cycle, &engine->profiles[entry->profile], engine->cluster, entry->pod, &engine->arena);
    cycle.now_ns = now_ns;
    cycle.wall_ahead_ns = engine->statuses.wall_ahead_ns;
    cycle.writer = engine->host.emit ? &engine->unanswered : NULL;
    run_weigh(&cycle);
    attempt(engine, &cycle, entry, now_ns, ret);
    observe(engine, ret->row == ROW_NONE ? OBSERVED_ATTEMPT_FAILED : OBSERVED_ATTEMPT_PLACED, ret, first_ns,
            now_ns);
    if (ret->row == ROW_NONE && cycle.retry_ns)
        alarms_set(&engine->alarms, ret->pod->api, MAX(cycle.retry_ns, now_ns + 1));
    cycle_release(&cycle);
    eviction_postpone(engine, entry, ret, now_ns);
    if (ret->victims_len && engine->host.emit && !preempts_asynchronously(engine))
        open_decision(engine, entry, ret, promised, now_ns);
    else
        close_decision(engine, entry, ret, promised, now_ns);
    return true;
}

/* ---- views ---- */
int64_t engine_next_due(const struct engine *engine)
{
    if (plugin_messages_wait(engine))
        return 0;
    int64_t due = MIN(queue_next_due(&engine->queue), writes_next_due(&engine->writes));
    due = MIN(due, pod_statuses_next_due(&engine->statuses));
    due = MIN(due, evictions_next_due(engine));
    due = MIN(due, alarms_next_due(&engine->alarms));
    due = MIN(due, plugin_ticks_next_due(engine));
    return MIN(due, bindings_next_due(engine));
}

size_t engine_bindings(const struct engine *engine)
{
    return engine->bindings.len;
}
