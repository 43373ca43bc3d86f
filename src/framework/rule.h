/* rule.h: a scheduling rule about one column of a node, written once.
 *
 *     judge(pod, value) ──▶ a filter's rule: 0, or which of its rejections; a scorer's rule: the raw score
 *
 * `pod` is what the rule needs to know about the pod (its prepare() makes it once), `value` is what the node has in the
 * column that the rule names. From the judge follow
 *
 *     PreFilter, Filter of one node, also a what-if       rule_pre_filter, rule_filter
 *     PreScore, Score of one node                         rule_pre_score, rule_score
 *     filter and scores of all rows, or of changed ones   index/rule_rows.h: each distinct value is judged once
 *     the status of a rejected row                        rule_status
 *     the queueing hint: rejected before, not after       rule_hint
 *
 * A plugin names the functions that it wants in its descriptor, as callbacks, and its rules as filter_rule and
 * score_rule. Both are about the same column. */
#ifndef FRAMEWORK_RULE_H
#define FRAMEWORK_RULE_H

#include "framework/plugin.h"

enum node_column {
    COLUMN_NAME, /* pods that name a node are decided on the plain path: no table has this column */
    COLUMN_UNSCHEDULABLE,
    COLUMN_TAINTS,
    COLUMN_LABELS, /* with the name, for index/row_match.h */
    COLUMN_DECLARED_FEATURES,
    COLUMN_PORTS,  /* host ports in use */
    COLUMN_IMAGES, /* distinct names */
};

/* Can the value be read from a Node object, without the model? */
static inline bool rule_column_is_of_object(enum node_column column)
{
    return column != COLUMN_LABELS && column != COLUMN_PORTS && column != COLUMN_IMAGES;
}

/* What a node has in a column. All zero is a node that has nothing there. */
union column_value {
    struct str name;
    bool unschedulable;
    struct {
        const struct taint *items;
        uint32_t len;
    } taints;
    struct {
        const struct cluster *cluster;
        uint32_t row;
    } labels;
    const struct str_list *declared_features;
    struct port_span ports;
    struct {
        const sym *items;
        size_t len;
    } images;
};

/* The pod that a rule is prepared for. */
struct rule_subject {
    struct cluster *cluster;
    const struct pod *pod;
    const struct pod_class *class;
    const void *self;      /* what the plugin's init() made */
    struct arena *arena;   /* for what prepare() makes */
    struct status failure; /* set by prepare(): the pod cannot be judged */
    bool is_wide;          /* set by prepare(): answers may need more than the 32 bits that tables have */
};

/* All rows. */
struct rule_scan {
    struct cluster *cluster;
    uint32_t rows;
    struct arena *scratch;
};

enum { RULE_REJECTIONS_MAX = 2 };

struct rule_rejection {
    enum status_code code;
    struct str reason;
};

struct node_rule {
    enum node_column column;
    /* What judge() needs to know about the pod. NULL: the rule has nothing to say, as if it gave 0 for every node. No
     * function: the struct pod itself. */
    const void *(*prepare)(struct rule_subject *subject);
    /* Gives back what prepare() took besides memory of the arena. */
    void (*release)(void *pod, struct cluster *cluster);
    /* A filter's rule: 0, or the number of a rejection, from 1. A scorer's: the raw score. */
    int64_t (*judge)(const void *pod, union column_value value);
    struct rule_rejection rejections[RULE_REJECTIONS_MAX];
    /* The error of a cycle in which PreFilter (PreScore) did not run. NULL: the rule is prepared when needed. */
    const char *unprepared;
    /* Of a scorer's rule whose prepare() reads more than the pod: changes when it must be called again. */
    uint64_t (*version)(const struct cluster *cluster, const void *pod);
    /* judge() of all rows at once, into zeroes; for a column with about as many values as rows. */
    void (*scan)(const void *pod, const struct rule_scan *scan, int32_t *ret);
};

/* ---- callbacks ---- */
struct status rule_pre_filter(struct cycle *cycle, struct node_names *narrow);
/* Says nothing, for a plugin that is called at PreFilter in the reference and does nothing there. */
struct status pre_filter_all_nodes(struct cycle *cycle, struct node_names *narrow);
struct status rule_filter(struct cycle *cycle, struct node_view node);
struct status rule_pre_score(struct cycle *cycle);
struct status rule_score(struct cycle *cycle, struct node_view node, int64_t *ret);
/* For a plugin one of whose rules has release(). */
void rule_forget(void *state);
/* For events of nodes: the filter's rule rejects the node as it was (or there was none), and no longer does. Not for
 * labels, ports and images: these columns are of the model, which does not have the node as it was. */
enum hint rule_hint(const struct hint_context *context, const struct pod *pod,
                    const struct cluster_event *event);

/* ---- for what is built on rules ---- */
const void *rule_prepare(const struct node_rule *rule, struct rule_subject *subject);
union column_value rule_value(enum node_column column, struct node_view node);
/* The status of what a filter's rule said. */
struct status rule_status(const struct node_rule *rule, int64_t answer);

#endif
