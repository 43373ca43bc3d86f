/* engine.h: the loop: pop a pod, decide, place it, report.
 *
 * The engine is a state machine without I/O: pods come in through engine_add_pod(), decisions come out of
 * engine_step(). The same pods in the same order with the same seed give the same decisions, always.
 *
 * A decision may take one of three paths, which are exact and agree in everything, the random choice among equal
 * nodes included (decide.h):
 *     plain   every plugin asked about every node, as the specification reads
 *     scan    one pass over the columns of the model
 *     index   what is known about the pod's class, repaired where nodes changed
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/rng.h"
#include "framework/profile.h"
#include "framework/run.h"
#include "queue/queue.h"

#define DECISION_PATHS(X) X(PLAIN, "plain") X(SCAN, "scan") X(INDEX, "index")

enum decision_path {
#define X(name, text) PATH_##name,
    DECISION_PATHS(X)
#undef X
        PATH_COUNT
};

extern const char *const decision_path_names[PATH_COUNT];

struct engine_options {
    const struct scheduler_config *config;
    const struct registry *registry;
    uint64_t seed;
    struct opt_int32 percentage; /* overrides percentageOfNodesToScore of the configuration */
    enum decision_path
        slowest; /* PATH_INDEX: the fastest path that applies; PATH_PLAIN: nothing but the plain one */
};

/* What became of a pod. Texts and lists live until the next step. */
struct decision {
    struct pod_info *pod;
    uint32_t row;       /* where it goes, or ROW_NONE */
    struct str message; /* why it waits: the text of its PodScheduled condition */
    bool is_error;      /* a plugin failed: the text is of reason SchedulerError */
    uint32_t nominated_row;
    struct pod_info **victims; /* who must leave for it; the host removes them (engine_remove_pod) */
    uint32_t victims_len;
    uint32_t examined, feasible; /* nodes */
    int64_t total;               /* score of the chosen node, where nodes were compared */
    uint32_t ties;               /* how many nodes had that score */
    enum decision_path path;
    bool retry; /* it will be tried again at once */
};

struct engine_stats {
    uint64_t decisions[PATH_COUNT];
    uint64_t tables_built, rows_repaired, groups_seen;
};

struct engine {
    struct cluster *cluster;
    struct profile *profiles;
    uint32_t profiles_len;
    struct queue queue;
    struct rng rng;
    uint32_t next_start; /* rotating start of the search for feasible nodes */
    int32_t percentage;  /* percentageOfNodesToScore where a profile has none */
    enum decision_path slowest;
    struct arena arena; /* of the current cycle */
    struct engine_stats stats;
    struct class_cache *classes;
    const char *sort_plugin;
};

int engine_init(struct engine *engine, struct cluster *cluster, const struct engine_options *options,
                struct error *err);
void engine_release(struct engine *engine);

/* The profile that a pod's spec.schedulerName names, or NULL. */
const struct profile *engine_profile(const struct engine *engine, const struct pod *pod);
/* A pod that is known to the cluster and has no node waits for a decision. A gated one gets its reason in `ret_gate`
 * (code Success: it waits in the active queue). Pods of other schedulers are an error. */
int engine_add_pod(struct engine *engine, struct pod_info *pod, struct status *ret_gate, struct error *err);
/* A pod leaves the cluster: the node that it was on, or was nominated to, has more room, and whoever waits is tried
 * again. */
void engine_remove_pod(struct engine *engine, struct pod_info *pod);
/* Decides the next pod. False: nobody is left to be tried. */
bool engine_step(struct engine *engine, struct decision *ret);

#endif
