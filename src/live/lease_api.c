/* lease_api.c: the host of a lease outside of tests: the API server and the clocks of this machine. */
#include <stdlib.h>

#include "live/lease_impl.h"

enum { NS_PER_US = 1000, BODY_BYTES_MAX = 2 << 20 };

void lease_respond_without(struct leader_lease *lease, response_fn *done, enum http_outcome outcome,
                           const char *sentence)
{
    struct strbuf body = { 0 };
    struct http_response response = { .outcome = outcome, .body = &body };
    error_set(&response.error, 0, "%s", sentence);
    done(lease, &response);
}

/* Runs while the machine sleeps, too: others' clocks do. */
static int64_t api_now_ns(void *user _unused_)
{
    return clock_now_ns(CLOCK_BOOTTIME);
}

static int64_t api_wall_us(void *user _unused_)
{
    return clock_now_ns(CLOCK_REALTIME) / NS_PER_US;
}

static double api_random(void *user _unused_)
{
    return (double)arc4random() / ((double)UINT32_MAX + 1);
}

void lease_api_abandon(struct leader_lease *lease)
{
    if (!lease->under_way)
        return;
    lease->under_way->lease = NULL;
    api_cancel(lease->options.api, lease->under_way->id);
    lease->under_way = NULL;
    loop_timer_stop(lease->loop, &lease->timeout);
}

void lease_api_timeout(struct loop_timer *timer)
{
    struct leader_lease *lease = container_of(timer, struct leader_lease, timeout);
    const struct lease_request late = *lease->under_way;
    char sentence[64];
    snprintf(sentence, sizeof(sentence), "no answer within %lld ms", (long long)late.timeout_ms);
    lease_api_abandon(lease);
    lease_respond_without(lease, late.done, HTTP_LOST, sentence);
}

static void on_done(void *user, struct http_response *response)
{
    struct lease_request *sent = user;
    struct leader_lease *lease = sent->lease;
    if (lease) {
        lease->under_way = NULL;
        loop_timer_stop(lease->loop, &lease->timeout);
        sent->done(lease, response);
    }
    free(sent);
}

static void api_send_request(void *user _unused_, const char *method, struct str path, struct str body,
                             int64_t timeout_ms, response_fn *done, struct leader_lease *lease)
{
    static const struct http_callbacks callbacks = { .on_done = on_done };
    struct lease_request *sent = xmalloc(sizeof(*sent));
    const struct api_request request = {
        .method = method,
        .path = path,
        .content_type = body.len ? API_JSON : NULL,
        .accept = API_JSON,
        .body = body,
        .urgent = true,
        .unlimited = true,
        .timeout_ms = timeout_ms,
        .body_bytes_max = BODY_BYTES_MAX,
        .callbacks = &callbacks,
        .user = sent,
    };
    struct error err;
    *sent = (struct lease_request){ lease, 0, timeout_ms, done };
    if (api_send(lease->options.api, &request, &sent->id, &err) < 0) {
        free(sent);
        lease_respond_without(lease, done, HTTP_UNSENT, err.text);
        return;
    }
    lease->under_way = sent;
    loop_timer_set(lease->loop, &lease->timeout, monotonic_ns() + timeout_ms * NS_PER_MS);
}

/* The holder is known to run, or to have ended, from now on. */
static enum presence api_look(void *user _unused_, struct str holder, struct leader_lease *lease)
{
    lease->presence.loop = lease->loop;
    return presence_look(&lease->presence, lease->options.identity, holder);
}

const struct lease_host lease_api_host = { api_now_ns, api_wall_us, api_random, api_send_request, api_look };
