/* host.h: the functions that loaded plugins call: struct berth_host of the public header, filled in.
 *
 * Pointers to the header's opaque types point to our own structs. Functions on both sides have the header's types
 * to the letter, and only pointers to data are converted: a function is never called by another type than its own. */
#ifndef ABI_HOST_H
#define ABI_HOST_H

#define BERTH_HOST_SIDE
#include <berth/plugin.h>

#include "base/metrics.h"
#include "framework/observation.h"

/* A plugin in a profile, for its own threads; lives in the profile's arena. */
struct berth_handle {
    struct mailbox *mailbox;
    const struct plugin *plugin;
    const struct profile *profile;
    struct plugin_wishes *wishes; /* NULL: init() is over */
};

/* What instance->self of a loaded plugin points to; in the profile's arena, too. */
struct loaded_self {
    const struct loaded_plugin *plugin;
    void *outer; /* set by the plugin's init() */
};

/* in_X() from the header's type to ours, out_X() back. What the header has as const, plugins do not change. */
#define HOST_TYPES(X) \
    X(cycle, cycle) \
    X(cluster, cluster) \
    X(pod, pod) \
    X(pod_info, pod_info) \
    X(diagnosis, diagnosis) \
    X(hint, hint_context) \
    X(event, cluster_event) \
    X(observation, observation) \
    X(arena, arena) \
    X(metric, metric)

struct diagnosis;
#define X(outer, inner) \
    static inline struct inner *in_##outer(const struct berth_##outer *from) \
    { \
        return (struct inner *)from; \
    } \
    static inline struct berth_##outer *out_##outer(const struct inner *from) \
    { \
        return (struct berth_##outer *)from; \
    }
HOST_TYPES(X)
#undef X

static inline struct berth_str out_str(struct str text)
{
    return (struct berth_str){ text.ptr, text.len };
}

static inline struct str in_str(struct berth_str text)
{
    return (struct str){ text.ptr, text.ptr ? text.len : 0 };
}

/* A copy in one piece, as the caller has written it: a processor waits where it reads at once what was written in
 * parts, and a view is passed on for each node. */
static inline struct berth_node_view out_view(struct node_view view)
{
    struct berth_node_view copy;
    memcpy(&copy, &view, sizeof(copy));
    return copy;
}

extern const struct berth_host host_table;

/* May this thread look at the cluster? One that is at PreBind or Bind may not, with whatever it kept from before. It is
 * said once in the log, and not for each pod. */
bool host_may_look(const void *cluster, const char *function);
/* A plugin may name a node that is not there: berth_node_row() of a name that it made up, or of one that went. */
bool host_node_exists(struct berth_node_view view, const char *function);

/* host_samples.c: times and measured use. */
int64_t host_cycle_now(const struct berth_cycle *cycle);
void host_retry_at(struct berth_cycle *cycle, int64_t at);
int64_t host_info_placed_at(const struct berth_pod_info *pod);
int64_t host_node_sampled_at(struct berth_node_view node);
int64_t host_node_sample_window(struct berth_node_view node);
double host_node_sample(struct berth_node_view node, uint32_t resource, enum berth_statistic statistic);
double host_pod_sample(const struct berth_cluster *cluster, const struct berth_pod_info *pod,
                       uint32_t resource);

/* host_weights.c: weights of scores, and what became of pods. */
bool host_enabled_at(const struct berth_handle *handle, const char *point);
uint32_t host_scorer(const struct berth_handle *handle, const char *name);
int32_t host_scorer_weight(const struct berth_handle *handle, uint32_t scorer);
bool host_set_weight(struct berth_cycle *cycle, uint32_t scorer, int32_t weight, struct berth_str reason);
enum berth_observed host_observed_kind(const struct berth_observation *what);
const struct berth_pod_info *host_observed_pod(const struct berth_observation *what);
const struct berth_cluster *host_observed_cluster(const struct berth_observation *what);
int64_t host_observed_at(const struct berth_observation *what);
int64_t host_observed_wait(const struct berth_observation *what);
bool host_observed_alone(const struct berth_observation *what);

/* Node names as PreFilter's result has them: copies, in order, each once. */
struct node_names host_names(const struct berth_str *items, uint32_t len, struct arena *arena);

/* host_read.c: what an object says at a path such as spec.containers[0].image or metadata.labels[app]. */
struct berth_value host_read(const char *kind, const void *object, const char *path);
/* The number of a kind by its name; KIND_UNKNOWN: none. */
enum api_kind host_kind(const char *kind);
struct berth_str host_object_kind(const void *object);
struct berth_str host_read_key(const char *kind, const void *object, const char *path, uint32_t index);
bool host_read_double(const char *kind, const void *object, const char *path, double *ret);

/* host_objects.c: objects of any kind, and what a plugin asks for in init(). */
/* False, and one warning in the log: nothing of the kind is fetched. */
bool host_kind_is_known(const struct cluster *cluster, enum api_kind number, const char *kind);
const void *host_get(const struct berth_cluster *cluster, const char *kind, struct berth_str namespace,
                     struct berth_str name);
void host_each(const struct berth_cluster *cluster, const char *kind,
               bool (*visit)(void *context, const void *object), void *context);
uint64_t host_kind_version(const struct berth_cluster *cluster, const char *kind);
bool host_watch_only(const struct berth_handle *handle, const char *kind, struct berth_str namespace,
                     struct berth_str name);
void host_tick_every(const struct berth_handle *handle, int64_t interval);
void host_sample_every(const struct berth_handle *handle, int64_t interval);
void host_event(const struct berth_handle *handle, const void *object, const char *type, const char *reason,
                const char *action, struct berth_str note);

/* host_metrics.c: metrics of plugins, each family at first use. From any thread. What cannot be is NULL, with one
 * warning in the log. */
struct berth_metric *host_metric(const struct berth_metric_info *info, const struct berth_str *labels);
void host_metric_add(struct berth_metric *metric, double value);
void host_metric_set(struct berth_metric *metric, double value);
void host_metric_observe(struct berth_metric *metric, double value);
/* The families beside which those of plugins are shown: their names are taken. Before any plugin is made. */
void host_metrics_reserve(const struct metric_info *infos, size_t len);
/* From now on the init() of this plugin runs on this thread, which is for warnings; NULL: none does. */
void host_metrics_for(const struct plugin *plugin);
/* All of them, as metrics_write() does it but for OpenMetrics' mark of the end: for /metrics, beside berth's own. */
void host_metrics_write(struct strbuf *out);

#endif
