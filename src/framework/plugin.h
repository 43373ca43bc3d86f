/* plugin.h: what a scheduling plugin is.
 *
 * A plugin is one const descriptor, listed once in plugins/plugins.def. A NULL slot means that it does not take part
 * in that extension point. Every callback gets the cycle; cycle_self() is what the plugin's init() made of its
 * arguments, cycle_state() is its own slot for this cycle.
 *
 * Callbacks answer about one node at a time, as the specification reads. A plugin whose answer depends on one column
 * of the node states it as a rule (framework/rule.h), from which the callbacks and the answers for many rows at once
 * follow. Another built-in plugin may have `rows` (index/table.h), held equal to its callbacks by a property test. */
#ifndef FRAMEWORK_PLUGIN_H
#define FRAMEWORK_PLUGIN_H

#include "base/error.h"
#include "cluster/cluster.h"
#include "config/points.h"
#include "framework/effects.h"
#include "framework/events.h"
#include "framework/status.h"

enum { SCORE_MAX = 100, PLUGINS_MAX = 64 };

struct profile;
struct plugin_args;
struct plugin_args_kind;
struct cycle;
struct cycle_work;
struct diagnosis;
struct node_rule;
struct topology_rule;
struct row_forms;
struct probe;
struct score_weights;
struct observation;
struct shortfall_list;

/* A set of node names, sorted; `all` means every node. */
struct node_names {
    bool all;
    struct str *items;
    uint32_t len;
};

struct row_list {
    const uint32_t *items;
    uint32_t len;
};

/* What PostFilter found: a node to nominate (ROW_NONE: none) and the pods that must leave it. */
struct post_filter_result {
    uint32_t nominated_row;
    bool clear_nomination;
    struct pod_info **victims; /* arena-owned */
    uint32_t victims_len;
    uint32_t victims_named; /* set by run_post_filter(): their number before repeated ones were removed */
};

/* What a plugin asked for in init(). */
struct plugin_wishes {
    uint64_t kinds;        /* as in struct plugin, in addition */
    uint64_t narrowed;     /* of those in struct plugin: not all of their objects */
    int64_t tick_every_ns; /* 0: never */
    int64_t tick_due_ns;   /* the engine's: 0: not known yet */
    int64_t
        sample_every_ns; /* how often samples and queries are fetched; 0: as the scheduler does by default */
};

struct plugin_env {
    const struct plugin *plugin;
    struct cluster *cluster;
    struct arena *arena;                    /* lives as long as the profile */
    const void *args;                       /* the decoded arguments, of the plugin's own struct, or NULL */
    const struct plugin_args *written_args; /* as the configuration has them, or NULL */
    struct profile *profile;
    struct plugin_wishes *wishes;
};

struct plugin {
    const char *name;
    const char *doc;
    /* Extension points (POINT_BIT) at which the reference's plugin of this name takes part and this one has nothing to
     * do: a configuration may name it there. */
    uint32_t silent_points;
    /* Of its points, silent or not, those that the reference's plugin has only from a release on. */
    struct newer_points newer_points;
    /* What the reference's plugin of this name came with. */
    enum behaviour since;
    /* Of its points, those at which it fails for every pod unless its PreFilter, or its PreScore, was called. */
    uint32_t needs_pre_filter, needs_pre_score;
    /* It is not called for a pod whose resize is deferred (pod_info.resize_deferred): that has its node already. */
    bool ignores_resizes;
    /* Its Filter looks at nothing but what pods take of a node, and its PreFilter at the pod alone: they may be called
     * again for a pod that has its place. */
    bool judges_room;

    /* How its arguments are decoded, checked and written (config/plugin_args.h). NULL: it has none, or decodes them. */
    const struct plugin_args_kind *args;

    /* Makes the plugin's own data from its arguments; 0 or negative errno. NULL: none needed. */
    int (*init)(const struct plugin_env *env, void **ret_self, struct error *err);

    /* Frees what init() made outside the arena. */
    void (*release)(void *self);

    /* Frees what the plugin's state of a cycle holds outside the cycle's arena; the state is not NULL. */
    void (*forget)(void *state);

    struct status (*pre_enqueue)(const void *self, const struct pod *pod, struct arena *arena);
    bool gates_preemptors; /* pre_enqueue is called only for a pod whose victims are being deleted */
    /* Queue order: does a go before b? */
    bool (*less)(const void *self, const struct pod_info *a, const struct pod_info *b);

    /* Skip: the plugin's filter is not called in this cycle. `narrow` comes in as all. */
    struct status (*pre_filter)(struct cycle *cycle, struct node_names *narrow);
    /* pre_filter never skips, and filter is the same without it. It narrows the nodes for pods that name their node at
     * most: those are decided on the plain path. */
    bool pre_filter_only_narrows;
    /* What-if: the pod joins or leaves the viewed node; the view shows the node after the change. Each undoes the
     * other exactly: that is how a what-if ends, no state is copied. */
    void (*add_pod)(struct cycle *cycle, const struct pod_info *pod, struct node_view node);
    void (*remove_pod)(struct cycle *cycle, const struct pod_info *pod, struct node_view node);
    struct status (*filter)(struct cycle *cycle, struct node_view node);
    /* What a node that filter has just rejected lacks (framework/shortfall.h); for explanations alone. NULL: the
     * reasons of the status are all that there is to say. */
    void (*explain)(struct cycle *cycle, struct node_view node, struct shortfall_list *ret);
    /* The same of the pod itself, which pre_filter has just rejected. */
    void (*explain_pod)(struct cycle *cycle, struct shortfall_list *ret);
    struct status (*post_filter)(struct cycle *cycle, struct diagnosis *diagnosis,
                                 struct post_filter_result *ret);
    /* An Unschedulable of post_filter, for a pod without devices, is its answer for all such pods of the class and
     * the priority until the model changes, and has no effects: it need not be called again. */
    bool post_filter_repeats;

    struct status (*pre_score)(struct cycle *cycle); /* the rows are in cycle_feasible() */
    struct status (*score)(struct cycle *cycle, struct node_view node, int64_t *ret);
    /* After PreFilter: is the score of every node 0? Then score need not be called. NULL: that is not known. */
    bool (*score_is_zero)(const struct cycle *cycle);
    /* From any range to 0..SCORE_MAX; depends on the values only, never on which node has them. */
    void (*normalize)(struct cycle *cycle, int64_t *scores, size_t len);

    /* Once per attempt, before a node is looked at: weights_set() (framework/weights.h). Changes nothing else. It is
     * called wherever the plugin is enabled. */
    void (*weigh)(struct cycle *cycle);
    /* Between decisions: what became of pods (framework/observation.h). */
    void (*observe)(void *self, const struct observation *what);

    /* The same answers as filter and score give, for many nodes at once, which the fast paths use. The rows are of
     * nodes as they are, and need not be in order. */
    void (*filter_nodes)(struct cycle *cycle, struct row_list rows, bool *ret_fits);
    void (*score_nodes)(struct cycle *cycle, struct row_list rows, int64_t *ret);

    /* A plugin at Reserve has unreserve; reserve may be NULL. */
    struct status (*reserve)(struct cycle *cycle, uint32_t row);
    void (*unreserve)(struct cycle *cycle, uint32_t row);
    struct status (*permit)(struct cycle *cycle, uint32_t row, int64_t *ret_timeout_ms);
    /* Success: pre_bind will have something to do for this pod; Skip: nothing. NULL: as if Success. */
    struct status (*pre_bind_pre_flight)(struct cycle *cycle, uint32_t row);
    /* These two may return Wait, and are then called again: after an answer to a write of theirs (cycle_write()), after
     * something changed in the cluster, and at cycle->wake_ns. Meanwhile other pods are decided, and objects of the
     * cluster come and go: what is needed later is copied to the cycle's arena. */
    struct status (*pre_bind)(struct cycle *cycle, uint32_t row);
    struct status (*bind)(struct cycle *cycle, uint32_t row);
    void (*post_bind)(struct cycle *cycle, uint32_t row);

    /* Rules about one column of a node (framework/rule.h): tables are filled from them. */
    const struct node_rule *filter_rule, *score_rule;
    /* A rule about the pods of topology domains (index/topology_rule.h): tables are filled from it. */
    const struct topology_rule *topology_rule;
    /* The same answers as the callbacks give, for many rows at once (index/table.h). A plugin with rules needs none. */
    const struct row_forms *rows;
    /* The fields of the pod that PreFilter, Filter, PreScore, Score and hints depend on, as paths (cluster/pod_key.h);
     * ends with NULL. Labels need not be named where selectors read them. Pods that agree in these fields share a
     * class, for which the answers are kept. No list: the answers vary per pod, and each pod is decided anew by the
     * callbacks. */
    const char *const *reads;

    /* Kinds (1 << enum api_kind, or'ed) that are fetched only for plugins that want them. */
    uint64_t kinds;

    /* Called at the interval that init() asked for (wishes). */
    void (*tick)(void *self, struct cluster *cluster, int64_t now_ns);

    /* What may help a pod that this plugin rejected; ends with {0}. NULL: anything, for a plugin that can reject. */
    const struct event_rule *events;
};

#define READS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* A plugin in a profile. */
struct plugin_instance {
    const struct plugin *plugin;
    void *self;
    uint32_t index;                 /* in profile->plugins */
    int32_t weight;                 /* at Score, as configured: weight_in_effect() */
    bool is_made;                   /* init() was called, and content: release() is to be */
    const struct event_rule *rules; /* event_rules_for(); NULL: every event */
    struct plugin_wishes wishes;
};

/* Where the writes of a cycle go. */
struct cycle_writer {
    const struct answer *(*write)(struct cycle_writer *writer, const struct effect *effect);
};

/* Lists the feasible rows, in ascending order, when a plugin asks for them. */
struct row_lister {
    struct row_list (*list)(struct row_lister *lister);
};

/* One attempt to schedule one pod. */
struct cycle {
    const struct profile *profile;
    struct cluster *cluster;
    struct pod_info *info;
    const struct pod *pod; /* info->api */
    struct arena *arena;   /* what the attempt allocates */
    const struct plugin_instance *current;
    void *states[PLUGINS_MAX];
    uint64_t skip_filter, skip_score; /* bit per plugin index */
    uint64_t zero_score;    /* likewise: on the fast path, of skip_score, those whose PreScore did not skip */
    uint64_t skip_pre_bind; /* likewise, from the pre-flights */
    struct cycle_writer *writer; /* NULL: every write is done at once */
    int64_t now_ns;              /* while binding: the time of the call */
    int64_t wall_ahead_ns;       /* the time of day is that much later; for dates in objects */
    int64_t wake_ns;             /* a plugin that waits may ask to be called again at that time; 0: no */
    int64_t retry_ns; /* if this attempt fails, the pod is tried again at that time at the latest; 0: no */
    struct cycle_work *work;   /* blocking work that is under way; see blocking_work.h */
    const struct probe *probe; /* NULL: none */
    bool is_sampled;           /* the probe wants to know how long each plugin takes */
    int64_t called_ns; /* by the probe's clock: when the plugin was called that is waited for; 0: none */
    struct row_list feasible;  /* at PreScore: cycle_feasible() */
    struct row_lister *lister; /* makes the list where it is not there yet; may be NULL */
    struct row_memo *useless;  /* at PostFilter: row_memo.h; NULL: nothing is remembered */
    bool may_try;   /* a loaded plugin is at PostFilter and may try nodes without some of their pods */
    bool may_weigh; /* a plugin is called that may set weights */
    struct score_weights *weights; /* weights.h, in the arena; NULL: as configured */
    struct str failed_extender;    /* its URL, after an extender failed that is not ignorable */
};

static inline void *cycle_self(const struct cycle *cycle)
{
    return cycle->current->self;
}

static inline void **cycle_state(struct cycle *cycle)
{
    return &cycle->states[cycle->current->index];
}

/* At PreScore: the rows that will be scored. */
static inline struct row_list cycle_feasible(struct cycle *cycle)
{
    if (!cycle->feasible.items && cycle->lister)
        cycle->feasible = cycle->lister->list(cycle->lister);
    return cycle->feasible;
}

/* For PreBind and Bind: something to be done in the cluster. The answer is ANSWER_PENDING until it is known, then a
 * fact, and lives as long as the cycle: a write whose answer was lost is repeated behind the scenes. */
static inline const struct answer *cycle_write(struct cycle *cycle, const struct effect *effect)
{
    static const struct answer done = { .kind = ANSWER_DONE };
    return cycle->writer ? cycle->writer->write(cycle->writer, effect) : &done;
}

#endif
