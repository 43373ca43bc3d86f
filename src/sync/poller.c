/* poller.c: see poller.h. All of it runs on the I/O thread, but for the three functions of the header. */
#include "sync/poller.h"

#include <stdlib.h>

#include "api/fields.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/thread.h"
#include "client/rest.h"
#include "sync/watch_decode.h"

enum { INTERVAL_MS_DEFAULT = 30000, REQUEST_MS = 20000, BODY_BYTES_MAX = 256 << 20 };

struct source {
    struct poller *poller;
    enum api_kind kind;
    const char *path;
    bool wanted, in_flight, complained;
    bool at_once; /* the request in flight was given up for another one */
    uint64_t id;
    int64_t oldest_ns; /* of the last list */
};

struct poller {
    struct poller_options options;
    struct completion idle;
    struct arena scratch;
    bool stopping;
    struct source sources[2];
};

static void look_idle(struct poller *poller)
{
    for (size_t i = 0; i < ARRAY_SIZE(poller->sources); i++)
        if (poller->sources[i].in_flight)
            return;
    if (poller->stopping)
        completion_done(&poller->idle);
}

static void post(struct source *source, enum inbox_message_kind kind, struct live_object *object)
{
    struct inbox_message *message = inbox_message_new(kind);
    message->api_kind = source->kind;
    message->object = object;
    inbox_post(source->poller->options.inbox, message);
}

static const struct http_callbacks callbacks;

static void request(struct source *source, int64_t delay_ms)
{
    struct poller *poller = source->poller;
    struct error err = { 0 };
    const struct api_request request = { .method = "GET",
                                         .path = str_from(source->path),
                                         .accept = API_JSON,
                                         .urgent = true,
                                         .unlimited = true,
                                         .timeout_ms = REQUEST_MS,
                                         .delay_ms = delay_ms,
                                         .body_bytes_max = BODY_BYTES_MAX,
                                         .callbacks = &callbacks,
                                         .user = source };
    if (poller->stopping || !source->wanted || source->in_flight)
        return;
    if (api_send(poller->options.api, &request, &source->id, &err) < 0)
        log_error(&err, "A request for samples was not taken", log_str("path", str_from(source->path)));
    else
        source->in_flight = true;
}

/* ---- what came ---- */
static int64_t time_of(const struct live_object *object)
{
    const struct opt_time *time = object->object.kind == KIND_NODE_METRICS
                                      ? &((const struct node_metrics *)object->object.ptr)->timestamp
                                      : &((const struct pod_metrics *)object->object.ptr)->timestamp;
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
        if (r > 0 && object->object.is_partial) {
            live_object_free(object);
        } else if (r > 0) {
            int64_t at_ns = time_of(object);
            source->oldest_ns = source->oldest_ns ? MIN(source->oldest_ns, at_ns) : at_ns;
            post(source, MESSAGE_SET, object);
        }
    }
    post(source, MESSAGE_LIST_END, NULL);
}

static int take(struct source *source, struct http_response *response, struct error *err)
{
    struct list_page page;
    int r = list_page_init(&page, source->kind, response->body, err);
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

static void tell(struct source *source, int r, const struct error *err)
{
    const struct poller_options *options = &source->poller->options;
    struct str kind = api_kinds[source->kind].kind;
    if (r < 0 && !source->complained)
        log_error(err, "Samples cannot be fetched; plugins go on with those that they have",
                  log_str("kind", kind), log_str("path", str_from(source->path)));
    if (r == 0 && source->complained)
        log_info(0, "Samples can be fetched again", log_str("kind", kind));
    source->complained = r < 0;
    if (options->on_samples)
        options->on_samples(options->user, source->kind, r == 0, source->oldest_ns);
}

static void on_done(void *user, struct http_response *response)
{
    struct source *source = user;
    struct error err = { 0 };
    source->in_flight = false;
    if (source->poller->stopping) {
        look_idle(source->poller);
        return;
    }
    if (source->at_once) {
        source->at_once = false;
        request(source, 0);
        return;
    }
    if (source->wanted)
        tell(source, rest_is_yes(response) ? take(source, response, &err) : fail(response, &err), &err);
    request(source, source->poller->options.interval_ms);
}

static const struct http_callbacks callbacks = { .on_done = on_done };

/* ---- from other threads ---- */
struct poller *poller_start(const struct poller_options *options)
{
    struct poller *poller = xcalloc(1, sizeof(*poller));
    poller->options = *options;
    if (poller->options.interval_ms <= 0)
        poller->options.interval_ms = INTERVAL_MS_DEFAULT;
    completion_init(&poller->idle);
    poller->sources[0] = (struct source){ .poller = poller,
                                          .kind = KIND_NODE_METRICS,
                                          .path = "/apis/metrics.k8s.io/v1beta1/nodes" };
    poller->sources[1] = (struct source){ .poller = poller,
                                          .kind = KIND_POD_METRICS,
                                          .path = "/apis/metrics.k8s.io/v1beta1/pods" };
    return poller;
}

struct want {
    struct poller *poller;
    uint64_t kinds;
};

static void want(void *context)
{
    const struct want *want = context;
    for (size_t i = 0; i < ARRAY_SIZE(want->poller->sources); i++) {
        struct source *source = &want->poller->sources[i];
        source->wanted = want->kinds >> source->kind & 1;
        source->at_once = source->in_flight;
        if (source->in_flight) /* it may be one that waits for its time */
            api_cancel(want->poller->options.api, source->id);
        request(source, 0);
    }
}

void poller_want(struct poller *poller, uint64_t kinds)
{
    loop_run_wait(api_loop(poller->options.api), want, &(struct want){ poller, kinds });
}

static void stop(void *context)
{
    struct poller *poller = context;
    poller->stopping = true;
    for (size_t i = 0; i < ARRAY_SIZE(poller->sources); i++)
        if (poller->sources[i].in_flight)
            api_cancel(poller->options.api, poller->sources[i].id);
    look_idle(poller);
}

void poller_stop(struct poller *poller)
{
    if (!poller)
        return;
    loop_run(api_loop(poller->options.api), stop, poller);
    completion_wait(&poller->idle, INT64_MAX);
    arena_release(&poller->scratch);
    completion_release(&poller->idle);
    free(poller);
}
