/* inputs.h: everything that can enter the engine.
 *
 *     live/core.c ─────────┐                           ┌──▶ live/journal.h: the inputs, in the order of their calls
 *     whatif/simulate.c ───┼──▶ inputs ──▶ ENGINE ─────┤
 *     tests/sim, replay/ ──┘                           └──▶ decisions and effects
 *
 * The engine reads no clock, file or socket. The same inputs at the same times with the same seed give the same
 * decisions: a recording is a list of inputs, and a replay gives them to another engine. Times are nanoseconds by a
 * clock that starts at the time of day and never jumps, and never less than in the call before; what the time of day is
 * when the machine's clock is set, is an input of its own. */
#ifndef ENGINE_INPUTS_H
#define ENGINE_INPUTS_H

#include "api/object.h"

struct answer;
struct cluster_event;
struct decision;
struct engine;
struct engine_setup;
struct plugin_message;
struct pod_info;
struct status;

/* What a watch on the API server says. sync/mirror.h turns it into engine_set_object() and engine_remove_object(). */
#define WATCH_INPUTS(X) \
    X(SET, watch)        /* an object is there, new or changed */ \
    X(REMOVE, watch)     /* an object is gone */ \
    X(LIST_BEGIN, watch) /* of a kind: what is set from here to LIST_END is all there is */ \
    X(LIST_END, watch)   /* ... and what was not set is gone; the first one of a kind: it is synced */ \
    X(DOUBT, watch)      /* what is known of a kind may be old: the next list of it begins after this */ \
    X(ABSENT, watch)     /* the server does not serve the kind: counts as synced and empty */
/* Likewise; it came later than other inputs. Without an object: one that is there and has no name that can be read. */
#define WATCH_INPUTS_LATER(X) X(PARTIAL, watch) /* an object is there, and not all of it can be read */

/* All inputs, with the handler of each in a replay. The order is the format of recordings: new ones come last. */
#define ENGINE_INPUTS(X) \
    X(HEAD, head) /* engine_init(): what the engine begins with */ \
    WATCH_INPUTS(X) \
    X(ANSWER, answer)     /* engine_answer() */ \
    X(TICK, tick)         /* engine_tick() */ \
    X(IDLE, idle)         /* engine_step(), which decided nothing */ \
    X(DECISION, decision) /* engine_step(), and what it decided */ \
    X(OPINION, \
      opinion) /* what an extender answered in the course of a step, in the order of the requests */ \
    X(PLUGIN_MESSAGE, message) /* engine_plugin_message() */ \
    X(CONFIG, config)          /* engine_reconfigure() */ \
    WATCH_INPUTS_LATER(X) \
    X(CLOCK, clock) /* engine_set_wall_clock() */

/* ---- objects ---- */
/* An object appeared or changed: the model follows, and pods that the change may help are tried again. The object must
 * stay until it is replaced or removed, and the old version until the call returns; pods are freed through
 * cluster->pod_free. A pod that was decided here and is not bound yet keeps its place. False: it is not kept, and stays
 * the caller's (a kind that the model does not know, or a pod without a node of another scheduler). */
bool engine_set_object(struct engine *engine, enum api_kind kind, const void *object, const struct meta *meta,
                       int64_t now_ns);
/* What follows is a list of that kind, which is not complete before it ends. */
void engine_list(struct engine *engine, enum api_kind kind, bool begins);
/* An object is gone. One that is not known is fine. */
void engine_remove_object(struct engine *engine, enum api_kind kind, struct str namespace, struct str name,
                          int64_t now_ns);
/* A pod leaves the cluster. The resources that it occupied, or that were promised to it, may help other pods. */
void engine_remove_pod(struct engine *engine, struct pod_info *pod, int64_t now_ns);

/* ---- answers, messages, time ---- */
/* What came of an effect. An unknown ticket is ignored. */
void engine_answer(struct engine *engine, uint64_t ticket, const struct answer *answer, int64_t now_ns);
/* What a thread of a plugin said when it was recorded: read before the next decision, in the order of these calls.
 * Takes the message over. Without a replay, plugins post to the mailbox of their profile. */
void engine_plugin_message(struct engine *engine, struct plugin_message *message);
/* Time has passed: writes are repeated, bindings polled, backoffs end. */
void engine_tick(struct engine *engine, int64_t now_ns);
/* The time of day is that much ahead of the times of the other inputs (negative: behind), because the machine's clock
 * was set or the machine slept. Queues and timeouts are not touched; what is written with a date has the time of day.
 * Zero at the beginning. */
void engine_set_wall_clock(struct engine *engine, int64_t ahead_ns);
/* Decides the next pod. False: there is none to decide now. */
bool engine_step(struct engine *engine, int64_t now_ns, struct decision *ret);
/* Another configuration, between two steps. Pods that wait are judged anew; what is on its way to a node gets there as
 * it was decided. Pods whose scheduler name has no profile any more are not known afterwards, and those of a new name
 * not yet: the caller sets them again. Failed: nothing has changed, and the setup is not used. */
int engine_reconfigure(struct engine *engine, const struct engine_setup *setup, int64_t now_ns,
                       struct error *err);

/* ---- for hosts without an API server, which change the model themselves ---- */
/* A pod that is in the cluster and has no node waits for a decision. A gated one gets its reason in `ret_gate` (code
 * Success: it is active); its texts stay until the next call. A pod without a profile is an error. */
int engine_add_pod(struct engine *engine, struct pod_info *pod, int64_t now_ns, struct status *ret_gate,
                   struct error *err);
/* A pod that was placed here has its node for good: other pods may have waited for it. */
void engine_pod_bound(struct engine *engine, struct pod_info *pod, int64_t now_ns);
/* The victims of the pod were deleted. At once: that failed, or none of them will leave, and the pod is tried again.
 * Otherwise it waits for them to leave; if some left while it was held, it does not wait. */
void engine_preemption_done(struct engine *engine, struct pod_info *pod, bool at_once, int64_t now_ns);
/* Any other event. */
void engine_event(struct engine *engine, const struct cluster_event *event, int64_t now_ns);

#endif
