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

static void take_work(void *context, struct cycle_work *work)
{
    const struct engine *engine = context;
    engine->host.takes_work(engine->host.context, work);
}

static void emit(void *context, const struct effect *effect)
{
    const struct engine *engine = context;
    if (engine->host.emit)
        engine->host.emit(engine->host.context, effect);
}

void plugin_messages_open(struct engine *engine, struct profile *profile)
{
    if (!engine->mailbox_reader.wake) /* later on, threads of plugins may be reading it */
        engine->mailbox_reader =
            (struct mailbox_reader){ .wake = wake,
                                     .each_waiting = bindings_each_waiting,
                                     .takes_work = engine->host.takes_work ? take_work : NULL,
                                     .emit = emit,
                                     .context = engine };
    atomic_store_explicit(&profile->mailbox.reader, &engine->mailbox_reader, memory_order_release);
}

/* Takes the message over. One about work that is done is freed with the work. */
static void act(struct engine *engine, struct plugin_message *message, int64_t now_ns)
{
    if (engine->host.on_plugin_message)
        engine->host.on_plugin_message(engine->host.context, message, now_ns);
    if (message->kind == PLUGIN_MESSAGE_WORK_DONE) {
        struct pod_binding *binding = container_of(work_done(message), struct pod_binding, cycle);
        binding_event(binding, &(struct binding_event){ BINDING_ON_ANSWERED, now_ns });
        return;
    }
    struct pod_info *pod = cluster_find_pod(engine->cluster, message->namespace, message->name);
    if (pod && message->uid.len && !str_eq(message->uid, pod->api->meta.uid))
        pod = NULL; /* another one has the name now */
    struct pod_binding *binding = pod ? binding_find(engine, pod->api) : NULL;
    bool allows = message->kind == PLUGIN_MESSAGE_ALLOW;
    if (pod && message->kind == PLUGIN_MESSAGE_ACTIVATE)
        queue_activate(&engine->queue, pod, now_ns);
    else if (binding && message->kind != PLUGIN_MESSAGE_ACTIVATE)
        binding_event(binding,
                      &(struct binding_event){ .kind = allows ? BINDING_ON_ALLOWED : BINDING_ON_REJECTED,
                                               .now_ns = now_ns,
                                               .plugin = message->plugin->name,
                                               .why = message->reason });
    plugin_message_free(message);
}

static void act_on(struct engine *engine, struct mailbox *box, int64_t now_ns)
{
    if (mailbox_empty(box))
        return;
    for (struct plugin_message *message = mailbox_take(box), *next; message; message = next) {
        next = message->next;
        act(engine, message, now_ns);
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
