/* explain.h: how the scheduler would evaluate one pod, on every node.
 *
 * It is evaluated on the plain path with all nodes, independently of the fast paths. No pod is placed or evicted. The
 * time of each plugin is measured. */
#ifndef WHATIF_EXPLAIN_H
#define WHATIF_EXPLAIN_H

#include "extender/extender.h"
#include "framework/probe.h"
#include "framework/run.h"
#include "preempt/preempt.h"
#include "whatif/rejections.h"

/* What a plugin of the profile took. */
struct explain_cost {
    uint32_t points; /* where it was called: 1 << enum probe_point */
    uint64_t calls;
    int64_t ns;
    /* What a running scheduler has sampled of it since its start; no calls: nothing. */
    uint64_t sampled_calls;
    int64_t sampled_ns;
};

/* An extender of the configuration. */
struct explain_extender {
    struct str url;
    bool is_called;              /* by this evaluation, where it is interested in the pod */
    struct extender_share since; /* all its requests: of this evaluation, or of a running scheduler */
};

struct explain_options {
    int64_t now_ns;        /* since 1970; claims have a time after which they are overdue */
    int64_t wall_ahead_ns; /* the time of day is that much later */
    /* A scheduler runs with these plugins: those of shared objects are not called at PostFilter, where they may act. */
    bool live;
    /* The attempt would begin now: plugins that observe are told so. Nothing else would happen before it. */
    bool begins;
    bool is_preempting; /* the pod's victims are being evicted */
    /* Also a pod whose resize is deferred is judged as if it had no node yet; else, would others leave for it? */
    bool as_if_pending;
    /* As many nodes as a decision with this percentageOfNodesToScore would look at; not set: all of them. */
    struct opt_int32 percentage;
    /* The file that a plugin is from; NULL: it is built in. The function may be NULL: all are. */
    const char *(*file_of)(const struct plugin *plugin);
    const struct http_extenders
        *extenders;               /* those of the profile, for their names and times; NULL: it has none */
    bool calls_extenders;         /* else they are only named */
    struct opt_int32 pods_before; /* waiting pods that come first in the queue; not set: not known */
    const struct pod *pod_before; /* the first of them */
    bool has_turn;                /* a simulation of the input decides the pod, too */
    bool timing;                  /* the printers show what plugins cost */
    bool skips_preemption;        /* no victims are looked for */
    struct str node;              /* every plugin is asked about this node, which is there; empty: none */
};

struct explanation {
    struct explain_options options;
    const struct profile *profile;
    struct cluster *cluster;
    struct arena arena;      /* holds everything below */
    struct pod pending_copy; /* a pod that is on a node, as if it were not; and its place in the model */
    struct pod_info pending_info;
    bool as_if_pending;
    uint32_t present_row; /* the node that the pod has; ROW_NONE: none */
    struct profile lone;  /* the profile without probe, and without extenders that are not called */
    struct cycle cycle;
    struct status pre_enqueue; /* not Success: a gate holds the pod back */
    struct evaluation evaluation;
    struct score_table scores; /* of the feasible nodes */
    uint32_t *places;          /* by row: where in scores.rows it is, + 1; 0: not feasible */
    struct status score_error; /* Success, or which plugin failed */
    struct status failure;     /* that ended the attempt, or Success */
    struct str failed_by;      /* "plugin NodeName", "extender http://..." */
    uint32_t *rows;            /* every node, by name */
    uint32_t rows_len;
    uint32_t *best; /* feasible rows of the highest total, by name */
    uint32_t best_len;
    struct row_why *why_of; /* by row, of nodes that were rejected */
    struct row_why pod_why; /* of a pod that PreFilter rejected */
    struct rejected_groups rejections;
    uint32_t asked_row;            /* of options.node; ROW_NONE: none */
    struct filter_answer *answers; /* of every filter about it; none where PreFilter rejected the pod */
    uint32_t answers_len;
    struct str message; /* why no node will do; empty when one will */
    bool preempts;      /* preemption was tried */
    struct preemption preemption;
    const char *skipped_plugin; /* a PostFilter plugin that was not called; NULL: none */

    struct probe probe;
    struct explain_cost costs[PLUGINS_MAX]; /* by index in the profile */
    int64_t clock_ns;                       /* what reading the clock adds to a measured call */
    int64_t took_ns;                        /* altogether */
    int64_t begun_ns;
    struct explain_extender *extenders; /* all that there are */
    uint32_t extenders_len;
};

/* The profile's probe is not called. A pod that is on a node is evaluated as if it were pending and its node had its
 * resources free. The cluster is as before, and so is what will be decided. */
void explain_pod(struct explanation *ret, const struct profile *profile, struct cluster *cluster,
                 struct pod_info *pod, const struct explain_options *options);
void explanation_release(struct explanation *explanation);
/* The file that a plugin is from; NULL: it is built in. */
const char *explain_file(const struct explanation *explanation, const struct plugin *plugin);
/* The node was neither rejected nor chosen: enough others can take the pod, or the attempt ended in an error. */
bool explain_is_unexamined(const struct explanation *explanation, uint32_t row);
bool explain_is_best(const struct explanation *explanation, uint32_t row);
/* The rows of all nodes, by name, in the arena. */
uint32_t *explain_rows(struct cluster *cluster, struct arena *arena, uint32_t *ret_len);

#endif
