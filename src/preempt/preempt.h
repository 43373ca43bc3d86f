/* preempt.h: a pod that fits nowhere may take the place of less important pods.
 *
 * preempt_find() chooses the node and the victims; it evicts no pod. Statuses, texts and ranking are those of
 * kube-scheduler's DefaultPreemption. */
#ifndef PREEMPT_PREEMPT_H
#define PREEMPT_PREEMPT_H

#include "framework/run.h"
#include "preempt/lowest_priority.h"

struct default_preemption_args {
    int32_t min_candidate_nodes_percentage;
    int32_t min_candidate_nodes_absolute;
};
extern const struct plugin_args_kind default_preemption_args_kind;

/* A node where the pod fits once the victims are gone. */
struct preempt_candidate {
    uint32_t row;
    struct pod_info **victims; /* most important first, at least one; an extender may repeat one */
    uint32_t victims_len;
    int64_t pdb_violations;
};

/* Everything in it lives in the cycle's arena. */
struct preemption {
    struct status status;
    struct str message;    /* begins with "preemption: "; empty with Success in some releases */
    bool clear_nomination; /* no node can be freed: an older nomination of the pod is void */
    struct preempt_candidate *candidates; /* those that break no budget come first */
    uint32_t candidates_len;
    uint32_t *top; /* rows that the ranking leaves equal at the top, by name */
    uint32_t top_len;
    uint32_t chosen; /* one of them, or ROW_NONE */
};

struct preempt_options {
    bool all_candidates;                  /* look at every node, else stop when there are enough candidates */
    uint32_t offset;                      /* where to begin; any number */
    int32_t min_percentage, min_absolute; /* how many candidates are enough */
    struct lowest_priority *lowest;       /* kept between calls to save time; NULL: none */
};

/* `diagnosis` says why the pod fits nowhere. The cluster is as before when this returns. */
void preempt_find(struct cycle *cycle, const struct diagnosis *diagnosis, struct preempt_options options,
                  struct preemption *ret);
/* The candidate of a row, or NULL. */
const struct preempt_candidate *preempt_candidate_of(const struct preemption *preemption, uint32_t row);
/* Extenders replace candidates and their victims by those that they leave, perhaps none. Error: one failed that is not
 * ignorable. */
struct status preempt_call_extenders(struct cycle *cycle, struct preempt_candidate **candidates,
                                     uint32_t *len);
/* Did PostFilter, which ended with this status, call DefaultPreemption? */
bool preempt_was_tried(const struct profile *profile, struct status status);
/* Fills in top and chosen from the candidates. */
void preempt_rank(const struct cluster *cluster, struct arena *arena, struct preemption *preemption);

#endif
