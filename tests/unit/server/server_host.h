/* server_host.h: a host of the server for tests: it responds with a description of the request, at once, later or
 * never.
 *
 *     GET /later  answered by another thread
 *     GET /end    likewise, when the server accepts no more connections
 *     GET /keep   not answered; its id is in host.kept
 *     GET /big    a million bytes
 *     all others  a description of the request */
#ifndef UNIT_NET_SERVER_HOST_H
#define UNIT_NET_SERVER_HOST_H

#include "unit/net/raw_client.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/vec.h"
#include "server/server.h"

/* The host of the tests. */
struct host {
    struct server *server;
    struct strbuf big;
    pthread_mutex_t lock;
    VEC(uint64_t) kept;
    VEC(pthread_t) threads; /* that respond; joined before the server is freed */
    bool stopping;          /* no more threads */
    atomic_int problems, reloads;
};

/* A response that is sent on the server's thread. */
struct answer {
    struct host *host;
    uint64_t id;
    int status;
    struct str body;
};

static inline void respond_here(void *context)
{
    const struct answer *answer = context;
    const struct server_header headers[] = { { STR("Content-Type"), STR("text/plain") },
                                             { STR("X-Evil"), STR("a\r\nSet-Cookie: b") } };
    server_respond(
        answer->host->server, answer->id,
        &(struct server_response){
            .status = answer->status, .headers = headers, .header_count = 2, .body = answer->body });
}

static inline void respond(struct host *host, uint64_t id, int status, struct str body)
{
    loop_run_wait(server_loop(host->server), respond_here, &(struct answer){ host, id, status, body });
}

struct later {
    struct host *host;
    uint64_t id;
};

static inline void *respond_later(void *user)
{
    struct later *later = user;
    sleep_ms(20);
    respond(later->host, later->id, 200, STR("later"));
    free(later);
    return NULL;
}

/* Responds when the server accepts no more connections. */
static inline void *respond_at_the_end(void *user)
{
    struct later *later = user;
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(server_port(later->host->server)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    for (bool open = true; open;) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        open = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
        close(fd);
        sleep_ms(1);
    }
    return respond_later(later);
}

static inline void describe_peer(const struct server_request *request, struct strbuf *out)
{
    if (!request->peer)
        return;
    struct arena arena = { 0 };
    struct peer_subject subject;
    struct error err;
    assert_int_equal(peer_subject(request->peer, &arena, &subject, &err), 0);
    strbuf_printf(out, " peer=" STR_FMT, STR_ARG(subject.common_name));
    arena_release(&arena);
}

static inline void echo(struct host *host, const struct server_request *request)
{
    struct strbuf out = { 0 };
    strbuf_printf(&out, "%.*s path=%.*s query=%.*s body=%.*s x=%.*s", STR_ARG(request->method),
                  STR_ARG(request->path), STR_ARG(request->query), STR_ARG(request->body),
                  STR_ARG(server_header_value(request, STR("x-test"))));
    describe_peer(request, &out);
    respond(host, request->id, 200, strbuf_slice(&out));
    strbuf_release(&out);
}

/* Once the host stops, a request gets no response. */
static inline void answer_on_thread(struct host *host, uint64_t id, void *(*answer)(void *user))
{
    pthread_mutex_lock(&host->lock);
    if (!host->stopping) {
        struct later *later = xcalloc(1, sizeof(*later));
        *later = (struct later){ host, id };
        assert_int_equal(pthread_create(vec_push(&host->threads), NULL, answer, later), 0);
    }
    pthread_mutex_unlock(&host->lock);
}

static inline void on_request(void *user, struct server_request *request)
{
    struct host *host = user;
    if (str_is(request->path, "/later") || str_is(request->path, "/end")) {
        answer_on_thread(host, request->id,
                         str_is(request->path, "/end") ? respond_at_the_end : respond_later);
    } else if (str_is(request->path, "/keep")) {
        pthread_mutex_lock(&host->lock);
        *vec_push(&host->kept) = request->id;
        pthread_mutex_unlock(&host->lock);
    } else if (str_is(request->path, "/big")) {
        respond(host, request->id, 200, strbuf_slice(&host->big));
    } else {
        echo(host, request);
    }
    server_request_free(request);
}

static inline void on_problem(void *user, const char *message _unused_)
{
    atomic_fetch_add(&((struct host *)user)->problems, 1);
}

static inline void on_reload(void *user)
{
    atomic_fetch_add(&((struct host *)user)->reloads, 1);
}

static inline void host_start(struct host *host, struct server_options options)
{
    *host = (struct host){ 0 };
    pthread_mutex_init(&host->lock, NULL);
    for (int i = 0; i < 100000; i++)
        strbuf_puts(&host->big, "0123456789");
    options.address = "127.0.0.1";
    options.on_request = on_request;
    options.on_problem = on_problem;
    options.on_reload = on_reload;
    options.user = host;
    struct error err;
    if (server_new(&options, &host->server, &err) < 0 || server_start(host->server, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void host_stop(struct host *host)
{
    pthread_mutex_lock(&host->lock);
    host->stopping = true;
    pthread_mutex_unlock(&host->lock);
    vec_for(&host->threads, thread)
        pthread_join(*thread, NULL);
    server_free(host->server);
    strbuf_release(&host->big);
    vec_release(&host->kept);
    vec_release(&host->threads);
    pthread_mutex_destroy(&host->lock);
}

static inline size_t host_kept(struct host *host)
{
    pthread_mutex_lock(&host->lock);
    size_t count = host->kept.len;
    pthread_mutex_unlock(&host->lock);
    return count;
}

static inline void wait_for_kept(struct host *host, size_t count)
{
    for (int64_t until = now_ms() + PATIENCE_MS; host_kept(host) < count && now_ms() < until;)
        sleep_ms(10);
    assert_int_equal(host_kept(host), count);
}

static inline void wait_for_connections(struct host *host, uint32_t count)
{
    for (int64_t until = now_ms() + PATIENCE_MS;
         server_stats(host->server).connections != count && now_ms() < until;)
        sleep_ms(10);
    assert_int_equal(server_stats(host->server).connections, count);
}

#endif
