/* mail.h: what threads of plugins have to say to the core thread.
 *
 *     a plugin's thread ──mailbox_post()──▶ [ mail, mail, ... ] ──mailbox_take()──▶ engine, between two decisions
 *
 * Each profile has a box. Posting takes no lock and never blocks; who reads is woken. */
#ifndef FRAMEWORK_MAIL_H
#define FRAMEWORK_MAIL_H

#include <stdatomic.h>

#include "base/str.h"

struct plugin;
struct pod_info;
struct cycle_work;

enum mail_kind {
    MAIL_ACTIVATE,  /* the pod is to be tried at once */
    MAIL_ALLOW,     /* the plugin permits the pod */
    MAIL_REFUSE,    /* ... or does not */
    MAIL_WORK_DONE, /* blocking work of a cycle is over; the mail is part of it */
};

struct mail {
    struct mail *next;
    enum mail_kind kind;
    const struct plugin *plugin; /* who says so */
    struct cycle_work *work;     /* WORK_DONE */
    struct str namespace, name;  /* of the pod */
    struct str uid;              /* likewise; empty: any pod of that name */
    struct str reason;           /* REFUSE */
};

/* Who reads the box. */
struct mail_reader {
    void (*wake)(void *context); /* from any thread */
    /* The pods that wait for the plugin's permission, until visit says false; on the core thread. */
    void (*each_waiting)(void *context, const struct plugin *plugin,
                         bool (*visit)(void *visitor, const struct pod_info *pod), void *visitor);
    /* Blocking work begins; on the core thread. NULL: a thread of the pool does it. */
    void (*takes_work)(void *context, struct cycle_work *work);
    void *context;
    uint64_t works; /* begun so far; core thread only */
};

struct mailbox {
    _Atomic(struct mail *) newest;
    _Atomic(struct mail_reader *) reader; /* NULL: none yet */
};

/* A mail about a pod; texts are copied. */
struct mail *mail_new(enum mail_kind kind, const struct plugin *plugin, struct str namespace, struct str name,
                      struct str uid, struct str reason);
void mail_free(struct mail *mail);

/* From any thread; takes the mail over. */
void mailbox_post(struct mailbox *box, struct mail *mail);
/* All there is, oldest first by `next`; NULL: nothing. */
struct mail *mailbox_take(struct mailbox *box);
static inline bool mailbox_empty(const struct mailbox *box)
{
    return !atomic_load_explicit(&box->newest, memory_order_relaxed);
}
void mailbox_release(struct mailbox *box);

#endif
