/* vacancy.c: reads the Lease every two seconds, and every second while it is vacant. */
#include "live/vacancy.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "client/rest.h"
#include "net/loop.h"

enum {
    HELD_MS = 2000,
    VACANT_MS = 1000,
    REQUEST_MS = 2000,
    DURATION_S_DEFAULT = 15, /* of a Lease that does not say */
    BODY_BYTES_MAX = 2 << 20,
    NOT_FOUND = 404,
};

/* ---- what is known ---- */
int vacancy_see(struct vacancy_view *view, struct str text, int64_t asked_ns, int64_t now_ns,
                struct error *err)
{
    struct strbuf before = view->record.spec;
    bool was_held = view->held;
    view->record.spec = (struct strbuf){ 0 };
    int r = text.len ? lease_record_read(&view->record, text, err) : 0;
    if (r < 0) {
        view->record.spec = before;
        return r;
    }
    view->held = text.len && view->record.holder.len;
    if (!view->seen || view->held != was_held ||
        !str_eq(strbuf_slice(&before), strbuf_slice(&view->record.spec)))
        view->changed_ns = now_ns;
    view->seen |= text.len != 0;
    view->asked_ns = asked_ns;
    strbuf_release(&before);
    return 0;
}

static int64_t span_ns(const struct vacancy_view *view)
{
    int64_t duration_s = view->record.duration_s > 0 ? view->record.duration_s : DURATION_S_DEFAULT;
    return view->held ? duration_s * NS_PER_S : VACANCY_RELEASED_MS * NS_PER_MS;
}

bool vacancy_is_vacant(const struct vacancy_view *view, int64_t now_ns)
{
    return view->seen && now_ns - view->changed_ns >= span_ns(view) &&
           now_ns - view->asked_ns < VACANCY_BLIND_MS * NS_PER_MS;
}

/* ---- requests ---- */
struct vacancy {
    struct vacancy_options options;
    struct arena arena;
    struct strbuf path;
    struct vacancy_view view;
    struct loop_timer timer;
    struct completion idle; /* when it is to end: no request is under way */
    uint64_t id;
    int64_t asked_ns;
    bool started, in_flight, stopping, is_vacant, complained;
};

/* Runs while the machine sleeps, too: others' clocks do. */
static int64_t now_of(void)
{
    return clock_now_ns(CLOCK_BOOTTIME);
}

static struct log_value about(const struct vacancy *vacancy)
{
    return log_ref("lease", vacancy->options.namespace, vacancy->options.name);
}

static void complain(struct vacancy *vacancy, const struct error *err)
{
    if (!vacancy->complained)
        log_error(err, "A lease cannot be read, and its scheduler's pods are not taken over", about(vacancy));
    vacancy->complained = true;
}

static void conclude(struct vacancy *vacancy)
{
    bool is_vacant = vacancy_is_vacant(&vacancy->view, now_of());
    if (is_vacant != vacancy->is_vacant) {
        vacancy->is_vacant = is_vacant;
        vacancy->options.on_change(vacancy->options.user, is_vacant);
    }
    loop_timer_set(api_loop(vacancy->options.api), &vacancy->timer,
                   monotonic_ns() + (is_vacant ? VACANT_MS : HELD_MS) * NS_PER_MS);
}

static int take(struct vacancy *vacancy, const struct http_response *response, struct error *err)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct api_status status = { 0 };
    bool is_absent = response->outcome == HTTP_ANSWERED && response->status == NOT_FOUND;
    if (response->outcome != HTTP_ANSWERED)
        return error_set(err, -EIO, "%s", response->error.text);
    if (!is_absent && !rest_is_yes(response)) {
        rest_status(response, &arena, &status);
        return error_set(err, -EIO, STR_FMT, STR_ARG(rest_sentence(response, &status, &arena)));
    }
    return vacancy_see(&vacancy->view, is_absent ? (struct str){ 0 } : strbuf_slice(response->body),
                       vacancy->asked_ns, now_of(), err);
}

static void on_done(void *user, struct http_response *response)
{
    struct vacancy *vacancy = user;
    struct error err;
    vacancy->in_flight = false;
    if (vacancy->stopping) {
        completion_done(&vacancy->idle);
        return;
    }
    if (take(vacancy, response, &err) < 0)
        complain(vacancy, &err);
    else
        vacancy->complained = false;
    conclude(vacancy);
}

static void look(struct loop_timer *timer)
{
    static const struct http_callbacks callbacks = { .on_done = on_done };
    struct vacancy *vacancy = container_of(timer, struct vacancy, timer);
    struct error err;
    const struct api_request request = { .method = "GET",
                                         .path = strbuf_slice(&vacancy->path),
                                         .accept = API_JSON,
                                         .urgent = true,
                                         .unlimited = true,
                                         .timeout_ms = REQUEST_MS,
                                         .body_bytes_max = BODY_BYTES_MAX,
                                         .callbacks = &callbacks,
                                         .user = vacancy };
    vacancy->asked_ns = now_of();
    vacancy->in_flight = true;
    if (api_send(vacancy->options.api, &request, &vacancy->id, &err) == 0)
        return;
    vacancy->in_flight = false;
    complain(vacancy, &err);
    conclude(vacancy);
}

/* ---- from outside ---- */
struct vacancy *vacancy_new(const struct vacancy_options *options)
{
    struct vacancy *vacancy = xcalloc(1, sizeof(*vacancy));
    vacancy->options = *options;
    vacancy->options.namespace = arena_str(&vacancy->arena, options->namespace);
    vacancy->options.name = arena_str(&vacancy->arena, options->name);
    vacancy->timer.ring = look;
    completion_init(&vacancy->idle);
    strbuf_printf(&vacancy->path, "/apis/coordination.k8s.io/v1");
    rest_path(&vacancy->path, options->namespace, "leases", options->name);
    return vacancy;
}

static void begin(void *context)
{
    struct vacancy *vacancy = context;
    if (vacancy->started)
        return;
    vacancy->started = true;
    look(&vacancy->timer);
}

void vacancy_start(struct vacancy *vacancy)
{
    loop_run(api_loop(vacancy->options.api), begin, vacancy);
}

static void end(void *context)
{
    struct vacancy *vacancy = context;
    vacancy->stopping = vacancy->started = true;
    loop_timer_stop(api_loop(vacancy->options.api), &vacancy->timer);
    if (vacancy->in_flight)
        api_cancel(vacancy->options.api, vacancy->id);
    else
        completion_done(&vacancy->idle);
}

void vacancy_free(struct vacancy *vacancy)
{
    if (!vacancy)
        return;
    loop_run(api_loop(vacancy->options.api), end, vacancy);
    completion_wait(&vacancy->idle, INT64_MAX);
    completion_release(&vacancy->idle);
    lease_record_release(&vacancy->view.record);
    strbuf_release(&vacancy->path);
    arena_release(&vacancy->arena);
    free(vacancy);
}
