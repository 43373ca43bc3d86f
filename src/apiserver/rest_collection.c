/* rest_collection.c: DELETE of a collection: a part of the objects with each turn of the loop, so that other requests
 * are answered meanwhile, and watches can write what has happened before history forgets it: it waits for slow ones,
 * but not for long. The answer comes at the end, with all objects. */
#include <stdlib.h>

#include "apiserver/apiserver_impl.h"
#include "apiserver/selection.h"

enum { OBJECTS_PER_TURN = 100, PATIENCE_MS = 60000, LAG_MAX = 2000, WAIT_MS = 5, WAITS_MAX = 4000 };

struct collection {
    struct apiserver *server;
    struct list_link link; /* in server->collections */
    struct loop_timer timer;
    struct call call; /* taken over */
    struct delete_options options;
    struct output_list answer;
    VEC(struct stored *) objects; /* referenced */
    size_t deleted;
    int waits; /* for watches */
};

struct selecting {
    struct collection *collection;
    const struct selection *selector;
};

static enum store_visited select_object(void *user, struct stored *object)
{
    const struct selecting *selecting = user;
    struct collection *collection = selecting->collection;
    if (!selection_matches(selecting->selector, registry_parsed(collection->call.server->registry, object)))
        return STORE_SKIPPED;
    *vec_push(&collection->objects) = stored_ref(object);
    return STORE_COUNTS;
}

static void collection_free(struct collection *collection)
{
    struct apiserver *server = collection->server;
    loop_timer_stop(server->loop, &collection->timer);
    list_remove(&server->collections, &collection->link);
    for (size_t i = collection->deleted; i < collection->objects.len; i++)
        stored_unref(collection->objects.items[i]);
    vec_release(&collection->objects);
    call_release(&collection->call);
    free(collection);
}

/* An object that is gone already is no failure. */
static int delete_one(struct collection *collection, struct stored *object)
{
    struct call *call = &collection->call;
    struct registry_result result = { 0 };
    int r = registry_delete(call->server->registry, call->request.resource, object->ns, object->name,
                            &collection->options, &result, &call->err);
    if (r == 0)
        output_list_item(&collection->answer, registry_result_json(&result));
    registry_result_release(&result);
    if (r == -404)
        api_error_clear(&call->err);
    return r == -404 ? 0 : r;
}

static void finish(struct collection *collection, int r)
{
    struct call *call = &collection->call;
    uint64_t revision = store_revision(call->server->store);
    if (r == 0) {
        struct str text = arena_printf(call->arena, "%llu", (unsigned long long)revision);
        output_list_end(&collection->answer, text, (struct str){ 0 }, 0);
        call->status = 200;
        call->revision = revision;
    }
    call_finish(call, r);
    collection_free(collection);
}

static void go_on(struct loop_timer *timer)
{
    struct collection *collection = container_of(timer, struct collection, timer);
    struct apiserver *server = collection->server;
    int r = 0;
    bool waits = collection->waits < WAITS_MAX && watches_lag(server->watches) > LAG_MAX;
    collection->waits += waits;
    for (int i = 0; !waits && i < OBJECTS_PER_TURN && collection->deleted < collection->objects.len && r == 0;
         i++) {
        struct stored *object = collection->objects.items[collection->deleted++];
        r = delete_one(collection, object);
        stored_unref(object);
    }
    if (r < 0 || collection->deleted == collection->objects.len) {
        finish(collection, r);
        return;
    }
    server_patience(server->server, collection->call.http->id, PATIENCE_MS);
    loop_timer_set(server->loop, timer, monotonic_ns() + waits * WAIT_MS * NS_PER_MS);
}

int rest_delete_collection(struct call *call, yyjson_val *body)
{
    const struct api_request *request = &call->request;
    struct apiserver *server = call->server;
    struct selection *selector;
    int r = selection_parse(request->resource, request->options.label_selector,
                            request->options.field_selector, &selector, &call->err);
    if (r < 0)
        return r;
    struct collection *collection = xcalloc(1, sizeof(*collection));
    rest_delete_options(call, body, &collection->options);
    collection->server = server;
    collection->call = *call;
    *call = (struct call){ 0 };
    collection->timer.ring = go_on;
    list_append(&server->collections, &collection->link);
    output_list_begin(&collection->answer, &collection->call.output, (struct str){ 0 },
                      &collection->call.body);
    store_page(server->store,
               &(struct store_range){ .kind = collection->call.request.resource->storage,
                                      .ns = collection->call.request.namespace },
               (size_t)MAX(collection->call.request.options.limit, 0), select_object,
               &(struct selecting){ collection, selector });
    selection_free(selector);
    go_on(&collection->timer);
    return 0;
}

void collections_end(struct apiserver *server)
{
    struct collection *collection;
    while ((collection = list_first(&server->collections, struct collection, link)))
        collection_free(collection);
}
