/* Any bytes from an HTTP/2 client after its preface, at once or in pieces: no memory may leak, and the output consists
 * of frames. The first byte selects how much arrives at once, and whether every deadline has passed after each piece.
 * The connection is the server's own, over a pair of sockets, without its thread. */
#include "server/server_http2_impl.h"

#include "fuzz/connection.h"

#define GREETING "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"

enum {
    HEADER_BYTES_MAX = 2048,
    BODY_BYTES_MAX = 1024,
    STREAMS_MAX = 5,
    LATER_MAX = 64,
    BIG_BYTES = 100000,
    EXPIRES = 0x80
};

struct seen {
    struct connection connection;
    uint64_t later[LATER_MAX]; /* requests to answer after the next piece */
    size_t later_count;
    struct strbuf out; /* unread frames of the server */
    bool begun;
    char big[BIG_BYTES];
};

static void on_request(void *user, struct server_request *request)
{
    struct seen *seen = user;
    must(request->method.len && request->path.len);
    must(request->path.ptr[0] == '/' || str_is(request->path, "*"));
    must(!memchr(request->path.ptr, '\0', request->path.len));
    must(request->headers.len <= PARSE_HEADERS_MAX);
    must(request->body.len <= BODY_BYTES_MAX);
    vec_for(&request->headers, header)
        must(parse_is_token(header->name) && header->name.ptr[0] != ':' && parse_is_value(header->value));
    const struct server_header headers[] = { { STR("X"), STR("y") }, { STR("Content-Type"), STR("z") } };
    struct server_response response = { 200, headers, ARRAY_SIZE(headers), request->body, false };
    if (str_is(request->path, "/big"))
        response.body = (struct str){ seen->big, BIG_BYTES };
    must(idmap_get(&seen->connection.server.pending, request->id));
    if (str_is(request->path, "/later") && seen->later_count < LATER_MAX)
        seen->later[seen->later_count++] = request->id;
    else
        server_respond(&seen->connection.server, request->id, &response);
    server_request_free(request);
}

/* The client receives frames, SETTINGS first. */
static void drain(void *user, int fd)
{
    struct seen *seen = user;
    const struct http2 *http2 = connection_is_over(&seen->connection) ? NULL : seen->connection.conn->http2;
    char buf[4096];
    ssize_t n;
    while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
        strbuf_add(&seen->out, buf, (size_t)n);
    size_t at = 0;
    while (seen->out.len - at >= 9) {
        const uint8_t *head = (const uint8_t *)seen->out.text + at;
        size_t len = 9 + ((size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2]);
        must(len <= 9 + (1 << 24) && head[3] <= NGHTTP2_CONTINUATION);
        must(seen->begun || head[3] == NGHTTP2_SETTINGS);
        seen->begun = true;
        if (seen->out.len - at < len)
            break;
        at += len;
    }
    if (at)
        memmove(seen->out.text, seen->out.text + at, seen->out.len - at);
    seen->out.len -= at;
    must(!http2 || http2->held <= 4 * (HEADER_BYTES_MAX + BODY_BYTES_MAX) + sizeof(struct stream) * 200);
    must(!http2 || http2->open <= STREAMS_MAX);
}

static void answer_later(struct seen *seen)
{
    for (size_t i = 0; i < seen->later_count; i++)
        server_respond(&seen->connection.server, seen->later[i],
                       &(struct server_response){ .status = 404, .body = STR("later") });
    seen->later_count = 0;
}

static void play(struct seen *seen, struct str bytes, size_t step, bool expires)
{
    struct connection *connection = &seen->connection;
    http2_begin(connection->conn);
    must(connection_send(connection, STR(GREETING)));
    connection_run(connection, drain, seen);
    for (size_t at = 0; at < bytes.len && !connection_is_over(connection); at += step) {
        /* The server may have closed the connection. */
        if (!connection_send(connection, str_slice(bytes, at, MIN(at + step, (size_t)bytes.len))))
            break;
        connection_run(connection, drain, seen);
        if (expires && !connection_is_over(connection))
            conn_expire(connection->conn);
        answer_later(seen);
    }
    if (!connection_is_over(connection))
        conn_drain(connection->conn);
    connection_run(connection, drain, seen);
    shutdown(connection->client, SHUT_WR);
    connection_run(connection, drain, seen);
}

static void feed(struct str bytes, size_t step, bool expires)
{
    static struct seen seen;
    int64_t ms = expires ? 0 : 1000;
    const struct server_limits limits = { .connections_max = 1,
                                          .header_bytes_max = HEADER_BYTES_MAX,
                                          .body_bytes_max = BODY_BYTES_MAX,
                                          .streams_max = STREAMS_MAX,
                                          .response_bytes_max = 1 << 20,
                                          .handshake_ms = 1000,
                                          .header_ms = ms,
                                          .body_ms = ms,
                                          .answer_ms = ms,
                                          .write_ms = ms,
                                          .idle_ms = 1000,
                                          .linger_ms = 1000 };
    seen = (struct seen){ 0 };
    connection_open(&seen.connection, limits, on_request, &seen);
    play(&seen, bytes, step, expires);
    connection_close(&seen.connection);
    strbuf_release(&seen.out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 16384)
        return 0;
    struct str bytes = { (const char *)data + 1, (uint32_t)(size - 1) };
    bool expires = data[0] & EXPIRES;
    feed(bytes, MAX(bytes.len, 1), expires);
    feed(bytes, 1 + (data[0] & ~EXPIRES), expires);
    return 0;
}
