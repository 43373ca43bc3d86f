/* pending.c: see pending.h. */
#include "extender/pending.h"

#include <stdlib.h>

/* Beyond the time-out, which http/ keeps: what its thread may need to report it. */
enum { GRACE_MS = 500 };

/* ---- all of them ---- */
struct pending_requests *pending_requests_new(void)
{
    struct pending_requests *all = xcalloc(1, sizeof(*all));
    monitor_init(&all->monitor);
    return all;
}

void pending_requests_free(struct pending_requests *all)
{
    if (!all)
        return;
    monitor_release(&all->monitor);
    free(all);
}

static void cancel(struct pending_request *request)
{
    http_cancel(request->trip.target->client, request->id);
}

void pending_requests_close(struct pending_requests *all)
{
    monitor_lock(&all->monitor);
    all->ending = true;
    list_for_each(&all->requests, struct pending_request, request, link)
        cancel(request);
    monitor_unlock(&all->monitor);
}

/* ---- one request ---- */
static void on_done(void *user, struct strbuf *answer, const struct error *problem)
{
    struct pending_request *request = user;
    struct pending_requests *all = request->all;
    monitor_lock(&all->monitor);
    request->failed = problem != NULL;
    if (problem) {
        request->error = *problem;
    } else {
        request->answer = *answer;
        *answer = (struct strbuf){ 0 };
    }
    request->done = true;
    monitor_wake(&all->monitor);
    monitor_unlock(&all->monitor);
}

static bool on_sent(void *user, uint64_t id)
{
    struct pending_request *request = user;
    monitor_lock(&request->all->monitor);
    request->id = id;
    bool goes_on = !request->all->ending;
    monitor_unlock(&request->all->monitor);
    return goes_on;
}

void pending_begin(struct pending_request *request, struct pending_requests *all, struct round_trip trip)
{
    *request = (struct pending_request){ .all = all, .trip = trip };
    request->trip.is_repeatable = request->trip.urgent = true;
    request->trip.on_done = on_done;
    request->trip.on_sent = on_sent;
    request->trip.user = request;
    monitor_lock(&all->monitor);
    if (all->ending) {
        error_set(&request->error, -ESHUTDOWN, "Post \"%s\": the scheduler is ending", trip.url.text);
        error_mask(&request->error);
    } else {
        request->begun = round_trip_send(&request->trip, &request->id, &request->error) == 0;
    }
    if (request->begun)
        list_append(&all->requests, &request->link);
    monitor_unlock(&all->monitor);
}

static void await_answer(struct pending_request *request)
{
    struct pending_requests *all = request->all;
    const struct round_trip *trip = &request->trip;
    int64_t until_ns = trip->begun_ns + (trip->target->timeout_ms + GRACE_MS) * NS_PER_MS;
    monitor_lock(&all->monitor);
    while (!request->done && monitor_wait(&all->monitor, until_ns))
        ;
    if (!request->done) /* it must not answer into memory that is gone: cancelled is answered at once */
        cancel(request);
    while (!request->done)
        monitor_wait(&all->monitor, INT64_MAX);
    list_remove(&all->requests, &request->link);
    monitor_unlock(&all->monitor);
}

int pending_end(struct pending_request *request, struct str *ret, struct error *err)
{
    if (request->begun)
        await_answer(request);
    if (!request->begun || request->failed)
        return error_set(err, -EIO, "%s", request->error.text);
    *ret = strbuf_slice(&request->answer);
    return 0;
}

void pending_release(struct pending_request *request)
{
    round_trip_release(&request->trip);
    strbuf_release(&request->answer);
}
