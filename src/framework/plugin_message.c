/* plugin_message.c: a list that grows at one end by compare and swap, and is taken at once; see plugin_message.h. */
#include "framework/plugin_message.h"

#include <stdlib.h>

struct plugin_message *plugin_message_new(const struct plugin_message *from)
{
    struct plugin_message *message = xmalloc(sizeof(*message));
    struct str *texts[] = { &message->namespace, &message->name, &message->uid, &message->reason };
    *message = *from;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        *texts[i] = arena_str(&message->arena, *texts[i]);
    return message;
}

void plugin_message_free(struct plugin_message *message)
{
    if (message->kind == PLUGIN_MESSAGE_WORK_DONE)
        return;
    arena_release(&message->arena);
    free(message);
}

void mailbox_post(struct mailbox *box, struct plugin_message *message)
{
    /* Once the message is in the list it may be read and freed, and so may be the box, should it be the last message of
     * its profile: neither is touched after that. Without a reader nothing is freed. */
    const struct mailbox_reader *reader = atomic_load_explicit(&box->reader, memory_order_acquire);
    message->next = atomic_load_explicit(&box->newest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&box->newest, &message->next, message, memory_order_release,
                                                  memory_order_relaxed))
        ;
    if (!reader)
        reader = atomic_load_explicit(&box->reader, memory_order_acquire);
    if (reader && reader->wake)
        reader->wake(reader->context);
}

struct plugin_message *mailbox_take(struct mailbox *box)
{
    struct plugin_message *message = atomic_exchange_explicit(&box->newest, NULL, memory_order_acquire);
    struct plugin_message *first = NULL;
    while (message) {
        struct plugin_message *older = message->next;
        message->next = first;
        first = message;
        message = older;
    }
    return first;
}

void mailbox_release(struct mailbox *box)
{
    for (struct plugin_message *message = mailbox_take(box), *next; message; message = next) {
        next = message->next;
        plugin_message_free(message);
    }
}
