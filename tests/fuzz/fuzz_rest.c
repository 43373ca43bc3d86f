/* Requests to the embedded API server, one after the other, on a cluster in memory with its controllers: each gets a
 * response that is well formed, watches write events, and what is stored afterwards are objects that can be read.
 *
 * An input is requests, each of which ends with a line "%%":
 *
 *     PATCH /api/v1/namespaces/default/pods/p
 *     Content-Type: application/merge-patch+json
 *
 *     {"metadata":{"labels":{"a":"b"}}}
 *     %%
 *
 * The token and the length of the body are added; a request whose first line begins with "!" has no token. Each has a
 * connection of its own, which stays until the end: so watches see what later requests do. */
#include "apiserver/apiserver_impl.h"
#include "apiserver/bootstrap.h"
#include "apiserver/tree.h"
#include "controllers/controllers.h"

#include "fuzz/connection.h"

enum { REQUESTS_MAX = 16, QUIET_TURNS = 4, TURNS_MAX = 2000 };

struct world {
    struct apiserver api;
    struct server server;
    struct controllers *controllers;
    int clients[REQUESTS_MAX];
    struct strbuf answers[REQUESTS_MAX];
    size_t count;
};

static void world_open(struct world *world)
{
    static struct openapi_pages *openapi;
    struct error err;
    if (!openapi)
        openapi = openapi_pages_new();
    *world =
        (struct world){ .api = { .token = STR("t"), .address = STR("127.0.0.1:6443"), .openapi = openapi } };
    must(loop_new(NULL, &world->api.loop, &err) == 0);
    world->server = (struct server){
        .options = { .on_request = apiserver_on_request,
                     .on_stream_room = apiserver_on_stream_room,
                     .on_stream_closed = apiserver_on_stream_closed,
                     .user = &world->api },
        .limits = { .connections_max = REQUESTS_MAX,
                    .header_bytes_max = 16384,
                    .body_bytes_max = 32768,
                    .stream_bytes_max = 1 << 20,
                    .stream_full_bytes = 600,
                    .response_bytes_max = 64 << 20,
                    .header_ms = 60000,
                    .body_ms = 60000,
                    .answer_ms = 60000,
                    .write_ms = 60000,
                    .idle_ms = 60000,
                    .linger_ms = 60000 },
        .loop = world->api.loop,
    };
    world->api.server = &world->server;
    must(apiserver_open_store(&world->api, &(struct apiserver_options){ 0 }, &err) == 0);
    world->api.registry = registry_new(&(struct registry_options){ .store = world->api.store, .seed = 1 });
    world->api.watches = watches_new(world->api.registry, &world->server, 1);
    must(bootstrap_objects(world->api.registry, 6443, &err) == 0);
    must(bootstrap_nodes(world->api.registry, 1, &err) == 0);
    world->controllers = controllers_new(&(struct controllers_options){
        .registry = world->api.registry, .loop = world->api.loop, .job_ms = 1 });
}

/* What came for the clients. */
static size_t receive(struct world *world)
{
    char buf[65536];
    size_t all = 0;
    for (size_t i = 0; i < world->count; i++)
        for (ssize_t n; (n = recv(world->clients[i], buf, sizeof(buf), MSG_DONTWAIT)) > 0; all += (size_t)n)
            strbuf_add(&world->answers[i], buf, (size_t)n);
    return all;
}

/* Until nothing happens any more. */
static void settle(struct world *world)
{
    int quiet = 0;
    for (int i = 0; i < TURNS_MAX && quiet < QUIET_TURNS; i++) {
        loop_turn(world->api.loop);
        quiet = receive(world) ? 0 : quiet + 1;
    }
}

static void world_close(struct world *world)
{
    settle(world);
    controllers_free(world->controllers);
    list_for_each(&world->server.conns, struct conn, conn, link)
        conn_close(conn);
    loop_turn(world->api.loop);
    server_tell_closed(&world->server);
    watches_free(world->api.watches);
    must(list_empty(&world->api.pending));
    must(atomic_load(&world->server.response_bytes) == 0 && atomic_load(&world->server.connections) == 0);
    loop_free(world->api.loop);
    idmap_release(&world->server.pending);
    registry_free(world->api.registry);
    store_close(world->api.store);
    for (size_t i = 0; i < world->count; i++) {
        close(world->clients[i]);
        strbuf_release(&world->answers[i]);
    }
}

/* ---- requests ---- */
static void send_request(struct world *world, struct str text)
{
    struct str head = text, body = { 0 };
    for (uint32_t i = 0; i + 1 < text.len; i++)
        if (text.ptr[i] == '\n' && text.ptr[i + 1] == '\n') {
            head = str_slice(text, 0, i);
            body = str_slice(text, i + 2, text.len);
            break;
        }
    _cleanup_(strbuf_release) struct strbuf bytes = { 0 };
    bool has_token = !head.len || head.ptr[0] != '!';
    head = has_token ? head : str_slice(head, 1, head.len);
    strbuf_str(&bytes, str_cut(&head, '\n'));
    strbuf_printf(&bytes, " HTTP/1.1\r\nHost: a\r\nContent-Length: %u\r\n%s", body.len,
                  has_token ? "Authorization: Bearer t\r\n" : "");
    while (head.len) {
        strbuf_str(&bytes, str_cut(&head, '\n'));
        strbuf_puts(&bytes, "\r\n");
    }
    strbuf_puts(&bytes, "\r\n");
    strbuf_str(&bytes, body);

    int pair[2];
    struct conn *conn = xmalloc(sizeof(*conn));
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    must(conn_open(conn, &world->server, pair[0]));
    conn->state = CONN_HEAD;
    conn_deadline(conn, 60000);
    world->clients[world->count++] = pair[1];
    must(send(pair[1], bytes.text, bytes.len, MSG_NOSIGNAL) == (ssize_t)bytes.len);
    settle(world);
}

/* ---- what must hold ---- */
static struct str body_of(struct str answer, struct str *ret_head)
{
    for (uint32_t i = 0; i + 3 < answer.len; i++)
        if (memcmp(answer.ptr + i, "\r\n\r\n", 4) == 0) {
            *ret_head = str_slice(answer, 0, i + 2);
            return str_slice(answer, i + 4, answer.len);
        }
    *ret_head = answer;
    return (struct str){ 0 };
}

static bool has(struct str text, const char *part)
{
    return text.len && memmem(text.ptr, text.len, part, strlen(part));
}

static void check_answer(struct str answer)
{
    struct str head;
    must(!answer.len || str_starts_with(answer, STR("HTTP/1.1 ")));
    struct str body = body_of(answer, &head);
    if (!body.len || has(head, "chunked") || has(head, "100 Continue") ||
        !has(head, "Content-Type: application/json\r\n"))
        return;
    yyjson_doc *doc = yyjson_read(body.ptr, body.len, 0);
    if (!doc)
        fprintf(stderr, STR_FMT "\n", STR_ARG(answer));
    must(doc);
    yyjson_doc_free(doc);
}

static enum store_visited check_object(void *user _unused_, struct stored *object)
{
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    yyjson_val *json = yyjson_doc_get_root(doc);
    int64_t revision = 0;
    must(yyjson_is_obj(json));
    must(str_eq(tree_text(json, "metadata.name"), object->name));
    must(str_eq(tree_text(json, "metadata.namespace"), object->ns));
    must(str_eq(tree_text(json, "metadata.uid"), object->uid));
    must(str_to_int64(tree_text(json, "metadata.resourceVersion"), &revision));
    must((uint64_t)revision == object->revision);
    yyjson_doc_free(doc);
    return STORE_COUNTS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = { (const char *)data, (uint32_t)size };
    struct world world;
    if (size > 16384)
        return 0;
    world_open(&world);
    while (rest.len && world.count < REQUESTS_MAX) {
        const char *end = memmem(rest.ptr, rest.len, "\n%%\n", 4);
        struct str text = end ? str_slice(rest, 0, (size_t)(end - rest.ptr)) : rest;
        rest = end ? str_slice(rest, text.len + 4, rest.len) : (struct str){ 0 };
        send_request(&world, text);
    }
    settle(&world);
    for (size_t i = 0; i < world.count; i++)
        check_answer(strbuf_slice(&world.answers[i]));
    for (uint32_t i = 0; i < resources_max(); i++)
        if (resource_at(i) && resource_at(i)->storage == i)
            store_page(world.api.store, &(struct store_range){ .kind = i }, 0, check_object, NULL);
    world_close(&world);
    return 0;
}
