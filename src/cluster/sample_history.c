/* sample_history.c: see sample_history.h. */
#include "cluster/sample_history.h"

#include <math.h>
#include <stdlib.h>

#include "base/duration.h"

const struct str sample_statistic_names[STATISTIC_COUNT] = {
#define X(name, text) [STATISTIC_##name] = STR(text),
    SAMPLE_STATISTICS(X)
#undef X
};

static void drop(struct sample_history *history, uint32_t from)
{
    history->len -= from;
    memmove(history->items, history->items + from, history->len * sizeof(*history->items));
}

void sample_history_put(struct sample_history *history, int64_t at_ns, enum sample_resource resource,
                        double value)
{
    uint32_t place = history->len;
    while (place && history->items[place - 1].at_ns > at_ns)
        place--;
    if (place && history->items[place - 1].at_ns == at_ns) {
        history->items[place - 1].values[resource] = value;
        return;
    }
    if (history->len == SAMPLES_MAX) {
        if (!place)
            return;
        drop(history, 1);
        place--;
    }
    memmove(history->items + place + 1, history->items + place,
            (history->len - place) * sizeof(*history->items));
    history->len++;
    history->items[place].at_ns = at_ns;
    for (int i = 0; i < SAMPLE_RESOURCES; i++)
        history->items[place].values[i] = i == (int)resource ? value : -1;
}

void sample_history_forget(struct sample_history *history, int64_t at_ns)
{
    uint32_t from = 0;
    while (from < history->len && history->items[from].at_ns <= at_ns - SAMPLES_SPAN_S * NS_PER_SECOND)
        from++;
    drop(history, from);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return COMPARE(x, y);
}

/* Of sorted values: the smallest one that `percent` of all do not exceed. */
static double percentile(const double *values, size_t len, int percent)
{
    size_t rank = (len * (size_t)percent + 99) / 100;
    return values[rank ? rank - 1 : 0];
}

void sample_history_compute(const struct sample_history *history, enum sample_resource resource,
                            double ret[STATISTIC_COUNT])
{
    double values[SAMPLES_MAX], sum = 0, squares = 0;
    size_t len = 0;
    for (uint32_t i = 0; i < history->len; i++)
        if (history->items[i].values[resource] >= 0)
            sum += values[len++] = history->items[i].values[resource];
    if (!len)
        return;
    double average = sum / (double)len;
    for (size_t i = 0; i < len; i++)
        squares += (values[i] - average) * (values[i] - average);
    qsort(values, len, sizeof(*values), by_value);
    ret[STATISTIC_AVERAGE] = average;
    ret[STATISTIC_DEVIATION] = sqrt(squares / (double)len);
    static const int percents[STATISTIC_COUNT] = {
        [STATISTIC_P50] = 50, [STATISTIC_P90] = 90, [STATISTIC_P95] = 95, [STATISTIC_P99] = 99
    };
    for (int i = STATISTIC_P50; i < STATISTIC_COUNT; i++)
        ret[i] = percentile(values, len, percents[i]);
}
