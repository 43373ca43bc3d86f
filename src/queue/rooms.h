/* rooms.h: where rejected and gated pods wait: a room for each profile, set of rejectors and gate.
 *
 * An event is for some plugins. Rooms whose rejectors are none of them are passed over whole. Empty rooms stay for the
 * next pod that is rejected alike, up to a number. */
#ifndef QUEUE_ROOMS_H
#define QUEUE_ROOMS_H

#include "queue/queue.h"

struct room {
    uint32_t profile;
    uint64_t unschedulable, pending;
    int32_t gate;
    VEC(struct queued_pod *) pods;
};

/* The entry waits in the room that its rejectors and its gate name. */
void rooms_enter(struct queue *queue, struct queued_pod *entry);
void rooms_leave(struct queue *queue, struct queued_pod *entry);
void rooms_release(struct queue *queue);

#endif
