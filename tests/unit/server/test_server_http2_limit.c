/* More streams than the limit: each of them is refused, and nothing else. */
#include "unit/server/server_host.h"

#include "unit/server/http2_client.h"

enum { STREAMS_MAX = 3, FRAME_HEAD_BYTES = 9, LATE = 2 * STREAMS_MAX + 1 };

/* A frame from the server, and the number at the beginning of its payload. */
struct frame {
    uint8_t type, flags;
    uint32_t stream, number;
};

static uint32_t number_at(const char *bytes)
{
    const uint8_t *at = (const uint8_t *)bytes;
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static struct frame next_frame(struct raw *raw)
{
    size_t len = 0;
    while (raw->unread.len < FRAME_HEAD_BYTES || raw->unread.len < len) {
        if (!raw_read(raw))
            fail_msg("the connection has ended");
        len = FRAME_HEAD_BYTES + (number_at(raw->unread.text) >> 8);
    }
    const char *text = raw->unread.text;
    len = FRAME_HEAD_BYTES + (number_at(text) >> 8);
    struct frame frame = { .type = (uint8_t)text[3],
                           .flags = (uint8_t)text[4],
                           .stream = number_at(text + 5),
                           .number = len >= FRAME_HEAD_BYTES + 4 ? number_at(text + FRAME_HEAD_BYTES) : 0 };
    raw->unread.len -= len;
    memmove(raw->unread.text, raw->unread.text + len, raw->unread.len);
    return frame;
}

static struct frame next_of_stream(struct raw *raw)
{
    struct frame frame;
    do
        frame = next_frame(raw);
    while (!frame.stream);
    return frame;
}

static void put_request(struct strbuf *out, uint32_t stream, bool ends)
{
    uint8_t flags = NGHTTP2_FLAG_END_HEADERS | (ends ? NGHTTP2_FLAG_END_STREAM : 0);
    h2_frame(out, NGHTTP2_HEADERS, flags, stream, H2_GET_KEEP, sizeof(H2_GET_KEEP) - 1);
}

static void begin(struct host *host, struct raw *raw, bool agrees, struct strbuf *out)
{
    *raw = raw_connect(server_port(host->server));
    assert_true(raw_tls(raw, &(struct raw_tls){ .alpn = "\x02h2" }));
    strbuf_puts(out, H2_MAGIC);
    h2_frame(out, NGHTTP2_SETTINGS, 0, 0, "", 0);
    if (agrees)
        h2_frame(out, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, "", 0);
}

static void send_all(struct raw *raw, struct strbuf *out)
{
    assert_true(raw_send_bytes(raw, out->text, out->len));
    strbuf_clear(out);
}

static void assert_refused(struct raw *raw, uint32_t stream, uint32_t code)
{
    struct frame frame = next_of_stream(raw);
    assert_int_equal(frame.type, NGHTTP2_RST_STREAM);
    assert_int_equal(frame.stream, stream);
    assert_int_equal(frame.number, code);
}

/* The code depends on whether the client knew the limit: if not, it may retry. */
static void test_too_many(void **state _unused_)
{
    static const struct {
        const char *name;
        bool agrees, ends;
        uint32_t code;
    } cases[] = {
        { "not agreed yet", false, true, NGHTTP2_REFUSED_STREAM },
        { "agreed", true, true, NGHTTP2_PROTOCOL_ERROR },
        { "not agreed yet, with a body", false, false, NGHTTP2_REFUSED_STREAM },
        { "agreed, with a body", true, false, NGHTTP2_PROTOCOL_ERROR },
    };
    struct host host;
    host_start(&host, (struct server_options){ .tls = &(struct server_tls_options){ 0 },
                                               .limits = { .streams_max = STREAMS_MAX } });
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        print_message("%s\n", cases[i].name);
        struct raw raw;
        struct strbuf out = { 0 };
        size_t kept = host_kept(&host);
        begin(&host, &raw, cases[i].agrees, &out);
        for (uint32_t stream = 1; stream <= LATE + 2; stream += 2)
            put_request(&out, stream, cases[i].ends || stream < LATE);
        if (!cases[i].ends)
            h2_frame(&out, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, LATE, "body", 4);
        send_all(&raw, &out);
        assert_refused(&raw, LATE, cases[i].code);
        assert_refused(&raw, LATE + 2, cases[i].code);
        wait_for_kept(&host, kept + STREAMS_MAX);
        /* One has its response, so that exactly one more is accepted. */
        respond(&host, host.kept.items[kept + 1], 200, STR(""));
        struct frame answer = next_of_stream(&raw);
        assert_int_equal(answer.type, NGHTTP2_HEADERS);
        assert_int_equal(answer.stream, 3);
        assert_true(answer.flags & NGHTTP2_FLAG_END_STREAM);
        put_request(&out, LATE + 4, true);
        put_request(&out, LATE + 6, true);
        send_all(&raw, &out);
        assert_refused(&raw, LATE + 6, cases[i].code);
        wait_for_kept(&host, kept + STREAMS_MAX + 1);
        respond(&host, host.kept.items[kept + STREAMS_MAX], 200, STR(""));
        assert_int_equal(next_of_stream(&raw).stream, LATE + 4);
        strbuf_release(&out);
        raw_close(&raw);
    }
    host_stop(&host);
}

/* Streams that the client has reset no longer count, even while the host still works on them. */
static void test_reset_streams_do_not_count(void **state _unused_)
{
    struct host host;
    struct raw raw;
    struct strbuf out = { 0 };
    host_start(&host, (struct server_options){ .tls = &(struct server_tls_options){ 0 },
                                               .limits = { .streams_max = STREAMS_MAX } });
    begin(&host, &raw, true, &out);
    for (uint32_t stream = 1; stream < LATE; stream += 2)
        put_request(&out, stream, true);
    send_all(&raw, &out);
    wait_for_kept(&host, STREAMS_MAX);
    for (uint32_t stream = 1; stream < LATE; stream += 2)
        h2_frame(&out, NGHTTP2_RST_STREAM, 0, stream, "\0\0\0\x8", 4);
    for (uint32_t stream = LATE; stream < 2 * LATE; stream += 2)
        put_request(&out, stream, true);
    send_all(&raw, &out);
    /* LATE and the two after it are open; the next one exceeds the limit. */
    assert_refused(&raw, LATE + 2 * STREAMS_MAX, NGHTTP2_PROTOCOL_ERROR);
    respond(&host, host.kept.items[0], 200, STR("dropped"));
    wait_for_kept(&host, STREAMS_MAX + 1);
    respond(&host, host.kept.items[STREAMS_MAX], 200, STR(""));
    assert_int_equal(next_of_stream(&raw).stream, LATE);
    strbuf_release(&out);
    raw_close(&raw);
    host_stop(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_too_many),
                                        cmocka_unit_test(test_reset_streams_do_not_count) };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
