/* pages.c: the table of paths. A pattern that is the path itself counts, or else the longest prefix of it. */
#include "serve/pages.h"

#include <stdlib.h>
#include <time.h>

#include "api/labels.h"
#include "base/log.h"
#include "base/quote.h"
#include "serve/flag_text.h"
#include "serve/metrics_form.h"
#include "serve/ui.h"

static int say(struct serve_reply *reply, const char *text)
{
    serve_reply_header(reply, "Content-Type", STR("text/plain; charset=utf-8"));
    strbuf_puts(&reply->body, text);
    return 0;
}

static int page_metrics(void *user, const struct serve_request *request, struct serve_reply *reply)
{
    const struct serve_options *options = &((struct pages *)user)->options;
    if (str_is(request->method, "DELETE")) {
        if (options->metrics_reset)
            options->metrics_reset(options->user);
        return say(reply, "metrics reset\n");
    }
    health_publish(((struct pages *)user)->health);
    if (options->metrics)
        options->metrics(options->user, &reply->body);
    return 0;
}

static int page_slis(void *user, const struct serve_request *request, struct serve_reply *reply)
{
    const struct pages *pages = user;
    if (str_is(request->method, "DELETE")) {
        health_reset(pages->health);
        return say(reply, "metrics reset\n");
    }
    health_metrics(pages->health, &reply->body);
    return 0;
}

/* A scheduler that does not lead has nothing to show. */
static int page_resources(void *user, const struct serve_request *request, struct serve_reply *reply)
{
    const struct serve_options *options = &((struct pages *)user)->options;
    return options->metrics_resources ? options->metrics_resources(options->user, request, reply) : -EAGAIN;
}

static int page_configz(void *user, const struct serve_request *request _unused_, struct serve_reply *reply)
{
    const struct serve_options *options = &((struct pages *)user)->options;
    serve_reply_header(reply, "Content-Type", STR("application/json"));
    serve_reply_header(reply, "X-Content-Type-Options", STR("nosniff"));
    _cleanup_(strbuf_release) struct strbuf config = { 0 };
    if (options->configz)
        options->configz(options->user, &config);
    strbuf_printf(&reply->body, "{\"componentconfig\":%s}", config.len ? config.text : "{}");
    return 0;
}

static int page_flagz(void *user, const struct serve_request *request, struct serve_reply *reply)
{
    zpages_flagz(&((struct pages *)user)->zpages, request, reply);
    return 0;
}

static int page_statusz(void *user, const struct serve_request *request, struct serve_reply *reply)
{
    zpages_statusz(&((struct pages *)user)->zpages, request, reply);
    return 0;
}

static int page_flags(void *user _unused_, const struct serve_request *request _unused_,
                      struct serve_reply *reply)
{
    serve_reply_header(reply, "Content-Type", STR("text/html; charset=utf-8"));
    strbuf_puts(&reply->body,
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
static int page_verbosity(void *user _unused_, const struct serve_request *request, struct serve_reply *reply)
{
    struct str body = request->body;
    int64_t level;
    if (!str_is(request->method, "PUT"))
        return say_plainly(reply, 406, "unsupported http method");
    const char *wrong = parse_verbosity(body, &level);
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    if (wrong) {
        strbuf_puts(&text, "strconv.ParseUint: parsing ");
        quote_go(&text, body);
        strbuf_printf(&text, ": %s", wrong);
    } else {
        log_set_verbosity((int32_t)level);
        strbuf_printf(&text, "successfully set klog.logging.verbosity to " STR_FMT, STR_ARG(body));
    }
    return say_plainly(reply, wrong ? 400 : 200, text.text);
}

static int page_pprof(void *user, const struct serve_request *request, struct serve_reply *reply)
{
    return pprof_show(((struct pages *)user)->pprof, request, reply);
}

static int page_ui(void *user _unused_, const struct serve_request *request, struct serve_reply *reply)
{
    ui_show(request, reply);
    return 0;
}

#define GATE(member) offsetof(struct serve_options, member)

static const struct page {
    const char *path; /* with a slash at its end: everything below */
    serve_view_write write;
    size_t gate; /* the place of a bool in the options; 0: always there */
    bool listed; /* in /statusz */
} table[] = {
    { "/configz", page_configz, .listed = true },
    { "/metrics", page_metrics, .listed = true },
    { "/metrics/resources", page_resources, .listed = true },
    { "/metrics/slis", page_slis, .listed = true },
    { "/flagz", page_flagz, GATE(flagz), .listed = true },
    { "/statusz", page_statusz, GATE(statusz) },
    { "/debug/flags", page_flags, GATE(profiling) },
    { "/debug/flags/", page_flags, GATE(profiling) },
    { "/debug/flags/v", page_verbosity, GATE(profiling) },
    { UI_PATH, page_ui, GATE(ui) },
    { UI_PATH "/", page_ui, GATE(ui) },
    { PPROF_PATH, page_pprof, GATE(profiling) },
    { PPROF_PATH "/", page_pprof, GATE(profiling) },
};

static bool is_open(const struct serve_options *options, size_t gate)
{
    return !gate || *(const bool *)((const char *)options + gate);
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

int pages_reply(struct pages *pages, const struct serve_request *request, struct serve_reply *reply)
{
    const struct serve_view *view = NULL;
    uint32_t best = 0;
    if (health_reply(pages->health, request, reply))
        return 0;
    for (size_t i = 0; i < pages->view_count; i++) {
        uint32_t length = fit(pages->views[i].path, request->path);
        if (length > best) {
            best = length;
            view = &pages->views[i];
        }
    }
    if (!view) {
        serve_reply_error(reply, 404, "404 page not found");
        return 0;
    }
    int r = view->write(view->user, request, reply);
    if (r == 0)
        pages_complete(pages, request, reply);
    return r == -EAGAIN ? 0 : r;
}

void pages_complete(const struct pages *pages, const struct serve_request *request, struct serve_reply *reply)
{
    if (reply->header_count)
        return;
    if (str_starts_with(request->path, STR("/metrics"))) {
        serve_reply_header(reply, "Content-Type", metrics_form_type(request->accept));
        serve_reply_header(reply, "Process-Start-Time-Unix", pages->started);
        if (request->takes_gzip && !reply->gzipped)
            serve_reply_gzip(reply);
    } else if (reply->body.len) {
        serve_reply_header(reply, "Content-Type", STR("text/plain; charset=utf-8"));
    }
}

/* "/metrics/slis" is of the folder "/metrics". */
static void list_folder(struct pages *pages, const char *path)
{
    struct str rest = str_from(path + 1), folder = { path, 1 + str_cut(&rest, '/').len };
    struct str_list *list = &pages->zpages.paths;
    if (folder.len > 1 && !str_list_has(list, folder))
        list->items[list->len++] = folder;
}

static void add_view(struct pages *pages, struct serve_view view)
{
    pages->views[pages->view_count++] = view;
    if (!view.unlisted)
        list_folder(pages, view.path);
}

void pages_init(struct pages *pages, const struct serve_options *options, struct serve *serve)
{
    static const char *const health[] = { "/healthz", "/livez", "/readyz" };
    size_t count = ARRAY_SIZE(table) + options->view_count;
    *pages = (struct pages){ .options = *options };
    struct zpages *zpages = &pages->zpages;
    pages->views = arena_array(&pages->arena, struct serve_view, count);
    zpages->paths.items = arena_array(&pages->arena, struct str, count + ARRAY_SIZE(health));
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (is_open(options, table[i].gate))
            add_view(pages, (struct serve_view){ table[i].path, table[i].write, pages, !table[i].listed });
    for (size_t i = 0; i < options->view_count; i++)
        add_view(pages, options->views[i]);
    for (size_t i = 0; i < ARRAY_SIZE(health); i++)
        list_folder(pages, health[i]);
    qsort(zpages->paths.items, zpages->paths.len, sizeof(struct str), str_qsort_cmp);
    pages->pprof = options->profiling ? pprof_new(serve) : NULL;
    pages->health = health_new(options->checks, options->check_count, options->counts);
    flag_texts(options->flags, &pages->arena, &zpages->flags);
    zpages->started_s = (int64_t)time(NULL);
    pages->started = arena_printf(&pages->arena, "%lld", (long long)zpages->started_s);
    _cleanup_(strbuf_release) struct strbuf version = { 0 };
    flags_reported_version(options->flags, &version);
    zpages->version = arena_str(&pages->arena, str_slice(strbuf_slice(&version), 1, version.len));
    zpages->emulated = arena_printf(&pages->arena, "1.%d", flags_emulated(options->flags)->minor);
}

void pages_release(struct pages *pages)
{
    pprof_free(pages->pprof);
    health_free(pages->health);
    arena_release(&pages->arena);
}
