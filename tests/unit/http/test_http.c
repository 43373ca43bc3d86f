/* test_http.c: the HTTP client with a real server over TLS, HTTP/1.1: responses, trust, limits, and
 * connection failures. */
#include "support/pace.h"
#include "unit/net/harness.h"

static char dir[64];
static struct server server;
static struct http_client *client;
static struct tls_config *tls;

static const char *url_of(const char *path, char url[256])
{
    snprintf(url, 256, "https://127.0.0.1:%d%s", server.port, path);
    return url;
}

/* GETs a path and waits for the response. */
static struct reply fetch(struct http_request request, const char *path)
{
    char url[256];
    struct reply *reply = xcalloc(1, sizeof(*reply));
    request.url = url_of(path, url);
    request.tls = request.tls ? request.tls : tls;
    send_to(client, &request, reply);
    reply_wait(reply);
    struct reply copy = *reply;
    free(reply);
    return copy;
}

/* Waits until the server has received `count` requests for a path. */
static void wait_for_seen(const char *path, int count)
{
    char seen[64];
    snprintf(seen, sizeof(seen), "/seen%s", path);
    for (bool enough = false; !enough;) {
        struct reply reply = fetch((struct http_request){ .urgent = true }, seen);
        assert_int_equal(reply.response.status, 200);
        enough = strtol(reply.text.text, NULL, 10) >= count;
        reply_release(&reply);
    }
}

static int setup(void **state _unused_)
{
    char ca[512], cert[512], key[512];
    dir_make(dir);
    certs_make(dir);
    server_start(&server, "--cert", in_dir(dir, "server.crt", cert), "--key", in_dir(dir, "server.key", key),
                 "--client-ca", in_dir(dir, "ca.crt", ca));
    client = client_of((struct http_options){ .in_flight_max = 8 });
    tls = tls_in_dir(dir, NULL);
    return 0;
}

static int teardown(void **state _unused_)
{
    http_client_free(client);
    tls_config_unref(tls);
    server_stop(&server);
    dir_remove(dir);
    return 0;
}

static void test_get(void **state _unused_)
{
    struct reply reply = fetch((struct http_request){ 0 }, "/hello");
    assert_answer(&reply, 200, "hello");
    assert_string_equal(reply.content_type, "text/plain");
    assert_int_equal(reply.response.retry_after_ms, -1);
    assert_int_equal(reply.starts, 1);
    assert_int_equal(reply.done, 1);
    reply_release(&reply);
}

static void test_bearer_token_and_body(void **state _unused_)
{
    static const struct http_header headers[] = { { "Authorization", "Bearer tok-123" },
                                                  { "Content-Type", "application/json" },
                                                  { "X-Empty", "" } };
    static const char *const methods[] = { "POST", "PUT", "PATCH", "DELETE" };
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        struct http_request request = {
            .method = methods[i], .headers = headers, .header_count = 3, .body = STR("{\"a\": 1}")
        };
        struct reply reply = fetch(request, "/echo?x=%2F..%2Fy");
        assert_int_equal(reply.response.status, 200);
        char method[32];
        snprintf(method, sizeof(method), "\"method\": \"%s\"", methods[i]);
        assert_non_null(strstr(reply.text.text, method));
        assert_non_null(strstr(reply.text.text, "\"authorization\": \"Bearer tok-123\""));
        assert_non_null(strstr(reply.text.text, "\"content-type\": \"application/json\""));
        assert_non_null(strstr(reply.text.text, "\"x-empty\": \"\""));
        assert_non_null(strstr(reply.text.text, "\"body\": \"{\\\"a\\\": 1}\""));
        assert_non_null(strstr(reply.text.text, "\"path\": \"/echo?x=%2F..%2Fy\""));
        assert_null(strstr(reply.text.text, "\"expect\""));
        reply_release(&reply);
    }
}

static void test_delete_without_body(void **state _unused_)
{
    struct reply reply = fetch((struct http_request){ .method = "DELETE" }, "/echo");
    assert_non_null(strstr(reply.text.text, "\"method\": \"DELETE\""));
    assert_null(strstr(reply.text.text, "content-type"));
    reply_release(&reply);
    reply = fetch((struct http_request){ .method = "HEAD" }, "/hello");
    assert_answer(&reply, 200, "");
    reply_release(&reply);
}

static void test_error_statuses(void **state _unused_)
{
    static const int codes[] = { 200, 201, 301, 401, 404, 409, 410, 429, 500, 503 };
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        char path[32], text[32];
        snprintf(path, sizeof(path), "/status/%d", codes[i]);
        snprintf(text, sizeof(text), "status %d", codes[i]);
        struct reply reply = fetch((struct http_request){ 0 }, path);
        assert_answer(&reply, codes[i], text);
        reply_release(&reply);
    }
}

static void test_retry_after(void **state _unused_)
{
    struct reply reply = fetch((struct http_request){ 0 }, "/advice");
    assert_answer(&reply, 429, "later");
    assert_int_equal(reply.response.retry_after_ms, 3000);
    assert_string_equal(reply.warnings, "299 - \"one\"|299 - \"two\"|");
    reply_release(&reply);

    static const struct {
        const char *after;
        int64_t want_ms;
    } cases[] = {
        { "/advice?after=0", 0 },
        { "/advice?after=99999999999999999", 24 * 3600 * 1000 },
        { "/advice?after=soon", -1 },
        { "/advice?after=-1", -1 },
        { "/advice?after=Sun,%2006%20Nov%201994%2008:49:37%20GMT", 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        reply = fetch((struct http_request){ 0 }, cases[i].after);
        assert_int_equal(reply.response.retry_after_ms, cases[i].want_ms);
        reply_release(&reply);
    }
}

static void test_informational_responses(void **state _unused_)
{
    struct reply reply = fetch((struct http_request){ 0 }, "/early");
    assert_answer(&reply, 200, "late");
    assert_int_equal(reply.starts, 1);
    assert_string_equal(reply.warnings, "");
    reply_release(&reply);
}

/* Trust */

static void test_wrong_authority_is_refused(void **state _unused_)
{
    char path[512];
    struct tls_config *other = tls_of((struct tls_options){ .ca_file = in_dir(dir, "other-ca.crt", path) });
    struct reply reply = fetch((struct http_request){ .tls = other }, "/hello");
    assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_TLS);
    reply_release(&reply);
    tls_config_unref(other);

    other = tls_of((struct tls_options){ 0 }); /* the system's CAs do not include the test's */
    reply = fetch((struct http_request){ .tls = other }, "/hello");
    assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_TLS);
    reply_release(&reply);
    tls_config_unref(other);

    other = tls_of((struct tls_options){ .insecure = true });
    reply = fetch((struct http_request){ .tls = other }, "/hello");
    assert_answer(&reply, 200, "hello");
    reply_release(&reply);
    tls_config_unref(other);
}

static void test_client_certificate(void **state _unused_)
{
    /* One client, two identities: connections are not shared between them. */
    for (int round = 0; round < 2; round++) {
        static const char *const identities[][2] = { { "client", "\"peer\": \"alice\"" },
                                                     { "bob", "\"peer\": \"bob\"" } };
        for (size_t i = 0; i < ARRAY_SIZE(identities); i++) {
            struct tls_config *mine = tls_in_dir(dir, identities[i][0]);
            struct reply reply = fetch((struct http_request){ .tls = mine }, "/echo");
            assert_int_equal(reply.response.status, 200);
            assert_non_null(strstr(reply.text.text, identities[i][1]));
            reply_release(&reply);
            tls_config_unref(mine);
        }
        struct reply reply = fetch((struct http_request){ 0 }, "/echo");
        assert_non_null(strstr(reply.text.text, "\"peer\": \"\""));
        reply_release(&reply);
    }
}

static void test_server_name(void **state _unused_)
{
    /* A server whose certificate has only "named.test", reached by its address. */
    struct server named;
    char cert[512], key[512], ca[512], url[256], host[64];
    server_start(&named, "--cert", in_dir(dir, "named.crt", cert), "--key", in_dir(dir, "named.key", key));
    snprintf(url, sizeof(url), "https://127.0.0.1:%d/echo", named.port);
    struct reply reply;
    struct http_request request = { .url = url, .tls = tls };
    send_to(client, &request, &reply);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_TLS);
    reply_release(&reply);

    struct tls_options options = { .ca_file = in_dir(dir, "ca.crt", ca), .server_name = "named.test" };
    request.tls = tls_of(options);
    send_to(client, &request, &reply);
    reply_wait(&reply);
    assert_int_equal(reply.response.status, 200);
    snprintf(host, sizeof(host), "\"host\": \"127.0.0.1:%d\"", named.port);
    assert_non_null(strstr(reply.text.text, host));
    reply_release(&reply);
    tls_config_unref(request.tls);

    options.server_name = "unnamed.test";
    request.tls = tls_of(options);
    send_to(client, &request, &reply);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_TLS);
    reply_release(&reply);
    tls_config_unref(request.tls);
    server_stop(&named);
}

/* Streams */

static void test_stream(void **state _unused_)
{
    static const char lines[] = "line 0\nline 1\nline 2\nline 3\nline 4\n";
    struct reply reply = fetch((struct http_request){ .stream = true }, "/stream/5/30");
    assert_answer(&reply, 200, lines);
    reply_release(&reply);

    /* Chunks are delivered before the stream ends. */
    char url[256];
    struct http_request request = { .url = url_of("/stream/5/30?hang", url), .tls = tls, .stream = true };
    uint64_t id = send_to(client, &request, &reply);
    reply_wait_for_text(&reply, lines);
    assert_int_equal(reply.done, 0);
    http_cancel(client, id);
    reply_wait(&reply);
    reply_release(&reply);
}

static void test_rejected_stream_has_a_body(void **state _unused_)
{
    struct reply reply = fetch((struct http_request){ .stream = true }, "/status/410");
    assert_answer(&reply, 410, "status 410");
    assert_int_equal(reply.chunks, 0);
    reply_release(&reply);
}

static void test_stream_ended_by_reader(void **state _unused_)
{
    char url[256];
    struct reply reply;
    struct http_request request = { .url = url_of("/stream/1000000/5", url), .tls = tls, .stream = true };
    reply_init(&reply);
    request.method = "GET";
    request.callbacks = &reply_callbacks;
    request.user = &reply;
    reply.stop_after = 3;
    assert_int_equal(http_send(client, &request, NULL, NULL), 0);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_LOST, HTTP_FAILURE_CANCELLED);
    assert_int_equal(reply.chunks, 3);
    reply_release(&reply);
}

/* The timeout applies to the beginning, the silence limit to the rest. */
static bool check_silence(int64_t ms)
{
    char path[64];
    snprintf(path, sizeof(path), "/stream/4/%lld?hang", (long long)ms);
    int64_t before = monotonic_ns();
    struct reply reply =
        fetch((struct http_request){ .stream = true, .silence_ms = 3 * ms, .timeout_ms = 2 * ms }, path);
    assert_int_equal(reply.response.failure, HTTP_FAILURE_TIMEOUT);
    bool ok = reply.response.outcome == HTTP_LOST &&
              str_is(strbuf_slice(&reply.text), "line 0\nline 1\nline 2\nline 3\n") &&
              monotonic_ns() - before > 6 * ms * INT64_C(1000000);
    reply_release(&reply);
    return ok;
}

static void test_stream_silence(void **state _unused_)
{
    assert_at_some_pace(check_silence, 100);
}

static void test_stream_reset(void **state _unused_)
{
    struct reply reply = fetch((struct http_request){ .stream = true }, "/stream/2/10?reset");
    assert_failure(&reply, HTTP_LOST, HTTP_FAILURE_BROKEN);
    assert_int_equal(reply.response.status, 200);
    assert_str(strbuf_slice(&reply.text), "line 0\nline 1\n");
    reply_release(&reply);
}

/* Failures */

/* Lost, not unsent, if the request was sent in time. */
static bool check_timeouts(int64_t ms)
{
    bool ok = true;
    char sentence[64];
    snprintf(sentence, sizeof(sentence), "no answer within %lld ms", (long long)ms);
    for (int stream = 0; stream < 2; stream++) {
        struct reply reply = fetch((struct http_request){ .timeout_ms = ms, .stream = stream }, "/stall");
        assert_int_equal(reply.response.failure, HTTP_FAILURE_TIMEOUT);
        ok &= reply.response.outcome == HTTP_LOST && strcmp(reply.response.error.text, sentence) == 0;
        reply_release(&reply);
    }
    return ok;
}

static void test_timeouts(void **state _unused_)
{
    assert_at_some_pace(check_timeouts, 150);
    struct reply reply = fetch((struct http_request){ .timeout_ms = 60000 }, "/slow/200");
    assert_answer(&reply, 200, "at last");
    reply_release(&reply);
}

static void test_bodies_are_bounded(void **state _unused_)
{
    struct reply reply = fetch((struct http_request){ .body_bytes_max = 1000000 }, "/big/1000000");
    assert_int_equal(reply.response.outcome, HTTP_ANSWERED);
    assert_int_equal(reply.text.len, 1000000);
    reply_release(&reply);
    reply = fetch((struct http_request){ .body_bytes_max = 1000000 }, "/big/1000001");
    assert_failure(&reply, HTTP_LOST, HTTP_FAILURE_TOO_LARGE);
    reply_release(&reply);
    reply = fetch((struct http_request){ .body_bytes_max = 1 << 20 }, "/bottomless");
    assert_failure(&reply, HTTP_LOST, HTTP_FAILURE_TOO_LARGE);
    reply_release(&reply);
    reply = fetch((struct http_request){ 0 }, "/big/30000000");
    assert_int_equal(reply.text.len, 30000000);
    reply_release(&reply);
}

/* Handles of writes are reused: their buffers grow with the response. */
static void test_large_answers_to_writes(void **state _unused_)
{
    static const char *const methods[] = { "POST", "PATCH", "GET", "PATCH", "DELETE", "POST" };
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        struct reply reply = fetch((struct http_request){ .method = methods[i] }, "/big/500000");
        assert_int_equal(reply.response.status, 200);
        assert_int_equal(reply.text.len, 500000);
        reply_release(&reply);
    }
}

static void test_reset_in_the_body(void **state _unused_)
{
    struct reply reply = fetch((struct http_request){ 0 }, "/short/5000");
    assert_failure(&reply, HTTP_LOST, HTTP_FAILURE_BROKEN);
    assert_int_equal(reply.response.status, 200);
    reply_release(&reply);
    reply = fetch((struct http_request){ 0 }, "/garbage");
    assert_failure(&reply, HTTP_LOST, HTTP_FAILURE_BROKEN);
    reply_release(&reply);
}

static void test_writes_are_sent_once(void **state _unused_)
{
    /* On a new connection and on a reused one: the server receives a write, closes, and the write is not sent
     * twice. */
    static const char *const methods[] = { "POST", "DELETE" };
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        char path[64], seen[64];
        snprintf(path, sizeof(path), "/hangup/%s", methods[i]);
        snprintf(seen, sizeof(seen), "/seen/hangup/%s", methods[i]);
        struct http_request request = { .method = methods[i] };
        if (i == 0)
            request.body = STR("{}");
        for (int used = 0; used < 2; used++) {
            http_drop_connections(client);
            if (used) {
                struct reply warm = fetch((struct http_request){ 0 }, "/hello");
                assert_answer(&warm, 200, "hello");
                reply_release(&warm);
            }
            struct reply reply = fetch(request, path);
            assert_failure(&reply, HTTP_LOST, HTTP_FAILURE_BROKEN);
            reply_release(&reply);
        }
        struct reply reply = fetch((struct http_request){ 0 }, seen);
        assert_answer(&reply, 200, "2");
        reply_release(&reply);
    }
}

static void test_connection_refused(void **state _unused_)
{
    char url[256];
    static const char *const formats[] = { "https://127.0.0.1:%d/", "https://no-such-host.invalid:%d/" };
    int fd, port = closed_port(&fd);
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
        snprintf(url, sizeof(url), formats[i], port);
        struct reply reply;
        struct http_request request = {
            .url = url, .method = "POST", .body = STR("{}"), .timeout_ms = 50000
        };
        send_to(client, &request, &reply);
        reply_wait(&reply);
        assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_CONNECT);
        reply_release(&reply);
    }
    close(fd);
}

static int listen_somewhere(struct sockaddr_in *address)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(*address);
    *address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    assert_int_equal(bind(listener, (struct sockaddr *)address, len), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)address, &len), 0);
    return listener;
}

/* A listener that never accepts: the handshake does not complete. */
static bool check_connect_timeout(int64_t ms)
{
    struct sockaddr_in address;
    int listener = listen_somewhere(&address);
    struct http_client *hasty = client_of((struct http_options){ .connect_ms = ms });
    char url[256];
    snprintf(url, sizeof(url), "https://127.0.0.1:%d/", ntohs(address.sin_port));
    struct reply reply;
    struct http_request request = { .url = url };
    int64_t before = monotonic_ns();
    send_to(hasty, &request, &reply);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_CONNECT);
    bool ok = monotonic_ns() - before < 5000 * INT64_C(1000000); /* the default limit */
    reply_release(&reply);
    http_client_free(hasty);
    close(listener);
    return ok;
}

static void test_connect_timeout(void **state _unused_)
{
    assert_at_some_pace(check_connect_timeout, 100);
}

/* Cancellation and order */

static void test_cancel(void **state _unused_)
{
    char url[256];
    struct reply reply;
    struct http_request request = { .url = url_of("/stall/cancelled", url), .tls = tls, .timeout_ms = -1 };
    uint64_t id = send_to(client, &request, &reply);
    wait_for_seen("/stall/cancelled", 1);
    http_cancel(client, id);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_LOST, HTTP_FAILURE_CANCELLED);
    http_cancel(client, id); /* no effect the second time */
    reply_release(&reply);

    request.not_before_ns = monotonic_ns() + 3600 * INT64_C(1000000000);
    id = send_to(client, &request, &reply);
    http_cancel(client, id);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_CANCELLED);
    reply_release(&reply);

    request = (struct http_request){ .url = url_of("/stream/3/10?hang", url), .tls = tls, .stream = true };
    id = send_to(client, &request, &reply);
    reply_wait_for(&reply, &reply.chunks, 3);
    http_cancel(client, id);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_LOST, HTTP_FAILURE_CANCELLED);
    assert_int_equal(reply.done, 1);
    reply_release(&reply);
}

/* Libcurl closes a socket itself whose connecting is cancelled. Its number belongs to other files then, which are left
 * alone. */
static void test_cancel_while_connecting(void **state _unused_)
{
    enum { FULL = 16, PAIRS = 8 };
    struct sockaddr_in address;
    int listener = listen_somewhere(&address), waiting[FULL], pairs[PAIRS][2];
    for (int i = 0; i < FULL; i++) { /* as many as the listener keeps, and more: others get no answer */
        waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(waiting[i], (struct sockaddr *)&address, sizeof(address));
    }
    struct http_client *hasty = client_of((struct http_options){ 0 });
    char url[64], byte = 'x';
    struct reply reply;
    snprintf(url, sizeof(url), "https://127.0.0.1:%d/", ntohs(address.sin_port));
    struct http_request request = { .url = url };
    uint64_t id = send_to(hasty, &request, &reply);
    while (!http_client_stats(hasty).connections_opened)
        usleep(1000);
    http_cancel(hasty, id);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_CANCELLED);
    reply_release(&reply);
    for (int i = 0; i < PAIRS; i++)
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[i]), 0);
    http_drop_connections(hasty);
    http_client_free(hasty);
    for (int i = 0; i < PAIRS; i++) {
        assert_int_equal(send(pairs[i][0], &byte, 1, MSG_NOSIGNAL), 1);
        assert_int_equal(recv(pairs[i][1], &byte, 1, 0), 1);
        close(pairs[i][0]);
        close(pairs[i][1]);
    }
    for (int i = 0; i < FULL; i++)
        close(waiting[i]);
    close(listener);
}

static void test_not_before(void **state _unused_)
{
    int64_t at = monotonic_ns() + 200 * INT64_C(1000000);
    struct reply reply = fetch((struct http_request){ .not_before_ns = at }, "/hello");
    assert_answer(&reply, 200, "hello");
    assert_true(monotonic_ns() >= at);
    reply_release(&reply);
}

static void test_limit_in_flight(void **state _unused_)
{
    enum { COUNT = 20 };
    char url[256], quick_url[256];
    struct http_client *narrow = client_of((struct http_options){ .in_flight_max = 2, .pending_max = COUNT });
    struct reply *replies = xcalloc(COUNT + 1, sizeof(*replies));
    struct http_request request = { .url = url_of("/gate/narrow", url), .tls = tls };
    for (int i = 0; i < COUNT; i++)
        send_to(narrow, &request, &replies[i]);
    struct error err;
    assert_int_equal(http_send(narrow, &request, NULL, &err), -EAGAIN);
    /* An urgent request bypasses the limit. */
    struct http_request quick = { .url = url_of("/hello", quick_url), .tls = tls, .urgent = true };
    send_to(narrow, &quick, &replies[COUNT]);
    reply_wait(&replies[COUNT]);
    wait_for_seen("/gate/narrow", 2);
    assert_int_equal(http_client_stats(narrow).in_flight, 2);
    assert_int_equal(http_client_stats(narrow).pending, COUNT);
    struct reply opened = fetch((struct http_request){ 0 }, "/open/narrow");
    assert_answer(&opened, 200, "open");
    reply_release(&opened);
    for (int i = 0; i < COUNT; i++) {
        reply_wait(&replies[i]);
        assert_answer(&replies[i], 200, "at last");
    }
    assert_true(http_client_stats(narrow).connections_opened <= 3); /* the limit, and the urgent request */
    assert_int_equal(http_client_stats(narrow).in_flight, 0);
    assert_int_equal(http_client_stats(narrow).pending, 0);
    for (int i = 0; i <= COUNT; i++)
        reply_release(&replies[i]);
    free(replies);
    http_client_free(narrow);
}

struct turn {
    struct strbuf *order;
    const char *name;
};

static void on_turn(void *user, struct http_response *response)
{
    const struct turn *turn = user;
    assert_int_equal(response->status, 200);
    strbuf_puts(turn->order, turn->name);
}

/* Where one request is under way at a time: those that go ahead, and of each four one of the others. */
static void test_turns(void **state _unused_)
{
    static const struct http_callbacks callbacks = { .on_done = on_turn };
    static const char *const names[] = { "a", "b", "c", "1", "2", "3", "4", "5" };
    char url[256], gate_url[256];
    struct strbuf order = { 0 };
    struct turn turns[ARRAY_SIZE(names)];
    struct reply gate, last;
    struct http_client *narrow = client_of((struct http_options){ .in_flight_max = 1 });
    struct http_request request = { .url = url_of("/gate/turns", gate_url), .tls = tls };
    send_to(narrow, &request, &gate);
    wait_for_seen("/gate/turns", 1);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        turns[i] = (struct turn){ &order, names[i] };
        request = (struct http_request){ .method = "GET",
                                         .url = url_of("/hello", url),
                                         .tls = tls,
                                         .ahead = names[i][0] < 'a',
                                         .callbacks = &callbacks,
                                         .user = &turns[i] };
        struct error err;
        assert_return_code(http_send(narrow, &request, NULL, &err), 0);
    }
    request = (struct http_request){ .url = url, .tls = tls, .urgent = true };
    send_to(narrow, &request, &last); /* when it is answered, all of them wait */
    reply_wait(&last);
    reply_release(&last);
    struct reply opened = fetch((struct http_request){ 0 }, "/open/turns");
    reply_release(&opened);
    reply_wait(&gate);
    reply_release(&gate);
    request = (struct http_request){ .url = url, .tls = tls };
    send_to(narrow, &request, &last);
    reply_wait(&last);
    reply_release(&last);
    http_client_free(narrow);
    assert_string_equal(order.text, "123a45bc");
    strbuf_release(&order);
}

struct sender {
    struct reply replies[50];
};

static void *send_many(void *user)
{
    struct sender *sender = user;
    char url[256];
    struct http_request request = { .url = url_of("/hello", url), .tls = tls };
    for (size_t i = 0; i < ARRAY_SIZE(sender->replies); i++)
        send_to(client, &request, &sender->replies[i]);
    for (size_t i = 0; i < ARRAY_SIZE(sender->replies); i++)
        reply_wait(&sender->replies[i]);
    return NULL;
}

static void test_many_threads(void **state _unused_)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    struct sender *senders = xcalloc(THREADS, sizeof(*senders));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_many, &senders[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        for (size_t j = 0; j < ARRAY_SIZE(senders[i].replies); j++) {
            assert_answer(&senders[i].replies[j], 200, "hello");
            reply_release(&senders[i].replies[j]);
        }
    free(senders);
}

static void test_end_cancels_everything(void **state _unused_)
{
    enum { COUNT = 30 };
    char stall[256], stream[256];
    struct http_client *doomed = client_of((struct http_options){ .in_flight_max = 4 });
    struct reply *replies = xcalloc(COUNT, sizeof(*replies));
    url_of("/stall", stall);
    url_of("/stream/1/1?hang", stream);
    for (int i = 0; i < COUNT; i++) {
        struct http_request request = { .url = i % 3 ? stall : stream, .tls = tls, .stream = i % 3 == 0 };
        if (i % 5 == 4)
            request.not_before_ns = INT64_MAX - 1;
        send_to(doomed, &request, &replies[i]);
    }
    sleep_ms(200);
    http_client_free(doomed);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(replies[i].done, 1);
        assert_int_equal(replies[i].response.failure, HTTP_FAILURE_CANCELLED);
        reply_release(&replies[i]);
    }
    free(replies);
}

static void test_drop_connections(void **state _unused_)
{
    char url[256];
    struct reply reply;
    struct http_request request = { .url = url_of("/stream/1/1?hang", url), .tls = tls, .stream = true };
    send_to(client, &request, &reply);
    reply_wait_for(&reply, &reply.chunks, 1);
    http_drop_connections(client);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_LOST, HTTP_FAILURE_BROKEN);
    reply_release(&reply);
    reply = fetch((struct http_request){ 0 }, "/hello");
    assert_answer(&reply, 200, "hello");
    reply_release(&reply);
}

/* Bytes that the server has not taken yet are not sent after a reset; after a shutdown the kernel sends them. */
static void test_reset_connections(void **state _unused_)
{
    static char body[8 << 20];
    for (int resets = 0; resets < 2; resets++) {
        struct sockaddr_in address;
        int listener = listen_somewhere(&address);
        char url[64], seen[4096];
        struct reply reply;
        snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(address.sin_port));
        struct http_request request = { .method = "POST", .url = url, .body = { body, sizeof(body) } };
        send_to(client, &request, &reply);
        int peer = accept(listener, NULL, NULL);
        assert_true(peer >= 0 && recv(peer, seen, 1, 0) == 1); /* the request is on its way */
        resets ? http_reset_connections(client) : http_drop_connections(client);
        reply_wait(&reply);
        assert_failure(&reply, HTTP_LOST, HTTP_FAILURE_BROKEN);
        reply_release(&reply);
        ssize_t got;
        while ((got = recv(peer, seen, sizeof(seen), 0)) > 0)
            ;
        assert_int_equal(got < 0 && errno == ECONNRESET, resets);
        close(peer);
        close(listener);
    }
}

static void test_bad_requests(void **state _unused_)
{
    static const struct {
        struct http_request request;
        struct http_header header;
    } cases[] = {
        { { .method = NULL, .url = "http://a/" }, { 0 } },
        { { .method = "GET\r\nX: y", .url = "http://a/" }, { 0 } },
        { { .method = "GET", .url = NULL }, { 0 } },
        { { .method = "GET", .url = "" }, { 0 } },
        { { .method = "GET", .url = "file:///etc/passwd" }, { 0 } },
        { { .method = "GET", .url = "https://" }, { 0 } },
        { { .method = "GET", .url = "https://a:99999999/" }, { 0 } },
        { { .method = "GET", .url = "http://a/" }, { "X", "secret\r\nY: z" } },
        { { .method = "GET", .url = "http://a/" }, { "X: Y", "z" } },
        { { .method = "GET", .url = "http://a/" }, { "", "z" } },
        { { .method = "GET", .url = "http://a/" }, { "X", NULL } },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct http_request request = cases[i].request;
        struct error err = { 0 };
        request.headers = &cases[i].header;
        request.header_count = cases[i].header.name ? 1 : 0;
        request.callbacks = &reply_callbacks;
        if (http_send(client, &request, NULL, &err) != -EINVAL || !err.text[0] || strstr(err.text, "secret"))
            fail_msg("case %zu: %s", i, err.text);
    }
    struct http_request request = { .method = "GET", .url = "http://a/" };
    assert_int_equal(http_send(client, &request, NULL, NULL), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_bearer_token_and_body),
        cmocka_unit_test(test_delete_without_body),
        cmocka_unit_test(test_error_statuses),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_informational_responses),
        cmocka_unit_test(test_wrong_authority_is_refused),
        cmocka_unit_test(test_client_certificate),
        cmocka_unit_test(test_server_name),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_rejected_stream_has_a_body),
        cmocka_unit_test(test_stream_ended_by_reader),
        cmocka_unit_test(test_stream_silence),
        cmocka_unit_test(test_stream_reset),
        cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_bodies_are_bounded),
        cmocka_unit_test(test_large_answers_to_writes),
        cmocka_unit_test(test_reset_in_the_body),
        cmocka_unit_test(test_writes_are_sent_once),
        cmocka_unit_test(test_connection_refused),
        cmocka_unit_test(test_connect_timeout),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_while_connecting),
        cmocka_unit_test(test_not_before),
        cmocka_unit_test(test_limit_in_flight),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_end_cancels_everything),
        cmocka_unit_test(test_drop_connections),
        cmocka_unit_test(test_reset_connections),
        cmocka_unit_test(test_bad_requests),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
