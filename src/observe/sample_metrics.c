/* sample_metrics.c: see sample_metrics.h. */
#include "observe/sample_metrics.h"

#include "base/clock.h"
#include "base/duration.h"
#include "observe/families.h"

void sample_metrics_count(struct metrics *metrics, const char *name, bool ok, int64_t oldest_ns)
{
    const struct str source = str_from(name);
    if (!ok)
        counter_add(metric_get(metrics, FAMILY_BERTH_SAMPLER_ERRORS_TOTAL, &source), 1);
    if (oldest_ns)
        gauge_set(metric_get(metrics, FAMILY_BERTH_SAMPLES_OLDEST_SECONDS, &source),
                  (double)(clock_now_ns(CLOCK_REALTIME) - oldest_ns) / NS_PER_SECOND);
}
