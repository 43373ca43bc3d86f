/* wait_lists.h: the lists in which rejected and gated pods wait: one for each profile, set of rejecting plugins and
 * gate.
 *
 * An event concerns some plugins. Lists of pods that none of them rejected are passed over. An empty list stays
 * for the next pod that is rejected alike, up to a number of lists. */
#ifndef QUEUE_WAIT_LISTS_H
#define QUEUE_WAIT_LISTS_H

#include "queue/queue.h"

struct wait_list {
    uint32_t profile;
    uint64_t unschedulable, pending;
    int32_t gate;
    VEC(struct queued_pod *) pods;
};

/* The entry waits in the list of its rejecting plugins and its gate. */
void wait_lists_add(struct queue *queue, struct queued_pod *entry);
void wait_lists_remove(struct queued_pod *entry);
void wait_lists_release(struct queue *queue);

#endif
