/* http.h: an HTTP/1.1 and HTTP/2 client on an event loop.
 *
 *     any thread ──http_send(), http_cancel()──▶ loop (libcurl multi), the I/O thread ──▶ callbacks there
 *
 * Requests to one server share one HTTP/2 connection where the server speaks it, and a handful of HTTP/1.1 ones
 * where not. Every request that http_send() took is answered by exactly one call of on_done, whatever happens:
 * a cancellation and the end of the client included. Callbacks run on the I/O thread, must not block, and may
 * call http_send() and http_cancel().
 *
 * Dead connections. A peer that vanished is found by TCP (keepalive and user timeout) within
 * idle_ms + probe_ms; the same for one whose kernel answers and whose program does not, on HTTP/2, if there is
 * an on_doubt(): after idle_ms of silence it sends a probe, and a connection on which nothing at all arrives for
 * probe_ms after that is closed. libcurl 7.88 cannot send HTTP/2 PING through its multi interface, hence a
 * request.
 *
 * A lost answer is not a no: struct http_response says whether the server may have seen the request. A request
 * that is not a GET or HEAD is never sent twice. */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"
#include "net/loop.h"
#include "net/tls.h"

struct http_client;

/* Zero takes the default in brackets; a negative time is none. */
struct http_options {
    struct loop *loop;      /* that it runs on; NULL: one of its own */
    const char *name;       /* of the thread of its own loop ["io"] */
    const char *proxy_url;  /* for every request; NULL: by the environment, see net/proxy.h */
    uint32_t in_flight_max; /* requests under way at once, without streams and urgent ones [64] */
    uint32_t pending_max;   /* requests taken and not answered, likewise; more are refused [20000] */
    int64_t connect_ms;     /* name, TCP and TLS together [5000] */
    int64_t timeout_ms;     /* of a request that has none of its own [30000] */
    size_t body_bytes_max;  /* of a request that has none of its own [256 MiB] */
    int64_t idle_ms;        /* silence on a connection in use before it is in doubt [30000] */
    int64_t probe_ms;       /* and then until it is given up [15000] */
    /* An HTTP/2 connection is in doubt: the owner sends a request to its server with http_send_probe(), at once or
     * later. On the loop's thread. NULL: TCP alone decides. */
    void (*on_doubt)(void *user, uint64_t connection);
    void *user; /* of on_doubt */
    bool http1_only;
};

struct http_header {
    const char *name, *value;
};

enum http_outcome {
    HTTP_ANSWERED, /* a complete response came; `status` says what it is */
    HTTP_UNSENT,   /* the server cannot have seen the request */
    HTTP_LOST,     /* the server may have seen it; the answer did not come, or not to its end */
};

enum http_failure {
    HTTP_FAILURE_NONE,
    HTTP_FAILURE_CONNECT,   /* no such name, refused, unreachable, or too slow */
    HTTP_FAILURE_TLS,       /* the handshake failed: one side does not trust the other */
    HTTP_FAILURE_TIMEOUT,   /* of the request, or a stream was silent for too long */
    HTTP_FAILURE_BROKEN,    /* the connection or the protocol broke */
    HTTP_FAILURE_TOO_LARGE, /* more than body_bytes_max */
    HTTP_FAILURE_CANCELLED, /* http_cancel(), http_client_free(), may_leave, or on_chunk returned non-zero */
};

enum { HTTP_WARNINGS_MAX = 16 };

/* Lives until on_done returns. */
struct http_response {
    uint64_t id;
    enum http_outcome outcome;
    enum http_failure failure;
    int status;   /* 0: no answer began */
    int os_error; /* why a connection failed, as an errno; 0: for another reason */
    bool http2;
    struct str content_type; /* empty: none */
    struct str location;     /* of a redirect, which is an answer like any other; empty: none */
    int64_t retry_after_ms;  /* -1: none */
    struct str warnings[HTTP_WARNINGS_MAX];
    size_t warning_count;
    /* Of a stream: only of an answer that is not 2xx. A callback may keep it: copy the struct, then zero it
     * here. */
    struct strbuf *body;
    struct error error; /* one sentence, when there is a failure */
};

struct http_callbacks {
    /* The answer has begun. May be NULL. */
    void (*on_start)(void *user, uint64_t id, int status);
    /* A piece of a stream's answer, as it came from the network. Non-zero ends the request. */
    int (*on_chunk)(void *user, uint64_t id, struct str chunk);
    void (*on_done)(void *user, struct http_response *response);
};

/* Copied by http_send(), except for the callbacks. */
struct http_request {
    const char *method;
    const char *url;
    const struct http_header *headers;
    size_t header_count;
    struct str body;
    bool secret; /* the body or its answer holds a secret; headers always may */
    struct tls_config
        *tls;           /* the request takes its own reference; NULL: the system's trust, no certificate */
    bool stream;        /* the answer goes to on_chunk piece by piece; does not count as in flight */
    bool gzip;          /* the answer may come packed; it is unpacked, and its limit is for what comes out */
    bool urgent;        /* goes before those that wait, and past the limit of those in flight */
    bool ahead;         /* goes before others that wait, which get every fourth turn */
    int64_t timeout_ms; /* until the complete response is there; of a stream, until it begins */
    int64_t silence_ms; /* of a stream: the longest time between two pieces; 0: any */
    size_t body_bytes_max;
    int64_t not_before_ns; /* by monotonic_ns(): it waits until then, unseen by the limits; 0: at once */
    /* Called with `user` on the I/O thread, after all waiting: when the request would be given a connection, and
     * again at the moment at which it would be written there. False ends it as UNSENT. NULL: it may. */
    bool (*may_leave)(void *user);
    const struct http_callbacks *callbacks;
    void *user;
};

int http_client_new(const struct http_options *options, struct http_client **ret, struct error *err);
/* Cancels everything and answers everything. Not from a callback. NULL is fine. */
void http_client_free(struct http_client *client);
struct loop *http_client_loop(const struct http_client *client);

/* From any thread. -EINVAL: the request makes no sense; -EAGAIN: pending_max; -ESHUTDOWN: the client is
 * ending. Only on 0 will there be an on_done, possibly before this returns. `ret_id` may be NULL. */
int http_send(struct http_client *client, const struct http_request *request, uint64_t *ret_id,
              struct error *err);
/* The request that on_doubt is to send, with all that its server wants to see; it has no callbacks and no time of its
 * own. NULL: there is none this time. On the loop's thread. */
void http_send_probe(struct http_client *client, uint64_t connection, const struct http_request *request);
/* Where a redirect leads: `reference` as seen from the URL `base`. From any thread. */
int http_resolve(const char *base, struct str reference, struct strbuf *out, struct error *err);
/* From any thread. An id that is done, or never was, is fine: then nothing happens. */
void http_cancel(struct http_client *client, uint64_t id);
/* Closes every connection, as after a change of identity: what is under way ends as LOST. From any thread. */
void http_drop_connections(struct http_client *client);
/* The same, and bytes of requests that have not reached the server yet are never sent: after a shutdown the kernel goes
 * on with them, after a reset it does not. */
void http_reset_connections(struct http_client *client);

/* What the client is at, and has done. From any thread. */
struct http_stats {
    uint64_t in_flight, streams, pending; /* pending: all that were taken and not answered, but for streams */
    uint64_t connections_opened, probes_sent, connections_given_up;
};
struct http_stats http_client_stats(const struct http_client *client);

#endif
