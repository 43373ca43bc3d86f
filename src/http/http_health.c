/* http_health.c: the sockets of the client, and whether the server at the other end is alive.
 *
 * libcurl asks us for every socket, and gives it back to us to close unless its connecting was cancelled (is_ours()).
 * Which of them a request uses is told by its ports, when it is about to be sent.
 *
 *     silence on a connection in use:   idle_ms            probe_ms
 *     last byte ─────────────────────────▶ probe sent ────────────────▶ nothing came: shut down
 *
 * The kernel knows how long a connection has been silent (TCP_INFO), so that every byte counts,
 * whichever request it belongs to. Shutting down the socket makes libcurl end all requests on it, each with
 * its on_done. */
#include "http/http_impl.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static struct connection *find_connection(struct http_client *client, uint64_t serial)
{
    vec_for(&client->connections, at)
        if ((*at)->serial == serial)
            return *at;
    return NULL;
}

static struct connection *connection_of(struct http_client *client, int fd)
{
    vec_for(&client->connections, at)
        if ((*at)->watch.fd == fd)
            return *at;
    return NULL;
}

/* A socket whose connecting has ended early is closed by libcurl 7.88 without a word to us: until its number is used
 * again, what we know under that number may be about another file. Such a connection is neither wanted nor was it
 * used. */
static bool is_ours(const struct connection *connection)
{
    return connection->serial && (connection->is_wanted || connection->was_used);
}

/* ---- what the loop waits for ---- */
/* What libcurl does not wait for any more stays in the loop until something happens on it: then it is the same file
 * still, which cannot be told before. Most connections are wanted again soon. */
static void on_ready(struct loop_fd *fd, uint32_t events _unused_)
{
    struct connection *connection = container_of(fd, struct connection, watch);
    struct http_client *client = connection->client;
    if (connection->is_wanted) {
        client_act(client, fd->fd);
    } else {
        loop_remove(client->loop, fd);
        connection->is_known = false;
    }
}

static void wait_for(struct connection *connection, uint32_t events)
{
    struct loop *loop = connection->client->loop;
    int r = connection->is_known && connection->is_wanted ? loop_change(loop, &connection->watch, events)
                                                          : -ENOENT;
    if (r == -ENOENT) {
        connection->watch.events = events;
        r = loop_renew(loop, &connection->watch);
    }
    connection->is_known = r == 0;
    connection->is_wanted = true;
}

/* Libcurl may think that it waits for this number already, which a socket of the same request had before. */
static struct connection *add_connection(struct http_client *client, int fd, uint64_t serial)
{
    struct connection *connection = connection_of(client, fd);
    uint32_t events = connection && connection->is_wanted ? connection->watch.events : 0;
    if (!connection)
        *vec_push(&client->connections) = connection = xmalloc(sizeof(*connection));
    *connection =
        (struct connection){ .watch = { .fd = fd, .ready = on_ready }, .client = client, .serial = serial };
    if (events)
        wait_for(connection, events);
    return connection;
}

static void forget_connection(struct connection *connection)
{
    struct http_client *client = connection->client;
    if (connection->is_known)
        loop_remove(client->loop, &connection->watch);
    for (size_t i = 0; i < client->connections.len; i++)
        if (client->connections.items[i] == connection)
            vec_swap_remove(&client->connections, i);
    free(connection);
}

void health_watch(struct http_client *client, int fd, uint32_t events)
{
    struct connection *connection = connection_of(client, fd);
    if (events)
        wait_for(connection ? connection : add_connection(client, fd, 0), events);
    else if (connection && !connection->serial)
        forget_connection(connection);
    else if (connection)
        connection->is_wanted = false;
}

/* ---- libcurl's sockets ---- */
static curl_socket_t open_socket(void *user, curlsocktype purpose _unused_, struct curl_sockaddr *address)
{
    struct http_client *client = user;
    /* A child process (a credential plugin) must not inherit it. */
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0)
        return CURL_SOCKET_BAD;
    add_connection(client, fd, ++client->last_connection);
    atomic_fetch_add(&client->opened, 1);
    return fd;
}

static int close_socket(void *user, curl_socket_t fd)
{
    struct connection *connection = connection_of(user, fd);
    if (connection)
        forget_connection(connection);
    return close(fd);
}

void health_release(struct http_client *client)
{
    vec_for(&client->connections, at)
        free(*at);
    vec_release(&client->connections);
}

static void set_int(int fd, int level, int option, int64_t value)
{
    int number = (int)MIN(MAX(value, 1), INT32_MAX);
    /* Where one of these is unknown, the connection works as well; it is only given up later. */
    (void)setsockopt(fd, level, option, &number, sizeof(number));
}

static int set_socket(void *user, curl_socket_t fd, curlsocktype purpose _unused_)
{
    const struct http_options *options = &((struct http_client *)user)->options;
    if (options->idle_ms == NEVER || options->probe_ms == NEVER)
        return CURL_SOCKOPT_OK;
    enum { PROBES = 3 };
    set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, options->idle_ms / 2000);
    set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, options->probe_ms / (1000 * PROBES));
    set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
    set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, options->idle_ms);
    return CURL_SOCKOPT_OK;
}

void health_attach(struct http_client *client, CURL *easy)
{
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, client);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, client);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, set_socket);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, client);
}

static uint16_t port_of(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)address)->sin_port);
    return address->ss_family == AF_INET6 ? ntohs(((const struct sockaddr_in6 *)address)->sin6_port) : 0;
}

static void look_up_ports(struct connection *connection)
{
    struct sockaddr_storage local = { 0 }, peer = { 0 };
    connection->local_port = connection->peer_port = 0;
    socklen_t local_len = sizeof(local), peer_len = sizeof(peer);
    int fd = connection->watch.fd;
    if (getsockname(fd, (struct sockaddr *)&local, &local_len) == 0 &&
        getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0) {
        connection->local_port = port_of(&local);
        connection->peer_port = port_of(&peer);
    }
}

static void check_soon(struct http_client *client)
{
    loop_timer_set(client->loop, &client->health_timer, 0);
}

void health_sent(struct transfer *t, int peer_port, int local_port)
{
    health_done(t);
    vec_for(&t->client->connections, at) {
        struct connection *connection = *at;
        if (!connection->local_port || !is_ours(connection)) /* what was known may be of another file */
            look_up_ports(connection);
        if (connection->local_port != local_port || connection->peer_port != peer_port)
            continue;
        connection->was_used = true;
        if (connection->users++ == 0)
            connection->used_ns = monotonic_ns();
        if (connection->http2 && !t->client->health_timer.place)
            check_soon(t->client); /* it was not watched while it was idle */
        t->connection = connection->serial;
        connection->probe_landed |= connection->probe_id && connection->probe_id == t->id;
        return;
    }
}

void health_done(struct transfer *t)
{
    struct connection *connection = find_connection(t->client, t->connection);
    t->connection = 0;
    if (connection && connection->users)
        connection->users--;
}

void health_saw_http2(struct transfer *t)
{
    struct connection *connection = find_connection(t->client, t->connection);
    if (connection && !connection->http2) {
        connection->http2 = true;
        check_soon(t->client);
    }
}

/* Milliseconds since a byte came; 0 where the kernel does not say. */
static uint32_t silence_of(const struct connection *connection)
{
    struct tcp_info info = { 0 };
    socklen_t len = sizeof(info);
    return getsockopt(connection->watch.fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0
               ? info.tcpi_last_data_recv
               : 0;
}

/* It has no callbacks: its answer goes nowhere. Like every request to this server it goes to this connection. */
void http_send_probe(struct http_client *client, uint64_t serial, const struct http_request *request)
{
    struct connection *connection = find_connection(client, serial);
    if (!connection || !connection->probe_wanted)
        return;
    connection->probe_wanted = false;
    if (!request)
        return;
    struct http_request own = *request;
    own.urgent = true;
    own.timeout_ms = client->options.probe_ms;
    uint64_t id = client_send_own(client, &own);
    connection = find_connection(client, serial); /* sending may have added others */
    if (!id || !connection)
        return;
    connection->probe_id = id;
    connection->probe_landed = false;
    connection->silent_at_probe_ms = silence_of(connection);
    connection->probe_ns = monotonic_ns();
    atomic_fetch_add(&client->probes, 1);
}

static void want_probe(struct http_client *client, struct connection *connection)
{
    if (connection->probe_wanted)
        return;
    connection->probe_wanted = true;
    client->options.on_doubt(client->options.user, connection->serial);
}

static void give_up(struct http_client *client, struct connection *connection)
{
    if (connection->doomed)
        return;
    connection->doomed = true;
    shutdown(connection->watch.fd, SHUT_RDWR);
    atomic_fetch_add(&client->given_up, 1);
}

static void check_connection(struct http_client *client, struct connection *connection, int64_t now_ns)
{
    uint32_t silent_ms = silence_of(connection);
    if (!connection->probe_id) {
        /* One that was idle was silent for good reason: its first answer gets a moment. */
        int64_t moment_ms = MIN(client->options.idle_ms, 1000);
        if (silent_ms >= client->options.idle_ms && now_ns - connection->used_ns >= moment_ms * NS_PER_MS)
            want_probe(client, connection);
        return;
    }
    /* Without a byte, the silence of then has grown by just that time. This may be looked at long after the answer. */
    int64_t since_ms = (now_ns - connection->probe_ns) / NS_PER_MS;
    if (silent_ms < since_ms + connection->silent_at_probe_ms / 2) {
        connection->probe_id = 0; /* something came: it lives */
    } else if (since_ms >= client->options.probe_ms) {
        connection->probe_id = 0;
        if (connection->probe_landed)
            give_up(client, connection);
    }
}

int64_t health_check(struct http_client *client, int64_t now_ns)
{
    const struct http_options *options = &client->options;
    if (!options->on_doubt || options->idle_ms == NEVER || options->probe_ms == NEVER)
        return NEVER;
    bool any = false;
    /* By index: a probe may add connections. */
    for (size_t i = 0; i < client->connections.len; i++) {
        struct connection *connection = client->connections.items[i];
        if (!connection->users || !connection->http2 || connection->doomed)
            continue;
        any = true;
        check_connection(client, connection, now_ns);
    }
    return any ? now_ns + MIN(MIN(options->idle_ms, options->probe_ms) / 4 + 1, 1000) * NS_PER_MS : NEVER;
}

/* Dissolving the association of a TCP socket sends a reset and empties its buffers. */
static void reset(int fd)
{
    const struct sockaddr none = { .sa_family = AF_UNSPEC };
    if (connect(fd, &none, sizeof(none)) < 0)
        shutdown(fd, SHUT_RDWR);
}

void health_drop_all(struct http_client *client, bool resets)
{
    vec_for(&client->connections, at) {
        struct connection *connection = *at;
        bool was_doomed = connection->doomed;
        if (!is_ours(connection))
            continue;
        connection->doomed = true;
        if (resets)
            reset(connection->watch.fd);
        else if (!was_doomed)
            shutdown(connection->watch.fd, SHUT_RDWR);
    }
}
