/* reflector_client.h: reflectors of pods that list and watch at a manual server, and what they post. */
#ifndef UNIT_SYNC_REFLECTOR_CLIENT_H
#define UNIT_SYNC_REFLECTOR_CLIENT_H

#include "unit/sync/manual_server.h"

#include "sync/reflector.h"
#include "unit/sync/protobuf_events.h"

static const struct watched_kind pods = { KIND_POD, "pods", 100, true, "", "status.phase!=Failed" };
#define PODS "/api/v1/pods?"
#define LISTED_PODS PODS "fieldSelector=status.phase%21%3DFailed&limit"
#define PODS_WATCH \
    PODS "fieldSelector=status.phase%21%3DFailed&watch=true&allowWatchBookmarks=true&resourceVersion="

/* ---- a client of the manual server ---- */

static struct manual_server server;
static struct api *api;
static struct inbox *inbox;
static struct reflectors *all;
static struct list messages; /* taken from the inbox and not checked yet */

static inline int setup(void **state _unused_)
{
    static char url[64];
    static struct kube_access access;
    struct error err;
    manual_server_start(&server);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", server.port);
    access = (struct kube_access){ .cluster.server = str_from(url) };
    if (api_new(&(struct api_options){ .access = &access, .qps = -1 }, &api, &err) < 0)
        fail_msg("%s", err.text);
    inbox = inbox_new();
    return 0;
}

static inline int teardown(void **state _unused_)
{
    reflectors_stop(all);
    all = NULL;
    api_free(api);
    for (struct inbox_message *message; (message = inbox_next(&messages));)
        inbox_message_free(message);
    inbox_free(inbox);
    manual_server_stop(&server);
    return 0;
}

static inline void start(const struct watched_kind *kinds, size_t count, struct reflector_options options)
{
    options.kinds = kinds;
    options.kind_count = count;
    options.seed = options.seed ? options.seed : 7;
    all = reflectors_start(api, inbox, &options);
}

static inline void start_pods(void)
{
    start(&pods, 1, (struct reflector_options){ .plain_lists = true });
}

/* The next message; NULL: none arrives in time. */
static inline struct inbox_message *message_within(int64_t ms)
{
    if (list_empty(&messages))
        messages = inbox_take(inbox, monotonic_ns() + ms * 1000000);
    return inbox_next(&messages);
}

static inline void want(enum inbox_message_kind kind, const char *name)
{
    struct inbox_message *message = message_within(MANUAL_SERVER_WAIT_MS);
    if (!message)
        fail_msg("no message about %s came", name ? name : "a list");
    assert_int_equal(message->kind, kind);
    if (name) {
        assert_str(message->object->object.meta->name, name);
        assert_int_equal(message->object->object.kind, message->api_kind);
        /* One allocation of the right size. */
        assert_int_equal(arena_used(&message->object->arena), message->object->arena.total_bytes);
    }
    inbox_message_free(message);
}

static inline void want_silence(int64_t ms)
{
    struct inbox_message *message = message_within(ms);
    if (message)
        fail_msg("a message of kind %d", message->kind);
}

static inline int64_t ms_since(int64_t ns)
{
    return (monotonic_ns() - ns) / 1000000;
}

/* A pause that no test would wait for. */
enum { NEVER_MS = 20 * MANUAL_SERVER_WAIT_MS };

/* Answers the list of pods at version 100, and takes the watch that follows. */
static inline struct manual_request *to_watch(const char *items)
{
    reply_list(take_request(&server, PODS), "100", "", items);
    struct manual_request *watch = take_request(&server, PODS_WATCH "100&");
    stream_begin(watch);
    return watch;
}

static inline void skip_list(size_t items)
{
    for (size_t i = 0; i < items + 2; i++) {
        struct inbox_message *message = message_within(MANUAL_SERVER_WAIT_MS);
        assert_non_null(message);
        inbox_message_free(message);
    }
}

#define live(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
