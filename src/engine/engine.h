/* engine.h: the loop: pop a pod, decide, place it, report.
 *
 *     inputs.h ──▶ cluster, queue ──▶ engine_step(): decision ──▶ binding.h ──▶ effects ──▶ host
 *                                                                    ▲                       │
 *                                                                    └── engine_answer() ◀───┘
 *
 * The engine is a state machine without I/O. What happens in the cluster comes in (inputs.h) and wakes the pods that it
 * may help; decisions come out of engine_step(), and what they need done goes to the host as effects, whose answers
 * come back. Without a host everything is done at once. Time comes in as an argument.
 *
 * A decision may take one of three paths, which are exact and agree in everything, the random choice among equal
 * nodes included (decide.h):
 *     plain   every plugin is called for every node, as the specification reads
 *     scan    one pass over the columns of the model
 *     index   what is known about the pod's class, repaired where nodes changed
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/heap.h"
#include "base/rng.h"
#include "engine/alarms.h"
#include "engine/inputs.h"
#include "engine/pod_status.h"
#include "engine/ranking.h"
#include "engine/writes.h"
#include "framework/profile.h"
#include "framework/run.h"
#include "policy/policies.h"
#include "queue/queue.h"

#define DECISION_PATHS(X) X(PLAIN, "plain") X(SCAN, "scan") X(INDEX, "index")

enum decision_path {
#define X(name, text) PATH_##name,
    DECISION_PATHS(X)
#undef X
        PATH_COUNT
};

extern const char *const decision_path_names[PATH_COUNT];

/* What happened to a pod after its decision, for logs and metrics. Everything lives for the time of the call. */
enum notice_kind { NOTICE_BOUND, NOTICE_BINDING_FAILED };

struct notice {
    enum notice_kind kind;
    const struct pod *pod;
    const struct profile *profile;
    struct str node, message;
    bool rejected; /* NOTICE_BINDING_FAILED: by a plugin, not by an error */
    const struct queued_pod *entry;
    const struct decision *decision; /* its figures */
    int64_t took_ns, now_ns;         /* since the decision; since 1970 */
};

/* What came of policies that were set. Everything lives for the time of the call. */
#define POLICY_RESULTS(X) X(APPLIED, "applied") X(UNCHANGED, "unchanged") X(REFUSED, "refused")
enum policy_result {
#define X(name, text) POLICIES_##name,
    POLICY_RESULTS(X)
#undef X
        POLICY_RESULT_COUNT
};

struct policy_news {
    enum policy_result result;
    const struct config_map *map; /* that they came from; NULL: it is gone */
    const struct policy_set *set; /* in effect now; NULL: none */
    const struct error *error;    /* why they were refused */
    uint32_t pods;                /* that are decided otherwise now */
};

/* Carries out the engine's effects. */
struct engine_host {
    effect_emit emit; /* NULL: everything counts as done at once, and the caller evicts victims */
    void (*notice)(void *context, const struct notice *notice); /* may be NULL */
    /* From any thread: a plugin has posted a message, which engine_tick() reads. May be NULL. */
    void (*wake)(void *context);
    /* A plugin's message, just before it takes effect. May be NULL. */
    void (*on_plugin_message)(void *context, const struct plugin_message *message, int64_t now_ns);
    /* Blocking work of a plugin: the host supplies its result, with work_conclude(). NULL: threads do it. */
    void (*takes_work)(void *context, struct cycle_work *work);
    /* A pod is about to be decided: to look at the model as it is. May be NULL. */
    void (*deciding)(void *context, const struct profile *profile, struct pod_info *pod, int64_t now_ns);
    bool replays; /* mailboxes are not read: engine_plugin_message() says what was in them */
    /* May be NULL. */
    void (*on_policies)(void *context, const struct policy_news *news);
    /* Nothing of a setup is used any more (struct engine_setup). May be NULL. */
    void (*retired)(void *context, void *owner);
    void *context;
    uint32_t bindings_max; /* no pod is decided while so many bindings wait for their answer; 0: 1024 */
};

/* A configuration. What is in it stays until engine_host.retired() gives back the owner. */
struct engine_setup {
    const struct scheduler_config *config;
    const struct registry *registry;
    const struct extenders *extenders; /* NULL: none */
    void *owner;                       /* the caller's; NULL: retired() is not called */
};

struct engine_options {
    const struct scheduler_config *config; /* these two, extenders and owner: as in struct engine_setup */
    const struct registry *registry;
    uint64_t seed;
    int64_t now_ns;              /* since 1970 */
    struct opt_int32 percentage; /* overrides percentageOfNodesToScore of the configuration */
    enum decision_path
        slowest; /* PATH_INDEX: the fastest path that applies; PATH_PLAIN: only the plain one */
    const struct extenders *extenders;
    void *owner;
    int64_t unschedulable_max_ns; /* then a pod is tried again though nothing helped; 0: five minutes */
    size_t tables_bytes_max;      /* of the tables of classes of pods; 0: 64 MiB */
    uint64_t last_ticket;         /* of an engine before this one with the same host */
    bool ranks;                   /* decisions come with a ranking of the nodes */
    bool announces;               /* announce.h: other schedulers share the nodes */
    struct policies *policies;    /* the caller's, of the cluster; NULL: those of ConfigMaps that are set */
    struct engine_host host;
};

/* What became of a pod. Texts and lists live until the next step. */
struct decision {
    struct pod_info *pod;
    const struct profile *profile;
    uint32_t row;         /* where it goes, or ROW_NONE. With a host it is on its way there */
    struct str message;   /* why it has no node: the text of its PodScheduled condition */
    bool is_error;        /* a plugin failed: the text is of reason SchedulerError */
    struct str failed_by; /* "plugin NodeName", "extender http://..."; empty: no error, or of neither */
    bool resize_fits;     /* likewise, but nothing is wrong: the kubelet is to resize the pod */
    bool is_deleted;      /* the pod is being deleted: it was not decided and does not wait */
    uint64_t unschedulable_plugins, pending_plugins; /* that rejected it, by index in the profile */
    const struct diagnosis *diagnosis; /* where no node was feasible: why, node by node; else NULL */
    uint32_t nominated_row;
    enum nomination nomination; /* what becomes of its nomination, where it has no node */
    /* Pods that must leave for it. With a host they are evicted. Without one the caller removes them, and calls
     * engine_preemption_done(); the pod is held until then. */
    struct pod_info **victims;
    uint32_t victims_len;
    uint32_t victims_named;        /* likewise; an extender may have named one twice */
    uint32_t examined, feasible;   /* nodes */
    int64_t total;                 /* score of the chosen node, where nodes were compared */
    uint32_t ties;                 /* how many nodes had that score */
    const struct ranking *ranking; /* the best nodes; NULL: none were compared, or no ranking is wanted */
    enum decision_path path;
    bool preemption_tried;        /* DefaultPreemption was called */
    struct str post_filter_error; /* why PostFilter failed, where it did */
    bool retry;                   /* it has a nomination, and is tried again when its victims have left */
    uint64_t refusal; /* decisions with the same number have the same reasons, word by word; 0: none */
    uint32_t attempt; /* of the pod, from 1 */
    enum event_label woken_by; /* why it was tried now */
};

struct engine_stats {
    uint64_t decisions[PATH_COUNT];
    uint64_t tables_built, rows_repaired, groups_seen;
    uint64_t windows;           /* decisions that read a part of the order: window.h */
    uint64_t refusals_repeated; /* decisions without a search: refusal.h */
    uint64_t rows_remembered;   /* rows that were not tried again: framework/row_memo.h */
    uint64_t bindings_called;   /* because a time has come or an object has changed */
};

/* A pod whose victims are being deleted within its decision (without SchedulerAsyncPreemption): no other pod is decided
 * meanwhile, and what the decision points to stays. */
struct open_decision {
    struct queued_pod *entry; /* NULL: there is none */
    struct decision decision; /* its pod is referenced, its nominated row is held */
    uint32_t promised;        /* where the pod was nominated to before */
    uint32_t nodes;           /* of the cluster, when it was decided */
};

struct pod_binding;
struct eviction;
enum { ENGINE_BINDING_STAGES = 4 };

/* Profiles that came together; generations.h. */
struct generation {
    struct profile *profiles;
    uint32_t len;
    void *owner;
};

struct engine {
    struct cluster *cluster;
    struct profile *profiles; /* of the present generation */
    uint32_t profiles_len;
    struct generation now;
    struct engine_setup setup;               /* that it is made of */
    VEC(struct generation) retired;          /* that pods being bound still need */
    int64_t retired_look_ns;                 /* when to look at them again */
    struct policies *policies, own_policies; /* policy_change.h; NULL: there were never any */
    struct {
        bool all;                 /* any pod may have another policy than it was derived by */
        struct strmap namespaces; /* or the pods of these */
        bool skipped;             /* pods that are being bound may */
    } stale;
    struct queue queue;
    struct alarms alarms;
    VEC(struct plugin_instance *) tickers; /* plugins with a timer: plugin_ticks.h */
    struct rng rng;
    uint32_t next_start; /* rotating start of the search for feasible nodes */
    int32_t percentage;  /* percentageOfNodesToScore where a profile has none */
    struct opt_int32 percentage_override;
    enum decision_path slowest;
    struct arena arena;          /* of the current cycle */
    struct diagnosis *diagnosis; /* of the last decision, in the arena */
    struct engine_stats stats;
    uint64_t refusals;         /* number of the last one */
    int64_t evictions_from_ns; /* no pod is evicted before: eviction.h */
    bool evictions_postponed;  /* pods wait for that time */
    struct open_decision open;
    struct ranking *ranking; /* of the last decision; NULL: not wanted */
    struct class_cache *classes;
    size_t tables_bytes_max;
    const struct probe *probe; /* account.h; NULL: none */

    /* after the decision */
    struct engine_host host;
    struct writes writes;
    struct cycle_writer unanswered; /* of plugins before there is a binding: answers are ignored */
    struct pod_statuses statuses;
    struct strmap bindings;             /* pod_key() to struct pod_binding */
    struct heap due;                    /* those that wait for a time, the first in order on top */
    VEC(struct pod_binding *) watching; /* those that wait for changes of objects */
    struct strmap permit_lists;         /* name of a Permit plugin to the pods that wait for it */
    uint64_t bindings_begun;
    bool announces, is_listing_pods; /* announce.h */
    VEC(struct pod_binding *) looks; /* those whose room is to be judged */
    VEC(struct pod_binding *) ended; /* to be freed */
    bool
        is_stuck; /* after engine_release(): a plugin's work does not end, and its pod and profile must stay */
    VEC(struct eviction *) evictions;
    uint32_t bindings_at[ENGINE_BINDING_STAGES];
    uint64_t watched_version;             /* of the objects, when those that watch were called */
    struct mailbox_reader mailbox_reader; /* of the profiles' mailboxes */
    struct mailbox replayed;              /* where the host replays */
};

int engine_init(struct engine *engine, struct cluster *cluster, const struct engine_options *options,
                struct error *err);
void engine_release(struct engine *engine);

/* The owner of the present setup is the caller's again: retired() is not called for it. */
void *engine_take_owner(struct engine *engine);

/* The profile that decides the pod, or NULL. */
const struct profile *engine_profile(const struct engine *engine, const struct pod *pod);
/* The number of that profile; engine->profiles_len: none. */
uint32_t engine_profile_number(const struct engine *engine, const struct pod *pod);

/* A pod does not hold resources of a node any more: pods that wait for them are tried again. `only` may be NULL. */
void engine_pod_left(struct engine *engine, const struct pod_info *pod, const struct queue_filter *only,
                     int64_t now_ns);
/* The pod is not nominated any more: pods of no higher priority may have what was promised to it. This does not wait
 * for the update of the pod, which may never come: the write may be refused, or the nomination was never seen. */
void engine_nomination_over(struct engine *engine, const struct pod_info *pod, int64_t now_ns);
/* The victims of the open decision are settled, or one of them is not: then the error says why. */
void engine_victims_settled(struct engine *engine, struct str error, int64_t now_ns);
/* When engine_tick() or engine_step() has something to do although nothing happens; INT64_MAX: never. */
int64_t engine_next_due(const struct engine *engine);
/* How many pods are decided and not bound yet. */
size_t engine_bindings(const struct engine *engine);

#endif
