/* http.c: the client: its mailbox, its waiting lists and timers, and the loop of its thread.
 *
 *     mailbox ─▶ delayed (heap of timers) ─▶ queued (urgent, waiting) ─▶ running (libcurl) ─▶ on_done
 *
 * The thread takes the whole mailbox at once, so a burst of requests costs one wake-up. No lock is held while a
 * callback runs, and no callback of a user runs while we are inside our own lists in a state that a new
 * request or a cancellation could disturb: both only ever reach the mailbox. */
#include "http/http.h"

#include <signal.h>
#include <time.h>

#include "http/http_impl.h"

/* libcurl's poll is interrupted by the mailbox; this only bounds what a missed timer could cost. */
enum { POLL_MS_MAX = 60 * 1000 };

int64_t http_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct list *list_of(struct transfer *t)
{
    return t->urgent || t->stream ? &t->client->urgent : &t->client->waiting;
}

/* Timers */

static bool timer_before(const void *a, const void *b, const void *context _unused_)
{
    const struct transfer *x = a, *y = b;
    return x->timer_ns != y->timer_ns ? x->timer_ns < y->timer_ns : x->id < y->id;
}

static void timer_moved(void *item, size_t at)
{
    ((struct transfer *)item)->timer_at = (ptrdiff_t)at;
}

static void timer_stop(struct transfer *t)
{
    if (t->timer_at != NO_PLACE)
        heap_remove(&t->client->timers, (size_t)t->timer_at);
    t->timer_at = NO_PLACE;
}

static void timer_set(struct transfer *t, int64_t when_ns)
{
    timer_stop(t);
    if (when_ns == NEVER)
        return;
    t->timer_ns = when_ns;
    heap_push(&t->client->timers, t);
}

void client_watch_deadline(struct transfer *t)
{
    if (t->timer_at == NO_PLACE || t->timer_ns > t->deadline_ns)
        timer_set(t, t->deadline_ns);
}

static int64_t ns_from_now(int64_t now_ns, int64_t ms)
{
    int64_t ns;
    if (ms == NEVER || __builtin_mul_overflow(ms, NS_PER_MS, &ns) || __builtin_add_overflow(now_ns, ns, &ns))
        return NEVER;
    return ns;
}

/* The end of a transfer, whichever way it comes to it. */
static void finish(struct transfer *t, CURLcode code)
{
    struct http_client *client = t->client;
    transfer_conclude(t, code);
    timer_stop(t);
    if (t->state == TRANSFER_QUEUED)
        list_remove(list_of(t), &t->link);
    if (t->state == TRANSFER_RUNNING) {
        client->running -= !t->stream && !t->urgent;
        atomic_fetch_sub(t->stream ? &client->streams : &client->in_flight, 1);
    }
    transfer_detach(t);
    idmap_remove(&client->transfers, t->id);
    if (!t->stream)
        atomic_fetch_sub(&client->pending, 1);
    if (t->callbacks)
        t->callbacks->on_done(t->user, &t->response);
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

static void start(struct transfer *t, int64_t now_ns)
{
    struct http_client *client = t->client;
    t->state = TRANSFER_RUNNING;
    client->running += !t->stream && !t->urgent;
    atomic_fetch_add(t->stream ? &client->streams : &client->in_flight, 1);
    t->deadline_ns = ns_from_now(now_ns, t->timeout_ms);
    timer_set(t, t->deadline_ns);
    if (!transfer_may_leave(t))
        finish(t, CURLE_OK);
    else if (transfer_start(t, &t->response.error) < 0) {
        t->failure = HTTP_FAILURE_CONNECT;
        finish(t, CURLE_FAILED_INIT);
    }
}

static void start_waiting(struct http_client *client, int64_t now_ns)
{
    while (!list_empty(&client->urgent))
        start(list_take(&client->urgent, struct transfer, link), now_ns);
    while (!list_empty(&client->waiting) && client->running < client->options.in_flight_max)
        start(list_take(&client->waiting, struct transfer, link), now_ns);
}

static void enqueue(struct transfer *t)
{
    t->state = TRANSFER_QUEUED;
    list_append(list_of(t), &t->link);
}

static void admit(struct transfer *t, int64_t now_ns)
{
    idmap_put(&t->client->transfers, t->id, t);
    if (t->not_before_ns > now_ns)
        timer_set(t, t->not_before_ns);
    else
        enqueue(t);
}

/* A timer went off: a delay is over, or a deadline has passed, or moved away meanwhile. */
static void on_timer(struct transfer *t, int64_t now_ns)
{
    t->timer_at = NO_PLACE;
    if (t->state == TRANSFER_DELAYED) {
        enqueue(t);
    } else if (t->deadline_ns > now_ns) {
        timer_set(t, t->deadline_ns);
    } else {
        char sentence[80];
        bool silent = t->stream && t->started;
        snprintf(sentence, sizeof(sentence),
                 silent ? "the stream was silent for %lld ms" : "no answer within %lld ms",
                 (long long)(silent ? t->silence_ms : t->timeout_ms));
        end_with(t, HTTP_FAILURE_TIMEOUT, sentence);
    }
}

static void run_timers(struct http_client *client, int64_t now_ns)
{
    struct heap *timers = &client->timers;
    while (timers->items.len && ((struct transfer *)timers->items.items[0])->timer_ns <= now_ns)
        on_timer(heap_pop(timers), now_ns);
}

/* The mailbox. Returns false when the client shall end. */
static bool take_mail(struct http_client *client)
{
    struct mailbox *box = &client->mailbox;
    pthread_mutex_lock(&box->lock);
    struct mail mail = box->mail;
    box->mail = (struct mail){ .stop = mail.stop };
    pthread_mutex_unlock(&box->lock);

    int64_t now_ns = http_now_ns();
    vec_for(&mail.sends, t)
        admit(*t, now_ns);
    if (mail.drop)
        health_drop_all(client);
    vec_for(&mail.cancels, id) {
        struct transfer *t = idmap_get(&client->transfers, *id);
        if (t)
            end_with(t, HTTP_FAILURE_CANCELLED, "cancelled");
    }
    vec_release(&mail.sends);
    vec_release(&mail.cancels);
    return !mail.stop;
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
        finish(t, code);
    }
}

static int poll_ms(const struct http_client *client, int64_t now_ns)
{
    int64_t until_ns = client->health_ns;
    if (!list_empty(&client->urgent) ||
        (!list_empty(&client->waiting) && client->running < client->options.in_flight_max))
        return 0;
    if (client->timers.items.len)
        until_ns = MIN(until_ns, ((struct transfer *)client->timers.items.items[0])->timer_ns);
    if (until_ns == NEVER)
        return POLL_MS_MAX;
    /* Rounded up: a timer that is not due yet would only be looked at again. */
    return (int)MIN(MAX((until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS, 0), POLL_MS_MAX);
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

static void *io_thread(void *user)
{
    struct http_client *client = user;
    while (take_mail(client)) {
        int running;
        start_waiting(client, http_now_ns());
        curl_multi_perform(client->multi, &running);
        collect(client);
        int64_t now_ns = http_now_ns();
        run_timers(client, now_ns);
        if (now_ns >= client->health_ns)
            client->health_ns = health_check(client, now_ns);
        curl_multi_poll(client->multi, NULL, 0, poll_ms(client, now_ns), NULL);
    }
    end_all(client);
    return NULL;
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
    o->probe_path = o->probe_path ? arena_strndup(arena, o->probe_path, strlen(o->probe_path)) : NULL;
}

static CURLcode global_code;

static void global_init(void)
{
    global_code = curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* Frees all but the thread. */
static void client_release(struct http_client *client)
{
    vec_for(&client->spare, easy)
        curl_easy_cleanup(*easy);
    vec_release(&client->spare);
    if (client->multi)
        curl_multi_cleanup(client->multi);
    vec_release(&client->mailbox.mail.sends);
    vec_release(&client->mailbox.mail.cancels);
    pthread_mutex_destroy(&client->mailbox.lock);
    idmap_release(&client->transfers);
    heap_release(&client->timers);
    vec_release(&client->wires);
    proxy_rules_release(&client->proxies);
    arena_release(&client->arena);
    free(client);
}

/* With every signal blocked: they are for the program's main thread, and a write to a closed connection raises
 * one. */
static int start_thread(struct http_client *client, struct error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGPROF); /* a profile looks at every thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = -pthread_create(&client->thread, NULL, io_thread, client);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r == 0)
        pthread_setname_np(client->thread, "http");
    return r < 0 ? error_set(err, r, "no thread for the HTTP client: %s", strerror(-r)) : 0;
}

int http_client_new(const struct http_options *options, struct http_client **ret, struct error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, global_init);
    if (global_code)
        return error_set(err, -EIO, "libcurl does not start: %s", curl_easy_strerror(global_code));
    struct http_client *client = xcalloc(1, sizeof(*client));
    client->options = *options;
    client->health_ns = NEVER;
    client->timers = (struct heap){ .before = timer_before, .moved = timer_moved };
    fill_in(&client->options, &client->arena);
    proxy_rules_from_environment(&client->proxies);
    pthread_mutex_init(&client->mailbox.lock, NULL);
    client->multi = curl_multi_init();
    int r = client->multi ? 0 : error_set(err, -ENOMEM, "libcurl does not start");
    if (r == 0) {
        curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
        r = start_thread(client, err);
    }
    if (r < 0)
        client_release(client);
    else
        *ret = client;
    return r;
}

static void wake(struct http_client *client)
{
    curl_multi_wakeup(client->multi);
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    pthread_mutex_lock(&client->mailbox.lock);
    client->mailbox.mail.stop = true;
    pthread_mutex_unlock(&client->mailbox.lock);
    wake(client);
    pthread_join(client->thread, NULL);
    client_release(client);
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
    struct mailbox *box = &client->mailbox;
    pthread_mutex_lock(&box->lock);
    bool was_empty = !box->mail.sends.len;
    uint64_t id = ++box->last_id;
    if (box->mail.stop)
        r = error_set(err, -ESHUTDOWN, "the HTTP client is ending");
    else if (!t->stream && !t->urgent && atomic_load(&client->pending) >= client->options.pending_max)
        r = error_set(err, -EAGAIN, "%u requests are waiting already", client->options.pending_max);
    if (r == 0) {
        t->id = id;
        if (!t->stream)
            atomic_fetch_add(&client->pending, 1);
        if (ret_id)
            *ret_id = id;
        *vec_push(&box->mail.sends) = t;
    }
    pthread_mutex_unlock(&box->lock);
    if (r < 0)
        transfer_free(t);
    else if (was_empty)
        wake(client);
    return r;
}

uint64_t client_send_own(struct http_client *client, const struct http_request *request)
{
    struct transfer *t;
    if (transfer_new(client, request, &t, NULL) < 0)
        return 0;
    pthread_mutex_lock(&client->mailbox.lock);
    t->id = ++client->mailbox.last_id;
    pthread_mutex_unlock(&client->mailbox.lock);
    atomic_fetch_add(&client->pending, 1);
    admit(t, http_now_ns());
    return t->id;
}

void http_cancel(struct http_client *client, uint64_t id)
{
    struct mailbox *box = &client->mailbox;
    pthread_mutex_lock(&box->lock);
    bool was_empty = !box->mail.cancels.len;
    *vec_push(&box->mail.cancels) = id;
    pthread_mutex_unlock(&box->lock);
    if (was_empty)
        wake(client);
}

void http_drop_connections(struct http_client *client)
{
    pthread_mutex_lock(&client->mailbox.lock);
    client->mailbox.mail.drop = true;
    pthread_mutex_unlock(&client->mailbox.lock);
    wake(client);
}

struct http_stats http_client_stats(const struct http_client *client)
{
    return (struct http_stats){
        .in_flight = atomic_load(&client->in_flight),
        .streams = atomic_load(&client->streams),
        .pending = atomic_load(&client->pending),
        .connections_opened = atomic_load(&client->opened),
        .connections_open = atomic_load(&client->open),
        .probes_sent = atomic_load(&client->probes),
        .connections_given_up = atomic_load(&client->given_up),
    };
}
