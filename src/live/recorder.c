/* recorder.c: which events are written when; see recorder.h.
 *
 *     IDLE ──new, repeated, due──▶ WAITING ──a place is free──▶ SENT ──answered──▶ IDLE, or forgotten
 *                                                                │ ▲
 *                                                                └─┘ tried again, later
 *
 * One lock guards everything. It is not held while a request is handed to the API client, whose callbacks take it. A
 * series that is SENT is not freed: the request's callback points to it.
 *
 * An idle series has no texts. A repetition brings them along, for the case that the event is gone and is to be created
 * again; what is written without one (every half hour, at the end) can only be patched: if it is gone then, the next
 * repetition creates it. */
#include "live/recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "client/rate.h"
#include "client/rest.h"
#include "live/series.h"

#define FINISH_NS (6 * 60 * NS_PER_S)
#define REFRESH_NS (30 * 60 * NS_PER_S)

enum { TRIES_MAX = 12, TIMEOUT_MS = 30000, ANSWER_BYTES_MAX = 4 << 20 };

/* Which API has the events? */
enum group { GROUP_UNKNOWN, GROUP_REQUESTED, GROUP_EVENTS, GROUP_CORE };

struct recorder {
    struct recorder_options options;
    char hostname[256];
    pthread_mutex_t lock;
    enum group group;
    uint64_t seeds[2];
    struct series **buckets; /* by key; as many as records at most */
    size_t bucket_mask;
    struct list all;     /* struct series, by the second in which they were seen last */
    struct list waiting; /* struct series, in the order in which they are sent */
    uint32_t in_flight;
    struct rate rate;
    int64_t begun_ns, finish_at_ns, refresh_at_ns; /* steady */
    int64_t last_name_ns;
    struct strbuf scratch; /* for keys */
    struct recorder_stats stats;
};

static void pump(struct recorder *recorder);

/* ---- all of them ---- */
/* The link that leads to the one with the key, or the last one of the bucket. */
static struct series **find(struct recorder *recorder, struct series_key key)
{
    struct series **link = &recorder->buckets[key.halves[0] & recorder->bucket_mask];
    while (*link && !series_key_eq((*link)->key, key))
        link = &(*link)->next_in_bucket;
    return link;
}

static void remember(struct recorder *recorder, struct series *series)
{
    list_append(&recorder->all, &series->link);
    *find(recorder, series->key) = series;
    recorder->stats.series++;
    recorder->stats.bytes += series_bytes(series);
}

static void forget(struct recorder *recorder, struct series *series)
{
    list_remove(&recorder->all, &series->link);
    *find(recorder, series->key) = series->next_in_bucket;
    recorder->stats.series--;
    recorder->stats.bytes -= series_bytes(series);
    series_free(series);
}

static void drop_texts(struct recorder *recorder, struct series *series)
{
    recorder->stats.bytes -= series->texts_bytes;
    series_drop_texts(series);
}

/* The one that was seen longest ago and is not about to be written. */
static void forget_oldest(struct recorder *recorder)
{
    list_for_each(&recorder->all, struct series, series, link)
        if (series->state == SERIES_IDLE) {
            recorder->stats.forgotten++;
            forget(recorder, series);
            return;
        }
}

/* ---- those that wait ---- */
/* Events of the scheduler itself, which are few, go first. */
static void wait_in_line(struct recorder *recorder, struct series *series)
{
    struct list_link *place = series->legacy ? recorder->waiting.first : NULL;
    while (place && list_item(place, struct series, waiting)->legacy)
        place = place->next;
    series->state = SERIES_WAITING;
    list_insert_before(&recorder->waiting, place, &series->waiting);
    recorder->stats.waiting++;
    recorder->stats.own += series->legacy;
}

static void want_written(struct recorder *recorder, struct series *series)
{
    if (series->state == SERIES_SENT)
        series->again = true;
    else if (series->state == SERIES_IDLE)
        wait_in_line(recorder, series);
}

/* ---- answers ---- */
static void log_problem(const char *message, const struct series *series, struct str sentence)
{
    struct error err;
    error_set(&err, 0, STR_FMT, STR_ARG(sentence));
    log_error(&err, message, log_ref("event", series_namespace(series), series_name(series)),
              log_str("reason", series_reason(series)));
}

/* What becomes of an event that the server answered to, unless the answer is to try again. */
static int64_t take_refusal(struct recorder *recorder, struct series *series,
                            const struct http_response *response)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct api_status status = { 0 };
    rest_status(response, &arena, &status);
    struct str sentence = rest_sentence(response, &status, &arena);
    int code = response->status;
    if (code == 404 && series->patched) {
        /* It is gone by now: a new one begins with the count that was reached. */
        series->exists = false;
        series->renew = !series->texts;
        return series->texts ? 0 : -1;
    }
    if (code == 409 && !series->patched) {
        /* An earlier attempt went through although no answer came. */
        series->exists = true;
        if (series_is_repeated(series))
            return 0;
        log_info(5, "Server rejected event (will not retry!)",
                 log_ref("event", series_namespace(series), series_name(series)), log_str("err", sentence));
        return -1;
    }
    bool may_pass = code == 429 || code >= 500;
    if (may_pass && rest_retry_after_ms(response, &status) > 0)
        return rest_retry_after_ms(response, &status);
    recorder->stats.refused++;
    log_problem("Server rejected event (will not retry!)", series, sentence);
    return -1;
}

/* The lengths vary so that many clients do not come back at the same moment. */
static int64_t retry_delay_ms(struct recorder *recorder)
{
    int64_t ms = recorder->options.retry_ms;
    return ms + arc4random_uniform((uint32_t)(ms / 4) + 1);
}

/* In how many milliseconds to try it again; negative: it is over. */
static int64_t next_try_ms(struct recorder *recorder, struct series *series,
                           const struct http_response *response)
{
    if (rest_is_yes(response)) {
        series->exists = true;
        recorder->stats.written++;
        return -1;
    }
    if (response->failure == HTTP_FAILURE_CANCELLED)
        return -1;
    int64_t delay_ms;
    if (response->outcome == HTTP_ANSWERED) {
        delay_ms = take_refusal(recorder, series, response);
    } else {
        log_problem("Unable to write event (may retry after sleeping)", series,
                    str_from(response->error.text));
        delay_ms = retry_delay_ms(recorder);
    }
    if (delay_ms < 0)
        return delay_ms;
    recorder->stats.own_failed += series->legacy && !series->tries;
    if (++series->tries < TRIES_MAX)
        return delay_ms;
    recorder->stats.given_up++;
    log_problem("Unable to write event (retry limit exceeded!)", series, str_from(response->error.text));
    return -1;
}

/* ---- sending ---- */
static void on_written(void *user, struct http_response *response);
static const struct http_callbacks written_callbacks = { .on_done = on_written };

/* With the lock, and without it while the request is handed over. On failure the series is still SENT. */
static int dispatch(struct recorder *recorder, struct series *series, int64_t delay_ms, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf path = { 0 }, body = { 0 };
    bool core = series->legacy || recorder->group == GROUP_CORE;
    bool patch = series->exists && series_is_repeated(series);
    series->patched = patch;
    series_put_path(&path, series, core, patch);
    const char *content_type = series_put_body(&body, series, recorder->options.api, core, patch);
    int64_t wait_ns = rate_reserve(&recorder->rate, recorder->options.steady_ns(recorder->options.clock));
    if (wait_ns == RATE_FOREVER)
        return error_set(err, -EINVAL, "the rate lets nothing through");
    const struct api_request request = {
        .method = patch ? "PATCH" : "POST",
        .path = strbuf_slice(&path),
        .content_type = content_type,
        .body = strbuf_slice(&body),
        .unlimited = true,
        .fenced = !series->legacy,
        .timeout_ms = TIMEOUT_MS,
        .delay_ms = MAX(delay_ms, wait_ns / NS_PER_MS),
        .body_bytes_max = ANSWER_BYTES_MAX,
        .callbacks = &written_callbacks,
        .user = series,
    };
    pthread_mutex_unlock(&recorder->lock);
    int r = api_send(recorder->options.api, &request, NULL, err);
    pthread_mutex_lock(&recorder->lock);
    return r;
}

/* No request is under way for it any more. */
static void settle(struct recorder *recorder, struct series *series)
{
    recorder->in_flight--;
    recorder->stats.own -= series->legacy;
    recorder->stats.own_failed -= series->legacy && series->tries;
    series->state = SERIES_IDLE;
    series->tries = 0;
    bool again = series->again && series_is_writable(series);
    series->again = false;
    if (again)
        wait_in_line(recorder, series);
    else if (series->ending)
        forget(recorder, series);
    else
        drop_texts(recorder, series);
}

/* The API client took no more: it waits in front, unless it cannot be sent at all. True: others may have more luck. */
static bool take_back(struct recorder *recorder, struct series *series, int code, const struct error *err)
{
    if (code == -EINVAL) {
        recorder->stats.refused++;
        log_problem("Unable to construct event (will not retry!)", series, str_from(err->text));
        settle(recorder, series);
        return true;
    }
    recorder->in_flight--;
    series->again = false;
    series->state = SERIES_WAITING;
    list_prepend(&recorder->waiting, &series->waiting);
    recorder->stats.waiting++;
    return false;
}

static void on_written(void *user, struct http_response *response)
{
    struct series *series = user;
    struct recorder *recorder = series->recorder;
    struct error err = { 0 };
    bool go_on = true;
    pthread_mutex_lock(&recorder->lock);
    int64_t delay_ms = next_try_ms(recorder, series, response);
    int r = delay_ms < 0 ? 0 : dispatch(recorder, series, delay_ms, &err);
    if (delay_ms < 0)
        settle(recorder, series);
    else if (r < 0)
        go_on = take_back(recorder, series, r, &err);
    pthread_mutex_unlock(&recorder->lock);
    if (go_on)
        pump(recorder);
}

/* ---- which group? ---- */
static int ask_group(struct recorder *recorder, int64_t delay_ms);

static void on_group(void *user, struct http_response *response)
{
    struct recorder *recorder = user;
    bool answered = response->outcome == HTTP_ANSWERED && response->status != 401 &&
                    response->status != 408 && response->status != 429 && response->status < 500;
    bool over = response->failure == HTTP_FAILURE_CANCELLED;
    pthread_mutex_lock(&recorder->lock);
    if (answered)
        recorder->group = rest_is_yes(response) ? GROUP_EVENTS : GROUP_CORE;
    else if (over)
        recorder->group = GROUP_UNKNOWN;
    int64_t delay_ms = retry_delay_ms(recorder);
    pthread_mutex_unlock(&recorder->lock);
    if (answered)
        pump(recorder);
    else if (!over)
        ask_group(recorder, delay_ms);
}

/* Without the lock, by the thread that set GROUP_REQUESTED. */
static int ask_group(struct recorder *recorder, int64_t delay_ms)
{
    static const struct http_callbacks callbacks = { .on_done = on_group };
    const struct api_request request = {
        .method = "GET",
        .path = STR("/apis/events.k8s.io/v1"),
        .accept = API_JSON,
        .unlimited = true,
        .timeout_ms = TIMEOUT_MS,
        .delay_ms = delay_ms,
        .body_bytes_max = ANSWER_BYTES_MAX,
        .callbacks = &callbacks,
        .user = recorder,
    };
    int r = api_send(recorder->options.api, &request, NULL, NULL);
    if (r < 0) {
        pthread_mutex_lock(&recorder->lock);
        recorder->group = GROUP_UNKNOWN;
        pthread_mutex_unlock(&recorder->lock);
    }
    return r;
}

/* A scheduler that does not lead must not write about pods: such requests are held back, and must not keep its own from
 * being sent. */
static bool sends_next(const struct recorder *recorder)
{
    const struct series *next = list_first(&recorder->waiting, struct series, waiting);
    return next && recorder->group >= GROUP_EVENTS &&
           (next->legacy || recorder->in_flight < recorder->options.in_flight_max);
}

/* Sends what may be sent. Without the lock. */
static void pump(struct recorder *recorder)
{
    struct error err = { 0 };
    bool go_on = true, ask = false;
    pthread_mutex_lock(&recorder->lock);
    if (recorder->group == GROUP_UNKNOWN && !list_empty(&recorder->waiting)) {
        recorder->group = GROUP_REQUESTED;
        ask = true;
    }
    while (go_on && sends_next(recorder)) {
        struct series *series = list_take(&recorder->waiting, struct series, waiting);
        series->state = SERIES_SENT;
        series->recorder = recorder;
        recorder->stats.waiting--;
        recorder->in_flight++;
        int r = dispatch(recorder, series, 0, &err);
        if (r < 0)
            go_on = take_back(recorder, series, r, &err);
    }
    pthread_mutex_unlock(&recorder->lock);
    if (ask)
        ask_group(recorder, 0);
}

/* ---- what comes in ---- */
static void finish_series(struct recorder *recorder, int64_t now_ns)
{
    list_for_each(&recorder->all, struct series, series, link) {
        if (series->used_s * NS_PER_S >= now_ns - recorder->begun_ns - FINISH_NS)
            continue;
        if (series_is_repeated(series) && series_is_writable(series)) {
            series->ending = true;
            want_written(recorder, series);
        } else if (series->state == SERIES_IDLE) {
            forget(recorder, series);
        }
    }
}

static void refresh_series(struct recorder *recorder)
{
    list_for_each(&recorder->all, struct series, series, link) {
        if (!series_is_repeated(series))
            continue;
        if (series_is_writable(series))
            want_written(recorder, series);
        else
            series->renew = true;
    }
}

static void do_what_is_due(struct recorder *recorder, int64_t now_ns)
{
    if (now_ns >= recorder->refresh_at_ns) {
        recorder->refresh_at_ns = now_ns + REFRESH_NS;
        refresh_series(recorder);
    }
    if (now_ns >= recorder->finish_at_ns) {
        recorder->finish_at_ns = now_ns + FINISH_NS;
        finish_series(recorder, now_ns);
    }
}

int64_t recorder_tick(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    int64_t now_ns = recorder->options.steady_ns(recorder->options.clock);
    do_what_is_due(recorder, now_ns);
    int64_t at_ns = MIN(recorder->refresh_at_ns, recorder->finish_at_ns);
    /* There is no callback for those that the API client did not take. */
    if (!list_empty(&recorder->waiting) && !recorder->in_flight)
        at_ns = MIN(at_ns, now_ns + recorder->options.retry_ms * NS_PER_MS);
    pthread_mutex_unlock(&recorder->lock);
    pump(recorder);
    return at_ns;
}

static uint32_t seconds_of(const struct recorder *recorder, int64_t steady_ns)
{
    return (uint32_t)((steady_ns - recorder->begun_ns) / NS_PER_S);
}

/* An event that comes in. */
struct occurrence {
    const struct recorder_event *event;
    int64_t wall_ns, steady_ns;
};

/* As it is created. */
static void set_texts(struct recorder *recorder, struct series *series, const struct recorder_event *event)
{
    _cleanup_(strbuf_release) struct strbuf instance = { 0 };
    struct object_ref related = event->related;
    strbuf_printf(&instance, STR_FMT "-%s", STR_ARG(event->controller), recorder->hostname);
    const struct api_event created = { .type = event->type,
                                       .action = event->action,
                                       .reason = event->reason,
                                       .note = event->note,
                                       .reporting_controller = event->controller,
                                       .reporting_instance = strbuf_slice(&instance),
                                       .regarding = event->regarding,
                                       .related = related.name.len ? &related : NULL };
    recorder->stats.bytes -= series->texts_bytes;
    series_set_texts(series, &created);
    recorder->stats.bytes += series->texts_bytes;
}

static void repeat(struct recorder *recorder, struct series *series, const struct occurrence *now)
{
    bool write = !series_is_repeated(series) || series->renew;
    series_repeat(series, now->wall_ns);
    series->ending = false;
    if (series->used_s != seconds_of(recorder, now->steady_ns)) { /* its place is right to the second */
        series->used_s = seconds_of(recorder, now->steady_ns);
        list_remove(&recorder->all, &series->link);
        list_append(&recorder->all, &series->link);
    }
    recorder->stats.repeated++;
    if (!write)
        return;
    series->renew = false;
    if (!series->texts)
        set_texts(recorder, series, now->event);
    want_written(recorder, series);
}

static void add(struct recorder *recorder, const struct occurrence *now, struct series_key key)
{
    if (recorder->stats.waiting >= recorder->options.queue_max) {
        recorder->stats.dropped++;
        return;
    }
    if (recorder->stats.series >= recorder->options.series_max)
        forget_oldest(recorder);
    /* Two events about one object may come within the same tick of the clock. */
    recorder->last_name_ns = MAX(now->wall_ns, recorder->last_name_ns + 1);
    struct series *series = series_new(now->event, key, now->wall_ns, recorder->last_name_ns);
    series->used_s = seconds_of(recorder, now->steady_ns);
    remember(recorder, series);
    set_texts(recorder, series, now->event);
    wait_in_line(recorder, series);
}

/* Nearly all events are repetitions of a known one, where pods wait for long: they cost little. */
void recorder_event(struct recorder *recorder, const struct recorder_event *event)
{
    bool is_known = str_is(event->type, "Normal") || str_is(event->type, "Warning");
    if (!is_known)
        log_error(NULL, "Unsupported event type", log_str("eventType", event->type));
    pthread_mutex_lock(&recorder->lock);
    if (is_known) {
        const struct occurrence now = { event, recorder->options.wall_ns(recorder->options.clock),
                                        recorder->options.steady_ns(recorder->options.clock) };
        struct series_key key = series_key(event, &recorder->scratch, recorder->seeds);
        do_what_is_due(recorder, now.steady_ns);
        struct series *series = *find(recorder, key);
        if (series)
            repeat(recorder, series, &now);
        else
            add(recorder, &now, key);
    } else {
        recorder->stats.refused++;
    }
    bool waits = !list_empty(&recorder->waiting);
    pthread_mutex_unlock(&recorder->lock);
    if (waits)
        pump(recorder);
}

static struct object_ref ref_to_pod(struct event_subject pod)
{
    return (struct object_ref){
        .kind = STR("Pod"),
        .api_version = STR("v1"),
        .namespace = pod.namespace,
        .name = pod.name,
        .uid = pod.uid,
        .resource_version = pod.resource_version,
    };
}

void recorder_effect(struct recorder *recorder, const struct effect *effect)
{
    const struct event_subject pod = { effect->namespace, effect->name, effect->uid,
                                       effect->resource_version };
    struct recorder_event event = {
        .regarding = ref_to_pod(pod),
        .type = effect->event.type,
        .reason = effect->event.reason,
        .action = effect->event.action,
        .note = effect->event.note,
        .controller = effect->event.scheduler_name,
    };
    if (effect->event.kind.len) {
        event.regarding.api_version = effect->event.api_version;
        event.regarding.kind = effect->event.kind;
    }
    if (effect->event.related.name.len)
        event.related = ref_to_pod(effect->event.related);
    recorder_event(recorder, &event);
}

struct recorder_stats recorder_stats(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    struct recorder_stats stats = recorder->stats;
    stats.in_flight = recorder->in_flight;
    pthread_mutex_unlock(&recorder->lock);
    return stats;
}

/* ---- life ---- */
static int64_t system_wall_ns(void *clock _unused_)
{
    return clock_now_ns(CLOCK_REALTIME);
}

static int64_t system_steady_ns(void *clock _unused_)
{
    return monotonic_ns();
}

static void set_defaults(struct recorder_options *options)
{
    options->queue_max = options->queue_max ? options->queue_max : 20000;
    options->series_max = options->series_max ? options->series_max : 65536;
    options->in_flight_max = options->in_flight_max ? options->in_flight_max : 16;
    options->retry_ms = options->retry_ms ? options->retry_ms : 10000;
    options->wall_ns = options->wall_ns ? options->wall_ns : system_wall_ns;
    options->steady_ns = options->steady_ns ? options->steady_ns : system_steady_ns;
}

static void make_table(struct recorder *recorder)
{
    arc4random_buf(recorder->seeds, sizeof(recorder->seeds));
    size_t count = 1;
    while (count < recorder->options.series_max)
        count *= 2;
    recorder->buckets = xcalloc(count, sizeof(*recorder->buckets));
    recorder->bucket_mask = count - 1;
}

struct recorder *recorder_new(const struct recorder_options *options)
{
    struct recorder *recorder = xcalloc(1, sizeof(*recorder));
    recorder->options = *options;
    set_defaults(&recorder->options);
    if (options->hostname)
        snprintf(recorder->hostname, sizeof(recorder->hostname), "%s", options->hostname);
    else if (gethostname(recorder->hostname, sizeof(recorder->hostname) - 1) < 0)
        recorder->hostname[0] = '\0';
    make_table(recorder);
    rate_init(&recorder->rate, options->qps, options->burst);
    pthread_mutex_init(&recorder->lock, NULL);
    int64_t now_ns = recorder->options.steady_ns(recorder->options.clock);
    recorder->begun_ns = now_ns;
    recorder->finish_at_ns = now_ns + FINISH_NS;
    recorder->refresh_at_ns = now_ns + REFRESH_NS;
    return recorder;
}

void recorder_free(struct recorder *recorder)
{
    if (!recorder)
        return;
    list_for_each(&recorder->all, struct series, series, link)
        series_free(series);
    free(recorder->buckets);
    strbuf_release(&recorder->scratch);
    rate_release(&recorder->rate);
    pthread_mutex_destroy(&recorder->lock);
    free(recorder);
}
