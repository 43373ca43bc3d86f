/* families.c: the table of metrics, and a registry made by it. */
#include "observe/families.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "codec/doc.h"

/* ---- buckets ---- */

/* Computed as the reference computes them, one factor at a time: the last digits matter in labels. */
#define EXPONENTIAL_BUCKETS(X) \
    /* name, first bound, factor, count */ \
    X(TEN_NS_TO_10S, 0.00000001, 10, 10) \
    X(FIVE_US_TO_41MS, 0.000005, 2, 14) \
    X(TEN_US_TO_20MS, 0.00001, 2, 12) \
    X(TEN_US_TO_22MS, 0.00001, 1.5, 20) \
    X(TENTH_MS_TO_200MS, 0.0001, 2, 12) \
    X(MS_TO_16S, 0.001, 2, 15) \
    X(TEN_MS_TO_88M, 0.01, 2, 20) \
    X(TENTH_S_TO_820S, 0.1, 2, 14) \
    X(ONE_TO_16, 1, 2, 5) \
    X(ONE_TO_64, 1, 2, 7)

#define X(name, start, factor, count) static double buckets_##name[count];
EXPONENTIAL_BUCKETS(X)
#undef X

static const double buckets_REQUEST_SECONDS[] = { 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60 };
static const double buckets_BYTES[] = { 64,    256,    512,     1024,    4096,    16384,
                                        65536, 262144, 1048576, 4194304, 16777216 };
/* From ten minutes to four years. */
static const double buckets_CERTIFICATE_AGE[] = { 600,     1800,    3600,     14400,    86400,    604800,
                                                  2592000, 7776000, 15552000, 31104000, 124416000 };
/* From nothing to a year. */
static const double buckets_CERTIFICATE_LEFT[] = { 0,       1800,    3600,     7200,    21600,
                                                   43200,   86400,   172800,   345600,  604800,
                                                   2592000, 7776000, 15552000, 31104000 };
static const double buckets_MS_TO_10S[] = { 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10 };
static const double buckets_REVIEW_SECONDS[] = { 0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10 };
/* The default of histograms. */
static const double buckets_STANDARD[] = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10 };
static const double buckets_NONE[1];

/* ---- the table ---- */

enum { GATE_ALWAYS = -1 };
#define FEATURE_ALWAYS GATE_ALWAYS

static const struct metric_info infos[FAMILY_COUNT] = {
#define LABELS(...) { __VA_ARGS__ }
#define FAMILY(id, of_type, rated, full_name, bounds, label_names, gate, text) \
    [FAMILY_##id] = { \
        .name = full_name, \
        .help = text, \
        .type = METRIC_##of_type, \
        .stability = METRIC_##rated, \
        .labels = label_names, \
        .buckets = buckets_##bounds, \
        .buckets_len = METRIC_##of_type == METRIC_HISTOGRAM ? ARRAY_SIZE(buckets_##bounds) : 0, \
    },
#include "observe/families.def"
};

static const int gates[FAMILY_COUNT] = {
#define FAMILY(id, of_type, rated, full_name, bounds, label_names, gate, ...) [FAMILY_##id] = FEATURE_##gate,
#include "observe/families.def"
#undef LABELS
};

/* What differs in a release. */
static const struct family_change {
    enum family family;
    int minor;
    enum { CHANGE_ADDED, CHANGE_GONE, CHANGE_INFO, CHANGE_HIDDEN } kind;
    enum metric_stability stability;
    const char *text; /* help, or the version since which it is deprecated */
} changes[] = {
#define ADDED(id, minor) { FAMILY_##id, minor, CHANGE_ADDED, METRIC_UNRATED, NULL },
#define GONE(id, minor) { FAMILY_##id, minor, CHANGE_GONE, METRIC_UNRATED, NULL },
#define CHANGED(id, minor, rated, help) { FAMILY_##id, minor, CHANGE_INFO, METRIC_##rated, help },
#define HIDDEN(id, minor, version) { FAMILY_##id, minor, CHANGE_HIDDEN, METRIC_UNRATED, version },
#include "observe/families.def"
};

/* The families of each release, and which of them it does not have. */
static struct metric_info tables[RELEASE_COUNT][FAMILY_COUNT];
static bool absent[RELEASE_COUNT][FAMILY_COUNT];

static void apply(size_t release, int minor, const struct family_change *change)
{
    struct metric_info *info = &tables[release][change->family];
    bool since = minor >= change->minor;
    if (change->kind == CHANGE_ADDED)
        absent[release][change->family] |= !since;
    else if (change->kind == CHANGE_GONE)
        absent[release][change->family] |= since;
    else if (since && change->kind == CHANGE_INFO) {
        info->stability = change->stability;
        info->help = change->text;
    } else if (since) {
        info->deprecated = change->text;
        info->hidden = true;
    }
}

static void compute_tables(void)
{
    static const int minors[] = {
#define MINOR(minor, version) minor,
        RELEASES(MINOR)
#undef MINOR
    };
#define X(name, start, factor, count) buckets_exponential(start, factor, count, buckets_##name);
    EXPONENTIAL_BUCKETS(X)
#undef X
    for (size_t release = 0; release < RELEASE_COUNT; release++) {
        memcpy(tables[release], infos, sizeof(infos));
        for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
            apply(release, minors[release], &changes[i]);
    }
}

const struct metric_info *families_table(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, compute_tables);
    return infos;
}

/* Is there, or will there be, an authority for certificates of clients: from a file, or from the API server? */
static bool trusts_clients(const struct scheduler_flags *flags)
{
    bool in_cluster = getenv("KUBERNETES_SERVICE_HOST") && getenv("KUBERNETES_SERVICE_PORT");
    return flags->client_ca_file.len ||
           (!flags->authentication_skip_lookup && (flags->authentication_kubeconfig.len || in_cluster));
}

static bool is_registered(const struct scheduler_flags *flags, const struct features *features, size_t family)
{
    if (family == FAMILY_APISERVER_CLIENT_CERTIFICATE_EXPIRATION_SECONDS &&
        features->release->certificates_are_measured_if_trusted && !trusts_clients(flags))
        return false;
    return !absent[release_index(features->release)][family] &&
           (gates[family] == GATE_ALWAYS || features->enabled[gates[family]]);
}

/* ---- facts that do not change ---- */

static const char *const stage_labels[] = {
    [FEATURE_ALPHA] = "ALPHA", [FEATURE_BETA] = "BETA", [FEATURE_GA] = "", [FEATURE_DEPRECATED] = "DEPRECATED"
};

static void fill_features(struct metrics *metrics, const struct features *features)
{
    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        const struct feature_state *state = feature_state(features, (enum feature)i);
        if (state)
            gauge_set(metric_get(metrics, FAMILY_KUBERNETES_FEATURE_ENABLED,
                                 (const struct str[]){ str_from(feature_infos[i].name),
                                                       str_from(stage_labels[state->stage]) }),
                      features->enabled[i]);
    }
}

static void fill_build(struct metrics *metrics, const struct scheduler_flags *flags,
                       const struct features *features)
{
    _cleanup_(strbuf_release) struct strbuf reported = { 0 };
    char emulated[16], compatible[16];
    const struct release *release = features->release;
    struct utsname system = { 0 };
    uname(&system);
    const char *platform = strcmp(system.machine, "x86_64") == 0    ? "linux/amd64"
                           : strcmp(system.machine, "aarch64") == 0 ? "linux/arm64"
                                                                    : "linux";
    flags_reported_version(flags, &reported);
    const struct str build[] = {
        STR("1"), str_from(release->minor_text), strbuf_slice(&reported), STR(""), STR(""), STR(""),
        STR(""),  STR("gcc " __VERSION__),       str_from(platform),
    };
    gauge_set(metric_get(metrics, FAMILY_KUBERNETES_BUILD_INFO, build), 1);
    snprintf(emulated, sizeof(emulated), "1.%d", release->minor);
    snprintf(compatible, sizeof(compatible), "1.%d", features->compatible);
    const struct str version[] = { STR("kube"), str_from(release->version), str_from(emulated),
                                   str_from(compatible) };
    gauge_set(metric_get(metrics, FAMILY_VERSION_INFO, version), 1);
}

/* Families that are hidden do not count as registered. */
static void fill_registered(struct metrics *metrics, const struct scheduler_flags *flags,
                            const struct features *features)
{
    bool shows_hidden = !str_empty(flags->show_hidden_metrics_for_version);
    static const char *const levels[] = { "INTERNAL", "ALPHA", "BETA", "STABLE" };
    const struct metric_info *table = tables[release_index(features->release)];
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        if (table[i].stability == METRIC_UNRATED || !is_registered(flags, features, i))
            continue;
        if (table[i].hidden && !shows_hidden) {
            counter_add(metric_get(metrics, FAMILY_HIDDEN_METRICS_TOTAL, NULL), 1);
            continue;
        }
        const struct str labels[] = { str_from(levels[table[i].stability]),
                                      str_from(table[i].deprecated ? table[i].deprecated : "") };
        counter_add(metric_get(metrics, FAMILY_REGISTERED_METRICS_TOTAL, labels), 1);
    }
}

/* Queues of pods in groups, which stay empty. */
static void fill_groups(struct metrics *metrics)
{
    metric_get(metrics, FAMILY_PENDING_PODS, &STR("incomplete"));
    metric_get(metrics, FAMILY_PENDING_PODS, &STR("pending"));
}

/* ---- what the flags ask for ---- */

static void count_unexpected(void *metrics)
{
    counter_add(metric_get(metrics, FAMILY_CARDINALITY_ENFORCEMENT_UNEXPECTED_CATEGORIZATIONS_TOTAL, NULL),
                1);
}

/* "metric,label" and "value,value" */
static void allow(struct metrics *metrics, struct str key, struct str values)
{
    ptrdiff_t comma = str_find(key, ',');
    if (comma >= 0)
        metrics_allow(metrics, str_slice(key, 0, (size_t)comma), str_slice(key, (size_t)comma + 1, key.len),
                      values);
}

static int allow_from_doc(struct metrics *metrics, const struct doc *doc, struct error *err)
{
    yyjson_obj_iter iter = yyjson_obj_iter_with(doc->root);
    if (!yyjson_is_obj(doc->root))
        return doc_error(doc, doc->root, -EINVAL, err, "expected lines of \"metric,label\": \"value,value\"");
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter));) {
        yyjson_val *values = yyjson_obj_iter_get_val(key);
        const char *name = yyjson_get_str(key);
        if (!yyjson_is_str(values) || !strchr(name, ','))
            return doc_error(
                doc, values, -EINVAL, err,
                "\"%.100s\": expected \"metric,label\" and a text of values with commas between them", name);
        allow(metrics, str_from(name), str_from(yyjson_get_str(values)));
    }
    return 0;
}

static int allow_from_file(struct metrics *metrics, const char *path, struct error *err)
{
    struct doc_stream stream;
    struct doc doc;
    int r = doc_stream_open(&stream, path, err);
    if (r < 0)
        return r;
    r = doc_stream_next(&stream, &doc, err);
    if (r > 0) {
        r = allow_from_doc(metrics, &doc, err);
        doc_release(&doc);
    }
    doc_stream_release(&stream);
    return r;
}

static int apply_flags(struct metrics *metrics, const struct scheduler_flags *flags, struct error *err)
{
    metrics_on_unexpected(metrics, count_unexpected, metrics);
    for (uint32_t i = 0; i < flags->disabled_metrics.len; i++) {
        metrics_disable(metrics, flags->disabled_metrics.items[i]);
        counter_add(metric_get(metrics, FAMILY_DISABLED_METRICS_TOTAL, NULL), 1);
    }
    if (!str_empty(flags->show_hidden_metrics_for_version))
        metrics_show_hidden(metrics);
    for (uint32_t i = 0; i < flags->allow_metric_labels.len; i++)
        allow(metrics, flags->allow_metric_labels.items[i].key, flags->allow_metric_labels.items[i].value);
    if (str_empty(flags->allow_metric_labels_manifest))
        return 0;
    return allow_from_file(metrics, flags->allow_metric_labels_manifest.ptr, err);
}

struct metrics *families_new(const struct scheduler_flags *flags, const struct features *features,
                             struct error *err)
{
    families_table();
    struct metrics *metrics = metrics_new(tables[release_index(features->release)], FAMILY_COUNT);
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        if (!is_registered(flags, features, i))
            metrics_disable(metrics, str_from(infos[i].name));
    if (apply_flags(metrics, flags, err) < 0) {
        metrics_free(metrics);
        return NULL;
    }
    fill_features(metrics, features);
    fill_build(metrics, flags, features);
    fill_registered(metrics, flags, features);
    if (features->release->pod_groups_have_queues)
        fill_groups(metrics);
    gauge_set(metric_get(metrics, FAMILY_REST_CLIENT_EXEC_PLUGIN_TTL_SECONDS, NULL), INFINITY);
    metrics_on_write(metrics, process_metrics_update, metrics);
    return metrics;
}
