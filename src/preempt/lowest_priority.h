/* lowest_priority.h: the lowest priority of a pod on each node, so that a node without possible victims costs one
 * comparison.
 *
 * Repaired from the cluster's log: an update reads only rows that changed since the last one. */
#ifndef PREEMPT_LOWEST_PRIORITY_H
#define PREEMPT_LOWEST_PRIORITY_H

#include "cluster/cluster.h"

struct lowest_priority {
    struct arena *arena; /* lives as long as this does */
    int32_t *priority;   /* by row; INT32_MAX: no pods */
    uint32_t rows, cap;
    uint64_t seq; /* how far the log is read */
};

/* A zeroed struct with an arena is ready for the first update. */
void lowest_priority_update(struct lowest_priority *lowest, const struct cluster *cluster);

#endif
