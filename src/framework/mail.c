/* mail.c: a list that grows at one end by compare and swap, and is taken whole; see mail.h. */
#include "framework/mail.h"

#include <stdlib.h>

static struct str keep(char **at, struct str text)
{
    char *to = *at;
    if (text.len)
        memcpy(to, text.ptr, text.len);
    *at += text.len;
    return (struct str){ to, text.len };
}

struct mail *mail_new(enum mail_kind kind, const struct plugin *plugin, struct str namespace, struct str name,
                      struct str uid, struct str reason)
{
    struct mail *mail = xcalloc(1, sizeof(*mail) + (size_t)namespace.len + name.len + uid.len + reason.len);
    char *texts = (char *)(mail + 1);
    *mail = (struct mail){ .kind = kind, .plugin = plugin };
    mail->namespace = keep(&texts, namespace);
    mail->name = keep(&texts, name);
    mail->uid = keep(&texts, uid);
    mail->reason = keep(&texts, reason);
    return mail;
}

void mail_free(struct mail *mail)
{
    if (mail->kind != MAIL_WORK_DONE)
        free(mail);
}

void mailbox_post(struct mailbox *box, struct mail *mail)
{
    /* Once it is in the list it may be read and freed, and so may be the box, should it be the last of its profile:
     * neither is touched after that. Without a reader nothing is freed. */
    const struct mail_reader *reader = atomic_load_explicit(&box->reader, memory_order_acquire);
    mail->next = atomic_load_explicit(&box->newest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&box->newest, &mail->next, mail, memory_order_release,
                                                  memory_order_relaxed))
        ;
    if (!reader)
        reader = atomic_load_explicit(&box->reader, memory_order_acquire);
    if (reader && reader->wake)
        reader->wake(reader->context);
}

struct mail *mailbox_take(struct mailbox *box)
{
    struct mail *mail = atomic_exchange_explicit(&box->newest, NULL, memory_order_acquire), *first = NULL;
    while (mail) {
        struct mail *older = mail->next;
        mail->next = first;
        first = mail;
        mail = older;
    }
    return first;
}

void mailbox_release(struct mailbox *box)
{
    for (struct mail *mail = mailbox_take(box), *next; mail; mail = next) {
        next = mail->next;
        mail_free(mail);
    }
}
