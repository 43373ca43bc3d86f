/* metrics.c: the registry and the text that Prometheus scrapes.
 *
 * A family keeps its metrics in a map by their label values, and shows them sorted. One lock guards all of
 * that; the values themselves are atomics without a lock, so a reader sees each number complete, but not all
 * of the same moment. The count of a histogram is the sum of its buckets as they are read, so the lines of
 * one histogram always agree. */
#include "base/metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/map.h"
#include "base/utf8.h"
#include "base/vec.h"

/* A metric and its label values, in the order of the label names. */
struct cell {
    struct str key; /* the values, each with a terminating zero */
    struct metric metric;
    struct str values[METRIC_LABELS_MAX]; /* in `key` */
};

/* The values of a label that are told apart. */
struct allowed {
    size_t label; /* its number in the table */
    char *values; /* ",a,b," */
};

struct family {
    const struct metric_info *info;
    uint8_t order[METRIC_LABELS_MAX]; /* numbers of the labels by name */
    size_t labels_len;
    bool disabled;
    VEC(struct allowed) allowed;
    struct strmap by_key; /* of struct cell */
};

struct callback {
    void (*call)(void *context);
    void *context;
};

struct metrics {
    pthread_mutex_t lock;
    struct family *families;
    size_t *order; /* numbers of the families by name */
    size_t len;
    bool show_hidden;
    VEC(struct callback) on_write;
    struct callback on_unexpected;
};

/* ---- families and metrics ---- */

static void family_init(struct family *family, const struct metric_info *info)
{
    *family = (struct family){ .info = info };
    while (family->labels_len < METRIC_LABELS_MAX && info->labels[family->labels_len])
        family->labels_len++;
    for (size_t i = 0; i < family->labels_len; i++) {
        size_t at = i;
        for (; at && strcmp(info->labels[family->order[at - 1]], info->labels[i]) > 0; at--)
            family->order[at] = family->order[at - 1];
        family->order[at] = (uint8_t)i;
    }
}

struct metrics *metrics_new(const struct metric_info *infos, size_t len)
{
    struct metrics *metrics = xcalloc(1, sizeof(*metrics));
    pthread_mutex_init(&metrics->lock, NULL);
    metrics->families = xcalloc(MAX(len, 1u), sizeof(*metrics->families));
    metrics->order = xcalloc(MAX(len, 1u), sizeof(*metrics->order));
    metrics->len = len;
    for (size_t i = 0; i < len; i++) {
        assert(infos[i].buckets_len <= METRIC_BUCKETS_MAX);
        family_init(&metrics->families[i], &infos[i]);
        size_t at = i;
        for (; at && strcmp(infos[metrics->order[at - 1]].name, infos[i].name) > 0; at--)
            metrics->order[at] = metrics->order[at - 1];
        metrics->order[at] = i;
    }
    for (size_t i = 0; i < len; i++)
        if (!metrics->families[i].labels_len)
            metric_get(metrics, i, NULL);
    return metrics;
}

static void family_clear(struct family *family)
{
    map_for(&family->by_key, slot) {
        free(((struct cell *)slot->value)->metric.buckets);
        free(slot->value);
    }
    strmap_release(&family->by_key);
}

void metrics_free(struct metrics *metrics)
{
    if (!metrics)
        return;
    for (size_t i = 0; i < metrics->len; i++) {
        family_clear(&metrics->families[i]);
        vec_for(&metrics->families[i].allowed, allowed)
            free(allowed->values);
        vec_release(&metrics->families[i].allowed);
    }
    vec_release(&metrics->on_write);
    free(metrics->families);
    free(metrics->order);
    pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}

void metrics_reset(struct metrics *metrics)
{
    pthread_mutex_lock(&metrics->lock);
    for (size_t i = 0; i < metrics->len; i++) {
        if (metrics->families[i].info->type == METRIC_GAUGE)
            continue;
        map_for(&metrics->families[i].by_key, slot) {
            struct metric *metric = &((struct cell *)slot->value)->metric;
            atomic_store_explicit(&metric->value, 0, memory_order_relaxed);
            for (size_t bucket = 0; metric->buckets && bucket <= metric->bounds_len; bucket++)
                atomic_store_explicit(&metric->buckets[bucket], 0, memory_order_relaxed);
        }
    }
    pthread_mutex_unlock(&metrics->lock);
}

static void cell_init(struct family *family, struct cell *cell)
{
    const struct metric_info *info = family->info;
    const char *at = cell->key.ptr;
    for (size_t i = 0; i < family->labels_len; i++) {
        cell->values[i] = str_from(at);
        at += cell->values[i].len + 1;
    }
    if (info->type == METRIC_HISTOGRAM) {
        cell->metric.bounds = info->buckets;
        cell->metric.bounds_len = info->buckets_len;
        cell->metric.buckets = xcalloc(info->buckets_len + 1, sizeof(*cell->metric.buckets));
    }
}

/* Prometheus drops all of a scrape in which one byte is not UTF-8. */
static void add_clean(struct strbuf *out, struct str text)
{
    size_t len;
    for (size_t i = 0; i < text.len; i += len) {
        char rune[RUNE_BYTES_MAX];
        uint32_t c = utf8_rune_at(text, i, &len);
        strbuf_add(out, rune, utf8_rune_put(c ? c : RUNE_ERROR, rune));
    }
}

static bool is_allowed(const struct family *family, size_t label, struct str value)
{
    bool allowed = true;
    vec_for(&family->allowed, rule) {
        if (rule->label != label)
            continue;
        _cleanup_(strbuf_release) struct strbuf wanted = { 0 };
        strbuf_printf(&wanted, "," STR_FMT ",", STR_ARG(value));
        allowed = str_find(value, ',') < 0 && strstr(rule->values, wanted.text);
    }
    return allowed;
}

struct metric *metric_get(struct metrics *metrics, size_t family_at, const struct str *values)
{
    assert(family_at < metrics->len);
    struct family *family = &metrics->families[family_at];
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    size_t unexpected = 0;
    pthread_mutex_lock(&metrics->lock);
    for (size_t i = 0; i < family->labels_len; i++) {
        size_t label = family->order[i];
        bool allowed = is_allowed(family, label, values[label]);
        unexpected += !allowed;
        add_clean(&key, allowed ? values[label] : STR("unexpected"));
        strbuf_add(&key, "", 1); /* ends a value here */
    }
    size_t cells = family->by_key.len;
    struct cell *cell = strmap_make(&family->by_key, strbuf_slice(&key), sizeof(*cell));
    if (family->by_key.len > cells)
        cell_init(family, cell);
    pthread_mutex_unlock(&metrics->lock);
    for (; unexpected && metrics->on_unexpected.call; unexpected--)
        metrics->on_unexpected.call(metrics->on_unexpected.context);
    return &cell->metric;
}

double metrics_sum(struct metrics *metrics, size_t family_at, size_t label, struct str value)
{
    const struct family *family = &metrics->families[family_at];
    size_t place = 0;
    double sum = 0;
    assert(label < family->labels_len && family->info->type != METRIC_HISTOGRAM);
    while (family->order[place] != label)
        place++;
    pthread_mutex_lock(&metrics->lock);
    map_for(&family->by_key, slot) {
        const struct cell *cell = slot->value;
        if (str_eq(cell->values[place], value))
            sum += family->info->type == METRIC_COUNTER ? (double)counter_value(&cell->metric)
                                                        : gauge_value(&cell->metric);
    }
    pthread_mutex_unlock(&metrics->lock);
    return sum;
}

uint64_t histogram_count(const struct metric *metric)
{
    uint64_t count = 0;
    for (size_t i = 0; i <= metric->bounds_len; i++)
        count += atomic_load_explicit(&metric->buckets[i], memory_order_relaxed);
    return count;
}

void buckets_exponential(double start, double factor, size_t count, double *ret)
{
    for (size_t i = 0; i < count; i++, start *= factor)
        ret[i] = start;
}

/* ---- what is shown ---- */

static struct family *find_family(struct metrics *metrics, struct str name)
{
    for (size_t i = 0; i < metrics->len; i++)
        if (str_is(name, metrics->families[i].info->name))
            return &metrics->families[i];
    return NULL;
}

void metrics_disable(struct metrics *metrics, struct str name)
{
    struct family *family = find_family(metrics, name);
    if (family)
        family->disabled = true;
}

void metrics_show_hidden(struct metrics *metrics)
{
    metrics->show_hidden = true;
}

void metrics_allow(struct metrics *metrics, struct str name, struct str label, struct str values)
{
    struct family *family = find_family(metrics, name);
    struct strbuf list = { 0 };
    for (size_t i = 0; family && i < family->labels_len; i++) {
        if (!str_is(label, family->info->labels[i]))
            continue;
        strbuf_printf(&list, "," STR_FMT ",", STR_ARG(values));
        *vec_push(&family->allowed) = (struct allowed){ i, list.text };
    }
}

void metrics_on_unexpected(struct metrics *metrics, void (*call)(void *context), void *context)
{
    metrics->on_unexpected = (struct callback){ call, context };
}

void metrics_on_write(struct metrics *metrics, void (*call)(void *context), void *context)
{
    *vec_push(&metrics->on_write) = (struct callback){ call, context };
}

/* ---- writing ---- */

static void print_double(struct strbuf *out, double value)
{
    char buf[DECIMAL_LEN_MAX];
    strbuf_str(out, decimal_format(value, DECIMAL_GO, buf));
}

static void print_escaped(struct strbuf *out, struct str text, bool quotes)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '\n')
            strbuf_puts(out, "\\n");
        else if (c == '\\' || (c == '"' && quotes))
            strbuf_printf(out, "\\%c", c);
        else
            strbuf_putc(out, c);
    }
}

static void print_head(struct strbuf *out, const struct metric_info *info)
{
    static const char *const stabilities[] = { "[INTERNAL] ", "[ALPHA] ", "[BETA] ", "[STABLE] ", "" };
    static const char *const types[] = { "counter", "counter", "gauge", "histogram" };
    _cleanup_(strbuf_release) struct strbuf help = { 0 };
    add_clean(&help, str_from(info->help));
    strbuf_printf(out, "# HELP %s %s", info->name, stabilities[info->stability]);
    if (info->deprecated)
        strbuf_printf(out, "(Deprecated since %s) ", info->deprecated);
    print_escaped(out, strbuf_slice(&help), false);
    strbuf_printf(out, "\n# TYPE %s %s\n", info->name, types[info->type]);
}

/* name{label="value",le="0.5"}, with a space behind it; `bound` may be NULL. */
static void print_sample(struct strbuf *out, const struct family *family, const struct cell *cell,
                         const char *suffix, const double *bound)
{
    const char *separator = "{";
    strbuf_printf(out, "%s%s", family->info->name, suffix);
    for (size_t i = 0; i < family->labels_len; i++, separator = ",") {
        strbuf_printf(out, "%s%s=\"", separator, family->info->labels[family->order[i]]);
        print_escaped(out, cell->values[i], true);
        strbuf_putc(out, '"');
    }
    if (bound) {
        strbuf_printf(out, "%sle=\"", separator);
        print_double(out, *bound);
        strbuf_putc(out, '"');
    }
    strbuf_puts(out, bound || family->labels_len ? "} " : " ");
}

static void print_histogram(struct strbuf *out, const struct family *family, const struct cell *cell)
{
    uint64_t count = 0;
    for (size_t i = 0; i <= cell->metric.bounds_len; i++) {
        double bound = i < cell->metric.bounds_len ? cell->metric.bounds[i] : INFINITY;
        count += atomic_load_explicit(&cell->metric.buckets[i], memory_order_relaxed);
        print_sample(out, family, cell, "_bucket", &bound);
        strbuf_printf(out, "%llu\n", (unsigned long long)count);
    }
    print_sample(out, family, cell, "_sum", NULL);
    print_double(out, histogram_sum(&cell->metric));
    strbuf_putc(out, '\n');
    print_sample(out, family, cell, "_count", NULL);
    strbuf_printf(out, "%llu\n", (unsigned long long)count);
}

static void print_cell(struct strbuf *out, const struct family *family, const struct cell *cell)
{
    switch (family->info->type) {
    case METRIC_HISTOGRAM:
        print_histogram(out, family, cell);
        return;
    case METRIC_COUNTER:
        print_sample(out, family, cell, "", NULL);
        print_double(out, (double)counter_value(&cell->metric));
        break;
    case METRIC_REAL_COUNTER:
    case METRIC_GAUGE:
        print_sample(out, family, cell, "", NULL);
        print_double(out, gauge_value(&cell->metric));
        break;
    }
    strbuf_putc(out, '\n');
}

static int compare_cells(const void *a, const void *b)
{
    const struct cell *left = *(const struct cell *const *)a, *right = *(const struct cell *const *)b;
    return str_cmp(left->key, right->key);
}

static void print_family(struct strbuf *out, const struct family *family)
{
    VEC(const struct cell *) cells = { 0 };
    map_for(&family->by_key, slot)
        *vec_push(&cells) = slot->value;
    if (cells.len) {
        qsort(cells.items, cells.len, sizeof(*cells.items), compare_cells);
        print_head(out, family->info);
    }
    vec_for(&cells, cell)
        print_cell(out, family, *cell);
    vec_release(&cells);
}

void metrics_write(struct metrics *metrics, struct strbuf *out)
{
    vec_for(&metrics->on_write, callback)
        callback->call(callback->context);
    pthread_mutex_lock(&metrics->lock);
    for (size_t i = 0; i < metrics->len; i++) {
        const struct family *family = &metrics->families[metrics->order[i]];
        if (!family->disabled && (!family->info->hidden || metrics->show_hidden))
            print_family(out, family);
    }
    pthread_mutex_unlock(&metrics->lock);
}
