/* check.c: the rules; see check.h.
 *
 * Three views are compared: the store (the true state), what the core received (what the engine can know), and what the
 * engine has decided itself (intents). */
#include "check.h"

#include <stdio.h>

#include "fit.h"
#include "render.h"

/* The pod with this number and uid as the core knows it; NULL: unknown or deleted. */
static const struct pod_facts *known_pod(const struct sim *sim, uint32_t number, uint64_t uid)
{
    const struct version *known = sim->core.known[SIM_PODS][number];
    return known && known->facts.uid == uid ? &known->facts.pod : NULL;
}

static void intent_drop(struct sim *sim, uint64_t uid)
{
    for (size_t i = sim->intents.len; i-- > 0;)
        if (sim->intents.items[i].uid == uid)
            vec_swap_remove(&sim->intents, i);
}

static const struct intent *intent_find(const struct sim *sim, uint64_t uid)
{
    vec_for(&sim->intents, intent)
        if (intent->uid == uid)
            return intent;
    return NULL;
}

/* ---- effects ---- */
static void check_event(struct sim *sim, const struct effect *effect)
{
    if (effect->ticket || !effect->event.reason.len || !effect->event.note.len ||
        effect->event.note.len > 1024 || !effect->uid.len)
        sim_fail(sim, "an invalid event: " STR_FMT ": " STR_FMT, STR_ARG(effect->event.reason),
                 STR_ARG(effect->event.note));
}

/* Whatever the answers, a request must not be repeated without a backoff. */
static void check_pace(struct sim *sim, const struct effect *effect)
{
    enum { WINDOW_S = 10, COUNT_MAX = 60 };
    struct pace *pace = &sim->paces[number_of(effect->name)];
    if (pace->uid != uid_of(effect->uid) || sim->now_ns - pace->since_ns > WINDOW_S * SIM_S)
        *pace = (struct pace){ .uid = uid_of(effect->uid), .since_ns = sim->now_ns };
    if (++pace->count > COUNT_MAX)
        sim_fail(sim, "pod " STR_FMT " is bound more than %d times in %d seconds", STR_ARG(effect->name),
                 COUNT_MAX, WINDOW_S);
}

static void check_bind(struct sim *sim, const struct effect *effect)
{
    uint64_t uid = uid_of(effect->uid);
    int node = number_of(effect->node);
    check_pace(sim, effect);
    const struct intent *intent = intent_find(sim, uid);
    if (!intent && sim->deciding)
        sim->early = (struct intent){ .uid = uid, .node = node };
    else if (!intent || intent->node != node)
        sim_fail(sim, "pod " STR_FMT " is bound to " STR_FMT ", which was not decided", STR_ARG(effect->name),
                 STR_ARG(effect->node));
    const struct stored *pod = store_find(&sim->store, SIM_PODS, effect->name);
    bool exists = pod && pod->facts.uid == uid && !pod->facts.pod.terminating;
    vec_for(&sim->bindings_out, other)
        if (exists && other->uid == uid && other->node != node)
            sim_fail(sim,
                     "pod " STR_FMT " is bound to " STR_FMT " while its binding to n%d may still be done",
                     STR_ARG(effect->name), STR_ARG(effect->node), other->node);
}

static bool is_victim(const struct sim *sim, uint64_t uid)
{
    vec_for(&sim->victims, victim)
        if (*victim == uid)
            return true;
    return false;
}

void check_effect(struct sim *sim, const struct effect *effect)
{
    static const bool about_pod[EFFECT_KIND_COUNT] = {
        [EFFECT_BIND] = true, [EFFECT_POD_STATUS] = true, [EFFECT_DELETE_POD] = true, [EFFECT_READ_POD] = true
    };
    if (effect->kind == EFFECT_EVENT) {
        check_event(sim, effect);
        return;
    }
    if (!effect->ticket)
        sim_fail(sim, "no ticket for the answer to: %s", effect_kind_names[effect->kind]);
    if (about_pod[effect->kind] && !known_pod(sim, (uint32_t)number_of(effect->name), uid_of(effect->uid)))
        sim_fail(sim, "%s " STR_FMT ", which is known to be gone", effect_kind_names[effect->kind],
                 STR_ARG(effect->name));
    if (effect->kind == EFFECT_BIND)
        check_bind(sim, effect);
    if (effect->kind == EFFECT_DELETE_POD && sim->deciding)
        *vec_push(&sim->early_deletions) = uid_of(effect->uid);
    else if (effect->kind == EFFECT_DELETE_POD && !is_victim(sim, uid_of(effect->uid)))
        sim_fail(sim, "pod " STR_FMT " is deleted, and is no pod's victim", STR_ARG(effect->name));
}

void check_answer(struct sim *sim, const struct effect *effect, const struct answer *answer)
{
    uint64_t uid = uid_of(effect->uid);
    const struct intent *intent = intent_find(sim, uid);
    bool elsewhere =
        answer->kind == ANSWER_DONE && answer->node.len && intent && intent->node != number_of(answer->node);
    if (effect->kind == EFFECT_READ_POD && elsewhere)
        intent_drop(sim, uid);
}

/* ---- decisions ---- */
/* All pods that the engine must count on a node. */
static void gather_known(const struct sim *sim, placed_vec *ret)
{
    uint32_t len = sim->store.kinds[SIM_PODS].len;
    for (uint32_t i = 0; i < len; i++) {
        const struct version *known = sim->core.known[SIM_PODS][i];
        if (known && known->facts.pod.node != NONE)
            *vec_push(ret) = (struct placed){ &known->facts.pod, known->facts.pod.node };
    }
    vec_for(&sim->intents, intent) {
        const struct pod_facts *pod = known_pod(sim, intent->pod, intent->uid);
        if (pod && pod->node == NONE && !pod->terminating)
            *vec_push(ret) = (struct placed){ pod, intent->node };
    }
}

static void check_placement(struct sim *sim, const struct pod_info *info, int node)
{
    uint32_t number = (uint32_t)number_of(info->api->meta.name);
    uint64_t uid = uid_of(info->api->meta.uid);
    const struct pod_facts *pod = known_pod(sim, number, uid);
    const struct version *known = sim->core.known[SIM_NODES][node];
    if (!pod || pod->gated || pod->node != NONE || pod->terminating || pod->foreign) {
        sim_fail(sim, "pod p%u is decided, and should not be", number);
        return;
    }
    intent_drop(sim, uid);
    placed_vec placed = { 0 };
    gather_known(sim, &placed);
    if (!known || !fits_among(&placed, pod, node, &known->facts.node, INT32_MIN))
        sim_fail(sim, "pod p%u goes to n%d and does not fit there", number, node);
    vec_release(&placed);
    *vec_push(&sim->intents) = (struct intent){ .uid = uid, .pod = number, .node = node };
    if (sim->early.uid == uid && sim->early.node == node)
        sim->early.uid = 0;
}

static void check_victims(struct sim *sim, const struct decision *decision)
{
    const struct pod *pod = decision->pod->api;
    for (uint32_t i = 0; i < decision->victims_len; i++) {
        const struct pod *victim = decision->victims[i]->api;
        if (victim->spec.priority.value >= pod->spec.priority.value ||
            str_is(pod->spec.preemption_policy, "Never"))
            sim_fail(sim, "pod " STR_FMT " must leave for " STR_FMT, STR_ARG(victim->meta.name),
                     STR_ARG(pod->meta.name));
        *vec_push(&sim->victims) = uid_of(victim->meta.uid);
    }
    vec_for(&sim->early_deletions, uid)
        if (!is_victim(sim, *uid))
            sim_fail(sim, "a pod is deleted for " STR_FMT ", and is no victim of it",
                     STR_ARG(pod->meta.name));
    vec_clear(&sim->early_deletions);
}

static void note_message(struct sim *sim, const struct pod *pod, struct str message)
{
    struct last_word *word = &sim->words[number_of(pod->meta.name)];
    word->uid = uid_of(pod->meta.uid);
    strbuf_clear(&word->message);
    strbuf_str(&word->message, message);
}

void check_decision(struct sim *sim, const struct decision *decision)
{
    if (decision->is_deleted)
        return;
    if (decision->row == ROW_NONE)
        note_message(sim, decision->pod->api, decision->message);
    if (decision->row != ROW_NONE && decision->pod->row != ROW_NONE)
        check_placement(sim, decision->pod, number_of(cluster_node_name(&sim->core.cluster, decision->row)));
    check_victims(sim, decision);
    if (sim->early.uid)
        sim_fail(sim, "a pod is bound to n%d, which was not decided", sim->early.node);
    if (decision->row == ROW_NONE && !decision->message.len)
        sim_fail(sim, "a pod waits without a reason");
}

void check_notice(struct sim *sim, const struct notice *notice)
{
    uint64_t uid = uid_of(notice->pod->meta.uid);
    const struct stored *pod = store_find(&sim->store, SIM_PODS, notice->pod->meta.name);
    if (notice->kind == NOTICE_BINDING_FAILED) {
        sim_trace(sim, "failed: " STR_FMT ": " STR_FMT, STR_ARG(notice->pod->meta.name),
                  STR_ARG(notice->message));
        intent_drop(sim, uid);
        note_message(sim, notice->pod, notice->message);
    } else if (pod && pod->facts.uid == uid && pod->facts.pod.node != number_of(notice->node)) {
        sim_fail(sim, "pod p%u is reported as bound to " STR_FMT ", and is not", pod->facts.number,
                 STR_ARG(notice->node));
    }
}

/* ---- the store ---- */
void check_node(struct sim *sim, const struct stored *node)
{
    int64_t *most = sim->node_most[node->facts.number];
    for (int i = 0; i < AMOUNTS; i++)
        most[i] = MAX(most[i], node->facts.node.has[i]);
    most[AMOUNTS] = MAX(most[AMOUNTS], node->facts.node.pods_max);
}

/* Pods of other schedulers and shrunken nodes are not errors: only pods that this engine bound count, against the
 * largest capacity that the node ever had. */
void check_bound(struct sim *sim, const struct stored *bound)
{
    int node = bound->facts.pod.node;
    const struct kind_store *pods = &sim->store.kinds[SIM_PODS];
    int64_t used[AMOUNTS + 1] = { 0 };
    for (uint32_t i = 0; i < pods->len; i++) {
        const struct stored *pod = &pods->items[i];
        const struct pod_facts *facts = &pod->facts.pod;
        if (!pod->exists || facts->finished || facts->node != node || !facts->bound_by_us)
            continue;
        used[AMOUNTS]++;
        for (int a = 0; a < AMOUNTS; a++)
            used[a] += facts->requests[a];
        if (pod != bound && facts->host_port && facts->host_port == bound->facts.pod.host_port)
            sim_fail(sim, "pods p%u and p%u have the same port on n%d", pod->facts.number,
                     bound->facts.number, node);
    }
    for (int a = 0; a <= AMOUNTS; a++)
        if (used[a] > sim->node_most[node][a] && (a == AMOUNTS || bound->facts.pod.requests[a]))
            sim_fail(sim, "pod p%u overcommits n%d: %lld of %lld", bound->facts.number, node,
                     (long long)used[a], (long long)sim->node_most[node][a]);
}

/* ---- the core's knowledge ---- */
void check_known(struct sim *sim, enum sim_kind kind, uint32_t number)
{
    if (kind != SIM_PODS)
        return;
    const struct version *known = sim->core.known[kind][number];
    for (size_t i = sim->intents.len; i-- > 0;) {
        const struct intent *intent = &sim->intents.items[i];
        bool is_over = !known || known->facts.uid != intent->uid || known->facts.pod.node != NONE;
        if (intent->pod == number && is_over)
            vec_swap_remove(&sim->intents, i);
    }
}

void check_restart(struct sim *sim)
{
    vec_clear(&sim->intents);
    vec_clear(&sim->victims);
    sim->unanswered = 0;
}

/* ---- final checks ---- */
static void gather_stored(const struct sim *sim, placed_vec *ret)
{
    const struct kind_store *pods = &sim->store.kinds[SIM_PODS];
    for (uint32_t i = 0; i < pods->len; i++)
        if (pods->items[i].exists && !pods->items[i].facts.pod.finished &&
            pods->items[i].facts.pod.node != NONE)
            *vec_push(ret) = (struct placed){ &pods->items[i].facts.pod, pods->items[i].facts.pod.node };
}

static bool waits(const struct stored *pod)
{
    const struct pod_facts *facts = &pod->facts.pod;
    return pod->exists && !facts->finished && !facts->foreign && facts->node == NONE && !facts->terminating;
}

static const char *place_of(const struct sim *sim, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof(name), "p%u", number);
    const struct pod_info *info = cluster_find_pod(&sim->core.cluster, STR(SIM_NAMESPACE), str_from(name));
    const struct queued_pod *entry = info ? queue_find(&sim->core.engine.queue, info) : NULL;
    return info ? queue_place_names[entry ? entry->place : QUEUE_NOWHERE] : "unknown";
}

/* Prints the pods of a node, to analyze a failure. */
static void trace_node(const struct sim *sim, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof(name), "n%u", number);
    uint32_t row = cluster_row(&sim->core.cluster, str_from(name));
    const struct kind_store *pods = &sim->store.kinds[SIM_PODS];
    for (uint32_t i = 0; i < pods->len; i++)
        if (pods->items[i].exists && !pods->items[i].facts.pod.finished &&
            pods->items[i].facts.pod.node == (int)number)
            sim_trace(sim, "on n%u: p%u", number, i);
    if (row == ROW_NONE)
        return;
    vec_for(&cluster_node(&sim->core.cluster, row)->pods, pod)
        sim_trace(sim, "on n%u by the model: " STR_FMT, number, STR_ARG((*pod)->api->meta.name));
    vec_for(&cluster_node(&sim->core.cluster, row)->nominated, pod)
        sim_trace(sim, "nominated to n%u: " STR_FMT, number, STR_ARG((*pod)->api->meta.name));
}

static void check_waiting(struct sim *sim, const struct stored *pod, const placed_vec *placed)
{
    const struct pod_facts *facts = &pod->facts.pod;
    const struct kind_store *nodes = &sim->store.kinds[SIM_NODES];
    int32_t below = facts->never_preempts ? INT32_MIN : facts->priority;
    for (uint32_t i = 0; i < nodes->len; i++) {
        const struct node_facts *node = &nodes->items[i].facts.node;
        if (!nodes->items[i].exists || !fits_claim(sim, facts, (int)i, node) ||
            !fits_among(placed, facts, (int)i, node, below))
            continue;
        trace_node(sim, i);
        if (fits_among(placed, facts, (int)i, node, INT32_MIN))
            sim_fail(sim, "pod p%u waits (%s), and fits on n%u", pod->facts.number,
                     place_of(sim, pod->facts.number), i);
        else
            sim_fail(sim, "pod p%u waits (%s), and could have preempted others on n%u", pod->facts.number,
                     place_of(sim, pod->facts.number), i);
    }
}

void check_no_fitting_pod_waits(struct sim *sim)
{
    const struct kind_store *pods = &sim->store.kinds[SIM_PODS];
    placed_vec placed = { 0 };
    gather_stored(sim, &placed);
    for (uint32_t i = 0; i < pods->len; i++)
        if (waits(&pods->items[i]) && !pods->items[i].facts.pod.gated)
            check_waiting(sim, &pods->items[i], &placed);
    vec_release(&placed);
}

static void check_condition(struct sim *sim, const struct stored *pod)
{
    const struct pod_facts *facts = &pod->facts.pod;
    if (waits(pod) && !facts->gated &&
        (facts->scheduled != SCHEDULED_FALSE || !pod->message.len ||
         !str_is(strbuf_slice(&pod->reason), "Unschedulable")))
        sim_fail(sim, "pod p%u waits, and its condition does not show it: " STR_FMT " " STR_FMT,
                 pod->facts.number, STR_ARG(strbuf_slice(&pod->reason)),
                 STR_ARG(strbuf_slice(&pod->message)));
    const struct last_word *word = &sim->words[pod->facts.number];
    if (waits(pod) && !facts->gated && word->uid == pod->facts.uid &&
        !str_eq(strbuf_slice(&word->message), strbuf_slice(&pod->message)))
        sim_fail(sim, "pod p%u waits because of \"" STR_FMT "\", and its condition has \"" STR_FMT "\"",
                 pod->facts.number, STR_ARG(strbuf_slice(&word->message)),
                 STR_ARG(strbuf_slice(&pod->message)));
    if (pod->exists && facts->bound_by_us && facts->scheduled != SCHEDULED_TRUE)
        sim_fail(sim, "pod p%u is bound, and its condition does not show it", pod->facts.number);
}

/* No work is pending in the engine. */
static void check_idle(struct sim *sim)
{
    const struct engine *engine = &sim->core.engine;
    const struct {
        const char *what;
        size_t count;
    } rows[] = {
        { "bindings", engine_bindings(engine) },
        { "writes", engine->writes.by_ticket.len },
        { "writes that wait", engine->writes.waiting.items.len },
        { "evictions", engine->evictions.len },
        { "bindings that wait", engine->due.items.len + engine->watching.len },
        { "requests without an answer", sim->unanswered },
        { "pods in flight", engine->queue.counts[QUEUE_IN_FLIGHT] },
        { "pods to be decided", engine->queue.counts[QUEUE_ACTIVE] },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].count)
            sim_fail(sim, "%s: %zu are left", rows[i].what, rows[i].count);
    for (int i = 0; i < ENGINE_BINDING_STAGES; i++)
        if (engine->bindings_at[i])
            sim_fail(sim, "bindings at stage %d: %u are left", i, engine->bindings_at[i]);
}

void check_conditions(struct sim *sim)
{
    const struct kind_store *pods = &sim->store.kinds[SIM_PODS];
    for (uint32_t i = 0; i < pods->len; i++)
        check_condition(sim, &pods->items[i]);
}

void check_calm(struct sim *sim)
{
    if (!sim->core.running) {
        sim_fail(sim, "no scheduler is there");
        return;
    }
    check_no_fitting_pod_waits(sim);
    check_conditions(sim);
    check_idle(sim);
}

void check_drained(struct sim *sim)
{
    const struct engine *engine = &sim->core.engine;
    const struct cluster *cluster = &sim->core.cluster;
    const struct {
        const char *what;
        size_t count;
    } rows[] = {
        { "pods of the model", cluster->pods.len },
        { "pods of the queue", engine->queue.entries.len },
        { "records of status", engine->statuses.by_pod.len },
        { "nominations", cluster->nominations },
        { "claims in use", cluster->pvc_users.len },
        { "classes of pods", cluster->classes.len },
        { "pods with terms", cluster->pods_with_anti + cluster->pods_with_affinity },
    };
    check_idle(sim);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].count)
            sim_fail(sim, "all pods are gone, but %s: %zu are left", rows[i].what, rows[i].count);
}

void check_forget(struct sim *sim)
{
    vec_release(&sim->victims);
    for (uint32_t i = 0; i < sim->store.kinds[SIM_PODS].len; i++)
        strbuf_release(&sim->words[i].message);
}
