/* effects.h: what scheduling wants done in the cluster, and what came of it.
 *
 *     engine, plugin ──effect (ticket)──▶ host: client/ (API server), sim/ (at once), tests (with faults)
 *                    ◀──answer (ticket)──
 *
 * An effect is one request that means the same when it is sent twice. An answer is sorted by what it says about the
 * cluster, not by its number: DONE, GONE, CONFLICT and REFUSED are facts; UNKNOWN means that it may have been done and
 * the resources that go with it stay taken; UNSENT means that it was not. The engine sends the request again after
 * those two, until there is a fact. */
#ifndef FRAMEWORK_EFFECTS_H
#define FRAMEWORK_EFFECTS_H

#include "api/types.h"
#include "base/arena.h"

#define EFFECT_KINDS(X) \
    X(BIND, "bind")                 /* the pod goes to `node`; the uid must match */ \
    X(POD_STATUS, "patch status")   /* a condition, a nomination, or both */ \
    X(DELETE_POD, "delete")         /* with its own grace period; the uid must match */ \
    X(READ_POD, "read")             /* which node has it, is it being deleted? */ \
    X(PV_CLAIM, "bind volume")      /* the volume is held for `claim`; the resource version must match */ \
    X(PVC_NODE, "provision volume") /* a volume is to be made for the claim on `node`; likewise */ \
    X(CLAIM_CREATE, "create claim") /* a claim for devices, as `body` has it; the effect has no name */ \
    X(CLAIM_PATCH, "patch claim") /* `body` is merged into the claim; it has the version that must match */ \
    X(CLAIM_STATUS, "patch claim status") /* likewise into its status */ \
    X(CLAIM_DELETE, "delete claim")       /* the uid must match */ \
    X(POD_CLAIM, "patch pod claim")       /* `body` is merged into the pod's status */ \
    X(POD_UNCLAIM, "clear pod claim")     /* likewise; lists in it replace those of the status */ \
    X(EVENT, "event")                     /* a line for people: no answer is awaited */

enum effect_kind {
#define X(name, text) EFFECT_##name,
    EFFECT_KINDS(X)
#undef X
        EFFECT_KIND_COUNT
};
extern const char *const effect_kind_names[EFFECT_KIND_COUNT];

/* A condition as it shall be: what the API server has of that type is replaced. */
struct wanted_condition {
    struct str type, status, reason, message;
    struct opt_time last_transition_time;
    struct opt_int64 observed_generation; /* not set: not sent */
};

struct extender;

/* The object that an event is about. */
struct event_subject {
    struct str namespace, name, uid, resource_version; /* of a pod */
};

/* Texts and lists need to stay only until the host has taken the effect. */
struct effect {
    enum effect_kind kind;
    uint64_t ticket; /* comes back with the answer; 0: no answer is wanted */
    struct str namespace, name, uid, resource_version; /* of the object; an empty version matches any */
    struct str node;
    struct extender *by;                      /* BIND: the extender that does it; NULL: the host */
    const struct wanted_condition *condition; /* POD_STATUS; NULL: conditions stay */
    bool sets_nomination;       /* POD_STATUS: nominatedNodeName becomes `node`, "" takes it away */
    struct event_subject claim; /* PV_CLAIM: the claim that gets the volume */
    struct str body;            /* CLAIM_CREATE, CLAIM_PATCH, CLAIM_STATUS, POD_CLAIM, POD_UNCLAIM: JSON */
    bool
        prebound; /* PV_CLAIM: the volume named the claim before, so it does not count as bound by a controller */
    struct {      /* EVENT; regarding the object above */
        struct str api_version, kind; /* of the object; empty: a pod */
        struct str type, reason, action, note, scheduler_name;
        struct event_subject related; /* name.len 0: none */
    } event;
};

#define ANSWER_KINDS(X) \
    X(PENDING, "not answered yet") \
    X(DONE, "done") \
    X(GONE, "gone")         /* 404, or another object has the name now */ \
    X(CONFLICT, "conflict") /* 409: the object is not as it was thought */ \
    X(REFUSED, "refused")   /* nothing was done, and the same request will not do better */ \
    X(UNKNOWN, "unknown")   /* no answer, or one that does not say: 5xx, a timeout, a broken connection */ \
    X(UNSENT, "not sent")   /* the server cannot have acted on it: no connection, 429, 401 */

enum answer_kind {
#define X(name, text) ANSWER_##name,
    ANSWER_KINDS(X)
#undef X
        ANSWER_KIND_COUNT
};
extern const char *const answer_kind_names[ANSWER_KIND_COUNT];

struct answer {
    enum answer_kind kind;
    struct str message;          /* of a refusal: what the API server said */
    int64_t retry_after_ms;      /* Retry-After; 0: the server did not send it */
    struct str resource_version; /* DONE: of the object after the change, if known */
    struct str node;             /* READ_POD: spec.nodeName */
    struct str uid;              /* READ_POD, CLAIM_CREATE */
    struct str name;             /* CLAIM_CREATE: that it got */
    bool terminating;            /* READ_POD */
    bool in_doubt;               /* DONE: maybe; a conflict that may have been its own earlier attempt */
};

static inline bool answer_is_fact(enum answer_kind kind)
{
    return kind != ANSWER_PENDING && kind != ANSWER_UNKNOWN && kind != ANSWER_UNSENT;
}

struct event_subject event_subject_of(const struct meta *meta);
/* With all texts in the arena. */
struct event_subject event_subject_copy(struct arena *arena, struct event_subject from);
struct wanted_condition condition_copy(struct arena *arena, const struct wanted_condition *from);
/* The same, of an effect that has an answer. */
struct effect effect_copy(struct arena *arena, const struct effect *from);
/* Why a write of an object failed: the message of the API server, or the one that it usually gives. */
struct str answer_text(const struct answer *answer, const char *resource, struct str name,
                       struct arena *arena);

/* Takes an effect. The answer comes later and from outside, never from within. */
typedef void (*effect_emit)(void *host, const struct effect *effect);

#endif
