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
#include "engine/report.h"
#include "framework/extender.h"
#include "framework/probe.h"
#include "preempt/preempt.h"

const char *const decision_path_names[PATH_COUNT] = {
#define X(name, text) [PATH_##name] = text,
    DECISION_PATHS(X)
#undef X
};

static_assert((int)ENGINE_BINDING_STAGES == (int)BINDING_STAGE_COUNT, "a counter per stage");

enum { BINDINGS_MAX_DEFAULT = 1024 };

static void init_queue(struct engine *engine, const struct engine_options *options)
{
    struct queue_options queue = generation_queue(engine, options->config);
    queue.unschedulable_max_ns = options->unschedulable_max_ns;
    queue.now_ns = options->now_ns;
    queue_init(&engine->queue, &queue);
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

int engine_init(struct engine *engine, struct cluster *cluster, const struct engine_options *options,
                struct error *err)
{
    *engine = (struct engine){
        .cluster = cluster,
        .percentage_override = options->percentage,
        .tables_bytes_max = options->tables_bytes_max,
        .slowest = options->slowest,
        .host = options->host,
    };
    if (!engine->host.bindings_max)
        engine->host.bindings_max = BINDINGS_MAX_DEFAULT;
    engine->unanswered.write = write_unanswered;
    writes_init(&engine->writes, engine->host.emit, engine->host.context, options->seed);
    engine->writes.last_ticket = options->last_ticket;
    engine->statuses = (struct pod_statuses){
        .writes = &engine->writes, .known = known_pod, .idle = bindings_idle, .context = engine
    };
    rng_seed(&engine->rng, options->seed);
    struct generation first;
    const struct engine_setup setup = { options->config, options->registry, options->extenders,
                                        options->owner };
    int r = generation_make(engine, &setup, &first, err);
    if (r < 0)
        return r;
    generation_use(engine, &first, options->config);
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
    pod_statuses_release(&engine->statuses);
    writes_release(&engine->writes);
    class_cache_free(engine->classes);
    generations_release(engine);
    queue_release(&engine->queue);
    forget_cycle(engine);
    arena_release(&engine->arena);
    free(engine->ranking);
}

uint32_t engine_profile_number(const struct engine *engine, const struct pod *pod)
{
    return profile_number(engine->profiles, engine->profiles_len, pod->spec.scheduler_name);
}

const struct profile *engine_profile(const struct engine *engine, const struct pod *pod)
{
    uint32_t number = engine_profile_number(engine, pod);
    return number < engine->profiles_len ? &engine->profiles[number] : NULL;
}

/* ---- a step ---- */
static void decide(struct engine *engine, struct cycle *cycle, struct choice *ret)
{
    bool plain = engine->slowest == PATH_PLAIN || extenders_decide(cycle->profile, cycle->pod);
    int64_t begun_ns = probe_now(engine->probe);
    if (engine->ranking)
        engine->ranking->len = 0;
    cycle->probe = NULL; /* account_fast() reports for a fast path */
    plain = plain || !decide_fast(engine, cycle, ret);
    cycle->probe = engine->probe;
    if (!plain) {
        account_fast(cycle, ret, begun_ns);
    } else {
        cycle_reset(cycle);
        decide_plain(engine, cycle, ret);
    }
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
    ret->retry = true;
}

static void attempt(struct engine *engine, struct cycle *cycle, struct queued_pod *entry, int64_t now_ns,
                    struct decision *ret)
{
    struct choice choice = { .row = ROW_NONE };
    ret->nomination = NOMINATION_CLEAR;
    if (!engine->cluster->live_nodes) {
        ret->message = STR("no nodes available to schedule pods");
        return;
    }
    decide(engine, cycle, &choice);
    ret->path = choice.path;
    ret->examined = choice.examined;
    ret->feasible = choice.feasible;
    ret->total = choice.total;
    ret->ties = choice.ties;
    ret->ranking = engine->ranking && engine->ranking->len ? engine->ranking : NULL;
    if (!status_ok(choice.error)) {
        ret->message = status_message(choice.error, cycle->arena);
        ret->is_error = true;
    } else if (choice.row == ROW_NONE) {
        handle_no_fit(engine, cycle, &choice, ret);
    } else {
        binding_begin(engine, cycle, entry, choice.row, now_ns, ret);
    }
    if (choice.diagnosis && choice.row != ROW_NONE) /* its arena may be the binding's now */
        diagnosis_release(choice.diagnosis);
    else
        engine->diagnosis = choice.diagnosis;
    ret->diagnosis = status_ok(choice.error) ? engine->diagnosis : NULL;
}

static bool must_evict(const struct decision *decision)
{
    for (uint32_t i = 0; i < decision->victims_len; i++)
        if (!decision->victims[i]->terminating)
            return true;
    return false;
}

/* The pod has no node: it waits again, and its event and condition say why. */
static void put_back(struct engine *engine, struct queued_pod *entry, const struct decision *decision,
                     int64_t now_ns)
{
    const struct profile *profile = &engine->profiles[entry->profile];
    struct str node = STR("");
    if (must_evict(decision))
        queue_hold(entry);
    queue_requeue(&engine->queue, entry, decision->unschedulable_plugins, decision->pending_plugins, now_ns);
    if (decision->nomination == NOMINATION_SET) {
        cluster_nominate(engine->cluster, decision->pod, decision->nominated_row);
        node = cluster_node_name(engine->cluster, decision->nominated_row);
    } else if (decision->nomination == NOMINATION_CLEAR) {
        cluster_denominate(engine->cluster, decision->pod);
    }
    report_failure(engine, profile, decision->pod->api, decision->message, decision->is_error,
                   decision->nomination, node, now_ns);
    if (engine->host.emit && decision->victims_len)
        eviction_begin(engine, profile, decision, now_ns);
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

bool engine_step(struct engine *engine, int64_t now_ns, struct decision *ret)
{
    engine_tick(engine, now_ns);
    if (engine->bindings_at[BINDING_BIND] >= engine->host.bindings_max)
        return false;
    struct queued_pod *entry = queue_pop(&engine->queue);
    if (!entry)
        return false;
    forget_cycle(engine);
    *ret = (struct decision){ .pod = entry->pod,
                              .profile = &engine->profiles[entry->profile],
                              .row = ROW_NONE,
                              .nominated_row = ROW_NONE };
    if (entry->pod->terminating) {
        skip_deleted(engine, entry, ret);
        return true;
    }
    struct cycle cycle;
    cycle_init(&cycle, &engine->profiles[entry->profile], engine->cluster, entry->pod, &engine->arena);
    cycle.now_ns = now_ns;
    cycle.writer = engine->host.emit ? &engine->unanswered : NULL;
    cycle.is_sampled = engine->probe && engine->probe->sample(engine->probe->context);
    attempt(engine, &cycle, entry, now_ns, ret);
    cycle_release(&cycle);
    if (ret->row == ROW_NONE)
        put_back(engine, entry, ret, now_ns);
    return true;
}

/* ---- views ---- */
int64_t engine_next_due(const struct engine *engine)
{
    if (plugin_messages_wait(engine))
        return 0;
    int64_t due = MIN(queue_next_due(&engine->queue), writes_next_due(&engine->writes));
    return MIN(due, bindings_next_due(engine));
}

size_t engine_bindings(const struct engine *engine)
{
    return engine->bindings.len;
}
