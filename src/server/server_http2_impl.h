/* server_http2_impl.h: what server_http2.c (the connection) and server_http2_stream.c (its streams) share. */
#ifndef SERVER_SERVER_HTTP2_IMPL_H
#define SERVER_SERVER_HTTP2_IMPL_H

#include <nghttp2/nghttp2.h>

#include "base/list.h"
#include "base/map.h"
#include "server/server_http2.h"
#include "server/server_http2_head.h"

enum phase { STREAM_HEAD, STREAM_BODY, STREAM_READY, STREAM_ASKED, STREAM_ANSWERED };

struct stream {
    struct list_link all, ready;
    int32_t id; /* 0: reset by the client, while the host still works on it */
    enum phase phase;
    bool is_head, ended; /* ended: the client has said all of it */
    int64_t deadline_ns;
    uint64_t request_id;
    size_t held; /* in http2->held */
    struct http2_head head;
    uint64_t content_length; /* UINT64_MAX: not said */
    struct strbuf body;      /* of the request, then of the answer */
    size_t sent;
    size_t counted; /* in server->response_bytes and http2->answers */
};

struct http2 {
    struct conn *conn;
    nghttp2_session *session;
    struct list all, ready; /* struct stream, by the links of these names */
    struct idmap asked;     /* by request id */
    uint32_t asked_max;     /* requests at the host at once */
    uint32_t open;          /* streams that the client has not reset */
    bool greeted;           /* the client's settings are there */
    bool agreed;            /* and it has ours */
    bool leaves;            /* takes no more requests */
    bool failed;            /* nothing more can be done but to end it */
    uint32_t code;          /* why, of RFC 9113 */
    int64_t idle_ns;        /* until when it may have no stream */
    size_t held, answers;
    int64_t credit, credit_ns;
    size_t sent; /* bytes of answers that were not counted for credit yet */
};

/* From now; the loop wakes up for it. `deadline_ns` is one of the connection or of a stream of it. */
void http2_deadline(struct http2 *http2, int64_t *deadline_ns, int64_t ms);

struct stream *http2_stream_new(struct http2 *http2, int32_t id);
void http2_stream_free(struct http2 *http2, struct stream *stream);
/* What the stream holds of a request has changed. */
void http2_stream_hold(struct http2 *http2, struct stream *stream, size_t bytes);
/* Do all streams together hold more than one client may leave here? */
bool http2_stream_crowd(const struct http2 *http2);

/* These return 0, or an error of nghttp2 that ends the connection. */
int http2_stream_reset(struct http2 *http2, struct stream *stream, uint32_t code);
int http2_stream_respond(struct http2 *http2, struct stream *stream, const struct reply *reply);
/* With a status and why, as Go's server does; NULL: the status' own text. */
int http2_stream_refuse(struct http2 *http2, struct stream *stream, int status, const char *why);

#endif
