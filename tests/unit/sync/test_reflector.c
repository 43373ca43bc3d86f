/* Lists and watches with an API server that the test controls: which messages reach the inbox, which requests are sent
 * and when, and every failure. */
#include "unit/sync/reflector_client.h"

#include "api/extra_kinds.h"
#include "sync/gate.h"

static const struct watched_kind claims = {
    KIND_RESOURCE_CLAIM, "resourceclaims", 100, false, "v1beta2", ""
};
static const struct watched_kind rules = {
    KIND_DEVICE_TAINT_RULE, "devicetaintrules", 100, false, "v1beta2", "", true, FEATURE_DRADeviceTaintRules
};
#define RULES "/apis/resource.k8s.io/v1/devicetaintrules?limit=100"
static const struct watched_kind three[] = {
    { KIND_POD, "pods", 100, true, "", "" },
    { KIND_NODE, "nodes", 100, true, "", "" },
    { KIND_SERVICE, "services", 100, true, "", "" },
};
/* ---- list and watch ---- */

static void test_pages_then_watch(void **state _unused_)
{
    start_pods();
    struct manual_request *x = take_request(&server, PODS);
    assert_string_equal(x->path, LISTED_PODS "=100");
    reply_list(x, "100", "a/b=", "a@1 b@2");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "a");
    want(MESSAGE_SET, "b");
    x = take_request(&server, PODS);
    assert_string_equal(x->path, LISTED_PODS "=100&continue=a%2Fb%3D");
    reply_list(x, "100", "", "c@3");
    want(MESSAGE_SET, "c");
    want(MESSAGE_LIST_END, NULL);

    x = take_request(&server, PODS_WATCH "100&timeoutSeconds=");
    long seconds = strtol(strrchr(x->path, '=') + 1, NULL, 10);
    assert_in_range(seconds, 300, 600);
    stream_begin(x);
    send_event(x, "ADDED", "d@101");
    want(MESSAGE_SET, "d");
    send_event(x, "MODIFIED", "a@102");
    want(MESSAGE_SET, "a");
    send_event(x, "DELETED", "b@103");
    want(MESSAGE_REMOVE, "b");
    want_silence(50);

    assert_int_equal(reflectors_down_since_ns(all), 0);
}

/* From the last event or bookmark, at once. */
static void test_watch_resumes(void **state _unused_)
{
    start(&pods, 1,
          (struct reflector_options){
              .plain_lists = true, .backoff_ms_min = NEVER_MS, .backoff_ms_max = NEVER_MS });
    struct manual_request *watch = to_watch("a@1");
    skip_list(1);
    send_event(watch, "MODIFIED", "a@120");
    send_event(watch, "BOOKMARK", "@150");
    want(MESSAGE_SET, "a");
    stream_end(watch);
    watch = take_request(&server, PODS_WATCH "150&");
    stream_begin(watch);
    send_event(watch, "MODIFIED", "a@151");
    want(MESSAGE_SET, "a");
    stream_end(watch);
    take_request(&server, PODS_WATCH "151&");
}

static void test_events_in_pieces(void **state _unused_)
{
    start_pods();
    struct manual_request *watch = to_watch("");
    struct strbuf bytes = event_bytes("ADDED", "Pod", "a@101"), more = event_bytes("DELETED", "Pod", "a@102");
    strbuf_str(&bytes, strbuf_slice(&more));
    for (size_t i = 0; i < bytes.len; i += 7)
        stream_put(watch, str_slice(strbuf_slice(&bytes), i, MIN(i + 7, bytes.len)));
    skip_list(0);
    want(MESSAGE_SET, "a");
    want(MESSAGE_REMOVE, "a");
    strbuf_release(&bytes);
    strbuf_release(&more);
}

static void test_json(void **state _unused_)
{
    static const char list[] =
        "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"100\"},"
        "\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":3},{\"metadata\":{\"name\":\"b\"}}]}";
    static const char events[] =
        "\n{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
        "\"x\\\"}{\","
        "\"resourceVersion\":\"101\"}}}{\"type\":\"ADDED\",\"object\":{\"kind\":\"Secret\",\"apiVersion\":"
        "\"v1\"}}"
        " "
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"resourceVersion\":"
        "\"170\"}}}\n{\"type\":\"DELETED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"name\":"
        "\"c\",\"resourceVersion\":\"171\"}}}";
    static const char gone[] =
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":410}}";
    start_pods();
    reply(take_request(&server, PODS), 200, "Content-Type: application/json\r\n", str_from(list));
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "a");
    want(MESSAGE_PARTIAL, NULL); /* without a name */
    want(MESSAGE_SET, "b");
    want(MESSAGE_LIST_END, NULL);
    struct manual_request *watch = take_request(&server, PODS_WATCH "100&");
    stream_begin(watch);
    for (size_t i = 0; i < strlen(events); i++)
        stream_put(watch, str_slice(str_from(events), i, i + 1));
    want(MESSAGE_SET, "x\"}{");
    want(MESSAGE_REMOVE, "c");
    stream_end(watch);
    watch = take_request(&server, PODS_WATCH "171&");
    stream_begin(watch);
    stream_put(watch, str_from(gone));
    take_request(&server, LISTED_PODS);
}

/* ---- too old ---- */

static void test_gone_watch_lists_again(void **state _unused_)
{
    start(&pods, 1,
          (struct reflector_options){
              .plain_lists = true, .refused_ms_min = NEVER_MS, .refused_ms_max = NEVER_MS });
    drop_connection(to_watch("a@1"));
    skip_list(1);
    reply(take_request(&server, PODS_WATCH "100&"), 410, "", STR("gone"));
    reply_list(take_request(&server, LISTED_PODS "=100"), "200", "", "b@150");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "b");
    want(MESSAGE_LIST_END, NULL);

    struct manual_request *watch = take_request(&server, PODS_WATCH "200&");
    stream_begin(watch);
    send_event(watch, "ADDED", "c@201");
    send_error_event(watch, 410);
    want(MESSAGE_SET, "c");
    reply_list(take_request(&server, LISTED_PODS), "300", "", "");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_LIST_END, NULL);
    take_request(&server, PODS_WATCH "300&");
}

static void test_gone_token_restarts_the_list(void **state _unused_)
{
    start_pods();
    reply_list(take_request(&server, PODS), "100", "token", "a@1");
    reply(take_request(&server, PODS), 410, "", STR("gone"));
    struct manual_request *x = take_request(&server, PODS);
    assert_null(strstr(x->path, "continue"));
    reply_list(x, "130", "", "b@2");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "a");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "b");
    want(MESSAGE_LIST_END, NULL);
    take_request(&server, PODS_WATCH "130&");
}

/* Other errors end the watch; after three in a row the reflector lists again. */
static void test_errors_in_a_watch(void **state _unused_)
{
    start_pods();
    struct manual_request *watch = to_watch("");
    for (int i = 0; i < 3; i++) {
        if (i)
            stream_begin(watch = take_request(&server, PODS_WATCH "100&"));
        send_error_event(watch, 500);
    }
    take_request(&server, LISTED_PODS);
}

static void test_back_in_time(void **state _unused_)
{
    start_pods();
    struct manual_request *watch = to_watch("a@90");
    skip_list(1);
    send_event(watch, "MODIFIED", "a@110");
    send_event(watch, "MODIFIED", "a@105"); /* left to the core */
    want(MESSAGE_SET, "a");
    want(MESSAGE_SET, "a");
    stream_end(watch);
    watch = take_request(&server, PODS_WATCH "110&");
    stream_begin(watch);
    send_event(watch, "MODIFIED", "a@40"); /* another storage history */
    reply_list(take_request(&server, LISTED_PODS), "50", "", "a@40");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "a");
    want(MESSAGE_LIST_END, NULL);
    take_request(&server, PODS_WATCH "50&");
}

/* A relist begins after its message, whatever was in progress. */
static void test_relist(void **state _unused_)
{
    start_pods();
    struct manual_request *watch = to_watch("a@1");
    skip_list(1);
    send_event(watch, "MODIFIED", "a@101");
    want(MESSAGE_SET, "a");
    reflectors_relist(all, UINT64_C(1) << KIND_NODE); /* not watched */
    reflectors_relist(all, UINT64_C(1) << KIND_POD);
    want(MESSAGE_DOUBT, NULL);
    struct manual_request *list = take_request(&server, LISTED_PODS);
    reply_list(list, "200", "token", "b@150");
    take_request(&server, LISTED_PODS "=100&continue=token"); /* and again, during that list */
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "b");
    reflectors_relist(all, UINT64_C(1) << KIND_POD);
    want(MESSAGE_DOUBT, NULL);
    list = take_request(&server, LISTED_PODS);
    assert_null(strstr(list->path, "continue"));
    reply_list(list, "300", "", "");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_LIST_END, NULL);
    take_request(&server, PODS_WATCH "300&");

    manual_server_down(&server);
    usleep(100 * 1000);
    reflectors_relist(all, UINT64_C(1) << KIND_POD);
    manual_server_up(&server);
    want(MESSAGE_DOUBT, NULL);
    take_request(&server, LISTED_PODS);
}

/* ---- the server is unreachable ---- */

static void answer_all(size_t lists)
{
    for (size_t i = 0; i < 2 * lists; i++) {
        struct manual_request *x = take_request(&server, "/api/v1/");
        const char *kind = strstr(x->path, "pods") ? "Pod" : strstr(x->path, "nodes") ? "Node" : "Service";
        if (strstr(x->path, "limit="))
            reply_list_of(x, kind, "100", "", "");
        else
            stream_begin(x);
    }
}

/* The time until all reflectors watch again. */
static int64_t comes_back_after_ms(void)
{
    manual_server_down(&server);
    while (!reflectors_down_since_ns(all))
        usleep(1000);
    usleep(1500 * 1000);
    manual_server_up(&server);
    int64_t up_ns = monotonic_ns(), last_ns = 0;
    for (int i = 0; i < 3; i++) {
        struct manual_request *x = take_request(&server, "/api/v1/");
        assert_non_null(strstr(x->path, "resourceVersion=100"));
        last_ns = MAX(last_ns, x->at_ns);
        stream_begin(x);
    }
    assert_int_equal(reflectors_down_since_ns(all), 0);
    return (last_ns - up_ns) / 1000000;
}

static void test_all_come_back_with_the_server(void **state _unused_)
{
    enum { SOON_MS = 800, TRIES = 6 };
    start(three, 3, (struct reflector_options){ .plain_lists = true });
    answer_all(3);
    int64_t best_ms = INT64_MAX; /* the machine may be busy */
    for (int i = 0; i < TRIES && best_ms >= SOON_MS; i++)
        best_ms = MIN(best_ms, comes_back_after_ms());
    assert_true(best_ms < SOON_MS);
}

/* One probe for all reflectors, at a bounded rate. */
static void test_no_flood(void **state _unused_)
{
    start(three, 3, (struct reflector_options){ .plain_lists = true });
    answer_all(3);
    size_t before = server.connections;
    pthread_mutex_lock(&server.lock);
    server.mute = true;
    vec_for(&server.connections_list, line)
        shutdown((*line)->fd, SHUT_RDWR);
    pthread_mutex_unlock(&server.lock);
    int64_t begun_ns = monotonic_ns();
    size_t attempts = 0;
    while (ms_since(begun_ns) < 2000 || attempts < 4) {
        usleep(1000);
        pthread_mutex_lock(&server.lock);
        attempts = server.connections - before;
        assert_true((int64_t)attempts <= 6 + ms_since(begun_ns) / (GATE_PAUSE_MS_MAX / 2));
        pthread_mutex_unlock(&server.lock);
    }
    pthread_mutex_lock(&server.lock);
    server.mute = false;
    pthread_mutex_unlock(&server.lock);
    for (int i = 0; i < 3; i++)
        take_request(&server, "/api/v1/");
}

static void test_server_comes_late(void **state _unused_)
{
    manual_server_down(&server);
    start_pods();
    usleep(300 * 1000);
    manual_server_up(&server);
    reply_list(take_request(&server, PODS), "100", "", "a@1");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "a");
    want(MESSAGE_LIST_END, NULL);
}

/* A list continues with the page that was lost. */
static void test_lost_page_is_requested_again(void **state _unused_)
{
    start_pods();
    reply_list(take_request(&server, PODS), "100", "token", "a@1");
    drop_connection(take_request(&server, PODS));
    struct manual_request *x = take_request(&server, PODS);
    assert_non_null(strstr(x->path, "continue=token"));
    reply_list(x, "100", "", "b@2");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "a");
    want(MESSAGE_SET, "b");
    want(MESSAGE_LIST_END, NULL);
}

/* ---- error responses ---- */

static void test_retry_after(void **state _unused_)
{
    start(&pods, 1, (struct reflector_options){ .plain_lists = true, .retry_after_ms_max = 1000 });
    static const char *const headers[] = { "Retry-After: 1\r\n", "Retry-After: 3600\r\n" };
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        struct manual_request *x = take_request(&server, PODS);
        int64_t replied_ns = monotonic_ns();
        reply(x, 429, headers[i], STR("later"));
        x = take_request(&server, PODS); /* 3600 s are too long */
        assert_true(x->at_ns - replied_ns >= 990 * INT64_C(1000000));
        reply(x, 429, "", STR("later, without a time"));
    }
    reply_list(take_request(&server, PODS), "100", "", "");
    struct manual_request *watch = take_request(&server, PODS_WATCH "100&");
    int64_t replied_ns = monotonic_ns();
    reply(watch, 429, "Retry-After: 1\r\n", STR("later"));
    assert_true(take_request(&server, PODS_WATCH "100&")->at_ns - replied_ns >= 990 * INT64_C(1000000));
}

static void test_server_errors_pass(void **state _unused_)
{
    start(&pods, 1, (struct reflector_options){ .plain_lists = true, .retry_after_ms_max = NEVER_MS });
    int64_t begun_ns = monotonic_ns();
    for (int i = 0; i < 6; i++) /* the delay is capped */
        reply(take_request(&server, PODS), 503, "Retry-After: 600\r\n", STR("starting"));
    assert_true(ms_since(begun_ns) > 500); /* with growing backoff */
    reply_list(take_request(&server, PODS), "100", "", "");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_LIST_END, NULL);
    reply(take_request(&server, PODS_WATCH "100&"), 500, "", STR("oh"));
    take_request(&server, PODS_WATCH "100&");
}

static void test_forbidden_is_not_synced(void **state _unused_)
{
    start(&pods, 1,
          (struct reflector_options){ .plain_lists = true, .refused_ms_min = 100, .refused_ms_max = 400 });
    int64_t begun_ns = monotonic_ns();
    for (int i = 0; i < 4; i++)
        reply(take_request(&server, PODS), i % 2 ? 401 : 403, "", STR("no"));
    assert_true(ms_since(begun_ns) >= 50 + 100 + 200);
    want_silence(10);
    reply_list(take_request(&server, PODS), "100", "", "");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_LIST_END, NULL);
    reply(take_request(&server, PODS_WATCH "100&"), 403, "", STR("no"));
    stream_begin(take_request(&server, PODS_WATCH "100&")); /* the same watch again, not a list */
}

/* A server that has just started may not have loaded its RBAC rules. */
static void test_forbidden_for_a_while(void **state _unused_)
{
    start(&pods, 1,
          (struct reflector_options){
              .plain_lists = true, .refused_ms_min = NEVER_MS, .refused_ms_max = NEVER_MS });
    reply_list(take_request(&server, PODS), "100", "", "");
    for (int i = 0; i < 6; i++)
        reply(take_request(&server, PODS_WATCH "100&"), 403, "", STR("no"));
    take_request(&server, PODS_WATCH "100&");
}

static void test_bad_request_lists_again(void **state _unused_)
{
    start(&pods, 1, (struct reflector_options){ .plain_lists = true, .refused_ms_min = 10 });
    reply_list(take_request(&server, PODS), "100", "", "");
    reply(take_request(&server, PODS_WATCH "100&"), 400, "", STR("what"));
    take_request(&server, LISTED_PODS);
}

static void test_not_served(void **state _unused_)
{
    start(&claims, 1, (struct reflector_options){ .plain_lists = true, .absent_ms = 300 });
    reply(take_request(&server, "/apis/resource.k8s.io/v1/resourceclaims?limit=100"), 404, "", STR("no"));
    struct manual_request *x =
        take_request(&server, "/apis/resource.k8s.io/v1beta2/resourceclaims?limit=100");
    int64_t replied_ns = monotonic_ns();
    reply(x, 404, "", STR("no"));
    want(MESSAGE_ABSENT, NULL);
    x = take_request(&server, "/apis/resource.k8s.io/v1/resourceclaims?");
    assert_true(x->at_ns - replied_ns >= 100 * INT64_C(1000000));
    reply(x, 404, "", STR("no"));
    reply(take_request(&server, "/apis/resource.k8s.io/v1beta2/resourceclaims?"), 404, "", STR("no"));
    want_silence(50); /* reported once */
    reply(take_request(&server, "/apis/resource.k8s.io/v1/resourceclaims?"), 404, "", STR("no"));
    struct strbuf body = { 0 };
    protobuf_text_object(&body, "resource.k8s.io/v1beta2", "ResourceClaimList",
                         "1{ 2\"9\" } 2{ 1{ 1\"c\" } }");
    reply(take_request(&server, "/apis/resource.k8s.io/v1beta2/resourceclaims?"), 200, "",
          strbuf_slice(&body));
    strbuf_release(&body);
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "c");
    want(MESSAGE_LIST_END, NULL);
    /* No longer served. */
    struct manual_request *watch =
        take_request(&server, "/apis/resource.k8s.io/v1beta2/resourceclaims?watch=true");
    reply(watch, 404, "", STR("no"));
    reply(take_request(&server, "/apis/resource.k8s.io/v1beta2/resourceclaims?limit"), 404, "", STR("no"));
    want(MESSAGE_ABSENT, NULL);
}

/* The role of an older server does not name the kind. */
static void test_forbidden_kind_with_a_gate(void **state _unused_)
{
    start(&rules, 1,
          (struct reflector_options){
              .plain_lists = true, .absent_ms = 30, .refused_ms_min = 5, .refused_ms_max = 10 });
    reply(take_request(&server, RULES), 403, "", STR("no"));
    want(MESSAGE_ABSENT, NULL);
    for (int i = 0; i < 12; i++)
        reply(take_request(&server, RULES), 403, "", STR("no"));
    want_silence(50); /* reported once */
    struct strbuf body = { 0 };
    protobuf_text_object(&body, "resource.k8s.io/v1", "DeviceTaintRuleList", "1{ 2\"9\" } 2{ 1{ 1\"r\" } }");
    reply(take_request(&server, RULES), 200, "", strbuf_slice(&body));
    strbuf_release(&body);
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "r");
    want(MESSAGE_LIST_END, NULL);
}

/* ---- kinds that plugins name ---- */

#define GROUP_PATH "/apis/example.com/v2"
#define WIDGETS GROUP_PATH "/namespaces/shop/widgets?fieldSelector=metadata.name%3Dw&limit=100"

static const struct watched_kind *widgets(void)
{
    static struct watched_kind kind = { .resource = "example.com/v2/Widget",
                                        .page_len = 100,
                                        .older_versions = "",
                                        .field_selector = "metadata.name=w",
                                        .is_looked_up = true,
                                        .namespace = "shop" };
    struct error err;
    kind.kind = extra_kind_add(
        &(struct extra_kind){ .api_version = STR("example.com/v2"), .kind = STR("Widget") }, &err);
    return &kind;
}

static void reply_resources(struct manual_request *x, const char *resources)
{
    struct strbuf body = { 0 };
    strbuf_printf(&body, "{\"kind\":\"APIResourceList\",\"resources\":[%s]}", resources);
    reply(x, 200, "Content-Type: application/json\r\n", strbuf_slice(&body));
    strbuf_release(&body);
}

static void reply_widgets(struct manual_request *x)
{
    reply(x, 200, "Content-Type: application/json\r\n",
          STR("{\"kind\":\"WidgetList\",\"apiVersion\":\"example.com/"
              "v2\",\"metadata\":{\"resourceVersion\":\"9\"},"
              "\"items\":[{\"metadata\":{\"name\":\"w\",\"namespace\":\"shop\"},\"spec\":{\"size\":3}}]}"));
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "w");
    want(MESSAGE_LIST_END, NULL);
}

#define WIDGET_RESOURCE "{\"name\":\"widgets\",\"namespaced\":true,\"kind\":\"Widget\"}"

/* The group is not there, then it is there without the kind, then with it; then it goes, and comes again by another
 * name. */
static void test_looked_up(void **state _unused_)
{
    start(widgets(), 1, (struct reflector_options){ .plain_lists = true, .absent_ms = 20 });
    reply(take_request(&server, GROUP_PATH), 404, "", STR("no"));
    want(MESSAGE_ABSENT, NULL);
    reply_resources(take_request(&server, GROUP_PATH), "{\"name\":\"gadgets\",\"kind\":\"Gadget\"}");
    reply(take_request(&server, GROUP_PATH), 200, "Content-Type: application/json\r\n", STR("nonsense"));
    reply_resources(take_request(&server, GROUP_PATH),
                    "{\"name\":\"widgets/status\",\"namespaced\":true,\"kind\":\"Widget\"}," WIDGET_RESOURCE);
    struct manual_request *x = take_request(&server, GROUP_PATH "/");
    assert_string_equal(x->path, WIDGETS);
    reply_widgets(x);
    reply(take_request(&server,
                       GROUP_PATH "/namespaces/shop/widgets?fieldSelector=metadata.name%3Dw&watch=true"),
          404, "", STR("no"));
    reply(take_request(&server, WIDGETS), 404, "", STR("no"));
    want(MESSAGE_ABSENT, NULL);
    reply_resources(take_request(&server, GROUP_PATH),
                    "{\"name\":\"things\",\"namespaced\":false,\"kind\":\"Widget\"}");
    x = take_request(&server, GROUP_PATH "/");
    assert_string_equal(x->path, GROUP_PATH "/things?fieldSelector=metadata.name%3Dw&limit=100");
    reply_widgets(x);
}

/* Without the right there are none, until it is given. What was seen once stays. */
static void test_looked_up_and_forbidden(void **state _unused_)
{
    start(widgets(), 1,
          (struct reflector_options){ .plain_lists = true, .refused_ms_min = 5, .refused_ms_max = 10 });
    reply_resources(take_request(&server, GROUP_PATH), WIDGET_RESOURCE);
    for (int i = 0; i < 5; i++)
        reply(take_request(&server, WIDGETS), 403, "", STR("no"));
    want(MESSAGE_ABSENT, NULL);
    want_silence(20); /* reported once */
    reply_widgets(take_request(&server, WIDGETS));
    reply(take_request(&server,
                       GROUP_PATH "/namespaces/shop/widgets?fieldSelector=metadata.name%3Dw&watch=true"),
          403, "", STR("no"));
    want_silence(20);
}

static void test_gate_is_off(void **state _unused_)
{
    static struct features features;
    features_default(&features, release_of(36), 0);
    start(&rules, 1, (struct reflector_options){ .plain_lists = true, .features = &features });
    want(MESSAGE_ABSENT, NULL);
    want_silence(50);
}

static void test_required_kind_is_waited_for(void **state _unused_)
{
    start(&pods, 1, (struct reflector_options){ .plain_lists = true, .refused_ms_min = 20 });
    for (int i = 0; i < 3; i++)
        reply(take_request(&server, PODS), 404, "", STR("no"));
    want_silence(50);
    reply_list(take_request(&server, PODS), "100", "", "");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_LIST_END, NULL);
}

/* ---- malformed lists ---- */

static void test_malformed_lists(void **state _unused_)
{
    static const char *const bodies[] = {
        "",
        "{",
        "hello",
        "{}",
        "[]",
        "k8s",
        "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[]}",
        "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}",
        "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":7}",
    };
    start(&pods, 1,
          (struct reflector_options){ .plain_lists = true, .refused_ms_min = 1, .refused_ms_max = 5 });
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
        reply(take_request(&server, PODS), 200, "", str_from(bodies[i]));
    /* A list that repeats its continue token. */
    reply_list(take_request(&server, PODS), "1", "same", "");
    reply_list(take_request(&server, PODS), "1", "same", "");
    want(MESSAGE_LIST_BEGIN, NULL);
    assert_null(strstr(take_request(&server, PODS)->path, "continue"));
    want_silence(10);
}

static void test_page_too_large(void **state _unused_)
{
    start(&pods, 1, (struct reflector_options){ .plain_lists = true, .page_bytes_max = 4096 });
    struct strbuf large = { 0 };
    for (int i = 0; i < 5000; i++)
        strbuf_putc(&large, 'x');
    reply(take_request(&server, PODS), 200, "", strbuf_slice(&large));
    strbuf_release(&large);
    struct manual_request *x = take_request(&server, PODS);
    assert_non_null(strstr(x->path, "limit=25"));
    reply_list(x, "100", "", "a@1");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "a");
    want(MESSAGE_LIST_END, NULL);
}

/* ---- stop ---- */

static void test_stop_at_any_time(void **state _unused_)
{
    for (int i = 0; i < 6; i++) {
        start(three, 3, (struct reflector_options){ .plain_lists = true });
        struct manual_request *x = i > 0 ? take_request(&server, "/api/v1/") : NULL;
        if (i == 1)
            reply(x, 404, "", STR("no"));
        if (i == 2)
            drop_connection(x);
        if (i == 3)
            reply(x, 200, "", STR("rubbish"));
        if (i >= 4)
            manual_server_down(&server);
        if (i == 5)
            usleep(200 * 1000);
        int64_t now_ns = monotonic_ns();
        reflectors_stop(all);
        all = NULL;
        assert_true(ms_since(now_ns) < 20000); /* no response is awaited */
        if (i < 4)
            manual_server_down(&server);
        manual_server_up(&server);
    }
    reflectors_stop(NULL);
}

static void test_table(void **state _unused_)
{
    static const struct {
        enum api_kind kind;
        const char *path;
    } cases[] = {
        { KIND_POD, "/api/v1/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed" },
        { KIND_NODE, "/api/v1/nodes?" },
        { KIND_REPLICA_SET, "/apis/apps/v1/replicasets?" },
        { KIND_PDB, "/apis/policy/v1/poddisruptionbudgets?" },
        { KIND_CSI_STORAGE_CAPACITY, "/apis/storage.k8s.io/v1/csistoragecapacities?" },
        { KIND_DEVICE_CLASS, "/apis/resource.k8s.io/v1/deviceclasses?" },
        { KIND_DEVICE_TAINT_RULE, "/apis/resource.k8s.io/v1/devicetaintrules?" },
    };
    size_t found = 0;
    for (size_t i = 0; i < watched_kind_count; i++) {
        struct strbuf path = { 0 };
        assert_true(watched_path(&watched_kinds[i], 0, (struct str){ 0 }, &path));
        for (size_t j = 0; j < ARRAY_SIZE(cases); j++)
            if (cases[j].kind == watched_kinds[i].kind) {
                assert_string_equal(path.text, cases[j].path);
                found++;
            }
        strbuf_clear(&path);
        assert_false(watched_path(&watched_kinds[i], 9, (struct str){ 0 }, &path));
        strbuf_release(&path);
    }
    assert_int_equal(found, ARRAY_SIZE(cases));
    assert_int_equal(watched_kind_count, 19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        live(test_pages_then_watch),
        live(test_watch_resumes),
        live(test_events_in_pieces),
        live(test_json),
        live(test_gone_watch_lists_again),
        live(test_gone_token_restarts_the_list),
        live(test_errors_in_a_watch),
        live(test_back_in_time),
        live(test_relist),
        live(test_all_come_back_with_the_server),
        live(test_no_flood),
        live(test_server_comes_late),
        live(test_lost_page_is_requested_again),
        live(test_retry_after),
        live(test_server_errors_pass),
        live(test_forbidden_is_not_synced),
        live(test_forbidden_for_a_while),
        live(test_bad_request_lists_again),
        live(test_not_served),
        live(test_forbidden_kind_with_a_gate),
        live(test_looked_up),
        live(test_looked_up_and_forbidden),
        live(test_gate_is_off),
        live(test_required_kind_is_waited_for),
        live(test_malformed_lists),
        live(test_page_too_large),
        live(test_stop_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
