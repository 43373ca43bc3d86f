/* eviction.c: one record per preemptor, until all its victims are settled: deleted, gone, or sent back to the queue.
 * A victim has a state while a write about it is under way; a table says what the answer means in each. */
#include "engine/eviction.h"

#include <stdlib.h>

#include "base/log.h"
#include "engine/generations.h"
#include "engine/report.h"
#include "framework/probe.h"

#define PREEMPTING_PLUGIN "DefaultPreemption"
#define PAUSE_NS NS_PER_SECOND /* without evictions, after one that failed */

enum victim_state {
    VICTIM_WAITING,  /* its turn has not come, or it is settled */
    VICTIM_SHARED,   /* another eviction deletes it */
    VICTIM_MARKING,  /* its condition is being written */
    VICTIM_DELETING, /* its deletion is under way */
    VICTIM_GONE,     /* likewise, and the pod went before the answer came */
    VICTIM_STATES
};

/* Texts live in the eviction's arena. */
struct victim {
    struct eviction *eviction;
    struct event_subject subject;
    struct wanted_condition condition;
    bool needs_condition;
    enum victim_state state;
    struct write *write; /* in the states from VICTIM_MARKING on */
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
    bool is_awaited; /* the decision waits for it: engine->open */
    struct str why;  /* an awaited one: it failed */
    bool last_turn;
    bool activates;   /* the last one went back to the queue, and no event will report that */
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
    size_t at = 0;
    while (engine->evictions.items[at] != eviction)
        at++;
    vec_swap_remove(&engine->evictions, at);
    if (eviction->failed)
        engine->evictions_from_ns = now_ns + PAUSE_NS;
    if (eviction->is_awaited) {
        engine_victims_settled(engine, eviction->why, now_ns);
        eviction_free(eviction);
        return;
    }
    if (engine->probe)
        engine->probe->preemption(engine->probe->context, eviction->failed,
                                  probe_now(engine->probe) - eviction->begun_ns);
    log_info(2, "Async Preemption finished completely", subject_ref("preemptor", &eviction->preemptor),
             log_str("node", eviction->node),
             log_str("result", eviction->failed ? STR("error") : STR("success")));
    struct pod_info *pod = find_pod(engine, &eviction->preemptor);
    if (pod)
        engine_preemption_done(engine, pod, eviction->failed || eviction->activates, now_ns);
    eviction_free(eviction);
}

static void evict(struct victim *victim, int64_t now_ns);

static bool same_pod(const struct event_subject *a, const struct event_subject *b)
{
    return str_eq(a->uid, b->uid) && str_eq(a->namespace, b->namespace) && str_eq(a->name, b->name);
}

/* The pod as a victim in a state from `first` to `last`, of any eviction; NULL: it is none. */
static struct victim *find_victim(const struct engine *engine, const struct event_subject *pod,
                                  enum victim_state first, enum victim_state last)
{
    vec_for(&engine->evictions, eviction)
        for (uint32_t i = 0; i < (*eviction)->len; i++) {
            struct victim *victim = &(*eviction)->victims[i];
            if (victim->state >= first && victim->state <= last && same_pod(&victim->subject, pod))
                return victim;
        }
    return NULL;
}

/* The victim was deleted, is gone, or cannot be deleted. The eviction may be over when this returns. */
static void settle(struct victim *victim, bool failed, int64_t now_ns)
{
    struct eviction *eviction = victim->eviction;
    victim->state = VICTIM_WAITING;
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
    if (!preemptor || !pod) {
        settle(last, false, now_ns);
        return;
    }
    queue_hold_last(&eviction->engine->queue, preemptor, pod);
    evict(last, now_ns);
}

/* ---- what happens to a victim ---- */
static void answered(void *context, const struct write *write, const struct answer *answer, int64_t now_ns);

static void send(struct victim *victim, enum victim_state state, int64_t now_ns)
{
    const struct effect effect = { .kind = state == VICTIM_MARKING ? EFFECT_POD_STATUS : EFFECT_DELETE_POD,
                                   .namespace = victim->subject.namespace,
                                   .name = victim->subject.name,
                                   .uid = victim->subject.uid,
                                   .condition = state == VICTIM_MARKING ? &victim->condition : NULL };
    struct pod_info *pod = find_pod(victim->eviction->engine, &victim->subject);
    if (pod)
        pod->eviction = EVICTION_UNDER_WAY;
    victim->state = state;
    victim->write = writes_send(&victim->eviction->engine->writes, &effect, answered, victim, now_ns);
}

static void report(const struct victim *victim, bool in_memory)
{
    const struct eviction *eviction = victim->eviction;
    report_preempted(eviction->engine, eviction->profile, &victim->subject, &eviction->preemptor,
                     eviction->node, in_memory);
}

/* What an answer means in each state. Without `deletes` the victim is settled. */
#define PREEMPTED { .log = "Preemptor Pod preempted victim Pod", .reports = true }
#define ABSENT { .log = "Victim Pod is already deleted" }
enum victim_answer { ANSWERED_DONE, ANSWERED_GONE, ANSWERED_OTHER, VICTIM_ANSWERS };
static const struct reaction {
    const char *log;
    bool reports, deletes, fails;
} reactions[VICTIM_STATES][VICTIM_ANSWERS] = {
    [VICTIM_MARKING] = { { .deletes = true }, { 0 }, { .fails = true } },
    [VICTIM_DELETING] = { PREEMPTED, ABSENT, { .fails = true } },
    [VICTIM_GONE] = { PREEMPTED, ABSENT, { 0 } },
};

/* The writes about the victim have ended: so it is settled for all evictions that share it. */
static void end_writes(struct victim *victim, bool failed, int64_t now_ns)
{
    struct engine *engine = victim->eviction->engine;
    _cleanup_(arena_release) struct arena arena = { 0 }; /* the eviction may be over before the others are */
    const struct event_subject subject = event_subject_copy(&arena, victim->subject);
    struct pod_info *pod = find_pod(engine, &subject);
    if (pod)
        pod->eviction = failed ? EVICTION_NONE : EVICTION_DONE;
    victim->write = NULL;
    for (; victim; victim = find_victim(engine, &subject, VICTIM_SHARED, VICTIM_SHARED))
        settle(victim, failed, now_ns);
}

static void answered(void *context, const struct write *write, const struct answer *answer, int64_t now_ns)
{
    struct victim *victim = context;
    enum victim_answer kind = answer->kind == ANSWER_DONE   ? ANSWERED_DONE
                              : answer->kind == ANSWER_GONE ? ANSWERED_GONE
                                                            : ANSWERED_OTHER;
    const struct reaction *reaction = &reactions[victim->state][kind];
    (void)write;
    if (reaction->log)
        log_victim(victim, reaction->log);
    if (reaction->reports)
        report(victim, false);
    struct eviction *eviction = victim->eviction;
    if (reaction->fails && eviction->is_awaited && !eviction->why.len)
        eviction->why = answer->message.len ? arena_str(&eviction->arena, answer->message)
                                            : STR("the deletion of a victim failed");
    bool ends = reaction->deletes && eviction->why.len; /* the first error ends the others, which stay */
    if (reaction->deletes && !ends)
        send(victim, VICTIM_DELETING, now_ns);
    else
        end_writes(victim, reaction->fails || ends, now_ns);
}

/* The pod is not there any more. If its deletion is in flight, the answer says whether it left because of that: only
 * then there is an event. */
static void leave(struct victim *victim, int64_t now_ns)
{
    if (victim->state != VICTIM_MARKING && victim->write->in_flight) {
        victim->state = VICTIM_GONE;
        victim->write->is_last = true;
        return;
    }
    writes_cancel(&victim->eviction->engine->writes, victim->write);
    end_writes(victim, false, now_ns);
}

/* The victim is still being bound here: then it goes back to the queue. */
static bool turn_back(struct victim *victim, int64_t now_ns)
{
    struct engine *engine = victim->eviction->engine;
    struct pod_info *pod = find_pod(engine, &victim->subject);
    struct pod_binding *binding = pod ? binding_find(engine, pod->api) : NULL;
    const struct binding_event preempted = { BINDING_ON_PREEMPTED, now_ns, PREEMPTING_PLUGIN };
    if (!binding || !binding_event(binding, &preempted))
        return false;
    report(victim, true);
    return true;
}

static void evict(struct victim *victim, int64_t now_ns)
{
    struct eviction *eviction = victim->eviction;
    struct engine *engine = eviction->engine;
    const struct pod_info *pod = find_pod(engine, &victim->subject);
    bool is_leaving = pod && pod->eviction == EVICTION_DONE;
    bool turned_back = !is_leaving && turn_back(victim, now_ns);
    eviction->activates =
        eviction->last_turn && turned_back && engine->cluster->features.release->unbound_victims_activate;
    if (is_leaving || turned_back)
        settle(victim, false, now_ns);
    else if (find_victim(engine, &victim->subject, VICTIM_MARKING, VICTIM_GONE))
        victim->state = VICTIM_SHARED;
    else
        send(victim, victim->needs_condition ? VICTIM_MARKING : VICTIM_DELETING, now_ns);
}

/* ---- all of them ---- */
static bool must_leave(const struct pod_info *victim)
{
    return !victim->terminating && victim->eviction != EVICTION_DONE;
}

bool eviction_needed(const struct decision *decision)
{
    for (uint32_t i = 0; i < decision->victims_len; i++)
        if (must_leave(decision->victims[i]))
            return true;
    return false;
}

void eviction_clear_lower(struct engine *engine, const struct decision *decision, int64_t now_ns)
{
    vec_for(&cluster_node(engine->cluster, decision->nominated_row)->nominated, pod)
        if ((*pod)->priority < decision->pod->priority && !(*pod)->is_foreign)
            pod_status_set(&engine->statuses, (*pod)->api,
                           &(struct status_change){ .nomination = NOMINATION_CLEAR }, now_ns);
}

static void victim_init(struct victim *victim, struct eviction *eviction, const struct pod *pod,
                        int64_t now_ns)
{
    *victim = (struct victim){
        .eviction = eviction,
        .subject = event_subject_copy(&eviction->arena, event_subject_of(&pod->meta)),
        .condition = { .type = STR("DisruptionTarget"),
                       .status = STR("True"),
                       .reason = STR("PreemptionByScheduler"),
                       .message = arena_printf(&eviction->arena,
                                               STR_FMT ": preempting to accommodate a higher priority pod",
                                               STR_ARG(eviction->profile->scheduler_name)) },
    };
    victim->needs_condition =
        condition_wanted(pod, now_ns + eviction->engine->statuses.wall_ahead_ns, &victim->condition);
}

/* All at once. */
static void begin_all(struct eviction *eviction, int64_t now_ns)
{
    eviction->last_turn = true;
    eviction->open = eviction->len;
    for (uint32_t i = 0, len = eviction->len; i < len; i++)
        evict(&eviction->victims[i], now_ns); /* the eviction may be over with the last one */
}

static void begin_in_background(struct eviction *eviction, const struct decision *decision, int64_t now_ns)
{
    struct engine *engine = eviction->engine;
    log_info(2, "Start the preemption asynchronously", subject_ref("preemptor", &eviction->preemptor),
             log_str("node", eviction->node), log_int("numVictims", decision->victims_named),
             log_int("numVictimsToDelete", eviction->len));
    eviction_clear_lower(engine, decision, now_ns);
    eviction->last_turn = eviction->len == 1;
    eviction->open = eviction->last_turn ? 1 : eviction->len - 1;
    if (eviction->last_turn)
        queue_hold_last(&engine->queue, decision->pod, find_pod(engine, &eviction->victims[0].subject));
    for (uint32_t i = 0, len = eviction->open; i < len; i++)
        evict(&eviction->victims[i], now_ns);
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
        if (must_leave(decision->victims[i]))
            victim_init(&eviction->victims[eviction->len++], eviction, decision->victims[i]->api, now_ns);
    eviction->is_awaited = engine->open.entry != NULL;
    if (!eviction->len) {
        if (eviction->is_awaited)
            engine_victims_settled(engine, STR(""), now_ns);
        eviction_free(eviction);
        return;
    }
    *vec_push(&engine->evictions) = eviction;
    if (eviction->is_awaited)
        begin_all(eviction, now_ns);
    else
        begin_in_background(eviction, decision, now_ns);
}

void evictions_pod_gone(struct engine *engine, const struct pod *pod, int64_t now_ns)
{
    const struct event_subject subject = event_subject_of(&pod->meta);
    for (size_t i = engine->evictions.len; i-- > 0;) {
        if (i >= engine->evictions.len) /* others ended with it */
            continue;
        struct eviction *eviction = engine->evictions.items[i];
        for (uint32_t v = 0; v < eviction->len; v++) {
            struct victim *victim = &eviction->victims[v];
            if (victim->state == VICTIM_WAITING || !same_pod(&victim->subject, &subject))
                continue;
            if (victim->state == VICTIM_SHARED)
                settle(victim, false, now_ns);
            else
                leave(victim, now_ns);
            break; /* the eviction may be over */
        }
    }
}

bool evictions_need(const struct engine *engine, const struct generation *generation)
{
    vec_for(&engine->evictions, eviction)
        if (generation_has(generation, (*eviction)->profile))
            return true;
    return false;
}

void evictions_release(struct engine *engine)
{
    vec_for(&engine->evictions, eviction)
        eviction_free(*eviction);
    vec_release(&engine->evictions);
}

/* ---- after a refusal ---- */
void eviction_postpone(struct engine *engine, struct queued_pod *entry, struct decision *decision,
                       int64_t now_ns)
{
    if (now_ns >= engine->evictions_from_ns || !engine->host.emit || !eviction_needed(decision))
        return;
    decision->nomination = NOMINATION_KEEP;
    decision->nominated_row = ROW_NONE;
    decision->victims = NULL;
    decision->victims_len = 0;
    decision->retry = false;
    eviction_retry(engine, entry);
}

void eviction_retry(struct engine *engine, struct queued_pod *entry)
{
    engine->evictions_postponed = true;
    queue_postpone(entry);
}

void evictions_tick(struct engine *engine, int64_t now_ns)
{
    if (!engine->evictions_postponed || now_ns < engine->evictions_from_ns)
        return;
    engine->evictions_postponed = false;
    queue_end_postponed(&engine->queue, now_ns);
}

int64_t evictions_next_due(const struct engine *engine)
{
    return engine->evictions_postponed ? engine->evictions_from_ns : INT64_MAX;
}
