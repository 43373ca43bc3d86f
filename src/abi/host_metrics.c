/* host_metrics.c: a registry per family that a plugin requests, in the order in which they came.
 *
 * Families are requested in init() as a rule; two plugins that request the same name share it, if they mean the same by
 * it.
 *
 * One family that is there twice, or a name that is none, and a reader may drop the page: what would make it so
 * is refused, with one warning. */
#include <stdatomic.h>
#include <stdlib.h>

#include "abi/host.h"
#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"

enum { HOST_LABELS_MAX = 4, WARNINGS_MAX = 100 };

struct family {
    struct metric_info info;
    struct metrics *metrics;
    double buckets[METRIC_BUCKETS_MAX];
};

/* Under the lock, which is held for moments only. Families stay for good. */
static atomic_flag locked = ATOMIC_FLAG_INIT;
static VEC(struct family *) families;
static struct strmap refusals; /* "name: why" of what was refused, and said */

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&locked, memory_order_acquire))
        ;
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&locked, memory_order_release);
}

/* Plugins count in doubles. */
static const enum metric_type types[] = {
    [BERTH_COUNTER] = METRIC_REAL_COUNTER,
    [BERTH_GAUGE] = METRIC_GAUGE,
    [BERTH_HISTOGRAM] = METRIC_HISTOGRAM,
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool valid_name(const char *name, bool colons)
{
    if (!name || !*name)
        return false;
    for (const char *at = name; *at; at++)
        if (!is_letter(*at) && !(colons && *at == ':') && (at == name || *at < '0' || *at > '9'))
            return false;
    return true;
}

static size_t labels_len(const char *const *labels)
{
    size_t len = 0;
    while (len < HOST_LABELS_MAX && labels[len])
        len++;
    return len;
}

/* Infinity is every histogram's last bound, whether it is written down or not. */
static size_t buckets_len(const struct berth_metric_info *info)
{
    if (info->type != BERTH_HISTOGRAM || !info->buckets)
        return 0;
    size_t len = info->buckets_len;
    return len && isinf(info->buckets[len - 1]) && info->buckets[len - 1] > 0 ? len - 1 : len;
}

/* ---- what is refused ---- */
static const struct metric_info *reserved; /* berth's */
static size_t reserved_len;
static _Thread_local const struct plugin *being_made; /* its init() runs on this thread */

void host_metrics_reserve(const struct metric_info *infos, size_t len)
{
    reserved = infos;
    reserved_len = len;
}

void host_metrics_for(const struct plugin *plugin)
{
    being_made = plugin;
}

static struct berth_metric *refuse(const char *name, const char *why)
{
    struct strbuf key = { 0 };
    name = name ? name : "";
    strbuf_printf(&key, "%s: %s", name, why);
    lock();
    bool is_new = refusals.len < WARNINGS_MAX && !strmap_get(&refusals, strbuf_slice(&key));
    if (is_new)
        strmap_put(&refusals, strbuf_slice(&key), key.text);
    unlock();
    if (is_new)
        log_warning("A plugin does not get a metric",
                    log_str("plugin", str_from(being_made ? being_made->name : "")),
                    log_str("metric", str_from(name)), log_str("reason", str_from(why)));
    else
        strbuf_release(&key);
    return NULL;
}

static const char *check_labels(const struct berth_metric_info *info)
{
    for (size_t i = 0; i < labels_len(info->labels); i++) {
        const char *label = info->labels[i];
        if (!valid_name(label, false) || strncmp(label, "__", 2) == 0)
            return "a label has a name that Prometheus does not take";
        if (info->type == BERTH_HISTOGRAM && strcmp(label, "le") == 0)
            return "the label le is the histogram's own";
        for (size_t j = 0; j < i; j++)
            if (strcmp(label, info->labels[j]) == 0)
                return "a label is there twice";
    }
    return NULL;
}

static const char *check_buckets(const struct berth_metric_info *info)
{
    size_t len = buckets_len(info);
    if (len > METRIC_BUCKETS_MAX)
        return "it has more than 40 buckets";
    for (size_t i = 0; i < len; i++)
        if (!isfinite(info->buckets[i]) || (i && info->buckets[i] <= info->buckets[i - 1]))
            return "its buckets do not rise";
    return NULL;
}

/* NULL: it could be, as far as it goes by itself. */
static const char *check(const struct berth_metric_info *info, const struct berth_str *labels)
{
    if (!valid_name(info->name, true))
        return "it has a name that Prometheus does not take";
    if (info->type != BERTH_COUNTER && info->type != BERTH_GAUGE && info->type != BERTH_HISTOGRAM)
        return "it has a type that there is not";
    if (info->labels[0] && !labels)
        return "it is asked for without values of its labels";
    const char *why = check_labels(info);
    return why ? why : check_buckets(info);
}

/* Does a family have lines of this name? */
static bool has_lines(const struct metric_info *info, const char *name)
{
    static const char *const suffixes[] = { "", "_bucket", "_sum", "_count" };
    size_t len = strlen(info->name), count = info->type == METRIC_HISTOGRAM ? ARRAY_SIZE(suffixes) : 1;
    if (strncmp(info->name, name, len) != 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(name + len, suffixes[i]) == 0)
            return true;
    return false;
}

static bool clash(const struct metric_info *a, const struct metric_info *b)
{
    return has_lines(a, b->name) || has_lines(b, a->name);
}

/* ---- families ---- */
/* Under the lock. */
static struct family *find(const char *name)
{
    vec_for(&families, family)
        if (strcmp((*family)->info.name, name) == 0)
            return *family;
    return NULL;
}

/* NULL: what a plugin means by a name is what the family is. */
static const char *compare(const struct family *family, const struct berth_metric_info *info)
{
    const struct metric_info *is = &family->info;
    size_t len = labels_len(info->labels), buckets = buckets_len(info);
    if (is->type != types[info->type])
        return "it is there already with another type";
    bool same = labels_len(is->labels) == len;
    for (size_t i = 0; i < len && same; i++)
        same = strcmp(is->labels[i], info->labels[i]) == 0;
    if (!same)
        return "it is there already with other labels";
    if (strcmp(is->help, info->help ? info->help : "") != 0)
        return "it is there already with another help text";
    if (is->buckets_len != buckets ||
        (buckets && memcmp(is->buckets, info->buckets, buckets * sizeof(double)) != 0))
        return "it is there already with other buckets";
    return NULL;
}

/* Under the lock. */
static const char *find_clash(const struct berth_metric_info *info)
{
    const struct metric_info wanted = { .name = info->name, .type = types[info->type] };
    for (size_t i = 0; i < reserved_len; i++)
        if (clash(&reserved[i], &wanted))
            return "berth has a metric of that name";
    vec_for(&families, family)
        if (clash(&(*family)->info, &wanted))
            return "another metric, a histogram, has lines of that name";
    return NULL;
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
        .buckets_len = buckets_len(info),
    };
    for (size_t i = 0; i < labels_len(info->labels); i++)
        family->info.labels[i] = strdup(info->labels[i]);
    if (family->info.buckets_len)
        memcpy(family->buckets, info->buckets, family->info.buckets_len * sizeof(double));
    family->metrics = metrics_new(&family->info, 1);
    return family;
}

static struct family *find_or_make(const struct berth_metric_info *info, const char **ret_why)
{
    lock();
    struct family *family = find(info->name);
    *ret_why = family ? compare(family, info) : find_clash(info);
    if (!family && !*ret_why)
        family = *vec_push(&families) = make(info);
    unlock();
    return family;
}

struct berth_metric *host_metric(const struct berth_metric_info *info, const struct berth_str *labels)
{
    if (!info)
        return refuse(NULL, "it is asked for without a description");
    const char *why = check(info, labels);
    struct family *family = why ? NULL : find_or_make(info, &why);
    if (why)
        return refuse(info->name, why);
    struct str values[HOST_LABELS_MAX] = { 0 };
    for (size_t i = 0; i < labels_len(info->labels); i++)
        values[i] = in_str(labels[i]);
    return out_metric(metric_get(family->metrics, 0, values));
}

void host_metric_add(struct berth_metric *outer, double value)
{
    struct metric *metric = in_metric(outer);
    if (metric && !metric->buckets)
        gauge_add(metric, value);
}

void host_metric_set(struct berth_metric *outer, double value)
{
    struct metric *metric = in_metric(outer);
    if (metric && !metric->buckets)
        gauge_set(metric, value);
}

void host_metric_observe(struct berth_metric *outer, double value)
{
    struct metric *metric = in_metric(outer);
    if (metric && metric->buckets)
        histogram_observe(metric, value);
}

/* Newest first. */
void host_metrics_write(struct strbuf *out)
{
    lock();
    size_t len = families.len;
    unlock();
    while (len-- > 0) {
        lock();
        struct metrics *metrics = families.items[len]->metrics;
        unlock();
        metrics_write(metrics, out);
    }
}
