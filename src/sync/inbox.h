/* inbox.h: what I/O threads have for the core thread, in the order in which it came.
 *
 *     reflector, writer, lease, timer ──inbox_post()──▶ [ message, message, ... ] ──inbox_take()──▶ core thread
 *
 * Any number of threads post, one takes, all at once and in a batch. A message is owned by the inbox until it is
 * taken, then by the core.
 *
 * While the core is busy for long, what waits here does not grow with the number of changes: once there are many
 * messages, the newest state of an object takes the place of an older one that was not taken yet.
 *
 *     SET SET         the newer object in the place of the older message
 *     SET REMOVE      REMOVE in its place
 *     REMOVE SET      both: it is another object, or may be
 *     SET, PARTIAL    both: what a partial object means depends on the version before it
 *
 * An object keeps the place of its first message, so pods stay in the order in which they came. Between two kinds, and
 * between objects and answers, there is no order that the core could rely on: they come over different requests.
 * LIST_*, DOUBT and ABSENT stay where they are, and nothing of their kind is merged across them: what a list has is
 * found between its beginning and its end, and a deletion that no watch has shown is found by its end. The core sees a
 * history that the API server could have shown to a slower watch, and a recording has what the core saw. */
#ifndef SYNC_INBOX_H
#define SYNC_INBOX_H

#include "api/object.h"
#include "base/list.h"
#include "engine/inputs.h"
#include "framework/effects.h"

#define MESSAGE_KINDS(X) \
    WATCH_INPUTS(X) /* REMOVE has the last known version in `object` */ \
    WATCH_INPUTS_LATER(X) \
    X(ANSWER, ) /* to an effect */ \
    X(CALL, )   /* call(context) on the core thread: signals, leases, requests of serve/ */

enum inbox_message_kind {
#define X(name, handler) MESSAGE_##name,
    MESSAGE_KINDS(X)
#undef X
};

/* A decoded object with the memory it lives in. The core keeps it until it is replaced or removed. */
struct live_object {
    struct arena arena;
    struct object object;
    uint32_t round; /* the mirror's: in which list it was seen last */
};

struct inbox_message {
    enum inbox_message_kind kind;
    struct list_link link;
    enum api_kind api_kind;     /* of SET, REMOVE, PARTIAL, LIST_*, DOUBT, ABSENT */
    struct live_object *object; /* SET, REMOVE; PARTIAL: may be NULL */
    uint64_t ticket;            /* ANSWER */
    struct answer answer;       /* its texts live in `texts` */
    struct arena texts;
    struct strbuf record; /* what a journal keeps of it; empty without one */
    /* The inbox's: between which messages about lists of its kind it stands, and the SET that a PARTIAL follows. */
    uint32_t epoch;
    struct inbox_message *base;
    void (*call)(void *context);
    void (*drop)(
        void *context); /* CALL: frees the context of a message that is never called; NULL: nothing to free */
    void *context;
};

struct inbox;

struct inbox *inbox_new(void);
void inbox_free(struct inbox *inbox);
/* A zeroed message of a kind. */
struct inbox_message *inbox_message_new(enum inbox_message_kind kind);
/* Frees the message, with its object and its context if it still has them. */
void inbox_message_free(struct inbox_message *message);
/* From now on each message goes through this on the thread that posts it, before it is in the inbox. Before the
 * first message. */
void inbox_prepare(struct inbox *inbox, void (*prepare)(struct inbox_message *message));
/* From any thread; takes the message over. */
void inbox_post(struct inbox *inbox, struct inbox_message *message);
/* All messages that are there, first to last. Waits until until_ns (by monotonic_ns()) for the first one; 0 does not
 * wait, INT64_MAX waits for as long as it takes. */
struct list inbox_take(struct inbox *inbox, int64_t until_ns);
/* The first of those that were taken, which is the caller's from then on; NULL: there are no more. */
static inline struct inbox_message *inbox_next(struct list *taken)
{
    return list_take(taken, struct inbox_message, link);
}
/* How many were posted and not taken; about a kind of objects only. */
size_t inbox_depth(const struct inbox *inbox);
size_t inbox_depth_of(const struct inbox *inbox, enum api_kind kind);

/* Is the event of a watch older than what is known of the same object? */
bool meta_is_older(const struct meta *known, const struct meta *meta);

struct live_object *live_object_new(void);
void live_object_free(struct live_object *object);

#endif
