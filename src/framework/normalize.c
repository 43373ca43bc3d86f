/* normalize.c: scales scores by the highest one. */
#include "framework/normalize.h"

static void normalize(int64_t *scores, size_t len, bool reverse)
{
    int64_t highest = 0;
    for (size_t i = 0; i < len; i++)
        highest = MAX(highest, scores[i]);
    if (highest == 0 && !reverse)
        return;
    for (size_t i = 0; i < len; i++) {
        int64_t scaled = highest == 0 ? 0 : (int64_t)((uint64_t)scores[i] * SCORE_MAX) / highest;
        scores[i] = reverse ? SCORE_MAX - scaled : scaled;
    }
}

void normalize_highest_best(struct cycle *cycle, int64_t *scores, size_t len)
{
    (void)cycle;
    normalize(scores, len, false);
}

void normalize_lowest_best(struct cycle *cycle, int64_t *scores, size_t len)
{
    (void)cycle;
    normalize(scores, len, true);
}
