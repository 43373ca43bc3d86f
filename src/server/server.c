/* server.c: the server on its loop: places for connections, and answers from other threads. */
#include "server/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "server/server_impl.h"

enum {
    ACCEPTS_MAX = 64, /* in one turn, so that a flood of connections does not keep the loop from the others */
    FULL_PAUSE_MS = 100,
    KEEPALIVE_S = 180,
    CROWD_MIN = 128, /* connections that leave holes worth giving back */
    GIVE_BACK_MS = 60000,
    UNACKNOWLEDGED_MS = 30000,
};

/* Ends the connection that was silent for the longest time, of those of the lowest rank. */
static bool evict(struct server *server)
{
    struct conn *found = NULL;
    list_for_each(&server->conns, struct conn, conn, link) {
        int order = found ? conn_rank(conn) - conn_rank(found) : -1;
        if (order < 0 || (order == 0 && conn->active_ns < found->active_ns))
            found = conn;
    }
    if (!found)
        return false;
    atomic_fetch_add(&server->evicted, 1);
    conn_close(found);
    return true;
}

static void add_connection(struct server *server, int fd, const struct sockaddr_storage *address)
{
    socket_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    socket_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_S);
    socket_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS);
    struct conn *conn = xmalloc(sizeof(*conn));
    if (!conn_open(conn, server, fd)) {
        free(conn);
        close(fd);
        return;
    }
    conn->active_ns = monotonic_ns();
    socket_describe(address, conn->remote, sizeof(conn->remote));
    server->crowd = MAX(server->crowd, (uint32_t)atomic_load(&server->connections));
    conn->state = server->tls ? CONN_HANDSHAKE : CONN_HEAD;
    conn->head_begun = true;
    conn_deadline(conn, server->tls ? server->limits.handshake_ms : server->limits.header_ms);
}

static void on_listen_again(struct loop_timer *timer)
{
    struct server *server = container_of(timer, struct server, listen_again);
    loop_change(server->loop, &server->listener, EPOLLIN);
}

/* No file descriptor is left: another connection goes, or none is accepted for a moment. */
static void out_of_descriptors(struct server *server)
{
    if (evict(server))
        return;
    loop_change(server->loop, &server->listener, 0);
    loop_timer_set(server->loop, &server->listen_again, monotonic_ns() + FULL_PAUSE_MS * NS_PER_MS);
}

static void accept_all(struct loop_fd *listener, uint32_t events _unused_)
{
    struct server *server = container_of(listener, struct server, listener);
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        struct sockaddr_storage address = { 0 };
        socklen_t len = sizeof(address);
        int fd = accept4(listener->fd, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                out_of_descriptors(server);
            if (errno == EINTR || errno == ECONNABORTED)
                continue;
            return;
        }
        if (atomic_load(&server->connections) >= server->limits.connections_max)
            evict(server);
        add_connection(server, fd, &address);
    }
}

static void stop_listening(struct server *server)
{
    if (server->listener.fd < 0)
        return;
    if (server->started) {
        loop_remove(server->loop, &server->listener);
        loop_timer_stop(server->loop, &server->listen_again);
    }
    close(server->listener.fd);
    server->listener.fd = -1;
}

/* ---- certificates ---- */
static int take_certificates(void *user, struct file_reading *readings, struct error *err)
{
    struct server *server = user;
    int r = server_tls_take(server->tls, readings, err);
    if (r > 0 && server->options.on_reload)
        server->options.on_reload(server->options.user);
    return MIN(r, 0);
}

static void on_problem(void *user, const char *sentence)
{
    const struct server *server = user;
    if (server->options.on_problem)
        server->options.on_problem(server->options.user, sentence);
}

static void watch_certificates(struct server *server)
{
    const char *const *paths;
    size_t count = server_tls_files(server->tls, &paths);
    if (!count)
        return;
    server->certificates = file_set_new(&(struct file_set_options){
        .paths = paths,
        .count = count,
        .bytes_max = SERVER_TLS_PEM_BYTES_MAX,
        .interval_ms = server->options.reload_ms,
        .hang_ms = server->options.hang_ms,
        .take = take_certificates,
        .on_problem = on_problem,
        .user = server,
    });
    file_set_start(server->certificates, server->loop);
}

int server_check_certificates(const struct server *server, struct error *err)
{
    return file_set_check(server->certificates, err);
}

/* ---- connections that are gone ---- */
static void on_give_back(struct loop_timer *timer)
{
    struct server *server = container_of(timer, struct server, give_back);
    uint32_t connections = (uint32_t)atomic_load(&server->connections);
    if (connections > server->crowd / 8)
        return;
    memory_give_back();
    server->crowd = connections;
    server->gave_back_ns = monotonic_ns();
}

/* A crowd leaves memory in pieces that nothing else needs. It is given back once the crowd has gone, and now and then
 * at most. */
void server_conn_freed(struct server *server)
{
    uint32_t connections = (uint32_t)atomic_load(&server->connections);
    if (server->draining && !connections)
        completion_done(&server->emptied);
    if (server->crowd >= CROWD_MIN && connections <= server->crowd / 8 && !server->give_back.place)
        loop_timer_set(server->loop, &server->give_back,
                       server->gave_back_ns ? server->gave_back_ns + GIVE_BACK_MS * NS_PER_MS : 0);
}

/* ---- requests ---- */
void server_respond(struct server *server, uint64_t id, const struct server_response *response)
{
    assert(loop_is_here(server->loop));
    struct pending *pending = idmap_get(&server->pending, id);
    if (!pending || pending->is_stream)
        return;
    struct conn *conn = pending->conn;
    if (pending->stream)
        http2_respond(pending->stream, response);
    else
        conn_respond(conn, response);
    /* The caller of on_request() sends it; a response outside of it is sent with the next turn. */
    if (!conn->dispatching)
        conn_run_soon(conn);
}

void server_request_free(struct server_request *request)
{
    if (!request)
        return;
    peer_unref(request->peer);
    vec_release(&request->headers);
    arena_release(&request->arena);
    free(request);
}

void server_patience(struct server *server, uint64_t id, int64_t ms)
{
    const struct pending *pending = idmap_get(&server->pending, id);
    if (!pending || pending->is_stream)
        return;
    if (pending->stream)
        http2_patience(pending->stream, ms);
    else
        conn_deadline(pending->conn, ms);
}

bool server_is_awaited(struct server *server, uint64_t id)
{
    const struct pending *pending = idmap_get(&server->pending, id);
    if (!pending || (pending->stream && !http2_is_awaited(pending->stream)))
        return false;
    struct pollfd pollfd = { .fd = pending->conn->io.fd, .events = POLLRDHUP };
    return poll(&pollfd, 1, 0) <= 0;
}

#define DEFAULT(field, value) limits->field = limits->field ? limits->field : (value)

static void set_defaults(struct server *server)
{
    struct server_limits *limits = &server->limits;
    DEFAULT(connections_max, 1024);
    DEFAULT(header_bytes_max, 64 << 10);
    DEFAULT(body_bytes_max, 64 << 10);
    DEFAULT(streams_max, 100);
    DEFAULT(stream_bytes_max, 32 << 20);
    DEFAULT(stream_full_bytes, 1 << 20);
    DEFAULT(response_bytes_max, 256 << 20);
    DEFAULT(handshake_ms, 10000);
    DEFAULT(header_ms, 32000);
    DEFAULT(body_ms, 30000);
    DEFAULT(answer_ms, 60000);
    DEFAULT(write_ms, 60000);
    DEFAULT(idle_ms, 90000);
    DEFAULT(linger_ms, 500);
    if (!server->options.reload_ms)
        server->options.reload_ms = 10000;
}

static void release(struct server *server)
{
    stop_listening(server);
    file_set_free(server->certificates);
    if (server->owns_loop)
        loop_free(server->loop);
    server_tls_free(server->tls);
    idmap_release(&server->pending);
    completion_release(&server->emptied);
    free(server);
}

int server_new(const struct server_options *options, struct server **ret, struct error *err)
{
    struct server *server = xcalloc(1, sizeof(*server));
    server->options = *options;
    server->limits = options->limits;
    server->listener = (struct loop_fd){ .fd = -1, .events = EPOLLIN, .ready = accept_all };
    server->listen_again.ring = on_listen_again;
    server->give_back.ring = on_give_back;
    completion_init(&server->emptied);
    set_defaults(server);
    int r = options->tls ? server_tls_new(options->tls, &server->tls, err) : 0;
    if (r == 0)
        r = socket_listen(server, err);
    server->loop = options->loop;
    server->owns_loop = !options->loop;
    if (r == 0 && server->owns_loop)
        r = loop_new("serve", &server->loop, err);
    server->options.address = NULL;
    server->options.tls = NULL;
    if (r < 0)
        release(server);
    else
        *ret = server;
    return r;
}

static void start(void *context)
{
    struct server *server = context;
    server->started = loop_add(server->loop, &server->listener) == 0;
}

int server_start(struct server *server, struct error *err)
{
    if (server->tls)
        watch_certificates(server); /* the first request may be about their health */
    loop_run_wait(server->loop, start, server);
    if (!server->started)
        return error_set(err, -ENOMEM, "cannot start the server: the loop takes no listener");
    return 0;
}

static void begin_drain(void *context)
{
    struct server *server = context;
    server->draining = true;
    stop_listening(server);
    list_for_each(&server->conns, struct conn, conn, link)
        conn_drain(conn);
    if (!atomic_load(&server->connections))
        completion_done(&server->emptied);
}

void server_drain(struct server *server, int64_t grace_ms)
{
    if (!server->started)
        return;
    loop_run_wait(server->loop, begin_drain, server);
    completion_wait(&server->emptied, monotonic_ns() + grace_ms * NS_PER_MS);
}

static void end(void *context)
{
    struct server *server = context;
    stop_listening(server);
    list_for_each(&server->conns, struct conn, conn, link)
        conn_close(conn);
}

static void end_timers(void *context)
{
    struct server *server = context;
    loop_timer_stop(server->loop, &server->give_back);
    server_tell_closed(server);
    vec_release(&server->roomy);
}

void server_free(struct server *server)
{
    if (!server)
        return;
    if (server->started) {
        loop_run_wait(server->loop, end, server);
        loop_run_wait(server->loop, end_timers,
                      server); /* behind the calls that free connections, and tell of streams */
    }
    release(server);
}

struct loop *server_loop(const struct server *server)
{
    return server->loop;
}

uint16_t server_port(const struct server *server)
{
    return server->port;
}

struct server_stats server_stats(const struct server *server)
{
    return (struct server_stats){
        .evicted = atomic_load(&server->evicted),
        .requests = atomic_load(&server->requests),
        .refused = atomic_load(&server->refused),
        .handshakes_failed = atomic_load(&server->handshakes_failed),
        .connections = (uint32_t)atomic_load(&server->connections),
        .response_bytes = atomic_load(&server->response_bytes),
    };
}

struct str server_header_value(const struct server_request *request, struct str name)
{
    vec_for(&request->headers, header)
        if (str_eq_fold(header->name, name))
            return header->value;
    return (struct str){ 0 };
}

bool server_is_running(const struct server *server)
{
    return server->started;
}
