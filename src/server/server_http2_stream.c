/* server_http2_stream.c: a stream: what it holds of its request, and its answer. */
#include <stdio.h>
#include <stdlib.h>

#include "server/server_http2_impl.h"

enum { HELD_TIMES = 2 };

void http2_deadline(struct http2 *http2, int64_t *deadline_ns, int64_t ms)
{
    struct conn *conn = http2->conn;
    *deadline_ns = monotonic_ns() + ms * NS_PER_MS;
    conn_deadline_by(conn, *deadline_ns);
}

void http2_stream_hold(struct http2 *http2, struct stream *stream, size_t bytes)
{
    http2->held += bytes - stream->held;
    stream->held = bytes;
}

bool http2_stream_crowd(const struct http2 *http2)
{
    const struct server_limits *limits = &http2->conn->server->limits;
    return http2->held > HELD_TIMES * (limits->header_bytes_max + limits->body_bytes_max);
}

struct stream *http2_stream_new(struct http2 *http2, int32_t id)
{
    struct stream *stream = xcalloc(1, sizeof(*stream));
    stream->id = id;
    list_append(&http2->all, &stream->all);
    http2->idle_ns = INT64_MAX;
    http2_deadline(http2, &stream->deadline_ns, http2->conn->server->limits.header_ms);
    http2_stream_hold(http2, stream, sizeof(*stream));
    return stream;
}

void http2_stream_free(struct http2 *http2, struct stream *stream)
{
    if (stream->phase == STREAM_READY)
        list_remove(&http2->ready, &stream->ready);
    list_remove(&http2->all, &stream->all);
    if (stream->request_id)
        idmap_remove(&http2->asked, stream->request_id);
    http2_stream_hold(http2, stream, 0);
    http2->answers -= stream->counted;
    atomic_fetch_sub(&http2->conn->server->response_bytes, stream->counted);
    http2_head_release(&stream->head);
    strbuf_release(&stream->body);
    free(stream);
    if (list_empty(&http2->all))
        http2_deadline(http2, &http2->idle_ns, http2->conn->server->limits.idle_ms);
}

int http2_stream_reset(struct http2 *http2, struct stream *stream, uint32_t code)
{
    return nghttp2_submit_rst_stream(http2->session, NGHTTP2_FLAG_NONE, stream->id, code);
}

/* The headers of an answer, "Name: value\r\n" each, as nghttp2 wants them; names in lower case. */
struct fields {
    VEC(nghttp2_nv) all;
};

static void add_field(struct fields *fields, struct str name, struct str value)
{
    *vec_push(&fields->all) = (nghttp2_nv){
        .name = (uint8_t *)name.ptr, .namelen = name.len, .value = (uint8_t *)value.ptr, .valuelen = value.len
    };
}

static void add_headers(struct fields *fields, struct strbuf *text)
{
    char *line = text->text, *end;
    while (line && (end = strstr(line, "\r\n"))) {
        char *colon = memchr(line, ':', (size_t)(end - line));
        for (char *c = line; c < colon; c++)
            if (*c >= 'A' && *c <= 'Z')
                *c = (char)(*c + 'a' - 'A');
        if (colon)
            add_field(fields, (struct str){ line, (uint32_t)(colon - line) },
                      (struct str){ colon + 2, (uint32_t)(end - colon - 2) });
        line = end + 2;
    }
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
static void keep_answer(struct http2 *http2, struct stream *stream, struct str body)
{
    strbuf_str(&stream->body, body);
    stream->counted = stream->body.cap;
    http2->answers += stream->counted;
    atomic_fetch_add(&http2->conn->server->response_bytes, stream->counted);
}

int http2_stream_respond(struct http2 *http2, struct stream *stream, const struct reply *wanted)
{
    struct server *server = http2->conn->server;
    struct reply reply = conn_reply(server, wanted);
    stream->phase = STREAM_ANSWERED;
    http2_deadline(http2, &stream->deadline_ns, server->limits.write_ms);
    http2_head_release(&stream->head);
    strbuf_release(&stream->body);
    http2_stream_hold(http2, stream, 0);
    bool has_body = reply.status != 204 && reply.status != 304;
    char status[16], length[24], date[64];
    snprintf(status, sizeof(status), "%d", reply.status);
    snprintf(length, sizeof(length), "%u", reply.body.len);
    conn_date(date);
    struct strbuf headers = { 0 };
    strbuf_str(&headers, reply.headers);
    struct fields fields = { 0 };
    add_field(&fields, STR(":status"), str_from(status));
    add_headers(&fields, &headers);
    if (has_body)
        add_field(&fields, STR("content-length"), str_from(length));
    add_field(&fields, STR("date"), str_from(date));
    nghttp2_data_provider source = { .source.ptr = stream, .read_callback = read_answer };
    has_body = has_body && reply.body.len && !stream->is_head;
    if (reply.close)
        http2_drain(http2->conn);
    if (has_body)
        keep_answer(http2, stream, reply.body);
    int r = nghttp2_submit_response(http2->session, stream->id, fields.all.items, fields.all.len,
                                    has_body ? &source : NULL);
    vec_release(&fields.all);
    strbuf_release(&headers);
    return r;
}

int http2_stream_refuse(struct http2 *http2, struct stream *stream, int status, const char *why)
{
    char text[128];
    struct reply reply = {
        .status = status,
        .headers = STR("Content-Type: text/plain; charset=utf-8\r\n"),
    };
    if (status == 431) {
        reply.headers = STR("Content-Type: text/html; charset=utf-8\r\n");
        why = "<h1>HTTP Error 431</h1><p>Request Header Field(s) Too Large</p>";
    } else if (why) {
        reply.headers = STR("Content-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n");
    }
    if (status == 431)
        snprintf(text, sizeof(text), "%s", why);
    else if (why)
        snprintf(text, sizeof(text), "%s\n", why);
    else
        snprintf(text, sizeof(text), "%d %s", status, server_status_text(status));
    reply.body = str_from(text);
    atomic_fetch_add(&http2->conn->server->refused, 1);
    return http2_stream_respond(http2, stream, &reply);
}
