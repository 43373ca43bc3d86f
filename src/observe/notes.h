/* notes.h: texts in a ring of bytes: what comes in last pushes out what came first.
 *
 *     tail                                    head        positions only grow; a note's bytes lie at position % bytes
 *      │ note │ note │ note │ ...  │ note │    ▲
 *
 * A note is a head of fixed size that the user reads and writes, some bytes of its own, and a body. Notes that say the
 * same share the body of the first. Nothing is allocated after notes_new(). */
#ifndef OBSERVE_NOTES_H
#define OBSERVE_NOTES_H

#include "base/str.h"

struct notes;

/* Room for `bytes`, with heads of `head_bytes`. */
struct notes *notes_new(size_t bytes, size_t head_bytes);
void notes_free(struct notes *notes);

/* False: it is too long to keep, a quarter of all the room or more. */
bool notes_add(struct notes *notes, const void *head, struct str own, struct str body);

struct note_text {
    const void *head;
    struct str own, body;
    bool body_gone; /* it was shared, and whoever had it first was pushed out */
};
/* From the oldest to the newest; texts live until the next notes_add(). */
void notes_each(const struct notes *notes, void (*visit)(void *context, const struct note_text *note),
                void *context);

#endif
