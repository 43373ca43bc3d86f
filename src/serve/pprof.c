/* pprof.c: see pprof.h. Headers, texts and status codes are those of Go's net/http/pprof. */
#include "serve/pprof.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
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

struct pprof {
    struct serve *serve;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping;
    bool gone; /* nobody waits for the profile any more */
    atomic_bool busy;
    /* Of the profile; written by the server's thread while not busy. */
    pthread_t thread;
    bool has_thread; /* that was not joined */
    uint64_t id;
    int64_t seconds;
};

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

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* On the server's thread. */
static void look_at_client(void *context)
{
    struct pprof *pprof = context;
    bool awaited = serve_is_awaited(pprof->serve, pprof->id);
    pthread_mutex_lock(&pprof->lock);
    pprof->gone = pprof->gone || !awaited;
    pthread_cond_signal(&pprof->changed);
    pthread_mutex_unlock(&pprof->lock);
}

/* Until the time is over, the client is gone, or the server ends. */
static void wait_for_end(struct pprof *pprof)
{
    int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + pprof->seconds * NS_PER_S;
    pthread_mutex_lock(&pprof->lock);
    for (int64_t now_ns; !pprof->stopping && !pprof->gone && (now_ns = clock_ns(CLOCK_MONOTONIC)) < end_ns;) {
        int64_t until_ns = MIN(end_ns, now_ns + LOOK_MS * INT64_C(1000000));
        struct timespec until = { (time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S) };
        int r = pthread_cond_timedwait(&pprof->changed, &pprof->lock, &until);
        if (r != 0 && until_ns < end_ns && !pprof->stopping)
            serve_call(pprof->serve, look_at_client, pprof);
    }
    pthread_mutex_unlock(&pprof->lock);
}

static void *run(void *user)
{
    struct pprof *pprof = user;
    struct serve_reply reply = { 0 };
    struct samples samples;
    struct error err;
    int64_t began_ns = clock_ns(CLOCK_REALTIME), start_ns = clock_ns(CLOCK_MONOTONIC);
    if (sampler_start(&err) < 0) {
        error_prefix(&err, "Could not enable CPU profiling");
        refuse(&reply, 500, err.text);
    } else {
        wait_for_end(pprof);
        sampler_stop(&samples);
        typed(&reply, "application/octet-stream");
        serve_reply_header(&reply, "Content-Disposition", STR("attachment; filename=\"profile\""));
        cpu_profile_write(&samples, began_ns, clock_ns(CLOCK_MONOTONIC) - start_ns, &reply.body);
        samples_release(&samples);
    }
    uint64_t id = pprof->id;
    atomic_store(&pprof->busy, false);
    serve_answer(pprof->serve, id, &reply);
    return NULL;
}

/* A thread that leaves every signal but the sampler's to others. */
static int start_thread(struct pprof *pprof)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGPROF);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(&pprof->thread, NULL, run, pprof);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

void pprof_join(struct pprof *pprof)
{
    if (!pprof || !pprof->has_thread)
        return;
    pthread_join(pprof->thread, NULL);
    pprof->has_thread = false;
}

static int64_t seconds_of(struct str query)
{
    struct arena arena = { 0 };
    struct str text;
    int64_t seconds = 0;
    bool given = serve_query(query, "seconds", &arena, &text) && str_to_int64(text, &seconds);
    arena_release(&arena);
    return given && seconds > 0 ? MIN(seconds, (int64_t)SECONDS_MAX) : SECONDS_DEFAULT;
}

static int show_profile(struct pprof *pprof, const struct serve_request *request, struct serve_reply *reply)
{
    if (atomic_exchange(&pprof->busy, true))
        return refuse(reply, 500, "Could not enable CPU profiling: cpu profiling already in use");
    pprof_join(pprof); /* it has ended */
    pprof->id = request->id;
    pprof->seconds = seconds_of(request->query);
    pthread_mutex_lock(&pprof->lock);
    pprof->gone = false;
    bool stopping = pprof->stopping;
    pthread_mutex_unlock(&pprof->lock);
    pprof->has_thread = !stopping && start_thread(pprof) == 0;
    if (!pprof->has_thread) {
        atomic_store(&pprof->busy, false);
        return refuse(reply, 500, "Could not enable CPU profiling: there is no thread for it");
    }
    serve_patience(pprof->serve, request->id, pprof->seconds * 1000 + WRITE_MS);
    return -EINPROGRESS;
}

/* ---- the other pages ---- */

/* Addresses, separated by a plus. */
static int show_symbol(struct pprof *pprof, const struct serve_request *request, struct serve_reply *reply)
{
    (void)pprof;
    struct str rest = str_is(request->method, "POST") ? request->body : request->query;
    typed(reply, "text/plain; charset=utf-8");
    strbuf_puts(&reply->body, "num_symbols: 1\n");
    while (rest.len) {
        ptrdiff_t plus = str_find(rest, '+');
        struct str word = str_slice(rest, 0, plus < 0 ? rest.len : (size_t)plus);
        char text[24] = "", *end;
        if (word.len < sizeof(text))
            memcpy(text, word.ptr, word.len);
        unsigned long long address = strtoull(text, &end, 0);
        struct str name = *end || !address ? (struct str){ 0 } : symbol_of(address);
        if (name.len)
            strbuf_printf(&reply->body, "%#llx " STR_FMT "\n", address, STR_ARG(name));
        rest = plus < 0 ? (struct str){ 0 } : str_slice(rest, (size_t)plus + 1, rest.len);
    }
    return 0;
}

static int show_cmdline(struct pprof *pprof, const struct serve_request *request, struct serve_reply *reply)
{
    (void)pprof;
    (void)request;
    struct error err;
    typed(reply, "text/plain; charset=utf-8");
    if (file_read("/proc/self/cmdline", CMDLINE_BYTES_MAX, &reply->body, &err) < 0)
        return -EIO;
    if (reply->body.len)
        reply->body.text[--reply->body.len] = '\0'; /* zero bytes stand between words, not behind the last */
    return 0;
}

static int show_heap(struct pprof *pprof, const struct serve_request *request, struct serve_reply *reply)
{
    (void)pprof;
    struct arena arena = { 0 };
    struct str debug = { 0 };
    bool as_text = serve_query(request->query, "debug", &arena, &debug) && !str_is(debug, "0");
    arena_release(&arena);
    if (!as_text)
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

static int show_index(struct pprof *pprof, const struct serve_request *request, struct serve_reply *reply)
{
    (void)pprof;
    (void)request;
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

int pprof_show(void *user, const struct serve_request *request, struct serve_reply *reply)
{
    struct pprof *pprof = user;
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
    pthread_condattr_t monotonic;
    pprof->serve = serve;
    pthread_mutex_init(&pprof->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pprof->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return pprof;
}

void pprof_stop(struct pprof *pprof)
{
    if (!pprof)
        return;
    pthread_mutex_lock(&pprof->lock);
    pprof->stopping = true;
    pthread_cond_signal(&pprof->changed);
    pthread_mutex_unlock(&pprof->lock);
}

void pprof_free(struct pprof *pprof)
{
    if (!pprof)
        return;
    pthread_cond_destroy(&pprof->changed);
    pthread_mutex_destroy(&pprof->lock);
    free(pprof);
}
