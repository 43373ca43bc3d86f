/* rank.c: among candidate nodes, the one with the least important victims.
 *
 * The criteria are applied in turn; each leaves the candidates with the highest value to the next one. */
#include <stdlib.h>

#include "preempt/importance.h"
#include "preempt/preempt.h"

static int64_t fewest_violations(const struct preempt_candidate *candidate)
{
    return -candidate->pdb_violations;
}

static int64_t lowest_first_priority(const struct preempt_candidate *candidate)
{
    return -(int64_t)candidate->victims[0]->priority;
}

/* Priorities are shifted to be positive, so that more victims of a negative priority never look cheaper. */
static int64_t lowest_sum(const struct preempt_candidate *candidate)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < candidate->victims_len; i++)
        sum += (int64_t)candidate->victims[i]->priority + INT32_MAX + 1;
    return -sum;
}

static int64_t fewest_victims(const struct preempt_candidate *candidate)
{
    return -(int64_t)candidate->victims_len;
}

/* The start of the most important victim that has run longest. */
static int64_t latest_start(const struct preempt_candidate *candidate)
{
    int32_t highest = candidate->victims[0]->priority;
    int64_t earliest = INT64_MAX;
    for (uint32_t i = 0; i < candidate->victims_len; i++)
        highest = MAX(highest, candidate->victims[i]->priority);
    for (uint32_t i = 0; i < candidate->victims_len; i++)
        if (candidate->victims[i]->priority == highest)
            earliest = MIN(earliest, pod_start_ns(candidate->victims[i]));
    return earliest;
}

static int64_t (*const criteria[])(const struct preempt_candidate *) = {
    fewest_violations, lowest_first_priority, lowest_sum, fewest_victims, latest_start,
};

/* Keeps the best by one criterion, in order; returns how many. */
static uint32_t keep_best(const struct preempt_candidate **left, uint32_t len,
                          int64_t (*criterion)(const struct preempt_candidate *))
{
    int64_t best = INT64_MIN;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < len; i++) {
        int64_t value = criterion(left[i]);
        if (value > best)
            kept = 0;
        best = MAX(best, value);
        if (value == best)
            left[kept++] = left[i];
    }
    return kept;
}

struct named_row {
    struct str name;
    uint32_t row;
};

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct named_row *)a)->name, ((const struct named_row *)b)->name);
}

void preempt_rank(const struct cluster *cluster, struct arena *arena, struct preemption *preemption)
{
    uint32_t len = preemption->candidates_len;
    preemption->top_len = 0;
    preemption->chosen = ROW_NONE;
    if (!len)
        return;
    const struct preempt_candidate **left = arena_array(arena, const struct preempt_candidate *, len);
    for (uint32_t i = 0; i < len; i++)
        left[i] = &preemption->candidates[i];
    for (size_t i = 0; i < ARRAY_SIZE(criteria) && len > 1; i++)
        len = keep_best(left, len, criteria[i]);

    struct named_row *rows = arena_array(arena, struct named_row, len);
    for (uint32_t i = 0; i < len; i++)
        rows[i] = (struct named_row){ cluster_node_name(cluster, left[i]->row), left[i]->row };
    qsort(rows, len, sizeof(*rows), by_name);
    preemption->top = arena_array(arena, uint32_t, len);
    for (uint32_t i = 0; i < len; i++)
        preemption->top[i] = rows[i].row;
    preemption->top_len = len;
    preemption->chosen = preemption->top[0];
}
