/* ring.h: a ring buffer of items of any length: the newest overwrite the oldest.
 *
 *     tail                                    head        positions only grow; an item's bytes lie at position % bytes
 *      │ item │ item │ item │ ...  │ item │    ▲
 *
 * An item is a head of fixed size that the caller defines, some bytes of its own, and a body. Items with equal bodies
 * share that of the first. Nothing is allocated after ring_new(). */
#ifndef DEBUG_RING_H
#define DEBUG_RING_H

#include "base/str.h"

struct ring;

/* Of `bytes`, with heads of `head_bytes`. */
struct ring *ring_new(size_t bytes, size_t head_bytes);
void ring_free(struct ring *ring);

/* False: it is too long to keep, a quarter of the ring or more. */
bool ring_add(struct ring *ring, const void *head, struct str own, struct str body);

struct ring_item {
    const void *head;
    struct str own, body;
    bool body_gone; /* it was shared, and the item that holds it was overwritten */
};
/* From the oldest to the newest; texts live until the next ring_add(). */
void ring_each(const struct ring *ring, void (*visit)(void *context, const struct ring_item *item),
               void *context);

#endif
