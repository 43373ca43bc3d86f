/* prometheus_round.h: asks a Prometheus all queries of one kind of samples, at once, and puts the answers together.
 *
 *     cpu query ────▶ {node="a"} 1.5 ─┐
 *     memory query ─▶ {node="a"} 3e9 ─┴─▶ struct measured of "a"
 *
 * A round is complete or failed: if one of the queries fails, the samples of before stay. A series whose labels name
 * no node (pod) that is known is passed over, and so is a value that is negative or no number. Of several series of one
 * node the largest value counts.
 *
 * Belongs to the I/O thread. */
#ifndef SYNC_PROMETHEUS_ROUND_H
#define SYNC_PROMETHEUS_ROUND_H

#include "sync/node_lookup.h"
#include "sync/prometheus.h"
#include "sync/prometheus_answer.h"

/* What was measured of a node or a pod. Cores and bytes; negative: unknown. */
struct measured {
    struct str key; /* the name of the node; "namespace/name" of a pod */
    int64_t at_ns;  /* the oldest of its values */
    double values[SAMPLE_RESOURCES][STATISTIC_COUNT];
    struct sample_history *history; /* ROUND_HISTORY: in place of the values */
};

enum round_kind {
    ROUND_NODES,
    ROUND_HISTORY, /* of nodes: the last quarter of an hour */
    ROUND_PODS,
    ROUND_QUERIES, /* those that plugins read by name */
};

/* What the objects are that the results of named queries become. */
#define QUERY_API_VERSION "metrics.berth.dev/v1"
#define QUERY_KIND "PrometheusQuery"

struct prometheus_round;

struct round_options {
    const struct prometheus *prometheus;
    const struct node_lookup *lookup;
    enum round_kind kind;
    struct str query; /* ROUND_QUERIES: the one that is asked, by its name; empty: all */
    /* Exactly once, later. 0: prometheus_round_found() has all; -ECANCELED: prometheus_round_cancel(); else err says
     * what is wrong. The round lives until this returns, and is freed then. */
    void (*done)(void *user, struct prometheus_round *round, int result, const struct error *err);
    void *user;
};

/* Is there anything to ask of this kind? */
bool prometheus_asks(const struct prometheus *prometheus, enum round_kind kind);
struct prometheus_round *prometheus_round_begin(const struct round_options *options);
/* When this returns, the Prometheus is not used any more, and may be freed. */
void prometheus_round_cancel(struct prometheus_round *round);
/* struct measured by key, which may be taken over. */
struct strmap *prometheus_round_found(struct prometheus_round *round);

/* ROUND_QUERIES: a list of objects as an API server would write it, {"kind": "PrometheusQueryList", "items": [...]};
 * each is {"metadata": {"name": NAME}, "result": [{"labels": {...}, "value": NUMBER}]}. */
void prometheus_round_write(struct prometheus_round *round, struct strbuf *out);

#endif
