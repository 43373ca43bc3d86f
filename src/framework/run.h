/* run.h: runs the plugins of a profile, extension point by extension point, as the specification reads.
 *
 * This is the plain path: one node at a time, every plugin in order. It judges the fast paths, answers explain, and
 * serves preemption's what-if. */
#ifndef FRAMEWORK_RUN_H
#define FRAMEWORK_RUN_H

#include "framework/diagnosis.h"
#include "framework/profile.h"

void cycle_init(struct cycle *cycle, const struct profile *profile, struct cluster *cluster,
                struct pod_info *pod, struct arena *arena);
/* Frees what plugins keep outside the arena; the arena stays the caller's. */
void cycle_release(struct cycle *cycle);
/* The cycle starts over: no plugin was called yet. */
void cycle_reset(struct cycle *cycle);

/* Success, or the status of the first plugin that gates the pod. `first`, which gated it before, is called before the
 * others; NULL: none. */
struct status run_pre_enqueue(const struct profile *profile, const struct pod *pod, bool is_preempting,
                              const struct plugin *first, struct arena *arena);
/* `blamed` gets the plugins that narrowed the nodes (mask by plugin index). Plugins that are skipped already are not
 * called; the same holds for PreScore. */
struct status run_pre_filter(struct cycle *cycle, struct node_names *ret_names, uint64_t *ret_blamed);
/* The cycle starts over with PreFilter of all plugins, whose status is known: filters need what it leaves. */
void run_pre_filter_again(struct cycle *cycle);
struct status run_filters(struct cycle *cycle, struct node_view node);
/* Those that judge nothing but the room of the node, in a cycle of their own. */
struct status run_room_filters(struct cycle *cycle, struct node_view node);
/* With and without the pods nominated to the node that are at least as important as this pod. */
struct status run_filters_nominated(struct cycle *cycle, uint32_t row);
/* Tells the probe of a call that is not repeated: all plugins returned Unschedulable. */
void report_post_filter_again(struct cycle *cycle);
struct status run_post_filter(struct cycle *cycle, struct diagnosis *diagnosis,
                              struct post_filter_result *ret);
/* Does the row have nominated pods whose resources this pod must leave free? */
bool row_has_rivals(const struct cluster *cluster, uint32_t row, const struct pod_info *pod);
/* Adds those pods to the overlay of the view and to what plugins count, and removes them again. */
void run_add_rivals(struct cycle *cycle, struct node_view node, struct node_overlay *overlay);
void run_remove_rivals(struct cycle *cycle, struct node_view node, struct node_overlay *overlay);
/* The filters on the overlay with those pods added; the overlay is as before when it returns. */
struct status run_filters_with_rivals(struct cycle *cycle, uint32_t row, struct node_overlay *overlay);
/* add_pod and remove_pod of all plugins that were not skipped. */
void run_add_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node);
void run_remove_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node);

/* Scores of the feasible rows: scores[i * plugins + p] is the weighted score of the p-th score plugin in order (skipped
 * ones hold 0, see cycle->skip_score; NULL: not wanted), totals[i] the sum. Arena-owned. */
struct score_table {
    struct row_list rows;
    uint32_t plugins;
    bool at_once; /* plugins that can score all nodes at once do */
    int64_t *scores, *totals;
};
struct status run_scores(struct cycle *cycle, struct row_list rows, struct score_table *ret);
/* The two parts of it: PreScore, and then Score, which adds to the totals. */
struct status run_pre_score(struct cycle *cycle);
struct status run_scorers(struct cycle *cycle, struct score_table *table);

struct status run_reserve(struct cycle *cycle, uint32_t row);
void run_unreserve(struct cycle *cycle, uint32_t row);
/* The plugins that the pod waits for at Permit, each for a time of its own. */
struct permit_wait {
    uint64_t plugins;                /* by index */
    int64_t timeout_ms[PLUGINS_MAX]; /* of those */
};
struct status run_permit(struct cycle *cycle, uint32_t row, struct permit_wait *ret);
/* Finds out which plugins have something to do at PreBind. Success: some; Skip: none; Error. */
struct status run_pre_bind_pre_flights(struct cycle *cycle, uint32_t row);
/* Wait: call again with the same cycle and `resume`, which is 0 at first. */
struct status run_pre_bind(struct cycle *cycle, uint32_t row, uint32_t *resume);
struct status run_bind(struct cycle *cycle, uint32_t row, uint32_t *resume);
void run_post_bind(struct cycle *cycle, uint32_t row);

/* Feasible rows of the cycle over all nodes, and a diagnosis of the others. Error: a plugin failed. */
struct evaluation {
    struct status pre_filter; /* Success, or why not; then rows are empty */
    struct node_names names;
    uint64_t
        narrowed_by; /* the plugins that left these nodes, by index in the profile; 0: all nodes are left */
    uint32_t *feasible; /* in node order */
    uint32_t feasible_len;
    uint32_t own_nomination; /* the pod's own nominated node when it is feasible, else ROW_NONE */
    uint32_t examined;       /* how many nodes were looked at, apart from a nominated one that is feasible */
    struct status error;     /* of the first plugin that failed, else Success */
    struct diagnosis diagnosis;
};
/* Runs PreFilter and Filter, starting at position `start` of the order, until there are enough feasible nodes. A pod
 * whose own nominated node is feasible needs no other, unless every node is wanted. */
/* The node that the pod is nominated to; ROW_NONE: none that is there. */
uint32_t run_own_nomination(const struct cycle *cycle);
void run_evaluation(struct cycle *cycle, uint32_t start, int32_t percentage, struct evaluation *ret);
/* How many feasible nodes are enough: percentageOfNodesToScore with its adaptive default (0); EVERY_NODE: all. A
 * profile without scorers needs one, unless an extender looks at them. */
uint32_t enough_nodes(const struct profile *profile, uint32_t all_nodes, int32_t percentage);
#define EVERY_NODE (-1)

#endif
