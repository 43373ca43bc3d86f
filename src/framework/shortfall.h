/* shortfall.h: what a node lacks for a pod, in detail: the reasons of a rejection with their numbers.
 *
 * A status says "Insufficient cpu" for every node that is short of it. Explanations want to know by how much: a plugin
 * that rejects nodes has the callback `explain`, which is called for a node that its filter rejects, and adds what the
 * node lacks, an entry for each thing. The sentence says what the pod needs; what the node has instead is in the other
 * members, so that nodes that lack the same can be told in one sentence.
 *
 * A pod may want thousands of things that each of thousands of nodes lacks: of a plugin, the first SHORTFALLS_MAX are
 * listed for a node, and the others are counted in one more entry. Selectors are cut at SHORTFALL_TEXT_MAX. */
#ifndef FRAMEWORK_SHORTFALL_H
#define FRAMEWORK_SHORTFALL_H

#include "framework/plugin.h"

enum { SHORTFALLS_MAX = 32, SHORTFALL_TEXT_MAX = 500 };

struct shortfall {
    const struct plugin *plugin; /* NULL: none (the set of nodes that PreFilter left) */
    const char *reason;  /* which kind it is, as in docs/OUTPUT.md; NULL: of a plugin that has no details */
    struct str sentence; /* "nodeSelector wants disk=ssd"; empty: amounts say it */
    struct str resource; /* an amount; empty: none */
    int64_t needs, free, allocatable;
    struct str key, wants, has; /* of a label and the like; an empty `has`: the node has none */
    bool shows_has;             /* the sentence is followed by what the node has */
    const struct meta *pod;     /* the one that is in the way; NULL: none */
    struct opt_int32 skew;      /* of a spread constraint: with the pod here */
    int32_t max_skew;           /* then: what is allowed */
    bool counts_nominated;      /* only with the pods that are nominated to the node */
};

struct shortfall_list {
    struct arena *arena;
    struct shortfall *items;
    uint32_t len, cap;
    uint32_t from, more;    /* of the plugin that is called: its first entry, and how many are not listed */
    struct shortfall spare; /* an entry that is not listed */
    struct idmap memos[PLUGINS_MAX]; /* shortfall_memo() */
};

void shortfall_list_release(struct shortfall_list *list);
/* Of the plugin that is called: what it found for one node and can use for others. */
static inline struct idmap *shortfall_memo(struct shortfall_list *list, const struct cycle *cycle)
{
    return &list->memos[cycle->current->index];
}
/* A new entry, for the caller to fill in; valid until the next one. */
struct shortfall *shortfall_add(struct shortfall_list *list, const char *reason);
/* Are there as many as are listed? Then this counts the entry that the caller would add, whose texts are not needed. */
bool shortfall_is_left_out(struct shortfall_list *list);
/* The amount of a resource that is short. */
struct shortfall *shortfall_add_amount(struct shortfall_list *list, struct str resource, int64_t needs,
                                       int64_t free, int64_t allocatable);
/* A label that does not have the value that is wanted; `labels`: of the node. */
struct shortfall *shortfall_add_label(struct shortfall_list *list, const char *reason, struct str key,
                                      struct str wants, const struct str_map *labels);
/* The requirements that the node does not meet, of the term that it meets best. `subject` wants them. */
void shortfall_add_requirements(struct shortfall_list *list, const char *reason, const char *subject,
                                const struct node_selector *selector, const struct node *node);

/* "app=web,tier In (a, b)"; "any labels" for an empty selector, "labels that no pod has" for none; "app=web,..." if
 * it is long. */
struct str label_selector_text(const struct label_selector *selector, struct arena *arena);

/* ---- asking plugins ---- */
/* What one filter says about a node. */
struct filter_answer {
    const struct plugin_instance *instance;
    bool is_skipped; /* its PreFilter had nothing to check for this pod */
    struct status status;
    const struct shortfall *why; /* arena-owned */
    uint32_t why_len;
};

/* What the node lacks, which was rejected with this status. In a cycle in which PreFilter ran. The entries are
 * arena-owned. */
void shortfalls_of(struct cycle *cycle, uint32_t row, struct status status, struct shortfall_list *list);
/* The same of a node that is not in the set that PreFilter left, by the filters of the plugins that chose the set. */
void shortfalls_of_left_out(struct cycle *cycle, uint32_t row, uint64_t narrowed_by, struct status status,
                            struct shortfall_list *list);
/* What the pod lacks, which PreFilter rejected with this status; nothing, if the plugin has no details. */
void shortfalls_of_pod(struct cycle *cycle, struct status status, struct shortfall_list *list);
/* Every filter of the profile is asked, not only up to the first that rejects the node. */
struct filter_answer *shortfalls_of_all(struct cycle *cycle, uint32_t row, uint32_t *ret_len);

#endif
