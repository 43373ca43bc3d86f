/* binding.h: pods on their way from a decision to their node.
 *
 *     decided ─▶ PERMIT ─▶ (ANNOUNCE) ─▶ PRE_BIND ─▶ BIND ─▶ bound: stays on its node; the watch will confirm it
 *                   │          │            │         │
 *                   └──────────┴────────────┴─────────┴──▶ failed: the node's resources are free, the pod goes back to
 *                                                          the queue
 *
 * ANNOUNCE is there where other schedulers share the nodes (announce.h).
 *
 * While a pod is here it occupies its node. A binding whose answer was lost, or that met a conflict, has not failed:
 * the pod is read, and the resources stay taken until it is known where the pod is (binding_write.h). */
#ifndef ENGINE_BINDING_H
#define ENGINE_BINDING_H

#include "engine/engine.h"

#define BINDING_STAGES(X) \
    X(PERMIT, "waiting for permission") \
    X(ANNOUNCE, "announcing") \
    X(PRE_BIND, "preparing") \
    X(BIND, "binding")

enum binding_stage {
#define X(name, text) BINDING_##name,
    BINDING_STAGES(X)
#undef X
        BINDING_STAGE_COUNT
};
extern const char *const binding_stage_names[BINDING_STAGE_COUNT];

struct binding_write;
struct permit_place;

struct pod_binding {
    struct engine *engine;
    struct cycle cycle;
    struct cycle_writer writer;
    struct arena arena;       /* of the cycle */
    struct pod_info *origin;  /* the version that was decided; referenced */
    struct pod_info *pod;     /* the newest version; referenced */
    int64_t stage_ns;         /* by the probe's clock: when the stage began */
    struct queued_pod *entry; /* in flight */
    uint32_t row;             /* held: it means the same node until the end */
    struct str key;           /* pod_key(); in the arena, as the next two */
    struct str node;
    struct str elsewhere; /* another client has bound the pod to that node */
    enum binding_stage stage;
    bool advancing, ended;
    uint32_t resume;    /* where PreBind or Bind goes on */
    uint64_t waits_for; /* Permit plugins that have not allowed it yet, by index */
    int64_t *permit_ms; /* by index: for how long; in the arena */
    struct binding_write *writes;
    const struct binding_write *delegated; /* to an extender that binds */
    bool undelegated;                      /* that failed and is ignored: the plugins bind */
    struct decision decision;              /* figures only */
    int64_t started_ns;
    bool has_room, looks;        /* announce.h: its room is granted; it is in engine.looks */
    bool is_withdrawn;           /* it has no room there, and may have some elsewhere */
    int64_t room_until_ns;       /* how long it waits for others to withdraw; 0: it does not */
    uint64_t number;             /* in the order of the beginnings */
    int64_t due_ns;              /* in engine.due; 0: is not there */
    size_t due_at;               /* in engine.due */
    size_t at;                   /* in engine.watching */
    bool watches;                /* is there */
    struct permit_place *places; /* by index, as waits_for: in engine.permit_lists */
};

/* The pod goes to `row`: from Reserve on. Takes over what the cycle holds. If nothing has to be waited for, all is done
 * when this returns. */
void binding_begin(struct engine *engine, struct cycle *cycle, struct queued_pod *entry, uint32_t row,
                   int64_t now_ns, struct decision *ret);
struct pod_binding *binding_find(const struct engine *engine, const struct pod *pod);

/* What happens to a pod that is being bound; binding.c has a table of what that means in each stage. */
#define BINDING_EVENTS(X) \
    X(ALLOWED)     /* by the Permit plugin `plugin` */ \
    X(REJECTED)    /* by the Permit plugin `plugin`, which says `why` */ \
    X(PREEMPTED)   /* by `plugin`: a more important pod needs the resources */ \
    X(UPDATED)     /* `pod` is a newer version without a node; it has its place again */ \
    X(TERMINATING) /* so is this one, and the API server would not bind it */ \
    X(BOUND)       /* `pod` is a newer version with a node */ \
    X(GONE)        /* the pod was deleted */ \
    X(REPLACED)    /* likewise, and another one has its name */ \
    X(ROOM)        /* it has its room for good (announce.h) */ \
    X(NO_ROOM)     /* it has none, for the reason `why` */ \
    X(IDLE)        /* no write of the pod's status is under way any more */ \
    X(ANSWERED)    /* a write of a plugin, or blocking work of one, is over */ \
    X(DUE)         /* the time has come that it waits for */ \
    X(CHANGED)     /* an object that PreBind may wait for has changed */

enum binding_event_kind {
#define X(name) BINDING_ON_##name,
    BINDING_EVENTS(X)
#undef X
        BINDING_EVENT_COUNT
};

struct binding_event {
    enum binding_event_kind kind;
    int64_t now_ns;
    const char *plugin;
    struct str why;
    struct pod_info *pod;
};

/* False: it means nothing in this stage. */
bool binding_event(struct pod_binding *binding, const struct binding_event *event);

/* BINDING_ON_DUE at that time; 0: at no time. */
void binding_due(struct pod_binding *binding, int64_t due_ns);

void bindings_init(struct engine *engine);
void bindings_tick(struct engine *engine, int64_t now_ns);
int64_t bindings_next_due(const struct engine *engine);
/* BINDING_ON_IDLE for the pod with that key, if it is being bound. */
void bindings_idle(void *engine, struct str pod_key, int64_t now_ns);
/* The pods that wait for the plugin's permission, in the order in which they came, until visit says false. */
void bindings_each_waiting(void *engine, const struct plugin *plugin,
                           bool (*visit)(void *context, const struct pod_info *pod), void *context);
void bindings_release(struct engine *engine);

#endif
