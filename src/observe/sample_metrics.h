/* sample_metrics.h: metrics about requests for samples (sync/poller.h). */
#ifndef OBSERVE_SAMPLE_METRICS_H
#define OBSERVE_SAMPLE_METRICS_H

#include "base/metrics.h"

/* Samples were asked for: they came, or not. `oldest_ns`: of those that there are, since 1970; 0: none. */
void sample_metrics_count(struct metrics *metrics, const char *source, bool ok, int64_t oldest_ns);

#endif
