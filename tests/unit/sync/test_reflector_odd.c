/* Watches that cannot be read, or that end at once: what is passed on, and how soon the next request is sent. */
#include "unit/sync/reflector_client.h"

/* ---- data that cannot be read ---- */

/* An object that cannot be read completely is passed on as such; one of another kind is not. */
static void test_partial_objects(void **state _unused_)
{
    start_pods();
    struct manual_request *watch = to_watch("a@1 !c b@2");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "a");
    want(MESSAGE_PARTIAL, "c");
    want(MESSAGE_SET, "b");
    want(MESSAGE_LIST_END, NULL);
    send_event(watch, "MODIFIED", "!c");
    send_event(watch, "DELETED", "!c");
    struct strbuf other = event_bytes("ADDED", "Node", "a@102"),
                  unknown = event_bytes("ADDED", "Odd", "a@102");
    stream_put(watch, strbuf_slice(&other));
    stream_put(watch, strbuf_slice(&unknown));
    strbuf_release(&other);
    strbuf_release(&unknown);
    send_event(watch, "MODIFIED", "b@103");
    want(MESSAGE_PARTIAL, "c");
    want(MESSAGE_REMOVE, "c");
    want(MESSAGE_SET, "b");
    stream_end(watch);
    take_request(&server, PODS_WATCH "103&");
}

/* After an event of which nothing can be read only a list can tell what changed. */
static void test_unreadable_events(void **state _unused_)
{
    static const char *const events[] = {
        "{\"type\":\"NO\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}}",
        "{}",
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":[]}}",
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","
        "\"namespace\":3}}}",
        "{\"type\":\"ADDED\",\"object\":[]}",
        "{{}}",
        " hello",
    };
    start(&pods, 1,
          (struct reflector_options){ .plain_lists = true, .refused_ms_min = 1, .refused_ms_max = 5 });
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        struct manual_request *watch = to_watch("a@1");
        skip_list(1);
        stream_put(watch, str_from(events[i]));
    }
    to_watch("");
}

/* A server whose watches all bring one such event and end gets requests ever more slowly, and one log line. */
static void test_unreadable_event_storm(void **state _unused_)
{
    enum { ROUNDS = 5 };
    static const char garbage[] = "\0\0\0\3xyz";
    char path[] = "/tmp/berth-test-XXXXXX";
    int file = mkstemp(path), standard = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    start(&pods, 1, (struct reflector_options){ .plain_lists = true, .refused_ms_min = 100 });
    int64_t begun_ns = monotonic_ns();
    for (int i = 0; i < ROUNDS; i++) {
        struct manual_request *watch = to_watch("a@1");
        skip_list(1);
        stream_put(watch, (struct str){ garbage, sizeof(garbage) - 1 });
    }
    take_request(&server, LISTED_PODS);
    assert_true(ms_since(begun_ns) >= 50 + 100 + 200 + 400);
    dup2(standard, STDERR_FILENO);
    close(standard);
    char log[8192];
    ssize_t len = pread(file, log, sizeof(log) - 1, 0);
    log[MAX(len, 0)] = '\0';
    size_t lines = 0;
    for (const char *at = log; (at = strstr(at, "A watch cannot be read")); at++)
        lines++;
    close(file);
    unlink(path);
    assert_int_equal(lines, 1);
}

/* So does a server whose short watches bring something each: the first few may be chance. */
static void test_many_short_watches_with_events(void **state _unused_)
{
    start(&pods, 1,
          (struct reflector_options){ .plain_lists = true, .backoff_ms_min = 100, .backoff_ms_max = 1000 });
    int64_t begun_ns = monotonic_ns();
    struct manual_request *watch = to_watch("");
    for (int i = 1; i <= 8; i++) {
        char item[16], path[256];
        snprintf(item, sizeof(item), "a@%d", 100 + i);
        snprintf(path, sizeof(path), "%s%d&", PODS_WATCH, 100 + i);
        send_event(watch, "MODIFIED", item);
        stream_end(watch);
        watch = take_request(&server, path);
        stream_begin(watch);
    }
    assert_true(ms_since(begun_ns) >= 50 + 100 + 200 + 400);
}

/* And one that ends each with "gone" after something came. */
static void test_always_gone_after_an_event(void **state _unused_)
{
    start(&pods, 1, (struct reflector_options){ .plain_lists = true, .refused_ms_min = 100 });
    int64_t begun_ns = monotonic_ns();
    for (int i = 0; i < 8; i++) {
        struct manual_request *watch = to_watch("");
        send_event(watch, "MODIFIED", "a@101");
        send_error_event(watch, 410);
    }
    take_request(&server, LISTED_PODS);
    assert_true(ms_since(begun_ns) >= 50 + 100 + 200 + 400);
}

static void test_giant_event(void **state _unused_)
{
    start_pods();
    struct manual_request *watch = to_watch("");
    stream_put(watch, (struct str){ "\x01\x00\x00\x01", 4 });
    reply_list(take_request(&server, LISTED_PODS), "200", "", "");
    take_request(&server, PODS_WATCH "200&");
}

static void test_truncated_event(void **state _unused_)
{
    start_pods();
    struct manual_request *watch = to_watch("");
    struct strbuf bytes = event_bytes("ADDED", "Pod", "a@101");
    stream_put(watch, strbuf_slice(&bytes));
    stream_put(watch, str_slice(strbuf_slice(&bytes), 0, bytes.len - 1));
    strbuf_release(&bytes);
    drop_connection(watch);
    watch = take_request(&server, PODS_WATCH "101&");
    stream_begin(watch);
    send_event(watch, "ADDED", "b@102"); /* nothing of the truncated event is left */
    skip_list(0);
    want(MESSAGE_SET, "a");
    want(MESSAGE_SET, "b");
}

/* ---- watches that end at once ---- */

/* A server that ends every watch at once gets requests with backoff. */
static void test_short_watches(void **state _unused_)
{
    start_pods();
    int64_t begun_ns = monotonic_ns();
    stream_end(to_watch(""));
    for (int i = 0; i < 5; i++) {
        struct manual_request *watch = take_request(&server, PODS_WATCH "100&");
        stream_begin(watch);
        stream_end(watch);
    }
    assert_true(ms_since(begun_ns) >= 25 + 50 + 100 + 200 + 250);
}

/* So does one whose watches are always too old. */
static void test_always_gone(void **state _unused_)
{
    start(&pods, 1, (struct reflector_options){ .plain_lists = true, .refused_ms_min = 100 });
    int64_t begun_ns = monotonic_ns();
    for (int i = 0; i < 5; i++) {
        reply_list(take_request(&server, PODS), "100", "", "");
        reply(take_request(&server, PODS), 410, "", STR("gone"));
    }
    assert_true(ms_since(begun_ns) >= 50 + 100 + 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        live(test_partial_objects),
        live(test_unreadable_events),
        live(test_unreadable_event_storm),
        live(test_many_short_watches_with_events),
        live(test_always_gone_after_an_event),
        live(test_giant_event),
        live(test_truncated_event),
        live(test_short_watches),
        live(test_always_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
