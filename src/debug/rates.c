/* rates.c: a ring of samples of the metrics; see rates.h. */
#include "debug/rates.h"

#include <stdlib.h>
#include <time.h>

#include "api/output.h"
#include "debug/views.h"
#include "observe/families.h"

enum { EVERY_S = 5, SAMPLES_KEPT = 30 * 60 / EVERY_S, RATE_OVER_S = 60 };

/* What is counters: how often per second. */
static const struct {
    const char *name;
    enum family family;
    const char *result; /* the value of the first label; NULL: the family has none */
} counters[] = {
    { "scheduled", FAMILY_SCHEDULE_ATTEMPTS_TOTAL, "scheduled" },
    { "unschedulable", FAMILY_SCHEDULE_ATTEMPTS_TOTAL, "unschedulable" },
    { "error", FAMILY_SCHEDULE_ATTEMPTS_TOTAL, "error" },
    { "preemptions", FAMILY_PREEMPTION_ATTEMPTS_TOTAL, NULL },
};
/* How many pods wait, by the queues of the metric. */
static const char *const queues[] = { "active", "backoff", "unschedulable", "gated" };

struct sample {
    int64_t wall_s, now_ns;
    double counts[ARRAY_SIZE(counters)];
    double waiting[ARRAY_SIZE(queues)];
};

struct rates {
    struct metrics *metrics;
    struct loop *loop;
    struct loop_timer timer;
    struct sample samples[SAMPLES_KEPT];
    size_t first, len;
};

static struct sample read_metrics(const struct rates *rates, int64_t wall_s, int64_t now_ns)
{
    struct sample sample = { .wall_s = wall_s, .now_ns = now_ns };
    for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
        sample.counts[i] =
            counters[i].result
                ? metrics_sum(rates->metrics, counters[i].family, 0, str_from(counters[i].result))
                : (double)counter_value(metric_get(rates->metrics, counters[i].family, NULL));
    for (size_t i = 0; i < ARRAY_SIZE(queues); i++)
        sample.waiting[i] = metrics_sum(rates->metrics, FAMILY_PENDING_PODS, 0, str_from(queues[i]));
    return sample;
}

/* From 0, the oldest. */
static const struct sample *sample_at(const struct rates *rates, size_t i)
{
    return &rates->samples[(rates->first + i) % SAMPLES_KEPT];
}

void rates_sample(struct rates *rates, int64_t wall_s, int64_t now_ns)
{
    rates->samples[(rates->first + rates->len) % SAMPLES_KEPT] = read_metrics(rates, wall_s, now_ns);
    if (rates->len < SAMPLES_KEPT)
        rates->len++;
    else
        rates->first = (rates->first + 1) % SAMPLES_KEPT;
}

static double rate_between(const struct sample *from, const struct sample *to, size_t counter)
{
    double seconds = (double)(to->now_ns - from->now_ns) / 1e9;
    double more = to->counts[counter] - from->counts[counter];
    return more > 0 && seconds > 0 ? (double)(int64_t)(more / seconds * 100 + 0.5) / 100 : 0;
}

/* The sample of a minute ago, or the oldest. */
static const struct sample *minute_ago(const struct rates *rates, const struct sample *now)
{
    const struct sample *found = now;
    for (size_t i = rates->len; i-- > 0;) {
        found = sample_at(rates, i);
        if (now->now_ns - found->now_ns >= RATE_OVER_S * INT64_C(1000000000))
            break;
    }
    return found;
}

static void put_rates(struct json_writer *json, const struct rates *rates)
{
    json_member_object(json, "rates");
    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        json_member_array(json, counters[i].name);
        for (size_t s = 1; s < rates->len; s++)
            json_double(json, rate_between(sample_at(rates, s - 1), sample_at(rates, s), i));
        json_end_array(json);
    }
    json_end_object(json);
}

static void put_queues(struct json_writer *json, const struct rates *rates)
{
    json_member_object(json, "queue");
    for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
        json_member_array(json, queues[i]);
        for (size_t s = 1; s < rates->len; s++)
            json_double(json, sample_at(rates, s)->waiting[i]);
        json_end_array(json);
    }
    json_end_object(json);
}

/* Each from the second one on: a rate needs one before. */
static void put_samples(struct json_writer *json, const struct rates *rates)
{
    json_member_object(json, "samples");
    json_member_array(json, "time");
    for (size_t s = 1; s < rates->len; s++)
        json_int(json, sample_at(rates, s)->wall_s);
    json_end_array(json);
    put_rates(json, rates);
    put_queues(json, rates);
    json_end_object(json);
}

void rates_write(const struct rates *rates, int64_t wall_s, int64_t now_ns, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    struct sample now = read_metrics(rates, wall_s, now_ns);
    const struct sample *before = minute_ago(rates, &now);
    output_begin(&json, "Rates");
    view_put_time(&json, "time", wall_s * INT64_C(1000000000));
    json_member_int(&json, "everySeconds", EVERY_S);
    json_member_object(&json, "rates");
    for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
        json_member_double(&json, counters[i].name, rate_between(before, &now, i));
    json_end_object(&json);
    json_member_object(&json, "queue");
    for (size_t i = 0; i < ARRAY_SIZE(queues); i++)
        json_member_double(&json, queues[i], now.waiting[i]);
    json_end_object(&json);
    json_member_object(&json, "totals");
    for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
        json_member_double(&json, counters[i].name, now.counts[i]);
    json_end_object(&json);
    put_samples(&json, rates);
    output_end(&json);
}

int rates_view(void *user, const struct serve_request *request, struct serve_reply *reply)
{
    if (!str_is(request->method, "GET")) {
        serve_reply_error(reply, 405, "only GET");
        return 0;
    }
    serve_reply_header(reply, "Content-Type", STR("application/json"));
    rates_write(user, (int64_t)time(NULL), monotonic_ns(), &reply->body);
    if (request->takes_gzip)
        serve_reply_gzip(reply);
    return 0;
}

static void ring(struct loop_timer *timer)
{
    struct rates *rates = container_of(timer, struct rates, timer);
    int64_t now_ns = monotonic_ns();
    rates_sample(rates, (int64_t)time(NULL), now_ns);
    loop_timer_set(rates->loop, timer, now_ns + EVERY_S * INT64_C(1000000000));
}

static void start(void *context)
{
    ring(&((struct rates *)context)->timer);
}

struct rates *rates_new(struct metrics *metrics)
{
    struct rates *rates = xcalloc(1, sizeof(*rates));
    rates->metrics = metrics;
    rates->timer.ring = ring;
    return rates;
}

void rates_start(struct rates *rates, struct loop *loop)
{
    rates->loop = loop;
    loop_run(loop, start, rates);
}

void rates_free(struct rates *rates)
{
    free(rates);
}
