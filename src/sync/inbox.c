/* inbox.c: a list under a lock. The core takes the complete list in one step and walks it without the lock. */
#include "sync/inbox.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread.h"

struct inbox {
    struct monitor monitor;
    struct list messages;
    void (*prepare)(struct inbox_message *message); /* may be NULL */
    atomic_size_t depth;
};

struct inbox *inbox_new(void)
{
    struct inbox *inbox = xcalloc(1, sizeof(*inbox));
    monitor_init(&inbox->monitor);
    return inbox;
}

void inbox_free(struct inbox *inbox)
{
    if (!inbox)
        return;
    list_for_each(&inbox->messages, struct inbox_message, message, link)
        inbox_message_free(message);
    monitor_release(&inbox->monitor);
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
    if (inbox->prepare)
        inbox->prepare(message);
    monitor_lock(&inbox->monitor);
    list_append(&inbox->messages, &message->link);
    atomic_fetch_add_explicit(&inbox->depth, 1, memory_order_relaxed);
    monitor_unlock(&inbox->monitor);
    monitor_wake(&inbox->monitor);
}

struct list inbox_take(struct inbox *inbox, int64_t until_ns)
{
    monitor_lock(&inbox->monitor);
    bool waits = until_ns > 0;
    while (waits && list_empty(&inbox->messages))
        waits = monitor_wait(&inbox->monitor, until_ns);
    struct list messages = inbox->messages;
    inbox->messages = (struct list){ 0 };
    atomic_store_explicit(&inbox->depth, 0, memory_order_relaxed);
    monitor_unlock(&inbox->monitor);
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
