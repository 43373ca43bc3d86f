/* rooms.c: finds, fills and clears rooms. */
#include "queue/rooms.h"

enum { ROOMS_KEPT = 32 }; /* more than that: empty ones go */

static bool is_room_of(const struct room *room, const struct queued_pod *entry)
{
    return room->profile == entry->profile && room->unschedulable == entry->unschedulable &&
           room->pending == entry->pending && room->gate == entry->gate;
}

static void room_free(struct room *room)
{
    vec_release(&room->pods);
    free(room);
}

static struct room *room_for(struct queue *queue, const struct queued_pod *entry)
{
    vec_for(&queue->rooms, at)
        if (is_room_of(*at, entry))
            return *at;
    if (queue->rooms.len >= ROOMS_KEPT) {
        for (size_t i = queue->rooms.len; i-- > 0;) {
            if (queue->rooms.items[i]->pods.len)
                continue;
            room_free(queue->rooms.items[i]);
            vec_swap_remove(&queue->rooms, i);
        }
    }
    struct room *room = xcalloc(1, sizeof(*room));
    room->profile = entry->profile;
    room->unschedulable = entry->unschedulable;
    room->pending = entry->pending;
    room->gate = entry->gate;
    *vec_push(&queue->rooms) = room;
    return room;
}

void rooms_enter(struct queue *queue, struct queued_pod *entry)
{
    struct room *room = room_for(queue, entry);
    entry->room = room;
    entry->at = room->pods.len;
    *vec_push(&room->pods) = entry;
}

void rooms_leave(struct queue *queue, struct queued_pod *entry)
{
    (void)queue;
    struct room *room = entry->room;
    vec_swap_remove(&room->pods, entry->at);
    if (entry->at < room->pods.len)
        room->pods.items[entry->at]->at = entry->at;
    else if (!room->pods.len && room->pods.cap > 64) /* a crowd has left */
        vec_release(&room->pods);
    entry->room = NULL;
}

void rooms_release(struct queue *queue)
{
    vec_for(&queue->rooms, room)
        room_free(*room);
    vec_release(&queue->rooms);
}
