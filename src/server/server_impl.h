/* server_impl.h: what server.c (places for connections, answers), server_conn.c (one connection) and server_http2.c
 * (its streams) share.
 *
 *     HANDSHAKE ──▶ HEAD ──▶ BODY ──▶ ANSWERING ──▶ WRITING ──▶ LINGER ──▶ CLOSED
 *         │          ▲                                 │ ▲
 *         │          └───────── keep-alive ────────────┘ │
 *         └───────────────────▶ HTTP2 ───────────────────┘
 *
 * All of it belongs to the loop's thread, but for what is atomic. A connection that is CLOSED stays in memory until a
 * call that was posted to the loop frees it, so that a function that closed it may still look at its state. */
#ifndef SERVER_SERVER_IMPL_H
#define SERVER_SERVER_IMPL_H

#include <openssl/ssl.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/thread.h"
#include "base/vec.h"
#include "net/loop.h"
#include "net/reread.h"
#include "server/server.h"
#include "server/server_parse.h"

enum conn_state {
    CONN_HANDSHAKE,
    CONN_HEAD,
    CONN_BODY,
    CONN_ANSWERING,
    CONN_WRITING,
    CONN_HTTP2,
    CONN_LINGER,
    CONN_CLOSED
};

struct http2;

struct conn {
    struct server *server;
    struct loop_fd io;
    struct loop_timer timer; /* rings at the deadline or earlier */
    struct loop_call turn;   /* goes on with it in the next turn of the loop, or frees it */
    bool has_turn;           /* that is posted */
    uint32_t slot;
    SSL *ssl; /* NULL: plain, or its first record is not there yet */
    enum conn_state state;
    uint32_t hello_bytes;           /* so much of the first record is awaited; 0: any byte */
    int64_t deadline_ns, active_ns; /* active: when bytes moved last */
    uint64_t request_id;            /* of HTTP/1.1; 0: none is with the host */
    struct http2 *http2;            /* NULL: HTTP/1.1 */
    struct peer *peer;
    char remote[64];
    /* The request: its bytes, how many of them were searched for the end of the head, and what they mean. */
    struct strbuf in;
    size_t scanned;
    struct arena arena;
    struct parsed *parsed;
    struct chunks chunks;
    /* The answer: bytes, and how many of them are gone. */
    struct strbuf out;
    size_t out_sent;
    size_t counted; /* in server->response_bytes */
    bool close_after, has_requested, head_begun;
    bool dispatching; /* inside on_request() */
    size_t discarded; /* while lingering */
};

/* An answer, with headers as HTTP/1.1 has them. */
struct reply {
    int status;
    struct str headers, body;
    bool close;
};

struct server {
    struct server_options options;
    struct server_limits limits;
    struct server_tls *tls; /* NULL: plain HTTP */
    struct loop *loop;
    bool owns_loop;
    uint16_t port;
    struct loop_fd listener; /* fd -1: it does not listen */
    struct loop_timer listen_again;
    bool started, draining;

    struct conn **slots; /* limits.connections_max; NULL: free */
    VEC(uint32_t) free_slots;
    uint64_t last_id;
    uint32_t crowd; /* the most connections since memory was given back */
    struct loop_timer give_back;
    int64_t gave_back_ns;
    struct reread certificates;
    struct server_tls_load *loaded; /* by the worker pool, for the loop's thread */
    int load_result;
    struct error load_error, last_problem;
    struct completion emptied; /* it drains, and no connection is left */

    atomic_uint_fast64_t accepted, evicted, requests, refused, handshakes_failed;
    atomic_uint_fast32_t connections;
    atomic_size_t response_bytes;
};

struct sockaddr_storage;

/* Listens at the address of the options; sets listener.fd and port. */
int socket_listen(struct server *server, struct error *err);
void socket_option(int fd, int level, int name, int value);
/* "127.0.0.1:4711" */
void socket_describe(const struct sockaddr_storage *address, char *text, size_t size);

/* Goes on with a connection as far as it goes now. */
void conn_run(struct conn *conn);
/* Goes on with it in the next turn of the loop. */
void conn_run_soon(struct conn *conn);
/* Tells the host of a request that came on the connection. */
void conn_ask(struct conn *conn, uint64_t id, const struct parsed *parsed, struct str body);
/* For a request that comes. */
uint64_t conn_new_id(struct conn *conn);
/* The answer to its request; conn_run() sends it. False: it has no such request. */
bool conn_answer(struct conn *conn, uint64_t id, const struct reply *reply);
/* Does a client wait for the answer to this request? */
bool conn_awaits(const struct conn *conn, uint64_t id);
/* For the answer to a request that is awaited. */
void conn_patience(struct conn *conn, uint64_t id, int64_t ms);
/* Ends now if it is idle, or after its requests. */
void conn_drain(struct conn *conn);
/* The answer that is given instead, if too much waits to be read already. */
struct reply conn_reply(const struct server *server, const struct reply *reply);
/* "Sun, 06 Nov 1994 08:49:37 GMT" */
void conn_date(char text[64]);
/* Sends what is in `out`, and then ends. */
void conn_finish(struct conn *conn);
/* Watches a new connection; false: it cannot. */
bool conn_open(struct conn *conn, struct server *server, int fd);
/* Frees it in the next turn of the loop. */
void conn_close(struct conn *conn);
void conn_deadline(struct conn *conn, int64_t after_ms);
/* Its deadline has passed. */
void conn_expire(struct conn *conn);
/* The deadline is not later than that. */
void conn_deadline_by(struct conn *conn, int64_t deadline_ns);
/* server.c: a closed connection was freed. */
void server_conn_freed(struct server *server);
/* Waits for these epoll events, and for nothing else. */
void conn_interest(struct conn *conn, uint32_t events);
/* Is it between two requests? */
bool conn_is_idle(const struct conn *conn);
/* Is an answer being made or sent? */
bool conn_is_busy(const struct conn *conn);

#endif
