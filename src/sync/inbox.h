/* inbox.h: what I/O threads have for the core thread, in the order in which it came.
 *
 *     reflector, writer, lease, timer ──inbox_post()──▶ [ letter, letter, ... ] ──inbox_take()──▶ core thread
 *
 * Any number of threads post, one takes, all at once and in a batch. A letter is owned by the inbox until it is
 * taken, then by the core. */
#ifndef SYNC_INBOX_H
#define SYNC_INBOX_H

#include "api/object.h"
#include "engine/inputs.h"
#include "framework/effects.h"

#define LETTER_KINDS(X) \
    WATCH_INPUTS(X) /* REMOVE has the last known version in `object` */ \
    X(ANSWER, )     /* to an effect */ \
    X(CALL, )       /* call(context) on the core thread: signals, leases, requests of serve/ */

enum letter_kind {
#define X(name, handler) LETTER_##name,
    LETTER_KINDS(X)
#undef X
};

/* A decoded object with the memory it lives in. The core keeps it until it is replaced or removed. */
struct live_object {
    struct arena arena;
    struct object object;
    uint32_t round; /* for who keeps it: in which list it was seen last */
};

struct letter {
    enum letter_kind kind;
    struct letter *next;
    enum api_kind api_kind;     /* of SET, REMOVE, LIST_*, ABSENT */
    struct live_object *object; /* SET, REMOVE: taken over by who takes the letter */
    uint64_t ticket;            /* ANSWER */
    struct answer answer;       /* its texts live in `texts` */
    struct arena texts;
    struct strbuf record; /* what a journal keeps of it; empty without one */
    void (*call)(void *context);
    void (*drop)(
        void *context); /* CALL: frees the context of a letter that is never called; NULL: nothing to free */
    void *context;
};

struct inbox;

struct inbox *inbox_new(void);
void inbox_free(struct inbox *inbox);
/* A zeroed letter of a kind. */
struct letter *letter_new(enum letter_kind kind);
/* Frees the letter, with its object and its context if it still has them. */
void letter_free(struct letter *letter);
/* From now on each letter goes through this on the thread that posts it, before it is in the inbox. Before anybody
 * posts. */
void inbox_prepare(struct inbox *inbox, void (*prepare)(struct letter *letter));
/* From any thread; takes the letter over. */
void inbox_post(struct inbox *inbox, struct letter *letter);
/* All letters that are there, first to last by `next`; NULL: none. Waits until until_ns (by monotonic_ns()) for the
 * first one; 0 does not wait, INT64_MAX waits for as long as it takes. */
struct letter *inbox_take(struct inbox *inbox, int64_t until_ns);
/* How many were posted and not taken. */
size_t inbox_depth(const struct inbox *inbox);

struct live_object *live_object_new(void);
void live_object_free(struct live_object *object);

#endif
