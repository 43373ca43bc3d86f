/* server_impl.h: what server.c (connections of a server, its requests), server_response.c (heads and streams of
 * responses), server_conn.c (one connection, HTTP/1.1) and server_http2.c (HTTP/2 on a connection) share.
 *
 *                                           ┌▶ STREAMING ┐
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

#include "base/list.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/vec.h"
#include "net/file_set.h"
#include "server/server.h"
#include "server/server_parse.h"

enum conn_state {
    CONN_HANDSHAKE,
    CONN_HEAD,
    CONN_BODY,
    CONN_ANSWERING,
    CONN_STREAMING,
    CONN_WRITING,
    CONN_HTTP2,
    CONN_LINGER,
    CONN_CLOSED
};

struct http2;
struct stream;

/* A request that the host has and has not answered to its end. Part of its connection or stream. */
struct pending {
    uint64_t id;    /* 0: none */
    bool is_stream; /* server_stream_begin() */
    bool awaits_room;
    struct conn *conn;
    struct stream *stream; /* NULL: of HTTP/1.1 */
};

struct conn {
    struct server *server;
    struct list_link link; /* in server->conns, until it is closed */
    struct loop_fd io;
    struct loop_timer timer; /* rings at the deadline or earlier */
    struct loop_call turn;   /* goes on with it in the next turn of the loop, or frees it */
    bool has_turn;           /* that is posted */
    SSL *ssl;                /* NULL: plain, or its first record is not there yet */
    enum conn_state state;
    uint32_t hello_bytes;           /* so much of the first record is awaited; 0: any byte */
    int64_t deadline_ns, active_ns; /* active: when bytes moved last */
    struct http2 *http2;            /* NULL: HTTP/1.1 */
    struct peer *peer;
    char remote[64];
    /* The request of HTTP/1.1 that comes: its bytes, how many of them were searched for the end of the head, and what
     * they mean. */
    struct strbuf in;
    size_t scanned;
    struct server_request *request; /* NULL: its head is not there yet, or the host has it */
    struct framing framing;
    size_t body_bytes_max;
    struct chunks chunks;
    bool is_head; /* a HEAD, whose response has no body */
    struct pending pending;
    /* The response: bytes, and how many of them are gone. */
    struct strbuf out;
    size_t out_sent;
    size_t counted; /* in server->response_bytes */
    bool close_after, has_requested, head_begun;
    bool dispatching; /* inside on_request() */
    size_t discarded; /* while lingering */
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

    struct list conns;    /* struct conn */
    struct idmap pending; /* struct pending, by id */
    uint64_t last_id;
    uint32_t crowd; /* the most connections since memory was given back */
    struct loop_timer give_back;
    int64_t gave_back_ns;
    struct file_set *certificates; /* NULL: plain HTTP, or a certificate that was made in memory */
    VEC(uint64_t) closed;          /* streams whose end the host has to be told */
    struct loop_call tell_closed;  /* is posted while there are any */
    VEC(uint64_t) roomy;           /* streams that have room again, likewise */
    struct loop_call tell_room;
    struct completion emptied; /* it drains, and no connection is left */

    atomic_uint_fast64_t evicted, requests, refused, handshakes_failed;
    atomic_uint_fast32_t connections;
    atomic_size_t response_bytes;
};

/* ---- server.c ---- */
/* A closed connection was freed. */
void server_conn_freed(struct server *server);

/* ---- server_sockets.c ---- */
struct sockaddr_storage;
/* Listens at the address of the options; sets listener.fd and port. */
int socket_listen(struct server *server, struct error *err);
void socket_option(int fd, int level, int name, int value);
/* "127.0.0.1:4711" */
void socket_describe(const struct sockaddr_storage *address, char *text, size_t size);

/* ---- server_conn.c ---- */
/* With an arena for secrets: tokens come in headers. */
struct server_request *request_new(void);
/* Watches a new connection; false: it cannot. */
bool conn_open(struct conn *conn, struct server *server, int fd);
/* Frees it in the next turn of the loop. */
void conn_close(struct conn *conn);
/* Goes on with a connection as far as it goes now. */
void conn_run(struct conn *conn);
/* Goes on with it in the next turn of the loop. */
void conn_run_soon(struct conn *conn);
/* Gives the host a request, all of which has come, and notes that its response is pending. */
void conn_dispatch(struct conn *conn, struct pending *pending, struct server_request *request);
/* No response is expected any more. */
void conn_forget(struct pending *pending);
/* The response to its request; conn_run() sends it. */
void conn_respond(struct conn *conn, const struct server_response *response);
/* Sends what is in `out`, and then ends. */
void conn_finish(struct conn *conn);
/* Ends now if it is idle, or after its requests. */
void conn_drain(struct conn *conn);
void conn_deadline(struct conn *conn, int64_t after_ms);
/* The deadline is not later than that. */
void conn_deadline_by(struct conn *conn, int64_t deadline_ns);
/* Its deadline has passed. */
void conn_expire(struct conn *conn);
/* Connections of the lowest rank are evicted first: those between two requests, then those whose request is incomplete,
 * and last those whose response is being made or sent. */
int conn_rank(const struct conn *conn);

/* A response that is made while it is sent. False: the client is too slow, and the connection is closed. */
void conn_stream_begin(struct conn *conn, const struct server_response *response);
bool conn_stream_write(struct conn *conn, struct str bytes);
void conn_stream_end(struct conn *conn);

/* ---- server_response.c ---- */
enum body_framing { BODY_WITH_LENGTH, BODY_IN_CHUNKS, BODY_TO_THE_END };
/* Puts the head of a response into `out`. */
void conn_head(struct conn *conn, const struct server_response *response, enum body_framing framing);
/* The response that is sent instead, if too many bytes wait to be read already. */
struct server_response conn_bound(const struct server *server, const struct server_response *wanted);
bool conn_takes_header(const struct server_header *header);
/* "Sun, 06 Nov 1994 08:49:37 GMT" */
void conn_date(char text[64]);
/* May so many bytes more wait for the client of a stream? */
bool stream_has_room(const struct server *server, size_t queued, size_t more);
/* All of a stream is gone to its client: the host will be told, if it waits for that. */
void server_stream_emptied(struct server *server, struct pending *pending);
/* How long the body of this request may be. */
size_t server_body_bytes_max(const struct server *server, const struct server_request *head);
/* The client of a stream is gone or too slow: the host will be told. */
void server_stream_closed(struct server *server, struct pending *pending);
/* Now. */
void server_tell_closed(struct server *server);

/* ---- server_http2.c ----
 *
 * server_conn.c moves the bytes: what it reads goes to http2_feed(), what http2_work() puts into the connection's `out`
 * is sent. Nothing is read while something waits to be sent, so that a client that does not read cannot make the
 * server queue frames. */

/* The error code of RFC 9113 for a TLS that is not good enough. */
enum { HTTP2_INADEQUATE_SECURITY = 0xc };

/* Begins; the connection is in CONN_HTTP2 then, or closed. */
void http2_begin(struct conn *conn);
/* Says goodbye with nothing but an error code of RFC 9113; the connection is to be written and closed then. */
void http2_refuse(struct conn *conn, uint32_t code);
void http2_free(struct http2 *http2);
/* Bytes of the client. Afterwards the connection may be in another state. */
void http2_feed(struct conn *conn, const char *bytes, size_t len);
/* One request to the host, if one is ready, and frames to `out`, which is empty. False: there is nothing to do. */
bool http2_work(struct conn *conn);
/* Has all been said, so that the connection can end? */
bool http2_is_over(const struct conn *conn);
/* The host's response; sent by http2_work(). */
void http2_respond(struct stream *stream, const struct server_response *response);
/* As those of server_conn.c; a client that is too slow loses the stream. */
void http2_stream_begin(struct stream *stream, const struct server_response *response);
bool http2_stream_write(struct stream *stream, struct str bytes);
void http2_stream_end(struct stream *stream);
/* Bytes that wait to be read. */
size_t http2_stream_queued(const struct stream *stream);
/* Does the client still wait for it? */
bool http2_is_awaited(const struct stream *stream);
void http2_patience(struct stream *stream, int64_t ms);
/* The connection's deadline has passed: that of one stream or more, or that of an idle connection. */
void http2_expire(struct conn *conn);
/* No more requests; those that are there are answered. */
void http2_drain(struct conn *conn);
/* No request is there at all. */
bool http2_is_idle(const struct conn *conn);
/* The response to a request is being made or sent. */
bool http2_is_busy(const struct conn *conn);

#endif
