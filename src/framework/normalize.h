/* normalize.h: brings raw scores to the range 0 to SCORE_MAX: callbacks for the descriptors of plugins. */
#ifndef FRAMEWORK_NORMALIZE_H
#define FRAMEWORK_NORMALIZE_H

#include "framework/plugin.h"

/* The highest score becomes SCORE_MAX, the others keep their proportion to it, rounded down. No score is negative. */
void normalize_highest_best(struct cycle *cycle, int64_t *scores, size_t len);
/* Likewise, and then the lowest is the best. */
void normalize_lowest_best(struct cycle *cycle, int64_t *scores, size_t len);

#endif
