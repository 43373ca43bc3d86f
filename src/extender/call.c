/* call.c: see call.h. */
#include "extender/call.h"

#include <time.h>

/* Beyond the time-out, which net/http keeps: what its thread may need to tell. */
enum { GRACE_MS = 500 };
static const int64_t NS_PER_MS = 1000000, NS_PER_S = 1000000000;

/* At most the nodes that it was asked about, perhaps written more widely, and a reason for each of thousands. */
size_t call_answer_bytes_max(size_t question_bytes)
{
    return ((size_t)16 << 20) + 2 * question_bytes;
}

static void on_done(void *user, struct http_response *response)
{
    struct call *call = user;
    pthread_mutex_lock(&call->lock);
    call->outcome = response->outcome;
    call->failure = response->failure;
    call->status = response->status;
    call->error = response->error;
    call->answer = *response->body;
    *response->body = (struct strbuf){ 0 };
    call->done = true;
    pthread_cond_signal(&call->changed);
    pthread_mutex_unlock(&call->lock);
}

static const struct http_callbacks callbacks = { .on_done = on_done };

static void send_question(struct call *call)
{
    static const struct http_header headers[] = { { "Content-Type", "application/json" } };
    int64_t left_ms = (call->until_ns - http_now_ns() + NS_PER_MS - 1) / NS_PER_MS;
    const struct http_request request = {
        .method = "POST",
        .url = call->url.text,
        .headers = headers,
        .header_count = ARRAY_SIZE(headers),
        .body = strbuf_slice(&call->question),
        .tls = call->target->tls,
        .urgent = true,
        .timeout_ms = MAX(left_ms, 1),
        .body_bytes_max = call_answer_bytes_max(call->question.len),
        .callbacks = &callbacks,
        .user = call,
    };
    strbuf_release(&call->answer);
    call->done = false;
    call->begun = http_send(call->target->client, &request, &call->id, &call->error) == 0;
    if (!call->begun)
        call->outcome = HTTP_UNSENT;
}

void call_begin(struct call *call, const struct call_target *target, struct strbuf *url,
                struct strbuf *question)
{
    pthread_condattr_t attributes;
    *call = (struct call){ .target = target, .url = *url, .question = *question };
    *url = *question = (struct strbuf){ 0 };
    pthread_mutex_init(&call->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&call->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    call->until_ns = http_now_ns() + target->timeout_ms * NS_PER_MS;
    send_question(call);
}

static void await_answer(struct call *call)
{
    int64_t until_ns = call->until_ns + GRACE_MS * NS_PER_MS;
    struct timespec until = { until_ns / NS_PER_S, until_ns % NS_PER_S };
    int r = 0;
    pthread_mutex_lock(&call->lock);
    while (!call->done && r == 0)
        r = pthread_cond_timedwait(&call->changed, &call->lock, &until);
    if (!call->done) { /* it must not answer into memory that is gone: cancelled is answered at once */
        http_cancel(call->target->client, call->id);
        while (!call->done)
            pthread_cond_wait(&call->changed, &call->lock);
    }
    pthread_mutex_unlock(&call->lock);
}

int call_verdict(const char *verb, const char *url, enum http_outcome outcome, int status,
                 const struct error *problem, struct error *err)
{
    if (outcome != HTTP_ANSWERED)
        return error_set(err, -EIO, "Post \"%s\": %s", url, problem->text);
    if (status != 200)
        return error_set(err, -EREMOTEIO, "failed %s with extender at URL %s, code %d", verb, url, status);
    return 0;
}

int call_end(struct call *call, const char *verb, struct str *ret, struct error *err)
{
    if (call->begun)
        await_answer(call);
    if (call->begun && call->failure == HTTP_FAILURE_BROKEN && !call->status &&
        http_now_ns() < call->until_ns) {
        send_question(call);
        if (call->begun)
            await_answer(call);
    }
    int r = call_verdict(verb, call->url.text, call->outcome, call->status, &call->error, err);
    if (r == 0)
        *ret = strbuf_slice(&call->answer);
    return r;
}

void call_release(struct call *call)
{
    pthread_mutex_destroy(&call->lock);
    pthread_cond_destroy(&call->changed);
    strbuf_release(&call->url);
    strbuf_release(&call->question);
    strbuf_release(&call->answer);
}
