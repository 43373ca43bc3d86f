/* views.h: the queue of the running scheduler, for authorized clients: GET /debug/berth/queue.
 *
 *     server's thread: question ──core_call()──▶ core thread, between two decisions: JSON ──serve_answer()──▶ client
 *
 * {"time":..., "counts":{"active":1,...}, "pods":[{"namespace","name","scheduler","queue","seconds","attempts",
 * "rejectedBy":[...], "gate", "message", "wakes":[...]}, ...], "left":0}; times are RFC 3339 and ages are seconds.
 * ?limit=N (1000) says how many pods; ?pod=NAMESPACE/NAME asks for one, ?namespace, ?queue and ?plugin for those of a
 * namespace, in a queue, or that a plugin rejected. `counts` are of all of them. As every page but health it needs the
 * right to get its path. */
#ifndef DEBUG_VIEWS_H
#define DEBUG_VIEWS_H

#include "codec/json_writer.h"
#include "live/core.h"
#include "serve/serve.h"

#define VIEW_QUEUE_PATH "/debug/berth/queue"

struct views;

struct views *views_new(struct core *core);
/* After the server and the core have ended. */
void views_free(struct views *views);
/* Where answers go; before the core runs. */
void views_serve(struct views *views, struct serve *serve);

/* Which pods are asked about; an empty text is no condition. */
struct view_filter {
    struct str namespace, name;
    struct str queue;  /* as in the answer; of a pod that is being bound, the stage */
    struct str plugin; /* that rejected the pod, or holds it back, or that it waits for */
    size_t limit;
};

bool view_filter_names(const struct view_filter *filter, const struct meta *meta);
/* The parameter pod=NAMESPACE/NAME. -ENOENT: it is not there, -EINVAL: it is something else. */
int view_query_pod(struct str query, struct arena *arena, struct str *ret_namespace, struct str *ret_name);

/* Writes a view as JSON; on the core thread, between two decisions. */
typedef void (*view_writer)(const struct engine *engine, const struct view_filter *filter, int64_t now_ns,
                            struct strbuf *out);
/* Has the filter that is in the request answered by the writer. */
int views_ask(struct views *views, const struct serve_request *request, struct serve_reply *reply,
              view_writer write);

void view_put_time(struct json_writer *json, const char *key, int64_t ns);
/* To the millisecond; a negative time is 0. */
void view_put_seconds(struct json_writer *json, const char *key, int64_t ns);

/* For a large page that is no JSON and has no parameters: what it needs is gathered on the core thread, and written on
 * a thread of its own, which frees what was gathered. The job sets the content type. */
struct view_job {
    void *(*gather)(const struct engine *engine);
    void (*write)(void *gathered, struct strbuf *out);
};
int views_ask_job(struct views *views, const struct serve_request *request, const struct view_job *job);
/* Waits for such threads. After the core has ended, before the server does. May be NULL. */
void views_settle(struct views *views);

/* For serve_options, with the views as user. */
int views_queue(void *views, const struct serve_request *request, struct serve_reply *reply);

/* For other views: a pod of the queue as an object, and the events that a plugin of the mask which rejected it has
 * rules for. */
void views_put_entry(struct json_writer *json, const struct engine *engine, const struct queued_pod *entry,
                     bool wakes, int64_t now_ns);
void views_each_wake(const struct profile *profile, uint64_t mask,
                     void (*visit)(void *context, const char *plugin, struct str event), void *context);

/* The same without a server: a view_writer. */
void views_write_queue(const struct engine *engine, const struct view_filter *filter, int64_t now_ns,
                       struct strbuf *out);

#endif
