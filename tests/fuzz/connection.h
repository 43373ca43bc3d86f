/* connection.h: one connection of the HTTP server, over a pair of sockets and without the server's thread.
 *
 *     struct connection connection;
 *     connection_open(&connection, limits, on_request, user);
 *     connection_send(&connection, bytes);
 *     connection_run(&connection, drain, user);
 *     connection_close(&connection); */
#ifndef FUZZ_CONNECTION_H
#define FUZZ_CONNECTION_H

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/server_impl.h"

#include "fuzz/fuzz.h"

struct connection {
    struct server server;
    struct conn *conn;
    int client; /* the client's end */
};

/* The connection waits for the head of an HTTP/1.1 request. */
static inline void connection_open(struct connection *connection, struct server_limits limits,
                                   void (*on_request)(void *user, struct server_request *request), void *user)
{
    int pair[2];
    struct error err;
    struct conn *conn = xmalloc(sizeof(*conn));
    *connection = (struct connection){
        .server = { .options = { .on_request = on_request, .user = user }, .limits = limits },
        .conn = conn,
    };
    must(loop_new(NULL, &connection->server.loop, &err) == 0 &&
         socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    connection->client = pair[1];
    must(conn_open(conn, &connection->server, pair[0]));
    conn->state = CONN_HEAD;
}

static inline bool connection_is_over(const struct connection *connection)
{
    return atomic_load(&connection->server.connections) == 0; /* the connection may be freed by then */
}

/* False: the server has closed the connection. */
static inline bool connection_send(struct connection *connection, struct str bytes)
{
    return send(connection->client, bytes.ptr, bytes.len, MSG_NOSIGNAL) == (ssize_t)bytes.len;
}

/* Runs until the server waits for more bytes, or has closed the connection; drain() takes what it sends. */
static inline void connection_run(struct connection *connection, void (*drain)(void *user, int client),
                                  void *user)
{
    struct conn *conn = connection->conn;
    if (connection_is_over(connection))
        return;
    do {
        if (conn->has_turn)
            loop_turn(connection->server.loop);
        else
            conn_run(conn);
        drain(user, connection->client);
    } while (!connection_is_over(connection) && (conn->has_turn || conn->io.events == EPOLLOUT));
}

/* Nothing of the connection may be left. */
static inline void connection_close(struct connection *connection)
{
    struct server *server = &connection->server;
    if (!connection_is_over(connection))
        conn_close(connection->conn);
    must(atomic_load(&server->response_bytes) == 0 && atomic_load(&server->connections) == 0);
    loop_free(server->loop); /* with the connection */
    idmap_release(&server->pending);
    close(connection->client);
}

#endif
