/* usage.c: see usage.h. */
#include "input/usage.h"

void usage_take(const struct cluster *cluster, struct arena *arena, struct usage *ret)
{
    uint32_t rows = (uint32_t)cluster->nodes.len, resources = cluster->col.resources;
    *ret = (struct usage){ .resources = resources, .rows = rows };
    ret->used = arena_array(arena, int64_t *, resources);
    ret->alloc = arena_array(arena, int64_t *, resources);
    for (uint32_t r = 0; r < resources; r++) {
        ret->used[r] = arena_copy(arena, int64_t, cluster->col.used[r], rows, rows);
        ret->alloc[r] = arena_copy(arena, int64_t, cluster->col.alloc[r], rows, rows);
    }
    ret->absent = arena_array(arena, struct absent_uses, rows);
    for (uint32_t row = 0; row < rows; row++)
        ret->absent[row] = cluster_absent_used(cluster, row, arena);
}
