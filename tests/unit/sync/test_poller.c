/* Samples from metrics.k8s.io and from a Prometheus, both played by the test: which requests are sent, and which
 * objects reach the inbox. */
#include "unit/sync/manual_server.h"

#include "api/extra_kinds.h"
#include "api/resource_list.h"
#include "base/thread.h"
#include "sync/node_lookup.h"
#include "sync/poller.h"
#include "sync/prometheus_round.h"

#define QUERY "/api/v1/query?query="
#define NODES (UINT64_C(1) << KIND_NODE_METRICS)
#define DATA(type, result) \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"" type "\",\"result\":[" result "]}}"
#define VECTOR(label, value) "{\"metric\":{" label "},\"value\":[1700000000.5,\"" value "\"]}"

static struct manual_server server;
static struct api *api;
static struct inbox *inbox;
static struct list messages;
static struct node_lookup lookup;
static struct prometheus *prometheus;
static struct poller *poller;
static char url[64];

static int setup(void **state _unused_)
{
    static struct kube_access access;
    static struct node_address addresses[] = { { STR("InternalIP"), STR("10.0.0.2") } };
    struct error err;
    manual_server_start(&server);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", server.port);
    access = (struct kube_access){ .cluster.server = str_from(url) };
    if (api_new(&(struct api_options){ .access = &access, .qps = -1 }, &api, &err) < 0)
        fail_msg("%s", err.text);
    inbox = inbox_new();
    node_lookup_set(&lookup, &(const struct node){ .meta.name = STR("a") });
    node_lookup_set(&lookup,
                    &(const struct node){ .meta.name = STR("b"), .status.addresses = { addresses, 1 } });
    poller = poller_start(
        &(struct poller_options){ .api = api, .inbox = inbox, .lookup = &lookup, .interval_ms = 1 });
    return 0;
}

static int teardown(void **state _unused_)
{
    poller_stop(poller);
    prometheus_free(prometheus);
    prometheus = NULL;
    api_free(api);
    node_lookup_release(&lookup);
    for (struct inbox_message *message; (message = inbox_next(&messages));)
        inbox_message_free(message);
    inbox_free(inbox);
    manual_server_stop(&server);
    return 0;
}

/* At the default interval. */
static void want(const struct prometheus *from, uint64_t kinds)
{
    struct poller_wants wants = { 0 };
    poller_wants_add(&wants, kinds, 0);
    poller_want(poller, &wants, from);
}

static void open_prometheus(const char *queries)
{
    struct error err;
    if (prometheus_new(&(struct prometheus_options){ .address = str_from(url),
                                                     .queries_file = str_from(queries),
                                                     .loop = api_loop(api) },
                       &prometheus, &err) < 0)
        fail_msg("%s", err.text);
}

/* With this file of queries. */
static void open_prometheus_with(const char *text)
{
    char path[] = "/tmp/berth-queries-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    open_prometheus(path);
    unlink(path);
}

static struct inbox_message *next(enum inbox_message_kind kind)
{
    if (list_empty(&messages))
        messages = inbox_take(inbox, monotonic_ns() + MANUAL_SERVER_WAIT_MS * NS_PER_MS);
    struct inbox_message *message = inbox_next(&messages);
    assert_non_null(message);
    assert_int_equal(message->kind, kind);
    return message;
}

static void pass_over(enum inbox_message_kind kind)
{
    inbox_message_free(next(kind));
}

/* "cpu 250m memory 1Gi" of a list. */
static void expect_usage(const struct resource_list *usage, const char *wanted)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    for (uint32_t i = 0; i < usage->len; i++) {
        char buf[QUANTITY_LEN_MAX];
        struct str amount = quantity_format(usage->items[i].amount, buf);
        strbuf_printf(&text, "%s" STR_FMT " " STR_FMT, i ? " " : "", STR_ARG(usage->items[i].name),
                      STR_ARG(amount));
    }
    assert_string_equal(text.len ? text.text : "", wanted);
}

static void expect_node(const char *name, const char *usage, uint32_t statistics)
{
    struct inbox_message *message = next(MESSAGE_SET);
    const struct node_metrics *metrics = message->object->object.ptr;
    assert_int_equal(message->api_kind, KIND_NODE_METRICS);
    assert_str(metrics->meta.name, name);
    expect_usage(&metrics->usage, usage);
    assert_int_equal(metrics->statistics.len, statistics);
    inbox_message_free(message);
}

static void answer(const char *path, const char *body)
{
    reply(take_request(&server, path), 200, "Content-Type: application/json\r\n", str_from(body));
}

static void test_metrics_server(void **state _unused_)
{
    want(NULL, NODES);
    for (int i = 0; i < 2; i++) {
        answer("/apis/metrics.k8s.io/v1beta1/nodes", "{\"kind\":\"NodeMetricsList\",\"apiVersion\":\"metrics."
                                                     "k8s.io/v1beta1\",\"metadata\":{},\"items\":[{"
                                                     "\"metadata\":{\"name\":\"a\"},\"timestamp\":\"2026-01-"
                                                     "01T00:00:00Z\",\"window\":\"10s\",\"usage\":{"
                                                     "\"cpu\":\"250m\"}}]}");
        pass_over(MESSAGE_LIST_BEGIN);
        expect_node("a", "cpu 250m", 0);
        pass_over(MESSAGE_LIST_END);
    }
}

/* Takes the two requests of a round, which come in any order. */
static void answer_round(const char *cpu, const char *memory)
{
    struct manual_request *first = take_request(&server, QUERY), *second = take_request(&server, QUERY);
    bool in_order = strstr(first->path, "cpu");
    reply(in_order ? first : second, 200, "Content-Type: application/json\r\n", str_from(cpu));
    reply(in_order ? second : first, 200, "Content-Type: application/json\r\n", str_from(memory));
}

static void test_prometheus(void **state _unused_)
{
    open_prometheus("");
    want(prometheus, NODES);
    answer_round(
        DATA("matrix", "{\"metric\":{\"node\":\"a\"},\"values\":[[1699999900,\"1\"],[1699999930,\"3\"]]}"),
        DATA("matrix", ""));
    answer_round(
        DATA("vector", VECTOR("\"node\":\"a\"", "0.25") "," VECTOR("\"node\":\"a\"", "0.2") "," VECTOR(
                           "\"instance\":\"10.0.0.2:9100\"", "1.5") "," VECTOR("\"instance\":\"c:1\"", "2")),
        DATA("vector", VECTOR("\"node\":\"a\"", "1048576.5") "," VECTOR("\"node\":\"b\"", "NaN")));
    pass_over(MESSAGE_LIST_BEGIN);
    struct inbox_message *message = next(MESSAGE_SET);
    const struct node_metrics *metrics = message->object->object.ptr;
    assert_str(metrics->meta.name, "a");
    assert_true(metrics->timestamp.seconds == 1700000000 && metrics->timestamp.nanos == 500000000);
    assert_str(metrics->window, "2m0s");
    expect_usage(&metrics->usage, "cpu 250m memory 1048576"); /* the largest of several */
    assert_int_equal(metrics->statistics.len, 6);
    assert_str(metrics->statistics.items[0].name, "Average");
    expect_usage(&metrics->statistics.items[0].usage, "cpu 1416666666n memory 1048576");
    assert_str(metrics->statistics.items[5].name, "P99");
    expect_usage(&metrics->statistics.items[5].usage, "cpu 3 memory 1048576");
    inbox_message_free(message);
    expect_node("b", "cpu 1500m", 0);
    pass_over(MESSAGE_LIST_END);
}

/* A query that fails leaves the samples as they are; the next round is a new one. */
static void test_failure(void **state _unused_)
{
    open_prometheus("");
    want(prometheus, NODES);
    answer_round("<html>", "<html>"); /* without the past it goes on */
    answer_round(DATA("vector", VECTOR("\"node\":\"a\"", "1")), "<html>");
    answer_round(DATA("vector", VECTOR("\"node\":\"a\"", "2")),
                 DATA("vector", VECTOR("\"node\":\"a\"", "3")));
    pass_over(MESSAGE_LIST_BEGIN);
    expect_node("a", "cpu 2 memory 3", 0);
    pass_over(MESSAGE_LIST_END);
}

/* A round under way ends when another source is wanted, whose requests follow; and the Prometheus may go. */
static void test_other_source(void **state _unused_)
{
    open_prometheus("");
    want(prometheus, NODES);
    take_request(&server, QUERY);
    take_request(&server, QUERY);
    want(NULL, NODES);
    prometheus_free(prometheus);
    prometheus = NULL;
    answer("/apis/metrics.k8s.io/v1beta1/nodes", "{\"kind\":\"NodeMetricsList\",\"apiVersion\":\"metrics.k8s."
                                                 "io/v1beta1\",\"metadata\":{},\"items\":[]}");
    pass_over(MESSAGE_LIST_BEGIN);
    pass_over(MESSAGE_LIST_END);
}

/* The end does not wait for a server that does not answer. */
static void test_end(void **state _unused_)
{
    open_prometheus("");
    want(prometheus, NODES);
    take_request(&server, QUERY);
}

/* ---- named queries ---- */
struct named_list {
    struct completion done;
    struct strbuf list;
    struct round_options options;
};

static void on_named(void *user, struct prometheus_round *round, int result, const struct error *err)
{
    struct named_list *named = user;
    if (result < 0)
        fail_msg("%s", err->text);
    prometheus_round_write(round, &named->list);
    completion_done(&named->done);
}

static void begin_nothing(void *context _unused_)
{
}

static void begin_named(void *context)
{
    prometheus_round_begin(&((struct named_list *)context)->options);
}

/* Labels and numbers as they came, without what JSON has no number for. */
static void test_named(void **state _unused_)
{
    open_prometheus_with("queries:\n- {name: zone-latency, query: rtt}\n- {name: other, query: up}\n");
    struct named_list named = { .options = { .prometheus = prometheus,
                                             .lookup = &lookup,
                                             .kind = ROUND_QUERIES,
                                             .done = on_named,
                                             .user = &named } };
    completion_init(&named.done);
    assert_true(prometheus_asks(prometheus, ROUND_QUERIES));
    loop_run_wait(api_loop(api), begin_named, &named);
    answer(QUERY "rtt",
           DATA("vector", VECTOR("\"zone\":\"a\",\"to\":\"\\\"b\"", "-0.5") "," VECTOR("", "NaN")));
    answer(QUERY "up", DATA("vector", VECTOR("", "1e+06")));
    completion_wait(&named.done, INT64_MAX);
    loop_run_wait(api_loop(api), begin_nothing, NULL); /* the round is freed */
    assert_string_equal(
        named.list.text,
        "{\"kind\":\"PrometheusQueryList\",\"apiVersion\":\"metrics.berth.dev/v1\",\"metadata\":{"
        "\"resourceVersion\":\"0\"},\"items\":[{\"apiVersion\":\"metrics.berth.dev/v1\",\"kind\":"
        "\"PrometheusQuery\",\"metadata\":{\"name\":\"zone-latency\"},\"result\":[{\"labels\":{"
        "\"zone\":\"a\",\"to\":\"\\\"b\"},\"value\":-0.5}]},{\"apiVersion\":\"metrics.berth.dev/v1\","
        "\"kind\":\"PrometheusQuery\",\"metadata\":{\"name\":\"other\"},\"result\":[{\"labels\":{},"
        "\"value\":1000000}]}]}");
    strbuf_release(&named.list);
    completion_release(&named.done);
}

/* ---- queries with an interval of their own ---- */
enum { HOUR_MS = 3600 * 1000 };

/* A part of the kind, which a plugin has named as a whole first. */
static uint64_t query_kind(const char *name)
{
    struct error err;
    (void)extra_kind_add(
        &(struct extra_kind){ .api_version = STR(QUERY_API_VERSION), .kind = STR(QUERY_KIND) }, &err);
    return UINT64_C(1) << extra_kind_add(&(struct extra_kind){ .api_version = STR(QUERY_API_VERSION),
                                                               .kind = STR(QUERY_KIND),
                                                               .name = str_from(name) },
                                         &err);
}

static void expect_query(const char *name)
{
    pass_over(MESSAGE_LIST_BEGIN);
    struct inbox_message *message = next(MESSAGE_SET);
    assert_str(message->object->object.meta->name, name);
    assert_int_equal(UINT64_C(1) << message->api_kind, query_kind(name));
    inbox_message_free(message);
    pass_over(MESSAGE_LIST_END);
}

static size_t requests_for(const char *path)
{
    size_t count = 0;
    pthread_mutex_lock(&server.lock);
    vec_for(&server.requests, request)
        count += strncmp((*request)->path, path, strlen(path)) == 0;
    pthread_mutex_unlock(&server.lock);
    return count;
}

/* The default is an hour: only what a plugin wants more often comes again. */
static void test_interval_of_a_query(void **state _unused_)
{
    struct poller_wants wants = { 0 };
    poller_stop(poller);
    poller = poller_start(
        &(struct poller_options){ .api = api, .inbox = inbox, .lookup = &lookup, .interval_ms = HOUR_MS });
    open_prometheus_with("queries:\n- {name: often, query: rtt}\n- {name: seldom, query: up}\n");
    poller_wants_add(&wants, query_kind("often") | query_kind("seldom"), 2 * HOUR_MS * NS_PER_MS);
    poller_wants_add(&wants, query_kind("often"), NS_PER_MS);
    poller_want(poller, &wants, prometheus);
    answer(QUERY "up", DATA("vector", VECTOR("", "1")));
    expect_query("seldom");
    for (int i = 0; i < 3; i++) {
        answer(QUERY "rtt", DATA("vector", VECTOR("", "1")));
        expect_query("often");
    }
    assert_int_equal(requests_for(QUERY "up"), 1);
    want(prometheus, query_kind("seldom")); /* now at the default, and at once */
    answer(QUERY "up", DATA("vector", VECTOR("", "1")));
    expect_query("seldom");
}

struct told {
    struct completion done;
    char source[64];
    bool ok;
};

static void on_samples(void *user, const char *source, bool ok, int64_t oldest_ns _unused_)
{
    struct told *told = user;
    snprintf(told->source, sizeof(told->source), "%s", source);
    told->ok = ok;
    completion_done(&told->done);
}

/* One that is in no file, and one without a Prometheus. */
static void test_unknown_query(void **state _unused_)
{
    struct told told = { 0 };
    for (int with = 0; with < 2; with++) {
        if (with)
            open_prometheus_with("queries: [{name: other, query: up}]\n");
        poller_stop(poller);
        completion_init(&told.done);
        poller = poller_start(&(struct poller_options){ .api = api,
                                                        .inbox = inbox,
                                                        .lookup = &lookup,
                                                        .interval_ms = HOUR_MS,
                                                        .on_samples = on_samples,
                                                        .user = &told });
        want(prometheus, query_kind("missing"));
        assert_true(completion_wait(&told.done, monotonic_ns() + MANUAL_SERVER_WAIT_MS * NS_PER_MS));
        assert_string_equal(told.source, "queries.prometheus/missing");
        assert_false(told.ok);
        completion_release(&told.done);
    }
    assert_int_equal(requests_for(QUERY), 0);
}

#define live(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        live(test_metrics_server),      live(test_prometheus),   live(test_failure),
        live(test_other_source),        live(test_end),          live(test_named),
        live(test_interval_of_a_query), live(test_unknown_query)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
