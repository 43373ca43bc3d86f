/* views.c: see views.h. Requests that are not answered at the end are freed with the views. */
#include "debug/views.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/timestamp.h"
#include "base/workers.h"

enum { LIMIT_DEFAULT = 1000, LIMIT_MAX = 100000, JOBS_MAX = 2 };
#define NS_PER_S INT64_C(1000000000)

struct view_request {
    struct views *views;
    view_writer write;
    uint64_t id;
    struct arena arena; /* of the filter's texts */
    struct view_filter filter;
    const struct view_job *job; /* NULL: `write` does it all */
    void *gathered;
    bool gzips;
    struct worker_job writing;
};

struct views {
    struct core *core;
    struct serve *serve;
    pthread_mutex_t lock;
    pthread_cond_t less_busy;
    size_t busy;       /* jobs of the worker pool that write */
    struct idmap open; /* requests by id, under the lock */
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
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->since_ns != y->since_ns)
        return x->since_ns < y->since_ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
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

void views_each_wake(const struct profile *profile, uint64_t mask,
                     void (*visit)(void *context, const char *plugin, struct str event), void *context)
{
    struct arena arena = { 0 };
    for (uint32_t i = 0; i < profile->plugins_len; i++) {
        const struct event_rule *rule = mask >> i & 1 ? plugin_event_rules(profile->plugins[i].plugin) : NULL;
        for (; rule && rule->actions; rule++) {
            for (uint32_t rest = rule->actions, actions; rest; rest &= ~actions) {
                actions = next_actions(rest);
                const struct cluster_event event = { .resource = rule->resource, .actions = actions };
                visit(context, profile->plugins[i].plugin->name,
                      event_label_text(event_label(&event), &arena));
            }
        }
    }
    arena_release(&arena);
}

static void put_wake(void *context, const char *plugin, struct str event)
{
    struct json_writer *json = context;
    json_begin_object(json);
    json_member_str(json, "plugin", str_from(plugin));
    json_member_str(json, "event", event);
    json_end_object(json);
}

static void put_wakes(struct json_writer *json, const struct profile *profile, uint64_t mask)
{
    json_member_array(json, "wakes");
    views_each_wake(profile, mask, put_wake, json);
    json_end_array(json);
}

static struct str message_of(const struct pod *pod)
{
    list_for(&pod->status.conditions, condition)
        if (str_is(condition->type, "PodScheduled") && !str_is(condition->status, "True"))
            return condition->message;
    return (struct str){ 0 };
}

void views_put_entry(struct json_writer *json, const struct engine *engine, const struct queued_pod *entry,
                     bool wakes, int64_t now_ns)
{
    const struct pod *pod = entry->pod->api;
    const struct profile *profile = &engine->profiles[entry->profile];
    struct str message = message_of(pod);
    json_begin_object(json);
    json_member_str(json, "namespace", pod->meta.namespace);
    json_member_str(json, "name", pod->meta.name);
    json_member_str(json, "scheduler", profile->scheduler_name);
    json_member_int(json, "priority", pod->spec.priority.set ? pod->spec.priority.value : 0);
    json_member_str(json, "queue", str_from(queue_place_names[entry->place]));
    view_put_seconds(json, "seconds", now_ns - entry->since_ns);
    if (entry->first_attempt_ns != QUEUE_NEVER)
        view_put_seconds(json, "secondsSinceFirst", now_ns - entry->first_attempt_ns);
    if (entry->backoff_until_ns > now_ns &&
        (entry->place == QUEUE_BACKOFF || entry->place == QUEUE_ERROR_BACKOFF))
        view_put_seconds(json, "backoffSeconds", entry->backoff_until_ns - now_ns);
    json_member_int(json, "attempts", entry->attempts);
    if (entry->gate != GATE_NONE)
        json_member_str(json, "gate", str_from(profile->plugins[entry->gate].plugin->name));
    put_plugins(json, profile, entry->unschedulable | entry->pending);
    if (message.len)
        json_member_str(json, "message", message);
    if (wakes)
        put_wakes(json, profile, entry->unschedulable | entry->pending);
    json_end_object(json);
}

void views_write_queue(const struct engine *engine, const struct view_filter *filter, int64_t now_ns,
                       struct strbuf *out)
{
    struct gathered all = { .engine = engine, .filter = filter };
    struct json_writer json = json_writer(out, JSON_COMPACT);
    queue_each(&engine->queue, gather, &all);
    if (all.entries.len)
        qsort(all.entries.items, all.entries.len, sizeof(*all.entries.items), by_place);
    size_t len = MIN(all.entries.len, filter->limit);
    json_begin_object(&json);
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
    json_end_object(&json);
    strbuf_putc(out, '\n');
    vec_release(&all.entries);
}

/* ---- requests ---- */

static void request_free(struct view_request *pending)
{
    pthread_mutex_lock(&pending->views->lock);
    idmap_remove(&pending->views->open, pending->id);
    pthread_mutex_unlock(&pending->views->lock);
    arena_release(&pending->arena);
    free(pending);
}

static void write_job(struct worker_job *writing)
{
    struct view_request *pending = container_of(writing, struct view_request, writing);
    struct views *views = pending->views;
    struct serve_reply reply = { 0 };
    pending->job->write(pending->gathered, &reply.body);
    if (pending->gzips)
        serve_reply_gzip(&reply);
    serve_answer(views->serve, pending->id, &reply);
    request_free(pending);
    pthread_mutex_lock(&views->lock);
    views->busy--;
    pthread_cond_broadcast(&views->less_busy);
    pthread_mutex_unlock(&views->lock);
}

/* On the core thread: as little as possible of it. */
static void start_job(struct view_request *pending)
{
    struct views *views = pending->views;
    pthread_mutex_lock(&views->lock);
    bool many = views->busy >= JOBS_MAX;
    views->busy += !many;
    pthread_mutex_unlock(&views->lock);
    if (many) {
        struct serve_reply reply = { 0 };
        serve_reply_error(&reply, 503, "others are being shown this page; try again");
        serve_answer(views->serve, pending->id, &reply);
        request_free(pending);
        return;
    }
    pending->gathered = pending->job->gather(core_engine(views->core));
    pending->writing = (struct worker_job){ .urgent = true, .run = write_job };
    workers_submit(&pending->writing);
}

/* On the core thread. */
static void answer(void *context)
{
    struct view_request *pending = context;
    struct views *views = pending->views;
    struct serve_reply reply = { 0 };
    struct timespec now;
    if (pending->job) {
        start_job(pending);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    serve_reply_header(&reply, "Content-Type", STR("application/json"));
    pending->write(core_engine(views->core), &pending->filter, (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec,
                   &reply.body);
    serve_answer(views->serve, pending->id, &reply);
    request_free(pending);
}

static int ask(struct view_request request)
{
    struct view_request *pending = xcalloc(1, sizeof(*pending));
    struct views *views = request.views;
    *pending = request;
    pthread_mutex_lock(&views->lock);
    idmap_put(&views->open, pending->id, pending);
    pthread_mutex_unlock(&views->lock);
    core_call(views->core, answer, pending);
    return -EINPROGRESS;
}

int views_ask_job(struct views *views, const struct serve_request *request, const struct view_job *job)
{
    return ask(
        (struct view_request){ .views = views, .job = job, .id = request->id, .gzips = request->takes_gzip });
}

void views_settle(struct views *views)
{
    if (!views)
        return;
    pthread_mutex_lock(&views->lock);
    while (views->busy)
        pthread_cond_wait(&views->less_busy, &views->lock);
    pthread_mutex_unlock(&views->lock);
}

int view_query_pod(struct str query, struct arena *arena, struct str *ret_namespace, struct str *ret_name)
{
    struct str text;
    if (!serve_query(query, "pod", arena, &text))
        return -ENOENT;
    ptrdiff_t slash = str_find(text, '/');
    if (slash <= 0 || slash + 1 == (ptrdiff_t)text.len)
        return -EINVAL;
    *ret_namespace = str_slice(text, 0, (size_t)slash);
    *ret_name = str_slice(text, (size_t)slash + 1, text.len);
    return 0;
}

/* Texts go to the arena. False: a parameter is invalid. */
static bool read_filter(struct str query, struct arena *arena, struct view_filter *ret)
{
    struct str text = { 0 };
    int64_t limit = LIMIT_DEFAULT;
    if (serve_query(query, "limit", arena, &text) &&
        (!str_to_int64(text, &limit) || limit < 1 || limit > LIMIT_MAX))
        return false;
    ret->limit = (size_t)limit;
    serve_query(query, "namespace", arena, &ret->namespace);
    serve_query(query, "queue", arena, &ret->queue);
    serve_query(query, "plugin", arena, &ret->plugin);
    return view_query_pod(query, arena, &ret->namespace, &ret->name) != -EINVAL;
}

int views_ask(struct views *views, const struct serve_request *request, struct serve_reply *reply,
              view_writer write)
{
    struct view_request pending = { .views = views, .write = write, .id = request->id };
    bool wrong = !read_filter(request->query, &pending.arena, &pending.filter);
    if (str_is(request->method, "GET") && !wrong)
        return ask(pending);
    serve_reply_error(reply, wrong ? 400 : 405,
                      wrong ? "limit is a number, pod is NAMESPACE/NAME" : "only GET");
    arena_release(&pending.arena);
    return 0;
}

int views_queue(void *views, const struct serve_request *request, struct serve_reply *reply)
{
    return views_ask(views, request, reply, views_write_queue);
}

/* ---- life ---- */

struct views *views_new(struct core *core)
{
    struct views *views = xcalloc(1, sizeof(*views));
    views->core = core;
    pthread_mutex_init(&views->lock, NULL);
    pthread_cond_init(&views->less_busy, NULL);
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
    map_for(&views->open, slot) {
        arena_release(&((struct view_request *)slot->value)->arena);
        free(slot->value);
    }
    idmap_release(&views->open);
    pthread_cond_destroy(&views->less_busy);
    pthread_mutex_destroy(&views->lock);
    free(views);
}
