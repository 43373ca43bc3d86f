/* Any bytes from a client of the HTTP server, at once or in pieces: they give requests or errors, the same requests
 * however the bytes are split, and every response is well formed. The first byte selects how much arrives at once. The
 * connection is the server's own, over a pair of sockets, without its thread. */
#include "fuzz/connection.h"

enum { HEADER_BYTES_MAX = 2048, BODY_BYTES_MAX = 1024 };

/* The requests, for comparison. */
struct seen {
    uint64_t hash;
    size_t requests;
    bool begun; /* the answers */
    struct conn *conn;
};

static void see(struct seen *seen, struct str text)
{
    seen->hash = hash_bytes(text.ptr, text.len, seen->hash + 1);
}

static void on_request(void *user, struct server_request *request)
{
    struct seen *seen = user;
    seen->requests++;
    see(seen, request->method);
    see(seen, request->path);
    see(seen, request->query);
    see(seen, request->body);
    must(request->method.len && request->path.len);
    must(!memchr(request->path.ptr, '\0', request->path.len));
    must(request->headers.len <= PARSE_HEADERS_MAX);
    vec_for(&request->headers, header) {
        see(seen, header->name);
        see(seen, header->value);
        must(header->name.len);
        must(!memchr(header->name.ptr, '\n', header->name.len));
    }
    const struct server_header header = { STR("X"), STR("y") };
    struct server_response response = { 200, &header, 1, request->body, false };
    must(idmap_get(&seen->conn->server->pending, request->id));
    server_respond(seen->conn->server, request->id, &response);
    server_request_free(request);
}

/* The client receives responses. */
static void drain(void *user, int fd)
{
    struct seen *seen = user;
    char buf[4096];
    ssize_t n;
    while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
        must(seen->begun || (n >= 9 && memcmp(buf, "HTTP/1.1 ", 9) == 0));
        seen->begun = true;
    }
}

static struct seen feed(struct str bytes, size_t step)
{
    static const struct server_limits limits = { .connections_max = 1,
                                                 .header_bytes_max = HEADER_BYTES_MAX,
                                                 .body_bytes_max = BODY_BYTES_MAX,
                                                 .response_bytes_max = 1 << 20,
                                                 .header_ms = 1000,
                                                 .body_ms = 1000,
                                                 .answer_ms = 1000,
                                                 .write_ms = 1000,
                                                 .idle_ms = 1000,
                                                 .linger_ms = 1000 };
    struct seen seen = { 0 };
    struct connection connection;
    connection_open(&connection, limits, on_request, &seen);
    seen.conn = connection.conn;
    for (size_t at = 0; at < bytes.len && !connection_is_over(&connection); at += step) {
        must(connection_send(&connection, str_slice(bytes, at, MIN(at + step, (size_t)bytes.len))));
        connection_run(&connection, drain, &seen);
        must(seen.conn->in.len <= HEADER_BYTES_MAX + 2 * BODY_BYTES_MAX + 65536);
    }
    shutdown(connection.client, SHUT_WR);
    connection_run(&connection, drain, &seen);
    must(seen.begun || !seen.requests);
    connection_close(&connection);
    return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 16384)
        return 0;
    struct str bytes = { (const char *)data + 1, (uint32_t)(size - 1) };
    struct seen at_once = feed(bytes, MAX(bytes.len, 1)), pieces = feed(bytes, 1 + data[0]);
    must(at_once.requests == pieces.requests && at_once.hash == pieces.hash);
    return 0;
}
