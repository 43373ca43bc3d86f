/* watch.c: watches on the store.
 *
 *     objects that are there ──▶ history ──▶ subscribed to the store
 *                                   ▲              │
 *                                   └── stream full┘
 *
 * A watch writes to a stream of the server until that is full. Then it leaves the store, and goes on at the same place
 * when the client has read. A client that reads nothing at all is ended by the server, which says so by
 * watches_closed(). */
#include "apiserver/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "apiserver/list.h"
#include "apiserver/selection.h"
#include "apiserver/tree.h"
#include "base/map.h"
#include "base/rng.h"

enum { BOOKMARK_S = 60, TIMEOUT_S_MIN = 1800 };

struct watches {
    struct registry *registry;
    struct server *server;
    struct idmap by_id;
    struct rng rng;
};

struct watch {
    struct store_watcher watcher; /* of the store */
    struct watches *watches;
    uint64_t id;
    struct output output;
    struct selection *selector;
    struct str ns, name; /* copies; empty: any */
    struct str include_object, form_version;
    VEC(struct stored *) present; /* referenced: objects that were there when it began */
    size_t present_sent;
    uint64_t seen; /* the client has all changes up to here */
    uint64_t told; /* and knows it */
    bool has_bookmarks, sends_end /* of the objects that were there */, is_subscribed;
    int64_t end_ns;
    struct loop_timer timer;
};

struct watches *watches_new(struct registry *registry, struct server *server, uint64_t seed)
{
    struct watches *watches = xcalloc(1, sizeof(*watches));
    watches->registry = registry;
    watches->server = server;
    rng_seed(&watches->rng, seed);
    return watches;
}

static void release_present(struct watch *watch)
{
    for (size_t i = watch->present_sent; i < watch->present.len; i++)
        stored_unref(watch->present.items[i]);
    vec_release(&watch->present);
    watch->present_sent = 0;
}

static void watch_free(struct watch *watch)
{
    struct watches *watches = watch->watches;
    release_present(watch);
    store_unsubscribe(registry_store(watches->registry), &watch->watcher);
    loop_timer_stop(server_loop(watches->server), &watch->timer);
    idmap_remove(&watches->by_id, watch->id);
    selection_free(watch->selector);
    free((void *)watch->ns.ptr);
    free((void *)watch->name.ptr);
    free((void *)watch->include_object.ptr);
    free((void *)watch->form_version.ptr);
    free(watch);
}

void watches_free(struct watches *watches)
{
    if (!watches)
        return;
    map_for(&watches->by_id, slot)
        watch_free(slot->value);
    idmap_release(&watches->by_id);
    free(watches);
}

void watches_closed(struct watches *watches, uint64_t id)
{
    struct watch *watch = idmap_get(&watches->by_id, id);
    if (watch)
        watch_free(watch);
}

uint64_t watches_lag(struct watches *watches)
{
    uint64_t lag = 0, newest = store_revision(registry_store(watches->registry));
    map_for(&watches->by_id, slot) {
        const struct watch *watch = slot->value;
        if (!watch->is_subscribed)
            lag = MAX(lag, newest - watch->seen);
    }
    return lag;
}

static void end(struct watch *watch)
{
    struct server *server = watch->watches->server;
    uint64_t id = watch->id;
    watch_free(watch);
    server_stream_end(server, id);
}

/* Those whose clients have not read all of it yet go on, and end with their time. */
void watches_end(struct watches *watches, uint32_t storage)
{
    VEC(struct watch *) list = { 0 };
    map_for(&watches->by_id, slot) {
        struct watch *watch = slot->value;
        if (watch->watcher.kind == storage && watch->is_subscribed)
            *vec_push(&list) = watch;
    }
    vec_for(&list, watch)
        end(*watch);
    vec_release(&list);
}

/* ---- events ---- */
/* False: the stream is gone, and so may be the watch. */
static bool send(struct watch *watch, const char *type, struct str object)
{
    _cleanup_(strbuf_release) struct strbuf line = { 0 };
    strbuf_printf(&line, "{\"type\":\"%s\",\"object\":", type);
    strbuf_str(&line, object);
    strbuf_puts(&line, "}\n");
    return server_stream_write(watch->watches->server, watch->id, strbuf_slice(&line));
}

static bool send_object(struct watch *watch, const char *type, struct str json)
{
    _cleanup_(strbuf_release) struct strbuf object = { 0 };
    output_object(&watch->output, json, &object);
    return send(watch, type, strbuf_slice(&object));
}

static bool send_bookmark(struct watch *watch, bool is_initial_end)
{
    _cleanup_(strbuf_release) struct strbuf object = { 0 };
    watch->told = watch->seen;
    strbuf_printf(&object, "{\"kind\":\"" STR_FMT "\",\"apiVersion\":\"",
                  STR_ARG(watch->output.resource->kind));
    resource_write_version(watch->output.resource, &object);
    strbuf_printf(&object, "\",\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"", watch->seen);
    if (is_initial_end)
        strbuf_puts(&object, ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}");
    strbuf_puts(&object, "}}");
    return send(watch, "BOOKMARK", strbuf_slice(&object));
}

/* The last state that matched, with the revision at which it stopped to. */
static bool send_left(struct watch *watch, const struct stored *old, uint64_t revision)
{
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    char text[32];
    yyjson_mut_doc *doc = registry_copy(old);
    yyjson_mut_val *meta = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "metadata");
    snprintf(text, sizeof(text), "%" PRIu64, revision);
    tree_mut_put_str(doc, meta, "resourceVersion", str_from(text));
    tree_mut_write(yyjson_mut_doc_get_root(doc), &json);
    yyjson_mut_doc_free(doc);
    return send_object(watch, "DELETED", strbuf_slice(&json));
}

static bool selects(struct watch *watch, struct stored *object)
{
    if ((watch->ns.len && !str_eq(watch->ns, object->ns)) ||
        (watch->name.len && !str_eq(watch->name, object->name)))
        return false;
    return !watch->selector ||
           selection_matches(watch->selector, registry_parsed(watch->watches->registry, object));
}

static void send_change(struct watch *watch, const struct store_change *change)
{
    bool is_now = selects(watch, change->now);
    bool was = change->old && change->type != STORE_ADDED && selects(watch, change->old);
    watch->seen = change->now->revision;
    if (change->type == STORE_DELETED) {
        if (was)
            send_object(watch, "DELETED", change->now->json);
        return;
    }
    if (is_now)
        send_object(watch, was ? "MODIFIED" : "ADDED", change->now->json);
    else if (was)
        send_left(watch, change->old, change->now->revision);
}

static void leave_store(struct watch *watch)
{
    store_unsubscribe(registry_store(watch->watches->registry), &watch->watcher);
    watch->is_subscribed = false;
}

static void changed(struct store_watcher *watcher, const struct store_change *change)
{
    struct watch *watch = container_of(watcher, struct watch, watcher);
    send_change(watch, change);
    if (server_stream_is_full(watch->watches->server, watch->id))
        leave_store(watch);
}

/* ---- time ---- */
static void set_timer(struct watch *watch)
{
    int64_t bookmark_ns = watch->has_bookmarks ? monotonic_ns() + BOOKMARK_S * NS_PER_S : INT64_MAX;
    loop_timer_set(server_loop(watch->watches->server), &watch->timer, MIN(bookmark_ns, watch->end_ns));
}

static void ring(struct loop_timer *timer)
{
    struct watch *watch = container_of(timer, struct watch, timer);
    bool is_over = monotonic_ns() >= watch->end_ns;
    /* Changes of other kinds count too: the client can resume at the newest revision. */
    if (watch->is_subscribed)
        watch->seen = MAX(watch->seen, store_durable(registry_store(watch->watches->registry)));
    if (watch->is_subscribed && watch->has_bookmarks && watch->told < watch->seen &&
        !send_bookmark(watch, false))
        return;
    if (is_over)
        end(watch);
    else
        set_timer(watch);
}

/* ---- beginning ---- */
/* A watch list: all objects, then a bookmark that says that these were all. */
static int check_options(const struct api_options *options, struct api_error *err)
{
    if (!options->send_initial_events.set)
        return 0;
    if (!str_is(options->resource_version_match, "NotOlderThan"))
        api_error_field(err, FIELD_FORBIDDEN, "resourceVersionMatch", (struct str){ 0 },
                        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    return api_error_invalid(err, STR("meta.k8s.io"), STR("ListOptions"), (struct str){ 0 });
}

static struct watch *watch_new(struct watches *watches, uint64_t id, const struct api_request *request,
                               const struct output *output)
{
    struct watch *watch = xcalloc(1, sizeof(*watch));
    int64_t timeout_s = request->options.timeout_s;
    if (timeout_s <= 0)
        timeout_s = TIMEOUT_S_MIN + (int64_t)rng_below(&watches->rng, TIMEOUT_S_MIN);
    watch->watches = watches;
    watch->id = id;
    watch->output = *output;
    watch->output.include_object = watch->include_object = str_dup(output->include_object);
    watch->output.accepted.version = watch->form_version = str_dup(output->accepted.version);
    watch->ns = str_dup(request->namespace);
    watch->name = str_dup(request->name);
    watch->has_bookmarks = request->options.allow_bookmarks;
    watch->end_ns = monotonic_ns() + MIN(timeout_s, INT64_C(86400)) * NS_PER_S;
    watch->timer.ring = ring;
    watch->watcher = (struct store_watcher){ .kind = request->resource->storage,
                                             .when_durable = true,
                                             .changed = changed };
    return watch;
}

static bool begin_stream(struct watches *watches, uint64_t id, const struct output *output)
{
    static const struct server_header plain = { STR("Content-Type"), STR("application/json") };
    static const struct server_header table = { STR("Content-Type"),
                                                STR("application/json;as=Table;g=meta.k8s.io;v=v1") };
    struct server_response response = { .status = 200,
                                        .headers = output->accepted.form == FORM_TABLE ? &table : &plain,
                                        .header_count = 1 };
    return server_stream_begin(watches->server, id, &response);
}

static void send_expired(struct watch *watch, uint64_t revision)
{
    _cleanup_(strbuf_release) struct strbuf status = { 0 };
    struct api_error err = { 0 };
    api_error_expired(&err, "too old resource version: %" PRIu64 " (%" PRIu64 ")", revision,
                      store_oldest(registry_store(watch->watches->registry)));
    api_error_write(&err, &status);
    api_error_release(&err);
    if (send(watch, "ERROR", strbuf_slice(&status)))
        end(watch);
}

static enum store_visited note_present(void *user, struct stored *object)
{
    *vec_push(&((struct watch *)user)->present) = stored_ref(object);
    return STORE_COUNTS;
}

/* False: the stream is full or gone. */
static bool send_present(struct watch *watch)
{
    struct server *server = watch->watches->server;
    while (watch->present_sent < watch->present.len) {
        struct stored *object = watch->present.items[watch->present_sent];
        if (server_stream_is_full(server, watch->id) ||
            (selects(watch, object) && !send_object(watch, "ADDED", object->json)))
            return false;
        stored_unref(object);
        watch->present_sent++;
    }
    release_present(watch);
    return true;
}

/* Writes as much as the stream takes. The watch may be gone afterwards. */
static void go_on(struct watch *watch)
{
    struct watches *watches = watch->watches;
    uint64_t id = watch->id;
    if (!send_present(watch) || (watch->sends_end && !send_bookmark(watch, true)))
        return;
    watch->sends_end = false;
    watch->is_subscribed = true; /* until a change fills the stream */
    int r = store_subscribe(registry_store(watches->registry), &watch->watcher, watch->seen);
    if (!idmap_get(&watches->by_id, id))
        return;
    if (r < 0) {
        watch->is_subscribed = false;
        send_expired(watch, watch->seen);
    }
}

void watches_room(struct watches *watches, uint64_t id)
{
    struct watch *watch = idmap_get(&watches->by_id, id);
    if (watch && !watch->is_subscribed)
        go_on(watch);
}

static void begin(struct watch *watch, uint64_t revision, bool sends_present, bool sends_end)
{
    struct store *store = registry_store(watch->watches->registry);
    if (sends_present) {
        revision = store_durable(store);
        store_page(
            store,
            &(struct store_range){ .kind = watch->watcher.kind, .ns = watch->ns, .revision = revision }, 0,
            note_present, watch);
    }
    watch->sends_end = sends_end;
    watch->seen = watch->told = revision;
    set_timer(watch);
    go_on(watch);
}

int watches_begin(struct watches *watches, uint64_t id, const struct api_request *request,
                  const struct output *output, struct api_error *err)
{
    const struct api_options *options = &request->options;
    struct selection *selector;
    uint64_t revision;
    int r = check_options(options, err);
    if (r == 0)
        r = list_revision(registry_store(watches->registry), options->resource_version, &revision, err);
    if (r == 0)
        r = selection_parse(request->resource, options->label_selector, options->field_selector, &selector,
                            err);
    if (r < 0)
        return r;
    struct watch *watch = watch_new(watches, id, request, output);
    watch->selector = selector;
    idmap_put(&watches->by_id, id, watch);
    if (!begin_stream(watches, id, output)) {
        watches_closed(watches, id);
        return 0;
    }
    bool sends_list = options->send_initial_events.set && options->send_initial_events.value;
    bool is_unset = revision == 0 && !options->send_initial_events.set;
    if (!revision)
        revision = store_durable(registry_store(watches->registry));
    begin(watch, revision, sends_list || is_unset, sends_list && options->allow_bookmarks);
    return 0;
}
