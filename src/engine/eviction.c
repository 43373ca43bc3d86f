/* eviction.c: one record per preemptor, until all its victims are settled: deleted, gone, or sent back to the queue. */
#include "engine/eviction.h"

#include <stdlib.h>

#include "base/log.h"
#include "engine/report.h"
#include "framework/probe.h"

#define PREEMPTING_PLUGIN "DefaultPreemption"

/* Texts live in the eviction's arena. */
struct victim {
    struct eviction *eviction;
    struct event_subject subject;
    struct wanted_condition condition;
    bool needs_condition;
    struct write *write; /* under way */
    bool deleting;       /* that is what the write does */
    bool gone;           /* and it was gone before the answer came */
};

struct eviction {
    struct engine *engine;
    const struct profile *profile;
    struct arena arena;
    struct event_subject preemptor;
    struct str node;
    struct victim *victims;
    uint32_t len, open; /* not settled yet, without the last one until its turn comes */
    bool failed;
    bool last_turn;
    int64_t begun_ns; /* by the probe's clock */
};

static struct pod_info *find_pod(const struct engine *engine, const struct event_subject *subject)
{
    struct pod_info *pod = cluster_find_pod(engine->cluster, subject->namespace, subject->name);
    return pod && str_eq(pod->api->meta.uid, subject->uid) ? pod : NULL;
}

static struct log_value subject_ref(const char *key, const struct event_subject *subject)
{
    return log_ref(key, subject->namespace, subject->name);
}

static void log_victim(const struct victim *victim, const char *what)
{
    const struct eviction *eviction = victim->eviction;
    log_info(2, what, subject_ref("preemptor", &eviction->preemptor), subject_ref("victim", &victim->subject),
             log_str("node", eviction->node));
}

static void eviction_free(struct eviction *eviction)
{
    arena_release(&eviction->arena);
    free(eviction);
}

static void finish(struct eviction *eviction, int64_t now_ns)
{
    struct engine *engine = eviction->engine;
    for (size_t i = 0; i < engine->evictions.len; i++)
        if (engine->evictions.items[i] == eviction) {
            vec_swap_remove(&engine->evictions, i);
            break;
        }
    if (engine->probe)
        engine->probe->preemption(engine->probe->context, eviction->failed,
                                  probe_now(engine->probe) - eviction->begun_ns);
    log_info(2, "Async Preemption finished completely", subject_ref("preemptor", &eviction->preemptor),
             log_str("node", eviction->node),
             log_str("result", eviction->failed ? STR("error") : STR("success")));
    struct pod_info *pod = find_pod(engine, &eviction->preemptor);
    if (pod)
        engine_preemption_done(engine, pod, eviction->failed, now_ns);
    eviction_free(eviction);
}

static void evict(struct victim *victim, int64_t now_ns);

/* One was deleted, is gone, or cannot be deleted. The eviction may be over when this returns. */
static void settled(struct victim *victim, bool failed, int64_t now_ns)
{
    struct eviction *eviction = victim->eviction;
    eviction->failed |= failed;
    if (--eviction->open)
        return;
    if (eviction->last_turn || eviction->failed) {
        finish(eviction, now_ns);
        return;
    }
    struct victim *last = &eviction->victims[eviction->len - 1];
    struct pod_info *preemptor = find_pod(eviction->engine, &eviction->preemptor);
    struct pod_info *pod = find_pod(eviction->engine, &last->subject);
    eviction->last_turn = true;
    eviction->open = 1;
    if (preemptor && pod)
        queue_hold_last(&eviction->engine->queue, preemptor, pod);
    if (preemptor && pod)
        evict(last, now_ns);
    else /* the preemptor is gone, or the victim is */
        settled(last, false, now_ns);
}

static void deleted(void *context, const struct write *write, const struct answer *answer, int64_t now_ns)
{
    struct victim *victim = context;
    struct eviction *eviction = victim->eviction;
    (void)write;
    victim->write = NULL;
    if (answer->kind == ANSWER_DONE) {
        log_victim(victim, "Preemptor Pod preempted victim Pod");
        report_preempted(eviction->engine, eviction->profile, &victim->subject, &eviction->preemptor,
                         eviction->node, false);
    } else if (answer->kind == ANSWER_GONE) {
        log_victim(victim, "Victim Pod is already deleted");
    }
    settled(victim, answer->kind != ANSWER_DONE && answer->kind != ANSWER_GONE && !victim->gone, now_ns);
}

static struct effect effect_on(const struct victim *victim, enum effect_kind kind)
{
    return (struct effect){ .kind = kind,
                            .namespace = victim->subject.namespace,
                            .name = victim->subject.name,
                            .uid = victim->subject.uid };
}

static void delete(struct victim *victim, int64_t now_ns)
{
    struct effect effect = effect_on(victim, EFFECT_DELETE_POD);
    victim->deleting = true;
    victim->write = writes_send(&victim->eviction->engine->writes, &effect, deleted, victim, now_ns);
}

static void marked(void *context, const struct write *write, const struct answer *answer, int64_t now_ns)
{
    struct victim *victim = context;
    (void)write;
    victim->write = NULL;
    if (answer->kind == ANSWER_DONE)
        delete (victim, now_ns);
    else
        settled(victim, answer->kind != ANSWER_GONE, now_ns);
}

/* The victim is still being bound here: then it goes back to the queue. */
static bool turn_back(struct victim *victim, int64_t now_ns)
{
    struct eviction *eviction = victim->eviction;
    struct pod_info *pod = find_pod(eviction->engine, &victim->subject);
    struct pod_binding *binding = pod ? binding_find(eviction->engine, pod->api) : NULL;
    const struct binding_event preempted = { BINDING_ON_PREEMPTED, now_ns, PREEMPTING_PLUGIN };
    if (!binding || !binding_event(binding, &preempted))
        return false;
    report_preempted(eviction->engine, eviction->profile, &victim->subject, &eviction->preemptor,
                     eviction->node, true);
    return true;
}

static void evict(struct victim *victim, int64_t now_ns)
{
    if (turn_back(victim, now_ns)) {
        settled(victim, false, now_ns);
    } else if (victim->needs_condition) {
        struct effect effect = effect_on(victim, EFFECT_POD_STATUS);
        effect.condition = &victim->condition;
        victim->write = writes_send(&victim->eviction->engine->writes, &effect, marked, victim, now_ns);
    } else {
        delete (victim, now_ns);
    }
}

static void clear_lower_nominations(struct engine *engine, const struct decision *decision, int64_t now_ns)
{
    vec_for(&cluster_node(engine->cluster, decision->nominated_row)->nominated, pod)
        if ((*pod)->priority < decision->pod->priority && (*pod)->api->status.nominated_node_name.len)
            pod_status_set(&engine->statuses, (*pod)->api,
                           &(struct status_change){ .nomination = NOMINATION_CLEAR }, now_ns);
}

static void victim_init(struct victim *victim, struct eviction *eviction, const struct pod *pod,
                        int64_t now_ns)
{
    struct status_change change = {
        .type = STR("DisruptionTarget"),
        .status = STR("True"),
        .reason = STR("PreemptionByScheduler"),
        .message = arena_printf(&eviction->arena, STR_FMT ": preempting to accommodate a higher priority pod",
                                STR_ARG(eviction->profile->scheduler_name)),
    };
    *victim =
        (struct victim){ .eviction = eviction,
                         .subject = event_subject_copy(&eviction->arena, event_subject_of(&pod->meta)) };
    victim->needs_condition = condition_wanted(pod, &change, now_ns, &victim->condition);
}

void eviction_begin(struct engine *engine, const struct profile *profile, const struct decision *decision,
                    int64_t now_ns)
{
    struct eviction *eviction = xcalloc(1, sizeof(*eviction));
    eviction->engine = engine;
    eviction->profile = profile;
    eviction->begun_ns = probe_now(engine->probe);
    eviction->preemptor = event_subject_copy(&eviction->arena, event_subject_of(&decision->pod->api->meta));
    eviction->node = arena_str(&eviction->arena, cluster_node_name(engine->cluster, decision->nominated_row));
    eviction->victims = arena_array(&eviction->arena, struct victim, decision->victims_len);
    for (uint32_t i = 0; i < decision->victims_len; i++)
        if (!decision->victims[i]->terminating)
            victim_init(&eviction->victims[eviction->len++], eviction, decision->victims[i]->api, now_ns);
    if (!eviction->len) {
        eviction_free(eviction);
        return;
    }
    *vec_push(&engine->evictions) = eviction;
    log_info(2, "Start the preemption asynchronously", subject_ref("preemptor", &eviction->preemptor),
             log_str("node", eviction->node), log_int("numVictims", decision->victims_len),
             log_int("numVictimsToDelete", eviction->len));
    clear_lower_nominations(engine, decision, now_ns);
    eviction->last_turn = eviction->len == 1;
    eviction->open = eviction->last_turn ? 1 : eviction->len - 1;
    if (eviction->last_turn)
        queue_hold_last(&engine->queue, decision->pod, find_pod(engine, &eviction->victims[0].subject));
    for (uint32_t i = 0, len = eviction->open; i < len; i++)
        evict(&eviction->victims[i], now_ns);
}

void evictions_pod_gone(struct engine *engine, const struct pod *pod, int64_t now_ns)
{
    for (size_t i = engine->evictions.len; i-- > 0;) {
        struct eviction *eviction = engine->evictions.items[i];
        for (uint32_t v = 0; v < eviction->len; v++) {
            struct victim *victim = &eviction->victims[v];
            if (!victim->write || !str_eq(victim->subject.uid, pod->meta.uid))
                continue;
            if (victim->deleting && victim->write->in_flight) {
                /* The answer says whether it was this request: only then there is an event. */
                victim->gone = victim->write->is_last = true;
                break;
            }
            writes_cancel(&engine->writes, victim->write);
            victim->write = NULL;
            settled(victim, false, now_ns);
            break; /* the eviction may be over */
        }
    }
}

const struct profile *eviction_profile(const struct eviction *eviction)
{
    return eviction->profile;
}

void evictions_release(struct engine *engine)
{
    vec_for(&engine->evictions, eviction)
        eviction_free(*eviction);
    vec_release(&engine->evictions);
}
