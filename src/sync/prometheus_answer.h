/* prometheus_answer.h: decodes what a Prometheus answers to a query: /api/v1/query of its HTTP API.
 *
 *     {"status": "success", "data": {"resultType": "vector", "result": [{"metric": {...}, "value": [1.5, "0.25"]}]}}
 *     {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {...}, "values": [[1.5, "0.25"]]}]}}
 *     {"status": "error", "errorType": "bad_data", "error": "invalid parameter"}
 *
 * Nothing in it is trusted: what is no such answer is an error in one sentence; a series or a point that cannot be read
 * is passed over. */
#ifndef SYNC_PROMETHEUS_ANSWER_H
#define SYNC_PROMETHEUS_ANSWER_H

#include "codec/doc.h"
#include "http/http.h"

enum prometheus_type { PROMETHEUS_VECTOR, PROMETHEUS_MATRIX };

struct prometheus_answer {
    struct doc_stream stream;
    struct doc doc;
    enum prometheus_type type;
    yyjson_arr_iter series;
};

struct prometheus_series {
    yyjson_val *labels;
    yyjson_val *point;      /* of a vector: the one that is left; NULL: none */
    yyjson_arr_iter points; /* of a matrix */
};

struct prometheus_point {
    int64_t at_ns;
    double value; /* may be infinite or no number */
};

/* The answer to a query that gives this type. Takes over the body. */
int prometheus_answer_init(struct prometheus_answer *answer, enum prometheus_type type,
                           struct http_response *response, struct error *err);
/* False: there are no more. */
bool prometheus_answer_next(struct prometheus_answer *answer, struct prometheus_series *ret);
void prometheus_answer_release(struct prometheus_answer *answer);

/* Absent where the series does not have it. Lives as long as the answer. */
struct str prometheus_label(const struct prometheus_series *series, const char *name);
/* The next point that can be read; false: there is none. */
bool prometheus_series_next(struct prometheus_series *series, struct prometheus_point *ret);

#endif
