/* scripted.h: a small HTTP/1.1 server inside the test: it records requests and replies from a script.
 *
 *     scripted_start(&server);
 *     scripted_reply(&server, 404, API_JSON, "{...}");   // to the first request; then the next ...
 *     ...
 *     const struct scripted_request *request = scripted_wait(&server, 1);  // waits for the first request
 *     scripted_stop(&server);
 *
 * When the script is over it replies 200 with an empty object. */
#ifndef UNIT_CLIENT_SCRIPTED_H
#define UNIT_CLIENT_SCRIPTED_H

#include "support/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/api.h"
#include "http/http.h"

enum { SCRIPT_MAX = 64, CONNECTIONS_MAX = 64, REQUESTS_MAX = 4096, WAIT_MS_MAX = 60000 };

struct scripted_request {
    char method[8], path[512], content_type[128], accept[128];
    struct strbuf body;
};

struct scripted_response {
    int status;              /* 0: close the connection without a reply; negative: send nothing */
    const char *type, *more; /* more: header lines, each with its CRLF */
    struct strbuf body;
};

struct scripted {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int listener, port;
    pthread_t acceptor, workers[CONNECTIONS_MAX];
    int fds[CONNECTIONS_MAX];
    size_t connections;
    struct scripted_response script[SCRIPT_MAX];
    size_t script_len, script_at;
    struct scripted_request requests[REQUESTS_MAX];
    size_t requests_len;
    bool closed; /* no reply until scripted_open() */
};

struct scripted_worker {
    struct scripted *server;
    int fd;
};

static inline void scripted_header(const char *text, const char *name, char *out, size_t size)
{
    const char *at = strcasestr(text, name);
    out[0] = '\0';
    if (at)
        snprintf(out, size, "%.*s", (int)strcspn(at + strlen(name), "\r\n"), at + strlen(name));
}

/* "METHOD PATH HTTP/1.1" */
static inline void scripted_request_line(const char *text, struct scripted_request *ret)
{
    size_t method = strcspn(text, " "), path = strcspn(text + method + 1, " ");
    snprintf(ret->method, sizeof(ret->method), "%.*s", (int)method, text);
    snprintf(ret->path, sizeof(ret->path), "%.*s", (int)path, text + method + 1);
}

/* Reads one request. False: the connection is closed. */
static inline bool scripted_read(int fd, struct strbuf *in, struct scripted_request *ret)
{
    char buf[4096], length[32];
    const char *end;
    while (!in->text || !(end = strstr(in->text, "\r\n\r\n"))) {
        ssize_t n = read(fd, buf, sizeof(buf));
        if (n <= 0)
            return false;
        strbuf_add(in, buf, (size_t)n);
    }
    size_t head = (size_t)(end - in->text) + 4;
    in->text[head - 1] = '\0';
    scripted_request_line(in->text, ret);
    scripted_header(in->text, "\r\nContent-Type: ", ret->content_type, sizeof(ret->content_type));
    scripted_header(in->text, "\r\nAccept: ", ret->accept, sizeof(ret->accept));
    scripted_header(in->text, "\r\nContent-Length: ", length, sizeof(length));
    size_t len = strtoul(length, NULL, 10);
    while (in->len < head + len) {
        ssize_t n = read(fd, buf, sizeof(buf));
        if (n <= 0)
            return false;
        strbuf_add(in, buf, (size_t)n);
    }
    strbuf_add(&ret->body, in->text + head, len);
    memmove(in->text, in->text + head + len, in->len - head - len + 1);
    in->len -= head + len;
    return true;
}

/* Records the request and returns the reply to it. */
static inline struct scripted_response scripted_next(struct scripted *server, struct scripted_request request)
{
    pthread_mutex_lock(&server->lock);
    while (server->closed)
        pthread_cond_wait(&server->changed, &server->lock);
    assert(server->requests_len < REQUESTS_MAX);
    server->requests[server->requests_len++] = request;
    struct scripted_response response = { .status = 200, .type = API_JSON };
    if (server->script_at < server->script_len)
        response = server->script[server->script_at++];
    else
        strbuf_puts(&response.body, "{}");
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    return response;
}

static inline void *scripted_serve(void *argument)
{
    struct scripted_worker worker = *(struct scripted_worker *)argument;
    struct strbuf in = { 0 };
    free(argument);
    for (bool open = true; open;) {
        struct scripted_request request = { 0 };
        if (!scripted_read(worker.fd, &in, &request)) {
            strbuf_release(&request.body);
            break;
        }
        struct scripted_response response = scripted_next(worker.server, request);
        struct strbuf out = { 0 };
        strbuf_printf(&out, "HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n",
                      response.status, response.type, response.body.len, response.more ? response.more : "");
        strbuf_str(&out, strbuf_slice(&response.body));
        open = response.status > 0 && send(worker.fd, out.text, out.len, MSG_NOSIGNAL) == (ssize_t)out.len;
        if (response.status < 0)
            open = read(worker.fd, (char[1]){ 0 }, 1) > 0;
        strbuf_release(&out);
        strbuf_release(&response.body);
    }
    strbuf_release(&in);
    shutdown(worker.fd, SHUT_RDWR);
    return NULL;
}

static inline void *scripted_accept(void *argument)
{
    struct scripted *server = argument;
    for (;;) {
        int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return NULL;
        struct scripted_worker *worker = xmalloc(sizeof(*worker));
        *worker = (struct scripted_worker){ server, fd };
        assert(server->connections < CONNECTIONS_MAX);
        pthread_mutex_lock(&server->lock);
        server->fds[server->connections] = fd;
        pthread_create(&server->workers[server->connections++], NULL, scripted_serve, worker);
        pthread_mutex_unlock(&server->lock);
    }
}

static inline void scripted_start(struct scripted *server)
{
    memset(server, 0, sizeof(*server));
    pthread_mutex_init(&server->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(address);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(server->listener, CONNECTIONS_MAX), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &len), 0);
    server->port = ntohs(address.sin_port);
    pthread_create(&server->acceptor, NULL, scripted_accept, server);
}

static inline void scripted_open(struct scripted *server)
{
    pthread_mutex_lock(&server->lock);
    server->closed = false;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

/* After the client is gone. */
static inline void scripted_stop(struct scripted *server)
{
    scripted_open(server);
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->acceptor, NULL);
    for (size_t i = 0; i < server->connections; i++) {
        shutdown(server->fds[i], SHUT_RDWR);
        pthread_join(server->workers[i], NULL);
        close(server->fds[i]);
    }
    close(server->listener);
    for (size_t i = 0; i < server->requests_len; i++)
        strbuf_release(&server->requests[i].body);
    for (size_t i = server->script_at; i < server->script_len; i++)
        strbuf_release(&server->script[i].body);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
}

static inline void scripted_reply_bytes(struct scripted *server, int status, const char *type,
                                        const char *more, struct str body)
{
    pthread_mutex_lock(&server->lock);
    assert_true(server->script_len < SCRIPT_MAX);
    struct scripted_response *response = &server->script[server->script_len++];
    *response = (struct scripted_response){ .status = status, .type = type, .more = more };
    strbuf_str(&response->body, body);
    pthread_mutex_unlock(&server->lock);
}

static inline void scripted_reply(struct scripted *server, int status, const char *type, const char *body)
{
    scripted_reply_bytes(server, status, type, NULL, str_from(body));
}

static inline struct timespec scripted_until(int64_t ms)
{
    int64_t ns = monotonic_ns() + ms * 1000000;
    return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

/* Waits for the nth request, counted from 1. The record does not change afterwards. */
static inline const struct scripted_request *scripted_wait(struct scripted *server, size_t nth)
{
    struct timespec until = scripted_until(WAIT_MS_MAX);
    pthread_mutex_lock(&server->lock);
    int r = 0;
    while (server->requests_len < nth && r == 0)
        r = pthread_cond_timedwait(&server->changed, &server->lock, &until);
    size_t len = server->requests_len;
    pthread_mutex_unlock(&server->lock);
    if (len < nth)
        fail_msg("there were %zu requests, not %zu", len, nth);
    return &server->requests[nth - 1];
}

/* The number of requests so far. */
static inline size_t scripted_count(struct scripted *server)
{
    pthread_mutex_lock(&server->lock);
    size_t len = server->requests_len;
    pthread_mutex_unlock(&server->lock);
    return len;
}

/* A client of this server. The access must outlive it. */
static inline struct api *scripted_client(const struct scripted *server, struct kube_access *access,
                                          struct api_options options)
{
    static char url[64];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", server->port);
    *access = (struct kube_access){ .cluster.server = str_from(url) };
    options.access = access;
    if (options.qps == 0)
        options.qps = -1;
    struct api *api = NULL;
    struct error err;
    if (api_new(&options, &api, &err) < 0)
        fail_msg("%s", err.text);
    return api;
}

#endif
