/* Objects that come as the beginning of a watch (sendInitialEvents), and servers that do not do that. */
#include "unit/sync/reflector_client.h"

#define STREAMED_PODS \
    PODS \
        "fieldSelector=status.phase%21%3DFailed&watch=true&allowWatchBookmarks=true&sendInitialEvents=true&" \
        "resourceVersionMatch=NotOlderThan&timeoutSeconds="

static struct manual_request *to_stream(void)
{
    struct manual_request *x = take_request(&server, STREAMED_PODS);
    stream_begin(x);
    return x;
}

static void start_streaming(void)
{
    start(&pods, 1, (struct reflector_options){ .refused_ms_min = 1, .refused_ms_max = 5 });
}

/* One request brings the objects and what happens later. */
static void test_one_request(void **state _unused_)
{
    start_streaming();
    struct manual_request *x = to_stream();
    send_event(x, "ADDED", "a@50");
    send_event(x, "ADDED", "b@20"); /* in no order */
    send_event(x, "BOOKMARK", "@60");
    send_event(x, "DELETED", "b@90");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "a");
    want(MESSAGE_SET, "b");
    want(MESSAGE_REMOVE, "b");
    want_silence(20);
    send_initial_end(x, "100");
    want(MESSAGE_LIST_END, NULL);
    send_event(x, "ADDED", "c@101");
    want(MESSAGE_SET, "c");
    stream_end(x);
    x = take_request(&server, PODS_WATCH "101&"); /* resumed */
    stream_begin(x);
    drop_connection(x);
    x = take_request(&server, PODS_WATCH "101&"); /* also after an outage */
    reply(x, 410, "", STR("gone"));
    send_initial_end(to_stream(), "200");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_LIST_END, NULL);
}

static void test_empty(void **state _unused_)
{
    start_streaming();
    send_initial_end(to_stream(), "100");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_LIST_END, NULL);
}

/* A stream that breaks off is begun anew. */
static void test_lost_connection(void **state _unused_)
{
    start_streaming();
    struct manual_request *x = to_stream();
    send_event(x, "ADDED", "a@50");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "a");
    drop_connection(x);
    x = to_stream();
    send_event(x, "ADDED", "b@51");
    send_initial_end(x, "100");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "b");
    want(MESSAGE_LIST_END, NULL);
}

/* One that always breaks off is given up for a list. */
static void test_always_cut_off(void **state _unused_)
{
    start_streaming();
    for (int i = 0; i < 3; i++) {
        struct manual_request *x = to_stream();
        send_event(x, "ADDED", "a@50");
        want(MESSAGE_LIST_BEGIN, NULL);
        want(MESSAGE_SET, "a");
        if (i % 2)
            drop_connection(x);
        else
            stream_end(x);
    }
    reply_list(take_request(&server, LISTED_PODS), "100", "", "a@50");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "a");
    want(MESSAGE_LIST_END, NULL);
}

/* A list from the newest state, in doubt: again a stream. */
static void test_relist(void **state _unused_)
{
    start_streaming();
    send_initial_end(to_stream(), "100");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_LIST_END, NULL);
    reflectors_relist(all, UINT64_C(1) << KIND_POD);
    want(MESSAGE_DOUBT, NULL);
    struct manual_request *x = to_stream();
    send_event(x, "ADDED", "a@50");
    send_initial_end(x, "40"); /* of a restored backup */
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "a");
    want(MESSAGE_LIST_END, NULL);
    stream_end(x);
    take_request(&server, PODS_WATCH "40&");
}

static void relist_at_the_first_object(struct inbox_message *message)
{
    static const uint64_t kinds = UINT64_C(1) << KIND_POD;
    if (message->kind != MESSAGE_SET)
        return;
    inbox_prepare(inbox, NULL);
    reflectors_relist(all, kinds);
}

/* What arrives of the old stream until its cancellation is done does not end the doubt. */
static void test_relist_while_it_streams(void **state _unused_)
{
    inbox_prepare(inbox, relist_at_the_first_object);
    start_streaming();
    struct manual_request *x = to_stream();
    send_event(x, "ADDED", "a@50");
    send_initial_end(x, "100");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_DOUBT, NULL);
    want(MESSAGE_SET, "a");
    x = to_stream();
    want_silence(20);
    send_initial_end(x, "101");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_LIST_END, NULL);
}

/* Where streams are refused, the objects are listed; the next time they are tried again. */
static void test_refused(void **state _unused_)
{
    static const int refusals[] = { 422, 400, 403, 500 };
    start_streaming();
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        reply(take_request(&server, STREAMED_PODS), refusals[i], "", STR("no"));
        reply_list(take_request(&server, LISTED_PODS), "100", "", "a@1");
        skip_list(1);
        reply(take_request(&server, PODS_WATCH "100&"), 410, "", STR("gone"));
    }
    struct manual_request *x = take_request(&server, STREAMED_PODS);
    int64_t replied_ns = monotonic_ns();
    reply(x, 429, "Retry-After: 1\r\n", STR("later"));
    x = take_request(&server, STREAMED_PODS); /* not a list, which would cost more */
    assert_true(x->at_ns - replied_ns >= 990 * INT64_C(1000000));
}

/* What comes cannot be read, or is an error. */
static void test_garbage(void **state _unused_)
{
    start_streaming();
    stream_put(to_stream(), STR(" hello"));
    reply_list(take_request(&server, LISTED_PODS), "100", "", "a@1");
    skip_list(1);
    reply(take_request(&server, PODS_WATCH "100&"), 410, "", STR("gone"));
    send_error_event(to_stream(), 500);
    reply_list(take_request(&server, LISTED_PODS), "100", "", "a@1");
    skip_list(1);
    reply(take_request(&server, PODS_WATCH "100&"), 410, "", STR("gone"));
    send_error_event(to_stream(), 410);
    to_stream();
}

/* A server that takes the request for a watch without a beginning. */
static void test_never_ends(void **state _unused_)
{
    start(&pods, 1, (struct reflector_options){ .stall_ms = 100 });
    struct manual_request *x = to_stream();
    send_event(x, "ADDED", "a@50");
    reply_list(take_request(&server, LISTED_PODS), "100", "", "b@1");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "a");
    want(MESSAGE_LIST_BEGIN, NULL);
    want(MESSAGE_SET, "b");
    want(MESSAGE_LIST_END, NULL);
    take_request(&server, PODS_WATCH "100&");
}

static void test_not_served(void **state _unused_)
{
    static const struct watched_kind claims = {
        KIND_RESOURCE_CLAIM, "resourceclaims", 100, false, "v1beta2", ""
    };
    start(&claims, 1, (struct reflector_options){ .absent_ms = 300 });
    reply(take_request(&server, "/apis/resource.k8s.io/v1/resourceclaims?watch=true"), 404, "", STR("no"));
    reply(take_request(&server, "/apis/resource.k8s.io/v1beta2/resourceclaims?watch=true"), 404, "",
          STR("no"));
    want(MESSAGE_ABSENT, NULL);
    take_request(&server, "/apis/resource.k8s.io/v1/resourceclaims?watch=true");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        live(test_one_request),    live(test_empty),   live(test_lost_connection),
        live(test_always_cut_off), live(test_relist),  live(test_relist_while_it_streams),
        live(test_refused),        live(test_garbage), live(test_never_ends),
        live(test_not_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
