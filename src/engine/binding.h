/* binding.h: pods on their way from a decision to their node.
 *
 *     decided ─▶ PERMIT ─▶ PRE_BIND ─▶ BIND ─▶ bound: stays on its node; the watch will say the same
 *                   │          │         │
 *                   └──────────┴─────────┴──▶ failed: the room is free, the pod goes back to the queue
 *
 * While a pod is here it occupies its node. A binding whose answer was lost, or that met a conflict, is not a failed
 * one: the pod is read, and the room stays taken until it is known where the pod is. */
#ifndef ENGINE_BINDING_H
#define ENGINE_BINDING_H

#include "engine/engine.h"

#define BINDING_STAGES(X) X(PERMIT, "waiting for permission") X(PRE_BIND, "preparing") X(BIND, "binding")

enum binding_stage {
#define X(name, text) BINDING_##name,
    BINDING_STAGES(X)
#undef X
        BINDING_STAGE_COUNT
};
extern const char *const binding_stage_names[BINDING_STAGE_COUNT];

struct binding_write;

struct pod_binding {
    struct engine *engine;
    struct strbuf key; /* pod_key() */
    struct cycle cycle;
    struct cycle_writer writer;
    struct arena arena;       /* of the cycle */
    struct pod_info *origin;  /* the version that was decided; referenced */
    struct pod_info *pod;     /* the newest version */
    int64_t stage_ns;         /* by the probe's clock: when the stage began */
    struct queued_pod *entry; /* in flight */
    uint32_t row;
    struct str node;      /* in the arena, as `elsewhere` */
    struct str elsewhere; /* somebody else has bound it to that node */
    enum binding_stage stage;
    bool advancing, ended;
    uint32_t resume;    /* where PreBind or Bind goes on */
    uint64_t waits_for; /* Permit plugins that have not allowed it yet, by index */
    int64_t *permit_ms; /* by index: for how long; in the arena */
    struct binding_write *writes;
    const struct binding_write *delegated; /* to an extender that binds */
    bool undelegated;                      /* it failed, which does not matter: the plugins bind */
    struct decision decision;              /* figures only */
    int64_t started_ns;
    size_t at;   /* in the list of those that wait */
    bool polled; /* is in that list */
};

/* The pod goes to `row`: from Reserve on. Takes over what the cycle holds. Where nothing has to be waited for, all is
 * done when this returns. */
void binding_begin(struct engine *engine, struct cycle *cycle, struct queued_pod *entry, uint32_t row,
                   int64_t now_ns, struct decision *ret);

struct pod_binding *binding_find(const struct engine *engine, const struct pod *pod);
/* The pod has a newer version, without a node; it has its place again. One that is being deleted has none, and the API
 * server would not bind it: that ends the binding. */
void binding_updated(struct pod_binding *binding, struct pod_info *pod, int64_t now_ns);
/* The watch says on which node it is. Ends the binding. */
void binding_seen(struct pod_binding *binding, struct pod_info *pod, int64_t now_ns);
/* The pod is gone. Ends the binding. */
void binding_dropped(struct pod_binding *binding);
/* Somebody more important needs the room. False: too late, it must be deleted. */
bool binding_preempt(struct pod_binding *binding, const char *plugin, int64_t now_ns);
/* A Permit plugin, by name, has made up its mind. */
void binding_allow(struct pod_binding *binding, const char *plugin, int64_t now_ns);
void binding_reject(struct pod_binding *binding, const char *plugin, struct str why, int64_t now_ns);

void bindings_tick(struct engine *engine, int64_t now_ns);
int64_t bindings_next_due(const struct engine *engine);
/* Nothing of the pod's status is under way any more: the binding that waited for that goes on. */
void bindings_idle(void *engine, struct str pod_key, int64_t now_ns);
/* Blocking work of a plugin for the binding that owns the cycle is over. */
void binding_work_done(struct cycle *cycle, int64_t now_ns);
/* The pods that wait for the plugin's permission, until visit says false. */
void bindings_each_waiting(const struct engine *engine, const struct plugin *plugin,
                           bool (*visit)(void *context, const struct pod_info *pod), void *context);
void bindings_release(struct engine *engine);

#endif
