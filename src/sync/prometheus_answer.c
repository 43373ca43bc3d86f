/* prometheus_answer.c: see prometheus_answer.h. */
#include "sync/prometheus_answer.h"

#include <math.h>
#include <stdlib.h>

#include "base/duration.h"
#include "base/utf8.h"

enum { TEXT_LEN_MAX = 300, NUMBER_LEN_MAX = 64 };
/* Times that nanoseconds since 1970 can hold, in seconds. */
#define SECONDS_MAX 9e9

static const char *const type_names[] = { [PROMETHEUS_VECTOR] = "vector", [PROMETHEUS_MATRIX] = "matrix" };

/* ---- what is wrong ---- */
static bool is_json(const struct http_response *response)
{
    return str_starts_with(response->content_type, STR("application/json"));
}

static int fail_status(const struct http_response *response, struct error *err)
{
    if (response->location.len)
        return error_set(err, -EIO,
                         "the server answers with a redirect (status %d) to %.*s, which is not followed",
                         response->status, (int)MIN(response->location.len, (uint32_t)TEXT_LEN_MAX),
                         response->location.ptr);
    return error_set(err, -EIO, "the server answers with status %d%s", response->status,
                     response->status == 401 || response->status == 403 ? ": the token is not accepted" : "");
}

/* In the words of the server. */
static int fail_told(const struct http_response *response, yyjson_val *root, struct error *err)
{
    struct str type = doc_member_text(root, "errorType"), text = doc_member_text(root, "error");
    if (!text.len)
        return fail_status(response, err);
    return error_set(err, -EIO, "the server refuses the query: %.*s: %.*s", (int)MIN(type.len, 40u),
                     type.ptr ? type.ptr : "", (int)MIN(text.len, (uint32_t)TEXT_LEN_MAX), text.ptr);
}

/* ---- the document ---- */
static int open_document(struct prometheus_answer *answer, struct strbuf *body, struct error *err)
{
    size_t len = body->len;
    if (!len)
        return error_set(err, -ENODATA, "the answer is empty");
    char *padded = xrealloc(body->text, len + YYJSON_PADDING_SIZE);
    memset(padded + len, 0, YYJSON_PADDING_SIZE);
    *body = (struct strbuf){ 0 };
    doc_stream_init(&answer->stream, "answer", padded, len);
    if (answer->stream.yaml)
        return error_set(err, -EBADMSG, "expected the JSON of a Prometheus, got something else");
    int r = doc_stream_next(&answer->stream, &answer->doc, err);
    return r == 0 ? error_set(err, -ENODATA, "the answer is empty") : r < 0 ? r : 0;
}

static int look_inside(struct prometheus_answer *answer, const struct http_response *response,
                       struct error *err)
{
    yyjson_val *root = answer->doc.root, *data = yyjson_obj_get(root, "data");
    if (!str_is(doc_member_text(root, "status"), "success"))
        return fail_told(response, root, err);
    struct str type = doc_member_text(data, "resultType");
    yyjson_val *result = yyjson_obj_get(data, "result");
    if (!type.len || !result)
        return error_set(err, -EBADMSG, "expected the JSON of a Prometheus, got something else");
    if (!str_is(type, type_names[answer->type]) || !yyjson_is_arr(result))
        return error_set(err, -EBADMSG, "expected a query that gives a %s, got a %.*s",
                         type_names[answer->type], (int)MIN(type.len, 40u), type.ptr);
    yyjson_arr_iter_init(result, &answer->series);
    return 0;
}

int prometheus_answer_init(struct prometheus_answer *answer, enum prometheus_type type,
                           struct http_response *response, struct error *err)
{
    *answer = (struct prometheus_answer){ .type = type };
    bool is_good = response->status >= 200 && response->status < 300;
    if (response->outcome != HTTP_ANSWERED)
        return error_set(err, -EIO, "%s", response->error.text);
    /* The reason of a refusal is JSON, too; a page of something in between is not. */
    if (!is_good && !is_json(response))
        return fail_status(response, err);
    if (response->body->len >= UINT32_MAX)
        return error_set(err, -EMSGSIZE, "the answer is too long");
    int r = open_document(answer, response->body, err);
    return r < 0 ? (is_good ? r : fail_status(response, err)) : look_inside(answer, response, err);
}

bool prometheus_answer_next(struct prometheus_answer *answer, struct prometheus_series *ret)
{
    bool is_vector = answer->type == PROMETHEUS_VECTOR;
    for (yyjson_val *item; (item = yyjson_arr_iter_next(&answer->series));) {
        yyjson_val *labels = yyjson_obj_get(item, "metric");
        yyjson_val *points = yyjson_obj_get(item, is_vector ? "value" : "values");
        if (!yyjson_is_obj(labels) || !yyjson_is_arr(points))
            continue; /* a native histogram, or nothing that is known */
        *ret = (struct prometheus_series){ .labels = labels, .point = is_vector ? points : NULL };
        if (!is_vector)
            yyjson_arr_iter_init(points, &ret->points);
        return true;
    }
    return false;
}

void prometheus_answer_release(struct prometheus_answer *answer)
{
    doc_release(&answer->doc);
    doc_stream_release(&answer->stream);
}

struct str prometheus_label(const struct prometheus_series *series, const char *name)
{
    return doc_member_text(series->labels, name);
}

/* "0.25", "1e+06", "NaN", "+Inf". */
static bool read_number(yyjson_val *val, double *ret)
{
    struct str text = doc_text(val);
    char copy[NUMBER_LEN_MAX], *end;
    if (!text.len || text.len >= sizeof(copy) || (unsigned char)text.ptr[0] <= ' ')
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    *ret = strtod(copy, &end);
    return *end == '\0';
}

static bool read_point(yyjson_val *point, struct prometheus_point *ret)
{
    yyjson_val *time = yyjson_arr_get(point, 0);
    double seconds = yyjson_is_raw(time) ? strtod(yyjson_get_raw(time), NULL) : yyjson_get_num(time);
    if (!(seconds > 0 && seconds < SECONDS_MAX))
        return false;
    ret->at_ns =
        (int64_t)(seconds * 1000 + 0.5) * (NS_PER_SECOND / 1000); /* Prometheus counts milliseconds */
    return read_number(yyjson_arr_get(point, 1), &ret->value);
}

bool prometheus_series_next(struct prometheus_series *series, struct prometheus_point *ret)
{
    yyjson_val *point = series->point;
    series->point = NULL;
    if (point)
        return read_point(point, ret);
    while ((point = yyjson_arr_iter_next(&series->points)))
        if (read_point(point, ret))
            return true;
    return false;
}
