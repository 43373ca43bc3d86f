/* topology_rule.h: a plugin that looks at the pods of topology domains, written once.
 *
 * The plugin says which terms count for its filter and for its score (index/topology_counts.h), and what the sums mean
 * for a node. The callbacks here do the rest, on the plain path (a node at a time, what-ifs included) as in a table (all
 * rows, or those that changed; see index/table.h): both count with the same terms and apply the same rule to the inputs
 * of a node. */
#ifndef INDEX_TOPOLOGY_RULE_H
#define INDEX_TOPOLOGY_RULE_H

#include "index/topology_counts.h"

struct topology_rule {
    struct row_forms forms; /* TOPOLOGY_FORMS; the plugin's `rows` points here */
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
    /* The reference's sentences where Filter runs without PreFilter, and Score without PreScore. */
    const char *no_pre_filter, *no_pre_score;
};

/* The plugin's callbacks. */
void topology_forget(void *state);
struct status topology_pre_filter(struct cycle *cycle, struct node_names *narrow);
void topology_add_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node);
void topology_remove_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node);
struct status topology_filter(struct cycle *cycle, struct node_view node);
struct status topology_pre_score(struct cycle *cycle, struct row_list feasible);
struct status topology_score(struct cycle *cycle, struct node_view node, int64_t *ret);

#define TOPOLOGY_CALLBACKS \
    .forget = topology_forget, .pre_filter = topology_pre_filter, .add_pod = topology_add_pod, \
    .remove_pod = topology_remove_pod, .filter = topology_filter, .pre_score = topology_pre_score, \
    .score = topology_score

bool topology_form_prepare(struct table *table, struct table_part *part);
void topology_form_release(struct table *table, struct table_part *part);
uint64_t topology_form_version(const struct table *table, const struct table_part *part);
void topology_form_count(struct table *table, struct table_part *part, struct row_span span);
void topology_form_input(struct table *table, struct table_part *part, struct row_span span);
uint32_t topology_form_group_filter(struct table *table, struct table_part *part, const uint32_t *inputs);
void topology_form_group_begin(struct table *table, struct table_part *part, const struct group_view *groups,
                               uint32_t len);
int64_t topology_form_group_score(struct table *table, struct table_part *part, const uint32_t *inputs);
struct status topology_form_explain(struct table *table, struct table_part *part, struct cycle *cycle,
                                    uint32_t row, uint32_t detail);

#define TOPOLOGY_FORMS \
    { \
        .prepare = topology_form_prepare, \
        .release = topology_form_release, \
        .version = topology_form_version, \
        .count = topology_form_count, \
        .input = topology_form_input, \
        .group_filter = topology_form_group_filter, \
        .group_begin = topology_form_group_begin, \
        .group_score = topology_form_group_score, \
        .explain = topology_form_explain, \
    }

#endif
