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
    return http2->held <= HELD_TIMES * (limits->header_bytes_max + limits->body_bytes_max);
}

struct stream *http2_stream_new(struct http2 *http2, int32_t id)
{
    struct stream *stream = xcalloc(1, sizeof(*stream));
    stream->http2 = http2;
    stream->id = id;
    stream->request = xcalloc(1, sizeof(*stream->request));
    stream->pending.stream = stream;
    list_append(&http2->all, &stream->all);
    http2->idle_ns = INT64_MAX;
    http2_deadline(http2, &stream->deadline_ns, http2->conn->server->limits.header_ms);
    http2_stream_hold(stream);
    return stream;
}

void http2_stream_forget(struct stream *stream)
{
    stream->http2->at_host -= stream->pending.id != 0;
    conn_forget(&stream->pending);
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
    http2_stream_forget(stream);
    http2->answers -= stream->counted;
    atomic_fetch_sub(&http2->conn->server->response_bytes, stream->counted);
    drop_request(stream);
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

static ssize_t read_answer(nghttp2_session *session _unused_, int32_t id _unused_, uint8_t *buf, size_t size,
                           uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct stream *stream = source->ptr;
    struct http2 *http2 = user;
    size_t len = MIN(size, stream->body.len - stream->sent);
    memcpy(buf, stream->body.text + stream->sent, len);
    stream->sent += len;
    http2->sent += len;
    if (stream->sent == stream->body.len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)len;
}

/* Takes the place of the request's body. */
static void keep_body(struct stream *stream, struct str body)
{
    strbuf_str(&stream->body, body);
    stream->counted = stream->body.cap;
    stream->http2->answers += stream->counted;
    atomic_fetch_add(&stream->http2->conn->server->response_bytes, stream->counted);
}

int http2_stream_respond(struct stream *stream, const struct server_response *wanted)
{
    struct http2 *http2 = stream->http2;
    struct server *server = http2->conn->server;
    struct server_response response = conn_bound(server, wanted);
    _cleanup_(arena_release) struct arena arena = { 0 };
    field_vec fields = { 0 };
    char date[64];
    conn_date(date);
    stream->phase = STREAM_ANSWERED;
    http2_deadline(http2, &stream->deadline_ns, server->limits.write_ms);
    drop_request(stream);
    bool has_body = response.status != 204 && response.status != 304;
    add_field(&fields, STR(":status"), arena_printf(&arena, "%d", response.status));
    for (size_t i = 0; i < response.header_count; i++) {
        const struct server_header *h = &response.headers[i];
        if (conn_takes_header(h))
            add_field(&fields, arena_lower(&arena, h->name), h->value);
    }
    if (has_body)
        add_field(&fields, STR("content-length"), arena_printf(&arena, "%u", response.body.len));
    add_field(&fields, STR("date"), str_from(date));
    if (response.close)
        http2_drain(http2->conn);
    has_body = has_body && response.body.len && !stream->is_head;
    if (has_body)
        keep_body(stream, response.body);
    nghttp2_data_provider source = { .source.ptr = stream, .read_callback = read_answer };
    int r = nghttp2_submit_response(http2->session, stream->id, fields.items, fields.len,
                                    has_body ? &source : NULL);
    vec_release(&fields);
    return r;
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
