/* candidate.c: one request at a time, and the watch beside it.
 *
 * `object` is what is known: from the list, from an answer to a write, from the watch. A conflict, or anything that
 * cannot be read, ends the watch and lists again. Everything but `synced` belongs to the loop's thread. */
#include "live/candidate.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "client/rest.h"
#include "codec/doc.h"

enum {
    RENEW_S = 300, /* though nothing asks for it */
    RETRY_MS_MIN = 250,
    RETRY_MS_MAX = 15000,
    REQUEST_MS = 10000,
    WITHDRAW_MS = 2000,
    WATCH_S = 480,
    WATCH_GRACE_MS = 30000,
    BODY_BYTES_MAX = 2 << 20,
};

struct lease_candidate {
    struct candidate_options options; /* its texts in the arena */
    struct arena arena;
    struct strbuf collection; /* the path of all candidates of the namespace */
    struct str path;          /* of this one */
    struct strbuf object;     /* as it was seen last; empty: there is none */
    struct strbuf version;    /* to watch from */
    struct strbuf line;       /* of the watch: what has come of the next event */
    uint64_t request, watch;  /* under way; 0: none */
    bool is_list;             /* the request is the list */
    bool lists_again;         /* once the watch has ended */
    int64_t watched_ns;       /* since when */
    bool renews_again;        /* it was pinged while a request was under way */
    bool stopping;
    uint32_t failures; /* in a row */
    struct loop_timer timer;
    struct completion *idle; /* that candidate_free() waits for */
    bool started;
    atomic_bool synced;
};

static void list(struct lease_candidate *c);
static void renew(struct lease_candidate *c);
static void watch(struct lease_candidate *c);

static struct log_value about(const struct lease_candidate *c)
{
    return log_ref("candidate", c->options.namespace, c->options.identity);
}

/* ---- what comes next ---- */
static void look_idle(struct lease_candidate *c)
{
    struct completion *idle = c->idle;
    if (!c->stopping || c->request || c->watch || !idle)
        return;
    c->idle = NULL;
    completion_done(idle);
}

static void set_timer(struct lease_candidate *c, int64_t ms)
{
    loop_timer_set(api_loop(c->options.api), &c->timer, monotonic_ns() + ms * NS_PER_MS);
}

/* Lists again after a while, and only then: the watch is over, or is ended. */
static void start_over(struct lease_candidate *c)
{
    int64_t ms = MIN((int64_t)RETRY_MS_MIN << MIN(c->failures, 10u), (int64_t)RETRY_MS_MAX);
    c->failures++;
    c->lists_again = true;
    strbuf_clear(&c->line);
    if (c->watch)
        api_cancel(c->options.api, c->watch);
    if (!c->stopping)
        set_timer(c, ms);
}

static void on_timer(struct loop_timer *timer)
{
    struct lease_candidate *c = container_of(timer, struct lease_candidate, timer);
    if (c->request || (c->lists_again && c->watch))
        set_timer(c, RETRY_MS_MIN); /* its end is near */
    else if (c->lists_again)
        list(c);
    else
        renew(c);
}

/* ---- objects ---- */
static void set_text(struct strbuf *buf, struct str text)
{
    strbuf_clear(buf);
    strbuf_str(buf, text);
}

/* NULL: none. False: it has no version to go on from. */
static bool take_object(struct lease_candidate *c, yyjson_val *object, struct str version)
{
    struct str own = doc_member_text(yyjson_obj_get(object, "metadata"), "resourceVersion");
    size_t len = 0;
    char *text = object ? yyjson_val_write(object, 0, &len) : NULL;
    set_text(&c->object, (struct str){ text, (uint32_t)len });
    set_text(&c->version, version.len ? version : own);
    free(text);
    return c->version.len;
}

static bool take_answer(struct lease_candidate *c, const struct http_response *response)
{
    yyjson_doc *doc = response->body->len ? yyjson_read(response->body->text, response->body->len, 0) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    bool is_list = yyjson_is_arr(yyjson_obj_get(root, "items"));
    yyjson_val *object = is_list ? yyjson_arr_get_first(yyjson_obj_get(root, "items")) : root;
    struct str version =
        is_list ? doc_member_text(yyjson_obj_get(root, "metadata"), "resourceVersion") : (struct str){ 0 };
    bool good = yyjson_is_obj(root) && take_object(c, object, version);
    yyjson_doc_free(doc);
    return good;
}

static void log_failure(const struct lease_candidate *c, const struct http_response *response)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct api_status status = { 0 };
    struct error err;
    if (c->failures > 1 && c->failures % 16) /* the log has it */
        return;
    rest_status(response, &arena, &status);
    error_set(&err, 0, STR_FMT, STR_ARG(rest_sentence(response, &status, &arena)));
    log_error(&err, "Ensuring lease failed", about(c));
}

/* ---- requests ---- */
static void send(struct lease_candidate *c, const struct api_request *given, uint64_t *ret_id)
{
    struct api_request request = *given;
    struct error err;
    request.accept = API_JSON;
    request.unlimited = true;
    request.user = c;
    if (api_send(c->options.api, &request, ret_id, &err) < 0) {
        *ret_id = 0;
        start_over(c);
    }
}

/* A write or the list has its answer. */
static void on_done(void *user, struct http_response *response)
{
    struct lease_candidate *c = user;
    bool was_list = c->is_list;
    c->request = 0;
    c->is_list = false;
    if (c->stopping) {
        look_idle(c);
        return;
    }
    if (!rest_is_yes(response) || !take_answer(c, response)) {
        log_failure(c, response);
        start_over(c);
        return;
    }
    if (was_list) {
        c->lists_again = false;
        atomic_store(&c->synced, true);
        renew(c);
        return;
    }
    if (c->lists_again) /* the watch has ended meanwhile: a timer runs */
        return;
    set_timer(c, (int64_t)RENEW_S * 1000);
    if (!c->watch)
        watch(c);
    if (c->renews_again || candidate_is_pinged(strbuf_slice(&c->object)))
        renew(c);
}

static void list(struct lease_candidate *c)
{
    static const struct http_callbacks callbacks = { .on_done = on_done };
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    strbuf_printf(&path, "%s?fieldSelector=metadata.name%%3D" STR_FMT, c->collection.text,
                  STR_ARG(c->options.identity));
    c->lists_again = c->is_list = true;
    send(c,
         &(struct api_request){ .method = "GET",
                                .path = strbuf_slice(&path),
                                .timeout_ms = REQUEST_MS,
                                .body_bytes_max = BODY_BYTES_MAX,
                                .callbacks = &callbacks },
         &c->request);
}

/* Says that this process is there: creates the object, or moves its renewTime. */
static void renew(struct lease_candidate *c)
{
    static const struct http_callbacks callbacks = { .on_done = on_done };
    _cleanup_(strbuf_release) struct strbuf body = { 0 };
    bool exists = c->object.len;
    c->renews_again = c->request != 0;
    if (c->request)
        return;
    log_info(2, exists ? "Lease candidate exists. Renewing." : "Creating lease candidate", about(c));
    candidate_write(&c->options, strbuf_slice(&c->object), clock_now_ns(CLOCK_REALTIME) / 1000, &body);
    send(c,
         &(struct api_request){ .method = exists ? "PUT" : "POST",
                                .path = exists ? c->path : strbuf_slice(&c->collection),
                                .content_type = API_JSON,
                                .body = strbuf_slice(&body),
                                .urgent = true,
                                .timeout_ms = REQUEST_MS,
                                .body_bytes_max = BODY_BYTES_MAX,
                                .callbacks = &callbacks },
         &c->request);
}

/* ---- the watch ---- */
/* False: the kind has to be listed again. */
static bool take_event(struct lease_candidate *c, struct str line)
{
    yyjson_doc *doc = yyjson_read(line.ptr, line.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc), *object = yyjson_obj_get(root, "object");
    struct str type = doc_member_text(root, "type"),
               version = doc_member_text(yyjson_obj_get(object, "metadata"), "resourceVersion");
    bool good = version.len && !str_is(type, "ERROR");
    if (good && (str_is(type, "ADDED") || str_is(type, "MODIFIED")))
        take_object(c, object, version);
    else if (good && str_is(type, "DELETED"))
        take_object(c, NULL, version);
    c->failures = good ? 0 : c->failures;
    bool is_due = !c->object.len || candidate_is_pinged(strbuf_slice(&c->object));
    yyjson_doc_free(doc);
    if (good && is_due)
        renew(c);
    return good;
}

static int on_chunk(void *user, uint64_t id _unused_, struct str chunk)
{
    struct lease_candidate *c = user;
    if (c->stopping || c->lists_again || c->line.len + chunk.len > BODY_BYTES_MAX)
        return -1;
    strbuf_str(&c->line, chunk);
    for (;;) {
        struct str all = strbuf_slice(&c->line);
        ptrdiff_t end = str_find(all, '\n');
        if (end < 0)
            return 0;
        _cleanup_(strbuf_release) struct strbuf line = { 0 };
        strbuf_str(&line, str_slice(all, 0, (size_t)end));
        struct strbuf rest = { 0 };
        strbuf_str(&rest, str_slice(all, (size_t)end + 1, all.len));
        strbuf_release(&c->line);
        c->line = rest;
        if (line.len && !take_event(c, strbuf_slice(&line)))
            return -1;
    }
}

/* A watch ends by itself now and then; what was missed is in the next list. */
static void on_watched(void *user, struct http_response *response)
{
    struct lease_candidate *c = user;
    bool lasted = monotonic_ns() - c->watched_ns > RETRY_MS_MAX * NS_PER_MS;
    c->watch = 0;
    if (c->stopping) {
        look_idle(c);
        return;
    }
    if (lasted)
        c->failures = 0;
    if (!rest_is_yes(response) && !c->lists_again)
        log_failure(c, response);
    if (!c->lists_again)
        start_over(c);
}

static void watch(struct lease_candidate *c)
{
    static const struct http_callbacks callbacks = { .on_chunk = on_chunk, .on_done = on_watched };
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    strbuf_printf(&path,
                  "%s?watch=true&allowWatchBookmarks=true&fieldSelector=metadata.name%%3D" STR_FMT
                  "&resourceVersion=" STR_FMT "&timeoutSeconds=%d",
                  c->collection.text, STR_ARG(c->options.identity), STR_ARG(strbuf_slice(&c->version)),
                  WATCH_S);
    strbuf_clear(&c->line);
    c->watched_ns = monotonic_ns();
    send(c,
         &(struct api_request){ .method = "GET",
                                .path = strbuf_slice(&path),
                                .stream = true,
                                .timeout_ms = REQUEST_MS,
                                .silence_ms = WATCH_S * INT64_C(1000) + WATCH_GRACE_MS,
                                .body_bytes_max = BODY_BYTES_MAX,
                                .callbacks = &callbacks },
         &c->watch);
}

/* ---- life ---- */
static void start(void *context)
{
    list(context);
}

struct lease_candidate *candidate_new(const struct candidate_options *options)
{
    struct lease_candidate *c = xcalloc(1, sizeof(*c));
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    c->options = *options;
    c->options.namespace = arena_str(&c->arena, options->namespace);
    c->options.identity = arena_str(&c->arena, options->identity);
    c->options.lease_name = arena_str(&c->arena, options->lease_name);
    c->options.binary_version = arena_str(&c->arena, str_from(options->binary_version)).ptr;
    c->options.emulation_version = arena_str(&c->arena, str_from(options->emulation_version)).ptr;
    strbuf_puts(&c->collection, "/apis/coordination.k8s.io/v1beta1");
    rest_path(&c->collection, options->namespace, "leasecandidates", (struct str){ 0 });
    strbuf_puts(&path, "/apis/coordination.k8s.io/v1beta1");
    rest_path(&path, options->namespace, "leasecandidates", options->identity);
    c->path = arena_str(&c->arena, strbuf_slice(&path));
    c->timer.ring = on_timer;
    return c;
}

void candidate_start(struct lease_candidate *c)
{
    if (!c)
        return;
    c->started = true;
    loop_run(api_loop(c->options.api), start, c);
}

static void stop(void *context)
{
    struct lease_candidate *c = context;
    c->stopping = true;
    loop_timer_stop(api_loop(c->options.api), &c->timer);
    if (c->request)
        api_cancel(c->options.api, c->request);
    if (c->watch)
        api_cancel(c->options.api, c->watch);
    look_idle(c);
}

static void withdraw(void *context)
{
    static const struct http_callbacks callbacks = { .on_done = on_done };
    struct lease_candidate *c = context;
    if (c->object.len)
        send(c,
             &(struct api_request){ .method = "DELETE",
                                    .path = c->path,
                                    .urgent = true,
                                    .timeout_ms = WITHDRAW_MS,
                                    .body_bytes_max = BODY_BYTES_MAX,
                                    .callbacks = &callbacks },
             &c->request);
    look_idle(c);
}

/* Calls on the loop, and waits until nothing is under way. */
static void wait_for(struct lease_candidate *c, void (*call)(void *context))
{
    struct completion idle;
    completion_init(&idle);
    c->idle = &idle;
    loop_run(api_loop(c->options.api), call, c);
    completion_wait(&idle, INT64_MAX);
    completion_release(&idle);
}

void candidate_withdraw(struct lease_candidate *c)
{
    if (!c || !c->started)
        return;
    wait_for(c, stop);
    wait_for(c, withdraw);
}

void candidate_free(struct lease_candidate *c)
{
    if (!c)
        return;
    if (c->started)
        wait_for(c, stop);
    strbuf_release(&c->collection);
    strbuf_release(&c->object);
    strbuf_release(&c->version);
    strbuf_release(&c->line);
    arena_release(&c->arena);
    free(c);
}

bool candidate_synced(const struct lease_candidate *c)
{
    return atomic_load(&c->synced);
}
