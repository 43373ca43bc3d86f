/* workloads.h: what is known about the workload of each namespace, and about the cluster, in numbers.
 *
 *     attempts and ended pods  ──workloads_attempt(), workloads_gone()──▶  counts of the last `window`, in ten parts
 *     nodes and their pods     ──workloads_survey(), in parts──▶  sums over running pods; use of nodes
 *                              ──workload_value()──▶  a value for each condition, and how many observations it has
 *
 * All of it comes from berth and its clock, and depends on nothing else: a replay computes the same. */
#ifndef STRATEGIES_WORKLOADS_H
#define STRATEGIES_WORKLOADS_H

#include "keyed_hash.h"
#include "load.h"

enum { WORKLOADS_MAX = 1024, WINDOW_PARTS = 10 };

/* Conditions, with the argument that has the threshold, its default, whether a value must be at most that instead of at
 * least, and the words for the value. The first ones are about a namespace, the others about the cluster. */
#define CONDITIONS(X) \
    X(SHORT_RUNNING, "ShortRunning", "shortRunning", 0.5, false, "share of short running pods") \
    X(LONG_RUNNING, "LongRunning", "longRunning", 0.5, false, "share of long running pods") \
    X(CPU_HEAVY, "CPUHeavy", "cpuHeavy", 2, false, "requests of CPU against memory") \
    X(MEMORY_HEAVY, "MemoryHeavy", "memoryHeavy", 2, false, "requests of memory against CPU") \
    X(PENDING, "Pending", "pending", 0.2, false, "share of failed attempts") \
    X(BUSY, "Busy", "busy", 0.7, false, "mean use of nodes") \
    X(IDLE, "Idle", "idle", 0.3, true, "mean use of nodes") \
    X(UNEVEN, "Uneven", "uneven", 0.15, false, "spread of use of nodes") \
    X(SLOW, "Slow", "slow", 10, false, "mean seconds until a pod got a node") \
    X(FAILING, "Failing", "failing", 0.9, true, "share of successful attempts")

enum condition {
#define X(name, text, argument, threshold, is_most, words) CONDITION_##name,
    CONDITIONS(X)
#undef X
        CONDITION_COUNT
};
#define CONDITION_OF_CLUSTER CONDITION_BUSY /* the first */

/* ---- counts of the last time ---- */
enum count { COUNT_PLACED, COUNT_FAILED, COUNT_WAITED_MS, COUNT_ENDED, COUNT_SHORT, COUNT_LONG, COUNT_KINDS };

struct window {
    int64_t part; /* number of the newest part; older ones go back from it */
    int64_t counts[WINDOW_PARTS][COUNT_KINDS];
};

/* ---- a survey: sums over all nodes and their pods ---- */
struct pod_sums {
    double running, long_running, requests[LOAD_RESOURCES];
};
struct node_sums {
    double allocatable[LOAD_RESOURCES], use, squares; /* shares, from 0 to about 1 */
    uint32_t nodes;
};

/* ---- a namespace ---- */
struct workload {
    char *name;
    uint64_t hash;
    struct window window;
    struct pod_sums pods, counted; /* of the last survey; of the one that is under way */
    int64_t used_at;
    void *more; /* the caller's; freed with the rest. NULL at first */
};

struct workloads_options {
    int64_t window_ns, short_ns, long_ns;
};

struct workloads {
    struct workloads_options options;
    struct load load;
    struct window window;               /* of all attempts of the profile */
    struct node_sums nodes, node_count; /* of the last survey; of the one that is under way */
    bool is_surveying;
    uint32_t next; /* the node with which it goes on, by its place among all */
    struct workload *items;
    uint32_t len, slots[2 * WORKLOADS_MAX]; /* hash table of numbers + 1 */
    struct hash_key key;
    int64_t full_until; /* there was no place for a namespace, and will be none before */
    bool (*is_needed)(const struct workload *workload); /* it keeps its place */
};

void workloads_init(struct workloads *workloads, const struct berth_env *env, const char *plugin,
                    const struct workloads_options *options);
void workloads_release(struct workloads *workloads);

/* NULL: not known. */
struct workload *workloads_find(const struct workloads *workloads, struct berth_str name);
/* Made if needed. NULL: too many namespaces are in use. */
struct workload *workloads_get(struct workloads *workloads, struct berth_str name, int64_t now);

void workloads_attempt(struct workloads *workloads, struct workload *workload, bool is_placed,
                       int64_t waited_ns, int64_t now);
void workloads_gone(struct workloads *workloads, const struct berth_pod_info *pod, int64_t now);
/* Looks at nodes and their pods, as many as take less than a millisecond, or at all the rest. The first call begins a
 * survey; one that returns true has ended it, and until then the values are those of the one before. Between two calls
 * the cluster may change: a pod that moves meanwhile may count twice, or not. */
bool workloads_survey(struct workloads *workloads, const struct berth_cluster *cluster, bool all_the_rest,
                      int64_t now);

/* The number of observations that the value is made from. Of the cluster: `workload` is not used. */
double workload_value(const struct workloads *workloads, const struct workload *workload,
                      enum condition condition, int64_t now, double *ret_observations);

#endif
