/* server_http2_stream.c: a stream: what it holds of its request, and its response. */
#include <stdio.h>
#include <stdlib.h>

#include "server/server_http2_impl.h"

enum { HELD_TIMES = 2 };

void http2_deadline(struct http2 *http2, int64_t *deadline_ns, int64_t ms)
{
    *deadline_ns = monotonic_ns() + ms * NS_PER_MS;
    conn_deadline_by(http2->conn, *deadline_ns);
}

bool http2_stream_hold(struct stream *stream)
{
    struct http2 *http2 = stream->http2;
    const struct server_limits *limits = &http2->conn->server->limits;
    const struct server_request *request = stream->request;
    size_t bytes = 0;
    if (request)
        bytes = sizeof(*stream) + sizeof(*request) + request->arena.total_bytes +
                request->headers.cap * sizeof(*request->headers.items) + stream->body.cap;
    http2->held += bytes - stream->held;
    stream->held = bytes;
    return http2->held <= HELD_TIMES * (limits->header_bytes_max + http2->body_bytes_max);
}

struct stream *http2_stream_new(struct http2 *http2, int32_t id)
{
    struct stream *stream = xcalloc(1, sizeof(*stream));
    stream->http2 = http2;
    stream->id = id;
    stream->request = request_new();
    stream->body.secret = true;
    stream->pending.stream = stream;
    list_append(&http2->all, &stream->all);
    http2->idle_ns = INT64_MAX;
    http2_deadline(http2, &stream->deadline_ns, http2->conn->server->limits.header_ms);
    http2_stream_hold(stream);
    return stream;
}

void http2_stream_forget(struct stream *stream)
{
    stream->http2->at_host -= stream->pending.id != 0 && stream->phase == STREAM_AT_HOST;
    conn_forget(&stream->pending);
}

/* What waits to be read of the response has changed. */
static void count_body(struct stream *stream)
{
    size_t more = stream->body.cap - stream->counted; /* may be less than nothing, modulo */
    if (stream->is_answer)
        stream->http2->answers += more;
    atomic_fetch_add(&stream->http2->conn->server->response_bytes, more);
    stream->counted = stream->body.cap;
}

/* The request is refused, or at the host. */
static void drop_request(struct stream *stream)
{
    server_request_free(stream->request);
    stream->request = NULL;
    strbuf_release(&stream->body);
    http2_stream_hold(stream);
}

void http2_stream_free(struct stream *stream)
{
    struct http2 *http2 = stream->http2;
    if (stream->phase == STREAM_READY)
        list_remove(&http2->ready, &stream->ready);
    list_remove(&http2->all, &stream->all);
    if (stream->phase == STREAM_STREAMING) {
        http2->streaming--;
        server_stream_closed(http2->conn->server, &stream->pending);
    }
    http2_stream_forget(stream);
    drop_request(stream);
    if (stream->counted)
        count_body(stream);
    free(stream);
    if (list_empty(&http2->all))
        http2_deadline(http2, &http2->idle_ns, http2->conn->server->limits.idle_ms);
}

int http2_stream_reset(struct stream *stream, uint32_t code)
{
    return nghttp2_submit_rst_stream(stream->http2->session, NGHTTP2_FLAG_NONE, stream->id, code);
}

/* The fields of a response. */
typedef VEC(nghttp2_nv) field_vec;

static void add_field(field_vec *fields, struct str name, struct str value)
{
    *vec_push(fields) = (nghttp2_nv){
        .name = (uint8_t *)name.ptr, .namelen = name.len, .value = (uint8_t *)value.ptr, .valuelen = value.len
    };
}

static ssize_t read_body(nghttp2_session *session _unused_, int32_t id _unused_, uint8_t *buf, size_t size,
                         uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct stream *stream = source->ptr;
    struct http2 *http2 = user;
    size_t len = MIN(size, stream->body.len - stream->sent);
    if (len)
        memcpy(buf, stream->body.text + stream->sent, len);
    stream->sent += len;
    http2->sent += len;
    bool is_all = stream->sent == stream->body.len;
    if (stream->phase != STREAM_STREAMING) {
        *flags |= is_all ? NGHTTP2_DATA_FLAG_EOF : 0;
        return (ssize_t)len;
    }
    http2_deadline(http2, &stream->deadline_ns, http2->conn->server->limits.write_ms);
    if (is_all) {
        stream->sent = 0;
        strbuf_release(&stream->body);
        count_body(stream);
        stream->deadline_ns = INT64_MAX;
        server_stream_emptied(http2->conn->server, &stream->pending);
    }
    stream->deferred = !len;
    return len ? (ssize_t)len : NGHTTP2_ERR_DEFERRED;
}

/* Submits the head, and where it has a body that. */
static int submit(struct stream *stream, const struct server_response *response, bool has_length,
                  bool has_body)
{
    struct http2 *http2 = stream->http2;
    _cleanup_(arena_release) struct arena arena = { 0 };
    field_vec fields = { 0 };
    char date[64];
    conn_date(date);
    http2_deadline(http2, &stream->deadline_ns, http2->conn->server->limits.write_ms);
    drop_request(stream);
    add_field(&fields, STR(":status"), arena_printf(&arena, "%d", response->status));
    for (size_t i = 0; i < response->header_count; i++) {
        const struct server_header *h = &response->headers[i];
        if (conn_takes_header(h))
            add_field(&fields, arena_lower(&arena, h->name), h->value);
    }
    if (has_length)
        add_field(&fields, STR("content-length"), arena_printf(&arena, "%u", response->body.len));
    add_field(&fields, STR("date"), str_from(date));
    if (response->close)
        http2_drain(http2->conn);
    nghttp2_data_provider source = { .source.ptr = stream, .read_callback = read_body };
    int r = nghttp2_submit_response(http2->session, stream->id, fields.items, fields.len,
                                    has_body ? &source : NULL);
    vec_release(&fields);
    return r;
}

int http2_stream_respond(struct stream *stream, const struct server_response *wanted)
{
    struct server_response response = conn_bound(stream->http2->conn->server, wanted);
    bool has_length = response.status != 204 && response.status != 304;
    bool has_body = has_length && response.body.len && !stream->is_head;
    stream->phase = STREAM_ANSWERED;
    int r = submit(stream, &response, has_length, has_body);
    if (has_body) {
        /* Takes the place of the request's body. */
        strbuf_str(&stream->body, response.body);
        stream->is_answer = true;
        count_body(stream);
    }
    return r;
}

/* ---- responses that are made while they are sent ---- */
void http2_stream_begin(struct stream *stream, const struct server_response *response)
{
    struct http2 *http2 = stream->http2;
    http2->at_host--;
    http2->at_host_max = MIN(http2->at_host_max + 1, http2->conn->server->limits.streams_max);
    http2->streaming++;
    stream->phase = STREAM_STREAMING;
    if (submit(stream, response, false, !stream->is_head) != 0)
        http2->failed = true;
}

static void resume(struct stream *stream)
{
    if (stream->deferred && nghttp2_session_resume_data(stream->http2->session, stream->id) != 0)
        stream->http2->failed = true;
    stream->deferred = false;
}

bool http2_stream_write(struct stream *stream, struct str bytes)
{
    struct http2 *http2 = stream->http2;
    struct server *server = http2->conn->server;
    if (stream->is_head)
        return true;
    if (!stream_has_room(server, stream->body.len - stream->sent, bytes.len)) {
        server_stream_closed(server, &stream->pending);
        if (http2_stream_reset(stream, NGHTTP2_ENHANCE_YOUR_CALM) != 0)
            http2->failed = true;
        return false;
    }
    /* What is gone makes room before the buffer grows. */
    if (stream->sent > stream->body.len / 2) {
        strbuf_drop(&stream->body, stream->sent);
        stream->sent = 0;
    }
    if (!stream->body.len)
        http2_deadline(http2, &stream->deadline_ns, server->limits.write_ms);
    strbuf_str(&stream->body, bytes);
    count_body(stream);
    resume(stream);
    return true;
}

size_t http2_stream_queued(const struct stream *stream)
{
    return stream->body.len - stream->sent;
}

void http2_stream_end(struct stream *stream)
{
    struct http2 *http2 = stream->http2;
    http2_stream_forget(stream);
    http2->streaming--;
    stream->phase = STREAM_ANSWERED;
    http2_deadline(http2, &stream->deadline_ns, http2->conn->server->limits.write_ms);
    resume(stream);
}

int http2_stream_refuse(struct stream *stream, int status, const char *why)
{
    static const struct server_header html = { STR("Content-Type"), STR("text/html; charset=utf-8") };
    static const struct server_header plain[] = { { STR("Content-Type"), STR("text/plain; charset=utf-8") },
                                                  { STR("X-Content-Type-Options"), STR("nosniff") } };
    char text[128];
    struct server_response response = { .status = status, .headers = plain, .header_count = why ? 2 : 1 };
    if (status == 431) {
        response.headers = &html;
        response.body = STR("<h1>HTTP Error 431</h1><p>Request Header Field(s) Too Large</p>");
    } else {
        if (why)
            snprintf(text, sizeof(text), "%s\n", why);
        else
            snprintf(text, sizeof(text), "%d %s", status, server_status_text(status));
        response.body = str_from(text);
    }
    atomic_fetch_add(&stream->http2->conn->server->refused, 1);
    return http2_stream_respond(stream, &response);
}
