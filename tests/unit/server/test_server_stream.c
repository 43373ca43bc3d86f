/* Responses that are made while they are sent, over HTTP/1.1 and HTTP/2: parts arrive as they are written; clients that
 * leave, do not read, or read slowly; many streams; a server that drains; large requests. */
#include "unit/net/raw_client.h"

#include <stdatomic.h>

#include "base/thread.h"
#include "base/vec.h"
#include "server/server.h"
#include "unit/server/http2_client.h"

/* GET /stream begins a stream with "begin;". GET /fill is a stream of FILL_PARTS parts, written as there is room for
 * them. All other requests are answered with the length of their body, which is UNTRUSTED_BYTES at most if they say
 * so. */
enum { FILL_PARTS = 300, FILL_BYTES = 50000, UNTRUSTED_BYTES = 1000 };

struct streams {
    struct server *server;
    VEC(uint64_t) ids; /* on the server's thread, as is all but the counts */
    atomic_int begun, closed;
    size_t parts;     /* for write_parts() */
    struct str part;  /* likewise */
    size_t failed;    /* likewise: writes that were refused */
    size_t filled;    /* parts of /fill */
    size_t bytes_max; /* of responses, at any time while it was filled */
    atomic_int rooms;
};

static void fill(struct streams *streams, uint64_t id)
{
    static char part[FILL_BYTES + 1];
    memset(part, 'p', FILL_BYTES);
    while (streams->filled < FILL_PARTS && !server_stream_is_full(streams->server, id)) {
        streams->failed += !server_stream_write(streams->server, id, str_from(part));
        streams->bytes_max = MAX(streams->bytes_max, server_stats(streams->server).response_bytes);
        streams->filled++;
    }
    if (streams->filled == FILL_PARTS)
        server_stream_end(streams->server, id);
}

static void on_stream_room(void *user, uint64_t id)
{
    atomic_fetch_add(&((struct streams *)user)->rooms, 1);
    fill(user, id);
}

static size_t body_bytes_max(void *user, const struct server_request *head)
{
    (void)user;
    return server_header_value(head, STR("X-Untrusted")).len ? UNTRUSTED_BYTES : SIZE_MAX;
}

static void on_request(void *user, struct server_request *request)
{
    struct streams *streams = user;
    struct server_header type = { STR("Content-Type"), STR("application/json") };
    struct server_response response = { .status = 200, .headers = &type, .header_count = 1 };
    char text[32];
    if (str_is(request->path, "/fill")) {
        assert_true(server_stream_begin(streams->server, request->id, &response));
        fill(streams, request->id);
    } else if (str_is(request->path, "/stream")) {
        response.body = STR("begin;");
        *vec_push(&streams->ids) = request->id;
        assert_true(server_stream_begin(streams->server, request->id, &response));
        assert_false(server_stream_begin(streams->server, request->id, &response));
        server_respond(streams->server, request->id, &response); /* is ignored */
        atomic_fetch_add(&streams->begun, 1);
    } else {
        snprintf(text, sizeof(text), "%u", request->body.len);
        response.body = str_from(text);
        server_respond(streams->server, request->id, &response);
    }
    server_request_free(request);
}

static void on_stream_closed(void *user, uint64_t id)
{
    struct streams *streams = user;
    for (size_t i = 0; i < streams->ids.len; i++)
        if (streams->ids.items[i] == id) {
            vec_swap_remove(&streams->ids, i);
            assert_false(server_stream_write(streams->server, id, STR("late")));
            server_stream_end(streams->server, id);
            atomic_fetch_add(&streams->closed, 1);
            return;
        }
    fail_msg("closed twice, or after its end");
}

static void streams_start(struct streams *streams, bool tls, struct server_limits limits)
{
    *streams = (struct streams){ 0 };
    struct server_options options = { .address = "127.0.0.1",
                                      .tls = tls ? &(struct server_tls_options){ 0 } : NULL,
                                      .limits = limits,
                                      .on_request = on_request,
                                      .body_bytes_max = body_bytes_max,
                                      .on_stream_room = on_stream_room,
                                      .on_stream_closed = on_stream_closed,
                                      .user = streams };
    struct error err;
    if (server_new(&options, &streams->server, &err) < 0 || server_start(streams->server, &err) < 0)
        fail_msg("%s", err.text);
}

static void streams_stop(struct streams *streams)
{
    server_free(streams->server);
    vec_release(&streams->ids);
}

static void wait_count(atomic_int *count, int want)
{
    for (int64_t until = now_ms() + PATIENCE_MS; atomic_load(count) < want && now_ms() < until;)
        sleep_ms(2);
    assert_int_equal(atomic_load(count), want);
}

static void write_here(void *context)
{
    struct streams *streams = context;
    for (size_t i = 0; i < streams->parts; i++)
        for (size_t j = 0; j < streams->ids.len; j++)
            streams->failed += !server_stream_write(streams->server, streams->ids.items[j], streams->part);
}

/* To all streams. */
static void write_parts(struct streams *streams, size_t parts, struct str part)
{
    streams->parts = parts;
    streams->part = part;
    loop_run_wait(server_loop(streams->server), write_here, streams);
}

static void end_here(void *context)
{
    struct streams *streams = context;
    vec_for(&streams->ids, id)
        server_stream_end(streams->server, *id);
    vec_clear(&streams->ids);
}

static void end_all(struct streams *streams)
{
    loop_run_wait(server_loop(streams->server), end_here, streams);
}

static void read_until(struct raw *raw, const char *text)
{
    while (!raw->unread.text || !strstr(raw->unread.text, text))
        assert_true(raw_read(raw));
}

static void test_chunks(void **state _unused_)
{
    for (int tls = 0; tls < 2; tls++) {
        struct streams streams;
        streams_start(&streams, tls,
                      (struct server_limits){ .answer_ms = 200, .idle_ms = 200, .write_ms = 1000 });
        struct raw raw = raw_connect(server_port(streams.server));
        if (tls)
            assert_true(raw_tls(&raw, NULL));
        raw_send(&raw, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
        read_until(&raw, "6\r\nbegin;\r\n");
        assert_non_null(strstr(raw.unread.text, "Transfer-Encoding: chunked\r\n"));
        assert_null(strstr(raw.unread.text, "Content-Length"));
        /* A stream may be silent for longer than anything else. */
        sleep_ms(600);
        write_parts(&streams, 1, STR("one"));
        read_until(&raw, "3\r\none\r\n");
        /* A request that is sent ahead waits. */
        raw_send(&raw, "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
        write_parts(&streams, 1, STR("a part of 20 bytes.."));
        read_until(&raw, "14\r\na part of 20 bytes..\r\n");
        end_all(&streams);
        read_until(&raw, "\r\n0\r\n\r\nHTTP/1.1 200 OK");
        read_until(&raw, "\r\n\r\n3");
        assert_int_equal(streams.failed, 0);
        raw_close(&raw);
        streams_stop(&streams);
        assert_int_equal(atomic_load(&streams.closed), 0);
    }
}

/* HTTP/1.0 knows no chunks: the end of the connection is that of the response. */
static void test_http10(void **state _unused_)
{
    struct streams streams;
    streams_start(&streams, false, (struct server_limits){ 0 });
    struct raw raw = raw_connect(server_port(streams.server));
    raw_send(&raw, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    read_until(&raw, "\r\n\r\nbegin;");
    write_parts(&streams, 2, STR("part;"));
    end_all(&streams);
    raw_read_all(&raw);
    assert_non_null(strstr(raw.unread.text, "\r\n\r\nbegin;part;part;"));
    assert_non_null(strstr(raw.unread.text, "Connection: close\r\n"));
    raw_close(&raw);
    streams_stop(&streams);
}

static void test_data_frames(void **state _unused_)
{
    struct streams streams;
    streams_start(&streams, true,
                  (struct server_limits){ .answer_ms = 200, .idle_ms = 200, .write_ms = 1000 });
    struct h2 h2;
    h2_open(&h2, server_port(streams.server), NULL);
    struct h2_reply *one = h2_request(&h2, "GET", "/stream"), *two = h2_request(&h2, "GET", "/stream");
    while (one->body.len < 6 || two->body.len < 6)
        h2_pump(&h2);
    sleep_ms(600);
    /* A stream is no request that the host works on: others go on beside it. */
    struct h2_reply *other = h2_request(&h2, "GET", "/x");
    h2_wait(&h2, other);
    assert_int_equal(other->status, 200);
    write_parts(&streams, 3, STR("part;"));
    while (one->body.len < 21 || two->body.len < 21)
        h2_pump(&h2);
    assert_string_equal(two->body.text, "begin;part;part;part;");
    assert_null(strstr(one->headers.text, "content-length"));
    /* The client cancels one of them. */
    assert_int_equal(nghttp2_submit_rst_stream(h2.session, NGHTTP2_FLAG_NONE, one->id, NGHTTP2_CANCEL), 0);
    h2_push(&h2);
    wait_count(&streams.closed, 1);
    write_parts(&streams, 1, STR("last"));
    end_all(&streams);
    h2_wait(&h2, two);
    assert_string_equal(two->body.text, "begin;part;part;part;last");
    assert_int_equal(two->code, NGHTTP2_NO_ERROR);
    assert_int_equal(streams.failed, 0);
    h2_close(&h2);
    streams_stop(&streams);
    assert_int_equal(atomic_load(&streams.closed), 1);
}

static void test_client_leaves(void **state _unused_)
{
    struct streams streams;
    streams_start(&streams, true, (struct server_limits){ 0 });
    struct raw raw = raw_connect(server_port(streams.server));
    assert_true(raw_tls(&raw, NULL));
    raw_send(&raw, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    read_until(&raw, "begin;");
    raw_close(&raw);
    wait_count(&streams.closed, 1);
    struct h2 h2;
    h2_open(&h2, server_port(streams.server), NULL);
    struct h2_reply *one = h2_request(&h2, "GET", "/stream");
    h2_request(&h2, "GET", "/stream");
    while (one->body.len < 6)
        h2_pump(&h2);
    h2_close(&h2);
    wait_count(&streams.closed, 3);
    assert_int_equal(server_stats(streams.server).response_bytes, 0);
    streams_stop(&streams);
}

static struct strbuf text_of(size_t len)
{
    struct strbuf text = { 0 };
    for (size_t i = 0; i < len; i++)
        strbuf_putc(&text, (char)('a' + i % 26));
    return text;
}

/* A client that does not read loses its stream when too much waits for it, or when it takes nothing for too long. */
static void test_slow_reader(void **state _unused_)
{
    struct strbuf part = text_of(10000);
    for (int http2 = 0; http2 < 2; http2++) {
        for (int by_time = 0; by_time < 2; by_time++) {
            struct streams streams;
            struct server_limits limits = { .stream_bytes_max = by_time ? 64 << 20 : 300000,
                                            .write_ms = by_time ? 500 : PATIENCE_MS };
            streams_start(&streams, http2, limits);
            struct raw raw = { .fd = -1 };
            struct h2 h2;
            if (http2) {
                h2_open(&h2, server_port(streams.server), &(uint32_t){ 1000 });
                h2_request(&h2, "GET", "/stream");
                h2_push(&h2);
            } else {
                raw = raw_connect(server_port(streams.server));
                setsockopt(raw.fd, SOL_SOCKET, SO_RCVBUF, &(int){ 4096 }, sizeof(int));
                raw_send(&raw, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
            }
            wait_count(&streams.begun, 1);
            for (int i = 0; i < (by_time ? 30 : 3000) && !atomic_load(&streams.closed); i++) {
                write_parts(&streams, by_time ? 20 : 1, strbuf_slice(&part));
                assert_true(server_stats(streams.server).response_bytes < 20000000);
            }
            wait_count(&streams.closed, 1);
            if (!by_time)
                assert_true(streams.failed > 0);
            if (http2)
                h2_close(&h2);
            else
                raw_close(&raw);
            streams_stop(&streams);
        }
    }
    strbuf_release(&part);
}

/* A client that reads, slower than the host writes, gets everything. */
static void test_backlog(void **state _unused_)
{
    struct strbuf part = text_of(100000);
    struct streams streams;
    streams_start(&streams, true, (struct server_limits){ .write_ms = 2000 });
    struct h2 h2;
    h2_open(&h2, server_port(streams.server), NULL);
    struct h2_reply *two = h2_request(&h2, "GET", "/stream");
    h2_push(&h2);
    struct raw raw = raw_connect(server_port(streams.server));
    assert_true(raw_tls(&raw, NULL));
    raw_send(&raw, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_count(&streams.begun, 2);
    for (int i = 0; i < 50; i++) {
        write_parts(&streams, 1, strbuf_slice(&part));
        raw_read(&raw);
        h2_pump(&h2);
    }
    assert_true(server_stats(streams.server).response_bytes > 1000000);
    end_all(&streams);
    h2_wait(&h2, two);
    assert_int_equal(two->body.len, 6 + 50 * part.len);
    assert_memory_equal(two->body.text + 6 + 49 * part.len, part.text, part.len);
    read_until(&raw, "\r\n0\r\n\r\n");
    raw_close(&raw);
    h2_close(&h2);
    assert_int_equal(streams.failed, 0);
    assert_int_equal(atomic_load(&streams.closed), 0);
    streams_stop(&streams);
    strbuf_release(&part);
}

/* A host that waits for room keeps little in memory, and the client gets everything. */
static void test_room(void **state _unused_)
{
    for (int http2 = 0; http2 < 2; http2++) {
        struct streams streams;
        streams_start(&streams, true, (struct server_limits){ .stream_full_bytes = 200000 });
        if (http2) {
            struct h2 h2;
            h2_open(&h2, server_port(streams.server), NULL);
            struct h2_reply *reply = h2_request(&h2, "GET", "/fill");
            h2_wait(&h2, reply);
            assert_int_equal(reply->body.len, FILL_PARTS * FILL_BYTES);
            h2_close(&h2);
        } else {
            struct raw raw = raw_connect(server_port(streams.server));
            assert_true(raw_tls(&raw, &(struct raw_tls){ .alpn = "\x08http/1.1" }));
            raw_send(&raw, "GET /fill HTTP/1.1\r\nHost: x\r\n\r\n");
            read_until(&raw, "\r\n0\r\n\r\n");
            assert_true(raw.unread.len > FILL_PARTS * FILL_BYTES);
            raw_close(&raw);
        }
        assert_int_equal(streams.failed, 0);
        assert_true(atomic_load(&streams.rooms) > 10);
        assert_true(streams.bytes_max < 1000000);
        streams_stop(&streams);
        assert_int_equal(atomic_load(&streams.closed), 0);
    }
}

/* The length of a body may depend on the head of its request. */
static void test_untrusted_bodies(void **state _unused_)
{
    struct streams streams;
    struct strbuf body = text_of(UNTRUSTED_BYTES + 1);
    streams_start(&streams, true, (struct server_limits){ 0 });
    for (int trusted = 0; trusted < 2; trusted++) {
        struct h2 h2;
        h2_open(&h2, server_port(streams.server), NULL);
        const char *fields[] = { ":method",    "PUT",   ":scheme",
                                 "https",      ":path", "/x",
                                 ":authority", "x",     trusted ? "x-trusted" : "x-untrusted",
                                 "yes",        NULL };
        struct h2_reply *answer = h2_send(&h2, fields, body.text, false);
        h2_wait(&h2, answer);
        assert_int_equal(answer->status, trusted ? 200 : 413);
        h2_close(&h2);
        struct raw raw = raw_connect(server_port(streams.server));
        assert_true(raw_tls(&raw, &(struct raw_tls){ .alpn = "\x08http/1.1" }));
        raw_send(&raw, trusted ? "PUT /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                               : "PUT /x HTTP/1.1\r\nHost: x\r\nX-Untrusted: 1\r\nTransfer-Encoding: "
                                 "chunked\r\n\r\n");
        raw_send(&raw, "3e9\r\n");
        raw_send_bytes(&raw, body.text, UNTRUSTED_BYTES + 1);
        raw_send(&raw, "\r\n0\r\n\r\n");
        struct reply_text reply = raw_reply(&raw, "PUT");
        assert_int_equal(reply.status, trusted ? 200 : 413);
        reply_text_release(&reply);
        raw_close(&raw);
    }
    strbuf_release(&body);
    streams_stop(&streams);
}

/* Many streams of a connection, and many connections; memory in sum is bounded. */
static void test_many(void **state _unused_)
{
    enum { CONNECTIONS = 20, EACH = 50 };
    struct streams streams;
    streams_start(&streams, true, (struct server_limits){ .response_bytes_max = 5000000 });
    struct h2 clients[CONNECTIONS];
    for (int i = 0; i < CONNECTIONS; i++) {
        h2_open(&clients[i], server_port(streams.server), NULL);
        for (int j = 0; j < EACH; j++)
            h2_request(&clients[i], "GET", "/stream");
        while (clients[i].replies.items[EACH - 1]->body.len < 6)
            h2_pump(&clients[i]);
    }
    wait_count(&streams.begun, CONNECTIONS * EACH);
    write_parts(&streams, 2, STR("part;"));
    for (int i = 0; i < CONNECTIONS; i++)
        for (int j = 0; j < EACH; j++) {
            struct h2_reply *reply = clients[i].replies.items[j];
            while (reply->body.len < 16)
                h2_pump(&clients[i]);
            assert_string_equal(reply->body.text, "begin;part;part;");
        }
    struct strbuf part = text_of(50000);
    for (int i = 0; i < 100 && !atomic_load(&streams.closed); i++)
        write_parts(&streams, 1, strbuf_slice(&part));
    assert_true(streams.failed > 0);
    assert_true(server_stats(streams.server).response_bytes < 10000000);
    strbuf_release(&part);
    for (int i = 0; i < CONNECTIONS; i++)
        h2_close(&clients[i]);
    wait_count(&streams.closed, CONNECTIONS * EACH);
    streams_stop(&streams);
}

static void test_drain(void **state _unused_)
{
    struct streams streams;
    streams_start(&streams, true, (struct server_limits){ 0 });
    struct raw raw = raw_connect(server_port(streams.server));
    assert_true(raw_tls(&raw, NULL));
    raw_send(&raw, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    struct h2 h2;
    h2_open(&h2, server_port(streams.server), NULL);
    struct h2_reply *reply = h2_request(&h2, "GET", "/stream");
    while (reply->body.len < 6)
        h2_pump(&h2);
    wait_count(&streams.begun, 2);
    int64_t begin = now_ms();
    server_drain(streams.server, 2 * PATIENCE_MS);
    assert_true(now_ms() - begin < PATIENCE_MS);
    wait_count(&streams.closed, 2);
    h2_wait(&h2, reply);
    assert_int_equal(reply->code, NGHTTP2_NO_ERROR);
    raw_read_all(&raw);
    assert_non_null(strstr(raw.unread.text, "\r\n0\r\n\r\n"));
    raw_close(&raw);
    h2_close(&h2);
    streams_stop(&streams);

    /* A server that ends without draining tells the host as well. */
    streams_start(&streams, false, (struct server_limits){ 0 });
    raw = raw_connect(server_port(streams.server));
    raw_send(&raw, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_count(&streams.begun, 1);
    streams_stop(&streams);
    assert_int_equal(atomic_load(&streams.closed), 1);
    raw_close(&raw);
}

/* The largest request that a kube-apiserver takes. */
static void test_large_requests(void **state _unused_)
{
    enum { BODY_BYTES_MAX = 3 << 20 };
    struct streams streams;
    streams_start(&streams, true, (struct server_limits){ .body_bytes_max = BODY_BYTES_MAX });
    struct strbuf body = text_of(BODY_BYTES_MAX + 1);
    for (int more = 0; more < 2; more++) {
        char head[128];
        struct raw raw = raw_connect(server_port(streams.server));
        assert_true(raw_tls(&raw, &(struct raw_tls){ .alpn = "\x08http/1.1" }));
        snprintf(head, sizeof(head), "PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
                 BODY_BYTES_MAX + more);
        raw_send(&raw, head);
        if (!more)
            raw_send_bytes(&raw, body.text, BODY_BYTES_MAX);
        struct reply_text reply = raw_reply(&raw, "PUT");
        assert_int_equal(reply.status, more ? 413 : 200);
        if (!more)
            assert_string_equal(reply.body.text, "3145728");
        reply_text_release(&reply);
        raw_close(&raw);
        body.text[BODY_BYTES_MAX + more] = '\0';
        struct h2 h2;
        h2_open(&h2, server_port(streams.server), NULL);
        const char *fields[] = {
            ":method", "PUT", ":scheme", "https", ":path", "/x", ":authority", "x", NULL
        };
        struct h2_reply *answer = h2_send(&h2, fields, body.text, false);
        h2_wait(&h2, answer);
        assert_int_equal(answer->status, more ? 413 : 200);
        h2_close(&h2);
        body.text[BODY_BYTES_MAX] = 'z';
        body.text[BODY_BYTES_MAX + 1] = '\0';
    }
    strbuf_release(&body);
    streams_stop(&streams);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks),         cmocka_unit_test(test_http10),
        cmocka_unit_test(test_data_frames),    cmocka_unit_test(test_client_leaves),
        cmocka_unit_test(test_room),           cmocka_unit_test(test_untrusted_bodies),
        cmocka_unit_test(test_slow_reader),    cmocka_unit_test(test_backlog),
        cmocka_unit_test(test_many),           cmocka_unit_test(test_drain),
        cmocka_unit_test(test_large_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
