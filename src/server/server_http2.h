/* server_http2.h: HTTP/2 on a connection: frames in, requests to the host, frames out. nghttp2 does the framing.
 *
 *     HEAD ──▶ BODY ──▶ READY ──▶ ASKED ──▶ ANSWERED        one struct stream for each request
 *
 * server_conn.c moves the bytes: what it reads goes to http2_feed(), what http2_work() puts into the connection's `out`
 * is sent. Nothing is read while something waits to be sent, so that a client that does not read cannot make the
 * server queue frames. Private to net/. */
#ifndef SERVER_SERVER_HTTP2_H
#define SERVER_SERVER_HTTP2_H

#include "server/server_impl.h"

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
/* The host's answer; sent by http2_work(). False: there is no such request. */
bool http2_answer(struct conn *conn, uint64_t id, const struct reply *reply);
/* Does a client wait for the answer to this request? */
bool http2_awaits(const struct conn *conn, uint64_t id);
void http2_patience(struct conn *conn, uint64_t id, int64_t ms);
/* The connection's deadline has passed: that of one stream or more, or that of an idle connection. */
void http2_expire(struct conn *conn);
/* No more requests; those that are there are answered. */
void http2_drain(struct conn *conn);
/* No request is there at all. */
bool http2_is_idle(const struct conn *conn);
/* The answer to a request is being made or sent. */
bool http2_is_busy(const struct conn *conn);

#endif
