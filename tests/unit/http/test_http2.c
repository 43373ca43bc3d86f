/* test_http2.c: the HTTP client over HTTP/2: one connection for all requests, and its failures. nghttpx is an HTTP/2
 * proxy in front of server.py; if it is not installed, the tests are skipped. */
#include "support/pace.h"
#include "unit/net/harness.h"

#include <stdatomic.h>

static char dir[64];
static struct server backend, front;
static bool have_nghttpx;
static struct tls_config *tls;

#define NEEDS_NGHTTPX \
    do { \
        if (!have_nghttpx) \
            skip_because("nghttpx is not installed (tools/install-deps test)"); \
    } while (0)

static const char *url_of(const char *path, char url[256])
{
    snprintf(url, 256, "https://127.0.0.1:%d%s", front.port, path);
    return url;
}

static uint64_t send_request(struct http_client *client, struct http_request request, const char *path,
                             struct reply *reply)
{
    char url[256];
    request.url = url_of(path, url);
    request.tls = tls;
    return send_to(client, &request, reply);
}

/* GETs a path and waits for the response or the error. */
static struct reply fetch(struct http_client *client, const char *path)
{
    struct reply *reply = xcalloc(1, sizeof(*reply));
    send_request(client, (struct http_request){ 0 }, path, reply);
    reply_wait(reply);
    struct reply copy = *reply;
    free(reply);
    return copy;
}

static struct http_client *prober; /* the client whose connections are in doubt */

static void send_probe(void *user _unused_, uint64_t connection)
{
    char url[256];
    http_send_probe(prober, connection,
                    &(struct http_request){ .method = "GET", .url = url_of("/livez", url), .tls = tls });
}

static struct http_client *prober_of(struct http_options options)
{
    options.on_doubt = send_probe;
    prober = client_of(options);
    return prober;
}

static int setup(void **state _unused_)
{
    dir_make(dir);
    certs_make(dir);
    server_start_args(&backend, (const char *const[]){ NULL });
    have_nghttpx = nghttpx_start(&front, dir, backend.port);
    tls = tls_in_dir(dir, NULL);
    return 0;
}

static int teardown(void **state _unused_)
{
    tls_config_unref(tls);
    server_stop(&front);
    server_stop(&backend);
    dir_remove(dir);
    return 0;
}

static void test_one_connection_for_all(void **state _unused_)
{
    NEEDS_NGHTTPX;
    enum { STREAMS = 10, COUNT = 300 };
    static const char lines[] = "line 0\nline 1\nline 2\nline 3\nline 4\n";
    struct http_client *client = client_of((struct http_options){ 0 });
    struct reply *streams = xcalloc(STREAMS, sizeof(*streams)), *replies = xcalloc(COUNT, sizeof(*replies));
    /* All at once, before the protocol is negotiated. */
    for (int i = 0; i < STREAMS; i++)
        send_request(client, (struct http_request){ .stream = true }, "/stream/5/50?hang", &streams[i]);
    for (int i = 0; i < COUNT; i++)
        send_request(
            client,
            (struct http_request){ .method = i % 2 ? "POST" : "GET", .body = i % 2 ? STR("b") : STR("") },
            "/hello", &replies[i]);
    for (int i = 0; i < COUNT; i++) {
        reply_wait(&replies[i]);
        assert_answer(&replies[i], 200, "hello");
        assert_true(replies[i].response.http2);
        reply_release(&replies[i]);
    }
    for (int i = 0; i < STREAMS; i++)
        reply_wait_for_text(&streams[i], lines); /* before the end of the stream */
    assert_int_equal(http_client_stats(client).connections_opened, 1);
    http_client_free(client);
    for (int i = 0; i < STREAMS; i++)
        reply_release(&streams[i]);
    free(streams);
    free(replies);
}

static void test_http1_by_option(void **state _unused_)
{
    NEEDS_NGHTTPX;
    struct http_client *client = client_of((struct http_options){ .http1_only = true });
    struct reply reply;
    send_request(client, (struct http_request){ 0 }, "/hello", &reply);
    reply_wait(&reply);
    assert_answer(&reply, 200, "hello");
    assert_false(reply.response.http2);
    reply_release(&reply);
    http_client_free(client);
}

static void test_big_bodies(void **state _unused_)
{
    NEEDS_NGHTTPX;
    enum { COUNT = 4, UPLOAD = 900 * 1000 };
    struct http_client *client = client_of((struct http_options){ 0 });
    struct reply stream, replies[COUNT];
    /* An idle connection may be replaced at any time; one with a stream may not. */
    send_request(client, (struct http_request){ .stream = true }, "/stream/1/1?hang", &stream);
    reply_wait_for(&stream, &stream.chunks, 1);
    for (int i = 0; i < COUNT; i++)
        send_request(client, (struct http_request){ .timeout_ms = -1 }, "/big/20000000", &replies[i]);
    for (int i = 0; i < COUNT; i++) {
        reply_wait(&replies[i]);
        if (replies[i].response.outcome != HTTP_ANSWERED)
            fail_msg("%s", replies[i].response.error.text);
        assert_int_equal(replies[i].text.len, 20000000);
        reply_release(&replies[i]);
    }
    char *upload = xmalloc(UPLOAD);
    memset(upload, 'u', UPLOAD);
    for (int i = 0; i < COUNT; i++)
        send_request(client,
                     (struct http_request){ .method = "POST", .body = { upload, UPLOAD }, .timeout_ms = -1 },
                     "/echo", &replies[i]);
    free(upload); /* the client has copied it */
    for (int i = 0; i < COUNT; i++) {
        reply_wait(&replies[i]);
        assert_int_equal(replies[i].response.status, 200);
        assert_true(replies[i].text.len > UPLOAD);
        reply_release(&replies[i]);
    }
    send_request(client, (struct http_request){ .body_bytes_max = 100000, .timeout_ms = -1 }, "/bottomless",
                 &replies[0]);
    reply_wait(&replies[0]);
    assert_failure(&replies[0], HTTP_LOST, HTTP_FAILURE_TOO_LARGE);
    reply_release(&replies[0]);
    assert_int_equal(http_client_stats(client).connections_opened, 1);
    assert_int_equal(stream.done, 0);
    http_client_free(client);
    reply_release(&stream);
}

static void test_cancel_leaves_the_others(void **state _unused_)
{
    NEEDS_NGHTTPX;
    enum { ROUNDS = 200 };
    struct http_client *client = client_of((struct http_options){ 0 });
    struct reply stream, reply;
    send_request(client, (struct http_request){ .stream = true }, "/stream/1/1?hang", &stream);
    reply_wait_for(&stream, &stream.chunks, 1);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t id =
            send_request(client, (struct http_request){ .stream = true }, "/stream/1000000/1", &reply);
        reply_wait_for(&reply, &reply.chunks, 1);
        http_cancel(client, id);
        reply_wait(&reply);
        assert_failure(&reply, HTTP_LOST, HTTP_FAILURE_CANCELLED);
        reply_release(&reply);
    }
    send_request(client, (struct http_request){ 0 }, "/hello", &reply);
    reply_wait(&reply);
    assert_answer(&reply, 200, "hello");
    reply_release(&reply);
    assert_int_equal(stream.done, 0);
    assert_int_equal(http_client_stats(client).connections_opened, 1);
    http_client_free(client);
    assert_int_equal(stream.done, 1);
    reply_release(&stream);
}

static void test_silent_stream_stays_open(void **state _unused_)
{
    NEEDS_NGHTTPX;
    struct http_client *client = prober_of((struct http_options){ .idle_ms = 150, .probe_ms = 30000 });
    struct reply stream;
    send_request(client, (struct http_request){ .stream = true }, "/stream/1/1?hang", &stream);
    reply_wait_for(&stream, &stream.chunks, 1);
    struct http_stats stats;
    do {
        sleep_ms(10);
        stats = http_client_stats(client);
    } while (stats.probes_sent < 4 && !stream.done);
    assert_int_equal(stream.done, 0);
    assert_int_equal(stats.connections_given_up, 0);
    assert_int_equal(stats.connections_opened, 1);
    http_client_free(client);
    reply_release(&stream);
}

/* The server freezes with five open streams and a write in flight, whose outcome is unknown. False: the machine is slow
 * and the connection was closed before, or the next one was. */
static bool check_frozen(int64_t ms)
{
    struct http_client *client = prober_of((struct http_options){ .idle_ms = ms, .probe_ms = ms });
    struct reply streams[5], reply;
    for (int i = 0; i < 5; i++)
        send_request(client, (struct http_request){ .stream = true }, "/stream/1/1?hang", &streams[i]);
    bool ok = true;
    for (int i = 0; i < 5; i++)
        ok &= reply_wait_for_start(&streams[i]);
    ok &= http_client_stats(client).connections_given_up == 0;
    if (!ok) {
        http_client_free(client);
        for (int i = 0; i < 5; i++)
            reply_release(&streams[i]);
        return false;
    }
    assert_int_equal(kill(front.pid, SIGSTOP), 0);
    int64_t before = monotonic_ns();
    send_request(client, (struct http_request){ .method = "POST", .body = STR("{}") }, "/echo", &reply);
    for (int i = 0; i < 5; i++) {
        reply_wait(&streams[i]);
        assert_failure(&streams[i], HTTP_LOST, HTTP_FAILURE_BROKEN);
        reply_release(&streams[i]);
    }
    reply_wait(&reply);
    ok &= monotonic_ns() - before < 10 * ms * INT64_C(1000000);
    ok &= reply.response.outcome == HTTP_LOST && reply.response.failure == HTTP_FAILURE_BROKEN;
    ok &= http_client_stats(client).connections_given_up == 1;
    reply_release(&reply);
    assert_int_equal(kill(front.pid, SIGCONT), 0);
    reply = fetch(client, "/hello");
    ok &= reply.response.status == 200 && str_is(strbuf_slice(&reply.text), "hello");
    reply_release(&reply);
    http_client_free(client);
    return ok;
}

static void test_frozen_server_is_noticed(void **state _unused_)
{
    NEEDS_NGHTTPX;
    assert_at_some_pace(check_frozen, 300);
}

/* The connection is used, idle, and breaks; the next request on it does not hang. */
static bool check_frozen_while_idle(int64_t ms)
{
    struct http_client *client = prober_of((struct http_options){ .idle_ms = ms, .probe_ms = ms });
    struct reply reply = fetch(client, "/hello");
    bool ok = reply.response.status == 200;
    reply_release(&reply);
    uint64_t probes = http_client_stats(client).probes_sent;
    sleep_ms(3 * ms);
    assert_int_equal(http_client_stats(client).probes_sent, probes); /* no request is pending */
    assert_int_equal(kill(front.pid, SIGSTOP), 0);
    send_request(client, (struct http_request){ .method = "POST", .body = STR("{}") }, "/echo", &reply);
    reply_wait(&reply);
    assert_int_equal(kill(front.pid, SIGCONT), 0);
    ok &= reply.response.outcome == HTTP_LOST && reply.response.failure == HTTP_FAILURE_BROKEN &&
          http_client_stats(client).connections_given_up == 1;
    reply_release(&reply);
    http_client_free(client);
    return ok;
}

static void test_frozen_while_idle(void **state _unused_)
{
    NEEDS_NGHTTPX;
    assert_at_some_pace(check_frozen_while_idle, 200);
}

static void test_killed_server(void **state _unused_)
{
    NEEDS_NGHTTPX;
    enum { COUNT = 20 };
    struct http_client *client = client_of((struct http_options){ 0 });
    struct reply *replies = xcalloc(COUNT, sizeof(*replies));
    for (int i = 0; i < COUNT; i++)
        send_request(client, (struct http_request){ .method = "POST", .body = STR("{}"), .timeout_ms = -1 },
                     "/stall/killed", &replies[i]);
    for (int seen = 0; seen < COUNT;) {
        struct reply reply = fetch(client, "/seen/stall/killed");
        assert_int_equal(reply.response.status, 200);
        seen = (int)strtol(reply.text.text, NULL, 10);
        reply_release(&reply);
    }
    server_stop(&front);
    for (int i = 0; i < COUNT; i++) {
        reply_wait(&replies[i]);
        assert_failure(&replies[i], HTTP_LOST, HTTP_FAILURE_BROKEN);
        reply_release(&replies[i]);
    }
    /* With the server down a request is unsent; with the server back it is answered. */
    struct reply reply;
    send_request(client, (struct http_request){ 0 }, "/hello", &reply);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_CONNECT);
    reply_release(&reply);
    assert_true(nghttpx_start(&front, dir, backend.port));
    send_request(client, (struct http_request){ 0 }, "/hello", &reply);
    reply_wait(&reply);
    assert_answer(&reply, 200, "hello");
    reply_release(&reply);
    http_client_free(client);
    free(replies);
}

/* Many requests and streams, while connections are dropped and requests cancelled at random: each completes exactly
 * once, and requests work at the end. */

struct soak {
    atomic_int sent, done, answered, cancelled, broken, other;
};

static void soak_done(void *user, struct http_response *response)
{
    struct soak *soak = user;
    atomic_fetch_add(&soak->done, 1);
    /* A connection may be dropped in its handshake. */
    bool broken = response->failure == HTTP_FAILURE_BROKEN || response->outcome == HTTP_UNSENT;
    atomic_fetch_add(response->outcome == HTTP_ANSWERED            ? &soak->answered
                     : response->failure == HTTP_FAILURE_CANCELLED ? &soak->cancelled
                     : broken                                      ? &soak->broken
                                                                   : &soak->other,
                     1);
}

static int soak_chunk(void *user _unused_, uint64_t id _unused_, struct str chunk)
{
    return chunk.len == 0;
}

static const struct http_callbacks soak_callbacks = { NULL, soak_chunk, soak_done };

static void test_soak(void **state _unused_)
{
    NEEDS_NGHTTPX;
    enum { SECONDS = 3, LEAST = 400, AT_ONCE = 60 };
    static const char *const paths[] = { "/hello",     "/echo",        "/slow/20",
                                         "/big/50000", "/stream/50/1", "/stream/1/1?hang" };
    struct http_client *client =
        prober_of((struct http_options){ .idle_ms = 200, .probe_ms = 20000, .timeout_ms = 60000 });
    struct soak soak = { 0 };
    struct rng rng = test_rng();
    uint64_t ids[16] = { 0 };
    bool hangs[ARRAY_SIZE(ids)] = { 0 };
    int64_t until = monotonic_ns() + SECONDS * INT64_C(1000000000);
    while (monotonic_ns() < until || atomic_load(&soak.sent) < LEAST) {
        char url[256];
        size_t kind = rng_below(&rng, ARRAY_SIZE(paths));
        struct http_request request = { .method = kind == 1 ? "POST" : "GET",
                                        .url = url_of(paths[kind], url),
                                        .tls = tls,
                                        .body = kind == 1 ? STR("{}") : STR(""),
                                        .stream = kind >= 4,
                                        .callbacks = &soak_callbacks,
                                        .user = &soak };
        size_t place = rng_below(&rng, ARRAY_SIZE(ids));
        if (hangs[place] || rng_below(&rng, 10) == 0)
            http_cancel(client, ids[place]);
        hangs[place] = kind == 5;
        assert_int_equal(http_send(client, &request, &ids[place], NULL), 0);
        atomic_fetch_add(&soak.sent, 1);
        if (rng_below(&rng, 300) == 0)
            http_drop_connections(client);
        while (atomic_load(&soak.sent) - atomic_load(&soak.done) > AT_ONCE)
            sleep_ms(1);
    }
    struct reply reply;
    send_request(client, (struct http_request){ .method = "POST", .body = STR("x") }, "/hello", &reply);
    reply_wait(&reply);
    assert_answer(&reply, 200, "hello");
    reply_release(&reply);
    http_client_free(client);
    print_message("%d requests: %d answered, %d cancelled, %d broken\n", soak.sent, soak.answered,
                  soak.cancelled, soak.broken);
    assert_int_equal(soak.done, soak.sent);
    assert_int_equal(soak.other, 0);
    assert_true(soak.answered > soak.sent / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_connection_for_all),
        cmocka_unit_test(test_http1_by_option),
        cmocka_unit_test(test_big_bodies),
        cmocka_unit_test(test_cancel_leaves_the_others),
        cmocka_unit_test(test_silent_stream_stays_open),
        cmocka_unit_test(test_frozen_server_is_noticed),
        cmocka_unit_test(test_frozen_while_idle),
        cmocka_unit_test(test_killed_server),
        cmocka_unit_test(test_soak),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
