/* rest_metrics.c: one sample, several families. Runs on I/O threads: a request costs much more than its lookup here. */
#include "observe/rest_metrics.h"

#include <stdio.h>

static void observe(struct metrics *metrics, enum family family, const struct api_sample *sample,
                    double value)
{
    const struct str labels[] = { sample->method, sample->host };
    histogram_observe(metric_get(metrics, family, labels), value);
}

/* The code of a request without an answer is "<error>". Streams are counted when they begin; how long they last and how
 * much they bring is not counted. */
void rest_metrics_count(struct metrics *metrics, const struct api_sample *sample)
{
    char code[16] = "<error>";
    if (sample->status)
        snprintf(code, sizeof(code), "%d", sample->status);
    const struct str labels[] = { str_from(code), sample->method, sample->host };
    counter_add(metric_get(metrics, FAMILY_REST_CLIENT_REQUESTS_TOTAL, labels), 1);
    if (sample->is_retried)
        counter_add(metric_get(metrics, FAMILY_REST_CLIENT_REQUEST_RETRIES_TOTAL, labels), 1);
    if (sample->is_stream)
        return;
    observe(metrics, FAMILY_REST_CLIENT_REQUEST_SIZE_BYTES, sample, (double)sample->sent_bytes);
    if (sample->is_retried)
        return;
    if (sample->is_limited)
        observe(metrics, FAMILY_REST_CLIENT_RATE_LIMITER_DURATION_SECONDS, sample,
                (double)sample->limited_ns / 1e9);
    observe(metrics, FAMILY_REST_CLIENT_REQUEST_DURATION_SECONDS, sample, (double)sample->took_ns / 1e9);
    if (sample->status)
        observe(metrics, FAMILY_REST_CLIENT_RESPONSE_SIZE_BYTES, sample, (double)sample->received_bytes);
}

void rest_metrics_exec(struct metrics *metrics, int exit_code, const char *call_status)
{
    char code[16];
    snprintf(code, sizeof(code), "%d", exit_code);
    const struct str labels[] = { str_from(code), str_from(call_status) };
    counter_add(metric_get(metrics, FAMILY_REST_CLIENT_EXEC_PLUGIN_CALL_TOTAL, labels), 1);
}
