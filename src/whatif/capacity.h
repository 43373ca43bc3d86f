/* capacity.h: how many more copies of pods fit: where they go, what stops the next one, and what one more node adds.
 *
 *     input ──▶ simulate(): pods that wait have their turn first ──▶ filling: copies until one does not fit
 *                                                                       └─▶ with one more node of each type: again
 *
 * Copies never preempt: the first one that has no node without evicting another pod ends the run. Each template is
 * tried alone, on the cluster as it is, or all of them together in the proportions of their shares. */
#ifndef WHATIF_CAPACITY_H
#define WHATIF_CAPACITY_H

#include "whatif/facts.h"
#include "whatif/filling.h"
#include "whatif/new_node.h"

enum {
    COPIES_MAX = 10000000, /* without another limit */
    TYPES_MAX = 100,       /* of nodes that are tried */
};

struct capacity_options {
    struct sim_options simulate;
    size_t max; /* copies of each template, or sets of them; at most COPIES_MAX */
    bool together;
    const char *const *nodes; /* whose types are tried; none: all of the input */
    size_t nodes_len;
    /* Called now and then; may be NULL. */
    void (*progress)(size_t copies, double seconds);
    struct str closed; /* names of nodes with commas between, which are as if they were cordoned */
};

/* Nodes that reject the next copy and lack the same (whatif/rejections.h). */
struct capacity_rejection {
    enum status_code code;
    struct str plugin; /* empty: PreFilter named other nodes */
    struct str *reasons;
    uint32_t reasons_len, nodes;
    uint32_t example;    /* row of the one that lacks least */
    struct str sentence; /* what they lack */
};

/* The resource that the next copy lacks on most nodes. */
struct capacity_scarce {
    struct str resource; /* empty: no resource stops it */
    int64_t needs;
    uint32_t nodes;     /* that lack it */
    int64_t free, most; /* on these nodes: in all, and on the one with most */
    uint32_t most_row;  /* ROW_NONE: none has any */
};

struct capacity_stop {
    struct str message;   /* as in the condition of the pod; empty: nothing stopped it */
    struct str failed_by; /* whose error that is; empty: it is no error */
    const struct template *template;
    VEC(struct capacity_rejection) rejections; /* of most nodes first */
    struct capacity_scarce scarce;
    uint32_t victims; /* that would have to leave for it */
};

struct capacity_request {
    struct str resource;
    int64_t value;
};

struct capacity_share {
    const struct template *template;
    const struct pod *sample;              /* a copy */
    VEC(struct capacity_request) requests; /* of a copy */
    size_t fits;
    uint32_t *copies; /* by row */
};

/* What one more node of a type adds. */
struct capacity_more {
    struct node_type type;
    size_t *adds; /* by share */
};

struct capacity_run {
    struct capacity_share *shares; /* one, or all templates together */
    uint32_t shares_len;
    size_t sets;
    bool limited; /* ended by `max` */
    struct capacity_stop stop;
    VEC(struct capacity_more) more; /* empty where `max` or an error ended it */
    struct fact_total *totals;      /* as of a simulation; before: without the copies */
    size_t totals_len;
};

struct capacity {
    struct input *input;
    struct simulation simulation; /* of the last run; `after`: with its copies */
    bool together;
    VEC(struct capacity_run) runs;
    node_type_vec types;
    struct load node_files;
    struct arena arena;
};

/* The templates are those of the input. */
int capacity_find(struct capacity *capacity, struct input *input, const struct capacity_options *options,
                  struct error *err);
void capacity_release(struct capacity *capacity);

#endif
