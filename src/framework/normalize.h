/* normalize.h: brings raw scores to the range 0 to SCORE_MAX. */
#ifndef FRAMEWORK_NORMALIZE_H
#define FRAMEWORK_NORMALIZE_H

#include "base/common.h"

/* The highest score becomes SCORE_MAX, the others keep their proportion to it, rounded down. `reverse`: the less the
 * better. Scores are not negative. */
void normalize_scores(int64_t *scores, size_t len, bool reverse);

#endif
