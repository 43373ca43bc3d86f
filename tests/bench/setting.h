/* setting.h: clusters and pods to measure with, after the shapes of kube-scheduler's own scheduler_perf. */
#ifndef BENCH_SETTING_H
#define BENCH_SETTING_H

#include "cluster/cluster.h"

/* What the reference decides per second: kube-scheduler v1.36.4 in process, without an API server, parallelism 16 on
 * 2 cores, all of 5,000 nodes scored (percentageOfNodesToScore 100), 1,000 pods of this kind. 0: not measured. */
enum { REFERENCE_NODES = 5000 };

struct setting {
    const char *name;
    const char *doc;
    double reference;
    const char *const *kinds; /* of its pods, one after another; ends with NULL */
    uint32_t zones;           /* 0: nodes have no zone label */
    const char *zone_prefix;
    bool tainted;       /* some nodes have taints */
    bool fully_running; /* as many running pods as nodes; otherwise a fifth */
    bool claims;        /* pods have a claim of their own, with a bound CSI volume; nodes limit how many */
    uint32_t pods_max;  /* at most nodes / pods_max pods in a round; 0: as many as asked for */
};

extern const struct setting settings[];
extern const uint32_t settings_len;

/* Everything that a workload needs in memory. */
struct bench_world {
    const struct setting *setting;
    struct cluster cluster;
    struct arena arena;      /* nodes, templates, running pods */
    struct arena pods_arena; /* pods of the present round */
    struct pod **templates;  /* by kind of the workload */
    struct pod **running_templates;
    uint32_t kinds;
    uint32_t nodes;
    uint64_t pods; /* made so far */
};

void bench_world_init(struct bench_world *input, const struct setting *setting, uint32_t nodes);
void bench_world_release(struct bench_world *input);
/* A pending pod, in the arena. `different`: it has requests and a label of its own, and a class of its own by that. */
struct pod *bench_pod(struct bench_world *input, struct arena *arena, uint32_t number, bool different);

#endif
