/* topology_rule.h: a plugin that looks at the pods of topology domains, written once.
 *
 * The plugin says which terms count for its filter and for its score (index/topology_counts.h), and what the sums mean
 * for a node. The callbacks here do the rest, on the plain path (a node at a time, what-ifs included) and in a table
 * (all rows, or those that changed; see index/table.h): both count the same terms and apply the same rule to a node. */
#ifndef INDEX_TOPOLOGY_RULE_H
#define INDEX_TOPOLOGY_RULE_H

#include "index/topology_counts.h"

struct topology_rule {
    /* Which terms count. None: the plugin has nothing to do with the pod. `self` is the plugin's. */
    void (*filter_terms)(struct topology_counts *counts, const void *self);
    void (*score_terms)(struct topology_counts *counts, const void *self);
    /* 0, or why a node with these inputs is rejected. */
    uint32_t (*filter)(struct topology_counts *counts, const uint32_t *inputs);
    struct status (*rejection)(uint32_t detail);
    /* The feasible nodes, as groups with the same inputs, before their scores are computed. The counts' inputs begin at
     * `first`. May be NULL. */
    void (*feasible)(struct topology_counts *counts, const struct group_view *groups, uint32_t len,
                     uint32_t first);
    int64_t (*score)(const struct topology_counts *counts, const uint32_t *inputs);
    /* Logs why a node was rejected, with -v=5. May be NULL. */
    void (*log_rejection)(struct topology_counts *counts, const uint32_t *inputs, struct node_view node,
                          const struct pod *pod);
    /* What a node that filter rejects lacks; of a cycle (framework/shortfall.h). */
    void (*explain)(struct cycle *cycle, struct topology_counts *counts, const uint32_t *inputs,
                    struct node_view node, struct shortfall_list *ret);
    /* The reference's sentences where Filter runs without PreFilter, and Score without PreScore. */
    const char *no_pre_filter, *no_pre_score;
};

/* The plugin's callbacks. */
void topology_forget(void *state);
struct status topology_pre_filter(struct cycle *cycle, struct node_names *narrow);
void topology_add_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node);
void topology_remove_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node);
struct status topology_filter(struct cycle *cycle, struct node_view node);
void topology_explain(struct cycle *cycle, struct node_view node, struct shortfall_list *ret);
struct status topology_pre_score(struct cycle *cycle);
struct status topology_score(struct cycle *cycle, struct node_view node, int64_t *ret);

#define TOPOLOGY_CALLBACKS \
    .needs_pre_filter = POINT_BIT(POINT_FILTER), .needs_pre_score = POINT_BIT(POINT_SCORE), \
    .forget = topology_forget, .pre_filter = topology_pre_filter, .add_pod = topology_add_pod, \
    .remove_pod = topology_remove_pod, .filter = topology_filter, .explain = topology_explain, \
    .pre_score = topology_pre_score, .score = topology_score

/* The row forms of every plugin that has such a rule. */
extern const struct row_forms topology_rows;

#endif
