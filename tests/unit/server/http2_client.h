/* http2_client.h: an HTTP/2 client for tests: nghttp2's for correct requests, frames by hand for malformed ones.
 *
 *     struct h2 h2;
 *     h2_open(&h2, port, NULL);
 *     struct h2_reply *reply = h2_request(&h2, "GET", "/a");
 *     h2_wait(&h2, reply);
 *     h2_close(&h2); */
#ifndef UNIT_NET_HTTP2_CLIENT_H
#define UNIT_NET_HTTP2_CLIENT_H

#include "unit/net/raw_client.h"

#include <nghttp2/nghttp2.h>

#include "base/vec.h"

struct h2_reply {
    int32_t id;
    int status, early; /* early: an informational (1xx) status before it */
    bool closed;
    uint32_t code; /* the code of RST_STREAM */
    struct strbuf headers, body;
    struct str upload;
    size_t uploaded;
    bool never_ends; /* the upload */
};

struct h2 {
    struct raw raw;
    nghttp2_session *session;
    bool write_closed; /* the server accepts no more data; its earlier data can still be read */
    bool ended;        /* closed by the server */
    int64_t goaway;    /* the error code, or -1 */
    bool has_settings; /* the server's SETTINGS have arrived */
    VEC(struct h2_reply *) replies;
};

/* NULL: not a stream of this client. */
static inline struct h2_reply *h2_of(struct h2 *h2, int32_t id)
{
    return nghttp2_session_get_stream_user_data(h2->session, id);
}

static inline int h2_on_header(nghttp2_session *session _unused_, const nghttp2_frame *frame,
                               const uint8_t *name, size_t name_len, const uint8_t *value, size_t value_len,
                               uint8_t flags _unused_, void *user)
{
    struct h2_reply *reply = h2_of(user, frame->hd.stream_id);
    if (reply && name_len == 7 && memcmp(name, ":status", 7) == 0) {
        reply->early = reply->status;
        int64_t status = 0;
        str_to_int64((struct str){ (const char *)value, (uint32_t)value_len }, &status);
        reply->status = (int)status;
    } else if (reply) {
        strbuf_printf(&reply->headers, "%.*s: %.*s\n", (int)name_len, name, (int)value_len, value);
    }
    return 0;
}

static inline int h2_on_data(nghttp2_session *session _unused_, uint8_t flags _unused_, int32_t id,
                             const uint8_t *bytes, size_t len, void *user)
{
    struct h2_reply *reply = h2_of(user, id);
    if (reply)
        strbuf_add(&reply->body, (const char *)bytes, len);
    return 0;
}

static inline int h2_on_frame(nghttp2_session *session _unused_, const nghttp2_frame *frame, void *user)
{
    struct h2 *h2 = user;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        h2->goaway = frame->goaway.error_code;
    if (frame->hd.type == NGHTTP2_SETTINGS && !(frame->hd.flags & NGHTTP2_FLAG_ACK))
        h2->has_settings = true;
    return 0;
}

static inline int h2_on_close(nghttp2_session *session _unused_, int32_t id, uint32_t code, void *user)
{
    struct h2_reply *reply = h2_of(user, id);
    if (reply) {
        reply->closed = true;
        reply->code = code;
    }
    return 0;
}

static inline ssize_t h2_upload(nghttp2_session *session _unused_, int32_t id _unused_, uint8_t *buf,
                                size_t size, uint32_t *flags, nghttp2_data_source *source,
                                void *user _unused_)
{
    struct h2_reply *reply = source->ptr;
    size_t len = MIN(size, reply->upload.len - reply->uploaded);
    if (!len && reply->never_ends)
        return NGHTTP2_ERR_DEFERRED;
    memcpy(buf, reply->upload.ptr + reply->uploaded, len);
    reply->uploaded += len;
    if (reply->uploaded == reply->upload.len && !reply->never_ends)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)len;
}

/* `window`: the initial window of a stream, which is never enlarged; NULL: the default. */
static inline void h2_open(struct h2 *h2, int port, const uint32_t *window)
{
    *h2 = (struct h2){ .raw = raw_connect(port), .goaway = -1 };
    assert_true(raw_tls(&h2->raw, &(struct raw_tls){ .alpn = "\x02h2" }));
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
    assert_int_equal(nghttp2_option_new(&option), 0);
    /* The session must not validate what the tests send. */
    nghttp2_option_set_no_http_messaging(option, 1);
    nghttp2_option_set_no_auto_window_update(option, window != NULL);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, h2_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, h2_on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, h2_on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, h2_on_close);
    assert_int_equal(nghttp2_session_client_new2(&h2->session, callbacks, h2, option), 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_settings_entry entry = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window ? *window : 65535 };
    assert_int_equal(nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, &entry, 1), 0);
}

static inline void h2_push(struct h2 *h2)
{
    const uint8_t *bytes;
    ssize_t n;
    while (!h2->write_closed && (n = nghttp2_session_mem_send(h2->session, &bytes)) > 0)
        h2->write_closed = !raw_send_bytes(&h2->raw, (const char *)bytes, (size_t)n);
}

/* Sends pending data, and reads once. */
static inline void h2_pump(struct h2 *h2)
{
    h2_push(h2);
    strbuf_clear(&h2->raw.unread);
    if (!raw_read(&h2->raw)) {
        h2->ended = true;
        return;
    }
    ssize_t n =
        nghttp2_session_mem_recv(h2->session, (const uint8_t *)h2->raw.unread.text, h2->raw.unread.len);
    assert_int_equal(n, h2->raw.unread.len);
    strbuf_clear(&h2->raw.unread);
    h2_push(h2);
}

/* A request with these fields: "name", "value" and so on up to NULL, unchanged. */
static inline struct h2_reply *h2_send(struct h2 *h2, const char *const *fields, const char *upload,
                                       bool never_ends)
{
    struct h2_reply *reply = xcalloc(1, sizeof(*reply));
    *vec_push(&h2->replies) = reply;
    reply->upload = str_from(upload);
    reply->never_ends = never_ends;
    nghttp2_nv all[200];
    size_t len = 0;
    for (; fields[2 * len]; len++)
        all[len] = (nghttp2_nv){ .name = (uint8_t *)fields[2 * len],
                                 .namelen = strlen(fields[2 * len]),
                                 .value = (uint8_t *)fields[2 * len + 1],
                                 .valuelen = strlen(fields[2 * len + 1]),
                                 .flags = NGHTTP2_NV_FLAG_NO_COPY_NAME };
    nghttp2_data_provider source = { .source.ptr = reply, .read_callback = h2_upload };
    reply->id =
        nghttp2_submit_request(h2->session, NULL, all, len, upload || never_ends ? &source : NULL, reply);
    assert_true(reply->id > 0);
    return reply;
}

static inline struct h2_reply *h2_request(struct h2 *h2, const char *method, const char *path)
{
    const char *fields[] = { ":method", method, ":scheme", "https", ":path", path, ":authority", "x", NULL };
    return h2_send(h2, fields, NULL, false);
}

/* Waits until the stream or the connection has ended. */
static inline void h2_wait(struct h2 *h2, struct h2_reply *reply)
{
    while (!reply->closed && !h2->ended)
        h2_pump(h2);
}

static inline void h2_wait_end(struct h2 *h2)
{
    while (!h2->ended)
        h2_pump(h2);
}

static inline void h2_close(struct h2 *h2)
{
    raw_close(&h2->raw);
    nghttp2_session_del(h2->session);
    vec_for(&h2->replies, reply) {
        strbuf_release(&(*reply)->headers);
        strbuf_release(&(*reply)->body);
        free(*reply);
    }
    vec_release(&h2->replies);
}

/* The bytes of a frame. */
static inline void h2_frame(struct strbuf *out, uint8_t type, uint8_t flags, uint32_t stream,
                            const char *payload, size_t len)
{
    const char head[9] = { (char)(len >> 16),    (char)(len >> 8),    (char)len,
                           (char)type,           (char)flags,         (char)(stream >> 24),
                           (char)(stream >> 16), (char)(stream >> 8), (char)stream };
    strbuf_add(out, head, sizeof(head));
    strbuf_add(out, payload, len);
}

#define H2_MAGIC "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
/* GET https://x/keep, and PUT */
#define H2_GET_KEEP "\x82\x87\x04\x05/keep\x01\x01x"
#define H2_PUT_KEEP "\x02\x03PUT\x87\x04\x05/keep\x01\x01x"

#endif
