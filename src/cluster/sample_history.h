/* sample_history.h: the last samples of one node, and statistics of them.
 *
 * At most SAMPLES_MAX of them, oldest first, of the last SAMPLES_SPAN_S seconds. What was not measured is negative. */
#ifndef CLUSTER_SAMPLE_HISTORY_H
#define CLUSTER_SAMPLE_HISTORY_H

#include "base/common.h"
#include "base/str.h"

enum { SAMPLES_MAX = 30, SAMPLES_SPAN_S = 900 };

enum sample_resource { SAMPLE_CPU, SAMPLE_MEMORY, SAMPLE_RESOURCES }; /* thousandths of a core, bytes */
#define SAMPLE_STATISTICS(X) \
    X(LATEST, "Latest") \
    X(AVERAGE, "Average") \
    X(DEVIATION, "Deviation") \
    X(P50, "P50") \
    X(P90, "P90") \
    X(P95, "P95") \
    X(P99, "P99")
enum sample_statistic {
#define X(name, text) STATISTIC_##name,
    SAMPLE_STATISTICS(X)
#undef X
        STATISTIC_COUNT
};
extern const struct str sample_statistic_names[STATISTIC_COUNT];

struct sample_history {
    uint32_t len;
    struct {
        int64_t at_ns;
        double values[SAMPLE_RESOURCES];
    } items[SAMPLES_MAX];
};

/* A value of that time, in its place; where there are SAMPLES_MAX, the oldest goes. */
void sample_history_put(struct sample_history *history, int64_t at_ns, enum sample_resource resource,
                        double value);
/* Without those that are too old at that time. */
void sample_history_forget(struct sample_history *history, int64_t at_ns);
/* All but the latest, which stays as it is. Nothing is set where there is no value. */
void sample_history_compute(const struct sample_history *history, enum sample_resource resource,
                            double ret[STATISTIC_COUNT]);

#endif
