/* server_response.c: the head of a response, and what responses may take of memory. */
#include <time.h>

#include "server/server_impl.h"

static const struct {
    int status;
    const char *text;
} status_texts[] = {
    { 200, "OK" },
    { 201, "Created" },
    { 202, "Accepted" },
    { 204, "No Content" },
    { 302, "Found" },
    { 304, "Not Modified" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 406, "Not Acceptable" },
    { 409, "Conflict" },
    { 410, "Gone" },
    { 413, "Request Entity Too Large" },
    { 415, "Unsupported Media Type" },
    { 422, "Unprocessable Entity" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 503, "Service Unavailable" },
    { 504, "Gateway Timeout" },
    { 505, "HTTP Version Not Supported" },
};

const char *server_status_text(int status)
{
    for (size_t i = 0; i < ARRAY_SIZE(status_texts); i++)
        if (status_texts[i].status == status)
            return status_texts[i].text;
    return "";
}

void conn_date(char text[64])
{
    time_t now = time(NULL);
    struct tm tm;
    if (!strftime(text, 64, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm)))
        text[0] = '\0';
}

struct server_response conn_bound(const struct server *server, const struct server_response *wanted)
{
    static const struct server_header plain_text = { STR("Content-Type"), STR("text/plain; charset=utf-8") };
    size_t waiting = atomic_load(&server->response_bytes), max = server->limits.response_bytes_max;
    if (wanted->body.len <= max && waiting <= max - wanted->body.len)
        return *wanted;
    return (struct server_response){ 503, &plain_text, 1, STR("too many answers wait to be read\n"), true };
}

bool conn_takes_header(const struct server_header *header)
{
    return parse_is_token(header->name) && parse_is_value(header->value);
}

void conn_head(struct conn *conn, const struct server_response *response, enum body_framing framing)
{
    struct strbuf *out = &conn->out;
    char date[64];
    conn_date(date);
    strbuf_printf(out, "HTTP/1.1 %d %s\r\n", response->status, server_status_text(response->status));
    for (size_t i = 0; i < response->header_count; i++) {
        const struct server_header *h = &response->headers[i];
        if (conn_takes_header(h))
            strbuf_printf(out, STR_FMT ": " STR_FMT "\r\n", STR_ARG(h->name), STR_ARG(h->value));
    }
    strbuf_printf(out, "Date: %s\r\n", date);
    if (framing == BODY_IN_CHUNKS)
        strbuf_puts(out, "Transfer-Encoding: chunked\r\n");
    else if (framing == BODY_WITH_LENGTH && response->status != 204 && response->status != 304)
        strbuf_printf(out, "Content-Length: %u\r\n", response->body.len);
    if (conn->close_after)
        strbuf_puts(out, "Connection: close\r\n");
    else if (conn->framing.http10)
        strbuf_puts(out, "Connection: keep-alive\r\n");
    strbuf_puts(out, "\r\n");
}

/* ---- responses that are made while they are sent ---- */
bool stream_has_room(const struct server *server, size_t queued, size_t more)
{
    return queued + more <= server->limits.stream_bytes_max &&
           atomic_load(&server->response_bytes) + more <= server->limits.response_bytes_max;
}

size_t server_body_bytes_max(const struct server *server, const struct server_request *head)
{
    size_t max = server->limits.body_bytes_max;
    return server->options.body_bytes_max
               ? MIN(max, server->options.body_bytes_max(server->options.user, head))
               : max;
}

static void tell_room(struct loop_call *call)
{
    struct server *server = container_of(call, struct server, tell_room);
    __typeof__(server->roomy) ids = server->roomy;
    server->roomy = (__typeof__(ids)){ 0 };
    vec_for(&ids, id)
        if (server->options.on_stream_room)
            server->options.on_stream_room(server->options.user, *id);
    vec_release(&ids);
}

void server_stream_emptied(struct server *server, struct pending *pending)
{
    if (!pending->awaits_room)
        return;
    pending->awaits_room = false;
    if (!server->roomy.len) {
        server->tell_room.run = tell_room;
        loop_post(server->loop, &server->tell_room);
    }
    *vec_push(&server->roomy) = pending->id;
}

static void tell_closed(struct loop_call *call)
{
    struct server *server = container_of(call, struct server, tell_closed);
    server_tell_closed(server);
}

void server_tell_closed(struct server *server)
{
    for (size_t i = 0; i < server->closed.len; i++)
        if (server->options.on_stream_closed)
            server->options.on_stream_closed(server->options.user, server->closed.items[i]);
    vec_release(&server->closed);
}

void server_stream_closed(struct server *server, struct pending *pending)
{
    if (!pending->id)
        return;
    if (!server->closed.len) {
        server->tell_closed.run = tell_closed;
        loop_post(server->loop, &server->tell_closed);
    }
    *vec_push(&server->closed) = pending->id;
    conn_forget(pending);
}

/* The stream of this id, or NULL. */
static struct pending *streaming(struct server *server, uint64_t id)
{
    assert(loop_is_here(server->loop));
    struct pending *pending = idmap_get(&server->pending, id);
    return pending && pending->is_stream ? pending : NULL;
}

/* The caller of on_request() sends what is there; outside of it, that is for the next turn. */
static void send_soon(struct conn *conn)
{
    if (!conn->dispatching)
        conn_run_soon(conn);
}

static void end(struct pending *pending)
{
    if (pending->stream)
        http2_stream_end(pending->stream);
    else
        conn_stream_end(pending->conn);
}

bool server_stream_begin(struct server *server, uint64_t id, const struct server_response *response)
{
    assert(loop_is_here(server->loop));
    struct pending *pending = idmap_get(&server->pending, id);
    if (!pending || pending->is_stream)
        return false;
    if (pending->stream && !http2_is_awaited(pending->stream)) {
        http2_respond(pending->stream, response);
        return false;
    }
    struct conn *conn = pending->conn;
    pending->is_stream = true;
    if (pending->stream)
        http2_stream_begin(pending->stream, response);
    else
        conn_stream_begin(conn, response);
    if (response->body.len)
        server_stream_write(server, id, response->body);
    if (server->draining && streaming(server, id)) {
        server_stream_closed(server, pending);
        end(pending);
    }
    send_soon(conn);
    return true;
}

bool server_stream_write(struct server *server, uint64_t id, struct str bytes)
{
    struct pending *pending = streaming(server, id);
    if (!pending)
        return false;
    if (!bytes.len)
        return true;
    struct conn *conn = pending->conn;
    bool queued =
        pending->stream ? http2_stream_write(pending->stream, bytes) : conn_stream_write(conn, bytes);
    send_soon(conn);
    return queued;
}

bool server_stream_is_full(struct server *server, uint64_t id)
{
    struct pending *pending = streaming(server, id);
    if (!pending)
        return false;
    const struct conn *conn = pending->conn;
    size_t queued = pending->stream ? http2_stream_queued(pending->stream) : conn->out.len - conn->out_sent;
    bool is_full = queued >= server->limits.stream_full_bytes;
    pending->awaits_room = pending->awaits_room || is_full;
    return is_full;
}

void server_stream_end(struct server *server, uint64_t id)
{
    struct pending *pending = streaming(server, id);
    if (!pending)
        return;
    struct conn *conn = pending->conn;
    end(pending);
    send_soon(conn);
}
