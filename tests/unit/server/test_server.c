/* The HTTP server with correct, slow, silent, greedy, broken and hostile clients. */
#include "unit/server/server_host.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Sends one request on its own connection. */
static struct reply_text send_request(struct host *host, const char *request, const char *method)
{
    struct raw raw = raw_connect(server_port(host->server));
    raw_send(&raw, request);
    struct reply_text reply = raw_reply(&raw, method);
    raw_close(&raw);
    return reply;
}

static void assert_works(struct host *host)
{
    struct reply_text reply = send_request(host, "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n", "GET");
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body.text, "GET path=/ok query= body= x=");
    reply_text_release(&reply);
}

static const struct request_case {
    const char *name, *request;
    int status;
    const char *body;
} request_cases[] = {
    { "plain", "GET /a HTTP/1.1\r\nHost: x\r\nX-Test:  b \r\n\r\n", 200, "GET path=/a query= body= x=b" },
    { "query and escapes", "GET /a%20%2Fb?c=%20 HTTP/1.1\r\nHost: x\r\n\r\n", 200,
      "GET path=/a /b query=c=%20 body= x=" },
    { "absolute", "GET https://h:1/a?b HTTP/1.1\r\nHost: x\r\n\r\n", 200, "GET path=/a query=b body= x=" },
    { "absolute without path", "GET http://h HTTP/1.1\r\nHost: x\r\n\r\n", 200,
      "GET path=/ query= body= x=" },
    { "star", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 200, "OPTIONS path=* query= body= x=" },
    { "bare line ends", "\r\n\nGET /a HTTP/1.1\nHost: x\n\n", 200, "GET path=/a query= body= x=" },
    { "length", "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 200,
      "PUT path=/a query= body=abc x=" },
    { "chunks",
      "PUT /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: u\r\n\r\n",
      200, "PUT path=/a query= body=abc0123456789 x=" },
    { "HTTP/1.0", "GET /a HTTP/1.0\r\n\r\n", 200, "GET path=/a query= body= x=" },
    { "any method", "FOO /a HTTP/1.1\r\nHost: x\r\n\r\n", 200, "FOO path=/a query= body= x=" },
    { "garbage", "\x16\x03\x01garbage\r\n\r\n", 400, "400 Bad Request" },
    { "no target", "GET HTTP/1.1\r\nHost: x\r\n\r\n", 400, "400 Bad Request" },
    { "no host", "GET / HTTP/1.1\r\n\r\n", 400, "400 Bad Request" },
    { "two hosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400, "400 Bad Request" },
    { "relative path", "GET a HTTP/1.1\r\nHost: x\r\n\r\n", 400, "400 Bad Request" },
    { "bad escape", "GET /%g0 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "400 Bad Request" },
    { "cut escape", "GET /%2 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "400 Bad Request" },
    { "zero byte", "GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "400 Bad Request" },
    { "HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "505 HTTP Version Not Supported" },
    { "HTTP/9", "GET / HTTP/9.9\r\nHost: x\r\n\r\n", 505, "505 HTTP Version Not Supported" },
    { "connect", "CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "400 Bad Request" },
    { "folded header", "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", 400, "400 Bad Request" },
    { "space before colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400, "400 Bad Request" },
    { "no colon", "GET / HTTP/1.1\r\nHost: x\r\nabc\r\n\r\n", 400, "400 Bad Request" },
    { "bare CR in a value", "GET / HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n", 400, "400 Bad Request" },
    { "length and chunks",
      "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
      "400 Bad Request" },
    { "chunks twice",
      "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
      "chunked\r\n\r\n0\r\n\r\n",
      400, "400 Bad Request" },
    { "chunks in 1.0", "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
      "400 Bad Request" },
    { "other coding", "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501,
      "501 Not Implemented" },
    { "two lengths", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400,
      "400 Bad Request" },
    { "signed length", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc", 400, "400 Bad Request" },
    { "negative length", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\nabc", 400,
      "400 Bad Request" },
    { "length list", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc", 400, "400 Bad Request" },
    { "huge length", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\n", 413,
      "413 Request Entity Too Large" },
    { "overflowing length", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
      400, "400 Bad Request" },
    { "huge chunk", "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n", 413,
      "413 Request Entity Too Large" },
    { "overflowing chunk",
      "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n", 413,
      "413 Request Entity Too Large" },
    { "chunk without size", "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", 400,
      "400 Bad Request" },
    { "chunk longer than its size",
      "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", 400,
      "400 Bad Request" },
    { "bare line end of a chunk's size",
      "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n", 400,
      "400 Bad Request" },
    { "bare line end of a chunk",
      "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\n0\r\n\r\n", 400,
      "400 Bad Request" },
    { "bare line end in an extension of a chunk",
      "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2;\nxx\r\n0\r\n\r\n", 400,
      "400 Bad Request" },
    { "bare line end before a body", "PUT / HTTP/1.1\r\nHost: x\nContent-Length: 1\r\n\r\na", 400,
      "400 Bad Request" },
    { "bare line end before chunks", "PUT / HTTP/1.1\r\nHost: x\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400, "400 Bad Request" },
};

static void test_requests(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    for (size_t i = 0; i < ARRAY_SIZE(request_cases); i++) {
        struct reply_text reply = send_request(&host, request_cases[i].request, "GET");
        if (reply.status != request_cases[i].status || strcmp(reply.body.text, request_cases[i].body) != 0)
            fail_msg("%s: %d \"%s\"", request_cases[i].name, reply.status, reply.body.text);
        assert_non_null(strstr(reply.head.text, "\r\nDate: "));
        assert_null(strstr(reply.head.text, "Set-Cookie"));
        reply_text_release(&reply);
    }
    host_stop(&host);
}

/* After a head with a bare line end, nothing that follows on the connection is taken for a request. */
static void test_bare_line_end_is_the_last_request(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    struct raw raw = raw_connect(server_port(host.server));
    static const char both[] = "GET /a HTTP/1.1\r\nHost: x\nA: b\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_true(raw_send_bytes(&raw, both, sizeof(both) - 1));
    struct reply_text reply = raw_reply(&raw, "GET");
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.head.text, "\r\nConnection: close"));
    reply_text_release(&reply);
    raw_close(&raw);
    assert_int_equal(server_stats(host.server).requests, 1);
    host_stop(&host);
}

/* A request split at every byte, in two packets, has the same response. */
static void test_split_request(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    const char *request = request_cases[7].request;
    size_t len = strlen(request);
    struct raw raw = raw_connect(server_port(host.server));
    for (size_t cut = 1; cut < len; cut++) {
        assert_true(raw_send_bytes(&raw, request, cut));
        sleep_ms(1);
        assert_true(raw_send_bytes(&raw, request + cut, len - cut));
        struct reply_text reply = raw_reply(&raw, "PUT");
        assert_int_equal(reply.status, 200);
        assert_string_equal(reply.body.text, request_cases[7].body);
        reply_text_release(&reply);
    }
    raw_close(&raw);
    host_stop(&host);
}

static void test_keep_alive_and_pipelining(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    struct raw raw = raw_connect(server_port(host.server));
    enum { COUNT = 500 };
    struct strbuf all = { 0 };
    for (int i = 0; i < COUNT; i++)
        strbuf_printf(&all, "%s /%d HTTP/1.1\r\nHost: x\r\n\r\n", i % 3 ? "GET" : "HEAD", i);
    strbuf_puts(
        &all,
        "GET /later HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /never HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(raw_send_bytes(&raw, all.text, all.len));
    for (int i = 0; i < COUNT; i++) {
        char want[64];
        snprintf(want, sizeof(want), "GET path=/%d query= body= x=", i);
        struct reply_text reply = raw_reply(&raw, i % 3 ? "GET" : "HEAD");
        assert_int_equal(reply.status, 200);
        if (i % 3)
            assert_string_equal(reply.body.text, want);
        else
            assert_true(raw_content_length(reply.head.text) > 0);
        assert_null(strstr(reply.head.text, "Connection:"));
        reply_text_release(&reply);
    }
    struct reply_text reply = raw_reply(&raw, "GET");
    assert_string_equal(reply.body.text, "later");
    assert_non_null(strstr(reply.head.text, "Connection: close"));
    reply_text_release(&reply);
    reply = raw_reply(&raw, "GET");
    assert_int_equal(reply.status, 0);
    raw_close(&raw);
    strbuf_release(&all);
    assert_int_equal(server_stats(host.server).requests, COUNT + 1);
    host_stop(&host);
}

static void test_http10_keep_alive(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    struct raw raw = raw_connect(server_port(host.server));
    for (int i = 0; i < 3; i++) {
        raw_send(&raw, i < 2 ? "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n" : "GET / HTTP/1.0\r\n\r\n");
        struct reply_text reply = raw_reply(&raw, "GET");
        assert_int_equal(reply.status, 200);
        assert_non_null(strstr(reply.head.text, i < 2 ? "Connection: keep-alive" : "Connection: close"));
        reply_text_release(&reply);
    }
    assert_true(raw_ends(&raw));
    raw_close(&raw);
    host_stop(&host);
}

static void test_expect_continue(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    struct raw raw = raw_connect(server_port(host.server));
    raw_send(&raw, "PUT /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    struct reply_text reply = raw_reply(&raw, "PUT");
    assert_int_equal(reply.status, 100);
    reply_text_release(&reply);
    raw_send(&raw, "ab");
    reply = raw_reply(&raw, "PUT");
    assert_string_equal(reply.body.text, "PUT path=/a query= body=ab x=");
    reply_text_release(&reply);
    raw_close(&raw);
    host_stop(&host);
}

static void test_sizes(void **state _unused_)
{
    struct host host;
    host_start(&host,
               (struct server_options){ .limits = { .header_bytes_max = 1000, .body_bytes_max = 1000 } });
    struct strbuf text = { 0 };
    strbuf_puts(&text, "GET / HTTP/1.1\r\nHost: x\r\nX: ");
    for (int i = 0; i < 2000; i++)
        strbuf_putc(&text, 'a');
    struct reply_text reply = send_request(&host, text.text, "GET");
    assert_int_equal(reply.status, 431);
    reply_text_release(&reply);

    strbuf_clear(&text);
    strbuf_puts(&text, "GET / HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < 200; i++)
        strbuf_puts(&text, "A:\r\n");
    strbuf_puts(&text, "\r\n");
    reply = send_request(&host, text.text, "GET");
    assert_int_equal(reply.status, 431);
    reply_text_release(&reply);

    strbuf_clear(&text);
    strbuf_puts(&text, "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 1001; i++)
        strbuf_puts(&text, "1\r\na\r\n");
    reply = send_request(&host, text.text, "GET");
    assert_int_equal(reply.status, 413);
    reply_text_release(&reply);

    strbuf_clear(&text);
    strbuf_puts(&text, "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;");
    for (int i = 0; i < 100000; i++)
        strbuf_putc(&text, 'e');
    reply = send_request(&host, text.text, "GET");
    assert_true(reply.status == 400 || reply.status == 413);
    reply_text_release(&reply);
    strbuf_release(&text);
    assert_works(&host);
    host_stop(&host);
}

/* Like send_request(), with a retry: on a busy machine the test itself may exceed a time limit. */
static struct reply_text send_request_in_time(struct host *host, int64_t limit_ms, const char *request)
{
    for (;;) {
        int64_t begin = now_ms();
        struct reply_text reply = send_request(host, request, "GET");
        if (reply.status || now_ms() - begin < limit_ms)
            return reply;
        reply_text_release(&reply);
    }
}

/* Slow clients: each ends after its own limit, and none of them delays the others. */
static void test_slow_clients(void **state _unused_)
{
    enum { LIMIT_MS = 300 };
    struct host host;
    host_start(&host, (struct server_options){ .limits = { .header_ms = LIMIT_MS,
                                                           .body_ms = LIMIT_MS,
                                                           .idle_ms = LIMIT_MS,
                                                           .answer_ms = LIMIT_MS } });
    int port = server_port(host.server);
    static const char *const starts[] = {
        "",                                                                /* silent */
        "GET / HTTP/1.1\r\nHo",                                            /* half a head */
        "\r\n",                                                            /* only empty lines */
        "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",       /* half a body */
        "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", /* no chunk */
    };
    struct raw raws[ARRAY_SIZE(starts)];
    for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
        raws[i] = raw_connect(port);
        raw_send(&raws[i], starts[i]);
    }
    int64_t begin = now_ms();
    bool ended[ARRAY_SIZE(starts)] = { 0 };
    size_t left = ARRAY_SIZE(starts);
    while (left && now_ms() - begin < PATIENCE_MS) {
        struct reply_text reply =
            send_request_in_time(&host, LIMIT_MS, "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_int_equal(reply.status, 200);
        reply_text_release(&reply);
        for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
            if (ended[i])
                continue;
            /* More bytes do not extend the limit: header and body each have a total limit. */
            bool gone = !raw_send(&raws[i], i == 2 ? "\n" : i == 4 ? "0" : i == 1 ? "s" : "");
            ended[i] = gone || raw_ends_within(&raws[i], 20);
            left -= ended[i];
        }
    }
    assert_int_equal(left, 0);
    for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
        raw_close(&raws[i]);

    for (bool answered = false; !answered;) {
        begin = now_ms();
        struct raw idle = raw_connect(port);
        raw_send(&idle, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        struct reply_text reply = raw_reply(&idle, "GET");
        answered = reply.status == 200;
        assert_true(answered || now_ms() - begin >= LIMIT_MS);
        reply_text_release(&reply);
        assert_true(raw_ends(&idle));
        raw_close(&idle);
    }

    struct reply_text reply = send_request_in_time(&host, LIMIT_MS, "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(reply.status, 504);
    reply_text_release(&reply);
    /* A late response is dropped. */
    respond(&host, host.kept.items[0], 200, STR("late"));
    respond(&host, 0, 200, STR("dropped"));
    respond(&host, UINT64_MAX, 200, STR("dropped"));
    reply = send_request_in_time(&host, LIMIT_MS, "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(reply.status, 200);
    reply_text_release(&reply);
    host_stop(&host);
}

/* A client that sends requests and never reads. */
static void test_unread_responses(void **state _unused_)
{
    struct host host;
    host_start(&host,
               (struct server_options){ .limits = { .write_ms = 500, .response_bytes_max = 20000000 } });
    enum { COUNT = 40 };
    struct raw raws[COUNT];
    for (int i = 0; i < COUNT; i++) {
        raws[i] = raw_connect(server_port(host.server));
        int small = 4096;
        setsockopt(raws[i].fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
        for (int j = 0; j < 20; j++)
            raw_send(&raws[i], "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    for (int i = 0; i < 50; i++) {
        assert_works(&host);
        assert_true(server_stats(host.server).response_bytes <= 22000000);
    }
    wait_for_connections(&host, 0);
    assert_int_equal(server_stats(host.server).response_bytes, 0);
    for (int i = 0; i < COUNT; i++)
        raw_close(&raws[i]);
    assert_works(&host);
    host_stop(&host);

    /* A client that reads. */
    host_start(&host, (struct server_options){ .limits = { .response_bytes_max = 20000000 } });
    struct raw reader = raw_connect(server_port(host.server));
    raw_send(&reader, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    struct reply_text reply = raw_reply(&reader, "GET");
    assert_int_equal(reply.body.len, 1000000);
    reply_text_release(&reply);
    raw_close(&reader);
    host_stop(&host);
}

/* Half open: the client has shut down its writing side, and still reads. */
static void test_half_open(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    struct raw raw = raw_connect(server_port(host.server));
    raw_send(&raw, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    shutdown(raw.fd, SHUT_WR);
    struct reply_text reply = raw_reply(&raw, "GET");
    assert_string_equal(reply.body.text, "later");
    reply_text_release(&reply);
    assert_true(raw_ends(&raw));
    raw_close(&raw);

    /* The client is gone before the response: the response is dropped and the connection freed. */
    for (int i = 0; i < 20; i++) {
        raw = raw_connect(server_port(host.server));
        raw_send(&raw,
                 i % 2 ? "GET /later HTTP/1.1\r\nHost: x\r\n\r\n" : "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
        if (i % 2 == 0)
            wait_for_kept(&host, (size_t)i / 2 + 1);
        struct linger reset = { .l_onoff = 1 };
        setsockopt(raw.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        raw_close(&raw);
    }
    wait_for_connections(&host, 0);
    for (size_t i = 0; i < host.kept.len; i++)
        respond(&host, host.kept.items[i], 200, STR("dropped"));
    sleep_ms(50);
    assert_works(&host);
    host_stop(&host);
}

/* All connections are in use: the longest idle ones are closed, those with a request stay. */
static void check_full(const char *sent)
{
    struct host host;
    host_start(&host, (struct server_options){ .limits = { .connections_max = 10 } });
    int port = server_port(host.server);
    struct raw busy = raw_connect(port);
    raw_send(&busy, "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_for_kept(&host, 1);
    struct raw clients[100];
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        clients[i] = raw_connect(port);
        raw_send(&clients[i], sent);
        if (i % 10 == 0)
            sleep_ms(5);
    }
    assert_works(&host);
    assert_true(server_stats(host.server).connections <= 10);
    assert_true(server_stats(host.server).evicted >= 90);
    respond(&host, host.kept.items[0], 200, STR("still here"));
    struct reply_text reply = raw_reply(&busy, "GET");
    assert_string_equal(reply.body.text, "still here");
    reply_text_release(&reply);
    raw_close(&busy);
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
        raw_close(&clients[i]);
    host_stop(&host);
}

static void test_full(void **state _unused_)
{
    check_full("");
    check_full("GET /a HTTP/1.1\r\nHos");
    check_full("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n12345");
    check_full("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
}

static void raise_descriptors(rlim_t count)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = MIN(limit.rlim_max, count);
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void test_thousand(void **state _unused_)
{
    raise_descriptors(4096);
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    enum { COUNT = 1000 };
    static struct raw raws[COUNT];
    for (int i = 0; i < COUNT; i++)
        raws[i] = raw_connect(server_port(host.server));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++)
            raw_send(&raws[i], "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
        for (int i = 0; i < COUNT; i++) {
            struct reply_text reply = raw_reply(&raws[i], "GET");
            assert_int_equal(reply.status, 200);
            reply_text_release(&reply);
        }
    }
    assert_int_equal(server_stats(host.server).connections, COUNT);
    for (int i = 0; i < COUNT; i++)
        raw_close(&raws[i]);
    wait_for_connections(&host, 0);
    assert_int_equal(server_stats(host.server).evicted, 0);
    host_stop(&host);
}

static void test_out_of_descriptors(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    struct rlimit before, low;
    getrlimit(RLIMIT_NOFILE, &before);
    struct raw raws[8];
    for (size_t i = 0; i < ARRAY_SIZE(raws); i++)
        raws[i] = raw_connect(server_port(host.server));
    wait_for_connections(&host, ARRAY_SIZE(raws));
    struct raw next = { .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    low = before;
    low.rlim_cur = (rlim_t)next.fd + 1;
    setrlimit(RLIMIT_NOFILE, &low);
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(server_port(host.server)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    assert_int_equal(connect(next.fd, (struct sockaddr *)&address, sizeof(address)), 0);
    raw_send(&next, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    struct reply_text reply = raw_reply(&next, "GET");
    assert_int_equal(reply.status, 200);
    reply_text_release(&reply);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_true(server_stats(host.server).evicted >= 1);
    raw_close(&next);
    for (size_t i = 0; i < ARRAY_SIZE(raws); i++)
        raw_close(&raws[i]);
    assert_works(&host);
    host_stop(&host);
}

/* Random bytes, and requests with a few bytes changed. */
/* A child process inherits all sockets until exec: connections that the server closes stay open there. */
static void test_child(void **state _unused_)
{
    enum { CLIENTS = 20 };
    struct raw clients[CLIENTS];
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i] = raw_connect(server_port(host.server));
    wait_for_connections(&host, CLIENTS);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        shutdown(clients[i].fd, SHUT_RDWR);
    wait_for_connections(&host, 0);
    for (int i = 0; i < CLIENTS; i++)
        assert_works(&host);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    for (size_t i = 0; i < CLIENTS; i++)
        raw_close(&clients[i]);
    host_stop(&host);
}

static void test_random_bytes(void **state _unused_)
{
    struct rng rng = test_rng();
    struct host host;
    host_start(&host, (struct server_options){ .limits = { .header_ms = 2000, .body_ms = 2000 } });
    for (int round = 0; round < 400; round++) {
        struct raw raw = raw_connect(server_port(host.server));
        char text[1024];
        size_t len;
        if (round % 2) {
            const char *from = request_cases[rng_next(&rng) % ARRAY_SIZE(request_cases)].request;
            len = strlen(from);
            memcpy(text, from, len);
            for (int i = 0; i < 4; i++)
                text[rng_next(&rng) % len] = (char)rng_next(&rng);
        } else {
            len = rng_next(&rng) % sizeof(text);
            for (size_t i = 0; i < len; i++)
                text[i] = (char)rng_next(&rng);
        }
        raw_send_bytes(&raw, text, len);
        shutdown(raw.fd, SHUT_WR);
        raw_read_all(&raw);
        raw_close(&raw);
    }
    assert_works(&host);
    host_stop(&host);
}

static void test_drain(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    int port = server_port(host.server);
    struct raw idle = raw_connect(port), busy = raw_connect(port);
    wait_for_connections(&host, 2);
    raw_send(&busy, "GET /end HTTP/1.1\r\nHost: x\r\n\r\n");
    while (server_stats(host.server).requests < 1)
        sleep_ms(1);
    int64_t begin = now_ms();
    server_drain(host.server, 2 * PATIENCE_MS);
    assert_true(now_ms() - begin < PATIENCE_MS); /* when the last response is sent, not at the time limit */
    struct reply_text reply = raw_reply(&busy, "GET");
    assert_string_equal(reply.body.text, "later");
    assert_non_null(strstr(reply.head.text, "Connection: close"));
    reply_text_release(&reply);
    assert_true(raw_ends(&idle));
    struct raw late = { .fd = socket(AF_INET, SOCK_STREAM, 0) };
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    assert_true(connect(late.fd, (struct sockaddr *)&address, sizeof(address)) < 0);
    raw_close(&late);
    raw_close(&idle);
    raw_close(&busy);
    host_stop(&host);
}

static atomic_int calls;

static void count_call(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

static void test_calls(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    for (int i = 0; i < 1000; i++)
        loop_run(server_loop(host.server), count_call, &calls);
    host_stop(&host);
    assert_int_equal(atomic_load(&calls), 1000);
}

static void test_no_port(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    struct server *other = NULL;
    struct error err;
    struct server_options taken = { .address = "127.0.0.1", .port = server_port(host.server) };
    assert_int_equal(server_new(&taken, &other, &err), -EADDRINUSE);
    assert_non_null(strstr(err.text, "failed to listen"));
    assert_int_equal(server_new(&(struct server_options){ .address = "nowhere" }, &other, &err), -EINVAL);
    host_stop(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_bare_line_end_is_the_last_request),
        cmocka_unit_test(test_split_request),
        cmocka_unit_test(test_keep_alive_and_pipelining),
        cmocka_unit_test(test_http10_keep_alive),
        cmocka_unit_test(test_expect_continue),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_slow_clients),
        cmocka_unit_test(test_unread_responses),
        cmocka_unit_test(test_half_open),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_thousand),
        cmocka_unit_test(test_out_of_descriptors),
        cmocka_unit_test(test_child),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_no_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
