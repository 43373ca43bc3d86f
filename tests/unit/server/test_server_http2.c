/* The server's HTTP/2: requests of every kind on one connection, concurrent streams, and slow, greedy, silent, broken
 * and hostile clients. */
#include "unit/server/server_host.h"

#include "support/pace.h"
#include "unit/server/http2_client.h"

static void start(struct host *host, struct server_limits limits)
{
    host_start(host, (struct server_options){ .tls = &(struct server_tls_options){ 0 }, .limits = limits });
}

static void assert_works(struct host *host)
{
    struct h2 h2;
    h2_open(&h2, server_port(host->server), NULL);
    struct h2_reply *reply = h2_request(&h2, "GET", "/ok");
    h2_wait(&h2, reply);
    assert_int_equal(reply->status, 200);
    assert_string_equal(reply->body.text, "GET path=/ok query= body= x=");
    h2_close(&h2);
}

#define GET ":method", "GET", ":scheme", "https", ":authority", "x"
#define PUT ":method", "PUT", ":scheme", "https", ":authority", "x", ":path", "/a"
#define LONG_20 "01234567890123456789"
#define LONG_200 LONG_20 LONG_20 LONG_20 LONG_20 LONG_20 LONG_20 LONG_20 LONG_20 LONG_20 LONG_20
#define LONG_1000 LONG_200 LONG_200 LONG_200 LONG_200 LONG_200
#define WRONG "request header \"Connection\" is not valid in HTTP/2\n"
#define X6_LONG "a", LONG_1000, "b", LONG_1000, "c", LONG_1000, "d", LONG_1000, "e", LONG_1000, "f", LONG_1000
#define X4 "x", "", "x", "", "x", "", "x", ""
#define X32 X4, X4, X4, X4, X4, X4, X4, X4

static const struct request_case {
    const char *name, *fields[300], *upload;
    int status;       /* 0: the stream is reset */
    const char *body; /* NULL: any */
    uint32_t code;
    int early;
} request_cases[] = {
    { "plain", { GET, ":path", "/a", "x-test", "b" }, NULL, 200, "GET path=/a query= body= x=b" },
    { "query and escapes",
      { GET, ":path", "/a%20%2Fb?c=%20" },
      NULL,
      200,
      "GET path=/a /b query=c=%20 body= x=" },
    { "HEAD", { ":method", "HEAD", ":scheme", "https", ":path", "/a" }, NULL, 200, "" },
    { "star",
      { ":method", "OPTIONS", ":scheme", "http", ":path", "*" },
      NULL,
      200,
      "OPTIONS path=* query= body= x=" },
    { "any method",
      { ":method", "FOO", ":scheme", "https", ":path", "/a" },
      NULL,
      200,
      "FOO path=/a query= body= x=" },
    { "body", { PUT }, "abc", 200, "PUT path=/a query= body=abc x=" },
    { "body with its length", { PUT, "content-length", "3" }, "abc", 200, "PUT path=/a query= body=abc x=" },
    { "empty body", { PUT }, "", 200, "PUT path=/a query= body= x=" },
    { "complete body", { PUT }, LONG_1000, 200, "PUT path=/a query= body=" LONG_1000 " x=" },
    { "a length and no body",
      { GET, ":path", "/a", "content-length", "3" },
      NULL,
      200,
      "GET path=/a query= body= x=" },
    { "expects", { PUT, "expect", "100-continue" }, "ab", 200, "PUT path=/a query= body=ab x=", 0, 100 },
    { "cookies",
      { GET, ":path", "/a", "cookie", "a=b", "cookie", "c=d" },
      NULL,
      200,
      "GET path=/a query= body= x=" },
    { "te", { GET, ":path", "/a", "te", "trailers" }, NULL, 200, "GET path=/a query= body= x=" },

    { "body too large", { PUT }, LONG_1000 "1", 413, "413 Request Entity Too Large" },
    { "length too large", { PUT, "content-length", "1001" }, "a", 413, "413 Request Entity Too Large" },
    { "length beyond numbers",
      { PUT, "content-length", "9223372036854775807" },
      "a",
      413,
      "413 Request Entity Too Large" },
    { "head too large",
      { GET, ":path", "/a", X6_LONG },
      NULL,
      431,
      "<h1>HTTP Error 431</h1><p>Request Header Field(s) Too Large</p>" },
    { "too many fields", { GET, ":path", "/a", X32, X32, X32, X32, "x", "" }, NULL, 431, NULL },
    { "connection", { GET, ":path", "/a", "connection", "close" }, NULL, 400, WRONG },
    { "upgrade before connection",
      { GET, ":path", "/a", "upgrade", "x", "connection", "x" },
      NULL,
      400,
      WRONG },
    { "chunks",
      { PUT, "transfer-encoding", "chunked" },
      "0\r\n\r\n",
      400,
      "request header \"Transfer-Encoding\" is not valid in HTTP/2\n" },
    { "te of another kind",
      { GET, ":path", "/a", "te", "gzip" },
      NULL,
      400,
      "request header \"TE\" may only be \"trailers\" in HTTP/2\n" },
    { "CONNECT", { ":method", "CONNECT", ":authority", "x:1" }, NULL, 400, "400 Bad Request" },
    { "a method that is none",
      { ":method", "G ET", ":scheme", "https", ":path", "/a" },
      NULL,
      400,
      "400 Bad Request" },

    { "unknown pseudo field", { GET, ":path", "/a", ":x", "y" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "field of an answer", { GET, ":path", "/a", ":status", "200" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "pseudo field twice", { GET, ":path", "/a", ":path", "/b" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "pseudo field late", { GET, "x", "y", ":path", "/a" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "protocol", { GET, ":path", "/a", ":protocol", "websocket" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "capital", { GET, ":path", "/a", "X-Test", "b" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "no token", { GET, ":path", "/a", "a b", "c" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "no name", { GET, ":path", "/a", "", "c" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "line end in a value", { GET, ":path", "/a", "a", "b\r\nc: d" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "no path", { GET }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "empty path", { GET, ":path", "" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "relative path", { GET, ":path", "a" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "absolute", { GET, ":path", "https://x/a" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "bad escape", { GET, ":path", "/%g0" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "no method", { ":scheme", "https", ":path", "/a" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "no scheme", { ":method", "GET", ":path", "/a" }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "another scheme",
      { ":method", "GET", ":scheme", "ftp", ":path", "/a" },
      .code = NGHTTP2_PROTOCOL_ERROR },
    { "nothing", { NULL }, .code = NGHTTP2_PROTOCOL_ERROR },
    { "user in the authority",
      { ":method", "GET", ":scheme", "https", ":path", "/a", ":authority", "a@b" },
      .code = NGHTTP2_PROTOCOL_ERROR },
    { "user in the host",
      { ":method", "GET", ":scheme", "https", ":path", "/a", "host", "a@b" },
      .code = NGHTTP2_PROTOCOL_ERROR },
    { "CONNECT with a path",
      { ":method", "CONNECT", ":authority", "x:1", ":path", "/a" },
      .code = NGHTTP2_PROTOCOL_ERROR },
    { "longer than its content-length",
      { PUT, "content-length", "2" },
      "abc",
      .code = NGHTTP2_PROTOCOL_ERROR },
    { "shorter than its content-length",
      { PUT, "content-length", "4" },
      "abc",
      .code = NGHTTP2_PROTOCOL_ERROR },
    { "a length that is none", { PUT, "content-length", "-3" }, "abc", .code = NGHTTP2_PROTOCOL_ERROR },
};

/* All requests on one connection: none affects the others. */
static void test_requests(void **state _unused_)
{
    struct host host;
    start(&host, (struct server_limits){ .header_bytes_max = 1500 + 32 * 128, .body_bytes_max = 1000 });
    struct h2 h2;
    h2_open(&h2, server_port(host.server), NULL);
    for (size_t i = 0; i < ARRAY_SIZE(request_cases); i++) {
        const struct request_case *request_case = &request_cases[i];
        /* The size of a header list counts 32 for each field, and one of the cases has more than 128 fields. */
        struct h2_reply *reply = h2_send(&h2, request_case->fields, request_case->upload, false);
        h2_wait(&h2, reply);
        if (reply->status != request_case->status ||
            (!request_case->status && reply->code != request_case->code) ||
            reply->early != request_case->early)
            fail_msg("%s: status %d, code %u, goaway %ld", request_case->name, reply->status, reply->code,
                     (long)h2.goaway);
        if (request_case->body && strcmp(reply->body.text ? reply->body.text : "", request_case->body) != 0)
            fail_msg("%s: \"%s\"", request_case->name, reply->body.text);
        if (request_case->status == 200 && (!strstr(reply->headers.text, "content-type: text/plain\n") ||
                                            strstr(reply->headers.text, "cookie")))
            fail_msg("%s: %s", request_case->name, reply->headers.text);
        if (request_case->status &&
            (!strstr(reply->headers.text, "date: ") || !strstr(reply->headers.text, "content-length: ")))
            fail_msg("%s: %s", request_case->name, reply->headers.text);
    }
    assert_false(h2.ended);
    assert_int_equal(h2.goaway, -1);
    h2_close(&h2);
    wait_for_connections(&host, 0);
    assert_int_equal(server_stats(host.server).response_bytes, 0);
    host_stop(&host);
}

/* A thousand requests with the maximum concurrency, answered in any order. */
static void test_concurrent_streams(void **state _unused_)
{
    struct host host;
    start(&host, (struct server_limits){ .streams_max = 7 });
    struct h2 h2;
    h2_open(&h2, server_port(host.server), NULL);
    while (!h2.has_settings)
        h2_pump(&h2);
    assert_int_equal(nghttp2_session_get_remote_settings(h2.session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS),
                     7);
    static const char *const paths[] = { "/a", "/later", "/big", "/b" };
    for (size_t i = 0; i < 200; i++)
        h2_request(&h2, i % 8 == 7 ? "HEAD" : "GET", paths[i % ARRAY_SIZE(paths)]);
    for (size_t i = 0; i < 200; i++) {
        struct h2_reply *reply = h2.replies.items[i];
        h2_wait(&h2, reply);
        assert_int_equal(reply->status, 200);
        assert_int_equal(reply->code, NGHTTP2_NO_ERROR);
        if (i % 8 == 7)
            assert_int_equal(reply->body.len, 0);
        else if (i % 4 == 2)
            assert_int_equal(reply->body.len, 1000000);
        else if (i % 4 == 1)
            assert_string_equal(reply->body.text, "later");
    }
    assert_int_equal(h2.goaway, -1);
    h2_close(&h2);
    wait_for_connections(&host, 0);
    assert_int_equal(server_stats(host.server).response_bytes, 0);
    assert_int_equal(server_stats(host.server).refused, 0);
    host_stop(&host);
}

/* The default is a hundred, as in kube-scheduler. */
static void test_default_streams(void **state _unused_)
{
    struct host host;
    start(&host, (struct server_limits){ 0 });
    struct h2 h2;
    h2_open(&h2, server_port(host.server), NULL);
    while (!h2.has_settings)
        h2_pump(&h2);
    assert_int_equal(nghttp2_session_get_remote_settings(h2.session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS),
                     100);
    h2_close(&h2);
    host_stop(&host);
}

/* A stream that is reset before its response: the response is dropped, and other streams are not affected. */
static void test_reset(void **state _unused_)
{
    struct host host;
    start(&host, (struct server_limits){ .streams_max = 2 });
    struct h2 h2;
    h2_open(&h2, server_port(host.server), NULL);
    for (size_t i = 0; i < 2; i++) {
        struct h2_reply *kept = h2_request(&h2, "GET", "/keep");
        h2_push(&h2);
        wait_for_kept(&host, i + 1);
        nghttp2_submit_rst_stream(h2.session, NGHTTP2_FLAG_NONE, kept->id, NGHTTP2_CANCEL);
        h2_push(&h2);
    }
    /* The host still has two requests of this client, so that a third one waits. */
    struct h2_reply *third = h2_request(&h2, "GET", "/a");
    h2_push(&h2);
    sleep_ms(100);
    assert_int_equal(server_stats(host.server).requests, 2);
    respond(&host, host.kept.items[0], 200, STR("dropped"));
    h2_wait(&h2, third);
    assert_int_equal(third->status, 200);
    respond(&host, host.kept.items[0], 200, STR("dropped again"));
    respond(&host, host.kept.items[1], 200, STR("dropped"));
    struct h2_reply *last = h2_request(&h2, "GET", "/later");
    h2_wait(&h2, last);
    assert_string_equal(last->body.text, "later");
    h2_close(&h2);
    host_stop(&host);
}

struct awaited {
    struct server *server;
    uint64_t id;
    atomic_int result; /* 0: not known yet */
};

static void check_awaited(void *context)
{
    struct awaited *awaited = context;
    atomic_store(&awaited->result, server_is_awaited(awaited->server, awaited->id) ? 1 : 2);
}

static bool is_awaited(struct host *host, uint64_t id)
{
    struct awaited awaited = { .server = host->server, .id = id };
    loop_run(server_loop(host->server), check_awaited, &awaited);
    while (!atomic_load(&awaited.result))
        sleep_ms(1);
    return atomic_load(&awaited.result) == 1;
}

static void test_awaited(void **state _unused_)
{
    struct host host;
    start(&host, (struct server_limits){ 0 });
    struct h2 h2;
    h2_open(&h2, server_port(host.server), NULL);
    struct h2_reply *kept = h2_request(&h2, "GET", "/keep");
    h2_push(&h2);
    wait_for_kept(&host, 1);
    assert_true(is_awaited(&host, host.kept.items[0]));
    assert_false(is_awaited(&host, host.kept.items[0] + (UINT64_C(1) << 16)));
    nghttp2_submit_rst_stream(h2.session, NGHTTP2_FLAG_NONE, kept->id, NGHTTP2_CANCEL);
    struct h2_reply *after = h2_request(&h2, "GET", "/a");
    h2_wait(&h2, after);
    assert_false(is_awaited(&host, host.kept.items[0]));
    h2_close(&h2);
    host_stop(&host);
}

/* A slow stream is reset, and nothing else. */
static void test_slow_streams(void **state _unused_)
{
    struct host host;
    start(&host, (struct server_limits){ .body_ms = 300, .answer_ms = 300 });
    struct h2 h2;
    h2_open(&h2, server_port(host.server), NULL);
    struct h2_reply *body = h2_send(&h2, (const char *[]){ PUT, NULL, NULL }, "abc", true);
    struct h2_reply *kept = h2_request(&h2, "GET", "/keep");
    h2_wait(&h2, body);
    assert_int_equal(body->code, NGHTTP2_CANCEL);
    h2_wait(&h2, kept);
    assert_int_equal(kept->status, 504);
    struct h2_reply *reply = h2_request(&h2, "GET", "/a");
    h2_wait(&h2, reply);
    assert_int_equal(reply->status, 200);
    /* A late response is dropped. */
    respond(&host, host.kept.items[0], 200, STR("late"));
    reply = h2_request(&h2, "GET", "/b");
    h2_wait(&h2, reply);
    assert_int_equal(reply->status, 200);
    h2_close(&h2);
    host_stop(&host);
}

/* An idle connection gets a GOAWAY; one that stops inside a frame does not. */
static bool check_slow_connections(int64_t ms)
{
    struct host host;
    start(&host, (struct server_limits){ .handshake_ms = 4 * ms, .header_ms = ms, .idle_ms = ms });
    static const struct {
        const char *said;
        size_t len;
        bool goaway;
    } halves[] = {
        { "", 0, false },
        { H2_MAGIC, 10, false },
        { H2_MAGIC "\0\0\0\4\0\0\0\0\0", 24 + 9, true },
        { H2_MAGIC "\0\0\0\4\0\0\0\0\0\0\0\x20\1\5\0\0\0\1\x82\x87", 24 + 9 + 11,
          false },                                                                   /* half a HEADERS */
        { H2_MAGIC "\0\0\0\4\0\0\0\0\0\0\0\1\1\1\0\0\0\1\x82", 24 + 9 + 10, false }, /* no CONTINUATION */
        { H2_MAGIC "\0\0\0\4\0\0\0\0\0\0\0\x8\6\0\0\0", 24 + 9 + 7, true },          /* half a PING */
    };
    static const char goaway[] = "\0\0\x8\x7\0\0\0\0\0\0\0\0\0\0\0\0\0";
    bool as_expected = true;
    for (size_t i = 0; i < ARRAY_SIZE(halves); i++) {
        struct raw raw = raw_connect(server_port(host.server));
        /* On a busy machine the test itself may be too slow. */
        while (!raw_tls(&raw, &(struct raw_tls){ .alpn = "\x02h2" })) {
            raw_close(&raw);
            raw = raw_connect(server_port(host.server));
        }
        raw_send_bytes(&raw, halves[i].said, halves[i].len);
        raw_read_all(&raw);
        size_t len = raw.unread.len;
        bool said = len >= 17 && memcmp(raw.unread.text + len - 17, goaway, 17) == 0;
        if (said != halves[i].goaway)
            print_message("half %zu: %zu bytes\n", i, len);
        as_expected &= said == halves[i].goaway;
        raw_close(&raw);
    }
    wait_for_connections(&host, 0);
    host_stop(&host);
    return as_expected;
}

static void test_slow_connections(void **state _unused_)
{
    assert_at_some_pace(check_slow_connections, 300);
}

/* A client that requests much and reads nothing: the buffered responses stay small. */
static void test_unread(void **state _unused_)
{
    struct host host;
    start(&host, (struct server_limits){ .write_ms = 3000 });
    struct h2 h2;
    const uint32_t window = 10;
    h2_open(&h2, server_port(host.server), &window);
    for (int i = 0; i < 100; i++)
        h2_request(&h2, "GET", "/big");
    h2_push(&h2);
    size_t most = 0;
    for (int64_t until = now_ms() + PATIENCE_MS, i = 0; i < 30 && now_ms() < until; i += most > 0) {
        size_t now = server_stats(host.server).response_bytes;
        most = MAX(most, now);
        sleep_ms(10);
    }
    assert_true(most >= 1000000 && most < 4000000);
    assert_works(&host);
    for (int i = 0; i < 100; i++) {
        struct h2_reply *reply = h2.replies.items[i];
        h2_wait(&h2, reply);
        assert_true(reply->code == NGHTTP2_CANCEL || reply->code == NGHTTP2_REFUSED_STREAM || h2.ended);
    }
    h2_close(&h2);
    wait_for_connections(&host, 0);
    assert_int_equal(server_stats(host.server).response_bytes, 0);
    host_stop(&host);
}

/* Incomplete requests share one limit: some are refused, and the client may retry them. */
static void test_held(void **state _unused_)
{
    struct host host;
    start(&host, (struct server_limits){ .header_bytes_max = 1000, .body_bytes_max = 4000 });
    struct h2 h2;
    h2_open(&h2, server_port(host.server), NULL);
    for (int i = 0; i < 20; i++)
        h2_send(&h2, (const char *[]){ PUT, NULL, NULL }, LONG_1000 LONG_1000, true);
    h2_push(&h2);
    size_t refused = 0;
    while (!h2.ended && refused < 14) {
        h2_pump(&h2);
        refused = 0;
        for (int i = 0; i < 20; i++) {
            assert_true(!h2.replies.items[i]->closed || h2.replies.items[i]->code == NGHTTP2_REFUSED_STREAM);
            refused += h2.replies.items[i]->closed;
        }
    }
    assert_false(h2.ended);
    struct h2_reply *reply = h2_request(&h2, "GET", "/a");
    h2_wait(&h2, reply);
    assert_int_equal(reply->status, 200);
    h2_close(&h2);
    host_stop(&host);
}

static const struct flood {
    const char *name;
    uint8_t type, flags;
    bool rises; /* each on its own stream */
    const char *payload;
    size_t len;
    uint32_t code;
} floods[] = {
    { "ping", NGHTTP2_PING, 0, false, "12345678", 8, NGHTTP2_ENHANCE_YOUR_CALM },
    { "ping answers", NGHTTP2_PING, NGHTTP2_FLAG_ACK, false, "12345678", 8, NGHTTP2_ENHANCE_YOUR_CALM },
    { "settings", NGHTTP2_SETTINGS, 0, false, "", 0, NGHTTP2_ENHANCE_YOUR_CALM },
    { "windows", NGHTTP2_WINDOW_UPDATE, 0, false, "\0\0\0\1", 4, NGHTTP2_ENHANCE_YOUR_CALM },
    { "priorities", NGHTTP2_PRIORITY, 0, true, "\0\0\0\0\1", 5, NGHTTP2_ENHANCE_YOUR_CALM },
    { "malformed", NGHTTP2_HEADERS, 5, true, "\x82", 1, NGHTTP2_ENHANCE_YOUR_CALM },
    { "too many streams", NGHTTP2_HEADERS, 5, true, H2_GET_KEEP, sizeof(H2_GET_KEEP) - 1,
      NGHTTP2_ENHANCE_YOUR_CALM },
};

/* Endless frames, whether the client reads or not: the connection ends with a GOAWAY. */
static void check_flood(struct host *host, const struct flood *flood, const struct strbuf *before,
                        const char *with, uint32_t code)
{
    struct raw raw = raw_connect(server_port(host->server));
    assert_true(raw_tls(&raw, &(struct raw_tls){ .alpn = "\x02h2" }));
    struct strbuf out = { 0 };
    strbuf_puts(&out, H2_MAGIC);
    h2_frame(&out, NGHTTP2_SETTINGS, 0, 0, "", 0);
    if (before)
        strbuf_add(&out, before->text, before->len);
    bool open = true;
    for (uint32_t i = 0; open && i < 20000; i++) {
        uint32_t stream = flood->rises ? 2 * i + 1 : before ? 1 : 0;
        if (with)
            h2_frame(&out, NGHTTP2_HEADERS, 5, stream, with, strlen(with));
        h2_frame(&out, flood->type, flood->flags, stream, flood->payload, flood->len);
        if (i % 100 == 99) {
            open = raw_send_bytes(&raw, out.text, out.len);
            strbuf_clear(&out);
            /* The client reads nothing, so the server cannot send everything either. */
        }
    }
    /* The GOAWAY is in what the server could send. */
    raw_read_all(&raw);
    const char *end = raw.unread.text + raw.unread.len;
    if (raw.unread.len < 17 || end[-17 + 3] != NGHTTP2_GOAWAY || (uint32_t)(uint8_t)end[-1] != code)
        fail_msg("%s: %zu bytes, %u", flood->name, raw.unread.len, raw.unread.len ? (uint8_t)end[-1] : 0);
    strbuf_release(&out);
    raw_close(&raw);
}

static void test_floods(void **state _unused_)
{
    struct host host;
    start(&host, (struct server_limits){ 0 });
    for (size_t i = 0; i < ARRAY_SIZE(floods); i++)
        check_flood(&host, &floods[i], NULL, NULL, floods[i].code);
    struct strbuf before = { 0 };
    h2_frame(&before, NGHTTP2_HEADERS, 4, 1, H2_PUT_KEEP, sizeof(H2_PUT_KEEP) - 1);
    check_flood(&host, &(struct flood){ "empty data", NGHTTP2_DATA, 0, false, "", 0, 0 }, &before, NULL,
                NGHTTP2_ENHANCE_YOUR_CALM);
    strbuf_clear(&before);
    h2_frame(&before, NGHTTP2_HEADERS, 0, 1, "\x82", 1);
    check_flood(&host, &(struct flood){ "continuations", NGHTTP2_CONTINUATION, 0, false, "", 0, 0 }, &before,
                NULL, NGHTTP2_ENHANCE_YOUR_CALM);
    strbuf_release(&before);
    /* Requests that are reset at once. */
    check_flood(&host, &(struct flood){ "resets", NGHTTP2_RST_STREAM, 0, true, "\0\0\0\x8", 4, 0 }, NULL,
                H2_GET_KEEP, NGHTTP2_ENHANCE_YOUR_CALM);
    assert_true(host_kept(&host) <= 300);
    assert_works(&host);
    host_stop(&host);
}

/* Each case violates the protocol; the connection ends with the matching error code. */
static void test_broken(void **state _unused_)
{
    static const struct {
        const char *name;
        uint8_t type, flags;
        uint32_t stream;
        const char *payload;
        size_t len;
        uint8_t code;
    } cases[] = {
        { "data without a stream", NGHTTP2_DATA, 0, 0, "a", 1, NGHTTP2_PROTOCOL_ERROR },
        { "data before headers", NGHTTP2_DATA, 0, 1, "a", 1, NGHTTP2_PROTOCOL_ERROR },
        { "an even stream", NGHTTP2_HEADERS, 5, 2, H2_GET_KEEP, sizeof(H2_GET_KEEP) - 1,
          NGHTTP2_PROTOCOL_ERROR },
        { "no stream", NGHTTP2_HEADERS, 5, 0, H2_GET_KEEP, sizeof(H2_GET_KEEP) - 1, NGHTTP2_PROTOCOL_ERROR },
        { "a push", NGHTTP2_PUSH_PROMISE, 4, 1, "\0\0\0\2\x82", 5, NGHTTP2_PROTOCOL_ERROR },
        { "a reset before headers", NGHTTP2_RST_STREAM, 0, 1, "\0\0\0\x8", 4, NGHTTP2_PROTOCOL_ERROR },
        { "bad compression", NGHTTP2_HEADERS, 5, 1, "\xff\xff\xff\xff\xff\xff", 6,
          NGHTTP2_COMPRESSION_ERROR },
        { "a ping too short", NGHTTP2_PING, 0, 0, "1234", 4, NGHTTP2_FRAME_SIZE_ERROR },
        { "a window too wide", NGHTTP2_WINDOW_UPDATE, 0, 0, "\x7f\xff\xff\xff", 4,
          NGHTTP2_FLOW_CONTROL_ERROR },
        { "a continuation of nothing", NGHTTP2_CONTINUATION, 4, 1, "\x82", 1, NGHTTP2_PROTOCOL_ERROR },
    };
    struct host host;
    start(&host, (struct server_limits){ 0 });
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct raw raw = raw_connect(server_port(host.server));
        assert_true(raw_tls(&raw, &(struct raw_tls){ .alpn = "\x02h2" }));
        struct strbuf out = { 0 };
        strbuf_puts(&out, H2_MAGIC);
        h2_frame(&out, NGHTTP2_SETTINGS, 0, 0, "", 0);
        h2_frame(&out, cases[i].type, cases[i].flags, cases[i].stream, cases[i].payload, cases[i].len);
        assert_true(raw_send_bytes(&raw, out.text, out.len));
        raw_read_all(&raw);
        /* The last frame received. */
        const char *at = raw.unread.text, *last = NULL;
        for (size_t left = raw.unread.len; left >= 9;) {
            size_t len =
                9 + (((size_t)(uint8_t)at[0] << 16) | ((size_t)(uint8_t)at[1] << 8) | (uint8_t)at[2]);
            assert_true(len <= left);
            last = at;
            at += len;
            left -= len;
        }
        if (!last || last[3] != NGHTTP2_GOAWAY || (uint8_t)last[16] != cases[i].code)
            fail_msg("%s: frame %d, code %d", cases[i].name, last ? last[3] : -1, last ? last[16] : -1);
        strbuf_release(&out);
        raw_close(&raw);
    }
    assert_int_equal(host_kept(&host), 0);
    assert_works(&host);
    host_stop(&host);
}

/* Random bytes, and frames with a few bytes changed. */
static void test_random_bytes(void **state _unused_)
{
    struct rng rng = test_rng();
    struct host host;
    start(&host, (struct server_limits){ 0 });
    for (int round = 0; round < 100; round++) {
        struct strbuf out = { 0 };
        strbuf_puts(&out, H2_MAGIC);
        h2_frame(&out, NGHTTP2_SETTINGS, 0, 0, "\0\4\0\1\0\0", 6);
        size_t from = round % 10 ? out.len : 0;
        for (uint32_t i = 0; i < 8; i++) {
            h2_frame(&out, NGHTTP2_HEADERS, i % 2 ? 4 : 5, 2 * i + 1, H2_PUT_KEEP, sizeof(H2_PUT_KEEP) - 1);
            if (i % 2)
                h2_frame(&out, NGHTTP2_DATA, 1, 2 * i + 1, "abc", 3);
            h2_frame(&out, NGHTTP2_WINDOW_UPDATE, 0, 2 * i + 1, "\0\0\1\0", 4);
            h2_frame(&out, NGHTTP2_RST_STREAM, 0, 2 * i + 1, "\0\0\0\1", 4);
        }
        for (int i = 0; i < 5; i++)
            out.text[from + rng_next(&rng) % (out.len - from)] = (char)rng_next(&rng);
        struct raw raw = raw_connect(server_port(host.server));
        assert_true(raw_tls(&raw, &(struct raw_tls){ .alpn = "\x02h2" }));
        raw_send_bytes(&raw, out.text, out.len);
        SSL_shutdown(raw.ssl);
        raw_close(&raw);
        strbuf_release(&out);
    }
    wait_for_connections(&host, 0);
    assert_works(&host);
    host_stop(&host);
}

static void test_drain(void **state _unused_)
{
    struct host host;
    start(&host, (struct server_limits){ 0 });
    struct h2 idle, busy;
    h2_open(&idle, server_port(host.server), NULL);
    h2_open(&busy, server_port(host.server), NULL);
    struct h2_reply *first = h2_request(&idle, "GET", "/a"), *last = h2_request(&busy, "GET", "/end");
    h2_wait(&idle, first);
    h2_push(&busy);
    while (server_stats(host.server).requests < 2)
        sleep_ms(1);
    int64_t begin = now_ms();
    server_drain(host.server, 2 * PATIENCE_MS);
    assert_true(now_ms() - begin < PATIENCE_MS);
    h2_wait(&busy, last);
    assert_string_equal(last->body.text, "later");
    h2_wait_end(&busy);
    h2_wait_end(&idle);
    assert_int_equal(busy.goaway, NGHTTP2_NO_ERROR);
    assert_int_equal(idle.goaway, NGHTTP2_NO_ERROR);
    h2_close(&idle);
    h2_close(&busy);
    host_stop(&host);
}

/* All connections are in use: those with a request stay. */
static void test_full(void **state _unused_)
{
    struct host host;
    start(&host, (struct server_limits){ .connections_max = 10 });
    struct h2 busy, clients[30];
    h2_open(&busy, server_port(host.server), NULL);
    struct h2_reply *kept = h2_request(&busy, "GET", "/keep");
    h2_push(&busy);
    wait_for_kept(&host, 1);
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        h2_open(&clients[i], server_port(host.server), NULL);
        h2_wait(&clients[i], h2_request(&clients[i], "GET", "/a"));
        assert_int_equal(clients[i].replies.items[0]->status, 200);
    }
    assert_true(server_stats(host.server).connections <= 10);
    respond(&host, host.kept.items[0], 200, STR("still here"));
    h2_wait(&busy, kept);
    assert_string_equal(kept->body.text, "still here");
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
        h2_close(&clients[i]);
    h2_close(&busy);
    host_stop(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_concurrent_streams),
        cmocka_unit_test(test_default_streams),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_awaited),
        cmocka_unit_test(test_slow_streams),
        cmocka_unit_test(test_slow_connections),
        cmocka_unit_test(test_unread),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_floods),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_full),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
