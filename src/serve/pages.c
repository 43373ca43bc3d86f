/* pages.c: the table of paths. A path is matched whole; then the longest prefix counts; then it is not found. */
#include "serve/pages.h"

#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "base/quote.h"
#include "observe/families.h"
#include "serve/flag_text.h"
#include "serve/metrics_form.h"

/* A request on its page. */
struct visit {
    struct pages *pages;
    const struct serve_request *request;
    const struct asker *asker;
    struct arena *arena;
    struct serve_reply *reply;
};

static void metrics_headers(const struct pages *pages, const struct asker *asker, struct serve_reply *reply)
{
    serve_reply_header(reply, "Content-Type", metrics_form_type(asker->accept));
    serve_reply_header(reply, "Process-Start-Time-Unix", pages->started);
}

/* The body is there. */
static int finish_metrics(struct visit *visit)
{
    metrics_headers(visit->pages, visit->asker, visit->reply);
    if (visit->request->takes_gzip)
        serve_reply_gzip(visit->reply);
    return 0;
}

static int say(struct serve_reply *reply, const char *text)
{
    serve_reply_header(reply, "Content-Type", STR("text/plain; charset=utf-8"));
    strbuf_puts(&reply->body, text);
    return 0;
}

static int page_metrics(struct visit *visit)
{
    const struct serve_options *options = &visit->pages->options;
    if (str_is(visit->request->method, "DELETE")) {
        if (options->metrics_reset)
            options->metrics_reset(options->user);
        return say(visit->reply, "metrics reset\n");
    }
    if (options->metrics)
        options->metrics(options->user, &visit->reply->body);
    return finish_metrics(visit);
}

static int page_slis(struct visit *visit)
{
    if (str_is(visit->request->method, "DELETE")) {
        health_reset(visit->pages->health);
        return say(visit->reply, "metrics reset\n");
    }
    health_metrics(visit->pages->health, &visit->reply->body);
    if (visit->pages->options.counts)
        process_put_start(visit->pages->options.counts, &visit->reply->body);
    return finish_metrics(visit);
}

/* Who does not lead knows nothing worth showing: an empty page, without even a type. */
static int page_resources(struct visit *visit)
{
    const struct serve_options *options = &visit->pages->options;
    if (!options->metrics_resources)
        return 0;
    int r = options->metrics_resources(options->user, visit->request, visit->reply);
    if (r == 0 && !visit->reply->header_count)
        finish_metrics(visit);
    return r == -EAGAIN ? 0 : r;
}

static int page_configz(struct visit *visit)
{
    const struct serve_options *options = &visit->pages->options;
    serve_reply_header(visit->reply, "Content-Type", STR("application/json"));
    serve_reply_header(visit->reply, "X-Content-Type-Options", STR("nosniff"));
    struct strbuf config = { 0 };
    if (options->configz)
        options->configz(options->user, &config);
    strbuf_printf(&visit->reply->body, "{\"componentconfig\":%s}", config.len ? config.text : "{}");
    strbuf_release(&config);
    return 0;
}

static int page_flagz(struct visit *visit)
{
    zpages_flagz(&visit->pages->zpages, visit->asker, visit->arena, visit->reply);
    return 0;
}

static int page_statusz(struct visit *visit)
{
    zpages_statusz(&visit->pages->zpages, visit->asker, visit->arena, visit->reply);
    return 0;
}

static int page_flags(struct visit *visit)
{
    serve_reply_header(visit->reply, "Content-Type", STR("text/html; charset=utf-8"));
    strbuf_puts(&visit->reply->body,
                "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n"
                "<br>\nflags:<br>\n<table>\n<tr>v<br>\n</table>\n<br>\n"
                "full flags configurable<br>\n</body>\n</html>\n");
    return 0;
}

static int say_plainly(struct serve_reply *reply, int status, const char *text)
{
    reply->status = status;
    serve_reply_header(reply, "Content-Type", STR("text/plain"));
    serve_reply_header(reply, "X-Content-Type-Options", STR("nosniff"));
    strbuf_puts(&reply->body, text);
    strbuf_putc(&reply->body, '\n');
    return 0;
}

static const char *parse_verbosity(struct str text, int64_t *ret)
{
    bool digits = text.len > 0;
    for (uint32_t i = 0; i < text.len; i++)
        digits = digits && text.ptr[i] >= '0' && text.ptr[i] <= '9';
    if (!digits)
        return "invalid syntax";
    return text.len < 12 && str_to_int64(text, ret) && *ret <= INT32_MAX ? NULL : "value out of range";
}

/* PUT of a number: -v from now on. */
static int page_verbosity(struct visit *visit)
{
    struct str body = visit->request->body;
    int64_t level;
    if (!str_is(visit->request->method, "PUT"))
        return say_plainly(visit->reply, 406, "unsupported http method");
    const char *wrong = parse_verbosity(body, &level);
    struct strbuf text = { 0 };
    if (wrong) {
        strbuf_puts(&text, "strconv.ParseUint: parsing ");
        quote_go(&text, body);
        strbuf_printf(&text, ": %s", wrong);
    } else {
        log_set_verbosity((int32_t)level);
        strbuf_printf(&text, "successfully set klog.logging.verbosity to " STR_FMT, STR_ARG(body));
    }
    say_plainly(visit->reply, wrong ? 400 : 200, text.text);
    strbuf_release(&text);
    return 0;
}

enum gate { GATE_NONE, GATE_PROFILING, GATE_FLAGZ, GATE_STATUSZ };

static const struct page {
    const char *path; /* with a slash at its end: everything below */
    int (*show)(struct visit *visit);
    enum gate gate;
    bool listed;
} table[] = {
    { "/configz", page_configz, .listed = true },
    { "/metrics", page_metrics, .listed = true },
    { "/metrics/resources", page_resources, .listed = true },
    { "/metrics/slis", page_slis, .listed = true },
    { "/flagz", page_flagz, GATE_FLAGZ, .listed = true },
    { "/statusz", page_statusz, GATE_STATUSZ },
    { "/debug/flags", page_flags, GATE_PROFILING },
    { "/debug/flags/", page_flags, GATE_PROFILING },
    { "/debug/flags/v", page_verbosity, GATE_PROFILING },
};

static bool is_open(const struct serve_options *options, enum gate gate)
{
    switch (gate) {
    case GATE_PROFILING:
        return options->profiling;
    case GATE_FLAGZ:
        return options->flagz;
    case GATE_STATUSZ:
        return options->statusz;
    case GATE_NONE:
        break;
    }
    return true;
}

/* How well a pattern fits: its length as a prefix, or UINT32_MAX when it is the path; 0: not at all. */
static uint32_t fit(const char *pattern, struct str path)
{
    struct str text = str_from(pattern);
    if (str_eq(text, path))
        return UINT32_MAX;
    bool prefix = text.len && text.ptr[text.len - 1] == '/';
    return prefix && str_starts_with(path, text) ? text.len : 0;
}

int pages_reply(struct pages *pages, const struct serve_request *request, const struct asker *asker,
                struct arena *arena, struct serve_reply *reply)
{
    struct visit visit = { pages, request, asker, arena, reply };
    if (health_reply(pages->health, request->path, request->query, reply))
        return 0;
    const struct page *page = NULL;
    const struct serve_view *view = NULL;
    uint32_t best = 0;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        uint32_t length = is_open(&pages->options, table[i].gate) ? fit(table[i].path, request->path) : 0;
        if (length > best) {
            best = length;
            page = &table[i];
        }
    }
    for (size_t i = 0; i < pages->options.view_count; i++) {
        uint32_t length = fit(pages->options.views[i].path, request->path);
        if (length > best) {
            best = length;
            view = &pages->options.views[i];
        }
    }
    if (view) {
        int r = view->write(view->user, request, reply);
        if (r == 0)
            pages_complete(pages, request->path, asker, reply);
        return r;
    }
    if (page)
        return page->show(&visit);
    serve_reply_error(reply, 404, "404 page not found");
    return 0;
}

void pages_complete(const struct pages *pages, struct str path, const struct asker *asker,
                    struct serve_reply *reply)
{
    if (reply->header_count)
        return;
    if (str_is(path, "/metrics/resources"))
        metrics_headers(pages, asker, reply);
    else if (reply->body.len)
        serve_reply_header(reply, "Content-Type", STR("text/plain; charset=utf-8"));
}

/* "/metrics/slis" is of the folder "/metrics". */
static void list_folder(struct pages *pages, const char *path)
{
    struct str whole = str_from(path);
    struct str rest = str_slice(whole, 1, whole.len);
    ptrdiff_t slash = str_find(rest, '/');
    struct str folder = slash < 0 ? whole : str_slice(whole, 0, (size_t)slash + 1);
    struct str_list *list = &pages->zpages.paths;
    for (uint32_t i = 0; i < list->len; i++)
        if (str_eq(list->items[i], folder))
            return;
    if (folder.len > 1)
        list->items[list->len++] = arena_str(&pages->arena, folder);
}

void pages_init(struct pages *pages, const struct serve_options *options)
{
    *pages = (struct pages){ .options = *options };
    struct zpages *zpages = &pages->zpages;
    struct serve_view *views = arena_array(&pages->arena, struct serve_view, options->view_count + 1);
    zpages->paths.items = arena_array(&pages->arena, struct str, ARRAY_SIZE(table) + options->view_count + 3);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (table[i].listed && is_open(options, table[i].gate))
            list_folder(pages, table[i].path);
    static const char *const health[] = { "/healthz", "/livez", "/readyz" };
    for (size_t i = 0; i < ARRAY_SIZE(health); i++)
        list_folder(pages, health[i]);
    for (size_t i = 0; i < options->view_count; i++) {
        views[i] = options->views[i];
        views[i].path = arena_str(&pages->arena, str_from(views[i].path)).ptr;
        if (!views[i].unlisted)
            list_folder(pages, views[i].path);
    }
    qsort(zpages->paths.items, zpages->paths.len, sizeof(struct str), str_qsort_cmp);
    pages->options.views = views;
    pages->options.flags = NULL;
    pages->options.checks = NULL;
    pages->health = health_new(options->checks, options->check_count);
    flag_texts(options->flags, &pages->arena, &zpages->flags);
    zpages->started_s = (int64_t)time(NULL);
    pages->started = arena_printf(&pages->arena, "%lld", (long long)zpages->started_s);
    struct str version = flags_reported_version(options->flags);
    zpages->version = arena_str(
        &pages->arena, str_starts_with(version, STR("v")) ? str_slice(version, 1, version.len) : version);
    zpages->emulated = STR(KUBERNETES_MAJOR "." KUBERNETES_MINOR);
}

void pages_release(struct pages *pages)
{
    health_free(pages->health);
    arena_release(&pages->arena);
}
