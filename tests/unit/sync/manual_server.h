/* manual_server.h: an API server whose requests the test answers one by one:
 *
 *     struct manual_request *list = take_request(&server, "/api/v1/pods?");     // waits for such a request
 *     reply(list, 200, "", body);
 *     struct manual_request *watch = take_request(&server, "/api/v1/pods?");
 *     stream_begin(watch);
 *     stream_put(watch, bytes);
 *     stream_end(watch);  or  drop_connection(watch);
 *
 * It can go down and come back on the same port. "/version" is answered automatically. */
#ifndef UNIT_SYNC_MANUAL_SERVER_H
#define UNIT_SYNC_MANUAL_SERVER_H

#include "support/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/vec.h"
#include "http/http.h"

enum { MANUAL_SERVER_WAIT_MS = 60000, MANUAL_SERVER_PATH_MAX = 2048 };

struct manual_server;

struct manual_request {
    struct manual_server *server;
    int fd;
    char path[MANUAL_SERVER_PATH_MAX];
    int64_t at_ns;
    bool taken, over, ends; /* over: the next request may follow; ends: the connection is closed */
};

struct manual_connection {
    struct manual_server *server;
    pthread_t thread;
    int fd;
};

struct manual_server {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int listener, port;
    int keeper; /* reserves the port while the server is down */
    pthread_t acceptor;
    bool stopping, mute; /* mute: closes every new connection */
    VEC(struct manual_connection *) connections_list;
    VEC(struct manual_request *) requests;
    size_t connections, probes;
};

static inline void write_all(int fd, const char *text, size_t len)
{
    for (ssize_t n; len > 0; text += n, len -= (size_t)n) {
        n = send(fd, text, len, MSG_NOSIGNAL);
        if (n <= 0)
            return;
    }
}

/* The path of the next request. False: the connection is closed. */
static inline bool manual_server_read(int fd, struct strbuf *in, char path[MANUAL_SERVER_PATH_MAX])
{
    char buf[4096];
    const char *end;
    while (!in->text || !(end = strstr(in->text, "\r\n\r\n"))) {
        ssize_t n = read(fd, buf, sizeof(buf));
        if (n <= 0)
            return false;
        strbuf_add(in, buf, (size_t)n);
    }
    if (strncmp(in->text, "GET ", 4) != 0)
        return false;
    snprintf(path, MANUAL_SERVER_PATH_MAX, "%.*s", (int)strcspn(in->text + 4, " \r"), in->text + 4);
    size_t head = (size_t)(end - in->text) + 4;
    memmove(in->text, in->text + head, in->len - head + 1);
    in->len -= head;
    return true;
}

static inline void reply_bytes(int fd, int status, const char *headers, struct str body)
{
    struct strbuf out = { 0 };
    strbuf_printf(&out, "HTTP/1.1 %d X\r\nContent-Length: %u\r\n%s\r\n", status, body.len, headers);
    strbuf_str(&out, body);
    write_all(fd, out.text, out.len);
    strbuf_release(&out);
}

/* Passes the request to the test and waits until the test is done with it. */
static inline bool manual_server_handle(struct manual_server *server, int fd, const char *path)
{
    struct manual_request *x = xcalloc(1, sizeof(*x));
    *x = (struct manual_request){ .server = server, .fd = fd, .at_ns = monotonic_ns() };
    snprintf(x->path, sizeof(x->path), "%s", path);
    pthread_mutex_lock(&server->lock);
    *vec_push(&server->requests) = x;
    pthread_cond_broadcast(&server->changed);
    while (!x->over && !server->stopping)
        pthread_cond_wait(&server->changed, &server->lock);
    bool ends = x->ends || server->stopping;
    pthread_mutex_unlock(&server->lock);
    return !ends;
}

static inline void *manual_connection(void *argument)
{
    struct manual_connection *line = argument;
    struct strbuf in = { 0 };
    char path[MANUAL_SERVER_PATH_MAX];
    bool open = true;
    while (open && manual_server_read(line->fd, &in, path)) {
        if (strncmp(path, "/version", 8) != 0) {
            open = manual_server_handle(line->server, line->fd, path);
            continue;
        }
        pthread_mutex_lock(&line->server->lock);
        line->server->probes++;
        pthread_mutex_unlock(&line->server->lock);
        reply_bytes(line->fd, 200, "", STR("{}"));
    }
    shutdown(line->fd, SHUT_RDWR);
    strbuf_release(&in);
    return NULL;
}

static inline void *manual_server_accept(void *argument)
{
    struct manual_server *server = argument;
    for (;;) {
        int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return NULL;
        pthread_mutex_lock(&server->lock);
        server->connections++;
        if (server->mute || server->stopping) {
            close(fd);
        } else {
            struct manual_connection *line = xcalloc(1, sizeof(*line));
            *line = (struct manual_connection){ .server = server, .fd = fd };
            *vec_push(&server->connections_list) = line;
            pthread_create(&line->thread, NULL, manual_connection, line);
        }
        pthread_mutex_unlock(&server->lock);
    }
}

/* A socket with this port, or with any if that is 0. */
static inline int manual_server_bind(int port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* Listens, on the same port every time. */
static inline void manual_server_up(struct manual_server *server)
{
    server->listener = manual_server_bind(server->port);
    assert_int_equal(listen(server->listener, 64), 0);
    server->stopping = false;
    pthread_create(&server->acceptor, NULL, manual_server_accept, server);
}

/* Closes all connections. */
static inline void manual_server_down(struct manual_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->stopping = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->acceptor, NULL);
    close(server->listener);
    vec_for(&server->connections_list, line) {
        shutdown((*line)->fd, SHUT_RDWR);
        pthread_join((*line)->thread, NULL);
        close((*line)->fd);
        free(*line);
    }
    vec_clear(&server->connections_list);
    vec_for(&server->requests, x)
        free(*x);
    vec_clear(&server->requests);
}

static inline void manual_server_start(struct manual_server *server)
{
    *server = (struct manual_server){ 0 };
    pthread_mutex_init(&server->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    struct sockaddr_in address;
    socklen_t len = sizeof(address);
    server->keeper = manual_server_bind(0);
    assert_int_equal(getsockname(server->keeper, (struct sockaddr *)&address, &len), 0);
    server->port = ntohs(address.sin_port);
    manual_server_up(server);
}

static inline void manual_server_stop(struct manual_server *server)
{
    manual_server_down(server);
    close(server->keeper);
    vec_release(&server->connections_list);
    vec_release(&server->requests);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
}

static inline struct timespec manual_server_until(int64_t ms)
{
    int64_t ns = monotonic_ns() + ms * 1000000;
    return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

/* Takes the oldest untaken request whose path begins like this; NULL: none arrived in time. */
static inline struct manual_request *take_request_within(struct manual_server *server, const char *prefix,
                                                         int64_t ms)
{
    struct timespec until = manual_server_until(ms);
    struct manual_request *found = NULL;
    pthread_mutex_lock(&server->lock);
    for (int r = 0; !found && r == 0;) {
        for (size_t i = 0; i < server->requests.len && !found; i++) {
            struct manual_request *x = server->requests.items[i];
            if (!x->taken && strncmp(x->path, prefix, strlen(prefix)) == 0)
                found = x;
        }
        if (!found)
            r = pthread_cond_timedwait(&server->changed, &server->lock, &until);
    }
    if (found)
        found->taken = true;
    pthread_mutex_unlock(&server->lock);
    return found;
}

static inline struct manual_request *take_request(struct manual_server *server, const char *prefix)
{
    struct manual_request *x = take_request_within(server, prefix, MANUAL_SERVER_WAIT_MS);
    if (!x)
        fail_msg("no request for %s", prefix);
    return x;
}

static inline void manual_request_over(struct manual_request *x, bool ends)
{
    pthread_mutex_lock(&x->server->lock);
    x->over = true;
    x->ends = ends;
    pthread_cond_broadcast(&x->server->changed);
    pthread_mutex_unlock(&x->server->lock);
}

static inline void reply(struct manual_request *x, int status, const char *headers, struct str body)
{
    reply_bytes(x->fd, status, headers, body);
    manual_request_over(x, false);
}

static inline void stream_begin(struct manual_request *x)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    write_all(x->fd, head, strlen(head));
}

static inline void stream_put(struct manual_request *x, struct str bytes)
{
    struct strbuf out = { 0 };
    strbuf_printf(&out, "%x\r\n", bytes.len);
    strbuf_str(&out, bytes);
    strbuf_puts(&out, "\r\n");
    write_all(x->fd, out.text, out.len);
    strbuf_release(&out);
}

static inline void stream_end(struct manual_request *x)
{
    write_all(x->fd, "0\r\n\r\n", 5);
    manual_request_over(x, false);
}

static inline void drop_connection(struct manual_request *x)
{
    manual_request_over(x, true);
}

#endif
