/* server_conn.c: one connection: bytes in, a request to the host, bytes out. HTTP/1.1 is here, HTTP/2 in
 * server_http2.c.
 *
 * conn_run() takes one step after another until a step has to wait for the network or the host. How many steps it
 * takes at once is bounded, so that a client that sends requests without end shares the thread with the others. */
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/server_impl.h"

enum {
    STEPS_MAX = 32,
    READ_BYTES = 16 << 10,
    DISCARD_BYTES_MAX = 256 << 10,
    KEPT_BYTES_MAX = 4 << 10,
    EXPIRE_AGAIN_MS = 20, /* at least, between two looks at deadlines of a connection */
};

/* Of TLS: what a record begins with, and how much may follow. */
enum { RECORD_HANDSHAKE = 22, RECORD_HEAD_BYTES = 5, RECORD_BYTES_MAX = 16 << 10 };

enum step { STEP_ON, STEP_WAIT };

/* What reading or writing came to; positive: bytes. */
enum { IO_END = 0, IO_FAILED = -1, IO_WANT_READ = -2, IO_WANT_WRITE = -3 };

void conn_deadline_by(struct conn *conn, int64_t deadline_ns)
{
    conn->deadline_ns = MIN(conn->deadline_ns, deadline_ns);
    if (!conn->timer.place || conn->timer.due_ns > conn->deadline_ns)
        loop_timer_set(conn->server->loop, &conn->timer, conn->deadline_ns);
}

void conn_deadline(struct conn *conn, int64_t after_ms)
{
    conn->deadline_ns = INT64_MAX;
    conn_deadline_by(conn, monotonic_ns() + after_ms * NS_PER_MS);
}

/* Between two requests, or before the first one. */
static bool is_idle(const struct conn *conn)
{
    return conn->http2 ? http2_is_idle(conn) : conn->state == CONN_HEAD && !conn->in.len;
}

int conn_rank(const struct conn *conn)
{
    if (is_idle(conn) && conn->has_requested)
        return 0;
    bool is_busy =
        conn->http2 ? http2_is_busy(conn) : conn->state >= CONN_ANSWERING && conn->state <= CONN_WRITING;
    return is_busy ? 2 : 1;
}

void conn_drain(struct conn *conn)
{
    if (conn->http2) {
        http2_drain(conn);
        conn_run(conn);
    } else if (is_idle(conn) || conn->state == CONN_HANDSHAKE) {
        conn_close(conn);
    } else if (conn->state == CONN_STREAMING) {
        server_stream_closed(conn->server, &conn->pending);
        conn_stream_end(conn);
        conn_run(conn);
    }
}

void conn_forget(struct pending *pending)
{
    if (pending->id)
        idmap_remove(&pending->conn->server->pending, pending->id);
    pending->id = 0;
    pending->is_stream = pending->awaits_room = false;
}

/* All that was written is gone, or not needed. */
static void conn_clear_out(struct conn *conn)
{
    conn->out_sent = 0;
    strbuf_clear(&conn->out);
    if (conn->out.cap > KEPT_BYTES_MAX)
        strbuf_release(&conn->out);
}

/* What waits to be read has changed. */
static void conn_count(struct conn *conn)
{
    atomic_fetch_add(&conn->server->response_bytes, conn->out.cap - conn->counted);
    conn->counted = conn->out.cap;
}

/* Memory that only a request in progress needs. */
static void forget_request(struct conn *conn)
{
    conn_forget(&conn->pending);
    server_request_free(conn->request);
    conn->request = NULL;
    conn->framing = (struct framing){ 0 };
    conn->chunks = (struct chunks){ 0 };
    conn->is_head = false;
    conn_clear_out(conn);
    atomic_fetch_sub(&conn->server->response_bytes, conn->counted);
    conn->counted = 0;
    if (!conn->in.len && conn->in.cap > KEPT_BYTES_MAX)
        strbuf_release(&conn->in);
}

void conn_close(struct conn *conn)
{
    if (conn->state == CONN_CLOSED)
        return;
    struct server *server = conn->server;
    if (conn->state == CONN_STREAMING)
        server_stream_closed(server, &conn->pending);
    conn->state = CONN_CLOSED;
    forget_request(conn);
    http2_free(conn->http2);
    conn->http2 = NULL;
    SSL_free(conn->ssl);
    ERR_clear_error();
    conn->ssl = NULL;
    /* A child between fork() and exec() may have the socket too: then close() alone would not end the events. */
    loop_remove(server->loop, &conn->io);
    loop_timer_stop(server->loop, &conn->timer);
    close(conn->io.fd);
    list_remove(&server->conns, &conn->link);
    atomic_fetch_sub(&server->connections, 1);
    conn_run_soon(conn);
}

static void conn_free(struct conn *conn)
{
    struct server *server = conn->server;
    peer_unref(conn->peer);
    strbuf_release(&conn->in);
    strbuf_release(&conn->out);
    free(conn);
    server_conn_freed(server);
}

static void on_turn(struct loop_call *call)
{
    struct conn *conn = container_of(call, struct conn, turn);
    conn->has_turn = false;
    if (conn->state == CONN_CLOSED)
        conn_free(conn);
    else
        conn_run(conn);
}

void conn_run_soon(struct conn *conn)
{
    if (conn->has_turn)
        return;
    conn->has_turn = true;
    loop_post(conn->server->loop, &conn->turn);
}

static int ssl_outcome(struct conn *conn, int r)
{
    int why = SSL_get_error(conn->ssl, r);
    ERR_clear_error();
    switch (why) {
    case SSL_ERROR_WANT_READ:
        return IO_WANT_READ;
    case SSL_ERROR_WANT_WRITE:
        return IO_WANT_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return IO_END;
    default:
        return IO_FAILED;
    }
}

/* Of what recv() or send() returned. */
static int socket_outcome(ssize_t n, int want)
{
    if (n >= 0)
        return (int)n;
    return errno == EAGAIN || errno == EINTR ? want : IO_FAILED;
}

static int io_read(struct conn *conn, char *buf, size_t size)
{
    if (conn->ssl) {
        ERR_clear_error();
        int n = SSL_read(conn->ssl, buf, (int)size);
        return n > 0 ? n : ssl_outcome(conn, n);
    }
    return socket_outcome(recv(conn->io.fd, buf, size, 0), IO_WANT_READ);
}

static int io_write(struct conn *conn, const char *buf, size_t size)
{
    size = MIN(size, (size_t)INT32_MAX);
    if (conn->ssl) {
        ERR_clear_error();
        int n = SSL_write(conn->ssl, buf, (int)size);
        return n > 0 ? n : ssl_outcome(conn, n);
    }
    return socket_outcome(send(conn->io.fd, buf, size, MSG_NOSIGNAL), IO_WANT_WRITE);
}

/* Waits for what the last read or write wanted, or ends the connection. */
static enum step wait_for(struct conn *conn, int outcome)
{
    if (outcome == IO_WANT_READ || outcome == IO_WANT_WRITE)
        loop_change(conn->server->loop, &conn->io, outcome == IO_WANT_READ ? EPOLLIN : EPOLLOUT);
    else
        conn_close(conn);
    return STEP_WAIT;
}

struct server_request *request_new(void)
{
    struct server_request *request = xcalloc(1, sizeof(*request));
    request->arena.secret = true;
    return request;
}

/* Adds what the network has to `in`, up to `bytes_max` there. */
static int read_more(struct conn *conn, size_t bytes_max)
{
    char buf[READ_BYTES];
    assert(conn->in.len < bytes_max);
    int n = io_read(conn, buf, MIN(bytes_max - conn->in.len, sizeof(buf)));
    if (n > 0) {
        strbuf_add(&conn->in, buf, (size_t)n);
        explicit_bzero(buf, (size_t)n);
        conn->active_ns = monotonic_ns();
    }
    return n;
}

void conn_respond(struct conn *conn, const struct server_response *wanted)
{
    struct server *server = conn->server;
    struct server_response response = conn_bound(server, wanted);
    conn->close_after = response.close || !conn->framing.keep_alive || server->draining;
    conn_head(conn, &response, BODY_WITH_LENGTH);
    if (!conn->is_head)
        strbuf_str(&conn->out, response.body);
    conn_count(conn);
    conn_forget(&conn->pending);
    conn->state = CONN_WRITING;
    conn_deadline(conn, server->limits.write_ms);
}

/* Ends with a status and its text, as Go's server does. */
static enum step refuse(struct conn *conn, int status)
{
    static const struct server_header plain_text = { STR("Content-Type"), STR("text/plain; charset=utf-8") };
    char body[64];
    snprintf(body, sizeof(body), "%d %s", status, server_status_text(status));
    atomic_fetch_add(&conn->server->refused, 1);
    conn_respond(conn, &(struct server_response){ status, &plain_text, 1, str_from(body), true });
    return STEP_ON;
}

/* A client that speaks plain HTTP gets one plain sentence. */
static void explain_tls(struct conn *conn, unsigned long why)
{
    static const char sentence[] =
        "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    if (ERR_GET_LIB(why) == ERR_LIB_SSL && ERR_GET_REASON(why) == SSL_R_HTTP_REQUEST)
        (void)!send(conn->io.fd, sentence, sizeof(sentence) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The next request is awaited, the first one of the connection with less patience. */
static void enter_head(struct conn *conn)
{
    const struct server_limits *limits = &conn->server->limits;
    conn->state = CONN_HEAD;
    conn->scanned = 0;
    conn->head_begun = !conn->has_requested || conn->in.len;
    conn_deadline(conn, conn->head_begun ? limits->header_ms : limits->idle_ms);
}

static void enter_protocol(struct conn *conn)
{
    if (!server_tls_speaks_http2(conn->ssl))
        enter_head(conn);
    else if (server_tls_suits_http2(conn->ssl))
        http2_begin(conn);
    else
        http2_refuse(conn, HTTP2_INADEQUATE_SECURITY);
}

/* A session of TLS is made once the client's first record is complete: a client that sends nothing, or a byte now and
 * then, costs a connection and nothing else. Positive: it is there. */
static int await_hello(struct conn *conn)
{
    unsigned char head[RECORD_HEAD_BYTES];
    int len = socket_outcome(recv(conn->io.fd, head, sizeof(head), MSG_PEEK), IO_WANT_READ);
    if (len <= 0)
        return len;
    /* libssl says what is wrong with another kind. */
    if (head[0] != RECORD_HANDSHAKE)
        return 1;
    uint32_t wanted = RECORD_HEAD_BYTES;
    if (len == RECORD_HEAD_BYTES)
        wanted += (uint32_t)MIN(head[3] << 8 | head[4], RECORD_BYTES_MAX);
    int waiting = 0;
    /* Awaited already: the kernel says that it is there, or that nothing more will come. */
    if (wanted <= conn->hello_bytes ||
        (ioctl(conn->io.fd, FIONREAD, &waiting) == 0 && waiting >= (int)wanted))
        return 1;
    conn->hello_bytes = wanted;
    socket_option(conn->io.fd, SOL_SOCKET, SO_RCVLOWAT, (int)wanted);
    return IO_WANT_READ;
}

static enum step begin_handshake(struct conn *conn)
{
    int outcome = await_hello(conn);
    if (outcome > 0) {
        if (conn->hello_bytes)
            socket_option(conn->io.fd, SOL_SOCKET, SO_RCVLOWAT, 1);
        conn->ssl = server_tls_accept(conn->server->tls, conn->io.fd);
        outcome = conn->ssl ? outcome : IO_FAILED;
    }
    if (outcome == IO_END || outcome == IO_FAILED)
        atomic_fetch_add(&conn->server->handshakes_failed, 1);
    return outcome > 0 ? STEP_ON : wait_for(conn, outcome);
}

static enum step step_handshake(struct conn *conn)
{
    if (!conn->ssl)
        return begin_handshake(conn);
    ERR_clear_error();
    int r = SSL_do_handshake(conn->ssl);
    if (r == 1) {
        conn->active_ns = monotonic_ns();
        conn->peer = peer_of(conn->ssl);
        enter_protocol(conn);
        return STEP_ON;
    }
    unsigned long why = ERR_peek_error();
    int outcome = ssl_outcome(conn, r);
    if (outcome == IO_END || outcome == IO_FAILED) {
        atomic_fetch_add(&conn->server->handshakes_failed, 1);
        explain_tls(conn, why);
        outcome = IO_FAILED;
    }
    return wait_for(conn, outcome);
}

static enum step enter_body(struct conn *conn)
{
    const struct server_limits *limits = &conn->server->limits;
    const struct framing *framing = &conn->framing;
    conn->body_bytes_max = server_body_bytes_max(conn->server, conn->request);
    if (!framing->chunked && framing->content_length > conn->body_bytes_max)
        return refuse(conn, 413);
    conn->state = CONN_BODY;
    conn_deadline(conn, limits->body_ms);
    if (framing->expects_continue && (framing->chunked || framing->content_length) && !framing->http10)
        strbuf_puts(&conn->out, "HTTP/1.1 100 Continue\r\n\r\n");
    return STEP_ON;
}

/* The first bytes that came are the head of a request. */
static enum step take_head(struct conn *conn, size_t len)
{
    conn->has_requested = true;
    conn->request = request_new();
    struct str head = arena_str(&conn->request->arena, (struct str){ conn->in.text, (uint32_t)len });
    strbuf_drop(&conn->in, len);
    int r = parse_head(head, conn->request, &conn->framing);
    conn->is_head = r == PARSE_DONE && str_is(conn->request->method, "HEAD");
    return r == PARSE_DONE ? enter_body(conn) : refuse(conn, r);
}

static enum step step_head(struct conn *conn)
{
    const struct server_limits *limits = &conn->server->limits;
    size_t blank = 0;
    while (blank < conn->in.len && (conn->in.text[blank] == '\r' || conn->in.text[blank] == '\n'))
        blank++;
    if (blank && !conn->scanned)
        strbuf_drop(&conn->in, blank);
    size_t len = conn->in.len ? parse_find_head(strbuf_slice(&conn->in), conn->scanned) : 0;
    conn->scanned = conn->in.len;
    if (len > limits->header_bytes_max || (!len && conn->in.len >= limits->header_bytes_max))
        return refuse(conn, 431);
    if (len)
        return take_head(conn, len);
    int n = read_more(conn, limits->header_bytes_max);
    if (n <= 0)
        return wait_for(conn, n);
    if (!conn->head_begun)
        conn_deadline(conn, limits->header_ms);
    conn->head_begun = true;
    return STEP_ON;
}

/* The lengths of the body, and of what it takes in the buffer. */
static int body_state(struct conn *conn, size_t *ret_len, size_t *ret_raw)
{
    if (!conn->framing.chunked) {
        *ret_len = *ret_raw = conn->framing.content_length;
        return conn->in.len >= *ret_len ? PARSE_DONE : PARSE_MORE;
    }
    int r = parse_chunks(&conn->chunks, conn->in.text, conn->in.len, conn->body_bytes_max);
    *ret_len = conn->chunks.len;
    *ret_raw = conn->chunks.raw;
    return r;
}

void conn_dispatch(struct conn *conn, struct pending *pending, struct server_request *request)
{
    struct server *server = conn->server;
    conn->has_requested = true;
    atomic_fetch_add(&server->requests, 1);
    request->id = pending->id = ++server->last_id;
    request->remote = arena_str(&request->arena, str_from(conn->remote));
    request->peer = peer_ref(conn->peer);
    request->received_ns = conn->active_ns;
    request->http2 = conn->http2;
    pending->conn = conn;
    idmap_put(&server->pending, pending->id, pending);
    conn->dispatching = true;
    server->options.on_request(server->options.user, request);
    conn->dispatching = false;
}

/* All of the request is there. */
static enum step dispatch(struct conn *conn, size_t len, size_t raw)
{
    struct server_request *request = conn->request;
    request->body = arena_str(&request->arena, (struct str){ conn->in.text, (uint32_t)len });
    strbuf_drop(&conn->in, raw);
    conn->request = NULL;
    conn->state = CONN_ANSWERING;
    conn_deadline(conn, conn->server->limits.answer_ms);
    loop_change(conn->server->loop, &conn->io, 0);
    conn_dispatch(conn, &conn->pending, request);
    return conn->state == CONN_ANSWERING ? STEP_WAIT : STEP_ON;
}

/* Sends what is in `out`; STEP_ON: all is gone. */
static enum step flush(struct conn *conn)
{
    while (conn->out_sent < conn->out.len) {
        int n = io_write(conn, conn->out.text + conn->out_sent, conn->out.len - conn->out_sent);
        if (n <= 0)
            return wait_for(conn, n == 0 ? IO_FAILED : n);
        conn->out_sent += (size_t)n;
        conn->active_ns = monotonic_ns();
    }
    conn->out_sent = 0;
    strbuf_clear(&conn->out);
    return STEP_ON;
}

static enum step step_body(struct conn *conn)
{
    if (conn->out.len && flush(conn) == STEP_WAIT)
        return STEP_WAIT;
    size_t len, raw;
    int r = body_state(conn, &len, &raw);
    if (r == PARSE_DONE)
        return dispatch(conn, len, raw);
    if (r != PARSE_MORE)
        return refuse(conn, r);
    /* The coding of chunks takes space of its own, but not without end. */
    size_t bytes_max = conn->body_bytes_max * (conn->framing.chunked ? 2 : 1) + READ_BYTES;
    if (conn->in.len >= bytes_max)
        return refuse(conn, 413);
    int n = read_more(conn, bytes_max);
    return n > 0 ? STEP_ON : wait_for(conn, n);
}

void conn_finish(struct conn *conn)
{
    http2_free(conn->http2);
    conn->http2 = NULL;
    conn->close_after = true;
    conn->state = CONN_WRITING;
    conn_deadline(conn, conn->server->limits.linger_ms);
}

/* Nothing is read before all is sent, see server_http2.h. */
static enum step step_http2(struct conn *conn)
{
    if (flush(conn) == STEP_WAIT)
        return STEP_WAIT;
    if (http2_work(conn))
        return STEP_ON;
    if (http2_is_over(conn)) {
        conn_finish(conn);
        return STEP_ON;
    }
    char buf[READ_BYTES];
    int n = io_read(conn, buf, sizeof(buf));
    if (n <= 0)
        return wait_for(conn, n);
    conn->active_ns = monotonic_ns();
    http2_feed(conn, buf, (size_t)n);
    explicit_bzero(buf, (size_t)n);
    return STEP_ON;
}

static enum step step_writing(struct conn *conn)
{
    if (flush(conn) == STEP_WAIT)
        return STEP_WAIT;
    bool closes = conn->close_after || conn->server->draining;
    forget_request(conn);
    if (!closes) {
        enter_head(conn);
        return STEP_ON;
    }
    /* Closing with bytes unread would make the kernel throw away what the client has not read yet. */
    if (conn->ssl)
        SSL_shutdown(conn->ssl);
    ERR_clear_error();
    shutdown(conn->io.fd, SHUT_WR);
    conn->state = CONN_LINGER;
    conn_deadline(conn, conn->server->limits.linger_ms);
    return STEP_ON;
}

/* ---- responses that are made while they are sent ---- */
void conn_stream_begin(struct conn *conn, const struct server_response *response)
{
    conn->close_after = response->close || !conn->framing.keep_alive || conn->framing.http10;
    conn_head(conn, response, conn->framing.http10 ? BODY_TO_THE_END : BODY_IN_CHUNKS);
    conn->state = CONN_STREAMING;
    conn_count(conn);
    conn_deadline(conn, conn->server->limits.write_ms);
}

bool conn_stream_write(struct conn *conn, struct str bytes)
{
    struct server *server = conn->server;
    if (conn->is_head)
        return true;
    if (!stream_has_room(server, conn->out.len - conn->out_sent, bytes.len)) {
        conn_close(conn);
        return false;
    }
    /* What is gone makes room before the buffer grows. */
    if (conn->out_sent > conn->out.len / 2) {
        strbuf_drop(&conn->out, conn->out_sent);
        conn->out_sent = 0;
    }
    if (!conn->out.len)
        conn_deadline(conn, server->limits.write_ms);
    if (!conn->framing.http10)
        strbuf_printf(&conn->out, "%x\r\n", bytes.len);
    strbuf_str(&conn->out, bytes);
    if (!conn->framing.http10)
        strbuf_puts(&conn->out, "\r\n");
    conn_count(conn);
    return true;
}

void conn_stream_end(struct conn *conn)
{
    if (!conn->framing.http10 && !conn->is_head)
        strbuf_puts(&conn->out, "0\r\n\r\n");
    conn_count(conn);
    conn_forget(&conn->pending);
    conn->state = CONN_WRITING;
    conn_deadline(conn, conn->server->limits.write_ms);
}

/* Sends what there is. Meanwhile a client that leaves is noticed; a request that it sends ahead waits. */
static enum step step_streaming(struct conn *conn)
{
    size_t sent_before = conn->out_sent;
    bool had_bytes = conn->out.len > 0, is_stuck = had_bytes && flush(conn) == STEP_WAIT;
    if (conn->state != CONN_STREAMING)
        return STEP_WAIT;
    if (had_bytes && !is_stuck) {
        conn_clear_out(conn);
        conn_count(conn);
        conn->deadline_ns = INT64_MAX;
        server_stream_emptied(conn->server, &conn->pending);
    } else if (is_stuck && conn->out_sent > sent_before) {
        conn_deadline(conn, conn->server->limits.write_ms);
    }
    size_t ahead_max = conn->server->limits.header_bytes_max;
    int n = conn->in.len < ahead_max ? read_more(conn, ahead_max) : IO_FAILED;
    if (n > 0)
        return STEP_ON;
    if (n == IO_WANT_READ || n == IO_WANT_WRITE)
        loop_change(conn->server->loop, &conn->io, is_stuck ? EPOLLIN | EPOLLOUT : EPOLLIN);
    else
        conn_close(conn);
    return STEP_WAIT;
}

static enum step step_linger(struct conn *conn)
{
    char buf[READ_BYTES];
    int n = socket_outcome(recv(conn->io.fd, buf, sizeof(buf), 0), IO_WANT_READ);
    conn->discarded += n > 0 ? (size_t)n : 0;
    return n > 0 && conn->discarded < DISCARD_BYTES_MAX ? STEP_ON : wait_for(conn, n);
}

/* By state; those without a function wait for the host, or to be freed. */
static enum step (*const steps[])(struct conn *conn) = {
    [CONN_HANDSHAKE] = step_handshake, [CONN_HEAD] = step_head,       [CONN_BODY] = step_body,
    [CONN_STREAMING] = step_streaming, [CONN_WRITING] = step_writing, [CONN_HTTP2] = step_http2,
    [CONN_LINGER] = step_linger,       [CONN_CLOSED] = NULL,
};

void conn_run(struct conn *conn)
{
    for (int i = 0; i < STEPS_MAX; i++)
        if (!steps[conn->state] || steps[conn->state](conn) == STEP_WAIT)
            return;
    conn_run_soon(conn);
}

void conn_expire(struct conn *conn)
{
    if (conn->state == CONN_ANSWERING) {
        refuse(conn, 504);
        conn_run(conn);
        return;
    }
    if (conn->state == CONN_HTTP2) {
        http2_expire(conn);
        return;
    }
    if (conn->state == CONN_HANDSHAKE || conn->state == CONN_BODY ||
        (conn->state == CONN_HEAD && conn->in.len))
        atomic_fetch_add(&conn->server->refused, 1);
    conn_close(conn);
}

/* Deadlines mostly move away, which the timer is not told of. */
static void on_timer(struct loop_timer *timer)
{
    struct conn *conn = container_of(timer, struct conn, timer);
    int64_t now_ns = monotonic_ns();
    if (conn->deadline_ns <= now_ns)
        conn_expire(conn);
    if (conn->state != CONN_CLOSED)
        loop_timer_set(conn->server->loop, timer,
                       MAX(conn->deadline_ns, now_ns + EXPIRE_AGAIN_MS * NS_PER_MS));
}

static void on_ready(struct loop_fd *io, uint32_t events)
{
    struct conn *conn = container_of(io, struct conn, io);
    /* Both directions are dead: no answer will be read. */
    if (events & (EPOLLERR | EPOLLHUP) && !(events & EPOLLIN))
        conn_close(conn);
    else
        conn_run(conn);
}

bool conn_open(struct conn *conn, struct server *server, int fd)
{
    *conn = (struct conn){ .server = server,
                           .io = { .fd = fd, .events = EPOLLIN, .ready = on_ready },
                           .timer.ring = on_timer,
                           .in.secret = true, /* callers' tokens */
                           .turn.run = on_turn };
    if (loop_add(server->loop, &conn->io) < 0)
        return false;
    list_append(&server->conns, &conn->link);
    atomic_fetch_add(&server->connections, 1);
    return true;
}
