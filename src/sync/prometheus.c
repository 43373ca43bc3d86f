/* prometheus.c: see prometheus.h. */
#include "sync/prometheus.h"

#include <stdlib.h>

#include "base/duration.h"
#include "codec/record_rows.h"
#include "config/kinds.h"

enum { QUERIES_MAX = 100, QUERY_LEN_MAX = 8192, NAME_LEN_MAX = 253 };

/* Processors that work, also for the kernel and for interrupts. Where there is no node_exporter: what the kubelet says
 * of the cgroup of the whole machine. `or on()` takes the second only where the first gives nothing at all. */
#define NODE_CPU \
    "sum by (node, instance) (rate(node_cpu_seconds_total{mode!~\"idle|iowait|steal\"}[2m])) or on() " \
    "sum by (node, instance) (rate(container_cpu_usage_seconds_total{id=\"/\"}[2m]))"
#define NODE_MEMORY \
    "max by (node, instance) (node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes) or on() " \
    "max by (node, instance) (container_memory_working_set_bytes{id=\"/\"})"
/* Without the sums over all containers of a pod, and without the sandbox. */
#define POD_CPU \
    "sum by (namespace, pod) " \
    "(rate(container_cpu_usage_seconds_total{pod!=\"\",container!=\"\",container!=\"POD\"}[2m]))"
#define POD_MEMORY \
    "sum by (namespace, pod) " \
    "(container_memory_working_set_bytes{pod!=\"\",container!=\"\",container!=\"POD\"})"
#define WINDOW_NS (120 * NS_PER_SECOND)

static struct str node_labels[] = { STR("node"), STR("instance") };

static const struct prometheus_queries default_queries = {
    .nodes = { .cpu = STR(NODE_CPU),
               .memory = STR(NODE_MEMORY),
               .window_ns = WINDOW_NS,
               .labels = { node_labels, ARRAY_SIZE(node_labels) },
               .history = true },
    .pods = { .cpu = STR(POD_CPU), .memory = STR(POD_MEMORY), .window_ns = WINDOW_NS },
};

/* ---- the file of queries ---- */
#define T struct prometheus_statistic
static const struct record_field statistic_fields[] = {
    F("name", 0, STR, name),
    F("cpu", 0, STR, cpu),
    F("memory", 0, STR, memory),
};
TYPE(statistic)
#undef T

#define T struct prometheus_named
static const struct record_field named_fields[] = {
    F("name", 0, STR, name),
    F("query", 0, STR, query),
};
TYPE(named)
#undef T

#define T struct prometheus_queries
static const struct record_field nodes_fields[] = {
    F("cpu", 0, STR, nodes.cpu),
    F("memory", 0, STR, nodes.memory),
    F("window", 0, DURATION, nodes.window_ns),
    F("labels", 0, STRS, nodes.labels),
    F("history", 0, BOOL, nodes.history),
    F_LIST("statistics", 0, nodes.statistics, statistic),
};
TYPE(nodes)
static const struct record_field pods_fields[] = {
    F("cpu", 0, STR, pods.cpu),
    F("memory", 0, STR, pods.memory),
    F("window", 0, DURATION, pods.window_ns),
};
TYPE(pods)
static const struct record_field queries_fields[] = {
    F_PART("nodes", 0, nodes),
    F_PART("pods", 0, pods),
    F_LIST("queries", 0, queries, named),
};
TYPE(queries)
#undef T

/* What is wrong with a value of the file, at its place. */
struct check {
    const struct doc *doc;
    struct error *err;
};

static int complain(const struct check *check, const struct path *path, const char *format, ...)
    _printf_(3, 4);

static int complain(const struct check *check, const struct path *path, const char *format, ...)
{
    _cleanup_(strbuf_release) struct strbuf place = { 0 };
    _cleanup_(arena_release) struct arena arena = { 0 };
    va_list args;
    va_start(args, format);
    struct str sentence = arena_vprintf(&arena, format, args);
    va_end(args);
    path_print(&place, path);
    return doc_error(check->doc, path_resolve(check->doc->root, path), -EINVAL, check->err, "%s%s" STR_FMT,
                     place.len ? place.text : "", place.len ? ": " : "", STR_ARG(sentence));
}

/* A name of an object: a DNS subdomain. */
static bool is_name(struct str name)
{
    bool is_good = name.len && name.len <= NAME_LEN_MAX && !strchr(".-", name.ptr[0]) &&
                   !strchr(".-", name.ptr[name.len - 1]);
    for (uint32_t i = 0; i < name.len; i++)
        is_good &= (name.ptr[i] >= 'a' && name.ptr[i] <= 'z') || (name.ptr[i] >= '0' && name.ptr[i] <= '9') ||
                   name.ptr[i] == '-' || name.ptr[i] == '.';
    return is_good;
}

static int check_query(const struct check *check, const struct path *path, struct str query)
{
    return query.len <= QUERY_LEN_MAX ? 0
                                      : complain(check, path, "a query of more than %d bytes", QUERY_LEN_MAX);
}

static int check_statistic(const struct check *check, const struct path *path,
                           struct prometheus_statistic *one)
{
    for (int i = STATISTIC_AVERAGE; i < STATISTIC_COUNT; i++)
        if (str_eq(one->name, sample_statistic_names[i]))
            one->number = (enum sample_statistic)i;
    if (!one->number)
        return complain(check, PATH_FIELD(path, "name"),
                        "expected Average, Deviation, P50, P90, P95 or P99, got \"%.*s\"",
                        (int)MIN(one->name.len, 100u), one->name.ptr ? one->name.ptr : "");
    int r = check_query(check, PATH_FIELD(path, "cpu"), one->cpu);
    return r < 0 ? r : check_query(check, PATH_FIELD(path, "memory"), one->memory);
}

static int check_named(const struct check *check, const struct prometheus_queries *queries, uint32_t index)
{
    const struct path *path = PATH_INDEX(PATH_FIELD(NULL, "queries"), index);
    const struct prometheus_named *one = &queries->queries.items[index];
    if (!is_name(one->name))
        return complain(check, PATH_FIELD(path, "name"),
                        "expected a name of an object: small letters, digits, '-' and '.'");
    if (!one->query.len)
        return complain(check, PATH_FIELD(path, "query"), "expected a query");
    for (uint32_t i = 0; i < index; i++)
        if (str_eq(queries->queries.items[i].name, one->name))
            return complain(check, PATH_FIELD(path, "name"), "there is another query of that name");
    return check_query(check, PATH_FIELD(path, "query"), one->query);
}

static int check_queries(const struct check *check, struct prometheus_queries *queries)
{
    const struct path *nodes = PATH_FIELD(NULL, "nodes"), *pods = PATH_FIELD(NULL, "pods");
    const struct {
        const struct path *path;
        struct str text;
    } texts[] = { { PATH_FIELD(nodes, "cpu"), queries->nodes.cpu },
                  { PATH_FIELD(nodes, "memory"), queries->nodes.memory },
                  { PATH_FIELD(pods, "cpu"), queries->pods.cpu },
                  { PATH_FIELD(pods, "memory"), queries->pods.memory } };
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(texts) && r == 0; i++)
        r = check_query(check, texts[i].path, texts[i].text);
    if (r == 0 && (queries->nodes.window_ns < 0 || queries->pods.window_ns < 0))
        r = complain(check, PATH_FIELD(queries->nodes.window_ns < 0 ? nodes : pods, "window"),
                     "expected a time that is not negative");
    if (r == 0 && !queries->nodes.labels.len)
        r = complain(check, PATH_FIELD(nodes, "labels"), "expected at least one label");
    if (r == 0 && queries->nodes.statistics.len + queries->queries.len > QUERIES_MAX)
        r = complain(check, NULL, "more than %d queries", QUERIES_MAX);
    for (uint32_t i = 0; i < queries->nodes.statistics.len && r == 0; i++)
        r = check_statistic(check, PATH_INDEX(PATH_FIELD(nodes, "statistics"), i),
                            &queries->nodes.statistics.items[i]);
    for (uint32_t i = 0; i < queries->queries.len && r == 0; i++)
        r = check_named(check, queries, i);
    return r;
}

static int read_queries(struct prometheus *p, const char *path, struct error *err)
{
    struct doc_stream stream;
    struct doc doc = { 0 };
    int r = doc_stream_open(&stream, path, err);
    if (r < 0)
        return r;
    r = doc_stream_next(&stream, &doc, err);
    if (r > 0) {
        r = config_read(&doc, doc.root, &queries_type, NULL, &p->arena, &p->queries, err);
        if (r == 0)
            r = check_queries(&(struct check){ &doc, err }, &p->queries);
        doc_release(&doc);
    }
    doc_stream_release(&stream);
    return r;
}

/* ---- the server ---- */
/* Without the slashes at its end. What is wrong is said without the address: it may hold a password. */
static int take_address(struct prometheus *p, struct str address, struct error *err)
{
    struct str rest = { 0 };
    static const struct str schemes[] = { STR("http://"), STR("https://") };
    for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
        if (str_starts_with(address, schemes[i])) {
            rest = str_slice(address, schemes[i].len, address.len);
            p->access.https = i == 1;
        }
    bool is_plain = rest.len && rest.ptr[0] != '/';
    for (uint32_t i = 0; i < rest.len; i++)
        is_plain &= (unsigned char)rest.ptr[i] > ' ' && !strchr("@?#\x7f", rest.ptr[i]);
    if (!is_plain)
        return error_set(
            err, -EINVAL,
            "the address of Prometheus: expected a URL such as https://prometheus.monitoring:9090, "
            "without a user, a query or a fragment");
    while (address.ptr[address.len - 1] == '/')
        address.len--;
    p->access.cluster.server = arena_str(&p->arena, address);
    return 0;
}

static void warn(const struct prometheus_options *options, struct str sentence)
{
    if (options->warnings)
        *vec_push(&options->warnings->list) = sentence;
}

static struct str path_of(struct arena *arena, struct str path)
{
    return path.len ? arena_str(arena, path) : (struct str){ 0 };
}

/* Nothing secret goes to a server that anyone could be. */
static void take_credential(struct prometheus *p, const struct prometheus_options *options)
{
    bool is_unverified = !p->access.https && !options->insecure_skip_verify;
    p->access.cluster.insecure = options->insecure_skip_verify;
    p->access.cluster.certificate_authority = path_of(&p->arena, options->ca_file);
    if (p->access.cluster.insecure && p->access.cluster.certificate_authority.len) {
        warn(options, STR("insecureSkipVerify: the authority of Prometheus is not looked at"));
        p->access.cluster.certificate_authority = (struct str){ 0 };
    }
    if (!options->token.len && !options->token_file.len)
        return;
    if (is_unverified) {
        warn(options,
             STR("the token for Prometheus is not sent to an http:// address, which anyone may answer; use "
                 "https://, or set insecureSkipVerify"));
        return;
    }
    if (options->token_file.len)
        p->access.user.token_file = arena_str(&p->arena, options->token_file);
    else
        p->access.user.token = arena_str(&p->arena, options->token);
}

static int open_parts(struct prometheus *p, const struct prometheus_options *options, struct error *err)
{
    p->queries = default_queries;
    int r = take_address(p, options->address, err);
    if (r == 0 && options->queries_file.len)
        r = read_queries(p, options->queries_file.ptr, err);
    if (r < 0)
        return r;
    take_credential(p, options);
    return api_new(&(struct api_options){ .loop = options->loop, .access = &p->access, .qps = -1 }, &p->api,
                   err);
}

int prometheus_new(const struct prometheus_options *options, struct prometheus **ret, struct error *err)
{
    struct prometheus *p = xcalloc(1, sizeof(*p));
    p->arena.secret = true;
    int r = open_parts(p, options, err);
    if (r < 0)
        prometheus_free(p);
    else
        *ret = p;
    return r;
}

void prometheus_free(struct prometheus *prometheus)
{
    if (!prometheus)
        return;
    api_free(prometheus->api);
    arena_release(&prometheus->arena);
    free(prometheus);
}
