/* usage.h: how much of each resource the nodes have and have in use, at a moment. */
#ifndef INPUT_USAGE_H
#define INPUT_USAGE_H

#include "cluster/cluster.h"

struct usage {
    int64_t **alloc, **used; /* [resource][row] */
    uint32_t resources, rows;
    struct absent_uses *absent; /* by row */
};

/* All of it in the arena. */
void usage_take(const struct cluster *cluster, struct arena *arena, struct usage *ret);

/* Resources and rows that came later have nothing. */
static inline int64_t usage_used(const struct usage *usage, uint32_t resource, uint32_t row)
{
    return resource < usage->resources && row < usage->rows ? usage->used[resource][row] : 0;
}
static inline int64_t usage_alloc(const struct usage *usage, uint32_t resource, uint32_t row)
{
    return resource < usage->resources && row < usage->rows ? usage->alloc[resource][row] : 0;
}

#endif
