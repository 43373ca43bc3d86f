/* engine.h: the loop: pop a pod, decide, place it, report.
 *
 * The engine is a state machine without I/O. What happens in the cluster comes in (intake.h, or engine_add_pod() and
 * engine_remove_pod()) and wakes the pods that it may help; decisions come out of engine_step(). Time comes in as an
 * argument. The same events at the same times with the same seed give the same decisions, always.
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
    int64_t now_ns;              /* since 1970 */
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
    bool is_deleted;    /* the pod is being deleted: it was not decided and does not wait */
    uint64_t unschedulable_plugins, pending_plugins; /* who rejected it, by index in the profile */
    uint32_t nominated_row;
    /* Who must leave for it. The host asks them to, and then calls engine_preemption_done(); the pod is held back
     * until then. */
    struct pod_info **victims;
    uint32_t victims_len;
    uint32_t examined, feasible; /* nodes */
    int64_t total;               /* score of the chosen node, where nodes were compared */
    uint32_t ties;               /* how many nodes had that score */
    enum decision_path path;
    bool retry; /* it has a nomination, and is tried again when its victims have left */
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
/* The number of that profile; engine->profiles_len: none. */
uint32_t engine_profile_number(const struct engine *engine, const struct pod *pod);

/* A pod that is known to the cluster and has no node waits for a decision. A gated one gets its reason in `ret_gate`
 * (code Success: it waits in the active queue); its texts stay until the next call. Pods of other schedulers are an
 * error. */
int engine_add_pod(struct engine *engine, struct pod_info *pod, int64_t now_ns, struct status *ret_gate,
                   struct error *err);
/* A pod leaves the cluster. The node that it was on, or was nominated to, has more room: whoever that may help is tried
 * again. */
void engine_remove_pod(struct engine *engine, struct pod_info *pod, int64_t now_ns);
/* A pod that was placed here has its node for good: others may have waited for it. */
void engine_pod_bound(struct engine *engine, struct pod_info *pod, int64_t now_ns);
/* All victims of the pod's decision but this one were asked to leave: the pod is free as soon as it goes. */
void engine_preemption_last(struct engine *engine, const struct pod_info *pod, const struct pod_info *victim);
/* All were asked, or that failed: then the pod is tried again at once. */
void engine_preemption_done(struct engine *engine, struct pod_info *pod, bool failed, int64_t now_ns);
/* Something happened that the engine was not told in another way. */
void engine_event(struct engine *engine, const struct cluster_event *event, int64_t now_ns);
/* Decides the next pod. False: nobody is to be tried now; queue_next_due(&engine->queue) tells when time alone may
 * change that. */
bool engine_step(struct engine *engine, int64_t now_ns, struct decision *ret);

#endif
