/* test_server.c: the HTTP server against clients of every kind: polite, slow, silent, greedy, broken and hostile. */
#include "unit/net/raw_client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/vec.h"
#include "net/server.h"
#include "unit/net/certs.h"

static char dir[64];

/* The host of the tests: it tells what it understood, and keeps what it is asked to keep. */
struct host {
    struct server *server;
    struct strbuf big;
    pthread_mutex_t lock;
    VEC(uint64_t) kept;
    atomic_int problems, reloads;
};

static void respond(struct host *host, uint64_t id, int status, struct str body)
{
    const struct server_header headers[] = { { STR("Content-Type"), STR("text/plain") },
                                             { STR("X-Evil"), STR("a\r\nSet-Cookie: b") } };
    server_respond(host->server, id, &(struct server_response){ .status = status, .headers = headers,
                                                                .header_count = 2, .body = body });
}

struct later {
    struct host *host;
    uint64_t id;
};

static void *respond_later(void *user)
{
    struct later *later = user;
    sleep_ms(20);
    respond(later->host, later->id, 200, STR("later"));
    free(later);
    return NULL;
}

static void describe_peer(const struct server_request *request, struct strbuf *out)
{
    if (!request->peer)
        return;
    struct arena arena = { 0 };
    struct peer_subject subject;
    struct error err;
    assert_int_equal(peer_subject(request->peer, &arena, &subject, &err), 0);
    strbuf_printf(out, " peer=" STR_FMT, STR_ARG(subject.common_name));
    arena_release(&arena);
}

static void echo(struct host *host, const struct server_request *request)
{
    struct strbuf out = { 0 };
    strbuf_printf(&out, "%.*s path=%.*s query=%.*s body=%.*s x=%.*s", STR_ARG(request->method),
                  STR_ARG(request->path), STR_ARG(request->query), STR_ARG(request->body),
                  STR_ARG(server_header_value(request, "x-test")));
    describe_peer(request, &out);
    respond(host, request->id, 200, strbuf_slice(&out));
    strbuf_release(&out);
}

static void on_request(void *user, const struct server_request *request)
{
    struct host *host = user;
    if (str_is(request->path, "/later")) {
        struct later *later = xcalloc(1, sizeof(*later));
        *later = (struct later){ host, request->id };
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, respond_later, later), 0);
        pthread_detach(thread);
    } else if (str_is(request->path, "/keep")) {
        pthread_mutex_lock(&host->lock);
        *vec_push(&host->kept) = request->id;
        pthread_mutex_unlock(&host->lock);
    } else if (str_is(request->path, "/big")) {
        respond(host, request->id, 200, strbuf_slice(&host->big));
    } else {
        echo(host, request);
    }
}

static void on_problem(void *user, const char *sentence _unused_)
{
    atomic_fetch_add(&((struct host *)user)->problems, 1);
}

static void on_reload(void *user)
{
    atomic_fetch_add(&((struct host *)user)->reloads, 1);
}

static void host_start(struct host *host, struct server_options options)
{
    *host = (struct host){ 0 };
    pthread_mutex_init(&host->lock, NULL);
    for (int i = 0; i < 100000; i++)
        strbuf_puts(&host->big, "0123456789");
    options.address = "127.0.0.1";
    options.on_request = on_request;
    options.on_problem = on_problem;
    options.on_reload = on_reload;
    options.user = host;
    struct error err;
    if (server_new(&options, &host->server, &err) < 0 || server_start(host->server, &err) < 0)
        fail_msg("%s", err.text);
}

static void host_stop(struct host *host)
{
    server_free(host->server);
    strbuf_release(&host->big);
    vec_release(&host->kept);
    pthread_mutex_destroy(&host->lock);
}

static size_t host_kept(struct host *host)
{
    pthread_mutex_lock(&host->lock);
    size_t count = host->kept.len;
    pthread_mutex_unlock(&host->lock);
    return count;
}

static void wait_for_kept(struct host *host, size_t count)
{
    for (int i = 0; i < 1000 && host_kept(host) < count; i++)
        sleep_ms(10);
    assert_int_equal(host_kept(host), count);
}

static void wait_for_connections(struct host *host, uint32_t count)
{
    for (int i = 0; i < 1000 && server_stats(host->server).connections != count; i++)
        sleep_ms(10);
    assert_int_equal(server_stats(host->server).connections, count);
}

/* One request on a connection of its own. */
static struct reply_text ask(struct host *host, const char *request, const char *method)
{
    struct raw raw = raw_connect(server_port(host->server));
    raw_send(&raw, request);
    struct reply_text reply = raw_reply(&raw, method);
    raw_close(&raw);
    return reply;
}

static void assert_works(struct host *host)
{
    struct reply_text reply = ask(host, "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n", "GET");
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body.text, "GET path=/ok query= body= x=");
    reply_text_release(&reply);
}

static const struct exchange {
    const char *name, *request;
    int status;
    const char *body;
} exchanges[] = {
    { "plain", "GET /a HTTP/1.1\r\nHost: x\r\nX-Test:  b \r\n\r\n", 200, "GET path=/a query= body= x=b" },
    { "query and escapes", "GET /a%20%2Fb?c=%20 HTTP/1.1\r\nHost: x\r\n\r\n", 200, "GET path=/a /b query=c=%20 body= x=" },
    { "absolute", "GET https://h:1/a?b HTTP/1.1\r\nHost: x\r\n\r\n", 200, "GET path=/a query=b body= x=" },
    { "absolute without path", "GET http://h HTTP/1.1\r\nHost: x\r\n\r\n", 200, "GET path=/ query= body= x=" },
    { "star", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 200, "OPTIONS path=* query= body= x=" },
    { "bare line ends", "\r\n\nGET /a HTTP/1.1\nHost: x\n\n", 200, "GET path=/a query= body= x=" },
    { "length", "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 200, "PUT path=/a query= body=abc x=" },
    { "chunks", "PUT /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: u\r\n\r\n",
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
    { "length and chunks", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400, "400 Bad Request" },
    { "chunks twice", "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400, "400 Bad Request" },
    { "chunks in 1.0", "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "400 Bad Request" },
    { "other coding", "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501, "501 Not Implemented" },
    { "two lengths", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400, "400 Bad Request" },
    { "signed length", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc", 400, "400 Bad Request" },
    { "negative length", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\nabc", 400, "400 Bad Request" },
    { "length list", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc", 400, "400 Bad Request" },
    { "huge length", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\n", 413, "413 Request Entity Too Large" },
    { "overflowing length", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400, "400 Bad Request" },
    { "huge chunk", "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n", 413, "413 Request Entity Too Large" },
    { "overflowing chunk", "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n",
      413, "413 Request Entity Too Large" },
    { "chunk without size", "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", 400, "400 Bad Request" },
    { "chunk longer than it says", "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
      400, "400 Bad Request" },
};

static void test_exchanges(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    for (size_t i = 0; i < ARRAY_SIZE(exchanges); i++) {
        struct reply_text reply = ask(&host, exchanges[i].request, "GET");
        if (reply.status != exchanges[i].status || strcmp(reply.body.text, exchanges[i].body) != 0)
            fail_msg("%s: %d \"%s\"", exchanges[i].name, reply.status, reply.body.text);
        assert_non_null(strstr(reply.head.text, "\r\nDate: "));
        assert_null(strstr(reply.head.text, "Set-Cookie"));
        reply_text_release(&reply);
    }
    host_stop(&host);
}

/* Every request cut at every place, in two packets: the same answers. */
static void test_cuts(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ 0 });
    const char *request = exchanges[7].request;
    size_t len = strlen(request);
    struct raw raw = raw_connect(server_port(host.server));
    for (size_t cut = 1; cut < len; cut++) {
        assert_true(raw_send_bytes(&raw, request, cut));
        sleep_ms(1);
        assert_true(raw_send_bytes(&raw, request + cut, len - cut));
        struct reply_text reply = raw_reply(&raw, "PUT");
        assert_int_equal(reply.status, 200);
        assert_string_equal(reply.body.text, exchanges[7].body);
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
    strbuf_puts(&all, "GET /later HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /never HTTP/1.1\r\nHost: x\r\n\r\n");
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
    assert_true(raw_ends_within(&raw, 5000));
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
    host_start(&host, (struct server_options){ .limits = { .header_bytes_max = 1000, .body_bytes_max = 1000 } });
    struct strbuf text = { 0 };
    strbuf_puts(&text, "GET / HTTP/1.1\r\nHost: x\r\nX: ");
    for (int i = 0; i < 2000; i++)
        strbuf_putc(&text, 'a');
    struct reply_text reply = ask(&host, text.text, "GET");
    assert_int_equal(reply.status, 431);
    reply_text_release(&reply);

    strbuf_clear(&text);
    strbuf_puts(&text, "GET / HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < 200; i++)
        strbuf_puts(&text, "A:\r\n");
    strbuf_puts(&text, "\r\n");
    reply = ask(&host, text.text, "GET");
    assert_int_equal(reply.status, 431);
    reply_text_release(&reply);

    strbuf_clear(&text);
    strbuf_puts(&text, "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 1001; i++)
        strbuf_puts(&text, "1\r\na\r\n");
    reply = ask(&host, text.text, "GET");
    assert_int_equal(reply.status, 413);
    reply_text_release(&reply);

    strbuf_clear(&text);
    strbuf_puts(&text, "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;");
    for (int i = 0; i < 100000; i++)
        strbuf_putc(&text, 'e');
    reply = ask(&host, text.text, "GET");
    assert_true(reply.status == 400 || reply.status == 413);
    reply_text_release(&reply);
    strbuf_release(&text);
    assert_works(&host);
    host_stop(&host);
}

/* Clients that take their time: each ends after its own limit, and none of them delays the others. */
static void test_slow_clients(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){
                          .limits = { .header_ms = 300, .body_ms = 300, .idle_ms = 300, .answer_ms = 300 } });
    int port = server_port(host.server);
    static const char *const starts[] = {
        "",                                                               /* silent */
        "GET / HTTP/1.1\r\nHo",                                           /* half a head */
        "\r\n",                                                           /* nothing but line ends */
        "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",      /* half a body */
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
    while (left && now_ms() - begin < 10000) {
        assert_works(&host);
        for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
            if (ended[i])
                continue;
            /* One more byte keeps nobody alive: header and body have a time for the whole. */
            bool gone = !raw_send(&raws[i], i == 2 ? "\n" : i == 4 ? "0" : i == 1 ? "s" : "");
            ended[i] = gone || raw_ends_within(&raws[i], 20);
            left -= ended[i];
        }
    }
    assert_int_equal(left, 0);
    assert_true(now_ms() - begin < 5000);
    for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
        raw_close(&raws[i]);

    struct raw idle = raw_connect(port);
    raw_send(&idle, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    struct reply_text reply = raw_reply(&idle, "GET");
    assert_int_equal(reply.status, 200);
    reply_text_release(&reply);
    assert_true(raw_ends_within(&idle, 5000));
    raw_close(&idle);

    reply = ask(&host, "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n", "GET");
    assert_int_equal(reply.status, 504);
    reply_text_release(&reply);
    /* Too late: nothing happens. */
    respond(&host, host.kept.items[0], 200, STR("late"));
    respond(&host, 0, 200, STR("nobody"));
    respond(&host, UINT64_MAX, 200, STR("nobody"));
    assert_works(&host);
    host_stop(&host);
}

/* A client that asks and never reads. */
static void test_unread_answers(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ .limits = { .write_ms = 500, .response_bytes_max = 20000000 } });
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

    struct raw reader = raw_connect(server_port(host.server));
    raw_send(&reader, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    struct reply_text reply = raw_reply(&reader, "GET");
    assert_int_equal(reply.body.len, 1000000);
    reply_text_release(&reply);
    raw_close(&reader);
    host_stop(&host);
}

/* Half open: the client has said all it wants to say, and still listens. */
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
    assert_true(raw_ends_within(&raw, 5000));
    raw_close(&raw);

    /* Gone before its answer: the answer goes nowhere, and the place is free. */
    for (int i = 0; i < 20; i++) {
        raw = raw_connect(server_port(host.server));
        raw_send(&raw, i % 2 ? "GET /later HTTP/1.1\r\nHost: x\r\n\r\n" : "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
        if (i % 2 == 0)
            wait_for_kept(&host, (size_t)i / 2 + 1);
        struct linger reset = { .l_onoff = 1 };
        setsockopt(raw.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        raw_close(&raw);
    }
    wait_for_connections(&host, 0);
    for (size_t i = 0; i < host.kept.len; i++)
        respond(&host, host.kept.items[i], 200, STR("nobody"));
    sleep_ms(50);
    assert_works(&host);
    host_stop(&host);
}

/* All places are taken: the idlest go, those with a request stay. */
static void test_full(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ .limits = { .connections_max = 10 } });
    int port = server_port(host.server);
    struct raw busy = raw_connect(port);
    raw_send(&busy, "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_for_kept(&host, 1);
    struct raw crowd[100];
    for (size_t i = 0; i < ARRAY_SIZE(crowd); i++) {
        crowd[i] = raw_connect(port);
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
    for (size_t i = 0; i < ARRAY_SIZE(crowd); i++)
        raw_close(&crowd[i]);
    host_stop(&host);
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

/* Bytes without any meaning, and requests with a few bytes changed. */
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
            const char *from = exchanges[rng_next(&rng) % ARRAY_SIZE(exchanges)].request;
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
    raw_send(&busy, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_for_connections(&host, 2);
    for (int i = 0; i < 1000 && server_stats(host.server).requests < 1; i++)
        sleep_ms(1);
    int64_t begin = now_ms();
    server_drain(host.server, 5000);
    assert_true(now_ms() - begin < 4000);
    struct reply_text reply = raw_reply(&busy, "GET");
    assert_string_equal(reply.body.text, "later");
    assert_non_null(strstr(reply.head.text, "Connection: close"));
    reply_text_release(&reply);
    assert_true(raw_ends_within(&idle, 1000));
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
        server_call(host.server, count_call, &calls);
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

/* TLS from here on. */
static struct server_tls_options tls_files(const char *name, char cert[512], char key[512])
{
    snprintf(cert, 512, "%s/%s.crt", dir, name);
    snprintf(key, 512, "%s/%s.key", dir, name);
    return (struct server_tls_options){ .cert_file = cert, .key_file = key, .request_client_certificate = true };
}

static struct reply_text ask_tls(struct host *host, const struct raw_tls *how)
{
    struct raw raw = raw_connect(server_port(host->server));
    struct reply_text reply = { 0 };
    if (raw_tls(&raw, how)) {
        raw_send(&raw, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
        reply = raw_reply(&raw, "GET");
    }
    raw_close(&raw);
    return reply;
}

static void test_tls(void **state _unused_)
{
    struct host host;
    char cert[512], key[512], client_cert[512], client_key[512];
    struct server_tls_options tls = tls_files("server", cert, key);
    host_start(&host, (struct server_options){ .tls = &tls });
    in_folder(dir, "client.crt", client_cert);
    in_folder(dir, "client.key", client_key);
    static const char plain[] = "GET path=/a query= body= x=";
    const struct {
        struct raw_tls how;
        const char *want; /* NULL: no handshake */
    } cases[] = {
        { { 0 }, plain },
        { { .cert = client_cert, .key = client_key }, "GET path=/a query= body= x= peer=alice" },
        { { .max_version = TLS1_2_VERSION }, plain },
        { { .max_version = TLS1_2_VERSION, .cert = client_cert, .key = client_key },
          "GET path=/a query= body= x= peer=alice" },
        { { .max_version = TLS1_1_VERSION }, NULL },
        { { .max_version = TLS1_2_VERSION, .ciphers = "AES128-GCM-SHA256" }, NULL },
        { { .alpn = "\x02h2\x08http/1.1" }, plain },
        { { .alpn = "\x02h2" }, NULL },
        { { .server_name = "named.test" }, plain },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct reply_text reply = ask_tls(&host, &cases[i].how);
        if (cases[i].want ? reply.status != 200 || strcmp(reply.body.text, cases[i].want) != 0 : reply.status != 0)
            fail_msg("case %zu: %d %s", i, reply.status, reply.body.text);
        reply_text_release(&reply);
    }
    host_stop(&host);
}

static void test_tls_hostile(void **state _unused_)
{
    struct host host;
    char cert[512], key[512];
    struct server_tls_options tls = tls_files("server", cert, key);
    host_start(&host, (struct server_options){ .tls = &tls, .limits = { .handshake_ms = 300 } });
    int port = server_port(host.server);
    /* Plain HTTP, to a port that speaks TLS. */
    struct raw raw = raw_connect(port);
    raw_send(&raw, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_read_all(&raw);
    assert_non_null(strstr(raw.unread.text, "Client sent an HTTP request to an HTTPS server."));
    raw_close(&raw);
    /* Garbage in place of a handshake, and a handshake that is never finished. */
    struct rng rng = test_rng();
    for (int i = 0; i < 100; i++) {
        raw = raw_connect(port);
        char text[300] = "\x16\x03\x01\x01\x20\x01\x00\x01\x1c\x03\x03";
        for (size_t j = i % 2 ? 11 : 0; j < sizeof(text); j++)
            text[j] = (char)rng_next(&rng);
        raw_send_bytes(&raw, text, sizeof(text));
        assert_true(raw_ends_within(&raw, 5000));
        raw_close(&raw);
    }
    raw = raw_connect(port);
    raw_send_bytes(&raw, "\x16\x03\x01", 3);
    assert_true(raw_ends_within(&raw, 5000));
    raw_close(&raw);
    assert_true(server_stats(host.server).handshakes_failed > 50);
    struct reply_text reply = ask_tls(&host, NULL);
    assert_int_equal(reply.status, 200);
    reply_text_release(&reply);
    host_stop(&host);
}

static void test_tls_pipelining(void **state _unused_)
{
    struct host host;
    char cert[512], key[512];
    struct server_tls_options tls = tls_files("server", cert, key);
    host_start(&host, (struct server_options){ .tls = &tls });
    struct raw raw = raw_connect(server_port(host.server));
    assert_true(raw_tls(&raw, NULL));
    struct strbuf all = { 0 };
    enum { COUNT = 200 };
    for (int i = 0; i < COUNT; i++)
        strbuf_puts(&all, i % 50 ? "GET /a HTTP/1.1\r\nHost: x\r\n\r\n" : "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(raw_send_bytes(&raw, all.text, all.len));
    for (int i = 0; i < COUNT; i++) {
        struct reply_text reply = raw_reply(&raw, "GET");
        assert_int_equal(reply.status, 200);
        reply_text_release(&reply);
    }
    raw_send(&raw, "GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    struct reply_text reply = raw_reply(&raw, "GET");
    assert_int_equal(reply.body.len, 1000000);
    reply_text_release(&reply);
    strbuf_release(&all);
    raw_close(&raw);
    host_stop(&host);
}

/* The common name of the certificate that the server shows. */
static void shown_name(struct host *host, const char *server_name, char name[128])
{
    struct raw raw = raw_connect(server_port(host->server));
    assert_true(raw_tls(&raw, &(struct raw_tls){ .server_name = server_name }));
    X509 *cert = SSL_get1_peer_certificate(raw.ssl);
    assert_non_null(cert);
    X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name, 128);
    X509_free(cert);
    raw_close(&raw);
}

static void copy_file(const char *from, const char *to)
{
    char text[8192];
    FILE *in = fopen(from, "r");
    assert_non_null(in);
    size_t len = fread(text, 1, sizeof(text), in);
    fclose(in);
    FILE *out = fopen(to, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, len, out), len);
    fclose(out);
}

static void test_certificate_reload(void **state _unused_)
{
    char from_cert[512], from_key[512], cert[512], key[512], name[128];
    in_folder(dir, "live.crt", cert);
    in_folder(dir, "live.key", key);
    copy_file(in_folder(dir, "server.crt", from_cert), cert);
    copy_file(in_folder(dir, "server.key", from_key), key);
    struct host host;
    struct server_tls_options tls = { .cert_file = cert, .key_file = key };
    host_start(&host, (struct server_options){ .tls = &tls, .reload_ms = 20 });
    shown_name(&host, NULL, name);
    assert_string_equal(name, "server");
    struct raw before = raw_connect(server_port(host.server));
    assert_true(raw_tls(&before, NULL));

    /* A new certificate with the old key: a problem, once, and nothing changes. */
    copy_file(in_folder(dir, "named.crt", from_cert), cert);
    sleep_ms(200);
    shown_name(&host, NULL, name);
    assert_string_equal(name, "server");
    assert_int_equal(atomic_load(&host.problems), 1);
    assert_int_equal(atomic_load(&host.reloads), 0);

    copy_file(in_folder(dir, "named.key", from_key), key);
    for (int i = 0; i < 500 && !atomic_load(&host.reloads); i++)
        sleep_ms(10);
    shown_name(&host, NULL, name);
    assert_string_equal(name, "named");
    /* A connection of before goes on. */
    raw_send(&before, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    struct reply_text reply = raw_reply(&before, "GET");
    assert_int_equal(reply.status, 200);
    reply_text_release(&reply);
    raw_close(&before);
    host_stop(&host);
}

static void test_sni(void **state _unused_)
{
    char cert[512], key[512], named_cert[512], named_key[512], bob_cert[512], bob_key[512], name[128];
    struct server_tls_options tls = tls_files("server", cert, key);
    static const char *const patterns[] = { "*.example.com", "exact.org" };
    const struct server_sni snis[] = {
        { in_folder(dir, "named.crt", named_cert), in_folder(dir, "named.key", named_key), NULL, 0 },
        { in_folder(dir, "bob.crt", bob_cert), in_folder(dir, "bob.key", bob_key), patterns, 2 },
    };
    tls.snis = snis;
    tls.sni_count = 2;
    struct host host;
    host_start(&host, (struct server_options){ .tls = &tls });
    static const struct {
        const char *asked, *shown;
    } cases[] = {
        { NULL, "server" },          { "elsewhere.net", "server" }, { "named.test", "named" },
        { "NAMED.test", "named" },   { "a.example.com", "bob" },    { "a.b.example.com", "server" },
        { "example.com", "server" }, { "exact.org", "bob" },        { "x.exact.org", "server" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        shown_name(&host, cases[i].asked, name);
        assert_string_equal(name, cases[i].shown);
    }
    host_stop(&host);
}

static void test_self_signed(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ .tls = &(struct server_tls_options){ 0 } });
    char name[128], first[128], cert_dir[512], path[512];
    shown_name(&host, NULL, name);
    assert_memory_equal(name, "localhost@", 10);
    host_stop(&host);

    /* With a folder: written once, found again. */
    in_folder(dir, "made", cert_dir);
    struct server_tls_options tls = { .cert_dir = cert_dir, .pair_name = "kube-scheduler", .bind_address = "127.0.0.1" };
    for (int i = 0; i < 2; i++) {
        host_start(&host, (struct server_options){ .tls = &tls });
        shown_name(&host, NULL, i ? name : first);
        host_stop(&host);
        sleep_ms(1100);
    }
    assert_string_equal(name, first);
    struct stat st;
    snprintf(path, sizeof(path), "%s/made/kube-scheduler.key", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    /* One of the two alone is a mistake that nobody should paper over. */
    unlink(path);
    struct server *server;
    struct error err;
    assert_int_equal(server_new(&(struct server_options){ .tls = &tls }, &server, &err), -EINVAL);
    assert_non_null(strstr(err.text, "certificate and key must be supplied as a pair"));
    folder_remove(cert_dir);
}

static void test_tls_settings(void **state _unused_)
{
    char cert[512], key[512];
    static const char *const unknown[] = { "TLS_NO_SUCH" };
    static const char *const gcm[] = { "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384" };
    static const char *const only13[] = { "TLS_AES_128_GCM_SHA256" };
    static const int32_t p384[] = { 24 }, strange[] = { 9999 }, twice[] = { 23, 23 }, range[] = { 0 };
    static const struct {
        const char *min_version, *const *suites;
        const int32_t *curves;
        size_t curve_count;
        const char *problem;       /* NULL: it starts */
        int max_version, answered; /* by a client up to that version; 0: without a limit */
        const char *client_ciphers;
    } cases[] = {
        { .min_version = "VersionTLS99", .problem = "unknown tls version \"VersionTLS99\"" },
        { .suites = unknown, .problem = "Cipher suite TLS_NO_SUCH not supported or doesn't exist" },
        { .curves = strange, .curve_count = 1, .problem = "curve preference 9999 is not supported" },
        { .curves = twice, .curve_count = 2, .problem = "duplicate curve preference 23" },
        { .curves = range, .curve_count = 1, .problem = "curve preference 0 is out of range (must be 1-65535)" },
        { .min_version = "VersionTLS13", .max_version = TLS1_2_VERSION, .answered = 0 },
        { .min_version = "VersionTLS13", .answered = 200 },
        { .min_version = "VersionTLS12", .max_version = TLS1_2_VERSION, .answered = 200 },
        { .min_version = "VersionTLS10", .max_version = TLS1_VERSION, .answered = 200 },
        { .suites = gcm, .max_version = TLS1_2_VERSION, .answered = 200 },
        { .suites = gcm, .max_version = TLS1_2_VERSION, .client_ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256", .answered = 0 },
        { .suites = only13, .max_version = TLS1_2_VERSION, .answered = 0 },
        { .suites = only13, .answered = 200 },
        { .curves = p384, .curve_count = 1, .answered = 200 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct server_tls_options tls = tls_files("server", cert, key);
        tls.min_version = cases[i].min_version;
        tls.cipher_suites = cases[i].suites;
        tls.cipher_suite_count = cases[i].suites ? 1 : 0;
        tls.curves = cases[i].curves;
        tls.curve_count = cases[i].curve_count;
        if (cases[i].problem) {
            struct server_tls *made;
            struct error err;
            assert_int_equal(server_tls_new(&tls, &made, &err), -EINVAL);
            assert_string_equal(err.text, cases[i].problem);
            continue;
        }
        struct host host;
        host_start(&host, (struct server_options){ .tls = &tls });
        struct raw_tls how = { .max_version = cases[i].max_version, .ciphers = cases[i].client_ciphers };
        struct reply_text reply = ask_tls(&host, &how);
        if (reply.status != cases[i].answered)
            fail_msg("case %zu: %d", i, reply.status);
        reply_text_release(&reply);
        host_stop(&host);
    }
    assert_true(server_tls_insecure_suite("TLS_RSA_WITH_AES_128_CBC_SHA"));
    assert_false(server_tls_insecure_suite("TLS_AES_128_GCM_SHA256"));
}

struct verdict {
    struct ca_pool *pool;
    struct error err;
    int r;
    struct server *server;
};

static void verify_request(void *user, const struct server_request *request)
{
    struct verdict *verdict = user;
    verdict->r = request->peer ? peer_verify(request->peer, verdict->pool, &verdict->err) : 1;
    server_respond(verdict->server, request->id, &(struct server_response){ .status = 200 });
}

static void test_verify(void **state _unused_)
{
    static const struct {
        const char *ca, *who;
        bool believed;
    } cases[] = { { "ca", "client", true }, { "other-ca", "client", false }, { "ca", "bob", true } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char path[512], text[8192], cert[512], key[512], server_cert[512], server_key[512];
        snprintf(path, sizeof(path), "%s/%s.crt", dir, cases[i].ca);
        FILE *file = fopen(path, "r");
        size_t len = fread(text, 1, sizeof(text), file);
        fclose(file);
        struct verdict verdict = { .r = 1 };
        struct error err;
        assert_int_equal(ca_pool_new((struct str){ text, (uint32_t)len }, &verdict.pool, &err), 0);
        struct server_tls_options tls = tls_files("server", server_cert, server_key);
        struct server_options options = {
            .address = "127.0.0.1", .tls = &tls, .on_request = verify_request, .user = &verdict
        };
        assert_int_equal(server_new(&options, &verdict.server, &err), 0);
        assert_int_equal(server_start(verdict.server, &err), 0);
        struct raw raw = raw_connect(server_port(verdict.server));
        snprintf(cert, sizeof(cert), "%s/%s.crt", dir, cases[i].who);
        snprintf(key, sizeof(key), "%s/%s.key", dir, cases[i].who);
        assert_true(raw_tls(&raw, &(struct raw_tls){ .cert = cert, .key = key }));
        raw_send(&raw, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        struct reply_text reply = raw_reply(&raw, "GET");
        assert_int_equal(reply.status, 200);
        reply_text_release(&reply);
        raw_close(&raw);
        server_free(verdict.server);
        assert_int_equal(verdict.r, cases[i].believed ? 0 : -EACCES);
        if (!cases[i].believed)
            assert_memory_equal(verdict.err.text, "verifying certificate SN=", 25);
        ca_pool_free(verdict.pool);
    }
    struct ca_pool *pool;
    struct error err;
    assert_int_equal(ca_pool_new(STR("nothing"), &pool, &err), -EINVAL);
}

static int setup(void **state _unused_)
{
    signal(SIGPIPE, SIG_IGN); /* libssl's writes of the clients of the tests */
    folder_make(dir);
    certs_make(dir);
    return 0;
}

static int teardown(void **state _unused_)
{
    folder_remove(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_keep_alive_and_pipelining),
        cmocka_unit_test(test_http10_keep_alive),
        cmocka_unit_test(test_expect_continue),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_slow_clients),
        cmocka_unit_test(test_unread_answers),
        cmocka_unit_test(test_half_open),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_thousand),
        cmocka_unit_test(test_out_of_descriptors),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_no_port),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_tls_hostile),
        cmocka_unit_test(test_tls_pipelining),
        cmocka_unit_test(test_certificate_reload),
        cmocka_unit_test(test_sni),
        cmocka_unit_test(test_self_signed),
        cmocka_unit_test(test_tls_settings),
        cmocka_unit_test(test_verify),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
