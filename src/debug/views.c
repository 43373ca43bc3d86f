/* views.c: see views.h. Requests that are not answered at the end are freed with the views. */
#include "debug/views.h"

#include <stdlib.h>

#include "api/output.h"
#include "base/list.h"
#include "base/thread.h"
#include "base/timestamp.h"
#include "base/workers.h"

enum { LIMIT_DEFAULT = 1000, LIMIT_MAX = 100000, JOBS_MAX = 2 };
enum { TOP_DEFAULT = 20, TOP_MAX = 1000000, WIDTH_MIN = 40, WIDTH_MAX = 1000 };
/* Requests that wait for their turn; how long the core only decides after one, in times of what it took. */
enum { TURNS_MAX = 64, TURN_REST = 4 };

/* A request, from its arrival to its answer. */
struct view_request {
    struct list_link link;    /* of views->open */
    struct list_link waiting; /* of views->turns */
    struct views *views;
    uint64_t id;
    bool gzips;
    struct arena arena;                           /* of the texts below */
    void (*answer)(struct view_request *request); /* on the core thread */
    void (*at_turn)(struct view_request *request,
                    int64_t now_ns); /* likewise, of a request that takes turns */
    view_writer write;
    struct view_filter filter;
    struct explain_request explain;
    const struct view_job *job;
    void *gathered;
    struct worker_job writing;
};

struct views {
    struct core *core;
    struct serve *serve;
    struct explain_source source;
    /* Of the core thread. */
    struct list turns; /* requests that wait for theirs, oldest first */
    size_t turns_len;
    int64_t turn_at_ns; /* not before that */
    /* Under the lock. */
    struct monitor monitor;
    size_t busy;      /* jobs of the worker pool that write */
    struct list open; /* requests without an answer */
};

/* ---- what is shown ---- */

struct gathered {
    const struct engine *engine;
    const struct view_filter *filter;
    VEC(const struct queued_pod *) entries;
};

bool view_filter_names(const struct view_filter *filter, const struct meta *meta)
{
    return (!filter->namespace.len || str_eq(filter->namespace, meta->namespace)) &&
           (!filter->name.len || str_eq(filter->name, meta->name));
}

static bool is_held_by(const struct profile *profile, const struct queued_pod *entry, struct str name)
{
    uint64_t mask = entry->unschedulable | entry->pending;
    for (uint32_t i = 0; i < profile->plugins_len; i++)
        if ((mask >> i & 1 || entry->gate == (int32_t)i) && str_is(name, profile->plugins[i].plugin->name))
            return true;
    return false;
}

static void gather(void *context, const struct queued_pod *entry)
{
    struct gathered *all = context;
    const struct view_filter *filter = all->filter;
    if (!entry->pod || !view_filter_names(filter, &entry->pod->api->meta))
        return;
    if (filter->queue.len && !str_is(filter->queue, queue_place_names[entry->place]))
        return;
    if (filter->plugin.len && !is_held_by(&all->engine->profiles[entry->profile], entry, filter->plugin))
        return;
    *vec_push(&all->entries) = entry;
}

/* By queue, then the pod that waits longest. */
static int by_place(const void *a, const void *b)
{
    const struct queued_pod *x = *(const struct queued_pod *const *)a,
                            *y = *(const struct queued_pod *const *)b;
    return COMPARE(x->place, y->place) ?: COMPARE(x->since_ns, y->since_ns) ?: COMPARE(x->order, y->order);
}

void view_put_time(struct json_writer *json, const char *key, int64_t ns)
{
    char text[TIMESTAMP_LEN + 1];
    json_member_str(json, key, timestamp_format(ns / NS_PER_S, text));
}

void view_put_seconds(struct json_writer *json, const char *key, int64_t ns)
{
    json_member_double(json, key, (double)(MAX(ns, 0) / 1000000) / 1000);
}

static void put_plugins(struct json_writer *json, const struct profile *profile, uint64_t mask)
{
    json_member_array(json, "rejectedBy");
    for (uint32_t i = 0; i < profile->plugins_len; i++)
        if (mask >> i & 1)
            json_str(json, str_from(profile->plugins[i].plugin->name));
    json_end_array(json);
}

/* What has one name: everything, any update, or a single action. */
static uint32_t next_actions(uint32_t rest)
{
    if (rest == ACTION_ALL)
        return rest;
    return (rest & ACTION_UPDATE) == ACTION_UPDATE ? (uint32_t)ACTION_UPDATE : rest & -rest;
}

wake_vec views_wakes(const struct profile *profile, const struct release *release, uint64_t mask,
                     struct arena *arena)
{
    wake_vec wakes = { 0 };
    for (uint32_t i = 0; i < profile->plugins_len; i++) {
        const struct plugin *plugin = profile->plugins[i].plugin;
        const struct event_rule *rule = mask >> i & 1 ? plugin_event_rules(&profile->plugins[i]) : NULL;
        for (; rule && rule->actions; rule++) {
            for (uint32_t rest = rule->actions, actions; rest; rest &= ~actions) {
                actions = next_actions(rest);
                const struct cluster_event event = { .resource = rule->resource, .actions = actions };
                *vec_push(&wakes) = (struct wake){ str_from(plugin->name),
                                                   event_label_text(event_label(&event), release, arena) };
            }
        }
    }
    return wakes;
}

static void put_wakes(struct json_writer *json, const struct profile *profile, const struct release *release,
                      uint64_t mask)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    wake_vec wakes = views_wakes(profile, release, mask, &arena);
    json_member_array(json, "wakes");
    vec_for(&wakes, wake) {
        json_begin_object(json);
        json_member_str(json, "plugin", wake->plugin);
        json_member_str(json, "event", wake->event);
        json_end_object(json);
    }
    json_end_array(json);
    vec_release(&wakes);
}

static struct str message_of(const struct pod *pod)
{
    list_for(&pod->status.conditions, condition)
        if (str_is(condition->type, "PodScheduled") && !str_is(condition->status, "True"))
            return condition->message;
    return (struct str){ 0 };
}

static void put_seconds_if(struct json_writer *json, const char *key, bool is_there, int64_t ns)
{
    if (is_there)
        view_put_seconds(json, key, ns);
    else
        output_member_null(json, key);
}

void views_put_entry(struct json_writer *json, const struct engine *engine, const struct queued_pod *entry,
                     bool wakes, int64_t now_ns)
{
    const struct pod *pod = entry->pod->api;
    const struct profile *profile = &engine->profiles[entry->profile];
    json_begin_object(json);
    output_name_members(json, &pod->meta);
    json_member_str(json, "scheduler", profile->scheduler_name);
    json_member_int(json, "priority", pod->spec.priority.set ? pod->spec.priority.value : 0);
    json_member_str(json, "queue", str_from(queue_place_names[entry->place]));
    view_put_seconds(json, "seconds", now_ns - entry->since_ns);
    bool backs_off = entry->place == QUEUE_BACKOFF || entry->place == QUEUE_ERROR_BACKOFF;
    put_seconds_if(json, "secondsSinceFirst", entry->first_attempt_ns != QUEUE_NEVER,
                   now_ns - entry->first_attempt_ns);
    put_seconds_if(json, "backoffSeconds", backs_off && entry->backoff_until_ns > now_ns,
                   entry->backoff_until_ns - now_ns);
    json_member_int(json, "attempts", entry->attempts);
    output_member_text(json, "gate",
                       entry->gate == GATE_NONE ? (struct str){ 0 }
                                                : str_from(profile->plugins[entry->gate].plugin->name));
    put_plugins(json, profile, entry->unschedulable | entry->pending);
    output_member_text(json, "message", message_of(pod));
    if (wakes)
        put_wakes(json, profile, engine->cluster->features.release, entry->unschedulable | entry->pending);
    json_end_object(json);
}

void views_write_queue(const struct engine *engine, const struct view_filter *filter, int64_t now_ns,
                       struct strbuf *out)
{
    struct gathered all = { .engine = engine, .filter = filter };
    struct json_writer json = json_writer(out, JSON_COMPACT);
    queue_each(&engine->queue, gather, &all);
    vec_sort(&all.entries, by_place);
    size_t len = MIN(all.entries.len, filter->limit);
    output_begin(&json, "Queue");
    view_put_time(&json, "time", now_ns);
    json_member_object(&json, "counts");
    for (int place = QUEUE_NOWHERE + 1; place < QUEUE_PLACE_COUNT; place++)
        json_member_int(&json, queue_place_names[place], (int64_t)engine->queue.counts[place]);
    json_end_object(&json);
    json_member_array(&json, "pods");
    for (size_t i = 0; i < len; i++)
        views_put_entry(&json, engine, all.entries.items[i], filter->name.len > 0, now_ns);
    json_end_array(&json);
    json_member_int(&json, "left", (int64_t)(all.entries.len - len));
    output_end(&json);
    vec_release(&all.entries);
}

/* ---- requests ---- */

static struct view_request *request_new(struct views *views, const struct serve_request *request,
                                        void (*answer)(struct view_request *request))
{
    struct view_request *made = xcalloc(1, sizeof(*made));
    made->views = views;
    made->id = request->id;
    made->gzips = request->takes_gzip;
    made->answer = answer;
    return made;
}

static void request_free(struct view_request *request)
{
    arena_release(&request->arena);
    free(request);
}

static void send_answer(struct view_request *request, struct serve_reply *reply)
{
    struct views *views = request->views;
    serve_answer(views->serve, request->id, reply);
    monitor_lock(&views->monitor);
    list_remove(&views->open, &request->link);
    monitor_unlock(&views->monitor);
    request_free(request);
}

static void send_error(struct view_request *request, int status, const char *text)
{
    struct serve_reply reply = { 0 };
    serve_reply_error(&reply, status, text);
    send_answer(request, &reply);
}

static void on_core(void *context)
{
    struct view_request *request = context;
    request->answer(request);
}

static int hand_over(struct view_request *request)
{
    struct views *views = request->views;
    monitor_lock(&views->monitor);
    list_append(&views->open, &request->link);
    monitor_unlock(&views->monitor);
    core_call(views->core, on_core, request);
    return -EINPROGRESS;
}

/* `wrong`: what is wrong with the query, or NULL. */
static int hand_over_get(struct view_request *made, const struct serve_request *request,
                         struct serve_reply *reply, const char *wrong)
{
    bool is_get = str_is(request->method, "GET");
    if (is_get && !wrong)
        return hand_over(made);
    serve_reply_error(reply, is_get ? 400 : 405, is_get ? wrong : "only GET");
    request_free(made);
    return 0;
}

/* The parameter pod=NAMESPACE/NAME. -ENOENT: it is not there, -EINVAL: it is something else. */
static int read_pod(struct str query, struct arena *arena, struct str *ret_namespace, struct str *ret_name)
{
    struct str text;
    if (!serve_query(query, "pod", arena, &text))
        return -ENOENT;
    *ret_namespace = str_cut(&text, '/');
    *ret_name = text;
    return ret_namespace->len && ret_name->len ? 0 : -EINVAL;
}

/* *ret stays as it is where the parameter is absent. False: it is no such number. */
static bool read_number(struct str query, const char *key, int64_t min, int64_t max, struct arena *arena,
                        uint32_t *ret)
{
    struct str text;
    int64_t number = *ret;
    if (serve_query(query, key, arena, &text) &&
        (!str_to_int64(text, &number) || number < min || number > max))
        return false;
    *ret = (uint32_t)number;
    return true;
}

/* ---- pages of JSON ---- */

static void write_page(struct view_request *request)
{
    struct serve_reply reply = { 0 };
    serve_reply_header(&reply, "Content-Type", STR("application/json"));
    request->write(core_engine(request->views->core), &request->filter, core_now(request->views->core),
                   &reply.body);
    send_answer(request, &reply);
}

static const char *read_filter(struct str query, struct arena *arena, struct view_filter *ret)
{
    *ret = (struct view_filter){ .limit = LIMIT_DEFAULT };
    serve_query(query, "namespace", arena, &ret->namespace);
    serve_query(query, "queue", arena, &ret->queue);
    serve_query(query, "plugin", arena, &ret->plugin);
    serve_query(query, "node", arena, &ret->node);
    serve_query(query, "label", arena, &ret->label);
    bool valid = read_number(query, "limit", 1, LIMIT_MAX, arena, &ret->limit) &&
                 read_pod(query, arena, &ret->namespace, &ret->name) != -EINVAL;
    return valid ? NULL : "limit is a number, pod is NAMESPACE/NAME";
}

int views_request(struct views *views, const struct serve_request *request, struct serve_reply *reply,
                  view_writer write)
{
    struct view_request *made = request_new(views, request, write_page);
    made->write = write;
    return hand_over_get(made, request, reply, read_filter(request->query, &made->arena, &made->filter));
}

int views_queue(void *views, const struct serve_request *request, struct serve_reply *reply)
{
    return views_request(views, request, reply, views_write_queue);
}

/* ---- requests that take turns ---- */

/* The round of the core that this call ends answers it. */
static void wait_for_turn(struct view_request *request)
{
    struct views *views = request->views;
    if (views->turns_len == TURNS_MAX) {
        send_error(request, 429, "too many questions wait; ask again later");
        return;
    }
    list_append(&views->turns, &request->waiting);
    views->turns_len++;
}

int64_t views_round(struct views *views, int64_t now_ns)
{
    if (views->turns_len && now_ns >= views->turn_at_ns) {
        struct view_request *request = list_take(&views->turns, struct view_request, waiting);
        int64_t begun_ns = monotonic_ns();
        views->turns_len--;
        request->at_turn(request, now_ns);
        views->turn_at_ns = now_ns + (monotonic_ns() - begun_ns) * (TURN_REST + 1);
    }
    return views->turns_len ? views->turn_at_ns : INT64_MAX;
}

/* ---- explanations ---- */

static const char *read_explain(struct str query, struct arena *arena, struct explain_request *ret)
{
    struct str output = STR("json");
    uint32_t colours = 0, timing = 0;
    *ret = (struct explain_request){ .top = TOP_DEFAULT };
    if (read_pod(query, arena, &ret->namespace, &ret->name) < 0)
        return "pod is NAMESPACE/NAME";
    serve_query(query, "output", arena, &output);
    serve_query(query, "node", arena, &ret->node);
    ret->table = str_is(output, "table");
    if (!ret->table && !str_is(output, "json"))
        return "output is json or table";
    if (!read_number(query, "top", 1, TOP_MAX, arena, &ret->top) ||
        !read_number(query, "width", WIDTH_MIN, WIDTH_MAX, arena, &ret->width) ||
        !read_number(query, "colours", 0, 1, arena, &colours) ||
        !read_number(query, "timing", 0, 1, arena, &timing))
        return "top is a number from 1, width one from 40 to 1000, colours and timing 0 or 1";
    ret->colours = colours;
    ret->timing = timing;
    return NULL;
}

static void explain(struct view_request *request, int64_t now_ns)
{
    struct serve_reply reply = { 0 };
    bool is_unknown = explain_view_write(&request->views->source, &request->explain, now_ns, &reply.body) < 0;
    bool is_text = is_unknown || request->explain.table;
    reply.status = is_unknown ? 404 : 200;
    serve_reply_header(&reply, "Content-Type",
                       is_text ? STR("text/plain; charset=utf-8") : STR("application/json"));
    send_answer(request, &reply);
}

int views_explain(void *views, const struct serve_request *request, struct serve_reply *reply)
{
    struct view_request *made = request_new(views, request, wait_for_turn);
    made->at_turn = explain;
    return hand_over_get(made, request, reply, read_explain(request->query, &made->arena, &made->explain));
}

/* ---- large pages ---- */

static void write_job(struct worker_job *writing)
{
    struct view_request *request = container_of(writing, struct view_request, writing);
    struct views *views = request->views;
    struct serve_reply reply = { 0 };
    request->job->write(request->gathered, &reply.body);
    if (request->job->type)
        serve_reply_header(&reply, "Content-Type", str_from(request->job->type));
    if (request->gzips)
        serve_reply_gzip(&reply);
    send_answer(request, &reply);
    monitor_lock(&views->monitor);
    views->busy--;
    monitor_wake(&views->monitor);
    monitor_unlock(&views->monitor);
}

/* On the core thread: as little as possible of it. */
static void start_job(struct view_request *request, int64_t now_ns)
{
    struct views *views = request->views;
    monitor_lock(&views->monitor);
    bool many = views->busy >= JOBS_MAX;
    views->busy += !many;
    monitor_unlock(&views->monitor);
    if (many) {
        send_error(request, 503, "others are being shown this page; try again");
        return;
    }
    request->gathered = request->job->gather(core_engine(views->core), &request->filter, now_ns);
    request->writing = (struct worker_job){ .urgent = true, .run = write_job };
    workers_submit(&request->writing);
}

static void start_job_now(struct view_request *request)
{
    start_job(request, core_now(request->views->core));
}

int views_request_job(struct views *views, const struct serve_request *request, struct serve_reply *reply,
                      const struct view_job *job)
{
    struct view_request *made = request_new(views, request, job->takes_turns ? wait_for_turn : start_job_now);
    made->job = job;
    made->at_turn = start_job;
    if (job->any_method)
        return hand_over(made);
    return hand_over_get(made, request, reply, read_filter(request->query, &made->arena, &made->filter));
}

void views_settle(struct views *views)
{
    if (!views)
        return;
    monitor_lock(&views->monitor);
    while (views->busy)
        monitor_wait(&views->monitor, INT64_MAX);
    monitor_unlock(&views->monitor);
}

/* ---- life ---- */

struct views *views_new(struct core *core, const struct explain_source *source)
{
    struct views *views = xcalloc(1, sizeof(*views));
    views->core = core;
    views->source = *source;
    views->source.engine = core_engine(core);
    monitor_init(&views->monitor);
    return views;
}

void views_serve(struct views *views, struct serve *serve)
{
    views->serve = serve;
}

void views_free(struct views *views)
{
    if (!views)
        return;
    list_for_each(&views->open, struct view_request, request, link)
        request_free(request);
    monitor_release(&views->monitor);
    free(views);
}
