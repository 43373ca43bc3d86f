/* lowest.h: the lowest priority on each node, so that a node where nobody can be preempted costs one comparison.
 *
 * Repaired from the cluster's log: a call looks only at the pods of rows that changed since the last one. */
#ifndef PREEMPT_LOWEST_H
#define PREEMPT_LOWEST_H

#include "cluster/cluster.h"

struct lowest {
    struct arena *arena; /* lives as long as this does */
    int32_t *priority;   /* by row; INT32_MAX: no pods */
    uint32_t rows, cap;
    uint64_t seq; /* how far the log is read */
};

/* A zeroed struct with an arena is ready for the first update. */
void lowest_update(struct lowest *lowest, const struct cluster *cluster);

#endif
