/* host_work.h: PreBind and Bind of loaded plugins, which may block, off the core thread.
 *
 *     core:    work_run() ──▶ Wait ──▶ ... other pods ... ──▶ MAIL_WORK_DONE ──▶ work_run() ──▶ the verdict
 *     worker:        └──▶ call(a copy of the cycle, the node's name) ──┘
 *
 * The copy has no cluster and an arena of its own: nothing that moves can be reached from it. What it does reach (the
 * pod, the plugin's state of the cycle) lives until the work is done: who owns the cycle keeps it while work_busy().
 * Without anybody to wait (no writer: offline) the call is made at once, on the spot. */
#ifndef FRAMEWORK_HOST_WORK_H
#define FRAMEWORK_HOST_WORK_H

#include "framework/plugin.h"

typedef struct status (*work_call)(struct cycle *cycle, struct str node);

/* Wait: call again when the mail has come. */
struct status work_run(struct cycle *cycle, uint32_t row, work_call call);
/* The mail of this work was read. Gives the cycle that it belongs to. */
struct cycle *work_done(struct cycle_work *work);
/* Is somebody still at it? */
bool work_busy(const struct cycle *cycle);
/* Nobody waits for it any more: the plugin may ask. */
void work_cancel(struct cycle *cycle);
bool work_cancelled(const struct cycle *cycle);
/* Frees what is left, after work that nobody asked for any more. */
void work_release(struct cycle *cycle);

#endif
