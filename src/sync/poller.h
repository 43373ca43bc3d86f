/* poller.h: measured use, fetched again and again, as messages to the core.
 *
 *     GET /apis/metrics.k8s.io/v1beta1/nodes ──┐
 *                                              ├──▶ LIST_BEGIN SET SET ... LIST_END     every interval
 *     queries to a Prometheus ─────────────────┘
 *
 * Neither source has a watch. Samples enter the core like a list of any other kind, so they are recorded and
 * replayed. Only kinds that an enabled plugin wants are fetched; of others nothing is sent. A plugin that wants one
 * named query has it as a kind of its own, a part of the kind of queries (api/extra_kinds.h), with its own interval. A
 * failure changes nothing: the samples that are there grow old, and plugins look at their age. It is logged once until
 * it is over.
 *
 * A kind has no thread: a timer and callbacks of requests on the I/O thread drive it. */
#ifndef SYNC_POLLER_H
#define SYNC_POLLER_H

#include "client/api.h"
#include "sync/inbox.h"
#include "sync/prometheus.h"

struct poller;
struct node_lookup;

struct poller_options {
    struct api *api;
    struct inbox *inbox;
    const struct node_lookup *lookup; /* of the I/O thread; outlives the poller */
    int64_t interval_ms;              /* 0: 30 s */
    /* Samples came, the oldest of that time (nanoseconds since 1970; 0: there is none), or did not come. `source` is
     * "nodes.metrics.k8s.io", "pods.prometheus", "queries.prometheus/NAME" ... On the I/O thread. NULL is fine. */
    void (*on_samples)(void *user, const char *source, bool ok, int64_t oldest_ns);
    void *user;
};

/* Which kinds to fetch, and how often. A zeroed one is none. */
struct poller_wants {
    uint64_t kinds;               /* 1 << enum api_kind, or'ed */
    uint64_t by_default;          /* of these: a plugin wants them at the interval of the options */
    int64_t every_ns[KIND_COUNT]; /* the shortest one that a plugin wants; 0: none */
};

struct poller *poller_start(const struct poller_options *options);
/* Adds kinds that a plugin wants; `every_ns` 0: at the interval of the options. */
void poller_wants_add(struct poller_wants *wants, uint64_t kinds, int64_t every_ns);
/* What to fetch from now on, now and at each interval: from the Prometheus, or from metrics.k8s.io if that is NULL.
 * When this returns, nothing more is asked of another Prometheus, which may be freed. From any thread but the api's. */
void poller_want(struct poller *poller, const struct poller_wants *wants,
                 const struct prometheus *prometheus);
/* Ends everything and waits for it; before api_free() and inbox_free(), not from a callback. NULL is fine. */
void poller_stop(struct poller *poller);

#endif
