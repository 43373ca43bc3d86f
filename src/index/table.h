/* table.h: everything that is known about one class of pods and every node, row by row.
 *
 *     row       0    1    2    3
 *     rejection 0    2    0    0      which node-local filter rejects it, and how (0: none)
 *     local    97    -   85   97      weighted scores that depend on that node alone
 *     inputs   z1    -   z2   z1      what else a filter or score depends on: a domain, a count, a preference
 *
 * Filters and scorers that look beyond the node (spreading, affinity) and scorers that are normalised over the feasible
 * nodes are functions of the inputs: rows with the same inputs form a group and are judged together, once.
 *
 * A plugin joins with rules (framework/rule.h), or with a struct row_forms. Forms fill the columns for all rows (a
 * scan) or for the few that changed (a repair); both must give what the plugin's plain callbacks give.
 * tests/property holds them to it. A plugin that joins without forms is called row by row, in each decision anew,
 * unless it skips pods of this class. Pods with volumes are never skipped as a class: their claims are their own. */
#ifndef INDEX_TABLE_H
#define INDEX_TABLE_H

#include "framework/plugin.h"

enum { TABLE_INPUTS_MAX = 32 };
#define REJECTION_ABSENT UINT32_MAX /* the row has no node */

/* Rows to fill: a list, or the first `len` rows where rows is NULL. */
struct row_span {
    const uint32_t *rows;
    uint32_t len;
};

static inline uint32_t span_row(struct row_span span, uint32_t i)
{
    return span.rows ? span.rows[i] : i;
}

struct table_part {
    const struct plugin_instance *instance;
    const struct row_forms *forms;
    void *state;                  /* the plugin's, in the table's arena */
    uint32_t first_input, inputs; /* its columns of inputs */
    int32_t weight;               /* of its scores, in this table */
    bool filters, scores;         /* fills rejections; adds to local scores */
    bool filters_groups, scores_groups;
    bool has_version; /* forms->version() must be compared; set before forms->prepare() */
};

/* A way in which rows are rejected. Equal numbers give equal statuses. */
struct rejection {
    struct table_part *part;
    uint32_t detail; /* the plugin's; not 0 */
};

/* Some of a table's parts, in the order in which they run. */
struct part_list {
    uint8_t items[PLUGINS_MAX]; /* places in table->parts */
    uint32_t len;
};

#define table_parts_for(table, list, part) \
    for (uint32_t part##_at = 0; part##_at < (list).len; part##_at++) \
        for (struct table_part *part = (struct table_part *)&(table)->parts[(list).items[part##_at]]; part; \
             part = NULL)

struct table {
    struct cluster *cluster;
    const struct profile *profile;
    struct pod_info *pod; /* one of the class */
    struct arena arena;
    struct arena *scratch;   /* for what is needed only while the table is made; NULL: its own */
    uint32_t rows_cap, rows; /* size of the columns; rows in use */
    uint32_t *rejection;
    int32_t *local;
    uint32_t *inputs[TABLE_INPUTS_MAX];
    uint32_t inputs_len, inputs_allocated;
    VEC(struct rejection) rejections; /* [0] is unused */
    struct table_part parts[PLUGINS_MAX];
    uint32_t parts_len;
    struct part_list filters, scores; /* in the order of the Filter and of the Score point */
    /* Those of them that have something to do; most parts of a table have not. */
    struct part_list versioned, counting, filtering, filtering_groups, scoring, with_inputs;
    uint64_t per_node; /* plugins without row forms that take part, by index in the profile */
    uint64_t
        zero_scores; /* likewise, those that take part with a score of 0 for every node: they are not called */
    uint64_t version;
    bool is_reweighted; /* the weights are not those of the configuration */
    bool must_rebuild;  /* a form found that its inputs no longer suffice */
};

/* A group of rows with the same inputs, as forms see it. */
struct group_view {
    const uint32_t *inputs; /* of all parts; a part's own begin at its first_input */
    uint32_t rows;          /* feasible ones */
};

struct row_forms {
    /* Sets up part->state and says what the part does (its flags, how many inputs). False: this pod needs the plain
     * path. Must be there. */
    bool (*prepare)(struct table *table, struct table_part *part);
    /* Frees what the state holds outside the table's arena. */
    void (*release)(struct table *table, struct table_part *part);
    /* Changes when the part must be prepared anew though no row changed. */
    uint64_t (*version)(const struct table *table, const struct table_part *part);
    /* Takes in what rows contribute to sums over nodes. Comes before the rest; over all rows it may still change how
     * many inputs the part has, over some it sets must_rebuild where they no longer suffice. */
    void (*count)(struct table *table, struct table_part *part, struct row_span span);
    void (*filter)(struct table *table, struct table_part *part, struct row_span span);
    void (*score)(struct table *table, struct table_part *part, struct row_span span);
    void (*input)(struct table *table, struct table_part *part, struct row_span span);
    /* 0, or the detail of a rejection. */
    uint32_t (*group_filter)(struct table *table, struct table_part *part, const uint32_t *inputs);
    /* The feasible groups of this decision, before they are scored. */
    void (*group_begin)(struct table *table, struct table_part *part, const struct group_view *groups,
                        uint32_t len);
    int64_t (*group_score)(struct table *table, struct table_part *part, const uint32_t *inputs);
    /* The status that the plain filter gives a row that was rejected with that detail. */
    struct status (*explain)(struct table *table, struct table_part *part, struct cycle *cycle, uint32_t row,
                             uint32_t detail);
};

/* Prepares the table for a pod; columns are not filled yet. False: the pod needs the plain path. */
bool table_prepare(struct table *table, struct cluster *cluster, const struct profile *profile,
                   struct pod_info *pod, const struct score_weights *weights);
/* Was it prepared with these weights? */
bool table_has_weights(const struct table *table, const struct score_weights *weights);
/* Is what was prepared still true? */
bool table_is_current(const struct table *table);
/* Fills the columns of these rows. False: the pod needs the plain path after all. */
bool table_fill(struct table *table, struct row_span span);
void table_release(struct table *table);

/* Memory that lasts until the table has been filled. */
static inline struct arena *table_scratch(struct table *table)
{
    return table->scratch ? table->scratch : &table->arena;
}

uint32_t table_rejection(struct table *table, struct table_part *part, uint32_t detail);

/* The row is rejected, unless an earlier plugin rejected it. */
static inline void table_reject(struct table *table, struct table_part *part, uint32_t row, uint32_t detail)
{
    if (!table->rejection[row])
        table->rejection[row] = table_rejection(table, part, detail);
}

/* ---- inputs that stand for a topology domain ----
 * A domain with several nodes stands for itself: what is summed up in it is looked up when a group is judged. A domain
 * with one node (a host name) is replaced by its sum: thousands of hosts with the same sum are one group. */
#define INPUT_NONE 0u
#define INPUT_VALUE 0x80000000u
#define INPUT_BIAS 0x40000000

static inline bool input_is_value(uint32_t input)
{
    return input & INPUT_VALUE;
}

static inline int64_t input_value(uint32_t input)
{
    return (int64_t)(input & ~INPUT_VALUE) - INPUT_BIAS;
}

/* False: out of range. */
static inline bool input_from_value(int64_t value, uint32_t *ret)
{
    if (value < -INPUT_BIAS || value >= INPUT_BIAS)
        return false;
    *ret = INPUT_VALUE | (uint32_t)(value + INPUT_BIAS);
    return true;
}

#endif
