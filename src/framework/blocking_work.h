/* blocking_work.h: PreBind and Bind of loaded plugins, which may block, off the core thread.
 *
 *     core:    work_run() ──▶ Wait ──▶ ... other pods ... ──▶ MAIL_WORK_DONE ──▶ work_run() ──▶ the status
 *     worker:        └──▶ call(a copy of the cycle, the node's name) ──┘
 *
 * The copy has no cluster and an arena of its own: nothing that moves can be reached from it. What it does reach (the
 * pod, the plugin's state of the cycle) lives until the work is done: who owns the cycle keeps it while work_busy().
 * Without anybody to wait (no writer: offline) the call is made at once, on the spot.
 *
 * Who reads the mail may take the work over instead (a replay: what came of it is known): then nothing is called, and
 * work_conclude() gives the status. Work has a number, in the order of its beginnings. */
#ifndef FRAMEWORK_BLOCKING_WORK_H
#define FRAMEWORK_BLOCKING_WORK_H

#include "framework/plugin.h"

typedef struct status (*work_call)(struct cycle *cycle, struct str node);

/* Wait: call again when the mail has come. `binds`: it is Bind, not PreBind. */
struct status work_run(struct cycle *cycle, uint32_t row, bool binds, work_call call);
/* The mail of this work was read. Gives the cycle that it belongs to. */
struct cycle *work_done(struct cycle_work *work);

/* ---- for who hears of it, or takes it over ---- */
uint64_t work_number(const struct cycle_work *work);
const struct pod *work_pod(const struct cycle_work *work);
struct str work_node(const struct cycle_work *work);
bool work_binds(const struct cycle_work *work);
/* What came of it, once its mail is there. */
struct status work_status(const struct cycle_work *work);
/* The status of work that was taken over, which is copied. Returns the mail that is to be posted. */
struct mail *work_conclude(struct cycle_work *work, struct status status);
/* Where its mail goes. */
struct mailbox *work_mailbox(const struct cycle_work *work);

/* ---- for who owns the cycle ---- */
/* Is the work still running? */
bool work_busy(const struct cycle *cycle);
/* Its result is no longer needed; the plugin can ask for that. */
void work_cancel(struct cycle *cycle);
bool work_cancelled(const struct cycle *cycle);
/* Frees what is left of work whose result was not needed. */
void work_release(struct cycle *cycle);
/* Is this thread at blocking work, so that it must not touch the cluster? */
bool work_is_here(void);

#endif
