/* node_samples.h: the measured use of nodes: the newest sample of each, and statistics of the last ones.
 *
 *     NodeMetrics ──cluster_set_object()──▶ history of its node ──▶ struct node_sample ──▶ accessors of plugins
 *
 * Samples come as objects of the kind NodeMetrics, so a recording has them, and a file can. A source that computes
 * statistics itself sends them along; of others they are computed from the samples that came: the newest SAMPLES_MAX of
 * the last SAMPLES_SPAN_S seconds. What is kept of a node is kept by its name: a sample may come before its node. */
#ifndef CLUSTER_NODE_SAMPLES_H
#define CLUSTER_NODE_SAMPLES_H

#include "cluster/cluster.h"
#include "cluster/sample_history.h"

struct node_sample {
    struct str name;          /* of the node */
    int64_t at_ns, window_ns; /* the sample is about the time of this length until then */
    double values[SAMPLE_RESOURCES][STATISTIC_COUNT]; /* negative: unknown */
    struct sample_history history;
};

/* The object is new or has changed; NULL: the node's is gone. */
void node_samples_changed(struct cluster *cluster, struct str node, const struct node_metrics *metrics);
/* The PodMetrics of this pod are new, have changed or are gone. */
void node_samples_pod_changed(struct cluster *cluster, struct str namespace, struct str name);
/* NULL: none. */
struct node_sample *node_samples_find(const struct cluster *cluster, struct str node);
void node_samples_release(struct cluster *cluster);
/* What the containers of a pod use together, by its PodMetrics; negative: unknown. */
double node_samples_of_pod(const struct cluster *cluster, const struct pod *pod,
                           enum sample_resource resource);

#endif
