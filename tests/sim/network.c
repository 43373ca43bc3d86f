/* network.c: requests and answers arrive, are lost or arrive late. */
#include "network.h"

#include <stdlib.h>

#include "check.h"
#include "core.h"
#include "server.h"
#include "watch.h"

enum fate { FATE_NORMAL, FATE_UNSENT, FATE_LOST, FATE_HALF_LOST, FATE_LATE, FATE_REFUSED, FATE_CONFLICT };
static const char *const fate_names[] = { "normal", "not sent", "lost",    "answer lost",
                                          "late",   "refused",  "conflict" };

struct request {
    uint32_t refs;        /* scheduled events that refer to it */
    uint64_t incarnation; /* of the scheduler that sent it */
    struct arena arena;
    struct effect effect;
    struct wanted_condition condition;
    enum fate fate;
    struct answer answer;
};

static void request_unref(void *what)
{
    struct request *request = what;
    if (--request->refs)
        return;
    arena_release(&request->arena);
    free(request);
}

static struct event_subject copy_subject(struct arena *arena, const struct event_subject *from)
{
    return (struct event_subject){ .namespace = arena_str(arena, from->namespace),
                                   .name = arena_str(arena, from->name),
                                   .uid = arena_str(arena, from->uid),
                                   .resource_version = arena_str(arena, from->resource_version) };
}

static struct request *request_new(const struct sim *sim, const struct effect *effect)
{
    struct request *request = xcalloc(1, sizeof(*request));
    struct arena *arena = &request->arena;
    request->incarnation = sim->core.incarnation;
    request->effect = *effect;
    request->effect.namespace = arena_str(arena, effect->namespace);
    request->effect.name = arena_str(arena, effect->name);
    request->effect.uid = arena_str(arena, effect->uid);
    request->effect.resource_version = arena_str(arena, effect->resource_version);
    request->effect.node = arena_str(arena, effect->node);
    request->effect.claim = copy_subject(arena, &effect->claim);
    if (effect->condition) {
        request->condition = *effect->condition;
        request->condition.type = arena_str(arena, effect->condition->type);
        request->condition.status = arena_str(arena, effect->condition->status);
        request->condition.reason = arena_str(arena, effect->condition->reason);
        request->condition.message = arena_str(arena, effect->condition->message);
        request->effect.condition = &request->condition;
    }
    return request;
}

/* ---- fate ---- */
static enum fate fate_of(struct sim *sim, const struct effect *effect)
{
    const struct knobs *knobs = &sim->knobs;
    if (sim->now_ns < sim->outage_until_ns)
        return FATE_UNSENT;
    if (effect->kind == EFFECT_BIND && sim->now_ns < sim->no_binding_until_ns)
        return chance(sim, 300) ? FATE_LATE : FATE_REFUSED; /* a lost one has an unknown outcome */
    if (!sim->storm)
        return FATE_NORMAL;
    const uint32_t chances[] = { 0,           knobs->unsent,  knobs->lost,    knobs->half_lost,
                                 knobs->late, knobs->refused, knobs->conflict };
    uint32_t at = roll(sim, 1000);
    for (enum fate fate = FATE_UNSENT; fate <= FATE_CONFLICT; fate++) {
        if (at >= chances[fate]) {
            at -= chances[fate];
            continue;
        }
        /* A status that arrives after its own retry would undo later changes; no server is known to do
         * it, and no scheduler could handle it. */
        if (fate == FATE_LATE && effect->kind == EFFECT_POD_STATUS)
            return FATE_HALF_LOST;
        return fate == FATE_CONFLICT && effect->kind == EFFECT_READ_POD ? FATE_LOST : fate;
    }
    return FATE_NORMAL;
}

static int64_t delay_ns(struct sim *sim)
{
    bool slow = sim->storm && chance(sim, sim->knobs.slow);
    return SIM_MS * (1 + roll(sim, slow ? 8000 : 20));
}

/* ---- answers ---- */
static void reply(struct sim *sim, void *what)
{
    struct request *request = what;
    if (sim->core.alive && sim->core.incarnation == request->incarnation) {
        sim_trace(sim, "answer: %s " STR_FMT ": %s", effect_kind_names[request->effect.kind],
                  STR_ARG(request->effect.name), answer_kind_names[request->answer.kind]);
        sim->unanswered--;
        check_answer(sim, &request->effect, &request->answer);
        core_answer(sim, request->effect.ticket, &request->answer);
    }
    request_unref(request);
}

static void plan_reply(struct sim *sim, struct request *request, int64_t in_ns)
{
    request->refs++;
    sim_plan(sim, in_ns, reply, request, request_unref);
}

/* ---- requests ---- */
static void forget_binding(struct sim *sim, const struct effect *effect)
{
    for (size_t i = 0; i < sim->bindings_out.len; i++)
        if (uid_of(effect->uid) == sim->bindings_out.items[i].uid &&
            sim->bindings_out.items[i].node == number_of(effect->node)) {
            vec_swap_remove(&sim->bindings_out, i);
            return;
        }
}

static void arrive(struct sim *sim, void *what)
{
    struct request *request = what;
    if (request->effect.kind == EFFECT_BIND)
        forget_binding(sim, &request->effect);
    struct answer answer = server_do(sim, &request->effect, &request->arena);
    sim_trace(sim, "done: %s " STR_FMT " " STR_FMT ": %s%s", effect_kind_names[request->effect.kind],
              STR_ARG(request->effect.name), STR_ARG(request->effect.node), answer_kind_names[answer.kind],
              request->fate == FATE_LATE ? " (late)" : "");
    sim->requests_in_flight--;
    if (request->fate == FATE_NORMAL)
        request->answer = answer;
    if (request->fate != FATE_LATE)
        plan_reply(sim, request, delay_ns(sim));
    watches_wake(sim);
    request_unref(request);
}

static void plan_arrival(struct sim *sim, struct request *request, int64_t in_ns)
{
    request->refs++;
    sim->requests_in_flight++;
    if (request->effect.kind == EFFECT_BIND)
        *vec_push(&sim->bindings_out) =
            (struct intent){ .uid = uid_of(request->effect.uid), .node = number_of(request->effect.node) };
    sim_plan(sim, in_ns, arrive, request, request_unref);
}

static void set_answer(struct sim *sim, struct request *request)
{
    static const enum answer_kind kinds[] = {
        [FATE_NORMAL] = ANSWER_UNKNOWN,    [FATE_UNSENT] = ANSWER_UNSENT, [FATE_LOST] = ANSWER_UNKNOWN,
        [FATE_HALF_LOST] = ANSWER_UNKNOWN, [FATE_LATE] = ANSWER_UNKNOWN,  [FATE_REFUSED] = ANSWER_REFUSED,
        [FATE_CONFLICT] = ANSWER_CONFLICT,
    };
    static const struct str texts[] = {
        [FATE_REFUSED] = STR("forbidden by the test"), [FATE_CONFLICT] = STR("the object has been modified")
    };
    request->answer.kind = kinds[request->fate];
    if (request->fate >= FATE_REFUSED)
        request->answer.message = texts[request->fate];
    if (request->fate == FATE_UNSENT && chance(sim, 300))
        request->answer.retry_after_ms = 1000 * (1 + roll(sim, 3));
}

void network_emit(void *host, const struct effect *effect)
{
    struct sim *sim = host;
    check_effect(sim, effect);
    if (effect->kind == EFFECT_EVENT)
        return;
    struct request *request = request_new(sim, effect);
    request->fate = fate_of(sim, effect);
    set_answer(sim, request);
    sim->requests++;
    sim->unanswered++;
    sim_trace(sim, "wants: %s " STR_FMT " " STR_FMT " (%s)", effect_kind_names[effect->kind],
              STR_ARG(effect->name), STR_ARG(effect->node), fate_names[request->fate]);
    int64_t delay = delay_ns(sim);
    bool arrives =
        request->fate == FATE_NORMAL || request->fate == FATE_HALF_LOST || request->fate == FATE_LATE;
    if (request->fate == FATE_LATE)
        plan_arrival(sim, request, delay + SIM_MS * (1 + roll(sim, LATE_MS_MAX - 8000)));
    else if (arrives)
        plan_arrival(sim, request, delay);
    if (!arrives || request->fate == FATE_LATE)
        plan_reply(sim, request, delay);
}
