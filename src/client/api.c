/* api.c: a request gets a token of the rate, a credential and its headers, and goes to http/; its answer
 * comes back through here, so that a 401 can be tried again once.
 *
 *     api_send ─▶ call ─▶ credentials_get ─▶ launch ─▶ http_send ─▶ done ─▶ on_done
 *                              ▲     (any thread)    (I/O thread) │
 *                              └──────────── 401, once ◀──────────┘
 *
 * A call is owned by the map of calls until `deliver` takes it out. What fails before http/ has the request is
 * answered by a call on the loop, so that even this answer comes on the I/O thread. No lock is held while a callback
 * runs: a thread that uses the client is counted, and api_free() waits until none is left. */
#include "client/api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/map.h"
#include "client/rate.h"

enum { WARNINGS_MAX = 1000 };

#ifndef BERTH_VERSION
#define BERTH_VERSION "unknown"
#endif

struct call {
    struct api *api;
    uint64_t id;
    struct arena arena;
    struct api_request request; /* its texts in the arena */
    const char *url;
    int64_t not_before_ns, token_ns; /* token_ns: the time that a token of the rate is for; 0: none */
    int64_t begun_ns;                /* when it was wanted, without its delay */
    struct credential *credential;   /* that it was sent with */
    bool retried;
    bool counted; /* a stream that was told to on_sample */
    /* During try_again(), where the answer of a 401 is still there: is there no other credential? */
    bool tries_again, has_no_other;
    enum http_failure failure; /* not NONE: it is not sent, `refusal` says why */
    struct error refusal;
    /* Under the lock of the api. */
    uint64_t http_id; /* 0: not given to http/ */
    bool cancelled;
};

struct api {
    struct api_options options;
    struct arena arena;
    const char *server, *user_agent, *accept;
    bool sends_json;
    struct str host; /* of the server, for samples */
    struct credentials *credentials;
    struct http_client *http;
    struct rate rate;

    pthread_mutex_t life; /* of the three below; held for moments */
    pthread_cond_t left;
    uint32_t users; /* that came before the end, some of them twice: credentials and http stay for them */
    bool ending;

    pthread_mutex_t lock;
    struct idmap calls;
    uint64_t last_id;

    /* Of the I/O thread. */
    struct strmap warnings; /* that were logged; values are not used */
    struct arena warning_texts;
};

/* From any thread, also one that is a user already: it does not wait for api_free(), which waits for it. False: the
 * client is ending, and credentials and http may be gone. */
static bool enter(struct api *api)
{
    pthread_mutex_lock(&api->life);
    bool is_there = !api->ending;
    api->users += is_there;
    pthread_mutex_unlock(&api->life);
    return is_there;
}

static void leave(struct api *api)
{
    pthread_mutex_lock(&api->life);
    if (!--api->users)
        pthread_cond_signal(&api->left);
    pthread_mutex_unlock(&api->life);
}

static void call_free(struct call *call)
{
    credential_unref(call->credential);
    arena_release(&call->arena);
    free(call);
}

static void report(void *user, const char *sentence)
{
    struct api *api = user;
    if (api->options.on_problem)
        api->options.on_problem(api->options.user, sentence);
    else
        log_warning(sentence);
}

static void on_exec(void *user, int exit_code, const char *call_status)
{
    const struct api *api = user;
    if (api->options.on_exec)
        api->options.on_exec(api->options.user, exit_code, call_status);
}

static void drop_connections(void *user)
{
    api_drop_connections(user);
}

/* ---- the answer ---- */

static bool may_leave(void *user)
{
    const struct call *call = user;
    const struct api_options *options = &call->api->options;
    return !call->request.fenced || !options->may_write || options->may_write(options->user);
}

/* `299 - "text"`: the text, with its escapes. Empty: a warning of another kind. */
static struct str warning_text(struct str value, struct arena *arena)
{
    ptrdiff_t quote = str_find(value, '"');
    if (!str_starts_with(value, STR("299 ")) || quote < 0)
        return (struct str){ 0 };
    char *text = arena_alloc(arena, value.len);
    uint32_t len = 0;
    for (size_t i = (size_t)quote + 1; i < value.len && value.ptr[i] != '"'; i++) {
        i += value.ptr[i] == '\\' && i + 1 < value.len;
        text[len++] = value.ptr[i];
    }
    return (struct str){ text, len };
}

/* A server repeats its warnings with every answer. */
static void log_warnings(struct api *api, const struct http_response *response)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    for (size_t i = 0; i < response->warning_count; i++) {
        struct str text = warning_text(response->warnings[i], &scratch);
        if (!text.len || api->warnings.len >= WARNINGS_MAX || strmap_get(&api->warnings, text))
            continue;
        strmap_put(&api->warnings, arena_str(&api->warning_texts, text), api);
        log_warning("Warning from the API server", log_str("warning", text));
    }
}

static bool awaits_retry(const struct call *call, int status)
{
    return status == 401 && !call->retried && call->credential;
}

/* `status` and `received_bytes` are of the answer; 0: there was none. */
static void sample(struct call *call, int status, size_t received_bytes, bool is_retried)
{
    const struct api *api = call->api;
    const struct api_request *r = &call->request;
    if (!api->options.on_sample || call->counted)
        return;
    call->counted = r->stream && !is_retried;
    api->options.on_sample(api->options.user, &(struct api_sample){
                                                  .method = str_from(r->method),
                                                  .host = api->host,
                                                  .status = status,
                                                  .is_stream = r->stream,
                                                  .is_retried = is_retried,
                                                  .is_limited = api->options.qps >= 0,
                                                  .took_ns = MAX(monotonic_ns() - call->begun_ns, 0),
                                                  .limited_ns = MAX(call->token_ns - call->begun_ns, 0),
                                                  .sent_bytes = r->body.len,
                                                  .received_bytes = received_bytes,
                                              });
}

static void on_start(void *user, uint64_t id _unused_, int status)
{
    struct call *call = user;
    if (call->request.stream && !awaits_retry(call, status))
        sample(call, status, 0, false);
    const struct http_callbacks *callbacks = call->request.callbacks;
    if (callbacks->on_start && !awaits_retry(call, status))
        callbacks->on_start(call->request.user, call->id, status);
}

static int on_chunk(void *user, uint64_t id _unused_, struct str chunk)
{
    const struct call *call = user;
    return call->request.callbacks->on_chunk(call->request.user, call->id, chunk);
}

static void deliver(struct call *call, struct http_response *response)
{
    struct api *api = call->api;
    pthread_mutex_lock(&api->lock);
    idmap_remove(&api->calls, call->id);
    pthread_mutex_unlock(&api->lock);
    response->id = call->id;
    int64_t now_ns = monotonic_ns();
    if (response->outcome == HTTP_UNSENT && call->token_ns > now_ns)
        rate_cancel(&api->rate, now_ns, call->token_ns);
    call->request.callbacks->on_done(call->request.user, response);
    call_free(call);
}

static void on_ready(void *user, struct credential *credential, const struct error *err);

/* False: there is no other credential, and this answer is the answer. Otherwise the call has moved on. */
static bool try_again(struct call *call)
{
    struct api *api = call->api;
    if (!enter(api))
        return false;
    credentials_refused(api->credentials, call->credential);
    call->retried = call->tries_again = true;
    credentials_get(api->credentials, on_ready, call);
    call->tries_again = false;
    bool moved_on = !call->has_no_other;
    leave(api);
    return moved_on;
}

static void on_done(void *user, struct http_response *response)
{
    struct call *call = user;
    log_warnings(call->api, response);
    if (response->outcome == HTTP_ANSWERED && awaits_retry(call, response->status)) {
        sample(call, response->status, response->body ? response->body->len : 0, true);
        if (try_again(call))
            return;
        if (call->request.callbacks->on_start)
            call->request.callbacks->on_start(call->request.user, call->id, response->status);
    } else if (response->outcome != HTTP_UNSENT && response->failure != HTTP_FAILURE_CANCELLED) {
        bool answered = response->outcome == HTTP_ANSWERED;
        sample(call, answered ? response->status : 0, response->body ? response->body->len : 0, false);
    }
    deliver(call, response);
}

static const struct http_callbacks callbacks = { on_start, on_chunk, on_done };

/* ---- the way out ---- */

static void refuse(struct call *call, enum http_failure failure, const char *sentence)
{
    call->failure = failure;
    error_set(&call->refusal, 0, "%s", sentence);
}

static void answer_refused(void *user)
{
    struct call *call = user;
    _cleanup_(strbuf_release) struct strbuf body = { 0 };
    struct http_response response = { .outcome = HTTP_UNSENT,
                                      .failure = call->failure,
                                      .error = call->refusal,
                                      .retry_after_ms = -1,
                                      .body = &body };
    deliver(call, &response);
}

enum { HEADERS_OF_OURS = 3 };

/* What every request to the API server has: address, identity, and the name of this program. */
static struct http_request compose(const struct api *api, const struct credential *credential,
                                   const char *method, const char *url, const char *accept,
                                   const char *content_type, struct arena *arena)
{
    size_t count = credential ? credential->header_count : 0;
    struct http_header *headers = arena_array(arena, struct http_header, count + HEADERS_OF_OURS);
    for (size_t i = 0; i < count; i++)
        headers[i] = credential->headers[i];
    headers[count++] = (struct http_header){ "User-Agent", api->user_agent };
    headers[count++] = (struct http_header){ "Accept", accept ? accept : api->accept };
    if (content_type)
        headers[count++] = (struct http_header){ "Content-Type", content_type };
    return (struct http_request){
        .method = method,
        .url = url,
        .headers = headers,
        .header_count = count,
        .tls = credential ? credential->tls : NULL,
    };
}

static int send_call(struct call *call, struct error *err)
{
    struct api *api = call->api;
    const struct api_request *r = &call->request;
    struct http_request request =
        compose(api, call->credential, r->method, call->url, r->accept, r->content_type, &call->arena);
    request.body = r->body;
    request.secret = r->secret;
    request.stream = r->stream;
    request.urgent = r->urgent;
    request.ahead = r->ahead;
    request.gzip = r->gzip;
    request.timeout_ms = r->timeout_ms;
    request.silence_ms = r->silence_ms;
    request.body_bytes_max = r->body_bytes_max;
    request.not_before_ns = call->not_before_ns;
    request.may_leave = may_leave;
    request.callbacks = &callbacks;
    request.user = call;
    return http_send(api->http, &request, &call->http_id, err);
}

/* From any thread. Until the lock is given back, `deliver` cannot take the call away. */
static void launch(struct call *call)
{
    struct api *api = call->api;
    struct error err;
    bool is_there = enter(api);
    pthread_mutex_lock(&api->lock);
    if (!is_there)
        refuse(call, HTTP_FAILURE_CANCELLED, "the client is ending");
    else if (call->cancelled)
        refuse(call, HTTP_FAILURE_CANCELLED, "cancelled");
    else if (!call->failure && send_call(call, &err) < 0)
        refuse(call, HTTP_FAILURE_CONNECT, err.text);
    if (call->failure)
        loop_run(api_loop(api), answer_refused, call);
    pthread_mutex_unlock(&api->lock);
    if (is_there)
        leave(api);
}

static void on_ready(void *user, struct credential *credential, const struct error *err)
{
    struct call *call = user;
    if (call->tries_again && (!credential || credential == call->credential)) {
        call->has_no_other = true;
        return;
    }
    if (!credential) {
        refuse(call, HTTP_FAILURE_CONNECT, err->text);
        error_prefix(&call->refusal, "no credential");
    } else {
        credential_unref(call->credential);
        call->credential = credential_ref(credential);
    }
    launch(call);
}

static int64_t later(int64_t ns, int64_t by_ns)
{
    int64_t sum;
    return __builtin_add_overflow(ns, by_ns, &sum) ? INT64_MAX : sum;
}

static int64_t ms_to_ns(int64_t ms)
{
    int64_t ns;
    return __builtin_mul_overflow(ms, NS_PER_MS, &ns) ? INT64_MAX : ns;
}

static int set_time(struct call *call, struct error *err)
{
    const struct api_request *r = &call->request;
    int64_t now_ns = monotonic_ns();
    call->begun_ns = now_ns;
    if (r->delay_ms > 0)
        call->begun_ns = call->not_before_ns = later(now_ns, ms_to_ns(r->delay_ms));
    if (r->unlimited)
        return 0;
    int64_t wait_ns = rate_reserve(&call->api->rate, now_ns);
    if (wait_ns == RATE_FOREVER)
        return error_set(err, -EINVAL, "a negative burst lets no request out");
    call->token_ns = later(now_ns, wait_ns);
    if (wait_ns > 0)
        call->not_before_ns = MAX(call->not_before_ns, call->token_ns);
    return 0;
}

static const char *copy_text(struct arena *arena, const char *text)
{
    return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

static struct call *call_new(struct api *api, const struct api_request *request)
{
    struct call *call = xcalloc(1, sizeof(*call));
    struct arena *arena = &call->arena;
    arena->secret = request->secret;
    call->api = api;
    call->request = *request;
    call->request.method = copy_text(arena, request->method);
    call->request.content_type = copy_text(arena, request->content_type);
    call->request.accept = copy_text(arena, request->accept);
    call->request.body = arena_str(arena, request->body);
    call->url = arena_printf(arena, "%s" STR_FMT, api->server, STR_ARG(request->path)).ptr;
    return call;
}

int api_send(struct api *api, const struct api_request *request, uint64_t *ret_id, struct error *err)
{
    if (!request->method || !request->path.len || request->path.ptr[0] != '/')
        return error_set(err, -EINVAL, "a request without method or path");
    if (!request->callbacks || !request->callbacks->on_done ||
        (request->stream && !request->callbacks->on_chunk))
        return error_set(err, -EINVAL, "a request without its callbacks");
    struct call *call = call_new(api, request);
    int r = set_time(call, err);
    if (r < 0) {
        call_free(call);
        return r;
    }
    if (!enter(api)) {
        call_free(call);
        return error_set(err, -ESHUTDOWN, "the client of the API server is ending");
    }
    pthread_mutex_lock(&api->lock);
    call->id = ++api->last_id;
    idmap_put(&api->calls, call->id, call);
    if (ret_id)
        *ret_id = call->id;
    pthread_mutex_unlock(&api->lock);
    credentials_get(api->credentials, on_ready, call);
    leave(api);
    return 0;
}

void api_cancel(struct api *api, uint64_t id)
{
    bool is_there = enter(api);
    pthread_mutex_lock(&api->lock);
    struct call *call = idmap_get(&api->calls, id);
    if (call) {
        call->cancelled = true;
        /* A program that hangs would let it wait for long. */
        if (is_there && credentials_forget(api->credentials, call)) {
            refuse(call, HTTP_FAILURE_CANCELLED, "cancelled");
            loop_run(api_loop(api), answer_refused, call);
        } else if (call->http_id && is_there) {
            http_cancel(api->http, call->http_id);
        }
    }
    pthread_mutex_unlock(&api->lock);
    if (is_there)
        leave(api);
}

void api_drop_connections(struct api *api)
{
    if (api->http)
        http_drop_connections(api->http);
}

void api_reset_connections(struct api *api)
{
    http_reset_connections(api->http);
}

struct http_stats api_stats(const struct api *api)
{
    return http_client_stats(api->http);
}

int api_check_credentials(const struct api *api, struct error *err)
{
    return credentials_check(api->credentials, err);
}

struct loop *api_loop(const struct api *api)
{
    return http_client_loop(api->http);
}

/* ---- probes ---- */

/* A connection in doubt, whose probe waits for a credential. */
struct probe {
    struct api *api;
    uint64_t connection;
};

static void on_probe_ready(void *user, struct credential *credential, const struct error *err _unused_)
{
    struct probe *probe = user;
    struct api *api = probe->api;
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct http_request request;
    if (credential)
        request = compose(api, credential, "GET", arena_printf(&arena, "%s/version", api->server).ptr, NULL,
                          NULL, &arena);
    http_send_probe(api->http, probe->connection, credential ? &request : NULL);
    free(probe);
}

static void on_doubt(void *user, uint64_t connection)
{
    struct api *api = user;
    struct probe *probe = xmalloc(sizeof(*probe));
    *probe = (struct probe){ api, connection };
    if (!enter(api)) {
        free(probe);
        return;
    }
    credentials_get(api->credentials, on_probe_ready, probe);
    leave(api);
}

/* ---- life ---- */

/* "https://HOST:PORT/path": what is between. */
static struct str host_of(const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *host = scheme ? scheme + 3 : url;
    return (struct str){ host, (uint32_t)strcspn(host, "/") };
}

static int open_parts(struct api *api, struct error *err)
{
    const struct kube_access *access = api->options.access;
    struct credentials_options credentials = {
        .on_problem = report,
        .on_new_identity = drop_connections,
        .on_exec = on_exec,
        .user = api,
    };
    /* A server that comes back shall be used within a second: a first packet that was lost is sent again
     * after one, and so is the next attempt's. A watch is silent for up to a minute; only the probe tells it
     * from a dead one. */
    const struct http_options http = {
        .loop = api->options.loop,
        .proxy_url = access->cluster.proxy_url.len ? access->cluster.proxy_url.ptr : NULL,
        .connect_ms = 2000,
        .idle_ms = 3000,
        .probe_ms = 3000,
        .on_doubt = on_doubt,
        .user = api,
    };
    int r = http_client_new(&http, &api->http, err);
    if (r < 0)
        return r;
    credentials.loop = api_loop(api);
    return credentials_new(access, &credentials, &api->credentials, err);
}

/* As client-go: what is sent is what is best received. */
static void set_encodings(struct api *api)
{
    struct str sent = api->options.content_type.len ? api->options.content_type : STR(API_PROTOBUF);
    api->sends_json = !str_starts_with(sent, STR(API_PROTOBUF));
    if (api->sends_json)
        sent = STR(API_JSON); /* whatever else was asked for cannot be read */
    api->accept = api->options.accept.len ? arena_str(&api->arena, api->options.accept).ptr
                                          : arena_printf(&api->arena, STR_FMT ", */*", STR_ARG(sent)).ptr;
}

int api_new(const struct api_options *options, struct api **ret, struct error *err)
{
    if (!options->access->cluster.server.len)
        return error_set(err, -EINVAL, "no API server is named");
    struct api *api = xcalloc(1, sizeof(*api));
    api->options = *options;
    api->server = arena_str(&api->arena, options->access->cluster.server).ptr;
    api->host = host_of(api->server);
    api->user_agent =
        copy_text(&api->arena, options->user_agent ? options->user_agent : "berth/" BERTH_VERSION);
    set_encodings(api);
    rate_init(&api->rate, options->qps, options->burst);
    pthread_mutex_init(&api->lock, NULL);
    pthread_mutex_init(&api->life, NULL);
    pthread_cond_init(&api->left, NULL);
    int r = open_parts(api, err);
    if (r < 0)
        api_free(api);
    else
        *ret = api;
    return r;
}

bool api_sends_json(const struct api *api)
{
    return api->sends_json;
}

static void nothing(void *context)
{
    (void)context;
}

void api_free(struct api *api)
{
    if (!api)
        return;
    pthread_mutex_lock(&api->life);
    api->ending = true;
    while (api->users)
        pthread_cond_wait(&api->left, &api->life);
    pthread_mutex_unlock(&api->life);
    credentials_free(api->credentials);
    if (api->http)
        loop_run_wait(api_loop(api), nothing, NULL); /* calls that were refused have their answers */
    http_client_free(api->http);
    idmap_release(&api->calls);
    strmap_release(&api->warnings);
    arena_release(&api->warning_texts);
    rate_release(&api->rate);
    pthread_cond_destroy(&api->left);
    pthread_mutex_destroy(&api->life);
    pthread_mutex_destroy(&api->lock);
    arena_release(&api->arena);
    free(api);
}
