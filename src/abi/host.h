/* host.h: the functions that loaded plugins call: struct berth_host of the public header, filled in.
 *
 * Types of the public header are those of berth by another name; host.c holds their layouts equal. */
#ifndef ABI_HOST_H
#define ABI_HOST_H

/* Types that the public header does not define are ours. */
#define BERTH_HOST_SIDE
#define berth_cycle cycle
#define berth_cluster cluster
#define berth_pod pod
#define berth_pod_info pod_info
#define berth_diagnosis diagnosis
#define berth_hint hint_context
#define berth_event cluster_event
#define berth_arena arena
#define berth_metric metric
#include <berth/plugin.h>

#include "base/metrics.h"
#include "framework/profile.h"

/* A plugin in a profile, for its own threads; lives in the profile's arena. */
struct berth_handle {
    struct mailbox *mailbox;
    const struct plugin *plugin;
};

extern const struct berth_host host_table;

/* host_read.c: what an object says at a path such as spec.containers[0].image or metadata.labels[app]. */
struct berth_value host_read(const char *kind, const void *object, const char *path);
/* The number of a kind by its name; KIND_UNKNOWN: none. */
enum api_kind host_kind(const char *kind);

/* host_metrics.c: metrics of plugins, each family at first use. From any thread. What cannot be is NULL, with one
 * warning in the log. */
struct metric *host_metric(const struct berth_metric_info *info, const struct berth_str *labels);
void host_metric_add(struct metric *metric, double value);
void host_metric_set(struct metric *metric, double value);
void host_metric_observe(struct metric *metric, double value);
/* The families beside which those of plugins are shown: their names are taken. Before any plugin is made. */
void host_metrics_reserve(const struct metric_info *infos, size_t len);
/* From now on the init() of this plugin runs on this thread, which is for warnings; NULL: none does. */
void host_metrics_for(const struct plugin *plugin);
/* All of them, as metrics_write() does it but for OpenMetrics' mark of the end: for /metrics, beside berth's own. */
void host_metrics_write(struct strbuf *out);

#endif
