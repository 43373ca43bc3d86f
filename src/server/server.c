/* server.c: the server's thread: places for connections, the loop, and the mailbox of answers from other threads. */
#include "server/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "server/server_impl.h"

enum {
    EVENTS_MAX = 128,
    ACCEPTS_MAX = 64, /* in one turn, so that a flood of connections does not keep the loop from the others */
    SWEEP_MS_MIN = 20,
    FULL_PAUSE_MS = 100,
    KEEPALIVE_S = 180,
    CROWD_MIN = 128, /* connections that leave holes worth giving back */
    GIVE_BACK_MS = 60000,
    UNACKNOWLEDGED_MS = 30000,
};

/* Whose thread is this? */
static _Thread_local struct server *here;

int64_t server_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void problem(struct server *server, const char *sentence)
{
    if (strcmp(server->last_problem.text, sentence) == 0)
        return;
    error_set(&server->last_problem, 0, "%s", sentence);
    if (server->options.on_problem)
        server->options.on_problem(server->options.user, sentence);
}

/* Who goes first when there is no place left: those between two requests, then those whose request is not whole, and
 * last those whose answer is being made or sent. */
static int worth(const struct conn *conn)
{
    if (conn_is_idle(conn) && conn->has_requested)
        return 0;
    return conn_is_busy(conn) ? 2 : 1;
}

/* The connection that was silent for the longest time, of those that are worth least. */
static struct conn *idlest(const struct server *server)
{
    struct conn *found = NULL;
    for (uint32_t i = 0; i < server->limits.connections_max; i++) {
        struct conn *conn = server->slots[i];
        if (!conn)
            continue;
        int order = found ? worth(conn) - worth(found) : -1;
        if (order < 0 || (order == 0 && conn->active_ns < found->active_ns))
            found = conn;
    }
    return found;
}

static bool evict(struct server *server)
{
    struct conn *conn = idlest(server);
    if (!conn)
        return false;
    atomic_fetch_add(&server->evicted, 1);
    conn_close(conn);
    return true;
}

static void welcome(struct server *server, int fd, const struct sockaddr_storage *address)
{
    socket_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    socket_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_S);
    socket_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS);
    struct conn *conn = xcalloc(1, sizeof(*conn));
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = conn };
    if (epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        free(conn);
        close(fd);
        return;
    }
    conn->server = server;
    conn->fd = fd;
    conn->interest = EPOLLIN;
    conn->active_ns = server_now_ns();
    conn->slot = server->free_slots.items[--server->free_slots.len];
    server->slots[conn->slot] = conn;
    socket_describe(address, conn->remote, sizeof(conn->remote));
    atomic_fetch_add(&server->accepted, 1);
    atomic_fetch_add(&server->connections, 1);
    conn->state = server->tls ? CONN_HANDSHAKE : CONN_HEAD;
    conn->head_begun = true;
    conn_deadline(conn, server->tls ? server->limits.handshake_ms : server->limits.header_ms);
}

static void listen_for(struct server *server, bool on)
{
    struct epoll_event event = { .events = on ? EPOLLIN : 0, .data.ptr = &server->listen_fd };
    epoll_ctl(server->epoll_fd, EPOLL_CTL_MOD, server->listen_fd, &event);
}

/* No file descriptor is left: somebody goes, or nobody comes for a moment. */
static void out_of_descriptors(struct server *server)
{
    if (evict(server))
        return;
    listen_for(server, false);
    server->listen_again_ns = server_now_ns() + FULL_PAUSE_MS * NS_PER_MS;
    server->wake_ns = MIN(server->wake_ns, server->listen_again_ns);
}

static void accept_all(struct server *server)
{
    for (int i = 0; i < ACCEPTS_MAX && server->listens; i++) {
        struct sockaddr_storage address = { 0 };
        socklen_t len = sizeof(address);
        int fd = accept4(server->listen_fd, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                out_of_descriptors(server);
            if (errno == EINTR || errno == ECONNABORTED)
                continue;
            return;
        }
        if (!server->free_slots.len)
            evict(server);
        welcome(server, fd, &address);
    }
}

static void stop_listening(struct server *server)
{
    if (!server->listens)
        return;
    server->listens = false;
    close(server->listen_fd);
}

static void message_free(struct message *message)
{
    strbuf_release(&message->headers);
    strbuf_release(&message->body);
    free(message);
}

/* The connection that a request came on, or NULL if that is gone. Another one may have its place by now. */
static struct conn *find(struct server *server, uint64_t id)
{
    uint32_t slot = (uint32_t)(id & 0xffff);
    return slot < server->limits.connections_max ? server->slots[slot] : NULL;
}

/* To be sent by conn_run(). NULL: there is nobody to answer. */
static struct conn *answer(struct server *server, uint64_t id, const struct reply *reply)
{
    struct conn *conn = find(server, id);
    return conn && conn_answer(conn, id, reply) ? conn : NULL;
}

static void deliver(struct server *server, const struct message *message)
{
    struct reply reply = { message->status, strbuf_slice(&message->headers), strbuf_slice(&message->body),
                           message->close };
    struct conn *conn = answer(server, message->id, &reply);
    if (conn)
        conn_run(conn);
}

/* Answers and calls of other threads. */
static void read_mail(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    struct message *message = server->first;
    server->first = NULL;
    server->last = &server->first;
    pthread_mutex_unlock(&server->lock);
    while (message) {
        struct message *next = message->next;
        if (message->call)
            message->call(message->context);
        else
            deliver(server, message);
        message_free(message);
        message = next;
    }
}

static void reload(struct server *server)
{
    struct error err = { 0 };
    int r = server_tls_reload(server->tls, &err);
    if (r < 0)
        problem(server, err.text);
    else
        server->last_problem.text[0] = '\0';
    if (r > 0 && server->options.on_reload)
        server->options.on_reload(server->options.user);
}

/* Deadlines, and what else is due. Computes when the next one is. */
static void sweep(struct server *server)
{
    int64_t now = server_now_ns();
    if (now < server->wake_ns)
        return;
    server->wake_ns = INT64_MAX;
    if (server->tls && now >= server->reload_ns) {
        reload(server);
        server->reload_ns = now + server->options.reload_ms * NS_PER_MS;
    }
    if (server->listen_again_ns && now >= server->listen_again_ns) {
        server->listen_again_ns = 0;
        if (server->listens)
            listen_for(server, true);
    }
    for (uint32_t i = 0; i < server->limits.connections_max; i++) {
        struct conn *conn = server->slots[i];
        if (conn && conn->deadline_ns <= now)
            conn_expire(conn);
        conn = server->slots[i];
        if (conn)
            server->wake_ns = MIN(server->wake_ns, conn->deadline_ns);
    }
    if (server->tls)
        server->wake_ns = MIN(server->wake_ns, server->reload_ns);
    if (server->listen_again_ns)
        server->wake_ns = MIN(server->wake_ns, server->listen_again_ns);
    server->wake_ns = MAX(server->wake_ns, now + SWEEP_MS_MIN * NS_PER_MS);
}

static void run_again(struct server *server)
{
    size_t count = server->again.len;
    for (size_t i = 0; i < count; i++) {
        struct conn *conn = server->again.items[i];
        conn->waits_again = false;
        conn_run(conn);
    }
    size_t left = server->again.len - count;
    if (count)
        memmove(server->again.items, server->again.items + count, left * sizeof(*server->again.items));
    server->again.len = left;
}

/* No pointer to a closed connection is left anywhere but in `again`. */
static void bury(struct server *server)
{
    struct conn *conn = server->closed;
    if (!conn)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < server->again.len; i++)
        if (server->again.items[i]->state != CONN_CLOSED)
            server->again.items[kept++] = server->again.items[i];
    server->again.len = kept;
    server->closed = NULL;
    while (conn) {
        struct conn *next = conn->next_closed;
        conn_free(conn);
        conn = next;
    }
    if (server->draining && !atomic_load(&server->connections)) {
        pthread_mutex_lock(&server->lock);
        pthread_cond_broadcast(&server->emptied);
        pthread_mutex_unlock(&server->lock);
    }
}

/* A crowd leaves memory in pieces that nobody else needs. Once it has gone, and now and then at most. */
static void clean_up(struct server *server)
{
    uint32_t connections = (uint32_t)atomic_load(&server->connections);
    server->crowd = MAX(server->crowd, connections);
    if (server->crowd < CROWD_MIN || connections > server->crowd / 8)
        return;
    int64_t now = server_now_ns();
    if (now >= server->give_back_ns) {
        memory_give_back();
        server->crowd = connections;
        server->give_back_ns = now + GIVE_BACK_MS * NS_PER_MS;
    } else {
        server->wake_ns = MIN(server->wake_ns, server->give_back_ns);
    }
}

static int wait_ms(const struct server *server)
{
    if (server->again.len)
        return 0;
    if (server->wake_ns == INT64_MAX)
        return -1;
    int64_t left = (server->wake_ns - server_now_ns() + NS_PER_MS - 1) / NS_PER_MS;
    return (int)MIN(MAX(left, 0), 60000);
}

static bool is_stopping(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    bool stopping = server->stopping;
    pthread_mutex_unlock(&server->lock);
    return stopping;
}

static void handle(struct server *server, const struct epoll_event *event)
{
    if (event->data.ptr == &server->listen_fd) {
        accept_all(server);
    } else if (event->data.ptr == &server->wake_fd) {
        uint64_t count;
        (void)!read(server->wake_fd, &count, sizeof(count));
    } else {
        struct conn *conn = event->data.ptr;
        /* Both directions are dead: nobody will read an answer. */
        if (event->events & (EPOLLERR | EPOLLHUP) && conn->state != CONN_CLOSED && !(event->events & EPOLLIN))
            conn_close(conn);
        else
            conn_run(conn);
    }
}

static void *thread_main(void *user)
{
    struct server *server = user;
    struct epoll_event events[EVENTS_MAX];
    here = server;
    while (!is_stopping(server)) {
        int count = epoll_wait(server->epoll_fd, events, EVENTS_MAX, wait_ms(server));
        for (int i = 0; i < count; i++)
            handle(server, &events[i]);
        run_again(server);
        read_mail(server);
        sweep(server);
        bury(server);
        clean_up(server);
    }
    stop_listening(server);
    for (uint32_t i = 0; i < server->limits.connections_max; i++)
        if (server->slots[i])
            conn_close(server->slots[i]);
    read_mail(server);
    bury(server);
    return NULL;
}

static void post(struct server *server, struct message *message)
{
    pthread_mutex_lock(&server->lock);
    *server->last = message;
    server->last = &message->next;
    pthread_mutex_unlock(&server->lock);
    (void)!write(server->wake_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
}

/* A header that would break out of its line is left out: names and values may come from elsewhere. */
static bool is_clean(struct str text)
{
    for (uint32_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' && text.ptr[i] != '\t')
            return false;
    return true;
}

void server_respond(struct server *server, uint64_t id, const struct server_response *response)
{
    struct strbuf headers = { 0 };
    for (size_t i = 0; i < response->header_count; i++) {
        const struct server_header *header = &response->headers[i];
        if (is_clean(header->name) && is_clean(header->value))
            strbuf_printf(&headers, STR_FMT ": " STR_FMT "\r\n", STR_ARG(header->name),
                          STR_ARG(header->value));
    }
    if (here == server) {
        struct reply reply = { response->status, strbuf_slice(&headers), response->body, response->close };
        struct conn *conn = answer(server, id, &reply);
        /* Whoever called on_request() sends it; an answer outside of it is sent with the next turn. */
        if (conn && !conn->dispatching && !conn->waits_again) {
            conn->waits_again = true;
            *vec_push(&server->again) = conn;
        }
        strbuf_release(&headers);
        return;
    }
    struct message *message = xcalloc(1, sizeof(*message));
    message->id = id;
    message->status = response->status;
    message->close = response->close;
    message->headers = headers;
    strbuf_str(&message->body, response->body);
    post(server, message);
}

void server_patience(struct server *server, uint64_t id, int64_t ms)
{
    struct conn *conn = find(server, id);
    if (conn && conn_awaits(conn, id))
        conn_patience(conn, id, ms);
}

bool server_is_awaited(struct server *server, uint64_t id)
{
    const struct conn *conn = find(server, id);
    if (!conn || !conn_awaits(conn, id))
        return false;
    struct pollfd pollfd = { .fd = conn->fd, .events = POLLRDHUP };
    return poll(&pollfd, 1, 0) <= 0;
}

void server_call(struct server *server, void (*call)(void *context), void *context)
{
    struct message *message = xcalloc(1, sizeof(*message));
    message->call = call;
    message->context = context;
    post(server, message);
}

#define DEFAULT(field, value) limits->field = limits->field ? limits->field : (value)

static void set_defaults(struct server *server)
{
    struct server_limits *limits = &server->limits;
    DEFAULT(connections_max, 1024);
    limits->connections_max = MIN(limits->connections_max, UINT16_MAX);
    DEFAULT(header_bytes_max, 64 << 10);
    DEFAULT(body_bytes_max, 64 << 10);
    DEFAULT(streams_max, 100);
    DEFAULT(response_bytes_max, 256 << 20);
    DEFAULT(handshake_ms, 10000);
    DEFAULT(header_ms, 32000);
    DEFAULT(body_ms, 30000);
    DEFAULT(answer_ms, 60000);
    DEFAULT(write_ms, 60000);
    DEFAULT(idle_ms, 90000);
    DEFAULT(linger_ms, 500);
    if (!server->options.reload_ms)
        server->options.reload_ms = 10000;
}

static int watch(struct server *server, int fd, void *what)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };
    return epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int prepare(struct server *server, struct error *err)
{
    server->slots = xcalloc(server->limits.connections_max, sizeof(*server->slots));
    for (uint32_t i = server->limits.connections_max; i > 0; i--)
        *vec_push(&server->free_slots) = i - 1;
    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    server->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (server->epoll_fd < 0 || server->wake_fd < 0 ||
        watch(server, server->listen_fd, &server->listen_fd) < 0 ||
        watch(server, server->wake_fd, &server->wake_fd) < 0)
        return error_set(err, -errno, "cannot start the server: %s", strerror(errno));
    server->reload_ns = server_now_ns() + server->options.reload_ms * NS_PER_MS;
    server->wake_ns = server->tls ? server->reload_ns : INT64_MAX;
    return 0;
}

int server_start(struct server *server, struct error *err)
{
    /* Signals are the business of other threads; SIGPIPE, of a client that is gone, of nobody. But a profile looks at
     * every thread. */
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGPROF);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(&server->thread, NULL, thread_main, server);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    server->started = r == 0;
    return r ? error_set(err, -r, "cannot start the server's thread: %s", strerror(r)) : 0;
}

static void release(struct server *server)
{
    stop_listening(server);
    if (server->epoll_fd >= 0)
        close(server->epoll_fd);
    if (server->wake_fd >= 0)
        close(server->wake_fd);
    server_tls_free(server->tls);
    for (struct message *message = server->first, *next; message; message = next) {
        next = message->next;
        message_free(message);
    }
    free(server->slots);
    vec_release(&server->free_slots);
    vec_release(&server->again);
    pthread_mutex_destroy(&server->lock);
    pthread_cond_destroy(&server->emptied);
    free(server);
}

int server_new(const struct server_options *options, struct server **ret, struct error *err)
{
    struct server *server = xcalloc(1, sizeof(*server));
    server->options = *options;
    server->limits = options->limits;
    server->epoll_fd = server->wake_fd = server->listen_fd = -1;
    server->last = &server->first;
    pthread_mutex_init(&server->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&server->emptied, &attributes);
    pthread_condattr_destroy(&attributes);
    set_defaults(server);
    int r = options->tls ? server_tls_new(options->tls, &server->tls, err) : 0;
    if (r == 0)
        r = socket_listen(server, err);
    if (r == 0)
        r = prepare(server, err);
    server->options.address = NULL;
    server->options.tls = NULL;
    if (r < 0)
        release(server);
    else
        *ret = server;
    return r;
}

static void begin_drain(void *context)
{
    struct server *server = context;
    pthread_mutex_lock(&server->lock);
    server->draining = true;
    pthread_mutex_unlock(&server->lock);
    stop_listening(server);
    for (uint32_t i = 0; i < server->limits.connections_max; i++) {
        struct conn *conn = server->slots[i];
        if (conn)
            conn_drain(conn);
    }
    pthread_mutex_lock(&server->lock);
    pthread_cond_broadcast(&server->emptied);
    pthread_mutex_unlock(&server->lock);
}

void server_drain(struct server *server, int64_t grace_ms)
{
    if (!server->started)
        return;
    server_call(server, begin_drain, server);
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += grace_ms / 1000;
    until.tv_nsec += (long)(grace_ms % 1000 * NS_PER_MS);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&server->lock);
    int r = 0;
    while (r == 0 && (!server->draining || atomic_load(&server->connections)))
        r = pthread_cond_timedwait(&server->emptied, &server->lock, &until);
    pthread_mutex_unlock(&server->lock);
}

void server_free(struct server *server)
{
    if (!server)
        return;
    pthread_mutex_lock(&server->lock);
    server->stopping = true;
    pthread_mutex_unlock(&server->lock);
    (void)!write(server->wake_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
    if (server->started)
        pthread_join(server->thread, NULL);
    release(server);
}

uint16_t server_port(const struct server *server)
{
    return server->port;
}

struct server_stats server_stats(const struct server *server)
{
    return (struct server_stats){
        .accepted = atomic_load(&server->accepted),
        .evicted = atomic_load(&server->evicted),
        .requests = atomic_load(&server->requests),
        .refused = atomic_load(&server->refused),
        .handshakes_failed = atomic_load(&server->handshakes_failed),
        .connections = (uint32_t)atomic_load(&server->connections),
        .response_bytes = atomic_load(&server->response_bytes),
    };
}

struct str server_header_value(const struct server_request *request, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < request->header_count; i++) {
        const struct server_header *header = &request->headers[i];
        if (header->name.len == len && strncasecmp(header->name.ptr, name, len) == 0)
            return header->value;
    }
    return (struct str){ 0 };
}

bool server_is_running(const struct server *server)
{
    return server->started;
}
