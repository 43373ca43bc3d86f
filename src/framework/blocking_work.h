/* blocking_work.h: PreBind and Bind of loaded plugins, which may block, off the core thread.
 *
 *     core:    work_run() ──▶ Wait ──▶ ... other pods ... ──▶ WORK_DONE ──▶ work_run() ──▶ the status
 *     worker:        └──▶ call(a copy of the cycle, the node's name) ──┘
 *
 * The copy has no cluster and an arena of its own: nothing that moves can be reached from it. What it does reach (the
 * pod, the plugin's state of the cycle) lives until the work is done: the owner of the cycle keeps it while
 * work_busy(). Without a writer (offline) the call is made at once, on the spot.
 *
 * The reader of the mailbox may take the work over instead (a replay: what came of it is known): then nothing is
 * called, and work_conclude() gives the status. */
#ifndef FRAMEWORK_BLOCKING_WORK_H
#define FRAMEWORK_BLOCKING_WORK_H

#include "base/workers.h"
#include "framework/plugin.h"
#include "framework/plugin_message.h"

typedef struct status (*work_call)(struct cycle *cycle, struct str node);

struct cycle_work {
    struct worker_job job;
    struct plugin_message message; /* that it is done */
    struct mailbox *mailbox;       /* where the message goes */
    struct cycle cycle;            /* the copy */
    struct arena arena;            /* of the copy */
    struct cycle *origin;
    work_call call;
    struct str node;
    uint64_t number;   /* in the order of the beginnings */
    bool binds;        /* it is Bind, not PreBind */
    const void *state; /* the plugin's of the cycle, when it began */
    struct status status;
    bool done; /* core thread only: the message was read */
    atomic_bool cancelled;
};

/* Wait: call again when the message has come. */
struct status work_run(struct cycle *cycle, uint32_t row, bool binds, work_call call);
/* The work of a message PLUGIN_MESSAGE_WORK_DONE. */
static inline const struct cycle_work *work_of(const struct plugin_message *message)
{
    return container_of(message, struct cycle_work, message);
}
/* The message of this work was read. Gives the cycle that it belongs to. */
struct cycle *work_done(struct plugin_message *message);
/* The status of work that was taken over, which is copied. Returns the message that is to be posted. */
struct plugin_message *work_conclude(struct cycle_work *work, struct status status);

/* ---- for the owner of the cycle ---- */
/* Is the work still running? */
bool work_busy(const struct cycle *cycle);
/* Its result is no longer needed; the plugin can find out with work_cancelled(). */
void work_cancel(struct cycle *cycle);
bool work_cancelled(const struct cycle *cycle);
/* Frees what is left of work whose result was not needed. */
void work_release(struct cycle *cycle);
/* Is this thread doing blocking work, so that it must not touch the cluster? */
bool work_is_here(void);

#endif
