/* exchange.c: see exchange.h. */
#include "extender/exchange.h"

#include <ctype.h>

#include "extender/syntax.h"

#ifndef BERTH_VERSION
#define BERTH_VERSION "unknown"
#endif

/* Of one exchange in all, without repetitions, as in Go. */
enum { REQUESTS_MAX = 10 };
static const int64_t NS_PER_MS = 1000000;

/* At most the nodes that it was asked about, perhaps written more widely, and a reason for each of thousands. */
size_t exchange_answer_bytes_max(size_t question_bytes)
{
    return ((size_t)16 << 20) + 2 * question_bytes;
}

static const char *place_of(const struct exchange *exchange)
{
    return exchange->place.len ? exchange->place.text : exchange->url.text;
}

static int64_t left_ns(const struct exchange *exchange)
{
    return exchange->begun_ns + exchange->target->timeout_ms * NS_PER_MS - http_now_ns();
}

static bool may_leave(void *user)
{
    const struct exchange *exchange = user;
    return !exchange->may_leave || exchange->may_leave(exchange->user);
}

static void on_response(void *user, struct http_response *response);

/* Of a failure the code is enough: what else there is to say may take until the end of the time. */
static void on_start(void *user, uint64_t id, int status)
{
    const struct exchange *exchange = user;
    if (status >= 400)
        http_cancel(exchange->target->client, id);
}

static int request(struct exchange *exchange, uint64_t *ret_id, struct error *err)
{
    static const struct http_header headers[] = { { "User-Agent", "berth/" BERTH_VERSION },
                                                  { "Content-Type", "application/json" } };
    static const struct http_callbacks callbacks = { .on_start = on_start, .on_done = on_response };
    const struct exchange_target *target = exchange->target;
    return http_send(target->client,
                     &(struct http_request){
                         .method = exchange->bare ? "GET" : "POST",
                         .url = place_of(exchange),
                         .headers = headers,
                         .header_count = ARRAY_SIZE(headers) - exchange->bare,
                         .body = exchange->bare ? STR("") : strbuf_slice(&exchange->question),
                         .tls = target->tls,
                         .gzip = true,
                         .urgent = exchange->urgent,
                         .timeout_ms = MAX((left_ns(exchange) + NS_PER_MS - 1) / NS_PER_MS, 1),
                         .body_bytes_max = exchange_answer_bytes_max(exchange->question.len),
                         .may_leave = may_leave,
                         .callbacks = &callbacks,
                         .user = exchange,
                     },
                     ret_id, err);
}

/* ---- what came of it ---- */
/* Go's words for what happens every day, net/http's own for the rest. */
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

/* The host of a URL and its port, which may go without saying. */
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

static int without_answer(const struct exchange *exchange, const struct http_response *response,
                          struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf why = { 0 };
    const char *words = response->error.text;
    for (size_t i = ARRAY_SIZE(known); i-- > 0;)
        if (response->failure == known[i].failure && strstr(response->error.text, known[i].found))
            words = known[i].words;
    if (response->os_error) {
        strbuf_printf(&why, "dial tcp ");
        put_address(&why, place_of(exchange));
        strbuf_printf(&why, ": connect: %s", strerror(response->os_error));
        for (char *c = strrchr(why.text, ':') + 2; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        words = why.text;
    }
    return error_set(err, -EIO, "Post \"%s\": %s", place_of(exchange), words);
}

/* An answer that does not end, or not well. Go takes the first value and does not care what follows it. */
static int half_answer(const struct exchange *exchange, const struct http_response *response,
                       struct error *err)
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
    return error_set(err, -EIO, "Post \"%s\": %s", place_of(exchange), response->error.text);
}

static int verdict(const struct exchange *exchange, const struct http_response *response, struct error *err)
{
    if (response->status && response->status != 200)
        return error_set(err, -EREMOTEIO, "failed %s with extender at URL %s, code %d", exchange->verb_text,
                         exchange->url.text, response->status);
    if (response->outcome == HTTP_ANSWERED)
        return 0;
    bool ran_out = response->failure == HTTP_FAILURE_TIMEOUT || response->failure == HTTP_FAILURE_BROKEN;
    return response->status && ran_out ? half_answer(exchange, response, err)
                                       : without_answer(exchange, response, err);
}

/* What is said of a failure gets into conditions, events and logs. */
static void done(struct exchange *exchange, struct strbuf *answer, const struct error *problem)
{
    struct error shown;
    if (problem) {
        shown = *problem;
        error_mask(&shown);
        problem = &shown;
    }
    struct exchange_count *count = &exchange->target->counts[exchange->verb];
    atomic_fetch_add(&count->calls, 1);
    atomic_fetch_add(&count->failures, problem != NULL);
    atomic_fetch_add(&count->total_ns, (uint64_t)MAX(http_now_ns() - exchange->begun_ns, 0));
    exchange->on_done(exchange->user, answer, problem);
}

static void request_again(struct exchange *exchange)
{
    uint64_t id;
    struct error err, problem;
    if (request(exchange, &id, &problem) < 0) {
        error_set(&err, -EIO, "Post \"%s\": %s", place_of(exchange), problem.text);
        done(exchange, NULL, &err);
    } else if (exchange->on_sent && !exchange->on_sent(exchange->user, id)) {
        http_cancel(exchange->target->client, id);
    }
}

static bool is_redirect(const struct http_response *response)
{
    return response->outcome == HTTP_ANSWERED && response->location.len &&
           ((response->status >= 301 && response->status <= 303) || response->status == 307 ||
            response->status == 308);
}

static void follow(struct exchange *exchange, const struct http_response *response)
{
    struct strbuf place = { 0 };
    struct error err;
    if (exchange->redirects + 1 >= REQUESTS_MAX) {
        error_set(&err, -ELOOP, "Post \"" STR_FMT "\": stopped after %d redirects",
                  STR_ARG(response->location), REQUESTS_MAX);
        done(exchange, NULL, &err);
        return;
    }
    if (http_resolve(place_of(exchange), response->location, &place, &err) < 0) {
        error_set(&err, -EINVAL, "Post \"%s\": failed to parse Location header \"" STR_FMT "\"",
                  place_of(exchange), STR_ARG(response->location));
        done(exchange, NULL, &err);
        return;
    }
    strbuf_release(&exchange->place);
    exchange->place = place;
    exchange->bare |= response->status < 307;
    exchange->redirects++;
    exchange->repeated = false;
    request_again(exchange);
}

static void on_response(void *user, struct http_response *response)
{
    struct exchange *exchange = user;
    struct error err;
    if (is_redirect(response)) {
        follow(exchange, response);
        return;
    }
    if (exchange->repeats && response->failure == HTTP_FAILURE_BROKEN && !response->status &&
        !exchange->repeated && left_ns(exchange) > 0) {
        exchange->repeated = true;
        request_again(exchange);
        return;
    }
    int r = verdict(exchange, response, &err);
    done(exchange, response->body, r < 0 ? &err : NULL);
}

int exchange_send(struct exchange *exchange, uint64_t *ret_id, struct error *err)
{
    struct error problem;
    exchange->begun_ns = http_now_ns();
    int r = request(exchange, ret_id, &problem);
    if (r == 0)
        return 0;
    error_set(err, r, "Post \"%s\": %s", exchange->url.text, problem.text);
    error_mask(err);
    return r;
}

void exchange_release(struct exchange *exchange)
{
    strbuf_release(&exchange->url);
    strbuf_release(&exchange->question);
    strbuf_release(&exchange->place);
}
