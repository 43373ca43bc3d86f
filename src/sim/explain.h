/* explain.h: everything that the scheduler would think about one pod, on every node.
 *
 * Evaluated on the plain path with all nodes, so it judges the fast ones. Nothing is placed and nobody leaves. */
#ifndef SIM_EXPLAIN_H
#define SIM_EXPLAIN_H

#include "framework/run.h"
#include "preempt/preempt.h"

struct explanation {
    const struct profile *profile;
    struct cluster *cluster;
    struct arena arena; /* holds everything below */
    struct cycle cycle;
    struct status pre_enqueue; /* not Success: a gate holds the pod back */
    struct evaluation evaluation;
    struct score_table scores; /* of the feasible nodes */
    uint32_t *places;          /* by row: where in scores.rows it is, + 1; 0: not feasible */
    struct status score_error; /* Success, or which plugin failed */
    uint32_t *rows;            /* every node, by name */
    uint32_t rows_len;
    uint32_t *best; /* feasible rows of the highest total, by name */
    uint32_t best_len;
    struct str message; /* why no node will do; empty when one will */
    bool preempts;      /* did preemption get its turn? */
    struct preemption preemption;
};

void explain_pod(struct explanation *ret, const struct profile *profile, struct cluster *cluster,
                 struct pod_info *pod);
void explanation_release(struct explanation *explanation);
#endif
