/* pdqsort.h: pattern-defeating quicksort, to leave equal items where Go's sort leaves them.
 *
 * Which of equally important pods has to leave is decided by an unstable sort. Its outcome depends on nothing but the
 * input, so it can be reproduced: by the same algorithm (Orson Peters, arXiv:2106.05123), with the thresholds, the
 * choice of pivots and the scattering that Go's sort package uses. */
#ifndef PREEMPT_PDQSORT_H
#define PREEMPT_PDQSORT_H

#include "base/common.h"

/* `less` need not be consistent: the result is then an order of no meaning, but always the same items. */
void pdqsort(void **items, size_t len, bool (*less)(const void *a, const void *b));

#endif
