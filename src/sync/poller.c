/* poller.c: see poller.h. All of it runs on the I/O thread, but for the three functions of the header.
 *
 * A source waits for its timer, or has something under way: a request to the API server, or a round of queries. What is
 * under way for a purpose that is over is cancelled, and its end begins the next. */
#include "sync/poller.h"

#include <stdlib.h>

#include "api/extra_kinds.h"
#include "api/fields.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/thread.h"
#include "client/rest.h"
#include "sync/prometheus_samples.h"
#include "sync/watch_decode.h"

enum {
    INTERVAL_MS_DEFAULT = 30000,
    REQUEST_MS = 20000,
    BODY_BYTES_MAX = 256 << 20,
    NODES_LOOK_MS = 100, /* until the first node is known */
};

static const struct source_kind {
    enum api_kind kind;
    const char *path, *name, *prometheus_name;
    enum round_kind round;
} source_kinds[] = {
    { KIND_NODE_METRICS, "/apis/metrics.k8s.io/v1beta1/nodes", "nodes.metrics.k8s.io", "nodes.prometheus",
      ROUND_NODES },
    { KIND_POD_METRICS, "/apis/metrics.k8s.io/v1beta1/pods", "pods.metrics.k8s.io", "pods.prometheus",
      ROUND_PODS },
};

/* All queries, or one of them: each number that plugins have given to the kind. Only a Prometheus has these. */
static const struct source_kind query_kind = { KIND_UNKNOWN, NULL, NULL, "queries.prometheus",
                                               ROUND_QUERIES };

struct source {
    struct poller *poller;
    const struct source_kind *kind;
    enum api_kind api_kind; /* of its objects */
    int64_t interval_ms;
    bool wanted, complained;
    bool in_flight, at_once;        /* at_once: what is in flight was cancelled */
    uint64_t id;                    /* of a request to the API server */
    struct prometheus_round *round; /* instead of it */
    struct loop_timer timer;
    int64_t oldest_ns; /* of the last samples */
    bool looked_back;
    struct sample_past past;
};

struct poller {
    struct poller_options options;
    const struct prometheus *prometheus; /* NULL: metrics.k8s.io */
    struct completion idle;
    struct arena scratch;
    bool stopping;
    struct source sources[ARRAY_SIZE(source_kinds) + EXTRA_KINDS_MAX];
};

static void look_idle(struct poller *poller)
{
    for (size_t i = 0; i < ARRAY_SIZE(poller->sources); i++)
        if (poller->sources[i].in_flight)
            return;
    if (poller->stopping)
        completion_done(&poller->idle);
}

static struct loop *loop_of(const struct source *source)
{
    return api_loop(source->poller->options.api);
}

static void wait(struct source *source, int64_t ms)
{
    loop_timer_set(loop_of(source), &source->timer, monotonic_ns() + ms * NS_PER_MS);
}

static void post(struct source *source, enum inbox_message_kind kind, struct live_object *object)
{
    struct inbox_message *message = inbox_message_new(kind);
    message->api_kind = source->api_kind;
    message->object = object;
    inbox_post(source->poller->options.inbox, message);
}

static void post_sample(struct source *source, struct live_object *object, int64_t at_ns)
{
    source->oldest_ns = source->oldest_ns ? MIN(source->oldest_ns, at_ns) : at_ns;
    post(source, MESSAGE_SET, object);
}

/* The only query that is asked; empty: all of them. */
static struct str query_of(const struct source *source)
{
    return kind_is_extra(source->api_kind) ? extra_kind_of(source->api_kind)->name : (struct str){ 0 };
}

/* ---- the end of a fetch ---- */
static void put_name(const struct source *source, struct strbuf *name)
{
    const struct source_kind *kind = source->kind;
    struct str query = query_of(source);
    strbuf_puts(name, source->poller->prometheus || !kind->name ? kind->prometheus_name : kind->name);
    if (query.len)
        strbuf_printf(name, "/" STR_FMT, STR_ARG(query));
}

static void tell(struct source *source, int r, const struct error *err)
{
    const struct poller_options *options = &source->poller->options;
    _cleanup_(strbuf_release) struct strbuf name = { 0 };
    struct str object = api_kinds[source->api_kind].kind;
    put_name(source, &name);
    if (r < 0 && !source->complained)
        log_error(err, "Samples cannot be fetched; plugins go on with those that they have",
                  log_str("kind", object), log_str("source", strbuf_slice(&name)));
    if (r == 0 && source->complained)
        log_info(0, "Samples can be fetched again", log_str("kind", object),
                 log_str("source", strbuf_slice(&name)));
    source->complained = r < 0;
    if (options->on_samples)
        options->on_samples(options->user, name.text, r == 0, source->oldest_ns);
}

/* Nothing is under way any more. True: what came is of use. */
static bool ended(struct source *source)
{
    source->in_flight = false;
    source->round = NULL;
    if (source->poller->stopping) {
        look_idle(source->poller);
        return false;
    }
    bool is_of_use = source->wanted && !source->at_once;
    if (source->wanted)
        wait(source, is_of_use ? source->interval_ms : 0);
    source->at_once = false;
    return is_of_use;
}

/* ---- the API server ---- */
/* Of named queries: as if it were long ago, since nothing says. */
static int64_t time_of(const struct live_object *object)
{
    const void *ptr = object->object.ptr;
    const struct opt_time *time =
        object->object.kind == KIND_NODE_METRICS  ? &((const struct node_metrics *)ptr)->timestamp
        : object->object.kind == KIND_POD_METRICS ? &((const struct pod_metrics *)ptr)->timestamp
                                                  : &(const struct opt_time){ 0 };
    return time->set ? time->seconds * NS_PER_SECOND + time->nanos : 0;
}

/* An item that cannot be read is left out: its node has no sample then. */
static void post_list(struct source *source, struct list_page *page)
{
    struct live_object *object;
    struct error err = { 0 };
    int r;
    source->oldest_ns = 0;
    post(source, MESSAGE_LIST_BEGIN, NULL);
    while ((r = list_page_next(page, &source->poller->scratch, &object, &err)) != 0) {
        if (r > 0 && object->object.is_partial)
            live_object_free(object);
        else if (r > 0)
            post_sample(source, object, time_of(object));
    }
    post(source, MESSAGE_LIST_END, NULL);
}

static int take(struct source *source, struct strbuf *body, struct error *err)
{
    struct list_page page;
    int r = list_page_init(&page, source->api_kind, body, err);
    if (r == 0)
        post_list(source, &page);
    list_page_release(&page);
    return r;
}

static int fail(const struct http_response *response, struct error *err)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct api_status status = { 0 };
    if (response->outcome != HTTP_ANSWERED)
        return error_set(err, -EIO, "%s", response->error.text);
    rest_status(response, &arena, &status);
    struct str sentence = rest_sentence(response, &status, &arena);
    return error_set(err, -EIO, STR_FMT, STR_ARG(sentence));
}

static void on_done(void *user, struct http_response *response)
{
    struct source *source = user;
    struct error err = { 0 };
    if (ended(source))
        tell(source, rest_is_yes(response) ? take(source, response->body, &err) : fail(response, &err), &err);
}

static void list(struct source *source)
{
    static const struct http_callbacks callbacks = { .on_done = on_done };
    struct error err = { 0 };
    const struct api_request request = { .method = "GET",
                                         .path = str_from(source->kind->path),
                                         .accept = API_JSON,
                                         .urgent = true,
                                         .unlimited = true,
                                         .timeout_ms = REQUEST_MS,
                                         .body_bytes_max = BODY_BYTES_MAX,
                                         .callbacks = &callbacks,
                                         .user = source };
    if (api_send(source->poller->options.api, &request, &source->id, &err) < 0)
        log_error(&err, "A request for samples was not taken", log_str("path", str_from(source->kind->path)));
    else
        source->in_flight = true;
}

/* ---- Prometheus ---- */
static void post_round(struct source *source, struct prometheus_round *round)
{
    const struct prometheus *prometheus = source->poller->prometheus;
    int64_t newest_ns = 0;
    source->oldest_ns = 0;
    post(source, MESSAGE_LIST_BEGIN, NULL);
    map_for(prometheus_round_found(round), slot) {
        const struct measured *measured = slot->value;
        struct live_object *object = source->kind->round == ROUND_PODS
                                         ? prometheus_pod_sample(prometheus, measured)
                                         : prometheus_node_sample(prometheus, measured, &source->past);
        if (object)
            post_sample(source, object, measured->at_ns);
        newest_ns = MAX(newest_ns, measured->at_ns);
    }
    post(source, MESSAGE_LIST_END, NULL);
    if (newest_ns >= source->past.until_ns)
        sample_past_release(&source->past);
}

static void on_round(void *user, struct prometheus_round *round, int r, const struct error *err)
{
    struct source *source = user;
    struct error why = *err;
    if (!ended(source))
        return;
    if (r == 0 && source->kind->round == ROUND_QUERIES) {
        _cleanup_(strbuf_release) struct strbuf list = { 0 };
        prometheus_round_write(round, &list);
        r = take(source, &list, &why);
    } else if (r == 0) {
        post_round(source, round);
    }
    tell(source, r, &why);
}

/* Without it, statistics begin with what comes from now on. */
static void on_past(void *user, struct prometheus_round *round, int r, const struct error *err)
{
    struct source *source = user;
    if (!ended(source))
        return;
    source->looked_back = true;
    if (r == 0)
        sample_past_take(&source->past, prometheus_round_found(round));
    else
        log_info(1, "Prometheus does not tell the samples of the last quarter of an hour",
                 log_str("err", str_from(err->text)));
    wait(source, 0);
}

/* What another source had is not true for ever. */
static void empty(struct source *source)
{
    struct error err = { 0 };
    post(source, MESSAGE_LIST_BEGIN, NULL);
    post(source, MESSAGE_LIST_END, NULL);
    if (!source->poller->prometheus && query_of(source).len)
        tell(source, error_set(&err, -ENOENT, "no Prometheus is named, such as by --samples-prometheus"),
             &err);
}

static void ask(struct source *source)
{
    const struct poller *poller = source->poller;
    enum round_kind kind = source->kind->round;
    if (kind == ROUND_NODES && !poller->options.lookup->by_name.len) {
        wait(source, NODES_LOOK_MS); /* nothing could be found out about whose samples they are */
        return;
    }
    bool looks_back =
        kind == ROUND_NODES && !source->looked_back && prometheus_asks(poller->prometheus, ROUND_HISTORY);
    if (!query_of(source).len && !prometheus_asks(poller->prometheus, kind)) {
        empty(source);
        return;
    }
    source->in_flight = true;
    source->round = prometheus_round_begin(&(struct round_options){ .prometheus = poller->prometheus,
                                                                    .lookup = poller->options.lookup,
                                                                    .kind = looks_back ? ROUND_HISTORY : kind,
                                                                    .query = query_of(source),
                                                                    .done = looks_back ? on_past : on_round,
                                                                    .user = source });
}

/* ---- when ---- */
static void ring(struct loop_timer *timer)
{
    struct source *source = container_of(timer, struct source, timer);
    (source->poller->prometheus ? ask : source->kind->path ? list : empty)(source);
}

static void cancel(struct source *source)
{
    if (source->round)
        prometheus_round_cancel(source->round);
    else if (source->in_flight)
        api_cancel(source->poller->options.api, source->id);
}

struct want {
    struct poller *poller;
    const struct poller_wants *wants;
    const struct prometheus *prometheus;
};

/* The number of the kind that a source fetches; KIND_UNKNOWN: it has none (yet). */
static enum api_kind kind_of(const struct poller *poller, const struct source *source)
{
    size_t place = (size_t)(source - poller->sources);
    if (place < ARRAY_SIZE(source_kinds))
        return source->kind->kind;
    place -= ARRAY_SIZE(source_kinds);
    if (place >= extra_kind_count())
        return KIND_UNKNOWN;
    const struct extra_kind *extra = extra_kind_of((enum api_kind)(KIND_EXTRA_FIRST + place));
    bool is_query = str_is(extra->api_version, QUERY_API_VERSION) && str_is(extra->kind, QUERY_KIND);
    return is_query ? (enum api_kind)(KIND_EXTRA_FIRST + place) : KIND_UNKNOWN;
}

static int64_t interval_ms(const struct want *want, enum api_kind kind)
{
    int64_t by_default_ms = want->poller->options.interval_ms;
    int64_t own_ms = MAX(want->wants->every_ns[kind] / NS_PER_MS, 1);
    if (!want->wants->every_ns[kind])
        return by_default_ms;
    return want->wants->by_default >> kind & 1 ? MIN(own_ms, by_default_ms) : own_ms;
}

static void want(void *context)
{
    const struct want *want = context;
    struct poller *poller = want->poller;
    bool is_other = poller->prometheus != want->prometheus;
    for (size_t i = 0; i < ARRAY_SIZE(poller->sources); i++) {
        struct source *source = &poller->sources[i];
        source->api_kind = kind_of(poller, source);
        source->wanted = source->api_kind && want->wants->kinds >> source->api_kind & 1;
        source->interval_ms = interval_ms(want, source->api_kind);
        source->at_once = source->in_flight;
        if (is_other) {
            sample_past_release(&source->past);
            source->looked_back = false;
        }
        loop_timer_stop(loop_of(source), &source->timer);
        cancel(source);
        if (source->wanted && !source->in_flight)
            wait(source, 0);
    }
    poller->prometheus = want->prometheus;
}

static void stop(void *context)
{
    struct poller *poller = context;
    poller->stopping = true;
    for (size_t i = 0; i < ARRAY_SIZE(poller->sources); i++) {
        loop_timer_stop(loop_of(&poller->sources[i]), &poller->sources[i].timer);
        cancel(&poller->sources[i]);
    }
    look_idle(poller);
}

/* ---- from other threads ---- */
struct poller *poller_start(const struct poller_options *options)
{
    struct poller *poller = xcalloc(1, sizeof(*poller));
    poller->options = *options;
    if (poller->options.interval_ms <= 0)
        poller->options.interval_ms = INTERVAL_MS_DEFAULT;
    completion_init(&poller->idle);
    for (size_t i = 0; i < ARRAY_SIZE(poller->sources); i++)
        poller->sources[i] =
            (struct source){ .poller = poller,
                             .kind = i < ARRAY_SIZE(source_kinds) ? &source_kinds[i] : &query_kind,
                             .timer.ring = ring };
    return poller;
}

void poller_wants_add(struct poller_wants *wants, uint64_t kinds, int64_t every_ns)
{
    wants->kinds |= kinds;
    wants->by_default |= every_ns ? 0 : kinds;
    for (int kind = 0; kind < KIND_COUNT && every_ns; kind++)
        if (kinds >> kind & 1)
            wants->every_ns[kind] = wants->every_ns[kind] ? MIN(wants->every_ns[kind], every_ns) : every_ns;
}

void poller_want(struct poller *poller, const struct poller_wants *wants, const struct prometheus *prometheus)
{
    loop_run_wait(api_loop(poller->options.api), want, &(struct want){ poller, wants, prometheus });
}

void poller_stop(struct poller *poller)
{
    if (!poller)
        return;
    loop_run(api_loop(poller->options.api), stop, poller);
    completion_wait(&poller->idle, INT64_MAX);
    for (size_t i = 0; i < ARRAY_SIZE(poller->sources); i++)
        sample_past_release(&poller->sources[i].past);
    arena_release(&poller->scratch);
    completion_release(&poller->idle);
    free(poller);
}
