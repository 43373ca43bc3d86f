/* Events as the API server receives them: which requests, when, and which are saved. The clock is simulated. */
#include "unit/live/scripted.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <time.h>

#include "api/protobuf.h"
#include "base/log.h"
#include "live/recorder.h"

#define SECOND INT64_C(1000000000)
#define MINUTE (60 * SECOND)

struct fixture {
    struct scripted server;
    struct kube_access access;
    struct api *api;
    struct recorder *recorder;
    _Atomic int64_t now_ns, wall_step_ns;
};

static int64_t now_ns(void *clock)
{
    return atomic_load((_Atomic int64_t *)clock);
}

static int64_t wall_ns(void *clock)
{
    struct fixture *f = container_of(clock, struct fixture, now_ns);
    return now_ns(clock) + atomic_load(&f->wall_step_ns);
}

static void start(struct fixture *f, struct recorder_options options)
{
    scripted_start(&f->server);
    f->api = scripted_client(&f->server, &f->access, (struct api_options){ 0 });
    atomic_store(&f->now_ns, 1700000000 * SECOND + 123456789);
    options.api = f->api;
    options.hostname = "host";
    atomic_store(&f->wall_step_ns, 0);
    options.wall_ns = wall_ns;
    options.steady_ns = now_ns;
    options.clock = &f->now_ns;
    options.retry_ms = options.retry_ms ? options.retry_ms : 20;
    options.qps = options.qps != 0 ? options.qps : -1;
    f->recorder = recorder_new(&options);
}

static void stop(struct fixture *f)
{
    api_free(f->api);
    recorder_free(f->recorder);
    scripted_stop(&f->server);
}

static void sleep_ms(int64_t ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* Waits until `written` requests were sent and none is pending. */
static void settle(struct fixture *f, uint64_t written)
{
    for (int i = 0; i < WAIT_MS_MAX; i++) {
        struct recorder_stats stats = recorder_stats(f->recorder);
        if (stats.written >= written && !stats.waiting && !stats.in_flight)
            return;
        sleep_ms(1);
    }
    fail_msg("%llu were written, not %llu", (unsigned long long)recorder_stats(f->recorder).written,
             (unsigned long long)written);
}

static void pass(struct fixture *f, int64_t ns)
{
    atomic_fetch_add(&f->now_ns, ns);
    recorder_tick(f->recorder);
}

static struct effect effect_about(struct str pod, struct str version)
{
    return (struct effect){
        .kind = EFFECT_EVENT,
        .namespace = STR("ns"),
        .name = pod,
        .uid = STR("u1"),
        .resource_version = version,
        .event = { .type = STR("Warning"),
                   .reason = STR("FailedScheduling"),
                   .action = STR("Scheduling"),
                   .note = STR("no room"),
                   .scheduler_name = STR("default-scheduler") },
    };
}

static void record(struct fixture *f, struct str pod, struct str version)
{
    struct effect effect = effect_about(pod, version);
    recorder_effect(f->recorder, &effect);
}

static const struct api_event *decode(const struct scripted_request *request, struct arena *arena)
{
    struct object object;
    struct error err;
    if (object_decode_protobuf(strbuf_slice(&request->body), STRINGS_BORROWED, arena, &object, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(object.kind, KIND_EVENT);
    assert_str(object.api_version, "events.k8s.io/v1");
    return object.ptr;
}

static void check(const struct scripted_request *request, const char *method, const char *path,
                  const char *type)
{
    assert_string_equal(request->method, method);
    assert_string_equal(request->path, path);
    assert_string_equal(request->content_type, type);
}

#define EVENTS "/apis/events.k8s.io/v1/namespaces/ns/events"
#define STRATEGIC "application/strategic-merge-patch+json"
#define NAME "web.17979cfe3d85cd15" /* 1700000000123456789 in hexadecimal */

static void test_created(void **state _unused_)
{
    static struct fixture f;
    struct arena arena = { 0 };
    start(&f, (struct recorder_options){ 0 });
    struct effect effect = effect_about(STR("web"), STR("7"));
    effect.event.related = (struct event_subject){ STR("other"), STR("big"), STR("u2"), STR("8") };
    recorder_effect(f.recorder, &effect);
    check(scripted_wait(&f.server, 1), "GET", "/apis/events.k8s.io/v1", "");
    const struct scripted_request *request = scripted_wait(&f.server, 2);
    check(request, "POST", EVENTS, API_PROTOBUF);
    const struct api_event *event = decode(request, &arena);
    assert_str(event->meta.name, NAME);
    assert_str(event->meta.namespace, "ns");
    assert_int_equal(event->event_time.seconds, 1700000000);
    assert_int_equal(event->event_time.nanos, 123456000);
    assert_str(event->reporting_controller, "default-scheduler");
    assert_str(event->reporting_instance, "default-scheduler-host");
    assert_str(event->action, "Scheduling");
    assert_str(event->reason, "FailedScheduling");
    assert_str(event->note, "no room");
    assert_str(event->type, "Warning");
    assert_null(event->series);
    assert_str(event->regarding.kind, "Pod");
    assert_str(event->regarding.api_version, "v1");
    assert_str(event->regarding.namespace, "ns");
    assert_str(event->regarding.name, "web");
    assert_str(event->regarding.uid, "u1");
    assert_str(event->regarding.resource_version, "7");
    assert_non_null(event->related);
    assert_str(event->related->namespace, "other");
    assert_str(event->related->name, "big");
    assert_str(event->related->uid, "u2");
    arena_release(&arena);
    settle(&f, 1);
    stop(&f);
}

/* One event, a series, its end, and a new series. */
static void test_series(void **state _unused_)
{
    static struct fixture f;
    struct arena arena = { 0 };
    start(&f, (struct recorder_options){ 0 });
    record(&f, STR("web"), STR("7"));
    settle(&f, 1);
    atomic_fetch_add(&f.now_ns, SECOND);
    record(&f, STR("web"), STR("7"));
    const struct scripted_request *request = scripted_wait(&f.server, 3);
    check(request, "PATCH", EVENTS "/" NAME, STRATEGIC);
    assert_string_equal(request->body.text,
                        "{\"series\":{\"count\":2,\"lastObservedTime\":\"2023-11-14T22:13:21.123456Z\"}}");
    settle(&f, 2);
    for (int i = 0; i < 5; i++)
        record(&f, STR("web"), STR("7"));
    pass(&f, 2 * MINUTE);
    assert_int_equal(recorder_stats(f.recorder).waiting, 0);
    assert_int_equal(recorder_stats(f.recorder).repeated, 6);
    assert_int_equal(scripted_count(&f.server), 3);

    /* Six minutes without a repetition. */
    pass(&f, 10 * MINUTE);
    request = scripted_wait(&f.server, 4);
    check(request, "PATCH", EVENTS "/" NAME, STRATEGIC);
    assert_string_equal(request->body.text,
                        "{\"series\":{\"count\":7,\"lastObservedTime\":\"2023-11-14T22:13:21.123456Z\"}}");
    settle(&f, 3);
    assert_int_equal(recorder_stats(f.recorder).series, 0);
    record(&f, STR("web"), STR("7"));
    check(scripted_wait(&f.server, 5), "POST", EVENTS, API_PROTOBUF);
    settle(&f, 4);

    /* An event that occurred once is dropped without a request. */
    pass(&f, 13 * MINUTE);
    assert_int_equal(recorder_stats(f.recorder).series, 0);
    assert_int_equal(scripted_count(&f.server), 5);
    arena_release(&arena);
    stop(&f);
}

/* The machine's clock is set back by a day in the middle of a series: it ends all the same, and what is written has the
 * new time. Set forward, a series that goes on does not end. */
static void test_series_when_the_clock_is_set(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct recorder_options){ 0 });
    record(&f, STR("web"), STR("7"));
    settle(&f, 1);
    record(&f, STR("web"), STR("7"));
    settle(&f, 2);
    atomic_store(&f.wall_step_ns, -1440 * MINUTE);
    pass(&f, 13 * MINUTE);
    settle(&f, 3);
    assert_int_equal(recorder_stats(f.recorder).series, 0);
    record(&f, STR("web"), STR("7"));
    settle(&f, 4);
    atomic_store(&f.wall_step_ns, 1440 * MINUTE);
    pass(&f, MINUTE);
    assert_int_equal(recorder_stats(f.recorder).series, 1);
    stop(&f);
}

/* An active series is refreshed every half hour. */
static void test_refresh(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct recorder_options){ 0 });
    for (int minute = 0; minute < 29; minute++) {
        record(&f, STR("web"), STR("7"));
        settle(&f, MIN(minute + 1, 2));
        pass(&f, MINUTE);
    }
    assert_int_equal(scripted_count(&f.server), 3);
    pass(&f, 90 * SECOND);
    const struct scripted_request *request = scripted_wait(&f.server, 4);
    assert_string_equal(request->method, "PATCH");
    assert_non_null(strstr(request->body.text, "{\"series\":{\"count\":29,"));
    settle(&f, 3);
    assert_int_equal(recorder_stats(f.recorder).series, 1);
    stop(&f);
}

/* Which fields distinguish events, and which do not. */
static void test_kinds(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct recorder_options){ 0 });
    struct effect effects[6];
    for (size_t i = 0; i < ARRAY_SIZE(effects); i++)
        effects[i] = effect_about(STR("web"), STR("7"));
    effects[1].resource_version = STR("8");
    effects[2].event.reason = STR("Preempted");
    effects[3].event.related.name = STR("big");
    effects[4].event.scheduler_name = STR("other");
    effects[5].uid = STR("u2");
    for (size_t i = 0; i < ARRAY_SIZE(effects); i++)
        recorder_effect(f.recorder, &effects[i]);
    settle(&f, ARRAY_SIZE(effects));
    assert_int_equal(recorder_stats(f.recorder).series, ARRAY_SIZE(effects));
    assert_int_equal(recorder_stats(f.recorder).repeated, 0);
    struct effect same = effects[0];
    same.event.note = STR("other words");
    recorder_effect(f.recorder, &same);
    settle(&f, ARRAY_SIZE(effects) + 1);
    assert_int_equal(recorder_stats(f.recorder).repeated, 1);
    /* Their names differ at equal times. */
    struct arena arena = { 0 };
    for (size_t i = 2; i < 2 + ARRAY_SIZE(effects); i++)
        for (size_t j = 2; j < i; j++)
            assert_false(str_eq(decode(scripted_wait(&f.server, i), &arena)->meta.name,
                                decode(scripted_wait(&f.server, j), &arena)->meta.name));
    arena_release(&arena);
    stop(&f);
}

/* Repeated before the first event is created: no patch is sent before its event. */
static void test_repeated_at_once(void **state _unused_)
{
    static struct fixture f;
    struct arena arena = { 0 };
    start(&f, (struct recorder_options){ 0 });
    record(&f, STR("first"), STR("1"));
    settle(&f, 1);
    pthread_mutex_lock(&f.server.lock);
    f.server.closed = true;
    pthread_mutex_unlock(&f.server.lock);
    for (int i = 0; i < 3; i++)
        record(&f, STR("web"), STR("7"));
    sleep_ms(50);
    scripted_open(&f.server);
    settle(&f, 3);
    const struct scripted_request *request = scripted_wait(&f.server, 3);
    assert_string_equal(request->method, "POST");
    assert_null(decode(request, &arena)->series);
    request = scripted_wait(&f.server, 4);
    assert_string_equal(request->method, "PATCH");
    assert_non_null(strstr(request->body.text, "\"count\":3,"));
    assert_int_equal(scripted_count(&f.server), 4);
    arena_release(&arena);
    stop(&f);
}

static void reply_status(struct fixture *f, int status, const char *more)
{
    scripted_reply_bytes(&f->server, status, API_JSON, more,
                         STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"message\":\"no\"}"));
}

static void reply_ok(struct fixture *f)
{
    scripted_reply(&f->server, 200, API_JSON, "{}");
}

/* An event that was deleted is created again, with its count. */
static void test_patch_of_a_deleted_event(void **state _unused_)
{
    static struct fixture f;
    struct arena arena = { 0 };
    start(&f, (struct recorder_options){ 0 });
    reply_ok(&f);
    reply_ok(&f);
    reply_status(&f, 404, NULL);
    record(&f, STR("web"), STR("7"));
    settle(&f, 1);
    record(&f, STR("web"), STR("7"));
    settle(&f, 2);
    assert_string_equal(scripted_wait(&f.server, 3)->method, "PATCH");
    const struct scripted_request *request = scripted_wait(&f.server, 4);
    check(request, "POST", EVENTS, API_PROTOBUF);
    const struct api_event *event = decode(request, &arena);
    assert_str(event->meta.name, NAME);
    assert_non_null(event->series);
    assert_int_equal(event->series->count, 2);
    arena_release(&arena);
    stop(&f);
}

/* The deletion is noticed when the count is written; the next event of the series then provides the texts. */
static void test_refresh_of_a_deleted_event(void **state _unused_)
{
    static struct fixture f;
    struct arena arena = { 0 };
    start(&f, (struct recorder_options){ 0 });
    for (int i = 0; i < 3; i++)
        reply_ok(&f);
    reply_status(&f, 404, NULL);
    for (int minute = 0; minute < 30; minute++) {
        record(&f, STR("web"), STR("7"));
        settle(&f, MIN(minute + 1, 2));
        pass(&f, MINUTE);
    }
    /* The refresh has failed before the next event. */
    assert_string_equal(scripted_wait(&f.server, 4)->method, "PATCH");
    settle(&f, 2);
    record(&f, STR("web"), STR("7"));
    settle(&f, 3);
    const struct scripted_request *request = scripted_wait(&f.server, 5);
    check(request, "POST", EVENTS, API_PROTOBUF);
    const struct api_event *event = decode(request, &arena);
    assert_str(event->meta.name, NAME);
    assert_str(event->note, "no room");
    assert_int_equal(event->event_time.seconds, 1700000000);
    assert_int_equal(event->series->count, 31);
    arena_release(&arena);
    /* Later events are only counted. */
    record(&f, STR("web"), STR("7"));
    settle(&f, 3);
    assert_int_equal(scripted_count(&f.server), 5);
    stop(&f);
}

/* Events that the server has take little memory. */
static void test_memory(void **state _unused_)
{
    enum { COUNT = 500, BYTES_MAX = 160 };
    static struct fixture f;
    static char note[1000];
    start(&f, (struct recorder_options){ 0 });
    memset(note, 'n', sizeof(note));
    for (int i = 0; i < COUNT; i++) {
        char version[16];
        snprintf(version, sizeof(version), "%d", i);
        struct effect effect = effect_about(STR("web-5b8f6cd7c4-x2v9q"), str_from(version));
        effect.namespace = STR("production-2");
        effect.event.note = (struct str){ note, sizeof(note) };
        recorder_effect(f.recorder, &effect);
        settle(&f, (uint64_t)i + 1);
    }
    struct recorder_stats stats = recorder_stats(f.recorder);
    assert_int_equal(stats.series, COUNT);
    assert_in_range(stats.bytes, COUNT * 50, COUNT * BYTES_MAX);
    pass(&f, 13 * MINUTE);
    assert_int_equal(recorder_stats(f.recorder).bytes, 0);
    stop(&f);
}

static const struct {
    const char *name;
    int status; /* of the first reply */
    const char *more;
    size_t requests;
    uint64_t written, refused;
} failures[] = {
    { "the connection breaks", 0, NULL, 2, 1, 0 },
    { "too many requests", 429, "Retry-After: 1\r\n", 2, 1, 0 },
    { "overloaded, come again", 503, "Retry-After: 1\r\n", 2, 1, 0 },
    { "broken", 500, NULL, 1, 0, 1 },
    { "forbidden", 403, NULL, 1, 0, 1 },
    { "invalid", 422, NULL, 1, 0, 1 },
    { "it is there already", 409, NULL, 1, 0, 0 },
};

static void test_failures(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        static struct fixture f;
        print_message("%s\n", failures[i].name);
        start(&f, (struct recorder_options){ 0 });
        reply_ok(&f);
        reply_status(&f, failures[i].status, failures[i].more);
        record(&f, STR("web"), STR("7"));
        scripted_wait(&f.server, 1 + failures[i].requests);
        settle(&f, failures[i].written);
        assert_int_equal(scripted_count(&f.server), 1 + failures[i].requests);
        assert_int_equal(recorder_stats(f.recorder).refused, failures[i].refused);
        assert_int_equal(recorder_stats(f.recorder).written, failures[i].written);
        stop(&f);
    }
}

/* The first request succeeded, but its reply was lost; meanwhile the event became a series. */
static void test_lost_answer(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct recorder_options){ .retry_ms = 300 });
    reply_ok(&f);
    scripted_reply(&f.server, 0, API_JSON, "");
    reply_status(&f, 409, NULL);
    record(&f, STR("web"), STR("7"));
    scripted_wait(&f.server, 2);
    record(&f, STR("web"), STR("7"));
    settle(&f, 1);
    assert_string_equal(scripted_wait(&f.server, 3)->method, "POST");
    const struct scripted_request *request = scripted_wait(&f.server, 4);
    assert_string_equal(request->method, "PATCH");
    assert_non_null(strstr(request->body.text, "\"count\":2,"));
    stop(&f);
}

static void test_given_up(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct recorder_options){ 0 });
    reply_ok(&f);
    for (int i = 0; i < 12; i++)
        scripted_reply(&f.server, 0, API_JSON, "");
    record(&f, STR("web"), STR("7"));
    scripted_wait(&f.server, 13);
    settle(&f, 0);
    assert_int_equal(recorder_stats(f.recorder).given_up, 1);
    assert_int_equal(scripted_count(&f.server), 13);
    record(&f, STR("db"), STR("1"));
    settle(&f, 1);
    stop(&f);
}

/* The queue and the cache of events are bounded. */
static void test_bounds(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct recorder_options){ .queue_max = 10, .series_max = 12, .in_flight_max = 2 });
    f.server.closed = true;
    char name[16];
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof(name), "pod-%d", i);
        record(&f, str_from(name), STR("1"));
    }
    assert_int_equal(recorder_stats(f.recorder).dropped, 20);
    assert_int_equal(recorder_stats(f.recorder).waiting, 10);
    scripted_open(&f.server);
    settle(&f, 10);
    for (int i = 100; i < 105; i++) {
        snprintf(name, sizeof(name), "pod-%d", i);
        record(&f, str_from(name), STR("1"));
    }
    settle(&f, 15);
    assert_int_equal(recorder_stats(f.recorder).series, 12);
    assert_int_equal(recorder_stats(f.recorder).forgotten, 3);
    stop(&f);
}

/* A server without events.k8s.io. */
static void test_core_group(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct recorder_options){ 0 });
    reply_status(&f, 503, NULL);
    reply_status(&f, 404, NULL);
    record(&f, STR("web"), STR("7"));
    settle(&f, 1);
    check(scripted_wait(&f.server, 2), "GET", "/apis/events.k8s.io/v1", "");
    const struct scripted_request *request = scripted_wait(&f.server, 3);
    check(request, "POST", "/api/v1/namespaces/ns/events", API_JSON);
    assert_string_equal(request->body.text,
                        "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" NAME
                        "\",\"namespace\":\"ns\"},"
                        "\"involvedObject\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"web\","
                        "\"namespace\":\"ns\",\"resourceVersion\":\"7\",\"uid\":\"u1\"},\"reason\":"
                        "\"FailedScheduling\",\"message\":\"no room\","
                        "\"source\":{\"component\":\"default-scheduler\"},\"firstTimestamp\":\"2023-11-14T22:"
                        "13:20Z\",\"count\":1,"
                        "\"lastTimestamp\":\"2023-11-14T22:13:20Z\",\"type\":\"Warning\","
                        "\"reportingComponent\":\"default-scheduler\","
                        "\"reportingInstance\":\"\"}");
    record(&f, STR("web"), STR("7"));
    request = scripted_wait(&f.server, 4);
    check(request, "PATCH", "/api/v1/namespaces/ns/events/" NAME, STRATEGIC);
    assert_string_equal(request->body.text, "{\"count\":2,\"lastTimestamp\":\"2023-11-14T22:13:20Z\"}");
    settle(&f, 2);
    stop(&f);
}

static void record_legacy(struct fixture *f, struct str note)
{
    recorder_event(f->recorder, &(struct recorder_event){
                                    .regarding = { .kind = STR("Lease"),
                                                   .api_version = STR("coordination.k8s.io/v1"),
                                                   .namespace = STR("kube-system"),
                                                   .name = STR("kube-scheduler") },
                                    .type = STR("Normal"),
                                    .reason = STR("LeaderElection"),
                                    .note = note,
                                    .controller = STR("default-scheduler"),
                                    .legacy = true,
                                });
}

static void test_legacy(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct recorder_options){ 0 });
    record_legacy(&f, STR("host_1 became leader"));
    const struct scripted_request *request = scripted_wait(&f.server, 2);
    check(request, "POST", "/api/v1/namespaces/kube-system/events", API_JSON);
    assert_non_null(strstr(request->body.text, "\"message\":\"host_1 became leader\""));
    settle(&f, 1);
    record_legacy(&f, STR("host_1 stopped leading"));
    request = scripted_wait(&f.server, 3);
    check(request, "POST", "/api/v1/namespaces/kube-system/events", API_JSON);
    assert_non_null(strstr(request->body.text, "\"message\":\"host_1 stopped leading\""));
    settle(&f, 2);
    record_legacy(&f, STR("host_1 became leader"));
    request = scripted_wait(&f.server, 4);
    assert_string_equal(request->method, "PATCH");
    settle(&f, 3);
    stop(&f);
}

/* They do not wait for others that are not delivered. They are sent in their order, each at once: over several
 * connections they may arrive in another. */
static void test_legacy_goes_first(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct recorder_options){ .in_flight_max = 1, .retry_ms = 60000 });
    reply_ok(&f);
    scripted_reply(&f.server, -1, API_JSON, "");
    record(&f, STR("web"), STR("1"));
    record(&f, STR("web-2"), STR("1"));
    scripted_wait(&f.server, 2);
    const struct str notes[] = { STR("note one"), STR("note two"), STR("note three") };
    for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
        record_legacy(&f, notes[i]);
    unsigned seen = 0;
    for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
        const struct scripted_request *request = scripted_wait(&f.server, 3 + i);
        check(request, "POST", "/api/v1/namespaces/kube-system/events", API_JSON);
        for (size_t k = 0; k < ARRAY_SIZE(notes); k++)
            seen |= strstr(request->body.text, notes[k].ptr) ? 1u << k : 0;
    }
    assert_int_equal(seen, (1u << ARRAY_SIZE(notes)) - 1);
    while (recorder_stats(f.recorder).own)
        usleep(1000);
    assert_int_equal(recorder_stats(f.recorder).waiting, 1);
    stop(&f);
}

/* Who ends after them need not wait for those that cannot be written now. */
static void test_legacy_in_vain(void **state _unused_)
{
    static const struct {
        int64_t retry_ms;
        size_t left;
    } cases[] = { { 60000, 1 }, { 1, 0 } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        static struct fixture f;
        start(&f, (struct recorder_options){ .retry_ms = cases[i].retry_ms });
        reply_ok(&f);
        scripted_reply(&f.server, -1, API_JSON, "");
        record_legacy(&f, STR("host_1 stopped leading"));
        assert_int_equal(recorder_stats(f.recorder).own, 1);
        while (recorder_stats(f.recorder).own_failed != cases[i].left ||
               recorder_stats(f.recorder).written != 1 - cases[i].left)
            usleep(1000);
        assert_int_equal(recorder_stats(f.recorder).own, cases[i].left);
        stop(&f);
    }
}

/* Texts that an API server would reject unchanged. */
static void test_texts(void **state _unused_)
{
    static struct fixture f;
    struct arena arena = { 0 };
    start(&f, (struct recorder_options){ 0 });
    char note[2000], name[254];
    memset(note, 'a', sizeof(note));
    memcpy(note + 1018, "\xe2\x82\xac", 3); /* a character that the cut would split */
    memset(name, 'n', sizeof(name));
    struct effect effect = effect_about((struct str){ name, 250 }, STR("1"));
    effect.event.note = (struct str){ note, sizeof(note) };
    effect.namespace = (struct str){ 0 };
    recorder_effect(f.recorder, &effect);
    const struct scripted_request *request = scripted_wait(&f.server, 2);
    assert_string_equal(request->path, "/apis/events.k8s.io/v1/namespaces/default/events");
    const struct api_event *event = decode(request, &arena);
    assert_int_equal(event->note.len, 1022);
    assert_true(str_ends_with(event->note, STR("aaa ...")));
    assert_int_equal(event->meta.name.len,
                     36); /* a UUID, since a name with the time appended would be too long */
    assert_int_equal(event->meta.name.ptr[14], '4');

    effect.event.note = (struct str){ note, 1024 };
    effect.name = STR("Not_a.Name");
    recorder_effect(f.recorder, &effect);
    event = decode(scripted_wait(&f.server, 3), &arena);
    assert_int_equal(event->note.len, 1024);
    assert_int_equal(event->meta.name.len, 36);

    effect.event.type = STR("Odd");
    recorder_effect(f.recorder, &effect);
    assert_int_equal(recorder_stats(f.recorder).refused, 1);
    settle(&f, 2);
    arena_release(&arena);
    stop(&f);
}

/* Events have their own rate limit: requests wait for tokens. */
static void test_rate(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct recorder_options){ .qps = 20, .burst = 1 });
    int64_t begin_ns = monotonic_ns();
    char name[16];
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "pod-%d", i);
        record(&f, str_from(name), STR("1"));
    }
    settle(&f, 5);
    assert_true(monotonic_ns() - begin_ns >= 195 * SECOND / 1000);
    stop(&f);
}

enum { THREADS = 4, PER_THREAD = 300 };

static void *record_many(void *argument)
{
    struct fixture *f = argument;
    char name[32];
    for (int i = 0; i < PER_THREAD; i++) {
        snprintf(name, sizeof(name), "pod-%d", i);
        record(f, str_from(name), STR("1"));
        recorder_tick(f->recorder);
    }
    return NULL;
}

/* From many threads: each event is created once and every repetition is counted. */
static void test_threads(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct recorder_options){ 0 });
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, record_many, &f);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    settle(&f, PER_THREAD);
    struct recorder_stats stats = recorder_stats(f.recorder);
    assert_int_equal(stats.series, PER_THREAD);
    assert_int_equal(stats.repeated, (THREADS - 1) * PER_THREAD);
    size_t created = 0, count = scripted_count(&f.server);
    for (size_t i = 1; i <= count; i++)
        created += strcmp(scripted_wait(&f.server, i)->method, "POST") == 0;
    assert_int_equal(created, PER_THREAD);
    stop(&f);
}

/* Shutdown while events are queued, in flight and due for a retry. */
static void test_shutdown(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct recorder_options){ .in_flight_max = 4, .retry_ms = 60000 });
    reply_ok(&f);
    scripted_reply(&f.server, 0, API_JSON, "");
    scripted_reply(&f.server, -1, API_JSON, "");
    char name[16];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "pod-%d", i);
        record(&f, str_from(name), STR("1"));
    }
    scripted_wait(&f.server, 3);
    stop(&f);
}

static int quiet(void **state _unused_)
{
    struct error err;
    return log_init(&(struct log_options){ .fd = open("/dev/null", O_WRONLY | O_CLOEXEC) }, &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_created),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_series_when_the_clock_is_set),
        cmocka_unit_test(test_refresh),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_repeated_at_once),
        cmocka_unit_test(test_patch_of_a_deleted_event),
        cmocka_unit_test(test_refresh_of_a_deleted_event),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_lost_answer),
        cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_core_group),
        cmocka_unit_test(test_legacy),
        cmocka_unit_test(test_legacy_goes_first),
        cmocka_unit_test(test_legacy_in_vain),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_shutdown),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
