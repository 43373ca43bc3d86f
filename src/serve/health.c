/* health.c: checks by page, asked in order at every request. */
#include "serve/health.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/quote.h"
#include "base/vec.h"
#include "serve/negotiate.h"

enum { PAGES = 3, EXCLUDED_MAX = 64 };

static const struct {
    const char *name;
    unsigned where;
} page_infos[PAGES] = { { "healthz", SERVE_HEALTHZ }, { "livez", SERVE_LIVEZ }, { "readyz", SERVE_READYZ } };

/* A check on a page, and what came of it so far. */
struct counted {
    const struct serve_check *check;
    bool last_good;
    uint64_t good, bad;
};

struct page {
    VEC(struct counted) checks;
};

struct health {
    struct serve_check *checks; /* a copy */
    struct page pages[PAGES];
};

static int ping(void *user _unused_, struct error *err _unused_)
{
    return 0;
}

static const struct serve_check ping_check = { .name = "ping", .check = ping };

struct health *health_new(const struct serve_check *checks, size_t count)
{
    struct health *health = xcalloc(1, sizeof(*health));
    health->checks = xcalloc(count + 1, sizeof(*health->checks));
    for (size_t i = 0; i < count; i++)
        health->checks[i] = checks[i];
    for (size_t p = 0; p < PAGES; p++) {
        struct page *page = &health->pages[p];
        for (size_t i = 0; i < count; i++)
            if (checks[i].where & page_infos[p].where)
                *vec_push(&page->checks) = (struct counted){ .check = &health->checks[i] };
        if (!page->checks.len)
            *vec_push(&page->checks) = (struct counted){ .check = &ping_check };
    }
    return health;
}

void health_free(struct health *health)
{
    if (!health)
        return;
    for (size_t p = 0; p < PAGES; p++)
        vec_release(&health->pages[p].checks);
    free(health->checks);
    free(health);
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

/* One line per check; what is wrong is for the log and those who may see more. */
static void run_checks(struct page *page, struct excluded *excluded, struct strbuf *out,
                       struct strbuf *failed, struct strbuf *failed_log)
{
    vec_for(&page->checks, counted) {
        const char *name = counted->check->name;
        struct error err = { 0 };
        if (is_excluded(excluded, name)) {
            strbuf_printf(out, "[+]%s excluded: ok\n", name);
            continue;
        }
        counted->last_good = counted->check->check(counted->check->user, &err) >= 0;
        if (counted->last_good) {
            counted->good++;
            strbuf_printf(out, "[+]%s ok\n", name);
        } else {
            counted->bad++;
            strbuf_printf(out, "[-]%s failed: reason withheld\n", name);
            strbuf_printf(failed, "%s%s", failed->len ? "," : "", name);
            strbuf_printf(failed_log, "[-]%s failed: %s\n", name, err.text);
        }
    }
}

static void reply_page(struct health *health, size_t index, struct str query, struct serve_reply *reply)
{
    struct arena arena = { 0 };
    struct excluded excluded = { 0 };
    struct strbuf out = { 0 }, failed = { 0 }, failed_log = { 0 };
    const char *name = page_infos[index].name;
    read_excluded(query, &arena, &excluded);
    run_checks(&health->pages[index], &excluded, &out, &failed, &failed_log);
    warn_unused(&excluded, &out);
    if (failed.len) {
        log_info(2, "Health check failed", log_str("checks", strbuf_slice(&failed)),
                 log_str("page", str_from(name)), log_str("output", strbuf_slice(&failed_log)));
        strbuf_printf(&out, "%s check failed", name);
        serve_reply_error(reply, 500, out.text);
    } else {
        serve_reply_header(reply, "Content-Type", STR("text/plain; charset=utf-8"));
        serve_reply_header(reply, "X-Content-Type-Options", STR("nosniff"));
        if (serve_query(query, "verbose", &arena, NULL)) {
            strbuf_str(&reply->body, strbuf_slice(&out));
            strbuf_printf(&reply->body, "%s check passed\n", name);
        } else {
            strbuf_puts(&reply->body, "ok");
        }
    }
    strbuf_release(&out);
    strbuf_release(&failed);
    strbuf_release(&failed_log);
    arena_release(&arena);
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

bool health_reply(struct health *health, struct str path, struct str query, struct serve_reply *reply)
{
    for (size_t p = 0; p < PAGES; p++) {
        char page[16];
        snprintf(page, sizeof(page), "/%s", page_infos[p].name);
        if (!str_starts_with(path, str_from(page)))
            continue;
        struct str rest = str_slice(path, strlen(page), path.len);
        if (!rest.len) {
            reply_page(health, p, query, reply);
            return true;
        }
        vec_for(&health->pages[p].checks, counted) {
            if (rest.ptr[0] == '/' && str_is(str_slice(rest, 1, rest.len), counted->check->name)) {
                reply_check(counted->check, reply);
                return true;
            }
        }
    }
    return false;
}

struct row {
    const char *name, *page;
    const struct counted *counted;
};

static int row_cmp(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int by_name = strcmp(x->name, y->name);
    return by_name ? by_name : strcmp(x->page, y->page);
}

static void print_totals(const struct row *row, struct strbuf *out)
{
    const struct {
        const char *status;
        uint64_t count;
    } totals[] = { { "error", row->counted->bad }, { "success", row->counted->good } };
    for (size_t i = 0; i < ARRAY_SIZE(totals); i++)
        if (totals[i].count)
            strbuf_printf(out, "kubernetes_healthchecks_total{name=\"%s\",status=\"%s\",type=\"%s\"} %llu\n",
                          row->name, totals[i].status, row->page, (unsigned long long)totals[i].count);
}

void health_metrics(const struct health *health, struct strbuf *out)
{
    VEC(struct row) rows = { 0 };
    for (size_t p = 0; p < PAGES; p++)
        vec_for(&health->pages[p].checks, counted) {
            if (counted->good || counted->bad)
                *vec_push(&rows) = (struct row){ counted->check->name, page_infos[p].name, counted };
        }
    if (rows.len) {
        qsort(rows.items, rows.len, sizeof(*rows.items), row_cmp);
        strbuf_puts(out, "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single "
                         "healthcheck.\n# TYPE kubernetes_healthcheck gauge\n");
        vec_for(&rows, row)
            strbuf_printf(out, "kubernetes_healthcheck{name=\"%s\",type=\"%s\"} %d\n", row->name, row->page,
                          row->counted->last_good);
        strbuf_puts(out,
                    "# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all "
                    "healthcheck.\n# TYPE kubernetes_healthchecks_total counter\n");
        vec_for(&rows, row)
            print_totals(row, out);
    }
    vec_release(&rows);
}

void health_reset(struct health *health)
{
    for (size_t p = 0; p < PAGES; p++)
        vec_for(&health->pages[p].checks, counted)
            counted->good = counted->bad = 0;
}
