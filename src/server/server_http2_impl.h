/* server_http2_impl.h: what server_http2.c (the connection), server_http2_stream.c (its streams) and
 * server_http2_head.c (heads of requests) share. nghttp2 does the framing.
 *
 *     HEAD ──▶ BODY ──▶ READY ──▶ AT_HOST ──▶ (STREAMING) ──▶ ANSWERED        one struct stream for each request
 *
 * The rules for heads, and what follows when one is broken, are those of Go's server: nghttp2 is told to leave them
 * alone. It would reset streams for which Go has a response that says what is wrong. */
#ifndef SERVER_SERVER_HTTP2_IMPL_H
#define SERVER_SERVER_HTTP2_IMPL_H

#include <nghttp2/nghttp2.h>

#include "server/server_impl.h"

enum phase { STREAM_HEAD, STREAM_BODY, STREAM_READY, STREAM_AT_HOST, STREAM_STREAMING, STREAM_ANSWERED };

enum pseudo { METHOD, PATH, SCHEME, AUTHORITY, PROTOCOL, PSEUDO_COUNT };

/* What is known of a head besides the headers of its request. A zeroed one is empty. */
struct http2_head {
    struct str pseudo[PSEUDO_COUNT]; /* in the request's arena; no pointer: it did not come */
    size_t size;                     /* as RFC 9113 counts fields, with 32 bytes more for each */
    bool malformed, too_large;       /* what follows is not kept */
};

struct stream {
    struct list_link all, ready;
    struct http2 *http2;
    int32_t id; /* 0: reset by the client, while the host still works on it */
    enum phase phase;
    bool is_head, ended; /* ended: the client has said all of it */
    int64_t deadline_ns;
    size_t held;                    /* in http2->held */
    struct server_request *request; /* NULL: the host has it, or it is refused */
    struct http2_head head;
    struct framing framing;
    size_t body_bytes_max;
    struct pending pending;
    struct strbuf body; /* of the request, then of the response */
    size_t sent;
    size_t counted; /* in server->response_bytes, and if it is an answer in http2->answers */
    bool is_answer; /* a response that is complete when it begins */
    bool deferred;  /* nghttp2 waits for more of it */
};

struct http2 {
    struct conn *conn;
    nghttp2_session *session;
    struct list all, ready; /* struct stream, by the links of these names */
    uint32_t at_host;       /* requests at the host */
    uint32_t at_host_max;   /* at once */
    uint32_t open;          /* streams that the client has not reset */
    uint32_t streaming;     /* those whose response has no end yet */
    bool greeted;           /* the client's settings are there */
    bool agreed;            /* and it has ours */
    bool leaves;            /* takes no more requests */
    bool failed;            /* nothing more can be done but to end it */
    uint32_t code;          /* why, of RFC 9113 */
    int64_t idle_ns;        /* until when it may have no stream */
    size_t held, answers;
    size_t body_bytes_max; /* the largest of the requests so far */
    int64_t credit, credit_ns;
    size_t sent; /* bytes of responses that were not counted for credit yet */
};

/* ---- server_http2_head.c ---- */
enum { HTTP2_MALFORMED = 0 }; /* the stream is reset; other results are those of server_parse.h */

/* What the fields of a request may take together, as it is told to clients. */
size_t http2_head_size_max(const struct server_limits *limits);
/* A field came. */
void http2_head_add(struct stream *stream, struct str name, struct str value);
/* All fields are there: fills in the request and the framing. PARSE_DONE, HTTP2_MALFORMED, or a status to refuse the
 * request with, and why (NULL: its usual text). */
int http2_head_end(struct stream *stream, const char **ret_why);

/* ---- server_http2_stream.c ---- */
/* From now; the loop wakes up for it. `deadline_ns` is one of the connection or of a stream of it. */
void http2_deadline(struct http2 *http2, int64_t *deadline_ns, int64_t ms);

struct stream *http2_stream_new(struct http2 *http2, int32_t id);
void http2_stream_free(struct stream *stream);
/* What the stream holds of a request has changed. False: all streams together hold more than one client may leave
 * here. */
bool http2_stream_hold(struct stream *stream);
/* The host has no part in it any more. */
void http2_stream_forget(struct stream *stream);

/* These return 0, or an error of nghttp2 that ends the connection. */
int http2_stream_reset(struct stream *stream, uint32_t code);
int http2_stream_respond(struct stream *stream, const struct server_response *response);
/* With a status and why, as Go's server does; NULL: the status' own text. */
int http2_stream_refuse(struct stream *stream, int status, const char *why);

#endif
