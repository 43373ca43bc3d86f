/* topology_counts.h: how many pods the terms of a pod reach, per topology domain.
 *
 * PodTopologySpread and InterPodAffinity count pods by term: which pods (a selector and namespaces, or terms of theirs
 * that select the incoming pod), by what weight, per domain of which key, for what purpose. Here they are counted:
 *
 *     terms ──▶ pods that match ──▶ nodes that count ──▶ domains of the key ──▶ sums
 *
 * - over all rows, where pods are found by label (cluster/match_index.h);
 * - over rows that changed, where each distinct set of labels or terms is matched once;
 * - for a what-if, where one pod joins or leaves a node, and the opposite change undoes it.
 *
 * Sums of one purpose and key share a counter. A rule (index/topology_rule.h) turns sums into a status or a score. */
#ifndef INDEX_TOPOLOGY_COUNTS_H
#define INDEX_TOPOLOGY_COUNTS_H

#include "index/domain_counter.h"
#include "index/row_match.h"

/* Pods that a term of the incoming pod selects. */
struct counted_term {
    const struct pod_term *term;
    const struct pod_terms *all; /* not NULL: a pod counts where all of these select it */
    uint32_t purpose;            /* the plugin's */
    int32_t weight;
    bool owns_selector; /* it was compiled for these counts */
};

/* Pods whose own terms select the incoming pod. */
struct selecting_terms {
    size_t list; /* offset in struct term_owner */
    uint32_t purpose;
    int32_t weight; /* 0: each term's own */
};

struct topology_counter {
    uint32_t purpose;
    sym key;
    struct domain_counter sums;
    /* Of spread constraints: which pods and nodes count. */
    bool skips_terminating;
    bool counts_none;                  /* but a what-if does */
    bool honor_affinity, honor_taints; /* of the incoming pod */
    bool per_node;                     /* a node's own pods, whatever its domain; every node counts */
    bool missing_is_empty;             /* a node without the label is in the domain of the empty value */
    bool is_touched;                   /* a pod was counted in a domain */
    bool counts_some;                  /* while rows are counted again: some nodes do not count */
    int64_t row_value;                 /* of the row being counted */
    int32_t *values;                   /* by row, while all rows are counted */
};

/* What a pod adds to counters, by its labels or by its terms. */
struct addition {
    uint32_t counter;
    int32_t value;
};

struct addition_list {
    uint32_t epoch; /* of the owner that it is about; 0: unknown */
    uint32_t first, len;
};

struct addition_memo {
    VEC(struct addition_list) lists; /* by number of the owner */
    VEC(struct addition) pool;
};

struct topology_counts {
    struct cluster *cluster; /* NULL: not in use */
    const struct pod_info *pod;
    struct arena *arena;
    bool keeps_rows; /* rows will be counted again */

    /* Set by the rule. */
    void *data;
    const uint64_t *depends_on; /* a version of the cluster: the terms change with it; NULL: they do not */
    bool is_needed;             /* there is something to check even while no pod matches */
    bool all_keys;              /* only nodes that have every key count */

    VEC(struct topology_counter) counters;
    struct idmap places; /* of the counters, by key and purpose: number + 1, once there are more than a few */
    VEC(struct counted_term) terms;
    struct selecting_terms selecting[2];
    uint32_t selecting_len;
    bool selecting_anti;        /* these are required anti-affinity */
    struct row_selector wanted; /* the nodes that the pod selects */
    bool has_wanted;
    struct addition_memo by_labels, by_terms;
    VEC(uint32_t) row_inputs;
};

/* Memory comes from the arena, apart from what topology_counts_release() frees. */
void topology_counts_init(struct topology_counts *counts, struct cluster *cluster, const struct pod_info *pod,
                          struct arena *arena, bool keeps_rows);
void topology_counts_release(struct topology_counts *counts);

/* ---- for rules: which terms ---- */
/* The counter, which is made if it is missing; valid until the next one is made. Counters that rules do not ask for are
 * made when a pod is counted in them. */
struct topology_counter *topology_counter_get(struct topology_counts *counts, uint32_t purpose, sym key);
/* Do all terms of the incoming pod select these labels? */
bool pod_terms_all_match(const struct cluster *cluster, const struct pod_terms *terms,
                         const struct label_owner *owner);
/* For counters that honor the incoming pod's node affinity. */
void topology_counts_honor_affinity(struct topology_counts *counts);
void topology_counts_add(struct topology_counts *counts, struct counted_term term);
/* The same for pods of the incoming pod's namespace and a selector that is compiled for these counts. */
void topology_counts_add_selector(struct topology_counts *counts, const struct label_selector *selector,
                                  uint32_t purpose, sym key);
void topology_counts_add_selecting(struct topology_counts *counts, struct selecting_terms terms);

/* ---- counting ---- */
/* Counts all rows, or counts these rows again. False: the counters no longer suffice, count all anew. */
bool topology_counts_fill(struct topology_counts *counts, struct row_span span, struct arena *scratch);
/* What if the pod joined the node (delta 1), or left it (-1)? */
void topology_counts_change(struct topology_counts *counts, const struct pod_info *pod, uint32_t row,
                            int delta);
/* Changes when all rows must be counted anew. */
uint64_t topology_counts_version(const struct topology_counts *counts);
/* Is there nothing to check or to score? */
bool topology_counts_are_idle(const struct topology_counts *counts);

/* ---- reading: an input per counter stands for the domain of a row, or its sum (index/table.h) ---- */
void topology_counts_inputs(const struct topology_counts *counts, struct row_span span, uint32_t **columns);
/* The inputs of one row; valid until the next call. */
const uint32_t *topology_counts_row(struct topology_counts *counts, uint32_t row);

static inline int64_t topology_count(const struct topology_counts *counts, uint32_t counter, uint32_t input)
{
    return domain_counter_resolve(&counts->counters.items[counter].sums, input);
}

#endif
