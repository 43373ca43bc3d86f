/* NetworkLatencyPlugin.c: pods near the pods that they talk to, by measured latencies between topology domains.
 *
 *     table     from a ConfigMap, or from the result of a Prometheus query: latency between two domains, in ms
 *     peers     the placed pods that the pod names by an annotation with selectors or Services, or those of its app
 *     latency   of a node: the mean over its peers (or the worst, or the nearest), by the domains of both
 *     score     (ceiling - latency) x latencyWeight / ceiling, 0 beyond it; the ceiling is maxLatencyMs, or without one
 *               the highest latency of the nodes
 *
 * Filter: nodes whose latency is more than maxLatencyMs. What is not known rejects nothing and scores 0. */
#include "at_once.h"
#include "node_value.h"
#include "peers.h"

#define CONFIG_MAP "v1/ConfigMap"
#define QUERY "metrics.berth.dev/v1/PrometheusQuery"
#define PEERS_ANNOTATION "scheduling.berth.dev/latency-peers"
#define SERVICES_ANNOTATION "scheduling.berth.dev/latency-services"

enum { WEIGHT_MAX = 100, GROUPS_MAX = 16, NAME_MAX_LEN = 320, MICROS = 1000 };
#define LATENCY_MS_MAX 1e9
#define UNKNOWN INT64_MAX
#define SECOND INT64_C(1000000000)

struct config_map_args {
    struct berth_str namespace_, name;
};
struct prometheus_args {
    struct berth_str query, from, to;
    double scale;
};
struct args {
    double max_latency_ms;
    int64_t latency_weight, interval_ns;
    struct berth_str topology_key, measure;
    struct berth_strs app_labels;
    struct config_map_args config_map;
    struct prometheus_args prometheus;
};
static const struct berth_field config_map_fields[] = {
    BERTH_FIELD("namespace", BERTH_STRING, struct config_map_args, namespace_),
    BERTH_FIELD("name", BERTH_STRING, struct config_map_args, name),
    { 0 },
};
static const struct berth_field prometheus_fields[] = {
    BERTH_FIELD("query", BERTH_STRING, struct prometheus_args, query),
    BERTH_FIELD("fromLabel", BERTH_STRING, struct prometheus_args, from),
    BERTH_FIELD("toLabel", BERTH_STRING, struct prometheus_args, to),
    BERTH_FIELD("scale", BERTH_DOUBLE, struct prometheus_args, scale),
    { 0 },
};
static const struct berth_field fields[] = {
    BERTH_FIELD("maxLatencyMs", BERTH_DOUBLE, struct args, max_latency_ms),
    BERTH_FIELD("latencyWeight", BERTH_INT, struct args, latency_weight),
    BERTH_FIELD("measurementInterval", BERTH_DURATION, struct args, interval_ns),
    BERTH_FIELD("topologyKey", BERTH_STRING, struct args, topology_key),
    BERTH_FIELD("measure", BERTH_STRING, struct args, measure),
    BERTH_FIELD("appLabels", BERTH_STRINGS, struct args, app_labels),
    BERTH_NESTED("configMap", BERTH_STRUCT, struct args, config_map, config_map_fields,
                 struct config_map_args),
    BERTH_NESTED("prometheus", BERTH_STRUCT, struct args, prometheus, prometheus_fields,
                 struct prometheus_args),
    { 0 },
};
static const struct berth_str default_labels[] = { TEXT("app.kubernetes.io/name"), TEXT("app") };
static const struct args defaults = {
    .latency_weight = WEIGHT_MAX,
    .interval_ns = 300 * SECOND,
    .topology_key = TEXT("topology.kubernetes.io/zone"),
    .measure = TEXT("Mean"),
    .app_labels = { default_labels, 2 },
    .config_map = { TEXT("kube-system"), TEXT("network-latency") },
    .prometheus = { .from = TEXT("from"), .to = TEXT("to"), .scale = 1 },
};

enum measure { MEAN, WORST, NEAREST };
struct self {
    const struct args *args;
    enum measure measure;
    int64_t max_us; /* 0: no limit */
    struct peers peers;
    struct pairs table; /* in microseconds, by domain */
    /* The same by domain: the neighbours of domain i are from starts[i] to starts[i + 1]. */
    struct neighbour {
        uint32_t domain;
        int64_t us;
    } *neighbours;
    uint32_t *starts, starts_len;
    uint64_t version, epoch;
};

struct state {
    struct self *self;
    const struct peer_set *groups[GROUPS_MAX];
    uint32_t len;
    bool is_idle;   /* the plugin has nothing to say, which is a matter of the pod and of the table alone */
    int64_t *nodes; /* by domain: latency in microseconds, plus one; 0: not computed yet */
};

/* ---- init ---- */
static int check(struct self *self, const struct args *args, struct berth_error *err)
{
    static const char *const measures[] = { "Mean", "Worst", "Nearest" };
    uint32_t measure = 0;
    if (!(args->max_latency_ms >= 0) || args->max_latency_ms > LATENCY_MS_MAX)
        return berth_fail(err, "maxLatencyMs: expected a number of milliseconds that is not negative");
    if (args->latency_weight < 0 || args->latency_weight > WEIGHT_MAX)
        return berth_fail(err, "latencyWeight: expected a number from 0 to %d, got %lld", WEIGHT_MAX,
                          (long long)args->latency_weight);
    if (args->interval_ns < SECOND)
        return berth_fail(err, "measurementInterval: expected a duration of at least 1s");
    while (measure < 3 && !berth_is(args->measure, measures[measure]))
        measure++;
    if (measure == 3)
        return berth_fail(err, "measure: expected Mean, Worst or Nearest, got \"" BERTH_FMT "\"",
                          BERTH_ARG(args->measure));
    if (!args->topology_key.len)
        return berth_fail(err, "topologyKey: expected the name of a label of nodes");
    if (args->config_map.name.len && !args->config_map.namespace_.len)
        return berth_fail(err, "configMap: expected a namespace and a name");
    if (args->prometheus.query.len &&
        (!args->prometheus.from.len || !args->prometheus.to.len || !(args->prometheus.scale > 0)))
        return berth_fail(err, "prometheus: expected a fromLabel, a toLabel and a scale above 0");
    self->measure = (enum measure)measure;
    self->max_us = (int64_t)(args->max_latency_ms * MICROS);
    return 0;
}

/* Without a name: none. */
static bool watch_one(const struct berth_handle *handle, const char *kind, struct berth_str namespace_,
                      struct berth_str name)
{
    return berth_watch_only(handle, kind, namespace_, name.len ? name : berth_text(BERTH_NONE));
}

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    const struct args *args = env->args;
    self->args = args;
    *ret_self = self;
    peers_init(&self->peers, args->topology_key.len ? args->topology_key.ptr : "", NULL);
    int r = check(self, args, err);
    if (r == 0 && (!watch_one(env->handle, CONFIG_MAP, args->config_map.namespace_, args->config_map.name) ||
                   !watch_one(env->handle, QUERY, berth_text(NULL), args->prometheus.query)))
        r = berth_fail(err, "configMap, prometheus: too many kinds of objects are watched");
    berth_sample_every(env->handle, args->interval_ns);
    if (r == 0 && self->max_us && scores_only(env->handle))
        berth_log(
            0, "NetworkLatencyPlugin is not enabled at filter: nodes beyond maxLatencyMs score 0 and are not "
               "rejected. Enable it at multiPoint, or at filter and score");
    return r;
}

static void release(void *data)
{
    struct self *self = data;
    peers_release(&self->peers);
    pairs_clear(&self->table);
    free(self->neighbours);
    free(self->starts);
}

/* ---- the table ---- */
static bool put_latency(struct self *self, struct berth_str from, struct berth_str to, double ms)
{
    if (!from.len || !to.len || !(ms >= 0) || ms > LATENCY_MS_MAX)
        return false;
    pairs_put(&self->table, names_add(&self->peers.domains, from), names_add(&self->peers.domains, to),
              (int64_t)(ms * MICROS + 0.5));
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == ',';
}

static struct berth_str next_word(struct berth_str *line)
{
    while (line->len && is_blank(line->ptr[0])) {
        line->ptr++;
        line->len--;
    }
    struct berth_str word = { line->ptr, 0 };
    while (word.len < line->len && !is_blank(word.ptr[word.len]))
        word.len++;
    line->ptr += word.len;
    line->len -= word.len;
    return word;
}

/* "FROM TO MS", and "#" for the rest of a line. An empty line is fine. */
static bool take_line(struct self *self, struct berth_str line)
{
    const char *comment = line.len ? memchr(line.ptr, '#', line.len) : NULL;
    if (comment)
        line.len = (uint32_t)(comment - line.ptr);
    struct berth_str from = next_word(&line), to = next_word(&line), ms = next_word(&line);
    double number;
    if (!from.len)
        return true;
    return value_number(ms, &number) && !next_word(&line).len && put_latency(self, from, to, number);
}

static uint32_t take_text(struct self *self, struct berth_str text)
{
    uint32_t bad = 0;
    while (text.len) {
        const char *end = memchr(text.ptr, '\n', text.len);
        uint32_t len = end ? (uint32_t)(end - text.ptr) : text.len;
        bad += !take_line(self, (struct berth_str){ text.ptr, len });
        len += end != NULL;
        text.ptr += len;
        text.len -= len;
    }
    return bad;
}

static uint32_t take_config_map(struct self *self, const void *object)
{
    uint32_t bad = 0;
    struct berth_str key;
    for (uint32_t i = 0; (key = berth_read_key(CONFIG_MAP, object, "data", i)).ptr; i++) {
        char path[NAME_MAX_LEN];
        snprintf(path, sizeof(path), "data[" BERTH_FMT "]", BERTH_ARG(key));
        bad += take_text(self, berth_read(CONFIG_MAP, object, path).text);
    }
    return bad;
}

static struct berth_str result_label(const void *object, uint32_t number, struct berth_str label)
{
    char path[NAME_MAX_LEN];
    snprintf(path, sizeof(path), "result[%u].labels[" BERTH_FMT "]", number, BERTH_ARG(label));
    return berth_read(QUERY, object, path).text;
}

static uint32_t take_query(struct self *self, const void *object)
{
    const struct prometheus_args *args = &self->args->prometheus;
    uint32_t bad = 0, len = berth_read(QUERY, object, "result").len;
    for (uint32_t i = 0; i < len; i++) {
        char path[NAME_MAX_LEN];
        double value;
        snprintf(path, sizeof(path), "result[%u].value", i);
        bad += !berth_read_double(QUERY, object, path, &value) ||
               !put_latency(self, result_label(object, i, args->from), result_label(object, i, args->to),
                            value * args->scale);
    }
    return bad;
}

/* A latency counts for both directions, unless the other one is there as well. */
static bool counts_backwards(const struct self *self, const struct pair_entry *entry)
{
    return entry->from != entry->to && !pairs_get(&self->table, entry->to, entry->from);
}

static void list_neighbours(struct self *self)
{
    uint32_t len = self->peers.domains.len;
    free(self->neighbours);
    free(self->starts);
    self->starts = names_alloc((size_t)len + 2, sizeof(*self->starts));
    self->neighbours = names_alloc(2 * (size_t)self->table.len + 1, sizeof(*self->neighbours));
    self->starts_len = len;
    for (uint32_t i = 0; i < self->table.cap; i++) {
        const struct pair_entry *entry = &self->table.entries[i];
        if (!entry->is_used)
            continue;
        self->starts[entry->from + 2]++;
        if (counts_backwards(self, entry))
            self->starts[entry->to + 2]++;
    }
    for (uint32_t i = 2; i < len + 2; i++)
        self->starts[i] += self->starts[i - 1];
    for (uint32_t i = 0; i < self->table.cap; i++) { /* starts[d + 1] moves to where d ends */
        const struct pair_entry *entry = &self->table.entries[i];
        if (!entry->is_used)
            continue;
        self->neighbours[self->starts[entry->from + 1]++] = (struct neighbour){ entry->to, entry->value };
        if (counts_backwards(self, entry))
            self->neighbours[self->starts[entry->to + 1]++] = (struct neighbour){ entry->from, entry->value };
    }
}

/* Read again when one of the sources has changed. What a query measured comes later, and counts where both have it. */
static void update_table(struct self *self, const struct berth_cluster *cluster)
{
    const struct args *args = self->args;
    uint64_t version = berth_kind_version(cluster, CONFIG_MAP) + (berth_kind_version(cluster, QUERY) << 32);
    if (version == self->version && self->epoch == self->peers.epoch)
        return;
    self->version = version;
    self->epoch = self->peers.epoch;
    pairs_clear(&self->table);
    const void *map = args->config_map.name.len
                          ? berth_get(cluster, CONFIG_MAP, args->config_map.namespace_, args->config_map.name)
                          : NULL;
    uint32_t bad = map ? take_config_map(self, map) : 0;
    if (args->prometheus.query.len)
        bad += take_query(self, berth_get(cluster, QUERY, berth_text(NULL), args->prometheus.query));
    list_neighbours(self);
    if (bad)
        berth_log(0,
                  "NetworkLatencyPlugin: %u latencies cannot be read and are left out: expected lines such "
                  "as \"a b 1.5\"",
                  bad);
}

/* ---- peers ---- */
/* Entries of an annotation: "a; b@namespace". The namespace is the pod's own without one. */
static bool next_entry(struct berth_str *list, char separator, struct berth_str *ret,
                       struct berth_str *namespace_)
{
    while (list->len) {
        const char *end = memchr(list->ptr, separator, list->len);
        struct berth_str entry = { list->ptr, end ? (uint32_t)(end - list->ptr) : list->len };
        uint32_t used = entry.len + (end != NULL);
        list->ptr += used;
        list->len -= used;
        while (entry.len && is_blank(entry.ptr[0])) {
            entry.ptr++;
            entry.len--;
        }
        while (entry.len && is_blank(entry.ptr[entry.len - 1]))
            entry.len--;
        const char *at = entry.len ? memchr(entry.ptr, '@', entry.len) : NULL;
        if (at) {
            *namespace_ = (struct berth_str){ at + 1, (uint32_t)(entry.ptr + entry.len - at - 1) };
            entry.len = (uint32_t)(at - entry.ptr);
        }
        *ret = entry;
        if (entry.len)
            return true;
    }
    return false;
}

/* A copy that ends with a zero byte, as keys of labels need it. */
static struct berth_str terminated(struct berth_arena *arena, struct berth_str text)
{
    char *copy = berth_alloc(arena, (size_t)text.len + 1);
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    return (struct berth_str){ copy, text.len };
}

/* "key=value,key=value" */
static bool parse_selector(struct berth_arena *arena, struct berth_str text, struct peer_query *query)
{
    struct berth_str pair, ignored;
    while (next_entry(&text, ',', &pair, &ignored)) {
        const char *equals = memchr(pair.ptr, '=', pair.len);
        if (!equals || equals == pair.ptr || query->labels_len == PEER_LABELS_MAX)
            return false;
        struct berth_str key = { pair.ptr, (uint32_t)(equals - pair.ptr) };
        struct berth_str value = { equals + 1, pair.len - key.len - 1 };
        if (value.len && value.ptr[0] == '=') { /* == means the same */
            value.ptr++;
            value.len--;
        }
        query->labels[query->labels_len++] = (struct berth_pair){ terminated(arena, key), value };
    }
    return query->labels_len > 0;
}

static bool read_service(const struct berth_cluster *cluster, struct berth_arena *arena,
                         struct berth_str name, struct peer_query *query)
{
    const void *service = berth_get(cluster, "Service", query->namespace_, name);
    struct berth_str key;
    for (uint32_t i = 0; (key = berth_read_key("Service", service, "spec.selector", i)).ptr; i++) {
        char path[NAME_MAX_LEN];
        if (query->labels_len == PEER_LABELS_MAX)
            return false;
        snprintf(path, sizeof(path), "spec.selector[" BERTH_FMT "]", BERTH_ARG(key));
        query->labels[query->labels_len++] =
            (struct berth_pair){ terminated(arena, key), berth_read("Service", service, path).text };
    }
    return query->labels_len > 0;
}

struct queries {
    struct peer_query items[GROUPS_MAX];
    uint32_t len;
};

/* What the pod names. With one of the annotations, its app does not count. Returns whether it names any at all, also if
 * a Service is not there. */
static bool read_peers(const struct self *self, const struct berth_cluster *cluster,
                       struct berth_arena *arena, const void *pod, struct queries *ret)
{
    struct berth_str selectors = berth_object_annotation(pod, PEERS_ANNOTATION);
    struct berth_str services = berth_object_annotation(pod, SERVICES_ANNOTATION);
    struct berth_str entry, own = berth_object_namespace(pod), in = own;
    bool names_any = selectors.ptr || services.ptr;
    for (; ret->len < GROUPS_MAX && next_entry(&selectors, ';', &entry, &in); in = own) {
        struct peer_query query = { .namespace_ = in };
        if (parse_selector(arena, entry, &query))
            ret->items[ret->len++] = query;
    }
    for (in = own; ret->len < GROUPS_MAX && next_entry(&services, ',', &entry, &in); in = own) {
        struct peer_query query = { .namespace_ = in };
        if (read_service(cluster, arena, entry, &query))
            ret->items[ret->len++] = query;
    }
    for (uint32_t i = 0; !names_any && i < self->args->app_labels.len; i++) {
        struct berth_str key = self->args->app_labels.items[i], value = berth_object_label(pod, key.ptr);
        if (!value.len)
            continue;
        ret->items[ret->len++] =
            (struct peer_query){ .namespace_ = own, .labels = { { key, value } }, .labels_len = 1 };
        return true;
    }
    return names_any;
}

/* ---- the attempt ---- */
/* At the first point that is enabled, which may be Score alone. */
static __attribute__((noinline)) struct state *begin(struct berth_cycle *cycle)
{
    void **slot = berth_cycle_state(cycle);
    struct self *self = berth_cycle_self(cycle);
    struct berth_arena *arena = berth_cycle_arena(cycle);
    const struct berth_cluster *cluster = berth_cycle_cluster(cycle);
    struct queries queries = { .len = 0 };
    struct state *state = berth_alloc(arena, sizeof(*state));
    *slot = state;
    state->self = self;
    peers_begin(&self->peers, cluster);
    update_table(self, cluster);
    state->is_idle = !self->table.len || !read_peers(self, cluster, arena, berth_cycle_pod(cycle), &queries);
    for (uint32_t i = 0; i < queries.len; i++)
        state->groups[state->len++] = peers_find(&self->peers, &queries.items[i]);
    /* Nodes that are seen for the first time in this attempt may be of new domains. */
    state->nodes =
        berth_alloc(arena, (self->peers.domains.len + berth_nodes(cluster).len) * sizeof(*state->nodes));
    return state;
}

static inline struct state *state_of(struct berth_cycle *cycle)
{
    struct state *state = *berth_cycle_state(cycle);
    return state ? state : begin(cycle);
}

struct latencies {
    int64_t sum, worst, nearest, known;
};

static void add_domain(struct latencies *to, const struct state *state, uint32_t domain, int64_t us)
{
    for (uint32_t i = 0; i < state->len; i++) {
        int64_t count = peer_set_in(state->groups[i], domain);
        if (!count)
            continue;
        to->sum += us * count;
        to->known += count;
        to->worst = us > to->worst ? us : to->worst;
        to->nearest = us < to->nearest ? us : to->nearest;
    }
}

/* By the neighbours of the domain, which are fewer than all domains where these are hosts. Within a domain without a
 * value there is no latency. */
static __attribute__((noinline)) int64_t compute(const struct self *self, const struct state *state,
                                                 uint32_t domain)
{
    struct latencies found = { .nearest = UNKNOWN };
    bool has_own = false;
    for (uint32_t i = domain < self->starts_len ? self->starts[domain] : 0,
                  end = domain < self->starts_len ? self->starts[domain + 1] : 0;
         i < end; i++) {
        has_own |= self->neighbours[i].domain == domain;
        add_domain(&found, state, self->neighbours[i].domain, self->neighbours[i].us);
    }
    if (!has_own && self->peers.domains.texts[domain].len)
        add_domain(&found, state, domain, 0);
    if (!found.known)
        return UNKNOWN;
    return self->measure == MEAN    ? found.sum / found.known
           : self->measure == WORST ? found.worst
                                    : found.nearest;
}

/* Once per domain. */
AT_ONCE int64_t latency_of(struct state *state, struct berth_node_view node)
{
    uint32_t domain = peers_domain(&state->self->peers, node);
    int64_t *kept = &state->nodes[domain];
    if (!*kept) {
        int64_t us = compute(state->self, state, domain);
        *kept = us == UNKNOWN ? UNKNOWN : us + 1;
    }
    return *kept == UNKNOWN ? UNKNOWN : *kept - 1;
}

static struct berth_status pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    const struct self *self = berth_cycle_self(cycle);
    (void)narrow;
    return state_of(cycle)->is_idle || !self->max_us ? berth_verdict(BERTH_SKIP) : BERTH_OK;
}

AT_ONCE struct berth_status judge(struct state *state, struct berth_node_view node)
{
    int64_t us = latency_of(state, node);
    if (us == UNKNOWN || us <= state->self->max_us)
        return BERTH_OK;
    return BERTH_REJECT(BERTH_UNRESOLVABLE,
                        "node(s) had a higher latency than maxLatencyMs to the pods that the pod "
                        "talks to");
}

FILTER_SLOTS(state_of, judge)

static struct berth_status pre_score(struct berth_cycle *cycle)
{
    const struct self *self = berth_cycle_self(cycle);
    return state_of(cycle)->is_idle || !self->args->latency_weight ? berth_verdict(BERTH_SKIP) : BERTH_OK;
}

SCORE_SLOTS(state_of, latency_of)

static void normalize(struct berth_cycle *cycle, int64_t *scores, size_t len)
{
    struct self *self = berth_cycle_self(cycle);
    int64_t ceiling = self->max_us, weight = self->args->latency_weight;
    for (size_t i = 0; !self->max_us && i < len; i++)
        if (scores[i] != UNKNOWN && scores[i] > ceiling)
            ceiling = scores[i];
    for (size_t i = 0; i < len; i++) {
        if (scores[i] == UNKNOWN || scores[i] > ceiling)
            scores[i] = 0;
        else
            scores[i] = ceiling ? (ceiling - scores[i]) * weight / ceiling : weight;
    }
}

/* ---- waking ---- */
static bool is_peer(const struct queries *queries, const void *pod)
{
    for (uint32_t i = 0; pod && i < queries->len; i++)
        if (peer_query_matches(&queries->items[i], pod))
            return true;
    return false;
}

/* Annotations are not read here, where there is no arena: any pod may be one that they name. */
static enum berth_hint_answer pod_changed(const struct berth_hint *hint, const struct berth_pod *pod,
                                          const struct berth_event *event)
{
    const struct self *self = berth_hint_self(hint);
    struct queries queries = { .len = 0 };
    if (berth_object_annotation(pod, PEERS_ANNOTATION).ptr ||
        berth_object_annotation(pod, SERVICES_ANNOTATION).ptr)
        return BERTH_HINT_QUEUE;
    read_peers(self, berth_hint_cluster(hint), NULL, pod, &queries);
    return is_peer(&queries, berth_event_before(event)) || is_peer(&queries, berth_event_after(event))
               ? BERTH_HINT_QUEUE
               : BERTH_HINT_SKIP;
}

static enum berth_hint_answer node_changed(const struct berth_hint *hint, const struct berth_pod *pod,
                                           const struct berth_event *event)
{
    const struct self *self = berth_hint_self(hint);
    const void *before = berth_event_before(event), *after = berth_event_after(event);
    const char *key = self->args->topology_key.ptr;
    (void)pod;
    return before && after && berth_eq(berth_object_label(before, key), berth_object_label(after, key))
               ? BERTH_HINT_SKIP
               : BERTH_HINT_QUEUE;
}

static enum berth_hint_answer source_changed(const struct berth_hint *hint, const struct berth_pod *pod,
                                             const struct berth_event *event)
{
    const struct self *self = berth_hint_self(hint);
    const void *object = berth_event_after(event) ? berth_event_after(event) : berth_event_before(event);
    bool is_map = berth_is(berth_object_kind(object), CONFIG_MAP) &&
                  berth_eq(berth_object_name(object), self->args->config_map.name) &&
                  berth_eq(berth_object_namespace(object), self->args->config_map.namespace_);
    bool is_query = berth_is(berth_object_kind(object), QUERY) &&
                    berth_eq(berth_object_name(object), self->args->prometheus.query);
    (void)pod;
    return is_map || is_query ? BERTH_HINT_QUEUE : BERTH_HINT_SKIP;
}

static const struct berth_event_rule events[] = {
    { BERTH_EVENT_OBJECT, BERTH_ALL_ACTIONS, source_changed },
    { BERTH_EVENT_ASSIGNED_POD, BERTH_ADD | BERTH_DELETE | BERTH_POD_LABEL, pod_changed },
    { BERTH_EVENT_TARGET_POD, BERTH_UPDATE, NULL },
    { BERTH_EVENT_NODE, BERTH_ADD | BERTH_NODE_LABEL, node_changed },
    { 0 },
};

static const char *const reads[] = { "metadata.namespace", "metadata.labels", "metadata.annotations", NULL };
static const char *const kinds[] = { CONFIG_MAP, QUERY, NULL };

static const struct berth_plugin network_latency = {
    .name = "NetworkLatencyPlugin",
    .doc = "Places pods near the pods that they talk to, by latencies between topology domains.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .release = release,
    .pre_filter = pre_filter,
    .filter = filter,
    .pre_score = pre_score,
    .score = score,
    .filter_nodes = filter_nodes,
    .score_nodes = score_nodes,
    .normalize = normalize,
    .events = events,
    .reads = reads,
    .kinds = kinds,
};

BERTH_PLUGINS(&network_latency)
