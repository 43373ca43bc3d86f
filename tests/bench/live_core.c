/* live_core.c: see live_core.h. */
#include "bench/live_core.h"

#include <stdio.h>
#include <stdlib.h>

#include "plugins/registry.h"

enum { CHUNK_BYTES = 16 << 10, DECISIONS_PER_ROUND = 64 };

_Noreturn void live_die(const struct error *err)
{
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, err->text);
    exit(1);
}

/* ---- the I/O side ---- */
static void post(struct live_core *core, enum inbox_message_kind message_kind, enum api_kind kind,
                 struct live_object *object)
{
    struct inbox_message *message = inbox_message_new(message_kind);
    message->api_kind = kind;
    message->object = object;
    inbox_post(core->inbox, message);
}

void live_core_frame(struct live_core *core, enum api_kind kind, struct str frame)
{
    struct live_event event;
    struct error err = { 0 };
    int r;
    watch_decoder_feed(&core->watches[kind], frame);
    while ((r = watch_decoder_next(&core->watches[kind], &core->scratch, &event, &err)) > 0) {
        if (!event.object)
            live_die(&err);
        post(core, event.type == WATCH_DELETED ? MESSAGE_REMOVE : MESSAGE_SET, kind, event.object);
    }
    if (r < 0)
        live_die(&err);
}

/* The response arrives in chunks. */
void live_core_list(struct live_core *core, struct live_server *server, enum api_kind kind)
{
    struct error err = { 0 };
    struct live_object *object;
    post(core, MESSAGE_LIST_BEGIN, kind, NULL);
    for (uint32_t number = 0;; number++) {
        struct list_page page;
        struct strbuf full = live_server_page(server, kind, number), body = { 0 };
        if (!full.len)
            break;
        for (size_t at = 0; at < full.len; at += CHUNK_BYTES)
            strbuf_add(&body, full.text + at, MIN((size_t)CHUNK_BYTES, full.len - at));
        strbuf_release(&full);
        if (list_page_init(&page, kind, &body, &err) < 0)
            live_die(&err);
        for (int r; (r = list_page_next(&page, &core->scratch, &object, &err)) != 0;)
            r > 0 ? post(core, MESSAGE_SET, kind, object) : live_die(&err);
        list_page_release(&page);
    }
    post(core, MESSAGE_LIST_END, kind, NULL);
}

void live_core_do(struct live_core *core, struct live_server *server, const struct live_wish *wish)
{
    live_server_write(server, wish->kind, str_from(wish->uid), str_from(wish->node));
    struct inbox_message *message = inbox_message_new(MESSAGE_ANSWER);
    message->ticket = wish->ticket;
    message->answer.kind = ANSWER_DONE;
    inbox_post(core->inbox, message);
}

/* ---- the core thread ---- */
static void read_messages(struct live_core *core, struct list messages)
{
    for (struct inbox_message *message; (message = inbox_next(&messages)); inbox_message_free(message)) {
        core->now_ns += core->message_ns;
        journal_message(core->journal, message, core->now_ns);
        if (message->kind == MESSAGE_ANSWER)
            engine_answer(&core->engine, message->ticket, &message->answer, core->now_ns);
        else
            mirror_apply(&core->mirror, message, core->now_ns);
    }
}

static bool decide(struct live_core *core)
{
    struct decision decision;
    bool decided = engine_step(&core->engine, core->now_ns, &decision);
    journal_step(core->journal, &core->cluster, decided ? &decision : NULL, core->now_ns);
    core->decisions += decided;
    return decided;
}

bool live_core_round(struct live_core *core)
{
    struct list messages = inbox_take(core->inbox, 0);
    bool did = !list_empty(&messages);
    read_messages(core, messages);
    engine_tick(&core->engine, core->now_ns);
    journal_tick(core->journal, core->now_ns);
    for (int i = 0; i < DECISIONS_PER_ROUND && decide(core); i++)
        did = true;
    journal_round(core->journal, core->now_ns);
    return did;
}

void live_wish(live_wishes *wishes, const struct effect *effect)
{
    struct live_wish *wish = vec_push(wishes);
    *wish = (struct live_wish){ .kind = effect->kind, .ticket = effect->ticket };
    snprintf(wish->uid, sizeof(wish->uid), STR_FMT, STR_ARG(effect->uid));
    snprintf(wish->node, sizeof(wish->node), STR_FMT, STR_ARG(effect->node));
}

/* ---- init and release ---- */
void live_core_init(struct live_core *core, const struct engine_host *host)
{
    struct error err;
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &core->arena);
    core->inbox = inbox_new();
    if (core->journal)
        inbox_prepare(core->inbox, journal_prepare);
    core->now_ns = INT64_C(1767225600) * 1000 * LIVE_MS_NS;
    if (config_default(&(struct config_env){ .catalog = &catalog }, &core->arena, &core->config, &err) < 0)
        live_die(&err);
    cluster_init(&core->cluster);
    const struct engine_options options = { .config = &core->config,
                                            .registry = &builtin_plugins,
                                            .seed = 1,
                                            .now_ns = core->now_ns,
                                            .slowest = PATH_INDEX,
                                            .host = *host };
    journal_head(core->journal, &options);
    if (engine_init(&core->engine, &core->cluster, &options, &err) < 0)
        live_die(&err);
    mirror_init(&core->mirror, &core->engine);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        watch_decoder_init(&core->watches[kind], (enum api_kind)kind);
}

void live_core_release(struct live_core *core)
{
    engine_release(&core->engine);
    mirror_release(&core->mirror);
    cluster_release(&core->cluster);
    config_release(&core->config);
    inbox_free(core->inbox);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        watch_decoder_release(&core->watches[kind]);
    arena_release(&core->scratch);
    arena_release(&core->arena);
}
