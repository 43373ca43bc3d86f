/* auth_metrics.h: kube-scheduler's metrics of authentication, authorization, the requests to the API server for both,
 * and the work queues behind them.
 *
 * A registry that is NULL counts nothing. From any thread. */
#ifndef AUTH_AUTH_METRICS_H
#define AUTH_AUTH_METRICS_H

#include "auth/reviews.h"
#include "base/metrics.h"
#include "base/str.h"

/* What was found out about a request, and how long it took. A result of NULL: it did not come to that. */
struct auth_outcome {
    const char *known;   /* "success", "error" */
    const char *allowed; /* "allowed", "denied", "no-opinion", "error" */
    int64_t known_ns, allowed_ns;
};

void auth_metrics_request(struct metrics *metrics, const struct auth_outcome *outcome, struct str user);
/* A client's certificate that is looked at has so many seconds left. */
void auth_metrics_certificate(struct metrics *metrics, double left_s);

/* A request to the API server; a status of 0: no answer. */
void auth_metrics_review(struct metrics *metrics, enum review_kind kind, int status, int64_t took_ns);
/* A token was looked up in memory, and found or waited for. */
void auth_metrics_token(struct metrics *metrics, bool found, int64_t took_ns);
/* So many more requests wait for a review ("blocked"), or reviews are under way ("in_flight"). */
void auth_metrics_tokens(struct metrics *metrics, const char *status, int more);
void auth_metrics_token_answered(struct metrics *metrics, bool well);

/* What client-go has work queues for is done at once here: each item is added, and done after so long. */
#define QUEUE_CLIENT_CA "DynamicConfigMapCABundle-client-ca"
#define QUEUE_PROXY_CA "RequestHeaderAuthRequestController"
#define QUEUE_CERTIFICATE "DynamicServingCertificateController"
void auth_metrics_work(struct metrics *metrics, const char *queue, int64_t took_ns);

#endif
