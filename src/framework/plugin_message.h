/* plugin_message.h: messages of plugins' threads to the core thread.
 *
 *     a plugin's thread ──mailbox_post()──▶ [ message, message, ... ] ──mailbox_take()──▶ engine, between two decisions
 *
 * Each profile has a mailbox. Posting takes no lock and never blocks; the reader is woken. */
#ifndef FRAMEWORK_PLUGIN_MESSAGE_H
#define FRAMEWORK_PLUGIN_MESSAGE_H

#include <stdatomic.h>

#include "base/arena.h"

struct plugin;
struct pod_info;
struct cycle_work;
struct effect;

enum plugin_message_kind {
    PLUGIN_MESSAGE_ACTIVATE,  /* the pod is to be tried at once */
    PLUGIN_MESSAGE_ALLOW,     /* the plugin permits the pod */
    PLUGIN_MESSAGE_REFUSE,    /* ... or does not */
    PLUGIN_MESSAGE_WORK_DONE, /* blocking work of a cycle is over; the message is part of struct cycle_work */
};

struct plugin_message {
    struct plugin_message *next;
    enum plugin_message_kind kind;
    const struct plugin *plugin; /* the sender */
    struct str namespace, name;  /* of the pod */
    struct str uid;              /* likewise; empty: any pod of that name */
    struct str reason;           /* REFUSE */
    struct arena arena;          /* of the texts */
};

struct mailbox_reader {
    void (*wake)(void *context); /* from any thread */
    /* The pods that wait for the plugin's permission, until visit says false; on the core thread. */
    void (*each_waiting)(void *context, const struct plugin *plugin,
                         bool (*visit)(void *visitor, const struct pod_info *pod), void *visitor);
    /* Blocking work begins; on the core thread. NULL: a thread of the pool does it. */
    void (*takes_work)(void *context, struct cycle_work *work);
    /* Something to be done in the cluster of which nothing is expected; on the core thread. */
    void (*emit)(void *context, const struct effect *effect);
    void *context;
    uint64_t works; /* begun so far; core thread only */
};

struct mailbox {
    _Atomic(struct plugin_message *) newest;
    _Atomic(struct mailbox_reader *) reader; /* NULL: none yet */
};

/* A copy with texts of its own, for mailbox_post(). */
struct plugin_message *plugin_message_new(const struct plugin_message *from);
void plugin_message_free(struct plugin_message *message);

/* From any thread; takes the message over. */
void mailbox_post(struct mailbox *box, struct plugin_message *message);
/* All there is, oldest first by `next`; NULL: nothing. */
struct plugin_message *mailbox_take(struct mailbox *box);
static inline bool mailbox_empty(const struct mailbox *box)
{
    return !atomic_load_explicit(&box->newest, memory_order_relaxed);
}
void mailbox_release(struct mailbox *box);

#endif
