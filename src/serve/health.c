/* health.c: checks by page, made in order at every request. */
#include "serve/health.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/quote.h"
#include "base/vec.h"
#include "observe/families.h"
#include "serve/negotiate.h"

enum { HEALTHZ, LIVEZ, READYZ, PAGES };
enum { EXCLUDED_MAX = 64 };

static const struct {
    const char *name;
    unsigned where;
} page_infos[PAGES] = {
    [HEALTHZ] = { "healthz", SERVE_HEALTHZ },
    [LIVEZ] = { "livez", SERVE_LIVEZ },
    [READYZ] = { "readyz", SERVE_READYZ },
};

enum { RESULT, RESULTS_TOTAL, START_TIME, METRIC_COUNT };

static const struct metric_info metric_infos[METRIC_COUNT] = {
    [RESULT] = { .name = "kubernetes_healthcheck",
                 .help = "This metric records the result of a single healthcheck.",
                 .type = METRIC_GAUGE,
                 .stability = METRIC_STABLE,
                 .labels = { "name", "type" } },
    [RESULTS_TOTAL] = { .name = "kubernetes_healthchecks_total",
                        .help = "This metric records the results of all healthcheck.",
                        .type = METRIC_COUNTER,
                        .stability = METRIC_STABLE,
                        .labels = { "name", "status", "type" } },
    [START_TIME] = { .name = "process_start_time_seconds",
                     .help = "Start time of the process since unix epoch in seconds.",
                     .type = METRIC_GAUGE,
                     .stability = METRIC_ALPHA },
};

struct health {
    VEC(struct serve_check) pages[PAGES];
    struct metrics *metrics, *counts;
};

static int ping(void *user _unused_, struct error *err _unused_)
{
    return 0;
}

/* Results start anew. */
void health_reset(struct health *health)
{
    metrics_free(health->metrics);
    health->metrics = metrics_new(metric_infos, METRIC_COUNT);
    if (!health->counts)
        metrics_disable(health->metrics, str_from(metric_infos[START_TIME].name));
}

static bool has_listed(const struct health *health, size_t page)
{
    vec_for(&health->pages[page], check)
        if (!check->is_credential)
            return true;
    return false;
}

void health_add(struct health *health, const struct serve_check *check)
{
    for (size_t p = 0; p < PAGES; p++)
        if (check->where & page_infos[p].where)
            *vec_push(&health->pages[p]) = *check;
}

struct health *health_new(const struct serve_check *checks, size_t count, struct metrics *counts)
{
    struct health *health = xcalloc(1, sizeof(*health));
    health->counts = counts;
    health_reset(health);
    for (size_t i = 0; i < count; i++)
        health_add(health, &checks[i]);
    for (size_t p = 0; p < PAGES; p++)
        if (!has_listed(health, p))
            *vec_push(&health->pages[p]) = (struct serve_check){ .name = "ping", .check = ping };
    return health;
}

void health_publish(struct health *health)
{
    struct error err;
    if (!health->counts)
        return;
    vec_for(&health->pages[READYZ], check)
        if (check->is_credential)
            gauge_set(metric_get(health->counts, FAMILY_BERTH_CREDENTIAL_USABLE,
                                 (const struct str[]){ str_from(check->name) }),
                      check->check(check->user, &err) >= 0);
}

void health_free(struct health *health)
{
    if (!health)
        return;
    for (size_t p = 0; p < PAGES; p++)
        vec_release(&health->pages[p]);
    metrics_free(health->metrics);
    free(health);
}

static void count_result(struct health *health, const char *name, const char *page, bool good)
{
    const struct str labels[] = { str_from(name), good ? STR("success") : STR("error"), str_from(page) };
    gauge_set(metric_get(health->metrics, RESULT, (const struct str[]){ labels[0], labels[2] }), good);
    counter_add(metric_get(health->metrics, RESULTS_TOTAL, labels), 1);
}

void health_metrics(const struct health *health, struct strbuf *out)
{
    if (health->counts)
        gauge_set(metric_get(health->metrics, START_TIME, NULL), process_start(health->counts));
    metrics_write(health->metrics, out);
}

/* ?exclude=NAME, as often as wanted. */
struct excluded {
    struct str names[EXCLUDED_MAX];
    bool used[EXCLUDED_MAX];
    size_t count;
};

static void read_excluded(struct str query, struct arena *arena, struct excluded *ret)
{
    while (query.len && ret->count < EXCLUDED_MAX) {
        struct str name;
        if (serve_query(str_cut(&query, '&'), "exclude", arena, &name))
            ret->names[ret->count++] = name;
    }
}

static bool is_excluded(struct excluded *excluded, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < excluded->count; i++)
        if (str_is(excluded->names[i], name))
            excluded->used[i] = found = true;
    return found;
}

static void warn_unused(struct excluded *excluded, struct strbuf *out)
{
    struct str unused[EXCLUDED_MAX];
    size_t count = 0;
    for (size_t i = 0; i < excluded->count; i++)
        if (!excluded->used[i])
            unused[count++] = excluded->names[i];
    if (!count)
        return;
    qsort(unused, count, sizeof(*unused), str_qsort_cmp);
    strbuf_puts(out, "warn: some health checks cannot be excluded: no matches for ");
    for (size_t i = 0; i < count; i++) {
        if (i && str_eq(unused[i], unused[i - 1]))
            continue;
        if (i)
            strbuf_putc(out, ',');
        quote_go(out, unused[i]);
    }
    strbuf_putc(out, '\n');
}

/* One line per check; reasons are only logged. */
static void run_checks(struct health *health, size_t page, struct excluded *excluded, struct strbuf *out,
                       struct strbuf *failed, struct strbuf *failed_log)
{
    vec_for(&health->pages[page], check) {
        struct error err = { 0 };
        if (is_excluded(excluded, check->name)) {
            strbuf_printf(out, "[+]%s excluded: ok\n", check->name);
            continue;
        }
        bool good = check->check(check->user, &err) >= 0;
        if (good && check->is_credential)
            continue;
        count_result(health, check->name, page_infos[page].name, good);
        if (good) {
            strbuf_printf(out, "[+]%s ok\n", check->name);
        } else {
            strbuf_printf(out, "[-]%s failed: reason withheld\n", check->name);
            strbuf_printf(failed, "%s%s", failed->len ? "," : "", check->name);
            strbuf_printf(failed_log, "[-]%s failed: %s\n", check->name, err.text);
        }
    }
}

static void reply_page(struct health *health, size_t index, const struct serve_request *request,
                       struct serve_reply *reply)
{
    struct excluded excluded = { 0 };
    _cleanup_(strbuf_release) struct strbuf out = { 0 }, failed = { 0 }, failed_log = { 0 };
    const char *name = page_infos[index].name;
    read_excluded(request->query, request->arena, &excluded);
    run_checks(health, index, &excluded, &out, &failed, &failed_log);
    warn_unused(&excluded, &out);
    if (failed.len) {
        log_info(2, "Health check failed", log_str("checks", strbuf_slice(&failed)),
                 log_str("page", str_from(name)), log_str("output", strbuf_slice(&failed_log)));
        strbuf_printf(&out, "%s check failed", name);
        serve_reply_error(reply, 500, out.text);
    } else {
        serve_reply_header(reply, "Content-Type", STR("text/plain; charset=utf-8"));
        serve_reply_header(reply, "X-Content-Type-Options", STR("nosniff"));
        if (serve_query(request->query, "verbose", request->arena, NULL)) {
            strbuf_str(&reply->body, strbuf_slice(&out));
            strbuf_printf(&reply->body, "%s check passed\n", name);
        } else {
            strbuf_puts(&reply->body, "ok");
        }
    }
}

static void reply_check(const struct serve_check *check, struct serve_reply *reply)
{
    struct error err = { 0 };
    char text[sizeof(err.text) + 32];
    if (check->check(check->user, &err) < 0) {
        snprintf(text, sizeof(text), "internal server error: %s", err.text);
        serve_reply_error(reply, 500, text);
        return;
    }
    serve_reply_header(reply, "Content-Type", STR("text/plain; charset=utf-8"));
    strbuf_puts(&reply->body, "ok");
}

bool health_reply(struct health *health, const struct serve_request *request, struct serve_reply *reply)
{
    struct str rest = request->path;
    str_cut(&rest, '/');
    struct str page = str_cut(&rest, '/');
    bool is_page = request->path.len == page.len + 1;
    for (size_t p = 0; p < PAGES; p++) {
        if (!str_is(page, page_infos[p].name))
            continue;
        if (is_page) {
            reply_page(health, p, request, reply);
            return true;
        }
        vec_for(&health->pages[p], check)
            if (str_is(rest, check->name)) {
                reply_check(check, reply);
                return true;
            }
    }
    return false;
}
