/* server.h: an HTTP server, plain or over TLS, on an event loop.
 *
 *     clients ──▶ loop, the server's thread ──on_request()──▶ the host
 *                      ▲                                        │
 *                      └─────────── server_respond() ◀──────────┘
 *
 * A request is answered by server_respond() with its id: inside on_request(), or later. The client may be gone by then,
 * which is fine: the response is dropped. A connection of HTTP/1.1 has one request at a time; what a client sends ahead
 * of the response waits in the kernel. One of HTTP/2 has as many as streams_max.
 *
 * A response that has no end yet, such as a watch, is a stream: server_stream_begin(), any number of
 * server_stream_write(), server_stream_end(). What a client has not read is queued up to a limit; a client that is
 * slower loses the stream. A host that can wait asks server_stream_is_full(), and goes on with on_stream_room(). A
 * stream with nothing to be read may be silent for ever.
 *
 * Everything has a bound (struct server_limits): a client that is slow, silent, greedy or malicious costs its own
 * connection and nothing else. When all places are taken, the connection that was silent for the longest time is
 * closed for the new one.
 *
 * TLS clients that offer HTTP/2 get it, unless the options of TLS say no. Without TLS there is HTTP/1.1 alone. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "net/loop.h"
#include "server/server_peer.h"
#include "server/server_tls.h"

struct server;

/* Zero takes the default in brackets. */
struct server_limits {
    uint32_t connections_max;  /* [1024] */
    size_t header_bytes_max;   /* request line and headers [65536] */
    size_t body_bytes_max;     /* [65536] */
    uint32_t streams_max;      /* requests at once in a connection of HTTP/2 [100] */
    size_t stream_bytes_max;   /* of one stream that wait to be read [32 MiB] */
    size_t stream_full_bytes;  /* with so many the stream is full [1 MiB] */
    size_t response_bytes_max; /* all answers that wait to be read by their clients [256 MiB] */
    int64_t handshake_ms;      /* [10000] */
    int64_t header_ms;         /* from a request's first byte to the end of its headers [32000] */
    int64_t body_ms;           /* and from there to the end of its body [30000] */
    int64_t answer_ms;         /* until server_respond(); then the client gets a 504 [60000] */
    int64_t write_ms;          /* for the client to take the complete response, or more of a stream [60000] */
    int64_t idle_ms;           /* between two requests [90000] */
    int64_t linger_ms;         /* for the client to read the end of a connection that we close [500] */
};

struct server_header {
    struct str name, value;
};

/* Belongs to the host, to be freed by server_request_free(). */
struct server_request {
    uint64_t id;
    struct str method;
    struct str target; /* as it was sent */
    struct str path;   /* decoded */
    struct str query;  /* as it was sent, without the question mark */
    VEC(struct server_header) headers;
    struct str body;
    struct str remote;   /* "127.0.0.1:4711" */
    struct peer *peer;   /* the client's certificates, as it sent them, unverified. NULL: none */
    int64_t received_ns; /* by monotonic_ns() */
    bool http2;
    struct arena arena; /* all texts; the host may add to it */
};

/* Copied by server_respond(). Date, Content-Length and Connection are added. A header that would break out of its line
 * is left out. */
struct server_response {
    int status;
    const struct server_header *headers;
    size_t header_count;
    struct str body; /* counted but not sent to a HEAD */
    bool close;      /* the connection ends with this answer, or of HTTP/2: takes no more requests */
};

struct server_options {
    struct loop *loop;   /* that it runs on; NULL: one of its own */
    const char *address; /* an IP address; NULL, "0.0.0.0" or "::": all addresses of both families */
    uint16_t port;       /* 0: a free one, see server_port() */
    bool reuse_port;     /* SO_REUSEPORT */
    const struct server_tls_options *tls; /* NULL: plain HTTP; its texts outlive the server */
    int64_t reload_ms;                    /* how often the files of `tls` are looked at [10000] */
    int64_t hang_ms;                      /* as in net/file_set.h */
    struct server_limits limits;
    /* On the server's thread; must not block. */
    void (*on_request)(void *user, struct server_request *request);
    /* How long the body of a request may be whose head is there, at most limits.body_bytes_max; NULL: so long. On the
     * server's thread. */
    size_t (*body_bytes_max)(void *user, const struct server_request *head);
    /* A stream that was full when server_stream_is_full() was called is empty. On the server's thread, and never inside
     * another call of the server. May be NULL. */
    void (*on_stream_room)(void *user, uint64_t id);
    /* A stream that began has ended, and not by server_stream_end(): its client is gone or too slow, or the server
     * drains. Once for each, on the server's thread, and never inside another call of the server. May be NULL. */
    void (*on_stream_closed)(void *user, uint64_t id);
    /* Something is wrong with the files of `tls`, in one sentence; NULL: not any more. On the server's thread. May be
     * NULL. */
    void (*on_problem)(void *user, const char *sentence);
    /* New certificates are in use. On the server's thread. May be NULL. */
    void (*on_reload)(void *user);
    void *user;
};

/* Listens; no request is answered yet. Strings of the options are copied or not needed any more, callbacks stay. */
int server_new(const struct server_options *options, struct server **ret, struct error *err);
/* Answers from now on. */
int server_start(struct server *server, struct error *err);
/* Stops listening, closes what is idle, and gives requests that are under way until grace_ms to end. Blocks for so
 * long at most. Streams end at once. From any thread but the server's. */
void server_drain(struct server *server, int64_t grace_ms);
/* Ends all connections. Not from the server's thread; server_respond() may not be called any more. NULL is fine. */
void server_free(struct server *server);

/* On the server's thread. An id that has been answered, or whose client is gone, is fine: then nothing happens. */
void server_respond(struct server *server, uint64_t id, const struct server_response *response);
/* The response without its end; its body is the first part. HTTP/1.1 sends chunks. False: the client is gone, and no
 * stream began. On the server's thread, as the next two. */
bool server_stream_begin(struct server *server, uint64_t id, const struct server_response *response);
/* False: the stream has ended, or does so now because too much of it is unread. */
bool server_stream_write(struct server *server, uint64_t id, struct str bytes);
/* Do limits.stream_full_bytes wait to be read? Then on_stream_room() is called when they are gone, once. */
bool server_stream_is_full(struct server *server, uint64_t id);
/* The response is complete. */
void server_stream_end(struct server *server, uint64_t id);
/* NULL is fine. */
void server_request_free(struct server_request *request);
/* For an answer that takes its time: ms from now instead of limits.answer_ms. On the server's thread. */
void server_patience(struct server *server, uint64_t id, int64_t ms);
/* Has the request no answer yet, and a client that waits for one? On the server's thread. */
bool server_is_awaited(struct server *server, uint64_t id);
/* For calls on the server's thread. */
struct loop *server_loop(const struct server *server);
uint16_t server_port(const struct server *server);
/* Can the files of the serving certificates be read and used? From any thread. */
int server_check_certificates(const struct server *server, struct error *err);
/* Has server_start() succeeded? */
bool server_is_running(const struct server *server);

struct server_stats {
    uint64_t evicted, requests, refused /* malformed, too large or too slow */, handshakes_failed;
    uint32_t connections;
    size_t response_bytes;
};
/* From any thread. */
struct server_stats server_stats(const struct server *server);

/* The value of a header, by name without regard to case; the first one if there are several. */
struct str server_header_value(const struct server_request *request, struct str name);
/* "Not Found" of 404; "" where there is none. */
const char *server_status_text(int status);

#endif
