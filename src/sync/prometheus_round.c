/* prometheus_round.c: see prometheus_round.h. */
#include "sync/prometheus_round.h"

#include <math.h>
#include <stdlib.h>

#include "base/percent.h"
#include "base/vec.h"
#include "codec/json_writer.h"

enum { REQUEST_MS = 20000, BODY_BYTES_MAX = 64 << 20, KEY_LEN_MAX = 600, SHOWN_LEN_MAX = 120 };
/* More cores and bytes than there are: what is infinite is taken for this, which plugins find absurd. */
#define VALUE_MAX 9e18

/* The last samples as one range: SAMPLES_MAX steps of SAMPLES_SPAN_S. */
#define HISTORY_RANGE "[15m:30s]"
static_assert(SAMPLES_SPAN_S == 15 * 60 && SAMPLES_MAX == SAMPLES_SPAN_S / 30, "HISTORY_RANGE");

struct asked {
    struct prometheus_round *round;
    const char *name; /* "nodes.cpu" */
    struct str text;
    enum sample_resource resource;
    enum sample_statistic statistic;
    uint64_t id;
    bool in_flight;
    struct strbuf object; /* ROUND_QUERIES */
};

struct prometheus_round {
    struct round_options options;
    struct strmap found; /* struct measured */
    VEC(struct asked) asked;
    size_t in_flight;
    bool is_cancelled;
    int result;
    struct error err;
    struct loop_call call; /* where not a single request could be sent */
};

/* ---- which queries ---- */
static void add(struct prometheus_round *round, const char *name, struct str text,
                enum sample_resource resource, enum sample_statistic statistic)
{
    if (text.len)
        *vec_push(&round->asked) = (struct asked){
            .round = round, .name = name, .text = text, .resource = resource, .statistic = statistic
        };
}

static void add_named(struct prometheus_round *round)
{
    struct str wanted = round->options.query;
    list_for(&round->options.prometheus->queries.queries, one)
        if (!wanted.len || str_eq(wanted, one->name))
            add(round, one->name.ptr, one->query, SAMPLE_CPU, STATISTIC_LATEST);
    if (wanted.len && !round->asked.len)
        round->result = error_set(&round->err, -ENOENT,
                                  "no query has the name " STR_FMT ": expected it among `queries` of "
                                  "--samples-prometheus-queries",
                                  STR_ARG(wanted));
}

static void add_all(struct prometheus_round *round)
{
    const struct prometheus_queries *queries = &round->options.prometheus->queries;
    if (round->options.kind == ROUND_QUERIES) {
        add_named(round);
        return;
    }
    if (round->options.kind == ROUND_PODS) {
        add(round, "pods.cpu", queries->pods.cpu, SAMPLE_CPU, STATISTIC_LATEST);
        add(round, "pods.memory", queries->pods.memory, SAMPLE_MEMORY, STATISTIC_LATEST);
        return;
    }
    add(round, "nodes.cpu", queries->nodes.cpu, SAMPLE_CPU, STATISTIC_LATEST);
    add(round, "nodes.memory", queries->nodes.memory, SAMPLE_MEMORY, STATISTIC_LATEST);
    if (round->options.kind == ROUND_NODES)
        list_for(&queries->nodes.statistics, one) {
            add(round, "nodes.statistics.cpu", one->cpu, SAMPLE_CPU, one->number);
            add(round, "nodes.statistics.memory", one->memory, SAMPLE_MEMORY, one->number);
        }
}

bool prometheus_asks(const struct prometheus *prometheus, enum round_kind kind)
{
    const struct prometheus_queries *queries = &prometheus->queries;
    if (kind == ROUND_QUERIES)
        return queries->queries.len;
    if (kind == ROUND_PODS)
        return queries->pods.cpu.len || queries->pods.memory.len;
    return (queries->nodes.cpu.len || queries->nodes.memory.len) &&
           (kind == ROUND_NODES || queries->nodes.history);
}

/* ---- what came ---- */
/* The text is in `buf`, or lives as long as the answer or the names. Absent: it is none of the cluster's. */
static struct str key_of(const struct prometheus_round *round, const struct prometheus_series *series,
                         char buf[KEY_LEN_MAX])
{
    const struct round_options *options = &round->options;
    if (options->kind == ROUND_PODS) {
        struct str namespace = prometheus_label(series, "namespace"), pod = prometheus_label(series, "pod");
        if (!namespace.len || !pod.len || namespace.len + pod.len + 2 > KEY_LEN_MAX)
            return (struct str){ 0 };
        int len = snprintf(buf, KEY_LEN_MAX, STR_FMT "/" STR_FMT, STR_ARG(namespace), STR_ARG(pod));
        return (struct str){ buf, (uint32_t)len };
    }
    list_for(&options->prometheus->queries.nodes.labels, label) {
        struct str value = prometheus_label(series, label->ptr);
        struct str name = value.len ? node_lookup_find(options->lookup, value) : (struct str){ 0 };
        if (name.len)
            return name;
    }
    return (struct str){ 0 };
}

static struct measured *entry_of(struct prometheus_round *round, struct str key)
{
    size_t len = round->found.len;
    struct measured *entry = strmap_make(&round->found, key, sizeof(*entry));
    if (round->found.len == len)
        return entry;
    for (int i = 0; i < SAMPLE_RESOURCES; i++)
        for (int k = 0; k < STATISTIC_COUNT; k++)
            entry->values[i][k] = -1;
    if (round->options.kind == ROUND_HISTORY)
        entry->history = xcalloc(1, sizeof(*entry->history));
    return entry;
}

static void take_series(struct prometheus_round *round, const struct asked *asked, struct str key,
                        struct prometheus_series *series)
{
    struct prometheus_point point;
    while (prometheus_series_next(series, &point)) {
        if (!(point.value >= 0)) /* no number, or a negative one */
            continue;
        double value = MIN(point.value, VALUE_MAX);
        struct measured *entry = entry_of(round, key);
        if (entry->history) {
            sample_history_put(entry->history, point.at_ns, asked->resource, value);
            continue;
        }
        double *place = &entry->values[asked->resource][asked->statistic];
        *place = MAX(*place, value);
        entry->at_ns = entry->at_ns ? MIN(entry->at_ns, point.at_ns) : point.at_ns;
    }
}

/* The query of a user whose labels do not fit is the most common mistake: one of them is shown. */
static int fail_unknown(const struct asked *asked, struct str shown, struct error *err)
{
    const struct prometheus_queries *queries = &asked->round->options.prometheus->queries;
    _cleanup_(strbuf_release) struct strbuf labels = { 0 };
    list_for(&queries->nodes.labels, label)
        strbuf_printf(&labels, "%s" STR_FMT, labels.len ? ", " : "", STR_ARG(*label));
    return error_set(
        err, -ENOENT,
        "no series belongs to a node of the cluster: none of the labels %s has its name or address%s%.*s",
        labels.text, shown.len ? ", but such as " : "", (int)MIN(shown.len, (uint32_t)SHOWN_LEN_MAX),
        shown.ptr ? shown.ptr : "");
}

/* Where a node is asked for, nothing at all is an error: the metric has another name. */
static int take(const struct asked *asked, struct prometheus_answer *answer, struct error *err)
{
    struct prometheus_round *round = asked->round;
    struct prometheus_series series;
    struct str shown = { 0 };
    char buf[KEY_LEN_MAX];
    size_t known = 0, len = 0;
    for (; prometheus_answer_next(answer, &series); len++) {
        struct str key = key_of(round, &series, buf);
        if (key.len)
            take_series(round, asked, key, &series);
        known += key.len > 0;
        list_for(&round->options.prometheus->queries.nodes.labels, label)
            if (!shown.len)
                shown = prometheus_label(&series, label->ptr);
    }
    if (round->options.kind != ROUND_NODES || known || asked->statistic)
        return 0;
    return len ? fail_unknown(asked, shown, err)
               : error_set(err, -ENOENT, "the query gives nothing: does Prometheus have these metrics?");
}

/* ---- named queries ---- */
static void put_series(struct json_writer *json, struct prometheus_series *series)
{
    struct prometheus_point point;
    yyjson_val *key;
    yyjson_obj_iter labels = yyjson_obj_iter_with(series->labels);
    if (!prometheus_series_next(series, &point) || !isfinite(point.value))
        return;
    json_begin_object(json);
    json_member_object(json, "labels");
    while ((key = yyjson_obj_iter_next(&labels))) {
        json_key(json, doc_text(key));
        json_str(json, doc_text(yyjson_obj_iter_get_val(key)));
    }
    json_end_object(json);
    json_key(json, STR("value"));
    json_double(json, point.value);
    json_end_object(json);
}

static int take_named(struct asked *asked, struct prometheus_answer *answer)
{
    struct prometheus_series series;
    struct json_writer json = json_writer(&asked->object, JSON_COMPACT);
    json_begin_object(&json);
    json_member_str(&json, "apiVersion", STR(QUERY_API_VERSION));
    json_member_str(&json, "kind", STR(QUERY_KIND));
    json_member_object(&json, "metadata");
    json_member_str(&json, "name", str_from(asked->name));
    json_end_object(&json);
    json_member_array(&json, "result");
    while (prometheus_answer_next(answer, &series))
        put_series(&json, &series);
    json_end_array(&json);
    json_end_object(&json);
    return 0;
}

void prometheus_round_write(struct prometheus_round *round, struct strbuf *out)
{
    strbuf_puts(out, "{\"kind\":\"" QUERY_KIND "List\",\"apiVersion\":\"" QUERY_API_VERSION
                     "\",\"metadata\":{\"resourceVersion\":\"0\"},\"items\":[");
    vec_for(&round->asked, asked) {
        strbuf_puts(out, asked == round->asked.items ? "" : ",");
        strbuf_str(out, strbuf_slice(&asked->object));
    }
    strbuf_puts(out, "]}");
}

/* ---- requests ---- */
static void round_free(struct prometheus_round *round)
{
    map_for(&round->found, slot) {
        free(((struct measured *)slot->value)->history);
        free(slot->value);
    }
    strmap_release(&round->found);
    vec_for(&round->asked, asked)
        strbuf_release(&asked->object);
    vec_release(&round->asked);
    free(round);
}

static void look_done(struct prometheus_round *round)
{
    if (round->in_flight)
        return;
    int result = round->is_cancelled ? -ECANCELED : round->result;
    round->options.done(round->options.user, round, result, &round->err);
    round_free(round);
}

static void note(struct prometheus_round *round, const struct asked *asked, int r, const struct error *err)
{
    if (r == 0 || round->result < 0)
        return;
    round->result = r;
    round->err = *err;
    error_prefix(&round->err, "query %s", asked->name);
}

static void on_done(void *user, struct http_response *response)
{
    struct asked *asked = user;
    struct prometheus_round *round = asked->round;
    struct prometheus_answer answer;
    struct error err = { 0 };
    asked->in_flight = false;
    round->in_flight--;
    if (!round->is_cancelled && round->result == 0) {
        int r = prometheus_answer_init(
            &answer, round->options.kind == ROUND_HISTORY ? PROMETHEUS_MATRIX : PROMETHEUS_VECTOR, response,
            &err);
        if (r == 0)
            r = round->options.kind == ROUND_QUERIES ? take_named(asked, &answer)
                                                     : take(asked, &answer, &err);
        prometheus_answer_release(&answer);
        note(round, asked, r, &err);
    }
    look_done(round);
}

static const struct http_callbacks callbacks = { .on_done = on_done };

static void ask(struct asked *asked)
{
    struct prometheus_round *round = asked->round;
    _cleanup_(strbuf_release) struct strbuf text = { 0 }, path = { 0 };
    struct error err = { 0 };
    bool is_history = round->options.kind == ROUND_HISTORY;
    strbuf_printf(&text, is_history ? "(" STR_FMT ")" HISTORY_RANGE : STR_FMT, STR_ARG(asked->text));
    strbuf_puts(&path, "/api/v1/query?query=");
    percent_encode(&path, strbuf_slice(&text), "-._~");
    const struct api_request request = { .method = "GET",
                                         .path = strbuf_slice(&path),
                                         .accept = API_JSON,
                                         .unlimited = true,
                                         .timeout_ms = REQUEST_MS,
                                         .body_bytes_max = BODY_BYTES_MAX,
                                         .callbacks = &callbacks,
                                         .user = asked };
    int r = api_send(round->options.prometheus->api, &request, &asked->id, &err);
    asked->in_flight = r == 0;
    round->in_flight += r == 0;
    note(round, asked, r, &err);
}

static void end_unsent(struct loop_call *call)
{
    look_done(container_of(call, struct prometheus_round, call));
}

struct prometheus_round *prometheus_round_begin(const struct round_options *options)
{
    struct prometheus_round *round = xcalloc(1, sizeof(*round));
    round->options = *options;
    add_all(round);
    vec_for(&round->asked, asked)
        ask(asked);
    if (!round->in_flight) {
        round->call.run = end_unsent;
        loop_post(api_loop(options->prometheus->api), &round->call);
    }
    return round;
}

void prometheus_round_cancel(struct prometheus_round *round)
{
    if (round->is_cancelled)
        return;
    round->is_cancelled = true;
    vec_for(&round->asked, asked)
        if (asked->in_flight)
            api_cancel(round->options.prometheus->api, asked->id);
}

struct strmap *prometheus_round_found(struct prometheus_round *round)
{
    return &round->found;
}
