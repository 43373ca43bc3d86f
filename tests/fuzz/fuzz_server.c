/* Any bytes as what a client sends to the HTTP server, whole or in pieces: requests come out or refusals do, the same
 * requests however the bytes were cut, and every answer is one. The first byte says how much arrives at once. The
 * connection is the server's own, over a pair of sockets, without its thread. */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/server_impl.h"

#include "fuzz/fuzz.h"

/* What was seen, for comparison. */
struct seen {
    uint64_t hash;
    size_t requests;
    struct conn *conn;
};

static void see(struct seen *seen, struct str text)
{
    seen->hash = hash_bytes(text.ptr, text.len, seen->hash + 1);
}

static void on_request(void *user, const struct server_request *request)
{
    struct seen *seen = user;
    seen->requests++;
    see(seen, request->method);
    see(seen, request->path);
    see(seen, request->query);
    see(seen, request->body);
    must(request->method.len && request->path.len);
    must(!memchr(request->path.ptr, '\0', request->path.len));
    must(request->header_count <= PARSE_HEADERS_MAX);
    for (size_t i = 0; i < request->header_count; i++) {
        see(seen, request->headers[i].name);
        see(seen, request->headers[i].value);
        must(request->headers[i].name.len);
        must(!memchr(request->headers[i].name.ptr, '\n', request->headers[i].name.len));
    }
    struct reply reply = { 200, STR("X: y\r\n"), request->body, false };
    must(conn_answer(seen->conn, request->id, &reply));
}

/* What the client gets begins as an answer does. */
static void drain(int fd, bool *begun)
{
    char buf[4096];
    ssize_t n;
    while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
        must(*begun || (n >= 9 && memcmp(buf, "HTTP/1.1 ", 9) == 0));
        *begun = true;
    }
}

/* Goes on until the connection waits for more bytes, or is over. */
static void run(struct server *server, struct conn *conn, int client, bool *begun)
{
    do {
        conn->waits_again = false;
        server->again.len = 0;
        conn_run(conn);
        drain(client, begun);
    } while (conn->state != CONN_CLOSED && (server->again.len || conn->interest == EPOLLOUT));
}

static struct seen feed(struct str bytes, size_t step)
{
    struct seen seen = { 0 };
    struct conn *slots[1];
    int pair[2];
    bool begun = false;
    struct server server = {
        .options = { .on_request = on_request, .user = &seen },
        .limits = { .connections_max = 1,
                    .header_bytes_max = 2048,
                    .body_bytes_max = 1024,
                    .response_bytes_max = 1 << 20,
                    .header_ms = 1000,
                    .body_ms = 1000,
                    .answer_ms = 1000,
                    .write_ms = 1000,
                    .idle_ms = 1000,
                    .linger_ms = 1000 },
        .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
        .slots = slots,
        .wake_ns = INT64_MAX,
    };
    must(server.epoll_fd >= 0 &&
         socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    struct conn *conn = seen.conn = slots[0] = xcalloc(1, sizeof(*conn));
    *conn = (struct conn){ .server = &server, .fd = pair[0], .state = CONN_HEAD, .interest = EPOLLIN };
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = conn };
    must(epoll_ctl(server.epoll_fd, EPOLL_CTL_ADD, pair[0], &event) == 0);
    atomic_store(&server.connections, 1);
    for (size_t at = 0; at < bytes.len && conn->state != CONN_CLOSED; at += step) {
        struct str piece = str_slice(bytes, at, MIN(at + step, (size_t)bytes.len));
        must(send(pair[1], piece.ptr, piece.len, MSG_NOSIGNAL) == (ssize_t)piece.len);
        run(&server, conn, pair[1], &begun);
        must(conn->in.len <= 2048 + 2 * 1024 + 65536);
    }
    shutdown(pair[1], SHUT_WR);
    run(&server, conn, pair[1], &begun);
    must(begun || !seen.requests);
    conn_close(conn);
    must(atomic_load(&server.response_bytes) == 0 && atomic_load(&server.connections) == 0);
    conn_free(conn);
    vec_release(&server.free_slots);
    vec_release(&server.again);
    close(pair[1]);
    close(server.epoll_fd);
    return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 16384)
        return 0;
    struct str bytes = { (const char *)data + 1, (uint32_t)(size - 1) };
    struct seen whole = feed(bytes, MAX(bytes.len, 1)), pieces = feed(bytes, 1 + data[0]);
    must(whole.requests == pieces.requests && whole.hash == pieces.hash);
    return 0;
}
