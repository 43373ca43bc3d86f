/* auth_metrics.c: see auth_metrics.h. A request costs much more than its lookups here. */
#include "auth/auth_metrics.h"

#include <stdio.h>

#include "observe/families.h"

static struct metric *by(struct metrics *metrics, enum family family, const char *label)
{
    return metric_get(metrics, family, &(struct str){ label, (uint32_t)strlen(label) });
}

static double seconds(int64_t ns)
{
    return (double)MAX(ns, 0) / 1e9;
}

/* Names of users are private, and too many for labels. */
static const char *kind_of(struct str user)
{
    static const char *const known[] = { "admin", "client", "kube_proxy", "kubelet",
                                         "system:serviceaccount:kube-system:default" };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (str_is(user, known[i]))
            return known[i];
    return str_find(user, '@') >= 0 ? "email_id" : "other";
}

void auth_metrics_request(struct metrics *metrics, const struct auth_outcome *outcome, struct str user)
{
    if (!metrics)
        return;
    if (outcome->known) {
        if (strcmp(outcome->known, "success") == 0)
            counter_add(by(metrics, FAMILY_AUTHENTICATED_USER_REQUESTS, kind_of(user)), 1);
        counter_add(by(metrics, FAMILY_AUTHENTICATION_ATTEMPTS, outcome->known), 1);
        histogram_observe(by(metrics, FAMILY_AUTHENTICATION_DURATION_SECONDS, outcome->known),
                          seconds(outcome->known_ns));
    }
    if (outcome->allowed) {
        counter_add(by(metrics, FAMILY_AUTHORIZATION_ATTEMPTS_TOTAL, outcome->allowed), 1);
        histogram_observe(by(metrics, FAMILY_AUTHORIZATION_DURATION_SECONDS, outcome->allowed),
                          seconds(outcome->allowed_ns));
    }
}

void auth_metrics_certificate(struct metrics *metrics, double left_s)
{
    if (metrics)
        histogram_observe(metric_get(metrics, FAMILY_APISERVER_CLIENT_CERTIFICATE_EXPIRATION_SECONDS, NULL),
                          left_s);
}

void auth_metrics_review(struct metrics *metrics, enum review_kind kind, int status, int64_t took_ns)
{
    static const struct {
        enum family count, seconds;
    } families[] = {
        [REVIEW_TOKEN] = { FAMILY_APISERVER_DELEGATED_AUTHN_REQUEST_TOTAL,
                           FAMILY_APISERVER_DELEGATED_AUTHN_REQUEST_DURATION_SECONDS },
        [REVIEW_ACCESS] = { FAMILY_APISERVER_DELEGATED_AUTHZ_REQUEST_TOTAL,
                            FAMILY_APISERVER_DELEGATED_AUTHZ_REQUEST_DURATION_SECONDS },
    };
    char code[16] = "<error>";
    if (!metrics)
        return;
    if (status)
        snprintf(code, sizeof(code), "%d", status);
    counter_add(by(metrics, families[kind].count, code), 1);
    histogram_observe(by(metrics, families[kind].seconds, code), seconds(took_ns));
}

/* Rounded down to milliseconds, as kube-scheduler does. */
void auth_metrics_token(struct metrics *metrics, bool found, int64_t took_ns)
{
    const char *status = found ? "hit" : "miss";
    if (!metrics)
        return;
    counter_add(by(metrics, FAMILY_AUTHENTICATION_TOKEN_CACHE_REQUEST_TOTAL, status), 1);
    histogram_observe(by(metrics, FAMILY_AUTHENTICATION_TOKEN_CACHE_REQUEST_DURATION_SECONDS, status),
                      (double)(MAX(took_ns, 0) / 1000000) / 1000);
}

void auth_metrics_tokens(struct metrics *metrics, const char *status, int more)
{
    if (metrics)
        gauge_add(by(metrics, FAMILY_AUTHENTICATION_TOKEN_CACHE_ACTIVE_FETCH_COUNT, status), more);
}

void auth_metrics_token_answered(struct metrics *metrics, bool well)
{
    auth_metrics_tokens(metrics, "in_flight", -1);
    if (metrics)
        counter_add(by(metrics, FAMILY_AUTHENTICATION_TOKEN_CACHE_FETCH_TOTAL, well ? "ok" : "error"), 1);
}

void auth_metrics_work(struct metrics *metrics, const char *queue, int64_t took_ns)
{
    static const enum family zero[] = { FAMILY_WORKQUEUE_DEPTH, FAMILY_WORKQUEUE_RETRIES_TOTAL,
                                        FAMILY_WORKQUEUE_UNFINISHED_WORK_SECONDS,
                                        FAMILY_WORKQUEUE_LONGEST_RUNNING_PROCESSOR_SECONDS };
    if (!metrics)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(zero); i++)
        by(metrics, zero[i], queue); /* is shown */
    counter_add(by(metrics, FAMILY_WORKQUEUE_ADDS_TOTAL, queue), 1);
    histogram_observe(by(metrics, FAMILY_WORKQUEUE_QUEUE_DURATION_SECONDS, queue), 0);
    histogram_observe(by(metrics, FAMILY_WORKQUEUE_WORK_DURATION_SECONDS, queue), seconds(took_ns));
}
