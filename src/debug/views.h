/* views.h: what the core thread knows, for authorized clients. As every page but health, a view needs the right to get
 * its path.
 *
 *     server's thread: request ──core_call()──▶ core thread, between two decisions: text ──serve_answer()──▶ client
 *
 * GET /debug/berth/queue: {"time":..., "counts":{"active":1,...}, "pods":[{"namespace","name","scheduler","queue",
 * "seconds","attempts", "rejectedBy":[...], "gate", "message", "wakes":[...]}, ...], "left":0}; times are RFC 3339 and
 * ages are seconds. ?limit=N (1000) says how many pods; ?pod=NAMESPACE/NAME shows one, ?namespace, ?queue and ?plugin
 * those of a namespace, in a queue, or that a plugin rejected. `counts` are of all of them.
 *
 * GET /debug/berth/explain (explain_view.h) costs the core thread as much as one decision on the plain path and the
 * writing of the answer, some milliseconds at thousands of nodes. So one request is answered at a time, and then the
 * core only decides for four times as long: requests take a fifth of its time at most. 429: too many requests wait.
 * GET /debug/berth/nodes (nodes.h) takes its turn among them. */
#ifndef DEBUG_VIEWS_H
#define DEBUG_VIEWS_H

#include "codec/json_writer.h"
#include "debug/explain_view.h"
#include "live/core.h"
#include "serve/serve.h"

#define VIEW_QUEUE_PATH "/debug/berth/queue"

struct views;

/* Of the source, the engine is that of the core. */
struct views *views_new(struct core *core, const struct explain_source *source);
/* After the server and the core have ended. */
void views_free(struct views *views);
/* Where answers go; before the core runs. */
void views_serve(struct views *views, struct serve *serve);

/* Which pods are shown; an empty text is no condition. */
struct view_filter {
    struct str namespace, name;
    struct str queue;       /* as in the answer; of a pod that is being bound, the stage */
    struct str plugin;      /* that rejected the pod, or holds it back, or that it waits for */
    struct str node, label; /* of the page of nodes: the only one; the key of the label that is shown */
    uint32_t limit;
};

bool view_filter_names(const struct view_filter *filter, const struct meta *meta);

/* Writes a view as JSON; on the core thread, between two decisions. */
typedef void (*view_writer)(const struct engine *engine, const struct view_filter *filter, int64_t now_ns,
                            struct strbuf *out);
/* Has the filter that is in the request answered by the writer. */
int views_request(struct views *views, const struct serve_request *request, struct serve_reply *reply,
                  view_writer write);

void view_put_time(struct json_writer *json, const char *key, int64_t ns);
/* To the millisecond; a negative time is 0. */
void view_put_seconds(struct json_writer *json, const char *key, int64_t ns);

/* For a large page: what it needs is gathered on the core thread, and written on a thread of its own, which frees what
 * was gathered. */
struct view_job {
    const char *type; /* of the content; NULL: as the path has it */
    bool any_method;  /* and no parameters: the page is kube-scheduler's */
    bool takes_turns; /* with explanations: the core only decides for a while after the gathering */
    void *(*gather)(const struct engine *engine, const struct view_filter *filter, int64_t now_ns);
    void (*write)(void *gathered, struct strbuf *out);
};
int views_request_job(struct views *views, const struct serve_request *request, struct serve_reply *reply,
                      const struct view_job *job);
/* Waits for such threads. After the core has ended, before the server does. May be NULL. */
void views_settle(struct views *views);

/* For serve_options, with the views as user. */
int views_queue(void *views, const struct serve_request *request, struct serve_reply *reply);
int views_explain(void *views, const struct serve_request *request, struct serve_reply *reply);
/* On the core thread: answers a request that takes turns if it is time. Returns when to call again though nothing
 * else happens; INT64_MAX: no request waits. */
int64_t views_round(struct views *views, int64_t now_ns);

struct wake {
    struct str plugin, event;
};
typedef VEC(struct wake) wake_vec;

/* For other views: a pod of the queue as an object, and the events that a plugin of the mask which rejected it has
 * rules for. */
void views_put_entry(struct json_writer *json, const struct engine *engine, const struct queued_pod *entry,
                     bool wakes, int64_t now_ns);
/* By plugin; the caller releases it. */
wake_vec views_wakes(const struct profile *profile, const struct release *release, uint64_t mask,
                     struct arena *arena);

/* The same without a server: a view_writer. */
void views_write_queue(const struct engine *engine, const struct view_filter *filter, int64_t now_ns,
                       struct strbuf *out);

#endif
