/* Any bytes as the answer of a Prometheus to a query: series with points, or an error in one sentence. The first byte
 * selects the type of the query and the status of the answer. */
#include "sync/prometheus_answer.h"

#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct prometheus_answer answer;
    struct prometheus_series series;
    struct prometheus_point point;
    struct strbuf body = { 0 };
    struct error err = { 0 };
    if (size < 1)
        return 0;
    strbuf_add(&body, (const char *)data + 1, size - 1);
    struct http_response response = { .outcome = HTTP_ANSWERED,
                                      .status = data[0] & 2 ? 400 : 200,
                                      .content_type = STR("application/json"),
                                      .body = &body };
    enum prometheus_type type = data[0] & 1 ? PROMETHEUS_MATRIX : PROMETHEUS_VECTOR;
    int r = prometheus_answer_init(&answer, type, &response, &err);
    must(r == 0 || (err.text[0] && !strchr(err.text, '\n')));
    while (r == 0 && prometheus_answer_next(&answer, &series)) {
        must(prometheus_label(&series, "node").len <= size);
        for (size_t len = 0; prometheus_series_next(&series, &point); len++)
            must(point.at_ns >= 0 && len < size);
    }
    prometheus_answer_release(&answer);
    strbuf_release(&body);
    return 0;
}
