/* plugin_messages.c: see plugin_messages.h. A pod that is gone, or does not wait, is passed over. */
#include "engine/plugin_messages.h"

#include "engine/binding.h"
#include "framework/blocking_work.h"

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

static void take_work(void *context, struct cycle_work *work)
{
    const struct engine *engine = context;
    engine->host.takes_work(engine->host.context, work);
}

void plugin_messages_open(struct engine *engine, struct profile *profile)
{
    if (!engine->mail_reader.wake) /* later on, threads of plugins may be reading it */
        engine->mail_reader = (struct mail_reader){ .wake = wake,
                                                    .each_waiting = each_waiting,
                                                    .takes_work = engine->host.takes_work ? take_work : NULL,
                                                    .context = engine };
    atomic_store_explicit(&profile->mailbox.reader, &engine->mail_reader, memory_order_release);
}

/* Takes the message over. One about work that is done is freed with the work. */
static void act(struct engine *engine, struct mail *mail, int64_t now_ns)
{
    if (engine->host.on_plugin_message)
        engine->host.on_plugin_message(engine->host.context, mail, now_ns);
    if (mail->kind == MAIL_WORK_DONE) {
        struct pod_binding *binding = container_of(work_done(mail->work), struct pod_binding, cycle);
        binding_event(binding, &(struct binding_event){ BINDING_ON_ANSWERED, now_ns });
        return;
    }
    struct pod_info *pod = cluster_find_pod(engine->cluster, mail->namespace, mail->name);
    if (pod && mail->uid.len && !str_eq(mail->uid, pod->api->meta.uid))
        pod = NULL; /* another one has the name now */
    struct pod_binding *binding = pod ? binding_find(engine, pod->api) : NULL;
    if (pod && mail->kind == MAIL_ACTIVATE)
        queue_activate(&engine->queue, pod, now_ns);
    else if (binding && mail->kind != MAIL_ACTIVATE)
        binding_event(binding,
                      &(struct binding_event){ .kind = mail->kind == MAIL_ALLOW ? BINDING_ON_ALLOWED
                                                                                : BINDING_ON_REJECTED,
                                               .now_ns = now_ns,
                                               .plugin = mail->plugin->name,
                                               .why = mail->reason });
    mail_free(mail);
}

static void act_on(struct engine *engine, struct mailbox *box, int64_t now_ns)
{
    if (mailbox_empty(box))
        return;
    for (struct mail *mail = mailbox_take(box), *next; mail; mail = next) {
        next = mail->next;
        act(engine, mail, now_ns);
    }
}

static void read_profiles(struct engine *engine, const struct generation *generation, int64_t now_ns)
{
    for (uint32_t i = 0; i < generation->len; i++) {
        struct mailbox *box = &generation->profiles[i].mailbox;
        if (engine->host.replays)
            mailbox_release(box); /* what plugins post here was recorded, and is replayed */
        else
            act_on(engine, box, now_ns);
    }
}

void plugin_messages_read(struct engine *engine, int64_t now_ns)
{
    act_on(engine, &engine->replayed, now_ns);
    read_profiles(engine, &engine->now, now_ns);
    vec_for(&engine->retired, generation)
        read_profiles(engine, generation, now_ns);
}

static bool has_message(const struct generation *generation)
{
    for (uint32_t i = 0; i < generation->len; i++)
        if (!mailbox_empty(&generation->profiles[i].mailbox))
            return true;
    return false;
}

bool plugin_messages_wait(const struct engine *engine)
{
    vec_for(&engine->retired, generation)
        if (has_message(generation))
            return true;
    return has_message(&engine->now);
}
