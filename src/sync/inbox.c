/* inbox.c: a list under a lock. Who posts wakes the taker only when it sleeps, so that a burst costs one
 * wake-up; who takes empties the list in one step and walks it without the lock. */
#include "sync/inbox.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct inbox {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct inbox_message *first, **end;
    bool sleeping;
    void (*prepare)(struct inbox_message *message); /* may be NULL */
    atomic_size_t depth;
};

struct inbox *inbox_new(void)
{
    struct inbox *inbox = xcalloc(1, sizeof(*inbox));
    pthread_condattr_t attributes;
    pthread_mutex_init(&inbox->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* as monotonic_ns() */
    pthread_cond_init(&inbox->filled, &attributes);
    pthread_condattr_destroy(&attributes);
    inbox->end = &inbox->first;
    return inbox;
}

void inbox_free(struct inbox *inbox)
{
    if (!inbox)
        return;
    for (struct inbox_message *message = inbox->first, *next; message; message = next) {
        next = message->next;
        inbox_message_free(message);
    }
    pthread_cond_destroy(&inbox->filled);
    pthread_mutex_destroy(&inbox->lock);
    free(inbox);
}

struct inbox_message *inbox_message_new(enum inbox_message_kind kind)
{
    struct inbox_message *message = xcalloc(1, sizeof(*message));
    message->kind = kind;
    return message;
}

void inbox_message_free(struct inbox_message *message)
{
    if (!message)
        return;
    live_object_free(message->object);
    if (message->drop)
        message->drop(message->context);
    arena_release(&message->texts);
    strbuf_release(&message->record);
    free(message);
}

void inbox_prepare(struct inbox *inbox, void (*prepare)(struct inbox_message *message))
{
    inbox->prepare = prepare;
}

void inbox_post(struct inbox *inbox, struct inbox_message *message)
{
    message->next = NULL;
    if (inbox->prepare)
        inbox->prepare(message);
    pthread_mutex_lock(&inbox->lock);
    *inbox->end = message;
    inbox->end = &message->next;
    atomic_fetch_add_explicit(&inbox->depth, 1, memory_order_relaxed);
    bool wake = inbox->sleeping;
    inbox->sleeping = false;
    pthread_mutex_unlock(&inbox->lock);
    if (wake)
        pthread_cond_signal(&inbox->filled);
}

/* Under the lock. Wake-ups without a message happen; only a message or the time ends it. */
static void wait_for_message(struct inbox *inbox, int64_t until_ns)
{
    struct timespec until = { .tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000 };
    int r = 0;
    while (!inbox->first && r == 0) {
        inbox->sleeping = true;
        r = until_ns == INT64_MAX ? pthread_cond_wait(&inbox->filled, &inbox->lock)
                                  : pthread_cond_timedwait(&inbox->filled, &inbox->lock, &until);
    }
    inbox->sleeping = false;
}

struct inbox_message *inbox_take(struct inbox *inbox, int64_t until_ns)
{
    pthread_mutex_lock(&inbox->lock);
    if (!inbox->first && until_ns > 0)
        wait_for_message(inbox, until_ns);
    struct inbox_message *messages = inbox->first;
    inbox->first = NULL;
    inbox->end = &inbox->first;
    atomic_store_explicit(&inbox->depth, 0, memory_order_relaxed);
    pthread_mutex_unlock(&inbox->lock);
    return messages;
}

size_t inbox_depth(const struct inbox *inbox)
{
    return atomic_load_explicit(&inbox->depth, memory_order_relaxed);
}

struct live_object *live_object_new(void)
{
    return xcalloc(1, sizeof(struct live_object));
}

void live_object_free(struct live_object *object)
{
    if (!object)
        return;
    arena_release(&object->arena);
    free(object);
}
