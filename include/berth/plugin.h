/* berth/plugin.h: the interface between berth and a scheduling plugin in a shared object.
 *
 *     #include <berth/plugin.h>
 *
 *     static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
 *     {
 *         (void)cycle;
 *         if (berth_node_label(node, "maintenance").ptr)
 *             return BERTH_REJECT(BERTH_UNRESOLVABLE, "node(s) were under maintenance");
 *         return BERTH_OK;
 *     }
 *
 *     static const struct berth_plugin maintenance = { .name = "Maintenance", .filter = filter };
 *
 *     BERTH_PLUGINS(&maintenance)
 *
 *     $ cc -shared -fPIC -O2 -o maintenance.so maintenance.c
 *     $ berth simulate -f cluster.yaml --config scheduler.yaml --plugin ./maintenance.so
 *
 * A plugin is one descriptor. A NULL slot means that it does not take part in that extension point. The slots and their
 * meaning are those of the built-in plugins and of kube-scheduler's framework. docs/PLUGINS.md is an introduction.
 *
 * Compatibility: a plugin runs with the berth that it was built against and any later one; an older one rejects it
 * with an error. BERTH_ABI changes only if an old plugin would no longer work. BERTH_REVISION counts additions. What
 * may be added, and how (tests/plugins/test_abi.py builds plugins against older and longer headers):
 *   - Functions of struct berth_host: at the end of the list.
 *   - Members of the structs whose size is in struct berth_module: at the end, behind the padding. berth fills in what
 *     an older plugin does not have with zeros, and reads lists with the plugin's stride. These are berth_plugin,
 *     berth_module, berth_env, berth_event_rule, berth_field, berth_node_names and berth_post_filter_result.
 *   - Members of no other struct: they are passed by value, or to functions that do not know the plugin. A longer one
 *     is another struct, with functions of its own.
 *   - Values of enumerations, with new numbers: a number keeps its meaning. berth rejects values that it does not know.
 *     BERTH_UPDATE and BERTH_ALL_ACTIONS include the actions to come.
 *   - Parameters of functions and callbacks do not change: another function, another slot.
 *
 * Lifetimes: what a callback gets, and what functions return for it, is valid until the callback returns, whatever
 * happens in the cluster meanwhile; the pod of a cycle, its state and its arena until the last callback of the cycle.
 * Every function accepts whatever berth has given out: NULL, an absent text, a row whose node is gone. The result is
 * then absent, 0 or empty.
 *
 * Threads: all callbacks run on the one thread that decides, except pre_bind and bind, which may block and run on
 * worker threads. Functions below are for callbacks on the deciding thread unless marked "any thread". While a callback
 * runs, nothing else is decided.
 *
 * C11 or C++20, gcc or clang. */
#ifndef BERTH_PLUGIN_H
#define BERTH_PLUGIN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BERTH_ABI 1
#define BERTH_REVISION 5
#define BERTH_SCORE_MAX 100
#define BERTH_ROW_NONE UINT32_MAX
#define BERTH_SCORER_NONE UINT32_MAX
#define BERTH_NONE "-" /* no object has this name: see berth_watch_only() */
#define BERTH_WEIGHT_MAX 10000

/* ---- opaque types ---- */
struct berth_cycle;     /* one attempt to schedule one pod */
struct berth_cluster;   /* the model of the cluster */
struct berth_pod;       /* a Pod object */
struct berth_pod_info;  /* a pod in the model: it is pending, or has a node */
struct berth_diagnosis; /* why no node fits */
struct berth_hint;      /* the data of a queueing hint */
struct berth_event;     /* a change in the cluster */
struct berth_arena;     /* memory that is freed all at once */
struct berth_handle;    /* a plugin in a profile, for use by its own threads */
struct berth_metric;
struct berth_observation; /* what became of a pod; since revision 5 */

/* ---- text ---- */
/* A slice: not terminated, owns nothing. Absent: ptr is NULL. Print it with BERTH_FMT, BERTH_ARG. */
struct berth_str {
    const char *ptr;
    uint32_t len;
};
#define BERTH_FMT "%.*s"
#define BERTH_ARG(s) (int)(s).len, (s).ptr ? (s).ptr : ""

static inline struct berth_str berth_text(const char *text)
{
    struct berth_str str = { text, text ? (uint32_t)strlen(text) : 0 };
    return str;
}
static inline bool berth_eq(struct berth_str a, struct berth_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
static inline bool berth_is(struct berth_str a, const char *text)
{
    return berth_eq(a, berth_text(text));
}

/* The complete text as a decimal number, such as the value of a label. False: it is not a number, or out of range. */
static inline bool berth_to_int(struct berth_str text, int64_t *ret)
{
    bool negative = text.len && text.ptr[0] == '-';
    int64_t number = 0;
    if (text.len == (negative ? 1u : 0u))
        return false;
    for (uint32_t i = negative; i < text.len; i++) {
        int digit = text.ptr[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, digit, &number)) /* negative: that range is larger by one */
            return false;
    }
    if (!negative && __builtin_sub_overflow((int64_t)0, number, &number))
        return false;
    *ret = number;
    return true;
}

/* Lists in arguments and in objects. Maps are sorted by key. */
struct berth_strs {
    const struct berth_str *items;
    uint32_t len;
};
struct berth_pair {
    struct berth_str key, value;
};
struct berth_pairs {
    const struct berth_pair *items;
    uint32_t len;
};
/* A BERTH_LIST argument: `items` points to `len` structs that its table fills. */
struct berth_list {
    const void *items;
    uint32_t len;
};

/* ---- statuses ---- */
enum berth_code {
    BERTH_SUCCESS = 0,
    BERTH_ERROR = 1,         /* an error: the attempt ends, and is repeated after a backoff */
    BERTH_UNSCHEDULABLE = 2, /* the node is rejected; preemption may help */
    BERTH_UNRESOLVABLE = 3,  /* likewise; preemption does not help: UnschedulableAndUnresolvable */
    BERTH_WAIT = 4,          /* Permit only */
    BERTH_SKIP = 5,    /* PreFilter, PreScore: Filter, Score are not called. Bind: left to the next plugin */
    BERTH_PENDING = 6, /* like UNSCHEDULABLE; waits for an event outside of the cluster */
};

/* Passed by value; owns nothing. Reasons are static, or in an arena that lives as long as the attempt. */
struct berth_status {
    enum berth_code code;
    uint32_t len;
    const struct berth_str *reasons;
    const void *plugin; /* for berth */
};

static inline struct berth_status berth_verdict(enum berth_code code)
{
    struct berth_status status = { code, 0, NULL, NULL };
    return status;
}
#define BERTH_OK berth_verdict(BERTH_SUCCESS)

/* A status with a reason that is a string literal. */
#define BERTH_REJECT(code, literal) \
    (__extension__({ \
        static const struct berth_str berth_reason_ = { (literal), sizeof(literal) - 1 }; \
        struct berth_status berth_status_ = { (code), 1, &berth_reason_, NULL }; \
        berth_status_; \
    }))

/* The error of init(): one line. */
struct berth_error {
    char text[1024];
};

/* ---- nodes ---- */
/* A node as it is, or, during a what-if, as it would be. Valid during the callback. Rows number nodes; a row means
 * the same node until that node is deleted. */
struct berth_node_view {
    const struct berth_cluster *cluster;
    uint32_t row;
    const void *overlay;
};
struct berth_pod_infos {
    const struct berth_pod_info *const *items;
    size_t len;
};
struct berth_rows {
    const uint32_t *items;
    uint32_t len;
};

/* ---- PreFilter and PostFilter ---- */
/* The nodes that PreFilter leaves: initially all; berth_narrow() restricts them. */
struct berth_node_names {
    bool all;
    struct berth_str *items;
    uint32_t len;
};

/* A node to nominate (BERTH_ROW_NONE: none) and the pods to evict from it. The list is in the cycle's arena. */
struct berth_post_filter_result {
    uint32_t nominated_row;
    bool clear_nomination;
    const struct berth_pod_info **victims;
    uint32_t victims_len;
};

/* ---- events: what may help a pod that this plugin rejected ---- */
enum berth_resource {
    BERTH_EVENT_POD = 0, /* a rule for any pod */
    BERTH_EVENT_ASSIGNED_POD = 1,
    BERTH_EVENT_UNSCHEDULED_POD =
        2, /* since revision 3 and with Kubernetes 1.37: not the waiting pod itself */
    BERTH_EVENT_NODE = 3,
    BERTH_EVENT_PV = 4,
    BERTH_EVENT_PVC = 5,
    BERTH_EVENT_CSI_NODE = 6,
    BERTH_EVENT_CSI_DRIVER = 7,
    BERTH_EVENT_CSI_STORAGE_CAPACITY = 8,
    BERTH_EVENT_STORAGE_CLASS = 9,
    BERTH_EVENT_VOLUME_ATTACHMENT = 10,
    BERTH_EVENT_RESOURCE_CLAIM = 11,
    BERTH_EVENT_RESOURCE_SLICE = 12,
    BERTH_EVENT_DEVICE_CLASS = 13,
    BERTH_EVENT_POD_GROUP = 14,
    BERTH_EVENT_ANY = 15,
    BERTH_EVENT_TARGET_POD = 16, /* the waiting pod itself; with Kubernetes 1.36 as UNSCHEDULED_POD */
    BERTH_EVENT_SAMPLE =
        17, /* since revision 4: the use of a node was measured; the object is its NodeMetrics */
    BERTH_EVENT_OBJECT =
        18, /* since revision 5: an object of a kind that a plugin names in `kinds`; berth_object_kind() says which */
};
enum berth_action {
    BERTH_ADD = 1 << 0,
    BERTH_DELETE = 1 << 1,
    BERTH_NODE_ALLOCATABLE = 1 << 2,
    BERTH_NODE_LABEL = 1 << 3,
    BERTH_NODE_TAINT = 1 << 4,
    BERTH_NODE_CONDITION = 1 << 5,
    BERTH_NODE_ANNOTATION = 1 << 6,
    BERTH_NODE_DECLARED_FEATURE = 1 << 7,
    BERTH_POD_LABEL = 1 << 8,
    BERTH_POD_SCALE_DOWN = 1 << 9,
    BERTH_POD_TOLERATION = 1 << 10,
    BERTH_POD_GATES_ELIMINATED = 1 << 11,
    BERTH_POD_GENERATED_CLAIM = 1 << 12,
    BERTH_NODE_PREEMPTION_POLICY = 1 << 13, /* this and the next one: with Kubernetes 1.37 */
    BERTH_POD_SCALE_UP = 1 << 14,
    /* Any update, of whatever berth comes to know: test with &, not with ==. */
    BERTH_UPDATE = 0x7fffffff - BERTH_ADD - BERTH_DELETE,
    BERTH_ALL_ACTIONS = 0x7fffffff,
};
enum berth_hint_answer { BERTH_HINT_SKIP = 0, BERTH_HINT_QUEUE = 1 };

struct berth_event_rule {
    enum berth_resource resource;
    uint32_t actions; /* of enum berth_action; 0 ends a list */
    /* Whether the event may make this pod schedulable. If in doubt: queue. NULL: always. */
    enum berth_hint_answer (*hint)(const struct berth_hint *hint, const struct berth_pod *pod,
                                   const struct berth_event *event);
};

/* ---- arguments: pluginConfig of the configuration, decoded by a table ---- */
enum berth_field_kind {
    BERTH_STRING = 1,   /* struct berth_str */
    BERTH_BOOL = 2,     /* bool */
    BERTH_INT = 3,      /* int64_t */
    BERTH_DOUBLE = 4,   /* double */
    BERTH_DURATION = 5, /* int64_t nanoseconds, written as "1m30s" */
    BERTH_STRINGS = 6,  /* struct berth_strs */
    BERTH_MAP = 7,      /* struct berth_pairs */
    BERTH_STRUCT = 8,   /* the struct of `fields`, inside this one */
    BERTH_LIST = 9,     /* struct berth_list of structs of `fields`, each `size` bytes */
    BERTH_JSON = 10,    /* struct berth_str: any value, as JSON; since revision 4 */
};
struct berth_field {
    const char *name; /* NULL ends a table */
    enum berth_field_kind kind;
    size_t offset;                    /* in the struct */
    const struct berth_field *fields; /* of BERTH_STRUCT and BERTH_LIST */
    size_t size;                      /* of BERTH_STRUCT and BERTH_LIST */
};
#define BERTH_FIELD(name_, kind_, type_, member_) { name_, kind_, offsetof(type_, member_), NULL, 0 }
#define BERTH_NESTED(name_, kind_, type_, member_, table_, inner_) \
    { name_, kind_, offsetof(type_, member_), table_, sizeof(inner_) }

/* The argument of init(). */
struct berth_env {
    const struct berth_cluster *cluster; /* may be empty */
    const void *args;                    /* the decoded struct; NULL for a plugin without a table */
    struct berth_str args_json;          /* the arguments as JSON; absent: there are none */
    struct berth_str scheduler_name;     /* of the profile */
    struct berth_arena *arena;           /* lives as long as the profile */
    const struct berth_handle *handle;   /* likewise; for any thread */
};

/* ---- the plugin ---- */
struct berth_plugin {
    const char *name; /* the name in the configuration */
    const char *doc;  /* one sentence */

    /* Arguments: a table that ends with {0}, the size of the struct that it fills, and one with the defaults (NULL: all
     * zero). Unknown fields, duplicates and wrong types are rejected with line and column. */
    const struct berth_field *args;
    size_t args_size;
    const void *args_defaults;

    /* Creates the plugin's data for a profile. Returns 0, or a negative value with an error (berth_fail()). NULL: no
     * data. It is called in a trial process first, so that a crash is only an error message. */
    int (*init)(const struct berth_env *env, void **ret_self, struct berth_error *err);
    /* Frees what init() allocated outside the arena; the plugin's threads must have ended when it returns. It is called
     * after every successful init(), even if that set no data: then self is NULL. */
    void (*release)(void *self);
    /* Frees memory of the plugin's cycle state outside the cycle's arena; not called if the state is NULL. */
    void (*forget)(void *state);

    /* PreEnqueue: whether the pod may be queued. */
    struct berth_status (*pre_enqueue)(const void *self, const struct berth_pod *pod,
                                       struct berth_arena *arena);
    /* QueueSort: whether a comes before b. One plugin sorts for all profiles, so it gets no plugin data: init() can
     * keep arguments in a static variable. If neither comes before the other, the pod that has waited longer does. */
    bool (*less)(const struct berth_pod_info *a, const struct berth_pod_info *b);

    /* PreFilter. Skip: the plugin's filter is not called in this cycle. An attempt may restart with a NULL state, so
     * it must change nothing but that state. */
    struct berth_status (*pre_filter)(struct berth_cycle *cycle, struct berth_node_names *narrow);
    /* What-if: a pod joins or leaves the viewed node, which shows it already. Each undoes the other exactly. */
    void (*add_pod)(struct berth_cycle *cycle, const struct berth_pod_info *pod, struct berth_node_view node);
    void (*remove_pod)(struct berth_cycle *cycle, const struct berth_pod_info *pod,
                       struct berth_node_view node);
    /* Filter. Depends on pod, node and cluster only; berth decides for which nodes it is called, and how often. */
    struct berth_status (*filter)(struct berth_cycle *cycle, struct berth_node_view node);
    /* PostFilter: no node fits. Success: the result has a node and victims. Unschedulable: preemption does not help. */
    struct berth_status (*post_filter)(struct berth_cycle *cycle, struct berth_diagnosis *diagnosis,
                                       struct berth_post_filter_result *ret);

    /* PreScore. Skip: the plugin's score is not called in this cycle. berth_feasible() lists the nodes. */
    struct berth_status (*pre_score)(struct berth_cycle *cycle);
    struct berth_status (*score)(struct berth_cycle *cycle, struct berth_node_view node, int64_t *ret);
    /* NormalizeScore: from any range to 0..BERTH_SCORE_MAX; depends on the values only. NULL: they are in range. */
    void (*normalize)(struct berth_cycle *cycle, int64_t *scores, size_t len);

    /* Reserve. The pod is already on the node in the model. unreserve undoes reserve; it is called for every reserve
     * that is not followed by post_bind, except at the end of the process. It is also called if the reserve of any
     * plugin failed, so there may be nothing to undo. A plugin with reserve must have unreserve; the opposite is
     * optional. */
    struct berth_status (*reserve)(struct berth_cycle *cycle, uint32_t row);
    void (*unreserve)(struct berth_cycle *cycle, uint32_t row);
    /* Permit. Wait: for at most *ret_timeout_ms (1 ms if it is not set, 15 minutes at most) until berth_allow_uid() or
     * berth_refuse_uid(), from any thread. */
    struct berth_status (*permit)(struct berth_cycle *cycle, uint32_t row, int64_t *ret_timeout_ms);

    /* PreBind and Bind run on worker threads and may block; the cluster cannot be read there. Any status but Success
     * returns the pod to the queue. PreBindPreFlight: Skip if there is nothing to do for this pod. */
    struct berth_status (*pre_bind_pre_flight)(struct berth_cycle *cycle, uint32_t row);
    struct berth_status (*pre_bind)(struct berth_cycle *cycle, struct berth_str node);
    /* Bind: Skip leaves it to the next plugin; Success: the API server has the binding. */
    struct berth_status (*bind)(struct berth_cycle *cycle, struct berth_str node);
    void (*post_bind)(struct berth_cycle *cycle, uint32_t row);

    /* Events that may help a pod that this plugin rejected; ends with {0}. NULL: any event. */
    const struct berth_event_rule *events;

    /* The fields of the pod that pre_filter, filter, pre_score and score depend on, as paths: "spec.tolerations",
     * "metadata.annotations", "spec.containers[].image". Ends with NULL. Pods that agree in the fields that all plugins
     * read share a class. With the list, Skip from pre_filter or pre_score applies to all pods of the class, which are
     * then decided without the plugin. An incomplete list causes wrong decisions. NULL: the plugin may read any field,
     * and is called for each pod. For labels, name the map: "metadata.labels". */
    const char *const *reads;

    /* Since revision 4. Kinds of objects that are fetched only for plugins that name them: "NodeMetrics", "PodMetrics".
     * Ends with NULL. NULL: none. Since revision 5 also any kind that the API server has, by apiVersion and kind:
     * "v1/ConfigMap", "example.com/v1alpha1/Widget". berth_get() and the others below take the same text. */
    const char *const *kinds;

    /* Since revision 5. QueueSort like `less`, with the plugin's data, and in its place. */
    bool (*less_self)(void *self, const struct berth_pod_info *a, const struct berth_pod_info *b);
    /* Since revision 5. A timer: called on the deciding thread at the interval that init() has set with
     * berth_tick_every(). `now` is the time, in nanoseconds since 1970, which a replay repeats. */
    void (*tick)(void *self, const struct berth_cluster *cluster, int64_t now);
    /* Since revision 5. The weights of scores for this pod: berth_set_weight() for each that is not the configured one.
     * It is called once per attempt, before a node is looked at, and also to explain a decision: it must change nothing
     * of the plugin's data, and depend on nothing but that and the pod. Pods of a class that get the same weights share
     * what is known about nodes. It is called wherever the plugin is enabled: preScore, score or another point. */
    void (*weigh)(struct berth_cycle *cycle);
    /* What became of pods: berth_observed_kind(). It is called between decisions, and may change the plugin's data.
     * Everything that it depends on comes from berth, so that a replay repeats it. */
    void (*observe)(void *self, const struct berth_observation *what);
    /* filter and score for many nodes at once, as they are in the cluster: a call per node takes longer than most
     * rules. ret[i] is about the node rows.items[i]. Whether a node fits is enough: filter says why not, where that is
     * needed. filter and score must be there, too, and give the same. */
    void (*filter_nodes)(struct berth_cycle *cycle, struct berth_rows rows, bool *ret_fits);
    void (*score_nodes)(struct berth_cycle *cycle, struct berth_rows rows, int64_t *ret);
};

/* ---- observations ---- */
enum berth_observed {
    BERTH_ATTEMPT_BEGINS =
        0, /* a pod of this profile is about to be decided; sometimes told twice, at the same time */
    BERTH_ATTEMPT_PLACED = 1, /* it got a node */
    BERTH_ATTEMPT_FAILED = 2, /* it got none */
    BERTH_POD_GONE = 3,       /* a pod of any scheduler that was bound to a node has ended, or was deleted */
};

/* ---- values of object fields ---- */
enum berth_type {
    BERTH_ABSENT = 0,
    BERTH_TEXT = 1,    /* text */
    BERTH_FLAG = 2,    /* number: 0 or 1 */
    BERTH_NUMBER = 3,  /* number; times: seconds since 1970 */
    BERTH_AMOUNT = 4,  /* a quantity: number, rounded up; milli */
    BERTH_TEXTS = 5,   /* len */
    BERTH_ENTRIES = 6, /* len: a map of texts or amounts, or a list of objects */
    BERTH_OBJECT = 7,
};
struct berth_value {
    enum berth_type type;
    uint32_t len;
    struct berth_str text;
    int64_t number, milli;
};

/* ---- samples: measured use (docs/STRATEGIES.md) ---- */
/* Of the samples of a node. Other statistics than the newest value are over the last 15 minutes, unless the source of
 * the samples computes them over a time of its own. */
enum berth_statistic {
    BERTH_LATEST = 0,
    BERTH_AVERAGE = 1,
    BERTH_DEVIATION = 2, /* standard deviation */
    BERTH_P50 = 3,       /* percentiles */
    BERTH_P90 = 4,
    BERTH_P95 = 5,
    BERTH_P99 = 6,
};

enum berth_metric_type { BERTH_COUNTER = 0, BERTH_GAUGE = 2, BERTH_HISTOGRAM = 3 };
struct berth_metric_info {
    const char *name, *help;
    enum berth_metric_type type;
    const char *labels[4]; /* NULL ends them */
    const double *buckets; /* histograms: upper bounds, rising; at most 40 */
    size_t buckets_len;
};

/* ---- functions for plugins: berth_NAME(...) for each ----
 * F(return type, name, parameters, arguments), V for functions that return nothing. Append only. */
#define BERTH_FUNCTIONS(F, V) \
    /* the cycle. PreBind and Bind may use these down to reason; cycle_cluster and cycle_info are NULL there. */ \
    /* An object, a pod or a cluster may be NULL, and a row may be invalid: the result is then absent, */ \
    /* 0 or empty. */ \
    F(const struct berth_pod *, cycle_pod, (const struct berth_cycle *cycle), \
      (cycle)) /* as it was when the attempt began */ \
    F(const struct berth_pod_info *, cycle_info, (const struct berth_cycle *cycle), \
      (cycle)) /* the newest version, and where it is */ \
    F(const struct berth_cluster *, cycle_cluster, (const struct berth_cycle *cycle), (cycle)) \
    F(void *, cycle_self, (const struct berth_cycle *cycle), (cycle)) /* set by init() */ \
    F(void **, cycle_state, (struct berth_cycle * cycle), (cycle))    /* the plugin's own; starts as NULL */ \
    F(struct berth_arena *, cycle_arena, (struct berth_cycle * cycle), (cycle)) \
    F(bool, cycle_cancelled, (const struct berth_cycle *cycle), \
      (cycle)) /* PreBind, Bind: the result is no longer needed */ \
    F(void *, alloc, (struct berth_arena * arena, size_t size), (arena, size)) /* cleared */ \
    F(struct berth_status, reason, \
      (struct berth_arena * arena, enum berth_code code, struct berth_str reason), \
      (arena, code, reason)) /* copies the reason */ \
    V(narrow, \
      (struct berth_cycle * cycle, struct berth_node_names * names, const struct berth_str *items, \
       uint32_t len), \
      (cycle, names, items, len)) /* PreFilter: only these */ \
    F(struct berth_status, fits_without, \
      (struct berth_cycle * cycle, uint32_t row, const struct berth_pod_info *const *gone, uint32_t len), \
      (cycle, row, gone, len)) /* PostFilter: all filters, on the node as it would be without these pods; */ \
    /* elsewhere the result is Error */ \
    F(struct berth_rows, feasible, (struct berth_cycle * cycle), \
      (cycle)) /* PreScore: the nodes to be scored */ \
    F(struct berth_status, diagnosis_of, (const struct berth_diagnosis *diagnosis, uint32_t row), \
      (diagnosis, row)) \
    /* nodes */ \
    F(struct berth_rows, nodes, (const struct berth_cluster *cluster), \
      (cluster)) /* in the order of the search */ \
    F(struct berth_node_view, node, (const struct berth_cluster *cluster, uint32_t row), (cluster, row)) \
    F(uint32_t, node_row, (const struct berth_cluster *cluster, struct berth_str name), (cluster, name)) \
    F(struct berth_str, node_name, (struct berth_node_view node), (node)) \
    F(struct berth_str, node_label, (struct berth_node_view node, const char *key), (node, key)) \
    F(const void *, node_object, (struct berth_node_view node), (node)) \
    F(struct berth_pod_infos, node_pods, (struct berth_node_view node), (node)) \
    /* amounts: cpu in thousandths, others in units. Look up the number of a resource once, then use it. */ \
    F(uint32_t, resource, (const struct berth_cluster *cluster, const char *name), (cluster, name)) \
    F(int64_t, node_allocatable, (struct berth_node_view node, uint32_t resource), (node, resource)) \
    F(int64_t, node_used, (struct berth_node_view node, uint32_t resource), (node, resource)) \
    F(int64_t, pod_request, (const struct berth_pod_info *pod, uint32_t resource), (pod, resource)) \
    /* pods in the model */ \
    F(const struct berth_pod *, info_pod, (const struct berth_pod_info *pod), (pod)) \
    F(int32_t, info_priority, (const struct berth_pod_info *pod), (pod)) \
    F(uint32_t, info_row, (const struct berth_pod_info *pod), (pod)) /* its node, or BERTH_ROW_NONE */ \
    F(const struct berth_pod_info *, find_pod, \
      (const struct berth_cluster *cluster, struct berth_str namespace_, struct berth_str name), \
      (cluster, namespace_, name)) \
    /* any object, pods and nodes too: kind is "Pod", "Node", "PersistentVolumeClaim" ... (docs/PLUGINS.md) */ \
    F(struct berth_str, object_name, (const void *object), (object)) \
    F(struct berth_str, object_namespace, (const void *object), (object)) \
    F(struct berth_str, object_uid, (const void *object), (object)) \
    F(struct berth_str, object_label, (const void *object, const char *key), (object, key)) \
    F(struct berth_str, object_annotation, (const void *object, const char *key), (object, key)) \
    F(struct berth_value, read, (const char *kind, const void *object, const char *path), \
      (kind, object, path)) \
    F(const void *, get, \
      (const struct berth_cluster *cluster, const char *kind, struct berth_str namespace_, \
       struct berth_str name), \
      (cluster, kind, namespace_, name)) \
    V(each, \
      (const struct berth_cluster *cluster, const char *kind, \
       bool (*visit)(void *context, const void *object), void *context), \
      (cluster, kind, visit, context)) /* until visit returns false */ \
    /* hints and events */ \
    F(void *, hint_self, (const struct berth_hint *hint), (hint)) \
    F(const struct berth_cluster *, hint_cluster, (const struct berth_hint *hint), (hint)) \
    F(uint32_t, event_actions, (const struct berth_event *event), (event))    /* test them with & */ \
    F(const void *, event_before, (const struct berth_event *event), (event)) /* NULL: it is new */ \
    F(const void *, event_after, (const struct berth_event *event), (event))  /* NULL: it was deleted */ \
    F(bool, same_pod, (const struct berth_pod *a, const struct berth_pod *b), \
      (a, b)) /* whether both are the same pod, in any version */ \
    /* any thread: actions on other pods. A pod that does not exist, or does not wait, is ignored. */ \
    V(activate, (const struct berth_handle *handle, struct berth_str namespace_, struct berth_str name), \
      (handle, namespace_, name)) \
    V(allow, (const struct berth_handle *handle, struct berth_str namespace_, struct berth_str name), \
      (handle, namespace_, name)) \
    V(refuse, \
      (const struct berth_handle *handle, struct berth_str namespace_, struct berth_str name, \
       struct berth_str reason), \
      (handle, namespace_, name, reason)) \
    /* the pods that wait for this plugin's permission; on the deciding thread */ \
    V(each_waiting, \
      (const struct berth_handle *handle, bool (*visit)(void *context, const struct berth_pod_info *pod), \
       void *context), \
      (handle, visit, context)) \
    /* any thread: metrics, shown on /metrics. One label value per name. NULL, and a warning in the log: */ \
    /* the name is invalid, used by berth, or has another meaning in another plugin. The other three accept */ \
    /* NULL. */ \
    F(struct berth_metric *, metric_get, \
      (const struct berth_metric_info *info, const struct berth_str *labels), (info, labels)) \
    V(metric_add, (struct berth_metric * metric, double value), (metric, value)) \
    V(metric_set, (struct berth_metric * metric, double value), (metric, value))     /* gauges */ \
    V(metric_observe, (struct berth_metric * metric, double value), (metric, value)) /* histograms */ \
    /* any thread: a line of the log, shown from -v=verbosity on; -1: an error */ \
    V(log_text, (int32_t verbosity, const char *file, int line, const char *text), \
      (verbosity, file, line, text)) \
    /* any thread: allow and refuse, but never a new pod with the same name */ \
    V(allow_uid, \
      (const struct berth_handle *handle, struct berth_str namespace_, struct berth_str name, \
       struct berth_str uid), \
      (handle, namespace_, name, uid)) \
    V(refuse_uid, \
      (const struct berth_handle *handle, struct berth_str namespace_, struct berth_str name, \
       struct berth_str uid, struct berth_str reason), \
      (handle, namespace_, name, uid, reason)) \
    /* since revision 4. Times are nanoseconds since 1970. */ \
    F(int64_t, cycle_now, (const struct berth_cycle *cycle), (cycle)) /* the time of the attempt */ \
    F(int64_t, info_placed_at, (const struct berth_pod_info *pod), \
      (pod)) /* when the pod was assigned to its node, here or elsewhere; 0: it has none */ \
    F(int64_t, node_sampled_at, (struct berth_node_view node), \
      (node)) /* the end of the time that the newest sample covers; 0: there is no sample */ \
    F(int64_t, node_sample_window, (struct berth_node_view node), \
      (node)) /* how long that time is, in nanoseconds */ \
    F(double, node_sample, (struct berth_node_view node, uint32_t resource, enum berth_statistic statistic), \
      (node, resource, statistic)) /* cpu or memory, in the unit of node_used; negative: unknown */ \
    F(double, pod_sample, \
      (const struct berth_cluster *cluster, const struct berth_pod_info *pod, uint32_t resource), \
      (cluster, pod, resource)) /* likewise, of a pod: the newest value */ \
    V(retry_at, (struct berth_cycle * cycle, int64_t at), \
      (cycle, \
       at)) /* if the pod gets no node in this attempt, it is tried again at that time, or earlier: for */ \
    /* rejections that end by themselves. The earliest time counts. */ \
    /* for a plugin that keeps what it found out about nodes: the rows of nodes that changed since *position, */ \
    /* with their object, pods or samples, some of them several times; *position moves to now. Start with 0. */ \
    /* False: every node may have changed. */ \
    F(bool, node_changes, (const struct berth_cluster *cluster, uint64_t *position, struct berth_rows *ret), \
      (cluster, position, ret)) \
    /* since revision 5: weights. In init() or later: the number of a plugin that scores in this profile, or */ \
    /* BERTH_SCORER_NONE; its weight in the configuration. */ \
    F(uint32_t, scorer, (const struct berth_handle *handle, const char *name), (handle, name)) \
    F(int32_t, scorer_weight, (const struct berth_handle *handle, uint32_t scorer), (handle, scorer)) \
    F(bool, set_weight, \
      (struct berth_cycle * cycle, uint32_t scorer, int32_t weight, struct berth_str reason), \
      (cycle, scorer, weight, \
       reason)) /* weigh only: from 0 to BERTH_WEIGHT_MAX, with a reason that explain shows; it is copied */ \
    /* what became of a pod, for observe. Times are nanoseconds since 1970. */ \
    F(enum berth_observed, observed_kind, (const struct berth_observation *what), (what)) \
    F(const struct berth_pod_info *, observed_pod, (const struct berth_observation *what), (what)) \
    F(const struct berth_cluster *, observed_cluster, (const struct berth_observation *what), (what)) \
    F(int64_t, observed_at, (const struct berth_observation *what), (what)) \
    F(int64_t, observed_wait, (const struct berth_observation *what), \
      (what)) /* of an attempt that is over: how long the pod has been ready to be decided, in nanoseconds */ \
    /* since revision 5. Objects of any kind that `kinds` names: berth_get(), berth_each() and berth_read() take */ \
    /* them. Lists are BERTH_ENTRIES and objects BERTH_OBJECT, both with `len`; "a.b[0].c[key.with.dots]" is a path */ \
    /* through them; numbers with a fraction are BERTH_AMOUNT. */ \
    F(struct berth_str, object_kind, (const void *object), (object)) /* "v1/ConfigMap"; of others "Pod" */ \
    F(struct berth_str, read_key, (const char *kind, const void *object, const char *path, uint32_t index), \
      (kind, object, path, \
       index)) /* the key of entry `index` of a map or an object; absent: it has fewer */ \
    F(bool, read_double, (const char *kind, const void *object, const char *path, double *ret), \
      (kind, object, path, ret)) /* a number, an amount, or a text that is a number; false: there is none */ \
    F(uint64_t, kind_version, (const struct berth_cluster *cluster, const char *kind), \
      (cluster, \
       kind)) /* another number after each change of an object of such a kind: for what is kept of them */ \
    /* init() only: of this kind, which `kinds` names, just the objects of a namespace, or one object, are fetched. */ \
    /* An absent or empty name means any, BERTH_NONE that no object is fetched. It can be called several times. */ \
    /* False, with an error in the log: it cannot be. Objects in files are all there. */ \
    F(bool, watch_only, \
      (const struct berth_handle *handle, const char *kind, struct berth_str namespace_, \
       struct berth_str name), \
      (handle, kind, namespace_, name)) \
    /* init() only: `tick` is called at this interval, in nanoseconds; 0: not any more */ \
    V(tick_every, (const struct berth_handle *handle, int64_t interval), (handle, interval)) \
    /* an Event about an object, of type "Normal" or "Warning". Like ones are counted and not repeated. A live */ \
    /* scheduler writes it to the API server; offline it is dropped. On the deciding thread, not in init(). */ \
    V(event, \
      (const struct berth_handle *handle, const void *object, const char *type, const char *reason, \
       const char *action, struct berth_str note), \
      (handle, object, type, reason, action, note)) \
    /* init() only: samples and query results that this plugin wants are fetched at this interval, in nanoseconds, */ \
    /* instead of --samples-interval; 0: at that. Where several plugins want the same, the shortest one counts. */ \
    V(sample_every, (const struct berth_handle *handle, int64_t interval), (handle, interval)) \
    /* for observe: nothing will follow, as where objects of files are explained. What is otherwise done in parts, */ \
    /* so that no decision waits for it, has to be done now. */ \
    F(bool, observed_alone, (const struct berth_observation *what), (what)) \
    /* in init() or later: whether the configuration enables this plugin at "filter", "score" or another point that */ \
    /* it has; for arguments that have no effect otherwise, of which init() can log it */ \
    F(bool, enabled_at, (const struct berth_handle *handle, const char *point), (handle, point))

struct berth_host {
    uint32_t abi, size;
#define BERTH_F_(type, name, parameters, arguments) type(*name) parameters;
#define BERTH_V_(name, parameters, arguments) void(*name) parameters;
    BERTH_FUNCTIONS(BERTH_F_, BERTH_V_)
#undef BERTH_F_
#undef BERTH_V_
};

#ifndef BERTH_HOST_SIDE
/* ---- in the shared object ---- */
#define BERTH_HIDDEN_ __attribute__((visibility("hidden")))
extern const struct berth_host *berth_host_ BERTH_HIDDEN_;

#define BERTH_F_(type, name, parameters, arguments) \
    static inline type berth_##name parameters \
    { \
        return berth_host_->name arguments; \
    }
#define BERTH_V_(name, parameters, arguments) \
    static inline void berth_##name parameters \
    { \
        berth_host_->name arguments; \
    }
BERTH_FUNCTIONS(BERTH_F_, BERTH_V_)
#undef BERTH_F_
#undef BERTH_V_

/* A status with a reason formatted by printf. */
__attribute__((format(printf, 3, 4))) static inline struct berth_status berth_reject(
    struct berth_arena *arena, enum berth_code code, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return berth_reason(arena, code, berth_text(text));
}

/* For init(): `return berth_fail(err, "the ceiling must not be negative");` */
__attribute__((format(printf, 2, 3))) static inline int berth_fail(struct berth_error *err,
                                                                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    return -1;
}

__attribute__((format(printf, 4, 5))) static inline void berth_log_printf_(int32_t verbosity,
                                                                           const char *file, int line,
                                                                           const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    berth_log_text(verbosity, file, line, text);
}
/* berth_log(4, "node %d", n): shown with -v=4 and above; 0 is always shown. berth_log_error(...) is an error. */
#define berth_log(verbosity, ...) berth_log_printf_((verbosity), __FILE__, __LINE__, __VA_ARGS__)
#define berth_log_error(...) berth_log_printf_(-1, __FILE__, __LINE__, __VA_ARGS__)
#endif

/* ---- the symbol that berth loads ---- */
struct berth_module {
    uint32_t abi, size;              /* of this struct */
    uint32_t plugin_size, host_size; /* of the structs above, at the plugin's build time */
    const struct berth_host **host;  /* set before anything is called */
    const struct berth_plugin *const *plugins;
    uint32_t plugins_len;
    uint32_t reserved_; /* was padding in revision 1, whose modules end here */
    uint32_t revision;  /* BERTH_REVISION; likewise these sizes */
    uint32_t env_size, event_rule_size, field_size, node_names_size, post_filter_result_size;
};

extern const struct berth_module berth_module __attribute__((visibility("default")));

/* Once per shared object, with all its plugins: BERTH_PLUGINS(&one, &two) */
#define BERTH_PLUGINS(...) \
    const struct berth_host *berth_host_; \
    static const struct berth_plugin *const berth_plugins_[] = { __VA_ARGS__ }; \
    const struct berth_module berth_module = { \
        BERTH_ABI, \
        sizeof(struct berth_module), \
        sizeof(struct berth_plugin), \
        sizeof(struct berth_host), \
        &berth_host_, \
        berth_plugins_, \
        sizeof(berth_plugins_) / sizeof(berth_plugins_[0]), \
        0, \
        BERTH_REVISION, \
        sizeof(struct berth_env), \
        sizeof(struct berth_event_rule), \
        sizeof(struct berth_field), \
        sizeof(struct berth_node_names), \
        sizeof(struct berth_post_filter_result), \
    };

#ifdef __cplusplus
}
#endif
#endif
