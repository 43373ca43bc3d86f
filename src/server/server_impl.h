/* server_impl.h: what server.c (thread, places, mailbox), server_conn.c (one connection) and server_http2.c (its
 * streams) share.
 *
 *     HANDSHAKE ──▶ HEAD ──▶ BODY ──▶ ANSWERING ──▶ WRITING ──▶ LINGER ──▶ CLOSED
 *         │          ▲                                 │ ▲
 *         │          └───────── keep-alive ────────────┘ │
 *         └───────────────────▶ HTTP2 ───────────────────┘
 *
 * All of it belongs to the server's thread, but for what `lock` guards and what is atomic. A connection that is CLOSED
 * stays in memory until the end of the turn of the loop, so that nobody has to ask whether it is still there. */
#ifndef SERVER_SERVER_IMPL_H
#define SERVER_SERVER_IMPL_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/vec.h"
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
    int fd;
    uint32_t slot;
    SSL *ssl; /* NULL: plain, or its first record is not there yet */
    enum conn_state state;
    uint32_t interest;              /* of epoll */
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
    bool close_after, has_requested, head_begun, waits_again;
    bool dispatching; /* inside on_request() */
    size_t discarded; /* while lingering */
    struct conn *next_closed;
};

/* An answer, with headers as HTTP/1.1 has them. */
struct reply {
    int status;
    struct str headers, body;
    bool close;
};

/* From another thread, for the server's. */
struct message {
    struct message *next;
    void (*call)(void *context); /* NULL: an answer */
    void *context;
    uint64_t id;
    int status;
    bool close;
    struct strbuf headers, body; /* headers: as they are sent */
};

struct server {
    struct server_options options;
    struct server_limits limits;
    struct server_tls *tls; /* NULL: plain HTTP */
    uint16_t port;
    int listen_fd, epoll_fd, wake_fd;
    pthread_t thread;
    bool started;
    bool draining; /* written under the lock */
    bool listens;
    int64_t listen_again_ns; /* 0: listens */

    struct conn **slots; /* limits.connections_max; NULL: free */
    VEC(uint32_t) free_slots;
    struct conn *closed;
    VEC(struct conn *) again; /* have more to do without waiting for the network */
    uint64_t last_id;
    uint32_t crowd;       /* the most connections since memory was given back */
    int64_t give_back_ns; /* not again before */
    int64_t wake_ns;      /* no deadline is before */
    int64_t reload_ns;    /* when to look at the certificates */
    struct error last_problem;

    pthread_mutex_t lock;
    pthread_cond_t emptied; /* no connection is left */
    struct message *first, **last;
    bool stopping;

    atomic_uint_fast64_t accepted, evicted, requests, refused, handshakes_failed;
    atomic_uint_fast32_t connections;
    atomic_size_t response_bytes;
};

struct sockaddr_storage;

/* Listens at the address of the options; sets listen_fd and port. */
int socket_listen(struct server *server, struct error *err);
void socket_option(int fd, int level, int name, int value);
/* "127.0.0.1:4711" */
void socket_describe(const struct sockaddr_storage *address, char *text, size_t size);

/* Goes on with a connection as far as it goes now. */
void conn_run(struct conn *conn);
/* Tells the host of a request that came on the connection. */
void conn_ask(struct conn *conn, uint64_t id, const struct parsed *parsed, struct str body);
/* For a request that comes. */
uint64_t conn_new_id(struct conn *conn);
/* The answer to its request; conn_run() sends it. False: nobody has asked. */
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
/* Its deadline has passed. */
void conn_expire(struct conn *conn);
void conn_close(struct conn *conn);
/* After conn_close(), when nobody has a pointer to it any more. */
void conn_free(struct conn *conn);
/* Sets the deadline and sees to it that the loop wakes up for it. */
void conn_deadline(struct conn *conn, int64_t after_ms);
/* Waits for these epoll events, and for nothing else. */
void conn_interest(struct conn *conn, uint32_t events);
/* Is it between two requests? */
bool conn_is_idle(const struct conn *conn);
/* Is an answer being made or sent? */
bool conn_is_busy(const struct conn *conn);

#endif
