/* explain_view.c: questions wait in a list; see explain_view.h. What is answered is in explain_write.c. */
#include "debug/explain_view.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "debug/views.h"

enum { WAITING_MAX = 64, REST = 4 /* times as long as the answer took */ };
enum { TOP_DEFAULT = 20, TOP_MAX = 1000000, WIDTH_MIN = 40, WIDTH_MAX = 1000 };

struct waiting {
    uint64_t id;
    struct explain_request question; /* its texts in the arena */
    struct arena arena;
};

struct explain_view {
    struct explain_source source;
    struct core *core;
    struct serve *serve;
    int64_t free_ns; /* no answer before that */
    pthread_mutex_t lock;
    struct waiting *waiting[WAITING_MAX]; /* under the lock, as their number; oldest first */
    size_t len;
};

static void waiting_free(struct waiting *waiting)
{
    arena_release(&waiting->arena);
    free(waiting);
}

struct explain_view *explain_view_new(struct core *core, const struct explain_source *source)
{
    struct explain_view *view = xcalloc(1, sizeof(*view));
    view->source = *source;
    view->source.engine = core_engine(core);
    view->core = core;
    pthread_mutex_init(&view->lock, NULL);
    return view;
}

void explain_view_serve(struct explain_view *view, struct serve *serve)
{
    view->serve = serve;
}

void explain_view_free(struct explain_view *view)
{
    if (!view)
        return;
    for (size_t i = 0; i < view->len; i++)
        waiting_free(view->waiting[i]);
    pthread_mutex_destroy(&view->lock);
    free(view);
}

/* ---- questions: the server's thread ---- */
static bool number_of(struct str query, const char *key, int64_t min, int64_t max, uint32_t *ret)
{
    struct arena arena = { 0 };
    struct str text;
    int64_t number = *ret;
    bool good = !serve_query(query, key, &arena, &text) ||
                (str_to_int64(text, &number) && number >= min && number <= max);
    arena_release(&arena);
    *ret = (uint32_t)number;
    return good;
}

/* NULL, or what is wrong with the question. */
static const char *read_question(struct str query, struct arena *arena, struct explain_request *ret)
{
    struct str output = STR("json");
    uint32_t colours = 0;
    *ret = (struct explain_request){ .top = TOP_DEFAULT };
    if (view_query_pod(query, arena, &ret->namespace, &ret->name) < 0)
        return "pod is NAMESPACE/NAME";
    serve_query(query, "output", arena, &output);
    ret->table = str_is(output, "table");
    if (!ret->table && !str_is(output, "json"))
        return "output is json or table";
    if (!number_of(query, "top", 1, TOP_MAX, &ret->top) ||
        !number_of(query, "width", WIDTH_MIN, WIDTH_MAX, &ret->width) ||
        !number_of(query, "colours", 0, 1, &colours))
        return "top is a number from 1, width one from 40 to 1000, colours 0 or 1";
    ret->colours = colours;
    return NULL;
}

static bool enqueue(struct explain_view *view, struct waiting *waiting)
{
    pthread_mutex_lock(&view->lock);
    bool fits = view->len < WAITING_MAX;
    if (fits)
        view->waiting[view->len++] = waiting;
    pthread_mutex_unlock(&view->lock);
    return fits;
}

static void nothing(void *context)
{
    (void)context;
}

int explain_view_request(void *user, const struct serve_request *request, struct serve_reply *reply)
{
    struct explain_view *view = user;
    struct waiting *waiting = xcalloc(1, sizeof(*waiting));
    waiting->id = request->id;
    const char *wrong = read_question(request->query, &waiting->arena, &waiting->question);
    bool get = str_is(request->method, "GET");
    if (get && !wrong && enqueue(view, waiting)) {
        core_call(view->core, nothing, NULL); /* wakes it, so that its round ends */
        return -EINPROGRESS;
    }
    waiting_free(waiting);
    if (!get)
        serve_reply_error(reply, 405, "only GET");
    else
        serve_reply_error(reply, wrong ? 400 : 429,
                          wrong ? wrong : "too many questions wait; ask again later");
    return 0;
}

/* ---- answers: the core thread ---- */
/* The oldest question, or NULL, and how many are left. */
static struct waiting *take(struct explain_view *view, size_t *ret_left)
{
    struct waiting *first = NULL;
    pthread_mutex_lock(&view->lock);
    if (view->len) {
        first = view->waiting[0];
        memmove(view->waiting, view->waiting + 1, --view->len * sizeof(first));
    }
    *ret_left = view->len;
    pthread_mutex_unlock(&view->lock);
    return first;
}

static void answer(struct explain_view *view, const struct waiting *waiting, int64_t now_ns)
{
    struct serve_reply reply = { 0 };
    bool text = explain_write(&view->source, &waiting->question, now_ns, &reply.body) < 0;
    reply.status = text ? 404 : 200;
    text |= waiting->question.table;
    serve_reply_header(&reply, "Content-Type",
                       text ? STR("text/plain; charset=utf-8") : STR("application/json"));
    serve_answer(view->serve, waiting->id, &reply);
}

int64_t explain_view_round(struct explain_view *view, int64_t now_ns)
{
    size_t left;
    if (now_ns < view->free_ns) {
        pthread_mutex_lock(&view->lock);
        left = view->len;
        pthread_mutex_unlock(&view->lock);
        return left ? view->free_ns : INT64_MAX;
    }
    struct waiting *waiting = take(view, &left);
    if (!waiting)
        return INT64_MAX;
    int64_t begun_ns = monotonic_ns();
    answer(view, waiting, now_ns);
    waiting_free(waiting);
    view->free_ns = now_ns + (monotonic_ns() - begun_ns) * (REST + 1);
    return left ? view->free_ns : INT64_MAX;
}
