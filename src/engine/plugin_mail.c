/* plugin_mail.c: see plugin_mail.h. A pod that is gone, or does not wait, is passed over. */
#include "engine/plugin_mail.h"

#include "engine/binding.h"
#include "framework/host_work.h"

static void wake(void *context)
{
    const struct engine *engine = context;
    if (engine->host.wake)
        engine->host.wake(engine->host.context);
}

static void each_waiting(void *context, const struct plugin *plugin,
                         bool (*visit)(void *visitor, const struct pod_info *pod), void *visitor)
{
    bindings_each_waiting(context, plugin, visit, visitor);
}

void plugin_mail_open(struct engine *engine, struct profile *profile)
{
    engine->mail_reader =
        (struct mail_reader){ .wake = wake, .each_waiting = each_waiting, .context = engine };
    atomic_store_explicit(&profile->mailbox.reader, &engine->mail_reader, memory_order_release);
}

/* Takes the mail over. One of work that is done goes with the work, maybe at once. */
static void act(struct engine *engine, struct mail *mail, int64_t now_ns)
{
    if (mail->kind == MAIL_WORK_DONE) {
        binding_work_done(work_done(mail->work), now_ns);
        return;
    }
    struct pod_info *pod = cluster_find_pod(engine->cluster, mail->namespace, mail->name);
    struct pod_binding *binding = pod ? binding_find(engine, pod->api) : NULL;
    if (pod && mail->kind == MAIL_ACTIVATE)
        queue_activate(&engine->queue, pod, now_ns);
    else if (binding && mail->kind == MAIL_ALLOW)
        binding_allow(binding, mail->plugin->name, now_ns);
    else if (binding && mail->kind == MAIL_REFUSE)
        binding_reject(binding, mail->plugin->name, mail->reason, now_ns);
    mail_free(mail);
}

void plugin_mail_read(struct engine *engine, int64_t now_ns)
{
    for (uint32_t i = 0; i < engine->profiles_len; i++) {
        if (mailbox_empty(&engine->profiles[i].mailbox))
            continue;
        for (struct mail *mail = mailbox_take(&engine->profiles[i].mailbox), *next; mail; mail = next) {
            next = mail->next;
            act(engine, mail, now_ns);
        }
    }
}

bool plugin_mail_waits(const struct engine *engine)
{
    for (uint32_t i = 0; i < engine->profiles_len; i++)
        if (!mailbox_empty(&engine->profiles[i].mailbox))
            return true;
    return false;
}
