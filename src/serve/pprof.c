/* pprof.c: see pprof.h. Headers, texts and status codes are those of Go's net/http/pprof. */
#include "serve/pprof.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "net/file.h"
#include "pprof/cpu_profile.h"
#include "pprof/symbols.h"

enum {
    SECONDS_DEFAULT = 30,
    SECONDS_MAX = 24 * 3600,
    WRITE_MS = 60000,
    LOOK_MS = 500,
    CMDLINE_BYTES_MAX = 1 << 20
};

/* All of it belongs to the server's thread, but for the reply while it is written. */
struct pprof {
    struct serve *serve;
    bool stopping, busy;
    /* Of the profile. */
    uint64_t id;
    int64_t began_ns;         /* wall clock */
    int64_t start_ns, end_ns; /* monotonic */
    struct loop_timer look;   /* is it over, or its client gone? */
    struct loop_work work;
    struct serve_reply reply;
};

static struct loop *loop_of(const struct pprof *pprof)
{
    return server_loop(serve_server(pprof->serve));
}

/* ---- replies ---- */

static void typed(struct serve_reply *reply, const char *type)
{
    serve_reply_header(reply, "X-Content-Type-Options", STR("nosniff"));
    serve_reply_header(reply, "Content-Type", str_from(type));
}

static int refuse(struct serve_reply *reply, int status, const char *text)
{
    reply->status = status;
    typed(reply, "text/plain; charset=utf-8");
    serve_reply_header(reply, "X-Go-Pprof", STR("1")); /* the text is for people: pprof shows it */
    strbuf_printf(&reply->body, "%s\n", text);
    return 0;
}

/* ---- the profile ---- */

static void write_profile(struct loop_work *work)
{
    struct pprof *pprof = container_of(work, struct pprof, work);
    struct samples samples;
    sampler_stop(&samples);
    typed(&pprof->reply, "application/octet-stream");
    serve_reply_header(&pprof->reply, "Content-Disposition", STR("attachment; filename=\"profile\""));
    cpu_profile_write(&samples, pprof->began_ns, monotonic_ns() - pprof->start_ns, &pprof->reply.body);
    samples_release(&samples);
}

static void on_written(struct loop_work *work)
{
    struct pprof *pprof = container_of(work, struct pprof, work);
    struct serve_reply reply = pprof->reply;
    pprof->busy = false;
    serve_answer(pprof->serve, pprof->id, &reply);
}

/* Until the time is over, the client is gone, or the server ends. */
static void on_look(struct loop_timer *timer)
{
    struct pprof *pprof = container_of(timer, struct pprof, look);
    int64_t now_ns = monotonic_ns();
    if (now_ns < pprof->end_ns && !pprof->stopping &&
        server_is_awaited(serve_server(pprof->serve), pprof->id))
        loop_timer_set(loop_of(pprof), timer, MIN(pprof->end_ns, now_ns + LOOK_MS * NS_PER_MS));
    else
        loop_work(loop_of(pprof), &pprof->work);
}

static int64_t seconds_of(const struct serve_request *request)
{
    struct str text;
    int64_t seconds = 0;
    bool given =
        serve_query(request->query, "seconds", request->arena, &text) && str_to_int64(text, &seconds);
    return given && seconds > 0 ? MIN(seconds, (int64_t)SECONDS_MAX) : SECONDS_DEFAULT;
}

static int show_profile(struct pprof *pprof, const struct serve_request *request, struct serve_reply *reply)
{
    struct error err;
    int r = pprof->busy       ? error_set(&err, -EBUSY, "cpu profiling already in use")
            : pprof->stopping ? error_set(&err, -ESHUTDOWN, "the server is ending")
                              : sampler_start(&err);
    if (r < 0) {
        error_prefix(&err, "Could not enable CPU profiling");
        return refuse(reply, 500, err.text);
    }
    int64_t seconds = seconds_of(request);
    pprof->busy = true;
    pprof->id = request->id;
    pprof->reply = (struct serve_reply){ 0 };
    pprof->began_ns = clock_now_ns(CLOCK_REALTIME);
    pprof->start_ns = monotonic_ns();
    pprof->end_ns = pprof->start_ns + seconds * NS_PER_S;
    loop_timer_set(loop_of(pprof), &pprof->look, MIN(pprof->end_ns, pprof->start_ns + LOOK_MS * NS_PER_MS));
    server_patience(serve_server(pprof->serve), request->id, seconds * 1000 + WRITE_MS);
    return -EINPROGRESS;
}

/* ---- the other pages ---- */

/* Addresses, separated by a plus. */
static int show_symbol(struct pprof *pprof _unused_, const struct serve_request *request,
                       struct serve_reply *reply)
{
    struct str rest = str_is(request->method, "POST") ? request->body : request->query;
    typed(reply, "text/plain; charset=utf-8");
    strbuf_puts(&reply->body, "num_symbols: 1\n");
    while (rest.len) {
        struct str word = str_cut(&rest, '+');
        char text[24] = "", *end;
        if (word.len < sizeof(text))
            memcpy(text, word.ptr, word.len);
        unsigned long long address = strtoull(text, &end, 0);
        struct str name = *end || !address ? (struct str){ 0 } : symbol_of(address);
        if (name.len)
            strbuf_printf(&reply->body, "%#llx " STR_FMT "\n", address, STR_ARG(name));
    }
    return 0;
}

static int show_cmdline(struct pprof *pprof _unused_, const struct serve_request *request _unused_,
                        struct serve_reply *reply)
{
    struct error err;
    typed(reply, "text/plain; charset=utf-8");
    if (file_read("/proc/self/cmdline", CMDLINE_BYTES_MAX, &reply->body, &err) < 0)
        return -EIO;
    if (reply->body.len)
        reply->body.text[--reply->body.len] = '\0'; /* zero bytes stand between words, not behind the last */
    return 0;
}

static int show_heap(struct pprof *pprof _unused_, const struct serve_request *request,
                     struct serve_reply *reply)
{
    struct str debug;
    if (!serve_query(request->query, "debug", request->arena, &debug) || str_is(debug, "0"))
        return refuse(reply, 404,
                      "memory is not sampled in a C program: there is no heap profile, but heap?debug=1 has "
                      "the figures of malloc");
    typed(reply, "text/plain; charset=utf-8");
    struct mallinfo2 info = mallinfo2();
    strbuf_printf(&reply->body,
                  "# in use\nbytes: %zu\nmapped_bytes: %zu\nmapped_pieces: %zu\n# free\nbytes: %zu\n"
                  "bytes_at_the_top: %zu\n# from the system\nbytes: %zu\n\n",
                  info.uordblks, info.hblkhd, info.hblks, info.fordblks, info.keepcost, info.arena);
    char *text = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&text, &len);
    if (stream) {
        malloc_info(0, stream);
        fclose(stream);
        strbuf_add(&reply->body, text, len);
        free(text);
    }
    return 0;
}

static int show_index(struct pprof *pprof, const struct serve_request *request, struct serve_reply *reply);

static const struct shown {
    const char *name;
    int (*show)(struct pprof *pprof, const struct serve_request *request, struct serve_reply *reply);
    const char *text;
} table[] = {
    { "", show_index, NULL },
    { "cmdline", show_cmdline, "The command line invocation of the current program" },
    { "heap", show_heap, "Figures of malloc, with debug=1. Memory is not sampled" },
    { "profile", show_profile,
      "CPU profile. You can specify the duration in the seconds GET parameter. After you get the profile "
      "file, use the go tool pprof command to investigate the profile." },
    { "symbol", show_symbol,
      "Maps given program counters to function names. Counters can be specified in a GET raw query or POST "
      "body, multiple counters are separated by '+'." },
};

static int show_index(struct pprof *pprof _unused_, const struct serve_request *request _unused_,
                      struct serve_reply *reply)
{
    typed(reply, "text/html; charset=utf-8");
    strbuf_puts(
        &reply->body,
        "<html>\n<head>\n<title>/debug/pprof/</title>\n<style>\n.profile-name{\n\tdisplay:inline-block;\n"
        "\twidth:6rem;\n}\n</style>\n</head>\n<body>\n/debug/pprof/\n<br>\n<br>\n"
        "Types of profiles available:\n<table>\n<thead><td>Count</td><td>Profile</td></thead>\n");
    for (size_t i = 1; i < ARRAY_SIZE(table); i++)
        strbuf_printf(&reply->body, "<tr><td>0</td><td><a href='%s?debug=1'>%s</a></td></tr>\n",
                      table[i].name, table[i].name);
    strbuf_puts(&reply->body, "</table>\n<br>\n<p>\nProfile Descriptions:\n<ul>\n");
    for (size_t i = 1; i < ARRAY_SIZE(table); i++)
        strbuf_printf(&reply->body, "<li><div class=profile-name>%s: </div> %s</li>\n", table[i].name,
                      table[i].text);
    strbuf_puts(&reply->body, "</ul>\n</p>\n</body>\n</html>\n");
    return 0;
}

/* What only a Go program has. */
static const char *const of_go[] = { "allocs", "block", "goroutine", "mutex", "threadcreate", "trace" };

/* As Go's http.Redirect() does. */
static int redirect(const struct serve_request *request, struct serve_reply *reply)
{
    bool is_get = str_is(request->method, "GET");
    reply->status = 302;
    serve_reply_header(reply, "Location", STR(PPROF_PATH "/"));
    if (is_get || str_is(request->method, "HEAD"))
        serve_reply_header(reply, "Content-Type", STR("text/html; charset=utf-8"));
    if (is_get)
        strbuf_puts(&reply->body, "<a href=\"" PPROF_PATH "/\">Found</a>.\n\n");
    return 0;
}

int pprof_show(struct pprof *pprof, const struct serve_request *request, struct serve_reply *reply)
{
    struct str name = str_slice(request->path, sizeof(PPROF_PATH) - 1, request->path.len);
    if (!name.len)
        return redirect(request, reply);
    name = str_slice(name, 1, name.len);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (str_is(name, table[i].name))
            return table[i].show(pprof, request, reply);
    for (size_t i = 0; i < ARRAY_SIZE(of_go); i++) {
        char text[80];
        snprintf(text, sizeof(text), "a C program has no %s profile", of_go[i]);
        if (str_is(name, of_go[i]))
            return refuse(reply, 404, text);
    }
    return refuse(reply, 404, "Unknown profile");
}

/* ---- life ---- */

struct pprof *pprof_new(struct serve *serve)
{
    struct pprof *pprof = xcalloc(1, sizeof(*pprof));
    pprof->serve = serve;
    pprof->look.ring = on_look;
    pprof->work = (struct loop_work){ .work = write_profile, .done = on_written };
    return pprof;
}

static void stop(void *context)
{
    struct pprof *pprof = context;
    pprof->stopping = true;
    if (pprof->look.place) {
        loop_timer_stop(loop_of(pprof), &pprof->look);
        on_look(&pprof->look);
    }
}

void pprof_stop(struct pprof *pprof)
{
    if (!pprof)
        return;
    loop_run_wait(loop_of(pprof), stop, pprof);
    loop_work_wait(loop_of(pprof), &pprof->work);
}

void pprof_free(struct pprof *pprof)
{
    free(pprof);
}
