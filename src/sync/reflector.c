/* reflector.c: see reflector.h.
 *
 * A reflector is always in exactly one of three situations: it has one request under way (delayed ones included), it
 * waits at the gate until the API server answers the probe, or all of them are stopping. Whatever on_done brings ends
 * in send_next() or at the gate, which is why no kind is ever forgotten.
 *
 *     on_done ──▶ failed without an answer ──▶ gate ──▶ (probe answered) ──▶ send_next
 *             ──▶ refused ──▶ send_next later, the same or a new list
 *             ──▶ page, end of a watch ──▶ send_next at once
 *
 * All of it runs on the thread of the api's loop, what other threads call as well. */
#include "sync/reflector.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/rng.h"
#include "base/thread.h"
#include "client/rest.h"
#include "sync/gate.h"
#include "sync/watch_decode.h"

enum {
    LIST_MS = 60 * 1000,        /* as long as API servers take at most */
    WATCH_BEGIN_MS = 30 * 1000, /* until a watch is answered */
    WATCH_GRACE_MS = 30 * 1000, /* a watch that is over and silent for longer is dead */
    WATCH_SHORT_MS = 1000,      /* a watch that ends before that, without an event, has failed */
    WATCH_REFUSALS_MAX = 3,     /* then the kind is listed again */
    FORBIDDEN_MAX = 40,         /* for so long, about a quarter of a minute, it may be a matter of starting */
    SENTENCES_TOLD_MAX = 8,
    VERSION_LEN_MAX = 256, /* a longer resource version is none */
};

enum phase { PHASE_LIST, PHASE_WATCH };
/* What was read in a watch that it ends for. */
enum watch_end { WATCH_GOES_ON, WATCH_RETRY, WATCH_RELIST };

struct reflector {
    struct reflectors *all;
    const struct watched_kind *watched;
    uint32_t version; /* which of the kind's versions is requested */
    uint32_t page_len;
    enum phase phase;
    bool in_flight, at_gate, absent;
    bool was_listed;              /* to its end, at least once */
    bool afresh;                  /* the newest state is wanted: list again when the request in flight ends */
    bool complained;              /* about the present trouble */
    uint64_t id;                  /* of the request in flight */
    struct strbuf continue_token; /* of the list under way; empty: its first page is next */
    struct strbuf position;       /* the resource version that all that came adds up to */
    uint64_t position_number;     /* 0: it is no number */
    uint32_t failures;            /* in a row, without an event of a watch */
    uint32_t refusals;            /* likewise, after which the kind is listed from the start */
    uint32_t forbidden;           /* likewise, of 401 and 403 where there were none before */
    /* The watch under way. */
    struct watch_decoder watch;
    uint64_t watch_from;
    int64_t watch_ms;  /* how long it shall take */
    int64_t begun_ns;  /* 0: it has not */
    uint64_t received; /* events in it */
    int32_t retry_after_s;
    enum watch_end end;
    uint64_t told[SENTENCES_TOLD_MAX]; /* hashes of sentences about objects */
    size_t told_len;
};

struct reflectors {
    struct api *api;
    struct inbox *inbox;
    struct reflector_options options;
    _Atomic uint64_t source_kinds;
    struct completion idle; /* nothing is under way any more, after reflectors_stop() */
    struct rng rng;
    struct arena scratch;
    bool stopping;
    uint32_t in_flight;
    struct gate gate;
    size_t len;
    struct reflector items[];
};

static struct log_value about(const struct reflector *r)
{
    return log_str("resource", str_from(r->watched->resource));
}

/* ---- messages ---- */

static void post(struct reflector *r, enum inbox_message_kind kind, struct live_object *object)
{
    struct inbox_message *message = inbox_message_new(kind);
    message->api_kind = r->watched->kind;
    message->object = object;
    inbox_post(r->all->inbox, message);
}

/* An object that cannot be decoded is told of once, and is not there otherwise. */
static void undecodable(struct reflector *r, const struct error *err)
{
    uint64_t hash = str_hash(str_from(err->text));
    for (size_t i = 0; i < r->told_len; i++)
        if (r->told[i] == hash)
            return;
    if (r->told_len == SENTENCES_TOLD_MAX)
        return;
    r->told[r->told_len++] = hash;
    log_error(err, "An object cannot be read and is ignored", about(r));
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
    watched_query(path, "resourceVersion", strbuf_slice(&r->position));
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
    r->watch_from = r->position_number;
    r->begun_ns = 0;
    r->received = 0;
    r->retry_after_s = 0;
    r->end = WATCH_GOES_ON;
}

static const struct http_callbacks callbacks;

/* The next request, by phase. */
static void send_next(struct reflector *r, int64_t delay_ms)
{
    struct reflectors *all = r->all;
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    bool watches = r->phase == PHASE_WATCH;
    if (!watched_path(r->watched, r->version, &path))
        return;
    if (watches)
        begin_watch(r);
    (watches ? put_watch_query : put_list_query)(r, &path);
    const struct api_request request = {
        .method = "GET",
        .path = strbuf_slice(&path),
        .accept = REST_ACCEPT,
        .stream = watches,
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
}

/* From the start: at once, unless that did not help before. */
static void relist(struct reflector *r)
{
    r->phase = PHASE_LIST;
    strbuf_clear(&r->continue_token);
    send_next(r, slow_ms(r));
    r->refusals++;
}

/* ---- the gate ---- */

static void look_idle(struct reflectors *all)
{
    if (all->stopping && !all->in_flight && !all->gate.probing)
        completion_done(&all->idle);
}

static void on_open(void *user)
{
    struct reflectors *all = user;
    if (all->stopping) {
        look_idle(all);
        return;
    }
    for (size_t i = 0; i < all->len; i++) {
        struct reflector *r = &all->items[i];
        if (!r->at_gate)
            continue;
        r->at_gate = false;
        /* The first failure has been paid for by the probe. */
        send_next(r, backoff_ms(&all->rng, r->failures - 1, all->options.backoff_ms_min,
                                all->options.backoff_ms_max));
    }
}

/* No answer, or not all of one: what was under way is repeated when the server is there. */
static void wait_at_gate(struct reflector *r, const struct http_response *response)
{
    r->failures++;
    r->at_gate = true;
    if (r->all->options.on_failure)
        r->all->options.on_failure(r->all->options.user, r->watched->resource, 0, response->error.text);
    gate_wait(&r->all->gate, response->error.text);
}

/* ---- refusals ---- */

/* In the words of client-go, which alerts look for. */
static void log_failure(const struct reflector *r, struct error *err, int status)
{
    const char *what = r->phase == PHASE_LIST ? "list" : "watch";
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
        r->all->options.on_failure(r->all->options.user, r->watched->resource, response->status, err.text);
    else
        log_failure(r, &err, response->status);
}

/* Not served: by an older name perhaps, or not at all. */
static void not_served(struct reflector *r, const struct http_response *response)
{
    struct reflectors *all = r->all;
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    strbuf_clear(&r->continue_token);
    if (watched_path(r->watched, r->version + 1, &path)) {
        r->version++;
        send_next(r, 0);
        return;
    }
    r->version = 0;
    if (r->watched->required) {
        complain(r, response);
        r->refusals++;
        send_next(r, slow_ms(r));
        return;
    }
    if (!r->absent) {
        log_info(1, "The API server does not have this kind of objects: there are none", about(r));
        post(r, MESSAGE_ABSENT, NULL);
    }
    r->absent = true;
    r->failures = r->refusals = 0;
    send_next(r, backoff_ms(&all->rng, 1, all->options.absent_ms, all->options.absent_ms));
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
    bool passes = r->was_listed && ++r->forbidden < FORBIDDEN_MAX;
    if (!passes || r->forbidden > FORBIDDEN_MAX / 4)
        complain(r, response);
    r->refusals += !passes;
    send_next(r, passes ? quick_ms(r) : slow_ms(r));
}

/* An answer that is not 2xx. */
static void refused(struct reflector *r, const struct http_response *response)
{
    int status = response->status;
    r->failures++;
    if (status == 404 && r->phase == PHASE_LIST) {
        not_served(r, response);
    } else if (status == 404 || status == 410) { /* 410: a token or a version has become too old */
        relist(r);
    } else if (status == 429) {
        send_next(r, retry_after_ms(r, response->retry_after_ms));
    } else if (status == 401 || status == 403) {
        forbidden(r, response);
    } else if (status >= 500) {
        complain(r, response);
        send_next(r, quick_ms(r));
    } else { /* what is wrong with it will stay wrong */
        complain(r, response);
        r->refusals++;
        relist(r);
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
        post(r, MESSAGE_LIST_BEGIN, NULL);
        /* All pages are of one moment. Were they not, then events since the first one make up for it. */
        set_position(r, page->resource_version);
    }
    while ((code = list_page_next(page, &all->scratch, &object, err)) != 0) {
        if (code > 0)
            post(r, MESSAGE_SET, object);
        else
            undecodable(r, err);
    }
    r->complained = false;
    return 0;
}

static void end_list(struct reflector *r)
{
    post(r, MESSAGE_LIST_END, NULL);
    log_info(2, "Listed", about(r), log_str("resourceVersion", strbuf_slice(&r->position)));
    r->absent = false;
    r->was_listed = true;
    strbuf_clear(&r->continue_token);
    r->phase = PHASE_WATCH;
    send_next(r, 0);
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
        send_next(r, 0);
    } else {
        end_list(r);
    }
    list_page_release(&page);
}

static void list_done(struct reflector *r, struct http_response *response)
{
    if (rest_is_yes(response)) {
        page_done(r, response);
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

static void take_object(struct reflector *r, struct live_event *event, const struct error *err)
{
    if (!event->object) {
        undecodable(r, err);
        return;
    }
    struct str version = event->object->object.meta->resource_version;
    uint64_t number = version_number(version);
    if (number && number < r->watch_from) {
        log_warning("A watch told of a time before its own beginning: listing again", about(r),
                    log_str("resourceVersion", version));
        live_object_free(event->object);
        r->end = WATCH_RELIST;
        return;
    }
    advance(r, version);
    post(r, event->type == WATCH_DELETED ? MESSAGE_REMOVE : MESSAGE_SET, event->object);
}

static void take_error(struct reflector *r, const struct api_status *status)
{
    log_info(1, "A watch was ended by the API server", about(r), log_int("status", status->code),
             log_str("why", status->message));
    r->end = status->code == 410 || ++r->refusals >= WATCH_REFUSALS_MAX ? WATCH_RELIST : WATCH_RETRY;
    if (status->code == 429)
        r->retry_after_s = status->details.retry_after_seconds;
}

static void take_event(struct reflector *r, struct live_event *event, const struct error *err)
{
    if (event->type == WATCH_ERROR) {
        take_error(r, &event->status);
        return;
    }
    r->received++;
    r->failures = r->refusals = r->forbidden = 0;
    r->complained = false;
    if (event->type == WATCH_BOOKMARK) {
        advance(r, event->resource_version);
    } else {
        take_object(r, event, err);
    }
}

static void on_start(void *user, uint64_t id _unused_, int status)
{
    struct reflector *r = user;
    if (r->phase == PHASE_WATCH && status >= 200 && status < 300) {
        r->begun_ns = monotonic_ns();
    }
}

static int on_chunk(void *user, uint64_t id _unused_, struct str chunk)
{
    struct reflector *r = user;
    struct reflectors *all = r->all;
    struct live_event event;
    struct error err = { 0 };
    int code = 0;
    if (all->stopping)
        return 1;
    watch_decoder_feed(&r->watch, chunk);
    while (r->end == WATCH_GOES_ON && (code = watch_decoder_next(&r->watch, &all->scratch, &event, &err)) > 0)
        take_event(r, &event, &err);
    if (code < 0) { /* resuming would bring the same again, so a list goes past it */
        log_error(&err, "A watch cannot be read: listing again", about(r));
        r->end = WATCH_RELIST;
    }
    return r->end != WATCH_GOES_ON;
}

static void watch_done(struct reflector *r, const struct http_response *response)
{
    bool lasted = r->begun_ns && monotonic_ns() - r->begun_ns >= WATCH_SHORT_MS * NS_PER_MS;
    if (lasted)
        r->failures = r->refusals = r->forbidden = 0;
    watch_decoder_release(&r->watch);
    if (r->end == WATCH_GOES_ON && rest_is_yes(response) && (lasted || r->received)) {
        send_next(r, 0);
        return;
    }
    if (r->end == WATCH_RELIST) {
        relist(r);
    } else if (r->end == WATCH_RETRY || rest_is_yes(response)) {
        r->failures++;
        send_next(r, retry_after_ms(r, (int64_t)r->retry_after_s * 1000));
    } else if (response->outcome == HTTP_ANSWERED) {
        refused(r, response);
    } else {
        wait_at_gate(r, response);
    }
}

static void begin_afresh(struct reflector *r)
{
    r->afresh = false;
    if (r->phase == PHASE_WATCH)
        watch_decoder_release(&r->watch);
    r->phase = PHASE_LIST;
    strbuf_clear(&r->continue_token);
    send_next(r, 0);
}

static void on_done(void *user, struct http_response *response)
{
    struct reflector *r = user;
    struct reflectors *all = r->all;
    r->in_flight = false;
    all->in_flight--;
    if (all->stopping)
        look_idle(all);
    else if (r->afresh)
        begin_afresh(r);
    else if (r->phase == PHASE_LIST)
        list_done(r, response);
    else
        watch_done(r, response);
}

static const struct http_callbacks callbacks = { on_start, on_chunk, on_done };

/* ---- life ---- */

static void fill_in(struct reflector_options *o)
{
    const struct {
        int64_t *value;
        int64_t fallback;
    } times[] = {
        { &o->backoff_ms_min, 50 },    { &o->backoff_ms_max, 500 },      { &o->refused_ms_min, 250 },
        { &o->refused_ms_max, 15000 }, { &o->retry_after_ms_max, 5000 }, { &o->absent_ms, 180 * 1000 },
        { &o->watch_ms_min, 300000 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(times); i++)
        if (*times[i].value <= 0)
            *times[i].value = times[i].fallback;
    if (!o->kinds) {
        o->kinds = watched_kinds;
        o->kind_count = watched_kind_count;
    }
    if (!o->page_bytes_max)
        o->page_bytes_max = (size_t)64 << 20;
    if (!o->seed)
        o->seed = (uint64_t)monotonic_ns();
}

static void start(void *context)
{
    struct reflectors *all = context;
    for (size_t i = 0; i < all->len; i++)
        send_next(&all->items[i], 0);
}

struct reflectors *reflectors_start(struct api *api, struct inbox *inbox,
                                    const struct reflector_options *options)
{
    struct reflector_options filled = *options;
    fill_in(&filled);
    size_t len = filled.kind_count;
    struct reflectors *all = xcalloc(1, sizeof(*all) + arena_bytes(len, sizeof(all->items[0])));
    all->api = api;
    all->inbox = inbox;
    all->options = filled;
    atomic_init(&all->source_kinds, filled.source_kinds);
    all->len = len;
    completion_init(&all->idle);
    rng_seed(&all->rng, filled.seed);
    all->gate = (struct gate){
        .api = api,
        .rng = &all->rng,
        .backoff_ms_min = filled.backoff_ms_min,
        .backoff_ms_max = filled.backoff_ms_max,
        .on_open = on_open,
        .user = all,
    };
    for (size_t i = 0; i < len; i++)
        all->items[i] = (struct reflector){ .all = all,
                                            .watched = &filled.kinds[i],
                                            .page_len = filled.kinds[i].page_len };
    loop_run_wait(api_loop(api), start, all);
    return all;
}

static void stop(void *context)
{
    struct reflectors *all = context;
    all->stopping = true;
    for (size_t i = 0; i < all->len; i++)
        if (all->items[i].in_flight)
            api_cancel(all->api, all->items[i].id);
    gate_stop(&all->gate);
    look_idle(all);
}

void reflectors_stop(struct reflectors *all)
{
    if (!all)
        return;
    loop_run(api_loop(all->api), stop, all);
    completion_wait(&all->idle, INT64_MAX);
    for (size_t i = 0; i < all->len; i++) {
        strbuf_release(&all->items[i].continue_token);
        strbuf_release(&all->items[i].position);
        watch_decoder_release(&all->items[i].watch);
    }
    arena_release(&all->scratch);
    completion_release(&all->idle);
    free(all);
}

struct relist {
    struct reflectors *all;
    uint64_t kinds;
};

static void relist_kinds(void *context)
{
    const struct relist *relist = context;
    struct reflectors *all = relist->all;
    for (size_t i = 0; i < all->len; i++) {
        struct reflector *r = &all->items[i];
        if (!(relist->kinds >> r->watched->kind & 1) || r->absent)
            continue;
        post(r, MESSAGE_DOUBT, NULL);
        if (r->in_flight) {
            r->afresh = true;
            api_cancel(all->api, r->id);
        } else { /* at the gate: it begins with a list when that opens */
            r->phase = PHASE_LIST;
            strbuf_clear(&r->continue_token);
        }
    }
}

void reflectors_relist(struct reflectors *all, uint64_t kinds)
{
    if (kinds)
        loop_run_wait(api_loop(all->api), relist_kinds, &(struct relist){ all, kinds });
}

void reflectors_keep_source(struct reflectors *all, uint64_t kinds)
{
    reflectors_relist(all, kinds & ~atomic_exchange(&all->source_kinds, kinds));
}

int64_t reflectors_down_since_ns(const struct reflectors *all)
{
    return atomic_load(&all->gate.closed_ns);
}
