/* server_http2.c: the streams of a connection, and what they may cost.
 *
 * What a connection can hold is bounded: incomplete requests by the size of a few, and the host gets no more requests
 * while ANSWERS_BYTES_MAX of its responses wait to be read. Requests at the host are at most as many as streams (one
 * whose client has reset it counts until the host has answered); but a client begins with AT_HOST_MIN, and gets one
 * more with each response after which the host keeps the connection. So an unauthenticated client cannot trigger a
 * hundred TokenReviews at once.
 *
 * What a client can make the server do for nothing is bounded by its `credit`: frames that carry nothing, and requests
 * that are taken back, use it up; time, and responses that are read, restore it. A client without credit is told
 * ENHANCE_YOUR_CALM. */
#include <stdlib.h>

#include "base/secret.h"
#include "server/server_http2_impl.h"

enum {
    OUT_BYTES_MAX = 32 << 10,
    KEPT_BYTES_MAX = 4 << 10,
    ANSWERS_BYTES_MAX = 1 << 20,
    AT_HOST_MIN = 4,
    FRAME_HEAD_BYTES = 9,
    GOAWAY_BYTES = 8,
    SETTING_BYTES = 6,
    EMPTY_BYTES_MAX = 64, /* a frame with less data is as good as empty */

    CREDIT_MAX = 2000,
    CREDIT_PER_S = 50,
    CREDIT_PER_ANSWER = 4,
    SENT_BYTES_PER_CREDIT = 512,
    COST_FRAME = 1,
    COST_VAIN = 10, /* a request that came to nothing */
};

static void earn(struct http2 *http2, int64_t credit)
{
    http2->credit = MIN(http2->credit + credit, (int64_t)CREDIT_MAX);
}

/* For nghttp2's callbacks: an error ends the connection. */
static int pay(struct http2 *http2, int64_t cost)
{
    http2->credit -= cost;
    if (http2->credit >= 0)
        return 0;
    http2->code = NGHTTP2_ENHANCE_YOUR_CALM;
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static void earn_by_time(struct http2 *http2)
{
    int64_t credit = (http2->conn->active_ns - http2->credit_ns) / (1000000000 / CREDIT_PER_S);
    if (credit <= 0)
        return;
    earn(http2, credit);
    http2->credit_ns = http2->conn->active_ns;
}

static struct stream *stream_of(struct http2 *http2, int32_t id)
{
    return nghttp2_session_get_stream_user_data(http2->session, id);
}

/* The request is complete. */
static int make_ready(struct http2 *http2, struct stream *stream)
{
    if (stream->framing.has_length && stream->framing.content_length != stream->body.len &&
        stream->phase == STREAM_BODY)
        return http2_stream_reset(stream, NGHTTP2_PROTOCOL_ERROR);
    stream->phase = STREAM_READY;
    http2_deadline(http2, &stream->deadline_ns, http2->conn->server->limits.write_ms);
    list_append(&http2->ready, &stream->ready);
    return 0;
}

static int invite_body(struct http2 *http2, struct stream *stream)
{
    stream->phase = STREAM_BODY;
    http2_deadline(http2, &stream->deadline_ns, http2->conn->server->limits.body_ms);
    if (!stream->framing.expects_continue)
        return 0;
    nghttp2_nv go_on = { (uint8_t *)":status", (uint8_t *)"100", 7, 3, NGHTTP2_NV_FLAG_NONE };
    return nghttp2_submit_headers(http2->session, NGHTTP2_FLAG_NONE, stream->id, NULL, &go_on, 1, NULL);
}

static int end_head(struct http2 *http2, struct stream *stream)
{
    const char *why;
    int r = http2_head_end(stream, &why);
    if (r == HTTP2_MALFORMED)
        return http2_stream_reset(stream, NGHTTP2_PROTOCOL_ERROR);
    if (r != PARSE_DONE)
        return http2_stream_refuse(stream, r, why);
    stream->body_bytes_max = server_body_bytes_max(http2->conn->server, stream->request);
    http2->body_bytes_max = MAX(http2->body_bytes_max, stream->body_bytes_max);
    if (!http2_stream_hold(stream))
        return http2_stream_reset(stream, NGHTTP2_REFUSED_STREAM);
    if (stream->ended)
        return make_ready(http2, stream);
    if (stream->framing.content_length > stream->body_bytes_max)
        return http2_stream_refuse(stream, 413, NULL);
    return invite_body(http2, stream);
}

/* More streams than a client may have: those that it has go on. Whether it could know is in the code. */
static int refuse_stream(struct http2 *http2, int32_t id)
{
    uint32_t code = http2->agreed ? NGHTTP2_PROTOCOL_ERROR : NGHTTP2_REFUSED_STREAM;
    int r = nghttp2_submit_rst_stream(http2->session, NGHTTP2_FLAG_NONE, id, code);
    return r != 0 ? r : pay(http2, COST_VAIN);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct http2 *http2 = user;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    if (http2->open >= http2->conn->server->limits.streams_max)
        return refuse_stream(http2, frame->hd.stream_id);
    http2->open++;
    return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id,
                                                http2_stream_new(http2, frame->hd.stream_id));
}

static int on_header(nghttp2_session *session _unused_, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags _unused_,
                     void *user)
{
    struct http2 *http2 = user;
    struct stream *stream = stream_of(http2, frame->hd.stream_id);
    if (!stream)
        return 0;
    /* Trailers are ignored, but have to be trailers. */
    if (stream->phase == STREAM_HEAD)
        http2_head_add(stream, (struct str){ (const char *)name, (uint32_t)name_len },
                       (struct str){ (const char *)value, (uint32_t)value_len });
    else if (name_len && name[0] == ':')
        return http2_stream_reset(stream, NGHTTP2_PROTOCOL_ERROR);
    return 0;
}

static int on_data(nghttp2_session *session _unused_, uint8_t flags _unused_, int32_t id,
                   const uint8_t *bytes, size_t len, void *user)
{
    struct http2 *http2 = user;
    struct stream *stream = stream_of(http2, id);
    if (!stream || stream->phase != STREAM_BODY)
        return 0;
    size_t all = stream->body.len + len;
    if (all > stream->body_bytes_max)
        return http2_stream_refuse(stream, 413, NULL);
    if (stream->framing.has_length && all > stream->framing.content_length)
        return http2_stream_reset(stream, NGHTTP2_PROTOCOL_ERROR);
    strbuf_add(&stream->body, (const char *)bytes, len);
    return http2_stream_hold(stream) ? 0 : http2_stream_reset(stream, NGHTTP2_REFUSED_STREAM);
}

/* Every frame, before anything is done with it. */
static int on_begin_frame(nghttp2_session *session _unused_, const nghttp2_frame_hd *hd, void *user)
{
    struct http2 *http2 = user;
    bool carries =
        hd->type == NGHTTP2_HEADERS ||
        (hd->type == NGHTTP2_DATA && (hd->length >= EMPTY_BYTES_MAX || hd->flags & NGHTTP2_FLAG_END_STREAM));
    return carries ? 0 : pay(http2, COST_FRAME);
}

static int on_frame(nghttp2_session *session _unused_, const nghttp2_frame *frame, void *user)
{
    struct http2 *http2 = user;
    if (frame->hd.type == NGHTTP2_SETTINGS) {
        http2->greeted = true;
        http2->agreed = http2->agreed || frame->hd.flags & NGHTTP2_FLAG_ACK;
    }
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    struct stream *stream = stream_of(http2, frame->hd.stream_id);
    if (!stream)
        return 0;
    stream->ended = stream->ended || frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (stream->phase == STREAM_HEAD)
        return end_head(http2, stream);
    if (frame->hd.type == NGHTTP2_HEADERS && !stream->ended)
        return http2_stream_reset(stream, NGHTTP2_PROTOCOL_ERROR);
    return stream->phase == STREAM_BODY && stream->ended ? make_ready(http2, stream) : 0;
}

static int on_invalid_frame(nghttp2_session *session _unused_, const nghttp2_frame *frame _unused_,
                            int code _unused_, void *user)
{
    return pay(user, COST_VAIN);
}

/* A response that was complete before its request: the rest of the request is not needed. */
static int on_frame_sent(nghttp2_session *session _unused_, const nghttp2_frame *frame, void *user)
{
    struct http2 *http2 = user;
    bool ends = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
                frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    struct stream *stream = ends ? stream_of(http2, frame->hd.stream_id) : NULL;
    return stream && !stream->ended ? http2_stream_reset(stream, NGHTTP2_NO_ERROR) : 0;
}

static int on_stream_close(nghttp2_session *session _unused_, int32_t id, uint32_t code, void *user)
{
    struct http2 *http2 = user;
    struct stream *stream = stream_of(http2, id);
    if (!stream)
        return 0;
    bool in_vain =
        stream->phase != STREAM_ANSWERED && !(stream->phase == STREAM_STREAMING && code == NGHTTP2_NO_ERROR);
    http2->open--;
    if (stream->phase == STREAM_AT_HOST)
        stream->id = 0;
    else
        http2_stream_free(stream);
    if (in_vain)
        return pay(http2, COST_VAIN);
    if (code == NGHTTP2_NO_ERROR)
        earn(http2, CREDIT_PER_ANSWER);
    return 0;
}

/* nghttp2 has tokens, too. */
static void *mem_malloc(size_t size, void *user _unused_)
{
    return secret_malloc(size);
}

static void mem_free(void *ptr, void *user _unused_)
{
    secret_free(ptr);
}

static void *mem_calloc(size_t count, size_t size, void *user _unused_)
{
    return secret_calloc(count, size);
}

static void *mem_realloc(void *ptr, size_t size, void *user _unused_)
{
    return secret_realloc(ptr, size);
}

static nghttp2_mem memory = { NULL, mem_malloc, mem_free, mem_calloc, mem_realloc };

static int new_session(struct http2 *http2)
{
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    int r = nghttp2_session_callbacks_new(&callbacks);
    if (r == 0)
        r = nghttp2_option_new(&option);
    if (r == 0) {
        nghttp2_option_set_no_http_messaging(option, 1);
        nghttp2_option_set_no_closed_streams(option, 1);
        nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
        r = nghttp2_session_server_new3(&http2->session, callbacks, http2, option, &memory);
    }
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return r;
}

/* One of the connection, without flags. */
static void put_frame(struct strbuf *out, uint8_t type, const uint8_t *payload, size_t len)
{
    const char head[FRAME_HEAD_BYTES] = { (char)(len >> 16), (char)(len >> 8), (char)len, (char)type };
    strbuf_add(out, head, sizeof(head));
    strbuf_add(out, (const char *)payload, len);
}

/* nghttp2 would end the connection of a client that has too many streams. So it knows no limit, and what it would say
 * of that is not sent: the client gets a frame with the limit in its place. */
static int greet(struct http2 *http2)
{
    const struct server_limits *limits = &http2->conn->server->limits;
    nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, UINT32_MAX },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
          (uint32_t)MIN(http2_head_size_max(limits), (size_t)UINT32_MAX) },
        { NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
    };
    uint8_t payload[ARRAY_SIZE(settings) * SETTING_BYTES];
    const uint8_t *unsent;
    int r = nghttp2_submit_settings(http2->session, NGHTTP2_FLAG_NONE, settings, ARRAY_SIZE(settings));
    if (r != 0)
        return r;
    ssize_t n = nghttp2_session_mem_send(http2->session, &unsent);
    if (n < 0)
        return (int)n;
    assert(n == FRAME_HEAD_BYTES + (ssize_t)sizeof(payload));
    settings[0].value = limits->streams_max;
    n = nghttp2_pack_settings_payload(payload, sizeof(payload), settings, ARRAY_SIZE(settings));
    if (n < 0)
        return (int)n;
    put_frame(&http2->conn->out, NGHTTP2_SETTINGS, payload, (size_t)n);
    return 0;
}

void http2_begin(struct conn *conn)
{
    struct http2 *http2 = conn->http2 = xcalloc(1, sizeof(*http2));
    http2->conn = conn;
    http2->at_host_max = AT_HOST_MIN;
    http2->credit = CREDIT_MAX;
    http2->credit_ns = conn->active_ns;
    conn->state = CONN_HTTP2;
    conn->deadline_ns = INT64_MAX;
    /* Until the client's settings have come. */
    http2_deadline(http2, &http2->idle_ns, conn->server->limits.handshake_ms);
    if (new_session(http2) != 0 || greet(http2) != 0)
        conn_close(conn);
}

void http2_free(struct http2 *http2)
{
    if (!http2)
        return;
    list_for_each(&http2->all, struct stream, stream, all)
        http2_stream_free(stream);
    nghttp2_session_del(http2->session);
    free(http2);
}

void http2_refuse(struct conn *conn, uint32_t code)
{
    uint32_t last = 0;
    if (conn->http2)
        last = (uint32_t)nghttp2_session_get_last_proc_stream_id(conn->http2->session);
    uint8_t payload[GOAWAY_BYTES];
    for (int i = 0; i < 4; i++) {
        payload[i] = (uint8_t)(last >> (24 - 8 * i));
        payload[4 + i] = (uint8_t)(code >> (24 - 8 * i));
    }
    put_frame(&conn->out, NGHTTP2_GOAWAY, payload, sizeof(payload));
    atomic_fetch_add(&conn->server->refused, 1);
    conn_finish(conn);
}

/* nghttp2 has given up, or this file has. */
static void fail(struct conn *conn, int error)
{
    struct http2 *http2 = conn->http2;
    /* Its own limits are those on floods. */
    if (!http2->code && error != NGHTTP2_ERR_NOMEM && error != NGHTTP2_ERR_CALLBACK_FAILURE &&
        error != NGHTTP2_ERR_INTERNAL)
        http2->code = NGHTTP2_ENHANCE_YOUR_CALM;
    /* A client that does not speak HTTP/2 would not understand. */
    if (error == NGHTTP2_ERR_BAD_CLIENT_MAGIC) {
        atomic_fetch_add(&conn->server->refused, 1);
        conn_close(conn);
    } else {
        http2_refuse(conn, http2->code ? http2->code : NGHTTP2_INTERNAL_ERROR);
    }
}

void http2_feed(struct conn *conn, const char *bytes, size_t len)
{
    struct http2 *http2 = conn->http2;
    earn_by_time(http2);
    bool greeted = http2->greeted;
    ssize_t n = nghttp2_session_mem_recv(http2->session, (const uint8_t *)bytes, len);
    if (n < 0)
        fail(conn, (int)n);
    else if (!greeted && http2->greeted && list_empty(&http2->all))
        http2_deadline(http2, &http2->idle_ns, conn->server->limits.idle_ms);
}

/* Gives the request to the host. */
static void dispatch(struct http2 *http2, struct stream *stream)
{
    struct server_request *request = stream->request;
    request->body = arena_str(&request->arena, strbuf_slice(&stream->body));
    strbuf_release(&stream->body);
    stream->request = NULL;
    http2_stream_hold(stream);
    list_remove(&http2->ready, &stream->ready);
    stream->phase = STREAM_AT_HOST;
    http2->at_host++;
    http2_deadline(http2, &stream->deadline_ns, http2->conn->server->limits.answer_ms);
    conn_dispatch(http2->conn, &stream->pending, request);
}

bool http2_work(struct conn *conn)
{
    struct http2 *http2 = conn->http2;
    struct stream *stream = list_first(&http2->ready, struct stream, ready);
    bool dispatches = stream && http2->at_host < MIN(http2->at_host_max, conn->server->limits.streams_max) &&
                      http2->answers < ANSWERS_BYTES_MAX;
    if (dispatches)
        dispatch(http2, stream);
    ssize_t n = http2->failed ? NGHTTP2_ERR_INTERNAL : 1;
    while (conn->out.len < OUT_BYTES_MAX && n > 0) {
        const uint8_t *bytes;
        n = nghttp2_session_mem_send(http2->session, &bytes);
        if (n > 0)
            strbuf_add(&conn->out, (const char *)bytes, (size_t)n);
    }
    earn(http2, (int64_t)(http2->sent / SENT_BYTES_PER_CREDIT));
    http2->sent %= SENT_BYTES_PER_CREDIT;
    if (n < 0)
        fail(conn, (int)n);
    else if (!conn->out.len && conn->out.cap > KEPT_BYTES_MAX && list_empty(&http2->all))
        strbuf_release(&conn->out);
    return dispatches || conn->out.len;
}

bool http2_is_over(const struct conn *conn)
{
    nghttp2_session *session = conn->http2->session;
    return !nghttp2_session_want_read(session) && !nghttp2_session_want_write(session);
}

void http2_respond(struct stream *stream, const struct server_response *response)
{
    struct http2 *http2 = stream->http2;
    http2_stream_forget(stream);
    if (!response->close)
        http2->at_host_max = MIN(http2->at_host_max + 1, http2->conn->server->limits.streams_max);
    if (!stream->id)
        http2_stream_free(stream);
    else if (http2_stream_respond(stream, response) != 0)
        http2->failed = true;
}

bool http2_is_awaited(const struct stream *stream)
{
    return stream->id;
}

void http2_patience(struct stream *stream, int64_t ms)
{
    http2_deadline(stream->http2, &stream->deadline_ns, ms);
}

/* False: the connection has to end. */
static bool expire_stream(struct http2 *http2, struct stream *stream)
{
    struct conn *conn = http2->conn;
    bool is_stuck = conn->out_sent < conn->out.len;
    if (stream->phase == STREAM_AT_HOST) {
        http2_stream_forget(stream);
        if (stream->id)
            return http2_stream_refuse(stream, 504, NULL) == 0;
        http2_stream_free(stream);
        return true;
    }
    atomic_fetch_add(&conn->server->refused, 1);
    /* Nothing else can come before the end of a head. */
    if (stream->phase == STREAM_HEAD || is_stuck)
        return false;
    http2_deadline(http2, &stream->deadline_ns, conn->server->limits.linger_ms);
    return http2_stream_reset(stream,
                              stream->phase == STREAM_READY ? NGHTTP2_REFUSED_STREAM : NGHTTP2_CANCEL) == 0;
}

void http2_expire(struct conn *conn)
{
    struct http2 *http2 = conn->http2;
    int64_t now = monotonic_ns();
    bool lives = true;
    conn->deadline_ns = INT64_MAX;
    if (http2->idle_ns <= now) {
        if (!http2->greeted)
            atomic_fetch_add(&conn->server->refused, 1);
        lives = http2->greeted && conn->out_sent == conn->out.len;
        /* Time to say goodbye. */
        http2_drain(conn);
        http2_deadline(http2, &http2->idle_ns, conn->server->limits.linger_ms);
    }
    list_for_each(&http2->all, struct stream, stream, all)
        if (lives && stream->deadline_ns <= now)
            lives = expire_stream(http2, stream);
    if (!lives) {
        conn_close(conn);
        return;
    }
    list_for_each(&http2->all, struct stream, stream, all)
        conn->deadline_ns = MIN(conn->deadline_ns, stream->deadline_ns);
    conn->deadline_ns = MIN(conn->deadline_ns, http2->idle_ns);
    conn_run(conn);
}

void http2_drain(struct conn *conn)
{
    nghttp2_session *session = conn->http2->session;
    list_for_each(&conn->http2->all, struct stream, stream, all)
        if (conn->server->draining && stream->phase == STREAM_STREAMING) {
            server_stream_closed(conn->server, &stream->pending);
            http2_stream_end(stream);
        }
    if (conn->http2->leaves)
        return;
    conn->http2->leaves = true;
    if (nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session),
                              NGHTTP2_NO_ERROR, NULL, 0) != 0)
        conn->http2->failed = true;
}

bool http2_is_idle(const struct conn *conn)
{
    return list_empty(&conn->http2->all);
}

bool http2_is_busy(const struct conn *conn)
{
    return conn->http2->at_host || conn->http2->streaming || conn->http2->answers;
}
