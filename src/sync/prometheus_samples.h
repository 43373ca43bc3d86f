/* prometheus_samples.h: what a Prometheus measured, as the objects that metrics.k8s.io would have: NodeMetrics and
 * PodMetrics. So the core, recordings and strategies see no difference.
 *
 * Statistics. The core keeps the samples of a quarter of an hour, and computes averages, deviations and percentiles of
 * them. When a scheduler starts it has none, but Prometheus has: the first time, the last quarter of an hour is asked
 * for and kept here. Statistics of it go along with each sample until the core has seen as much itself. */
#ifndef SYNC_PROMETHEUS_SAMPLES_H
#define SYNC_PROMETHEUS_SAMPLES_H

#include "sync/inbox.h"
#include "sync/prometheus_round.h"

/* The samples of each node before the first one that the core has seen. Zeroed: there are none. */
struct sample_past {
    struct strmap nodes; /* struct measured */
    int64_t until_ns;    /* samples from then on need it no more */
};

/* Takes over what a round of ROUND_HISTORY found. */
void sample_past_take(struct sample_past *past, struct strmap *found);
void sample_past_release(struct sample_past *past);

/* NULL: there is no value. `past` grows with the value. */
struct live_object *prometheus_node_sample(const struct prometheus *prometheus,
                                           const struct measured *measured, struct sample_past *past);
struct live_object *prometheus_pod_sample(const struct prometheus *prometheus,
                                          const struct measured *measured);

#endif
