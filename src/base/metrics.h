/* metrics.h: counters, gauges and histograms, and how Prometheus reads them.
 *
 *     static const struct metric_info infos[] = {
 *         [ATTEMPTS] = { .name = "attempts_total", .help = "Attempts by result", .type = METRIC_COUNTER,
 *                        .stability = METRIC_STABLE, .labels = { "result" } },
 *     };
 *     struct metrics *metrics = metrics_new(infos, ARRAY_SIZE(infos));
 *     struct metric *good = metric_get(metrics, ATTEMPTS, &STR("good"));     once: looks up, takes a lock
 *     counter_add(good, 1);                                                  often: one atomic addition
 *     metrics_write(metrics, &out);
 *
 * Families are a table that outlives the registry. A metric is one of its family's combinations of label
 * values; it lives as long as the registry, and any thread may write it while another one reads. A family
 * without labels has its one metric from the start, and shows it; one with labels shows those that metric_get() made.
 */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include <math.h>
#include <stdatomic.h>

#include "base/common.h"
#include "base/str.h"

enum metric_type {
    METRIC_COUNTER,
    METRIC_REAL_COUNTER, /* counts something that is no whole number; written with gauge_set() and gauge_add() */
    METRIC_GAUGE,
    METRIC_HISTOGRAM,
};
/* How long a metric will stay as it is; stands in front of its help. */
enum metric_stability {
    METRIC_INTERNAL,
    METRIC_ALPHA,
    METRIC_BETA,
    METRIC_STABLE,
    METRIC_UNRATED /* nothing */
};

enum { METRIC_LABELS_MAX = 10, METRIC_BUCKETS_MAX = 40 };

struct metric_info {
    const char *name, *help;
    enum metric_type type;
    enum metric_stability stability;
    const char *labels[METRIC_LABELS_MAX];
    const double *buckets;  /* histograms: upper bounds in rising order, without infinity */
    size_t buckets_len;     /* at most METRIC_BUCKETS_MAX */
    const char *deprecated; /* the version since which it is; NULL: it is not */
    bool hidden;            /* deprecated for so long that it is shown on request only */
};

struct metrics;

/* The value of one combination of labels; touched only by the functions below. */
struct metric {
    const double *bounds; /* histograms */
    size_t bounds_len;
    _Atomic uint64_t
        value; /* counters: the count; gauges: the bits of a double; histograms: those of the sum */
    _Atomic uint64_t *buckets; /* histograms: bounds_len + 1 counts, each of its own bucket only */
};

struct metrics *metrics_new(const struct metric_info *infos, size_t len);
void metrics_free(struct metrics *metrics);

/* The metric of these label values, which are as many as the family has labels; new or known. From any
 * thread. */
struct metric *metric_get(struct metrics *metrics, size_t family, const struct str *values);

/* Of the family's metrics whose label `label` has the value, the sum; of a counter or a gauge. From any thread. */
double metrics_sum(struct metrics *metrics, size_t family, size_t label, struct str value);

/* Counters and histograms start anew; gauges stay. */
void metrics_reset(struct metrics *metrics);

static inline void counter_add(struct metric *metric, uint64_t count)
{
    atomic_fetch_add_explicit(&metric->value, count, memory_order_relaxed);
}

static inline uint64_t counter_value(const struct metric *metric)
{
    return atomic_load_explicit(&metric->value, memory_order_relaxed);
}

static inline uint64_t metric_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline double metric_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline void metric_add_double(_Atomic uint64_t *to, double value)
{
    uint64_t old = atomic_load_explicit(to, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(to, &old, metric_bits(metric_double(old) + value),
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

static inline void gauge_set(struct metric *metric, double value)
{
    atomic_store_explicit(&metric->value, metric_bits(value), memory_order_relaxed);
}

static inline void gauge_add(struct metric *metric, double value)
{
    metric_add_double(&metric->value, value);
}

static inline double gauge_value(const struct metric *metric)
{
    return metric_double(atomic_load_explicit(&metric->value, memory_order_relaxed));
}

/* A value belongs to the first bucket whose bound is not below it. */
static inline void histogram_observe(struct metric *metric, double value)
{
    size_t bucket = 0;
    for (size_t i = 0; i < metric->bounds_len; i++)
        bucket += !(value <= metric->bounds[i]);
    atomic_fetch_add_explicit(&metric->buckets[bucket], 1, memory_order_relaxed);
    metric_add_double(&metric->value, value);
}

uint64_t histogram_count(const struct metric *metric);
static inline double histogram_sum(const struct metric *metric)
{
    return gauge_value(metric);
}

/* Bounds start, start*factor, ... as Prometheus computes them; the buffer holds `count`. */
void buckets_exponential(double start, double factor, size_t count, double *ret);

/* ---- what is shown ---- */

/* Leaves a family out, by its name; unknown names are fine. Before anything is written. */
void metrics_disable(struct metrics *metrics, struct str name);
void metrics_show_hidden(struct metrics *metrics);
/* Of this label of this family, only these values (with commas between) are told apart; any other becomes
 * "unexpected". Applies to metrics that metric_get() makes later; `unexpected` is called for each. */
void metrics_allow(struct metrics *metrics, struct str family, struct str label, struct str values);
void metrics_on_unexpected(struct metrics *metrics, void (*call)(void *context), void *context);
/* Runs before each writing, for gauges that are computed on demand. */
void metrics_on_write(struct metrics *metrics, void (*call)(void *context), void *context);

/* All families in the order of their names, each with its metrics in the order of their label values. From
 * any thread. */
void metrics_write(struct metrics *metrics, struct strbuf *out);

#endif
