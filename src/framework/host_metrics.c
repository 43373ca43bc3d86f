/* host_metrics.c: a registry per family that a plugin asks for, in the order in which they came.
 *
 * The list only grows, and is read without a lock. Families are asked for in init() as a rule; two plugins that ask for
 * the same name share it, if they mean the same by it. */
#include <stdatomic.h>
#include <stdlib.h>

#include "framework/host.h"

enum { HOST_LABELS_MAX = 4 };

struct family {
    struct family *next;
    struct metric_info info;
    struct metrics *metrics;
    double buckets[METRIC_BUCKETS_MAX];
};

static _Atomic(struct family *) families;
static atomic_flag growing = ATOMIC_FLAG_INIT;

/* Plugins count in doubles. */
static const enum metric_type types[] = {
    [BERTH_COUNTER] = METRIC_REAL_COUNTER,
    [BERTH_GAUGE] = METRIC_GAUGE,
    [BERTH_HISTOGRAM] = METRIC_HISTOGRAM,
};

static bool valid_name(const char *name)
{
    if (!name || !*name)
        return false;
    for (const char *at = name; *at; at++) {
        bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_' || *at == ':';
        if (!letter && (at == name || *at < '0' || *at > '9'))
            return false;
    }
    return true;
}

static size_t labels_len(const char *const *labels)
{
    size_t len = 0;
    while (len < HOST_LABELS_MAX && labels[len])
        len++;
    return len;
}

static struct family *find(const char *name)
{
    struct family *family = atomic_load_explicit(&families, memory_order_acquire);
    while (family && strcmp(family->info.name, name) != 0)
        family = family->next;
    return family;
}

static bool same(const struct family *family, const struct berth_metric_info *info)
{
    size_t len = labels_len(info->labels);
    if (family->info.type != types[info->type] || labels_len(family->info.labels) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (strcmp(family->info.labels[i], info->labels[i]) != 0)
            return false;
    return true;
}

static struct family *make(const struct berth_metric_info *info)
{
    struct family *family = xcalloc(1, sizeof(*family));
    family->info = (struct metric_info){
        .name = strdup(info->name),
        .help = strdup(info->help ? info->help : ""),
        .type = types[info->type],
        .stability = METRIC_ALPHA,
        .buckets = family->buckets,
        .buckets_len = MIN(info->buckets_len, (size_t)METRIC_BUCKETS_MAX),
    };
    for (size_t i = 0; i < labels_len(info->labels); i++)
        family->info.labels[i] = strdup(info->labels[i]);
    if (family->info.buckets_len)
        memcpy(family->buckets, info->buckets, family->info.buckets_len * sizeof(double));
    family->metrics = metrics_new(&family->info, 1);
    return family;
}

static struct family *find_or_make(const struct berth_metric_info *info)
{
    while (atomic_flag_test_and_set_explicit(&growing, memory_order_acquire))
        ;
    struct family *family = find(info->name);
    if (!family) {
        family = make(info);
        family->next = atomic_load_explicit(&families, memory_order_relaxed);
        atomic_store_explicit(&families, family, memory_order_release);
    }
    atomic_flag_clear_explicit(&growing, memory_order_release);
    return family;
}

struct berth_metric *host_metric(const struct berth_metric_info *info, const struct berth_str *labels)
{
    if (!valid_name(info->name) ||
        (info->type != BERTH_COUNTER && info->type != BERTH_GAUGE && info->type != BERTH_HISTOGRAM))
        return NULL;
    for (size_t i = 0; i < labels_len(info->labels); i++)
        if (!valid_name(info->labels[i]))
            return NULL;
    struct family *family = find(info->name);
    if (!family)
        family = find_or_make(info);
    return same(family, info)
               ? (struct berth_metric *)metric_get(family->metrics, 0, (const struct str *)labels)
               : NULL;
}

void host_metric_add(struct berth_metric *metric, double value)
{
    struct metric *own = (struct metric *)metric;
    if (own && !own->buckets)
        gauge_add(own, value);
}

void host_metric_set(struct berth_metric *metric, double value)
{
    struct metric *own = (struct metric *)metric;
    if (own && !own->buckets)
        gauge_set(own, value);
}

void host_metric_observe(struct berth_metric *metric, double value)
{
    struct metric *own = (struct metric *)metric;
    if (own && own->buckets)
        histogram_observe(own, value);
}

/* Newest first, as the list is; names are looked up by whoever reads them. */
void host_metrics_write(enum metrics_format format, struct strbuf *out)
{
    static const struct str end = STR("# EOF\n");
    struct family *family = atomic_load_explicit(&families, memory_order_acquire);
    for (; family; family = family->next) {
        metrics_write(family->metrics, format, out);
        if (str_ends_with(strbuf_slice(out), end)) {
            out->len -= end.len;
            out->text[out->len] = '\0';
        }
    }
}
