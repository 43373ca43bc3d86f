/* call.c: see call.h. */
#include "extender/call.h"

#include <stdlib.h>
#include <time.h>

/* Beyond the time-out, which net/http keeps: what its thread may need to tell. */
enum { GRACE_MS = 500 };
static const int64_t NS_PER_MS = 1000000, NS_PER_S = 1000000000;

/* ---- the desk ---- */
struct call_desk *extender_desk_new(void)
{
    struct call_desk *desk = xcalloc(1, sizeof(*desk));
    pthread_condattr_t attributes;
    pthread_mutex_init(&desk->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&desk->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return desk;
}

void extender_desk_free(struct call_desk *desk)
{
    if (!desk)
        return;
    pthread_mutex_destroy(&desk->lock);
    pthread_cond_destroy(&desk->changed);
    free(desk);
}

static void cancel(struct call *call)
{
    http_cancel(call->exchange.target->client, call->id);
}

void extender_desk_close(struct call_desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    desk->ending = true;
    list_for_each(&desk->calls, struct call, call, link) cancel(call);
    pthread_mutex_unlock(&desk->lock);
}

/* ---- a call ---- */
static void on_done(void *user, struct strbuf *answer, const struct error *problem)
{
    struct call *call = user;
    struct call_desk *desk = call->desk;
    pthread_mutex_lock(&desk->lock);
    call->failed = problem != NULL;
    if (problem) {
        call->error = *problem;
    } else {
        call->answer = *answer;
        *answer = (struct strbuf){ 0 };
    }
    call->done = true;
    pthread_cond_broadcast(&desk->changed);
    pthread_mutex_unlock(&desk->lock);
}

static bool on_sent(void *user, uint64_t id)
{
    struct call *call = user;
    pthread_mutex_lock(&call->desk->lock);
    call->id = id;
    bool goes_on = !call->desk->ending;
    pthread_mutex_unlock(&call->desk->lock);
    return goes_on;
}

void call_begin(struct call *call, struct call_desk *desk, struct exchange exchange)
{
    *call = (struct call){ .desk = desk, .exchange = exchange };
    call->exchange.repeats = call->exchange.urgent = true;
    call->exchange.on_done = on_done;
    call->exchange.on_sent = on_sent;
    call->exchange.user = call;
    pthread_mutex_lock(&desk->lock);
    if (desk->ending) {
        error_set(&call->error, -ESHUTDOWN, "Post \"%s\": the scheduler is ending", exchange.url.text);
        error_mask(&call->error);
    } else {
        call->begun = exchange_send(&call->exchange, &call->id, &call->error) == 0;
    }
    if (call->begun)
        list_append(&desk->calls, &call->link);
    pthread_mutex_unlock(&desk->lock);
}

static void await_answer(struct call *call)
{
    struct call_desk *desk = call->desk;
    const struct exchange *exchange = &call->exchange;
    int64_t until_ns = exchange->begun_ns + (exchange->target->timeout_ms + GRACE_MS) * NS_PER_MS;
    struct timespec until = { until_ns / NS_PER_S, until_ns % NS_PER_S };
    int r = 0;
    pthread_mutex_lock(&desk->lock);
    while (!call->done && r == 0)
        r = pthread_cond_timedwait(&desk->changed, &desk->lock, &until);
    if (!call->done) { /* it must not answer into memory that is gone: cancelled is answered at once */
        cancel(call);
        while (!call->done)
            pthread_cond_wait(&desk->changed, &desk->lock);
    }
    list_remove(&desk->calls, &call->link);
    pthread_mutex_unlock(&desk->lock);
}

int call_end(struct call *call, struct str *ret, struct error *err)
{
    if (call->begun)
        await_answer(call);
    if (!call->begun || call->failed)
        return error_set(err, -EIO, "%s", call->error.text);
    *ret = strbuf_slice(&call->answer);
    return 0;
}

void call_release(struct call *call)
{
    exchange_release(&call->exchange);
    strbuf_release(&call->answer);
}
