/* setting.h: clusters and pods to measure with, after the shapes of kube-scheduler's own scheduler_perf. */
#ifndef BENCH_SETTING_H
#define BENCH_SETTING_H

#include "cluster/cluster.h"

/* Decisions per second of the reference: kube-scheduler v1.36.4 in process, without an API server, parallelism 16 on
 * 2 cores, all of 5,000 nodes scored (percentageOfNodesToScore 100), 1,000 pods of this kind. 0: not measured. */
enum { REFERENCE_NODES = 5000 };
enum { SAMPLED_SECONDS = 1000 }; /* since 1970 */

struct setting {
    const char *name;
    const char *doc;
    double reference;
    const char *const *kinds; /* of its pods, in turn; ends with NULL */
    uint32_t zones;           /* 0: nodes have no zone label */
    const char *zone_prefix;
    bool tainted;       /* some nodes have taints */
    bool fully_running; /* as many running pods as nodes; otherwise a fifth */
    bool claims;        /* each pod has a claim with a bound CSI volume; nodes have a volume limit */
    bool samples;       /* the use of nodes is measured, at SAMPLED_SECONDS */
    uint32_t pods_max;  /* at most nodes / pods_max pods in a round; 0: no limit */
};

extern const struct setting plugin_setting; /* for rows of plugins */
extern const struct setting settings[];
extern const uint32_t settings_len;

/* The cluster and the pods of a workload. */
struct bench_cluster {
    const struct setting *setting;
    struct cluster cluster;
    struct arena arena;      /* nodes, templates, running pods */
    struct arena pods_arena; /* pods of the current round */
    struct pod **templates;  /* by kind of the workload */
    struct pod **running_templates;
    uint32_t kinds;
    uint32_t nodes;
    uint64_t pods; /* created so far */
};

void bench_cluster_init(struct bench_cluster *input, const struct setting *setting, uint32_t nodes);
void bench_cluster_release(struct bench_cluster *input);
/* Another object, as YAML or JSON. */
void bench_set_object(struct bench_cluster *input, const char *text);
/* A pending pod, in the arena. `different`: it has its own requests and label, and so its own class. */
struct pod *bench_pod(struct bench_cluster *input, struct arena *arena, uint32_t number, bool different);

#endif
