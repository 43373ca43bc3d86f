/* http.c: the client on its loop: waiting lists, deadlines, and what libcurl wants to wait for.
 *
 *     http_send() ─▶ loop ─▶ delayed (timer) ─▶ queued (urgent, ahead, waiting) ─▶ running (libcurl) ─▶ on_done
 *
 * No lock is held while a callback runs, and no callback of a user runs while we are inside our own lists in a state
 * that a new request or a cancellation could disturb: both only ever reach the mailbox of the loop. */
#include "http/http.h"

#include <sys/epoll.h>

#include "base/secret.h"
#include "http/http_impl.h"

enum {
    LEFTOVERS_MS = 2, /* after bytes came; short, since an event may be what is left over */
    AHEAD_IN_A_ROW_MAX = 3,
};

static struct list *list_of(struct transfer *t)
{
    struct http_client *client = t->client;
    if (t->request.urgent || t->request.stream)
        return &client->urgent;
    return t->request.ahead ? &client->ahead : &client->waiting;
}

void client_watch_deadline(struct transfer *t)
{
    if (!t->timer.place || t->timer.due_ns > t->deadline_ns)
        loop_timer_set(t->client->loop, &t->timer, t->deadline_ns);
}

int64_t client_ns_after(int64_t ms)
{
    int64_t ns;
    if (ms == NEVER || __builtin_mul_overflow(ms, NS_PER_MS, &ns) ||
        __builtin_add_overflow(monotonic_ns(), ns, &ns))
        return NEVER;
    return ns;
}

/* The end of a transfer, whichever way it comes to it. */
static void finish(struct transfer *t, CURLcode code)
{
    struct http_client *client = t->client;
    transfer_conclude(t, code);
    loop_timer_stop(client->loop, &t->timer);
    if (t->state == TRANSFER_QUEUED)
        list_remove(list_of(t), &t->link);
    if (t->state == TRANSFER_RUNNING) {
        client->running -= !t->request.stream && !t->request.urgent;
        atomic_fetch_sub(t->request.stream ? &client->streams : &client->in_flight, 1);
    }
    transfer_detach(t);
    idmap_remove(&client->transfers, t->id);
    if (!t->request.stream)
        atomic_fetch_sub(&client->pending, 1);
    if (t->request.callbacks)
        t->request.callbacks->on_done(t->request.user, &t->response);
    transfer_free(t);
}

static void end_with(struct transfer *t, enum http_failure failure, const char *sentence)
{
    if (t->failure == HTTP_FAILURE_NONE) {
        t->failure = failure;
        error_set(&t->response.error, 0, "%s", sentence);
    }
    finish(t, CURLE_OK);
}

static void start(struct transfer *t)
{
    struct http_client *client = t->client;
    t->state = TRANSFER_RUNNING;
    client->running += !t->request.stream && !t->request.urgent;
    atomic_fetch_add(t->request.stream ? &client->streams : &client->in_flight, 1);
    t->deadline_ns = client_ns_after(t->request.timeout_ms);
    loop_timer_set(client->loop, &t->timer, t->deadline_ns);
    if (!transfer_may_leave(t))
        finish(t, CURLE_OK);
    else if (transfer_start(t, &t->response.error) < 0) {
        t->failure = HTTP_FAILURE_CONNECT;
        finish(t, CURLE_FAILED_INIT);
    }
}

static void collect(struct http_client *client)
{
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(client->multi, &left))) {
        struct transfer *t = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &t);
        client->deliveries++;
        finish(t, code);
    }
}

/* The next one that has its turn, or NULL. */
static struct transfer *take_turn(struct http_client *client)
{
    bool has_others = !list_empty(&client->waiting);
    bool goes_ahead =
        !list_empty(&client->ahead) && (!has_others || client->ahead_in_a_row < AHEAD_IN_A_ROW_MAX);
    client->ahead_in_a_row = goes_ahead && has_others ? client->ahead_in_a_row + 1 : 0;
    return list_take(goes_ahead ? &client->ahead : &client->waiting, struct transfer, link);
}

/* At the end of whatever happened: answers are given, and what waited for them starts. */
static void settle(struct http_client *client)
{
    collect(client);
    while (!list_empty(&client->urgent))
        start(list_take(&client->urgent, struct transfer, link));
    while (client->running < client->options.in_flight_max) {
        struct transfer *next = take_turn(client);
        if (!next)
            break;
        start(next);
    }
}

static void enqueue(struct transfer *t)
{
    t->state = TRANSFER_QUEUED;
    list_append(list_of(t), &t->link);
}

/* A timer went off: a delay is over, or a deadline has passed, or moved away meanwhile. */
static void on_timer(struct loop_timer *timer)
{
    struct transfer *t = container_of(timer, struct transfer, timer);
    struct http_client *client = t->client;
    if (t->state == TRANSFER_DELAYED) {
        enqueue(t);
    } else if (t->deadline_ns > monotonic_ns()) {
        loop_timer_set(client->loop, timer, t->deadline_ns);
    } else {
        char sentence[80];
        bool silent = t->request.stream && t->started;
        snprintf(sentence, sizeof(sentence),
                 silent ? "the stream was silent for %lld ms" : "no answer within %lld ms",
                 (long long)(silent ? t->request.silence_ms : t->request.timeout_ms));
        end_with(t, HTTP_FAILURE_TIMEOUT, sentence);
    }
    settle(client);
}

static void admit(struct transfer *t)
{
    struct http_client *client = t->client;
    idmap_put(&client->transfers, t->id, t);
    t->timer.ring = on_timer;
    if (t->request.not_before_ns > monotonic_ns())
        loop_timer_set(client->loop, &t->timer, t->request.not_before_ns);
    else
        enqueue(t);
}

/* ---- what libcurl waits for ---- */
/* libcurl finds out itself what happened: several transfers may share the connection. */
static void act(struct http_client *client, curl_socket_t fd)
{
    int running;
    curl_multi_socket_action(client->multi, fd, 0, &running);
    settle(client);
}

static void look_for_leftovers(struct http_client *client)
{
    loop_timer_set(client->loop, &client->leftovers_timer, monotonic_ns() + LEFTOVERS_MS * NS_PER_MS);
}

void client_act(struct http_client *client, int fd)
{
    act(client, fd);
    if (!client->leftovers_timer.place)
        look_for_leftovers(client);
}

/* libcurl (at least 7.88) may keep the last bytes of an answer: which transfer is to read on is noted per connection,
 * and with HTTP/2 another transfer takes the note. The socket has no more bytes then, so nothing would ever happen.
 * Said to be readable, the connection is read on. */
static void on_leftovers_timer(struct loop_timer *timer)
{
    struct http_client *client = container_of(timer, struct http_client, leftovers_timer);
    uint64_t before = client->deliveries;
    VEC(int) fds = { 0 };
    int running;
    vec_for(&client->connections, at)
        if ((*at)->users && (*at)->http2 && !(*at)->doomed)
            *vec_push(&fds) = (*at)->watch.fd;
    vec_for(&fds, fd)
        curl_multi_socket_action(client->multi, *fd, CURL_CSELECT_IN, &running);
    vec_release(&fds);
    settle(client);
    if (client->deliveries != before)
        look_for_leftovers(client);
}

static void on_curl_timer(struct loop_timer *timer)
{
    act(container_of(timer, struct http_client, curl_timer), CURL_SOCKET_TIMEOUT);
}

static int watch_socket(CURL *easy _unused_, curl_socket_t fd, int what, void *user, void *assigned _unused_)
{
    uint32_t events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    health_watch(user, fd, what == CURL_POLL_REMOVE ? 0 : events);
    return 0;
}

static int set_curl_timer(CURLM *multi _unused_, long ms, void *user)
{
    struct http_client *client = user;
    loop_timer_set(client->loop, &client->curl_timer, ms < 0 ? NEVER : monotonic_ns() + ms * NS_PER_MS);
    return 0;
}

static void on_health_timer(struct loop_timer *timer)
{
    struct http_client *client = container_of(timer, struct http_client, health_timer);
    int64_t due_ns = health_check(client, monotonic_ns());
    loop_timer_set(client->loop, timer, due_ns);
    settle(client);
}

/* Ends all that is left. Callbacks may not add to it: http_send() refuses from now on. */
static void end_all(struct http_client *client)
{
    VEC(struct transfer *) all = { 0 };
    map_for(&client->transfers, slot) {
        *vec_push(&all) = slot->value;
    }
    vec_for(&all, t)
        end_with(*t, HTTP_FAILURE_CANCELLED, "the client is ending");
    vec_release(&all);
}

/* The client's life */

static void fill_in(struct http_options *o, struct arena *arena)
{
    const struct {
        int64_t *value;
        int64_t fallback;
    } times[] = {
        { &o->connect_ms, 5000 }, { &o->timeout_ms, 30000 }, { &o->idle_ms, 30000 }, { &o->probe_ms, 15000 }
    };
    for (size_t i = 0; i < ARRAY_SIZE(times); i++)
        *times[i].value = *times[i].value == 0  ? times[i].fallback
                          : *times[i].value < 0 ? NEVER
                                                : *times[i].value;
    o->in_flight_max = o->in_flight_max ? o->in_flight_max : 64;
    o->pending_max = o->pending_max ? o->pending_max : 20000;
    o->body_bytes_max = o->body_bytes_max ? o->body_bytes_max : (size_t)256 << 20;
    o->proxy_url = o->proxy_url ? arena_strndup(arena, o->proxy_url, strlen(o->proxy_url)) : NULL;
}

static CURLcode global_code;

/* Headers hold tokens: libcurl overwrites what it frees. */
static void global_init(void)
{
    global_code = curl_global_init_mem(CURL_GLOBAL_DEFAULT, secret_malloc, secret_free, secret_realloc,
                                       secret_strdup, secret_calloc);
}

static int start_curl(struct http_client *client, struct error *err)
{
    client->multi = curl_multi_init();
    if (!client->multi)
        return error_set(err, -ENOMEM, "libcurl does not start");
    curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, set_curl_timer);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    return 0;
}

/* On the loop's thread: libcurl says which sockets are not to be watched any more. */
static void stop_curl(void *context)
{
    struct http_client *client = context;
    end_all(client);
    vec_for(&client->spare, easy)
        curl_easy_cleanup(*easy);
    vec_release(&client->spare);
    curl_multi_cleanup(client->multi);
    loop_timer_stop(client->loop, &client->curl_timer);
    loop_timer_stop(client->loop, &client->health_timer);
    loop_timer_stop(client->loop, &client->leftovers_timer);
}

static void client_release(struct http_client *client)
{
    if (client->owns_loop)
        loop_free(client->loop);
    pthread_mutex_destroy(&client->lock);
    idmap_release(&client->transfers);
    health_release(client);
    arena_release(&client->arena);
    free(client);
}

int http_client_new(const struct http_options *options, struct http_client **ret, struct error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, global_init);
    if (global_code)
        return error_set(err, -EIO, "libcurl does not start: %s", curl_easy_strerror(global_code));
    struct http_client *client = xcalloc(1, sizeof(*client));
    client->options = *options;
    client->curl_timer.ring = on_curl_timer;
    client->health_timer.ring = on_health_timer;
    client->leftovers_timer.ring = on_leftovers_timer;
    fill_in(&client->options, &client->arena);
    client->proxies = proxy_rules_from_environment(&client->arena);
    pthread_mutex_init(&client->lock, NULL);
    client->loop = options->loop;
    client->owns_loop = !options->loop;
    int r = client->owns_loop ? loop_new(options->name ? options->name : "io", &client->loop, err) : 0;
    if (r == 0)
        r = start_curl(client, err);
    if (r < 0)
        client_release(client);
    else
        *ret = client;
    return r;
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    pthread_mutex_lock(&client->lock);
    client->ending = true;
    pthread_mutex_unlock(&client->lock);
    loop_run_wait(client->loop, stop_curl, client);
    client_release(client);
}

struct loop *http_client_loop(const struct http_client *client)
{
    return client->loop;
}

static void on_send(struct loop_call *call)
{
    struct transfer *t = container_of(call, struct transfer, call);
    struct http_client *client = t->client;
    admit(t);
    settle(client);
}

int http_send(struct http_client *client, const struct http_request *request, uint64_t *ret_id,
              struct error *err)
{
    struct transfer *t;
    const struct http_callbacks *callbacks = request->callbacks;
    if (!callbacks || !callbacks->on_done || (request->stream && !callbacks->on_chunk))
        return error_set(err, -EINVAL, "a request without its callbacks");
    int r = transfer_new(client, request, &t, err);
    if (r < 0)
        return r;
    t->id = atomic_fetch_add(&client->last_id, 1) + 1;
    t->call.run = on_send;
    pthread_mutex_lock(&client->lock);
    if (client->ending)
        r = error_set(err, -ESHUTDOWN, "the HTTP client is ending");
    else if (!t->request.stream && !t->request.urgent &&
             atomic_load(&client->pending) >= client->options.pending_max)
        r = error_set(err, -EAGAIN, "%u requests are waiting already", client->options.pending_max);
    if (r == 0) {
        if (!t->request.stream)
            atomic_fetch_add(&client->pending, 1);
        if (ret_id)
            *ret_id = t->id;
        loop_post(client->loop, &t->call);
    }
    pthread_mutex_unlock(&client->lock);
    if (r < 0)
        transfer_free(t);
    return r;
}

uint64_t client_send_own(struct http_client *client, const struct http_request *request)
{
    struct transfer *t;
    if (transfer_new(client, request, &t, NULL) < 0)
        return 0;
    t->id = atomic_fetch_add(&client->last_id, 1) + 1;
    atomic_fetch_add(&client->pending, 1);
    admit(t);
    return t->id;
}

/* What another thread has asked for. */
struct command {
    struct loop_call call;
    struct http_client *client;
    uint64_t id; /* to be cancelled; 0: all connections are to be closed */
    bool resets; /* them: what the kernel holds of the requests is not sent any more */
};

static void run_command(struct loop_call *call)
{
    struct command *command = container_of(call, struct command, call);
    struct http_client *client = command->client;
    struct transfer *t = command->id ? idmap_get(&client->transfers, command->id) : NULL;
    if (t)
        end_with(t, HTTP_FAILURE_CANCELLED, "cancelled");
    else if (!command->id)
        health_drop_all(client, command->resets);
    free(command);
    settle(client);
}

static void post_command(struct http_client *client, uint64_t id, bool resets)
{
    struct command *command = xmalloc(sizeof(*command));
    *command = (struct command){ { .run = run_command }, client, id, resets };
    pthread_mutex_lock(&client->lock);
    bool ending = client->ending;
    if (!ending)
        loop_post(client->loop, &command->call);
    pthread_mutex_unlock(&client->lock);
    if (ending)
        free(command);
}

void http_cancel(struct http_client *client, uint64_t id)
{
    if (id)
        post_command(client, id, false);
}

void http_drop_connections(struct http_client *client)
{
    post_command(client, 0, false);
}

void http_reset_connections(struct http_client *client)
{
    post_command(client, 0, true);
}

struct http_stats http_client_stats(const struct http_client *client)
{
    return (struct http_stats){
        .in_flight = atomic_load(&client->in_flight),
        .streams = atomic_load(&client->streams),
        .pending = atomic_load(&client->pending),
        .connections_opened = atomic_load(&client->opened),
        .probes_sent = atomic_load(&client->probes),
        .connections_given_up = atomic_load(&client->given_up),
    };
}
