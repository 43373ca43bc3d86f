/* reflector.c: see reflector.h.
 *
 * A reflector is always in exactly one of three situations: it has one request under way (delayed ones included), it
 * waits at the gate until the API server answers the probe, or it is over: all of them are stopping, or it was to list
 * once. Whatever else on_done brings ends in reflector_send() or at the gate, which is why no kind is ever forgotten.
 *
 *     on_done ──▶ failed without an answer ──▶ gate ──▶ (probe answered) ──▶ send_next
 *             ──▶ refused ──▶ send_next later, the same or a new list
 *             ──▶ page, end of a watch ──▶ send_next at once
 *
 * All of it runs on the thread of the api's loop, what other threads call as well. */
#include "sync/reflector_impl.h"

#include "base/log.h"
#include "client/rest.h"

enum {
    LIST_MS = 60 * 1000,        /* as long as API servers take at most */
    WATCH_BEGIN_MS = 30 * 1000, /* until a watch is answered */
    WATCH_GRACE_MS = 30 * 1000, /* a watch that is over and silent for longer is dead */
    WATCH_SHORT_MS = 1000,      /* a watch that ends before that, without an event, has failed */
    WATCH_REFUSALS_MAX = 3,     /* then the kind is listed again */
    HASTY_MAX = 3,              /* so many short watches in a row may be chance */
    STREAM_FAILURES_MAX = 3,    /* then the objects are listed */
    RIGHTS_TRIES = 8,           /* so often an optional kind is asked for soon again, about a minute */
    FORBIDDEN_MAX = 40,         /* for so long, about a quarter of a minute, it may be a matter of starting */
    OBJECTS_TOLD_MAX = 1000,
    VERSION_LEN_MAX = 256, /* a longer resource version is none */
};

static struct log_value about(const struct reflector *r)
{
    return log_str("resource", str_from(r->watched->resource));
}

/* ---- messages ---- */

/* The addresses of a node serve its name alone: the core does not see them, and a recording does not have them. */
static void note_node(struct node_lookup *lookup, enum inbox_message_kind kind, struct node *node)
{
    if (kind == MESSAGE_REMOVE)
        node_lookup_remove(lookup, node->meta.name);
    else
        node_lookup_set(lookup, node);
    node->status.addresses.len = 0;
}

void reflector_post(struct reflector *r, enum inbox_message_kind kind, struct live_object *object)
{
    if (object && r->watched->kind == KIND_NODE && r->all->options.node_lookup)
        note_node(r->all->options.node_lookup, kind, object->object.ptr);
    struct inbox_message *message = inbox_message_new(kind);
    message->api_kind = r->watched->kind;
    message->object = object;
    inbox_post(r->all->inbox, message);
}

/* Is this the first time? */
static bool tell_once(struct reflector *r, struct str what)
{
    uint64_t hash = str_hash(what);
    if (r->told.len == OBJECTS_TOLD_MAX || idmap_get(&r->told, hash))
        return false;
    idmap_put(&r->told, hash, r);
    if (r->told.len == OBJECTS_TOLD_MAX)
        log_warning("Too many objects cannot be read: no more of them are named", about(r));
    return true;
}

/* An object that cannot be read completely is told of once. What becomes of it, sync/mirror.h says. */
static void tell_partial(struct reflector *r, const struct meta *meta, const struct error *err)
{
    if (!tell_once(r, meta->uid.len ? meta->uid : meta->name))
        return;
    log_error(
        err,
        "An object cannot be read completely: if it has a node it keeps its resources, else it is not used",
        about(r), log_ref("object", meta->namespace, meta->name));
    if (r->all->options.on_unreadable)
        r->all->options.on_unreadable(r->all->options.user, r->watched->resource);
}

static void post_object(struct reflector *r, struct live_object *object, const struct error *err)
{
    bool is_partial = object->object.is_partial;
    if (is_partial)
        tell_partial(r, object->object.meta, err);
    reflector_post(r, is_partial ? MESSAGE_PARTIAL : MESSAGE_SET, object);
}

/* ---- positions ---- */

static uint64_t version_number(struct str version)
{
    int64_t number;
    return str_to_int64(version, &number) && number > 0 ? (uint64_t)number : 0;
}

static void set_position(struct reflector *r, struct str version)
{
    strbuf_clear(&r->position);
    strbuf_str(&r->position, version);
    r->position_number = version_number(version);
    if (r->all->options.on_version)
        r->all->options.on_version(r->all->options.user, r->watched->kind, version);
}

/* Forward only. */
static void advance(struct reflector *r, struct str version)
{
    uint64_t number = version_number(version);
    if (version.len && version.len <= VERSION_LEN_MAX && (!number || number > r->position_number))
        set_position(r, version);
}

/* ---- requests ---- */

/* For what will pass: the server is busy, starting, or has lost its own storage. */
static int64_t quick_ms(struct reflector *r)
{
    return backoff_ms(&r->all->rng, r->failures, r->all->options.backoff_ms_min,
                      r->all->options.backoff_ms_max);
}

/* For what may stay, or costs the server much. */
static int64_t slow_ms(struct reflector *r)
{
    return backoff_ms(&r->all->rng, r->refusals, r->all->options.refused_ms_min,
                      r->all->options.refused_ms_max);
}

static void put_list_query(struct reflector *r, struct strbuf *path)
{
    char limit[16];
    snprintf(limit, sizeof(limit), "%u", r->page_len);
    watched_query(path, "limit", str_from(limit));
    if (r->continue_token.len)
        watched_query(path, "continue", strbuf_slice(&r->continue_token));
}

static void put_watch_query(struct reflector *r, struct strbuf *path)
{
    char seconds[24];
    int64_t min_ms = r->all->options.watch_ms_min;
    r->watch_ms = min_ms + (int64_t)rng_below(&r->all->rng, (uint64_t)min_ms + 1);
    snprintf(seconds, sizeof(seconds), "%lld", (long long)MAX(r->watch_ms / 1000, 1));
    watched_query(path, "watch", STR("true"));
    watched_query(path, "allowWatchBookmarks", STR("true"));
    if (r->phase == PHASE_STREAM) { /* without a version: as new as the storage */
        watched_query(path, "sendInitialEvents", STR("true"));
        watched_query(path, "resourceVersionMatch", STR("NotOlderThan"));
    } else {
        watched_query(path, "resourceVersion", strbuf_slice(&r->position));
    }
    watched_query(path, "timeoutSeconds", str_from(seconds));
}

static bool keeps_source(const struct reflector *r)
{
    return atomic_load_explicit(&r->all->source_kinds, memory_order_relaxed) >> r->watched->kind & 1;
}

static void begin_watch(struct reflector *r)
{
    watch_decoder_release(&r->watch);
    watch_decoder_init(&r->watch, r->watched->kind);
    r->watch.keeps_source = keeps_source(r);
    r->watch_from = r->phase == PHASE_STREAM ? 0 : r->position_number;
    r->has_begun = false;
    r->begun_ns = 0;
    r->received = 0;
    r->hasty++;
    r->retry_after_s = 0;
    r->end = WATCH_GOES_ON;
}

static const struct http_callbacks callbacks;

/* A server that does not know sendInitialEvents may take it for a watch, in which nothing need happen. */
static void look_for_stall(struct reflector *r, int64_t delay_ms)
{
    loop_timer_set(api_loop(r->all->api), &r->stall,
                   monotonic_ns() + (delay_ms + r->all->options.stall_ms) * NS_PER_MS);
}

void reflector_on_stall(struct loop_timer *timer)
{
    struct reflector *r = container_of(timer, struct reflector, stall);
    if (!r->in_flight || r->phase != PHASE_STREAM)
        return;
    r->end = WATCH_RELIST;
    r->no_stream = true;
    api_cancel(r->all->api, r->id);
}

void reflector_send(struct reflector *r, int64_t delay_ms)
{
    struct reflectors *all = r->all;
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    bool watches = r->phase == PHASE_STREAM || r->phase == PHASE_WATCH;
    if (r->phase == PHASE_LOOKUP)
        watched_lookup_path(r->watched, &path);
    else if (!watched_path(r->watched, r->version, strbuf_slice(&r->resource), &path))
        return;
    if (watches)
        begin_watch(r);
    if (r->phase != PHASE_LOOKUP)
        (watches ? put_watch_query : put_list_query)(r, &path);
    const struct api_request request = {
        .method = "GET",
        .path = strbuf_slice(&path),
        .stream = watches,
        .accept = r->watched->is_looked_up ? API_JSON : NULL,
        .urgent = true,
        .unlimited = true,
        .timeout_ms = watches ? WATCH_BEGIN_MS : LIST_MS,
        .silence_ms = watches ? r->watch_ms + WATCH_GRACE_MS : 0,
        .delay_ms = delay_ms,
        .body_bytes_max = all->options.page_bytes_max,
        .callbacks = &callbacks,
        .user = r,
    };
    struct error err = { 0 };
    int code = api_send(all->api, &request, &r->id, &err);
    if (code < 0) { /* the client is ending: no request can be sent */
        log_error(&err, "A request to the API server was not taken", about(r));
        return;
    }
    r->in_flight = true;
    all->in_flight++;
    if (r->phase == PHASE_STREAM)
        look_for_stall(r, delay_ms);
}

void reflector_begin_list(struct reflector *r)
{
    r->phase = r->watched->is_looked_up && !r->resource.len  ? PHASE_LOOKUP
               : r->all->options.plain_lists || r->no_stream ? PHASE_LIST
                                                             : PHASE_STREAM;
    strbuf_clear(&r->continue_token);
}

/* From the start: at once, unless that did not help before. */
static void relist(struct reflector *r)
{
    reflector_begin_list(r);
    reflector_send(r, slow_ms(r));
    r->refusals++;
}

/* Streaming does not work, for now: the objects are listed. */
static void list_instead(struct reflector *r)
{
    r->no_stream = true;
    reflector_begin_list(r);
    reflector_send(r, quick_ms(r));
}

/* ---- the gate ---- */

void reflectors_look_idle(struct reflectors *all)
{
    if (all->stopping && !all->in_flight && !all->gate.probing)
        completion_done(&all->idle);
}

void reflectors_on_open(void *user)
{
    struct reflectors *all = user;
    if (all->stopping) {
        reflectors_look_idle(all);
        return;
    }
    if (all->options.on_answering)
        all->options.on_answering(all->options.user);
    for (size_t i = 0; i < all->len; i++) {
        struct reflector *r = &all->items[i];
        if (!r->at_gate)
            continue;
        r->at_gate = false;
        /* The first failure has been paid for by the probe. */
        reflector_send(r, backoff_ms(&all->rng, r->failures - 1, all->options.backoff_ms_min,
                                     all->options.backoff_ms_max));
    }
}

/* It ended before all objects had come: if that happens again and again, something between here and the server does not
 * let long answers pass, and pages will do. */
static void stream_broke_off(struct reflector *r)
{
    if (r->phase != PHASE_STREAM)
        return;
    r->no_stream |= r->begun_ns && r->failures >= STREAM_FAILURES_MAX;
    reflector_begin_list(r);
}

/* No answer, or not all of one: what was under way is repeated when the server is there. */
static void wait_at_gate(struct reflector *r, const struct http_response *response)
{
    r->failures++;
    stream_broke_off(r);
    r->at_gate = true;
    if (r->all->options.on_failure)
        r->all->options.on_failure(r->all->options.user, r->watched, 0, response->error.text);
    gate_wait(&r->all->gate, response->error.text);
}

/* ---- refusals ---- */

/* In the words of client-go, which alerts look for. */
static void log_failure(const struct reflector *r, struct error *err, int status)
{
    const char *what = r->phase == PHASE_WATCH ? "watch" : "list";
    error_prefix(err, "failed to %s %s", what, r->watched->resource);
    log_error(err, "Failed to watch", about(r), log_int("status", status));
}

static void complain(struct reflector *r, const struct http_response *response)
{
    if (r->complained)
        return;
    r->complained = true;
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct api_status status = { 0 };
    struct error err = { 0 };
    rest_status(response, &arena, &status);
    struct str sentence = rest_sentence(response, &status, &arena);
    error_set(&err, 0, STR_FMT, STR_ARG(sentence));
    if (r->all->options.on_failure)
        r->all->options.on_failure(r->all->options.user, r->watched, response->status, err.text);
    else
        log_failure(r, &err, response->status);
}

static void are_absent(struct reflector *r, const char *why)
{
    if (!r->absent) {
        if (r->watched->is_looked_up) /* a plugin waits for them */
            log_warning(why, about(r));
        else
            log_info(1, why, about(r));
        reflector_post(r, MESSAGE_ABSENT, NULL);
    }
    r->absent = true;
}

static int64_t absent_ms(struct reflector *r)
{
    return backoff_ms(&r->all->rng, 1, r->all->options.absent_ms, r->all->options.absent_ms);
}

/* Not served: by an older name perhaps, or not at all. */
static void not_served(struct reflector *r, const struct http_response *response)
{
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    strbuf_clear(&r->continue_token);
    if (r->watched->is_looked_up) { /* it may come back by another name */
        strbuf_clear(&r->resource);
        reflector_begin_list(r);
    }
    if (watched_path(r->watched, r->version + 1, strbuf_slice(&r->resource), &path)) {
        r->version++;
        reflector_send(r, 0);
        return;
    }
    r->version = 0;
    if (r->watched->required) {
        complain(r, response);
        r->refusals++;
        reflector_send(r, slow_ms(r));
        return;
    }
    r->failures = r->refusals = 0;
    are_absent(r, "The API server does not have this kind of objects: there are none");
    reflector_send(r, absent_ms(r));
}

static int64_t retry_after_ms(struct reflector *r, int64_t wanted_ms)
{
    wanted_ms = MIN(MAX(wanted_ms, 0), r->all->options.retry_after_ms_max);
    return MAX(wanted_ms + (int64_t)rng_below(&r->all->rng, (uint64_t)wanted_ms / 8 + 1), quick_ms(r));
}

/* With other rights, the same may be allowed. Where it was allowed before, the server may just have started, and know
 * no user's rights yet: that passes. */
static void forbidden(struct reflector *r, const struct http_response *response)
{
    if (response->status == 403 && r->watched->is_looked_up && !r->was_listed) {
        complain(r, response);
        are_absent(r, "The scheduler may not list objects that a plugin wants: there are none");
        r->refusals++;
        reflector_send(r, slow_ms(r));
        return;
    }
    if (response->status == 403 && r->watched->has_gate && !r->was_listed) {
        /* Roles of older servers do not name the kind. Those of a server that has just started may yet do. */
        are_absent(r, "The scheduler may not list this kind of objects: there are none");
        reflector_send(r, ++r->refusals < RIGHTS_TRIES ? slow_ms(r) : absent_ms(r));
        return;
    }
    bool passes = r->was_listed && ++r->forbidden < FORBIDDEN_MAX;
    if (!passes || r->forbidden > FORBIDDEN_MAX / 4)
        complain(r, response);
    r->refusals += !passes;
    reflector_send(r, passes ? quick_ms(r) : slow_ms(r));
}

/* An answer that is not 2xx. */
static void refused(struct reflector *r, const struct http_response *response)
{
    int status = response->status;
    r->failures++;
    if (status == 404 && r->phase != PHASE_WATCH) {
        not_served(r, response);
    } else if (r->phase == PHASE_STREAM && status != 410 && status != 429) {
        log_info(4, "The objects cannot be streamed: they are listed", about(r), log_int("status", status));
        r->failures--; /* the list has not failed yet */
        list_instead(r);
    } else if (status == 404 || status == 410) { /* 410: a token or a version has become too old */
        relist(r);
    } else if (status == 429) {
        reflector_send(r, retry_after_ms(r, response->retry_after_ms));
    } else if (status == 401 || status == 403) {
        forbidden(r, response);
    } else if (status >= 500) {
        complain(r, response);
        reflector_send(r, quick_ms(r));
    } else { /* what is wrong with it will stay wrong */
        complain(r, response);
        r->refusals++;
        relist(r);
    }
}

/* ---- lookups ---- */

static void lookup_done(struct reflector *r, struct http_response *response)
{
    struct error err = { 0 };
    int found = watched_look_up(r->watched, response->body, &r->resource, &err);
    if (found < 0) {
        if (!r->complained)
            log_error(&err, "The list of resources cannot be read", about(r));
        r->complained = true;
        relist(r);
    } else if (!found) {
        not_served(r, response);
    } else {
        reflector_begin_list(r);
        reflector_send(r, 0);
    }
}

/* ---- lists ---- */

static int take_page(struct reflector *r, struct list_page *page, struct error *err)
{
    struct reflectors *all = r->all;
    struct live_object *object;
    bool is_first = r->continue_token.len == 0;
    int code;
    if (!is_first && str_eq(strbuf_slice(&r->continue_token), page->continue_token))
        return error_set(err, -EBADMSG, "the list does not go on");
    if (is_first) {
        reflector_post(r, MESSAGE_LIST_BEGIN, NULL);
        /* All pages are of one moment. Were they not, then events since the first one make up for it. */
        set_position(r, page->resource_version);
    }
    while ((code = list_page_next(page, &all->scratch, &object, err)) != 0) {
        if (code > 0) {
            post_object(r, object, err);
        } else {
            reflector_post(r, MESSAGE_PARTIAL, NULL);
            if (tell_once(r, str_from(err->text)))
                log_error(err, "An object without a name that can be read: none are taken for deleted",
                          about(r));
        }
    }
    r->complained = false;
    return 0;
}

static void end_list(struct reflector *r)
{
    reflector_post(r, MESSAGE_LIST_END, NULL);
    log_info(2, "Listed", about(r), log_str("resourceVersion", strbuf_slice(&r->position)));
    r->absent = false;
    r->was_listed = true;
    strbuf_clear(&r->continue_token);
    r->no_stream = false;
    r->phase = PHASE_WATCH;
}

static void page_done(struct reflector *r, struct http_response *response)
{
    struct error err = { 0 };
    struct list_page page;
    int code = list_page_init(&page, r->watched->kind, response->body, &err);
    page.keeps_source = keeps_source(r);
    if (code == 0)
        code = take_page(r, &page, &err);
    if (code < 0) {
        if (!r->complained)
            log_error(&err, "A list cannot be read", about(r));
        r->complained = true;
        relist(r);
    } else if (page.continue_token.len) {
        strbuf_clear(&r->continue_token);
        strbuf_str(&r->continue_token, page.continue_token);
        reflector_send(r, 0);
    } else {
        end_list(r);
        if (!r->all->options.lists_once)
            reflector_send(r, 0);
    }
    list_page_release(&page);
}

static void list_done(struct reflector *r, struct http_response *response)
{
    if (rest_is_yes(response)) {
        (r->phase == PHASE_LOOKUP ? lookup_done : page_done)(r, response);
        return;
    }
    if (response->outcome == HTTP_ANSWERED) {
        refused(r, response);
    } else if (response->failure == HTTP_FAILURE_TOO_LARGE) {
        r->page_len = MAX(r->page_len / 4, 1u);
        log_warning("A page of a list is too large: asking for less", about(r),
                    log_int("limit", r->page_len));
        relist(r);
    } else {
        wait_at_gate(r, response);
    }
}

/* ---- watches ---- */

/* What changed is not known, so only a list can tell: at once the first time. It is logged once until a watch lasts. */
static void cannot_go_on(struct reflector *r, const struct error *err)
{
    if (!r->watch_complained)
        log_error(err, "A watch cannot be read: listing again", about(r));
    r->watch_complained = true;
    r->no_stream |= r->phase == PHASE_STREAM;
    r->end = WATCH_RELIST;
}

/* A storm of short watches stays slow, whatever they bring. */
static void made_progress(struct reflector *r)
{
    r->received++;
    if (r->hasty > HASTY_MAX)
        return;
    r->failures = r->refusals = r->forbidden = 0;
    r->complained = false;
}

static void take_object(struct reflector *r, struct live_event *event, const struct error *err)
{
    if (event->is_foreign) {
        if (tell_once(r, str_from(err->text)))
            log_error(err, "A watch event is about another kind of objects, and is ignored", about(r));
        return;
    }
    if (!event->object) {
        cannot_go_on(r, err);
        return;
    }
    struct str version = event->object->object.meta->resource_version;
    uint64_t number = version_number(version);
    if (number && number < r->watch_from) {
        struct error why;
        error_set(&why, -EBADMSG,
                  "an event is of a time before the watch began: the resource version is " STR_FMT,
                  STR_ARG(version));
        live_object_free(event->object);
        cannot_go_on(r, &why);
        return;
    }
    if (r->phase == PHASE_WATCH) { /* what is streamed is in no order */
        made_progress(r);
        advance(r, version);
    }
    if (event->type == WATCH_DELETED)
        reflector_post(r, MESSAGE_REMOVE, event->object);
    else
        post_object(r, event->object, err);
}

static void take_error(struct reflector *r, const struct api_status *status)
{
    log_info(1, "A watch was ended by the API server", about(r), log_int("status", status->code),
             log_str("why", status->message));
    r->end = status->code == 410 || ++r->refusals >= WATCH_REFUSALS_MAX ? WATCH_RELIST : WATCH_RETRY;
    r->no_stream |= r->phase == PHASE_STREAM && status->code != 410 && status->code != 429;
    if (status->code == 429)
        r->retry_after_s = status->details.retry_after_seconds;
}

/* All objects have come, and the watch goes on with what happens since. */
static void end_stream(struct reflector *r, struct str version)
{
    set_position(r, version);
    r->watch_from = r->position_number;
    r->complained = false;
    end_list(r);
    loop_timer_stop(api_loop(r->all->api), &r->stall);
    made_progress(r);
}

static void take_event(struct reflector *r, struct live_event *event, const struct error *err)
{
    if (event->type == WATCH_ERROR) {
        take_error(r, &event->status);
        return;
    }
    if (r->phase == PHASE_STREAM)
        look_for_stall(r, 0);
    if (r->phase == PHASE_STREAM && !r->has_begun) {
        r->has_begun = true;
        reflector_post(r, MESSAGE_LIST_BEGIN, NULL);
    }
    if (event->type == WATCH_BOOKMARK && r->phase == PHASE_STREAM) {
        if (event->ends_initial)
            end_stream(r, event->resource_version);
    } else if (event->type == WATCH_BOOKMARK) {
        made_progress(r);
        advance(r, event->resource_version);
    } else {
        take_object(r, event, err);
    }
}

static void on_start(void *user, uint64_t id _unused_, int status)
{
    struct reflector *r = user;
    if (r->phase >= PHASE_STREAM && status >= 200 && status < 300) {
        r->begun_ns = monotonic_ns();
    }
}

/* Also when it is cancelled: chunks may arrive until that is done, and what they say is older than the doubt. */
static bool is_over(const struct reflector *r)
{
    return r->all->stopping || r->afresh || r->end != WATCH_GOES_ON;
}

static int on_chunk(void *user, uint64_t id _unused_, struct str chunk)
{
    struct reflector *r = user;
    struct live_event event;
    struct error err = { 0 };
    int code = 0;
    watch_decoder_feed(&r->watch, chunk);
    while (!is_over(r) && (code = watch_decoder_next(&r->watch, &r->all->scratch, &event, &err)) > 0)
        take_event(r, &event, &err);
    if (code < 0) /* resuming would bring the same again, so a list goes past it */
        cannot_go_on(r, &err);
    return is_over(r);
}

static bool lasted_ms(const struct reflector *r, int64_t ms)
{
    return r->begun_ns && monotonic_ns() - r->begun_ns >= ms * NS_PER_MS;
}

/* Every watch that ended sends the next request with a delay that grows from one to the next, unless it lasted, or
 * brought something and is not one of many. */
static void watch_done(struct reflector *r, const struct http_response *response)
{
    bool lasted = lasted_ms(r, WATCH_SHORT_MS);
    if (lasted)
        r->failures = r->forbidden = 0;
    if (lasted_ms(r, MAX(r->all->options.refused_ms_max, WATCH_SHORT_MS))) {
        r->hasty = r->refusals = 0;
        r->watch_complained = false;
    }
    watch_decoder_release(&r->watch);
    loop_timer_stop(api_loop(r->all->api), &r->stall);
    if (r->end == WATCH_GOES_ON && rest_is_yes(response) && r->phase == PHASE_WATCH &&
        (lasted || (r->received && r->hasty <= HASTY_MAX))) {
        reflector_send(r, 0);
        return;
    }
    if (r->end == WATCH_RELIST) {
        relist(r);
    } else if (r->end == WATCH_RETRY || rest_is_yes(response)) {
        r->failures++;
        stream_broke_off(r);
        reflector_send(r, retry_after_ms(r, (int64_t)r->retry_after_s * 1000));
    } else if (response->outcome == HTTP_ANSWERED) {
        refused(r, response);
    } else {
        wait_at_gate(r, response);
    }
}

static void begin_afresh(struct reflector *r)
{
    r->afresh = false;
    if (r->phase >= PHASE_STREAM)
        watch_decoder_release(&r->watch);
    reflector_begin_list(r);
    reflector_send(r, 0);
}

static void on_done(void *user, struct http_response *response)
{
    struct reflector *r = user;
    struct reflectors *all = r->all;
    r->in_flight = false;
    all->in_flight--;
    if (all->stopping)
        reflectors_look_idle(all);
    else if (r->afresh)
        begin_afresh(r);
    else if (r->phase < PHASE_STREAM)
        list_done(r, response);
    else
        watch_done(r, response);
}

static const struct http_callbacks callbacks = { on_start, on_chunk, on_done };
