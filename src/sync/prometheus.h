/* prometheus.h: a Prometheus server as the source of samples: its address, the credential, and what it is asked.
 *
 * Requests go through a client of their own (client/api.h): files of the credential are read in the worker pool and
 * read again, TLS is checked, redirects are not followed. A token is sent only to a server whose certificate was
 * verified, unless the configuration says insecureSkipVerify: to an http:// address there is none.
 *
 * The queries are PromQL; defaults fit node_exporter and the kubelet. A file may have others:
 *
 *     nodes: {cpu: QUERY, memory: QUERY, window: 2m, labels: [node, instance], history: true,
 *             statistics: [{name: Average, cpu: QUERY, memory: QUERY}]}
 *     pods: {cpu: QUERY, memory: QUERY, window: 2m}
 *     queries: [{name: NAME, query: QUERY}]
 *
 * Cores and bytes. Constant once it is made. */
#ifndef SYNC_PROMETHEUS_H
#define SYNC_PROMETHEUS_H

#include "client/api.h"
#include "cluster/sample_history.h"

struct prometheus_statistic {
    struct str name, cpu, memory;
    enum sample_statistic number;
};

struct prometheus_named {
    struct str name, query;
};

/* A query that is empty is not asked. */
struct prometheus_queries {
    struct {
        struct str cpu, memory;
        int64_t window_ns;
        struct str_list labels; /* those that may name the node, the first comes first */
        bool history;           /* the first time, ask for the last quarter of an hour */
        LIST(struct prometheus_statistic) statistics;
    } nodes;
    struct {
        struct str cpu, memory;
        int64_t window_ns;
    } pods;
    LIST(struct prometheus_named) queries;
};

struct prometheus {
    struct arena arena; /* of secrets */
    struct kube_access access;
    struct api *api;
    struct prometheus_queries queries;
};

/* Texts may be absent, but for the address. */
struct prometheus_options {
    struct str address, token;
    struct str token_file, ca_file, queries_file; /* paths, terminated */
    bool insecure_skip_verify;
    struct loop *loop; /* outlives it */
    struct warnings *warnings;
};

/* Reads files, asks nothing. Not on the loop's thread. */
int prometheus_new(const struct prometheus_options *options, struct prometheus **ret, struct error *err);
/* Answers what is under way. Not on the loop's thread. NULL is fine. */
void prometheus_free(struct prometheus *prometheus);

#endif
