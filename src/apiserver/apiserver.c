/* apiserver.c: the front end: tokens, dispatch, answers that wait until they are durable. */
#include "apiserver/apiserver.h"

#include <stdio.h>
#include <stdlib.h>

#include "apiserver/apiserver_impl.h"
#include "apiserver/definitions.h"
#include "apiserver/discovery.h"
#include "base/secret.h"
#include "server/server_selfsigned.h"

enum { EVENT_TTL_MS = 3600 * 1000, BODY_BYTES_MAX = 3 << 20, BODY_BYTES_MAX_WITHOUT_TOKEN = 64 << 10 };

/* ---- answers ---- */
/* Takes over the call, and its request. */
struct pending_answer {
    struct store_waiter waiter;
    struct list_link link;
    struct call call;
};

void call_release(struct call *call)
{
    strbuf_release(&call->body);
    vec_release(&call->warnings);
    api_error_release(&call->err);
    server_request_free(call->http);
}

static void respond(const struct call *call, int status, const char *content_type, struct str body)
{
    enum { HEADERS_MAX = 32 };
    struct server_header headers[HEADERS_MAX] = { { STR("Content-Type"), str_from(content_type) },
                                                  { STR("Cache-Control"), STR("no-cache, private") } };
    size_t count = 2;
    vec_for(&call->warnings, text)
        if (count < HEADERS_MAX)
            headers[count++] = (struct server_header){ STR("Warning"), *text };
    if (call->err.retry_after_s && count < HEADERS_MAX)
        headers[count++] = (struct server_header){ STR("Retry-After"),
                                                   arena_printf(call->arena, "%d", call->err.retry_after_s) };
    server_respond(call->server->server, call->http->id,
                   &(struct server_response){
                       .status = status, .headers = headers, .header_count = count, .body = body });
}

static void respond_error(struct call *call)
{
    _cleanup_(strbuf_release) struct strbuf body = { 0 };
    api_error_write(&call->err, &body);
    respond(call, call->err.code, "application/json", strbuf_slice(&body));
}

static void respond_now(const struct call *call)
{
    respond(call, call->status, call->content_type ? call->content_type : "application/json",
            strbuf_slice(&call->body));
}

static void pending_free(struct pending_answer *answer)
{
    list_remove(&answer->call.server->pending, &answer->link);
    call_release(&answer->call);
    free(answer);
}

static void on_durable(struct store_waiter *waiter)
{
    struct pending_answer *answer = container_of(waiter, struct pending_answer, waiter);
    respond_now(&answer->call);
    pending_free(answer);
}

static void respond_when_durable(struct call *call)
{
    struct pending_answer *answer = xcalloc(1, sizeof(*answer));
    answer->waiter.durable = on_durable;
    answer->call = *call;
    *call = (struct call){ 0 };
    list_append(&answer->call.server->pending, &answer->link);
    store_when_durable(answer->call.server->store, answer->call.revision, &answer->waiter);
}

/* ---- who may ask ---- */
static bool has_token(const struct apiserver *server, const struct server_request *http, bool *ret_is_wrong)
{
    struct str header = server_header_value(http, STR("Authorization"));
    struct str scheme = str_cut(&header, ' ');
    *ret_is_wrong = false;
    if (!str_eq_fold(scheme, STR("Bearer")))
        return false;
    struct str token = str_trim(header, " ");
    /* As long for every token of the same length, so that time tells nothing about how much of it was right. */
    bool is_same = token.len == server->token.len;
    unsigned char difference = 0;
    for (uint32_t i = 0; is_same && i < token.len; i++)
        difference |= (unsigned char)(token.ptr[i] ^ server->token.ptr[i]);
    *ret_is_wrong = !is_same || difference;
    return !*ret_is_wrong;
}

/* Others are refused whatever they send. */
static size_t body_bytes_max(void *user, const struct server_request *head)
{
    bool is_wrong;
    return has_token(user, head, &is_wrong) ? BODY_BYTES_MAX : BODY_BYTES_MAX_WITHOUT_TOKEN;
}

static const char *verb_of_path(struct str method)
{
    return str_is(method, "POST")     ? "post"
           : str_is(method, "PUT")    ? "put"
           : str_is(method, "DELETE") ? "delete"
                                      : "get";
}

static int forbid(struct call *call)
{
    struct api_request *request = &call->request;
    struct api_error ignored = { 0 };
    int r = api_request_parse(call->http->method, call->http->path, call->http->query, call->arena, request,
                              &ignored);
    api_error_release(&ignored);
    if (r < 0) {
        call->err.has_details = true;
        return api_error_set(&call->err, 403, "Forbidden",
                             "forbidden: User \"system:anonymous\" cannot %s path \"" STR_FMT "\"",
                             verb_of_path(call->http->method), STR_ARG(call->http->path));
    }
    struct str part = request->subresource ? subresource_row(request->subresource)->name : (struct str){ 0 };
    struct str where = request->namespace.len ? arena_printf(call->arena, "in the namespace \"" STR_FMT "\"",
                                                             STR_ARG(request->namespace))
                                              : STR("at the cluster scope");
    return api_error_forbidden(&call->err, request->resource, request->name,
                               "User \"system:anonymous\" cannot %s resource \"" STR_FMT "%s" STR_FMT
                               "\" in API group \"" STR_FMT "\" " STR_FMT,
                               verb_name(request->verb), STR_ARG(request->resource->plural),
                               part.len ? "/" : "", STR_ARG(part), STR_ARG(request->group), STR_ARG(where));
}

static int authorize(struct call *call)
{
    bool is_wrong;
    if (has_token(call->server, call->http, &is_wrong))
        return 0;
    if (is_wrong)
        return api_error_set(&call->err, 401, "Unauthorized", "Unauthorized");
    return discovery_is_public(call->http->path) ? 0 : forbid(call);
}

/* ---- dispatch ---- */
static bool answer_discovery(struct call *call)
{
    struct discovery_answer answer = { 0 };
    bool is_read = str_is(call->http->method, "GET") || str_is(call->http->method, "HEAD");
    if (is_read && discovery_answer(call->http->path, server_header_value(call->http, STR("Accept")),
                                    call->server->address, &answer))
        respond(call, 200, answer.content_type, strbuf_slice(&answer.body));
    else
        answer.content_type = NULL;
    strbuf_release(&answer.body);
    return answer.content_type;
}

static bool answer_openapi(struct call *call)
{
    struct str body;
    const char *content_type;
    if (!openapi_pages_find(call->server->openapi, call->http->path,
                            server_header_value(call->http, STR("Accept")), &body, &content_type))
        return false;
    respond(call, 200, content_type, body);
    return true;
}

/* A path outside of the API. */
static bool answer_unknown(struct call *call)
{
    struct str group, version, rest;
    if (api_request_split(call->http->path, &group, &version, &rest))
        return false;
    respond(call, 404, "text/plain; charset=utf-8", STR("404 page not found\n"));
    return true;
}

void call_finish(struct call *call, int r)
{
    if (r < 0)
        respond_error(call);
    else if (call->status && call->revision > store_durable(call->server->store))
        respond_when_durable(call);
    else if (call->status)
        respond_now(call);
}

void apiserver_on_request(void *user, struct server_request *http)
{
    struct call call = { .server = user, .http = http, .arena = &http->arena };
    int r = authorize(&call);
    if (r == 0 && (answer_discovery(&call) || answer_openapi(&call) || answer_unknown(&call)))
        goto done;
    if (r == 0)
        r = rest_handle(&call);
    call_finish(&call, r);
done:
    call_release(&call);
}

void apiserver_on_stream_closed(void *user, uint64_t id)
{
    watches_closed(((struct apiserver *)user)->watches, id);
}

void apiserver_on_stream_room(void *user, uint64_t id)
{
    watches_room(((struct apiserver *)user)->watches, id);
}

static void on_gone(void *user, uint32_t storage)
{
    watches_end(((struct apiserver *)user)->watches, storage);
}

static void begin_definitions(void *context)
{
    struct apiserver *server = context;
    server->definitions = definitions_new(
        &(struct definitions_options){ .registry = server->registry, .on_gone = on_gone, .user = server });
}

/* ---- life ---- */
int apiserver_open_store(struct apiserver *server, const struct apiserver_options *options, struct error *err)
{
    VEC(struct str) kinds = { 0 };
    struct arena names = { 0 };
    for (uint32_t i = 0; i < resources_max(); i++) {
        const struct api_resource *row = resource_at(i);
        if (!row || row->is_custom)
            break;
        _cleanup_(strbuf_release) struct strbuf name = { 0 };
        resource_write_name(row, &name);
        *vec_push(&kinds) = arena_str(&names, strbuf_slice(&name));
    }
    int r = store_open(&(struct store_options){ .path = options->data,
                                                .kinds = kinds.items,
                                                .kind_count = (uint32_t)kinds.len,
                                                .history_max = options->history_max,
                                                .user = server },
                       server->loop, &server->store, err);
    vec_release(&kinds);
    arena_release(&names);
    return r;
}

static int make_certificate(struct apiserver *server, const struct apiserver_options *options,
                            struct error *err)
{
    if (asprintf(&server->cert_file, "%s/apiserver.crt", options->cert_dir) < 0 ||
        asprintf(&server->key_file, "%s/apiserver.key", options->cert_dir) < 0)
        return -ENOMEM;
    int r = server_selfsigned_files(server->cert_file, server->key_file, options->address, err);
    server->tls = xcalloc(1, sizeof(*server->tls));
    server->tls->cert_file = server->cert_file;
    server->tls->key_file = server->key_file;
    return r;
}

static int listen_on(struct apiserver *server, const struct apiserver_options *options, struct error *err)
{
    const char *address = options->address ? options->address : "127.0.0.1";
    int r = server_new(&(struct server_options){ .loop = options->loop,
                                                 .address = address,
                                                 .port = options->port,
                                                 .tls = server->tls,
                                                 .limits = { .body_bytes_max = BODY_BYTES_MAX,
                                                             .streams_max = 250,
                                                             .response_bytes_max = (size_t)1 << 30 },
                                                 .body_bytes_max = body_bytes_max,
                                                 .on_request = apiserver_on_request,
                                                 .on_stream_room = apiserver_on_stream_room,
                                                 .on_stream_closed = apiserver_on_stream_closed,
                                                 .user = server },
                       &server->server, err);
    if (r < 0)
        return r;
    char text[80];
    snprintf(text, sizeof(text), "%s:%d", address, server_port(server->server));
    server->address = str_dup(str_from(text));
    return 0;
}

static void begin_expiry(void *context)
{
    struct apiserver *server = context;
    server->expiry = event_expiry_new(server->registry, server->loop, EVENT_TTL_MS);
}

int apiserver_new(const struct apiserver_options *options, struct apiserver **ret, struct error *err)
{
    struct apiserver *server = xcalloc(1, sizeof(*server));
    server->loop = options->loop;
    server->token = str_dup(options->token);
    server->openapi = openapi_pages_new();
    int r = apiserver_open_store(server, options, err);
    if (r == 0)
        r = make_certificate(server, options, err);
    if (r == 0)
        r = listen_on(server, options, err);
    if (r < 0) {
        apiserver_free(server);
        return r;
    }
    server->registry =
        registry_new(&(struct registry_options){ .store = server->store, .seed = options->seed });
    server->watches = watches_new(server->registry, server->server, options->seed + 1);
    loop_run_wait(server->loop, begin_expiry, server);
    loop_run_wait(options->loop, begin_definitions, server);
    *ret = server;
    return 0;
}

int apiserver_start(struct apiserver *server, struct error *err)
{
    return server_start(server->server, err);
}

static void end_watches(void *context)
{
    struct apiserver *server = context;
    definitions_free(server->definitions);
    watches_free(server->watches);
    server->watches = NULL;
    collections_end(server);
    event_expiry_free(server->expiry);
    server->expiry = NULL;
    struct pending_answer *answer;
    while ((answer = list_first(&server->pending, struct pending_answer, link))) {
        store_cancel(server->store, &answer->waiter);
        pending_free(answer);
    }
}

void apiserver_free(struct apiserver *server)
{
    if (!server)
        return;
    if (server->server)
        server_drain(server->server, 0);
    loop_run_wait(server->loop, end_watches, server);
    server_free(server->server);
    registry_free(server->registry);
    store_close(server->store);
    openapi_pages_free(server->openapi);
    free((void *)server->token.ptr);
    free((void *)server->address.ptr);
    free(server->cert_file);
    free(server->key_file);
    free(server->tls);
    free(server);
}

struct registry *apiserver_registry(struct apiserver *server)
{
    return server->registry;
}

uint16_t apiserver_port(const struct apiserver *server)
{
    return server_port(server->server);
}
