/* normalize.c: scales scores by the highest one. */
#include "framework/normalize.h"

#include "framework/plugin.h"

void normalize_scores(int64_t *scores, size_t len, bool reverse)
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
