/* lowest_priority.c: see lowest_priority.h. */
#include "preempt/lowest_priority.h"

static int32_t lowest_of(const struct node_entry *node)
{
    int32_t lowest = INT32_MAX;
    vec_for(&node->pods, pod)
        lowest = MIN(lowest, (*pod)->priority);
    return lowest;
}

static void reserve(struct lowest_priority *lowest, uint32_t rows)
{
    if (rows <= lowest->cap)
        return;
    int32_t *wider = arena_array(lowest->arena, int32_t, MAX(rows, lowest->cap * 2));
    if (lowest->rows)
        memcpy(wider, lowest->priority, lowest->rows * sizeof(*wider));
    lowest->priority = wider;
    lowest->cap = MAX(rows, lowest->cap * 2);
}

void lowest_priority_update(struct lowest_priority *lowest, const struct cluster *cluster)
{
    uint32_t rows = (uint32_t)cluster->nodes.len;
    uint64_t seq = cluster_seq(cluster);
    reserve(lowest, rows);
    bool forgotten = lowest->seq < cluster->log_base || seq - lowest->seq > rows;
    for (uint32_t row = forgotten ? 0 : lowest->rows; row < rows; row++)
        lowest->priority[row] = lowest_of(&cluster->nodes.items[row]);
    for (uint64_t at = lowest->seq; !forgotten && at < seq; at++) {
        uint32_t row = cluster->log.items[at - cluster->log_base];
        lowest->priority[row] = lowest_of(&cluster->nodes.items[row]);
    }
    lowest->rows = rows;
    lowest->seq = seq;
}
