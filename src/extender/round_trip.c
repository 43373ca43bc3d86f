/* round_trip.c: see round_trip.h. */
#include "extender/round_trip.h"

#include <ctype.h>

#include "extender/syntax.h"

#ifndef BERTH_VERSION
#define BERTH_VERSION "unknown"
#endif

/* Of one round trip, without repetitions, as in Go. */
enum { REQUESTS_MAX = 10 };

/* At most the nodes of the request, perhaps with more white space, and a reason for each of thousands. */
static size_t answer_bytes_max(size_t body_bytes)
{
    return ((size_t)16 << 20) + 2 * body_bytes;
}

static const char *url_of(const struct round_trip *trip)
{
    return trip->redirected.len ? trip->redirected.text : trip->url.text;
}

static int64_t left_ns(const struct round_trip *trip)
{
    return trip->begun_ns + trip->target->timeout_ms * NS_PER_MS - monotonic_ns();
}

static bool may_leave(void *user)
{
    const struct round_trip *trip = user;
    return !trip->may_leave || trip->may_leave(trip->user);
}

static void on_response(void *user, struct http_response *response);

/* The code of a failure is enough: its body may take until the time-out. */
static void on_start(void *user, uint64_t id, int status)
{
    const struct round_trip *trip = user;
    if (status >= 400)
        http_cancel(trip->target->client, id);
}

static int request(struct round_trip *trip, uint64_t *ret_id, struct error *err)
{
    static const struct http_header headers[] = { { "User-Agent", "berth/" BERTH_VERSION },
                                                  { "Content-Type", "application/json" } };
    static const struct http_callbacks callbacks = { .on_start = on_start, .on_done = on_response };
    const struct extender_target *target = trip->target;
    return http_send(target->client,
                     &(struct http_request){
                         .method = trip->is_get ? "GET" : "POST",
                         .url = url_of(trip),
                         .headers = headers,
                         .header_count = ARRAY_SIZE(headers) - trip->is_get,
                         .body = trip->is_get ? STR("") : strbuf_slice(&trip->body),
                         .tls = target->tls,
                         .gzip = true,
                         .urgent = trip->urgent,
                         .timeout_ms = MAX((left_ns(trip) + NS_PER_MS - 1) / NS_PER_MS, 1),
                         .body_bytes_max = answer_bytes_max(trip->body.len),
                         .may_leave = may_leave,
                         .callbacks = &callbacks,
                         .user = trip,
                     },
                     ret_id, err);
}

/* ---- what came of it ---- */
/* Go's words for common failures; the others keep those of http/. */
static const struct {
    enum http_failure failure;
    const char *found, *words;
} known[] = {
    { HTTP_FAILURE_TIMEOUT, "",
      "context deadline exceeded (Client.Timeout exceeded while awaiting headers)" },
    { HTTP_FAILURE_BROKEN, "Empty reply", "EOF" },
    { HTTP_FAILURE_TLS, "wrong version number", "http: server gave HTTP response to HTTPS client" },
    { HTTP_FAILURE_TLS, "self-signed",
      "tls: failed to verify certificate: x509: certificate signed by unknown authority" },
    { HTTP_FAILURE_TLS, "local issuer",
      "tls: failed to verify certificate: x509: certificate signed by unknown authority" },
};

/* The host of a URL and its port, by default that of the scheme. */
static void put_address(struct strbuf *out, const char *url)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    size_t len = strcspn(host, "/?#");
    const char *user = memchr(host, '@', len);
    if (user) {
        len -= (size_t)(user + 1 - host);
        host = user + 1;
    }
    const char *colon = memrchr(host, ':', len), *bracket = memrchr(host, ']', len);
    bool has_port = colon && colon > bracket;
    strbuf_printf(out, "%.*s%s", (int)len, host,
                  has_port                        ? ""
                  : strncmp(url, "https", 5) == 0 ? ":443"
                                                  : ":80");
}

static int without_answer(const struct round_trip *trip, const struct http_response *response,
                          struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf why = { 0 };
    const char *words = response->error.text;
    for (size_t i = ARRAY_SIZE(known); i-- > 0;)
        if (response->failure == known[i].failure && strstr(response->error.text, known[i].found))
            words = known[i].words;
    if (response->os_error) {
        strbuf_printf(&why, "dial tcp ");
        put_address(&why, url_of(trip));
        strbuf_printf(&why, ": connect: %s", strerror(response->os_error));
        for (char *c = strrchr(why.text, ':') + 2; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        words = why.text;
    }
    return error_set(err, -EIO, "Post \"%s\": %s", url_of(trip), words);
}

/* An answer that was cut off. Go takes the first JSON value and ignores what follows it. */
static int half_answer(const struct round_trip *trip, const struct http_response *response, struct error *err)
{
    struct error problem;
    int r = syntax_check(strbuf_slice(response->body), &problem);
    if (r == 0)
        return 0;
    if (response->failure == HTTP_FAILURE_TIMEOUT)
        return error_set(
            err, -ETIMEDOUT,
            "context deadline exceeded (Client.Timeout or context cancellation while reading body)");
    if (response->body->len && r == -ENODATA)
        return error_set(err, -EIO, "%s", problem.text);
    return error_set(err, -EIO, "Post \"%s\": %s", url_of(trip), response->error.text);
}

static int result_of(const struct round_trip *trip, const struct http_response *response, struct error *err)
{
    if (response->status && response->status != 200)
        return error_set(err, -EREMOTEIO, "failed %s with extender at URL %s, code %d", trip->verb_text,
                         trip->url.text, response->status);
    if (response->outcome == HTTP_ANSWERED)
        return 0;
    bool ran_out = response->failure == HTTP_FAILURE_TIMEOUT || response->failure == HTTP_FAILURE_BROKEN;
    return response->status && ran_out ? half_answer(trip, response, err)
                                       : without_answer(trip, response, err);
}

/* The text of a failure gets into conditions, events and logs: passwords in URLs are masked. */
static void done(struct round_trip *trip, struct strbuf *answer, const struct error *problem)
{
    struct error shown;
    if (problem) {
        shown = *problem;
        error_mask(&shown);
        problem = &shown;
    }
    struct extender_count *count = &trip->target->counts[trip->verb];
    atomic_fetch_add(&count->calls, 1);
    atomic_fetch_add(&count->failures, problem != NULL);
    atomic_fetch_add(&count->total_ns, (uint64_t)MAX(monotonic_ns() - trip->begun_ns, 0));
    trip->on_done(trip->user, answer, problem);
}

static void request_again(struct round_trip *trip)
{
    uint64_t id;
    struct error err, problem;
    if (request(trip, &id, &problem) < 0) {
        error_set(&err, -EIO, "Post \"%s\": %s", url_of(trip), problem.text);
        done(trip, NULL, &err);
    } else if (trip->on_sent && !trip->on_sent(trip->user, id)) {
        http_cancel(trip->target->client, id);
    }
}

static bool is_redirect(const struct http_response *response)
{
    return response->outcome == HTTP_ANSWERED && response->location.len &&
           ((response->status >= 301 && response->status <= 303) || response->status == 307 ||
            response->status == 308);
}

static void follow(struct round_trip *trip, const struct http_response *response)
{
    struct strbuf url = { 0 };
    struct error err;
    if (trip->redirects + 1 >= REQUESTS_MAX) {
        error_set(&err, -ELOOP, "Post \"" STR_FMT "\": stopped after %d redirects",
                  STR_ARG(response->location), REQUESTS_MAX);
        done(trip, NULL, &err);
        return;
    }
    if (http_resolve(url_of(trip), response->location, &url, &err) < 0) {
        error_set(&err, -EINVAL, "Post \"%s\": failed to parse Location header \"" STR_FMT "\"", url_of(trip),
                  STR_ARG(response->location));
        done(trip, NULL, &err);
        return;
    }
    strbuf_release(&trip->redirected);
    trip->redirected = url;
    trip->is_get |= response->status < 307;
    trip->redirects++;
    trip->repeated = false;
    request_again(trip);
}

static void on_response(void *user, struct http_response *response)
{
    struct round_trip *trip = user;
    struct error err;
    if (is_redirect(response)) {
        follow(trip, response);
        return;
    }
    if (trip->is_repeatable && response->failure == HTTP_FAILURE_BROKEN && !response->status &&
        !trip->repeated && left_ns(trip) > 0) {
        trip->repeated = true;
        request_again(trip);
        return;
    }
    int r = result_of(trip, response, &err);
    done(trip, response->body, r < 0 ? &err : NULL);
}

int round_trip_send(struct round_trip *trip, uint64_t *ret_id, struct error *err)
{
    struct error problem;
    trip->begun_ns = monotonic_ns();
    int r = request(trip, ret_id, &problem);
    if (r == 0)
        return 0;
    error_set(err, r, "Post \"%s\": %s", trip->url.text, problem.text);
    error_mask(err);
    return r;
}

void round_trip_release(struct round_trip *trip)
{
    strbuf_release(&trip->url);
    strbuf_release(&trip->body);
    strbuf_release(&trip->redirected);
}
