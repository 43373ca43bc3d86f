/* NetworkOverhead.c: pods near the pods that they depend on, by an AppGroup and the costs of a NetworkTopology.
 * Arguments, objects and results are those of the plugin of that name in kubernetes-sigs/scheduler-plugins.
 *
 * For each placed pod that the pod depends on, by the AppGroup, and a node:
 *
 *     the placed pod is                       satisfied, violated             cost
 *     on the node                             satisfied                       0
 *     on a node without region and zone       violated                        100
 *     in the same region and zone             satisfied                       1
 *     in another zone of the region           by cost <= maxNetworkCost       of the two zones, or 100
 *     in another region                       by cost <= maxNetworkCost       of the two regions, or 100
 *
 * A pair without a cost is neither satisfied nor violated. Filter: more are violated than satisfied. Score: the sum of
 * costs, the lowest is best.
 *
 * All but the first line depends on the region and the zone of the node only: it is computed once per attempt for each
 * of them, and corrected for the pods of the node itself. */
#include "at_once.h"
#include "peers.h"

#define APP_GROUP "appgroup.diktyo.x-k8s.io/v1alpha1/AppGroup"
#define TOPOLOGY "networktopology.diktyo.x-k8s.io/v1alpha1/NetworkTopology"
#define GROUP_LABEL "appgroup.diktyo.x-k8s.io"
#define WORKLOAD_LABEL "appgroup.diktyo.x-k8s.io.workload"
#define REGION "topology.kubernetes.io/region"
#define ZONE "topology.kubernetes.io/zone"

enum {
    COST_MAX = 100,
    COST_SAME_ZONE = 1,
    DEPENDENCIES_MAX = 64,
    COST_LIMIT = 1000000000,
    PATH_MAX_LEN = 160
};

struct args {
    struct berth_strs namespaces;
    struct berth_str weights_name, topology_name, api_version, kind;
};
static const struct berth_field fields[] = {
    BERTH_FIELD("namespaces", BERTH_STRINGS, struct args, namespaces),
    BERTH_FIELD("weightsName", BERTH_STRING, struct args, weights_name),
    BERTH_FIELD("networkTopologyName", BERTH_STRING, struct args, topology_name),
    BERTH_FIELD("apiVersion", BERTH_STRING, struct args, api_version),
    BERTH_FIELD("kind", BERTH_STRING, struct args, kind),
    { 0 },
};
static const struct berth_str default_namespace = { "default", 7 };
static const struct args defaults = { .namespaces = { &default_namespace, 1 },
                                      .weights_name = { "UserDefined", 11 },
                                      .topology_name = { "nt-default", 10 } };

struct self {
    const struct args *args;
    struct peers peers;
    /* The costs of the NetworkTopology, by the numbers of the names of regions and zones. */
    struct names places;
    struct pairs costs;
    uint64_t topology_version;
};

struct dependency {
    const struct peer_set *pods;
    int64_t cost_max;
};
/* Of a region and zone. */
struct domain_sum {
    bool is_known, is_nowhere; /* nowhere: without region and zone */
    int64_t cost, satisfied, violated;
};
struct state {
    struct self *self;
    struct dependency dependencies[DEPENDENCIES_MAX];
    uint32_t len;
    struct domain_sum *domains;
};

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    self->args = env->args;
    *ret_self = self;
    peers_init(&self->peers, REGION, ZONE);
    if (!self->args->namespaces.len)
        return berth_fail(err, "namespaces: expected the names of namespaces, got none");
    /* Only there objects are looked for. */
    for (uint32_t i = 0; i < self->args->namespaces.len; i++)
        if (!berth_watch_only(env->handle, APP_GROUP, self->args->namespaces.items[i], berth_text(NULL)) ||
            !berth_watch_only(env->handle, TOPOLOGY, self->args->namespaces.items[i],
                              self->args->topology_name))
            return berth_fail(err, "namespaces: too many kinds of objects and namespaces are watched");
    return 0;
}

static void release(void *data)
{
    struct self *self = data;
    peers_release(&self->peers);
    names_release(&self->places);
    pairs_clear(&self->costs);
}

/* ---- objects ---- */
static const void *find(const struct self *self, const struct berth_cluster *cluster, const char *kind,
                        struct berth_str name)
{
    const void *found = NULL;
    for (uint32_t i = 0; i < self->args->namespaces.len && !found; i++)
        found = berth_get(cluster, kind, self->args->namespaces.items[i], name);
    return found;
}

struct path {
    char text[PATH_MAX_LEN];
};

__attribute__((format(printf, 1, 2))) static struct path path_to(const char *format, ...)
{
    struct path path;
    va_list args;
    va_start(args, format);
    vsnprintf(path.text, sizeof(path.text), format, args);
    va_end(args);
    return path;
}

static struct berth_value read_at(const char *kind, const void *object, const struct path *path,
                                  const char *member)
{
    return berth_read(kind, object, path_to("%s.%s", path->text, member).text);
}

static int64_t cost_of(struct berth_value value)
{
    int64_t cost = value.type == BERTH_NUMBER || value.type == BERTH_AMOUNT ? value.number : 0;
    return cost < 0 ? 0 : cost > COST_LIMIT ? COST_LIMIT : cost;
}

static void take_costs(struct self *self, const void *topology, const struct path *origin)
{
    uint32_t from = names_add(&self->places, read_at(TOPOLOGY, topology, origin, "origin").text);
    uint32_t len = read_at(TOPOLOGY, topology, origin, "costList").len;
    for (uint32_t i = 0; i < len; i++) {
        struct path path = path_to("%s.costList[%u]", origin->text, i);
        struct berth_str to = read_at(TOPOLOGY, topology, &path, "destination").text;
        if (to.len)
            pairs_put(&self->costs, from, names_add(&self->places, to),
                      cost_of(read_at(TOPOLOGY, topology, &path, "networkCost")));
    }
}

/* Of regions or of zones, in the weights that the arguments name. */
static void take_key(struct self *self, const void *topology, const struct path *weights, const char *key)
{
    uint32_t len = read_at(TOPOLOGY, topology, weights, "topologyList").len;
    for (uint32_t i = 0; i < len; i++) {
        struct path list = path_to("%s.topologyList[%u]", weights->text, i);
        if (!berth_is(read_at(TOPOLOGY, topology, &list, "topologyKey").text, key))
            continue;
        uint32_t origins = read_at(TOPOLOGY, topology, &list, "originList").len;
        for (uint32_t k = 0; k < origins; k++) {
            struct path origin = path_to("%s.originList[%u]", list.text, k);
            take_costs(self, topology, &origin);
        }
        return;
    }
}

static void update_costs(struct self *self, const struct berth_cluster *cluster)
{
    uint64_t version = berth_kind_version(cluster, TOPOLOGY);
    if (version == self->topology_version)
        return;
    self->topology_version = version;
    pairs_clear(&self->costs);
    names_release(&self->places);
    const void *topology = find(self, cluster, TOPOLOGY, self->args->topology_name);
    uint32_t len = berth_read(TOPOLOGY, topology, "spec.weights").len;
    for (uint32_t i = 0; i < len; i++) {
        struct path weights = path_to("spec.weights[%u]", i);
        if (!berth_eq(read_at(TOPOLOGY, topology, &weights, "name").text, self->args->weights_name))
            continue;
        take_key(self, topology, &weights, REGION);
        take_key(self, topology, &weights, ZONE);
    }
    if (topology && !self->costs.len)
        berth_log(0,
                  "NetworkOverhead: the NetworkTopology " BERTH_FMT " has no costs in the weights " BERTH_FMT
                  ": expected them in spec.weights[].topologyList[].originList[].costList[]",
                  BERTH_ARG(self->args->topology_name), BERTH_ARG(self->args->weights_name));
}

static void add_dependencies(struct self *self, struct state *state, const void *group, struct berth_str name,
                             const struct path *workload)
{
    uint32_t len = read_at(APP_GROUP, group, workload, "dependencies").len;
    for (uint32_t i = 0; i < len && state->len < DEPENDENCIES_MAX; i++) {
        struct path path = path_to("%s.dependencies[%u]", workload->text, i);
        const struct peer_query query = {
            .labels = { { berth_text(GROUP_LABEL), name },
                        { berth_text(WORKLOAD_LABEL),
                          read_at(APP_GROUP, group, &path, "workload.selector").text } },
            .labels_len = 2
        };
        if (query.labels[1].value.len)
            state->dependencies[state->len++] =
                (struct dependency){ peers_find(&self->peers, &query),
                                     cost_of(read_at(APP_GROUP, group, &path, "maxNetworkCost")) };
    }
}

/* ---- the attempt ---- */
/* At the first point that is enabled, which may be Score alone. Without dependencies the plugin has nothing to say,
 * which is a matter of the pod's labels and of the AppGroup alone. */
static __attribute__((noinline)) struct state *begin(struct berth_cycle *cycle)
{
    void **slot = berth_cycle_state(cycle);
    struct self *self = berth_cycle_self(cycle);
    const struct berth_pod *pod = berth_cycle_pod(cycle);
    const struct berth_cluster *cluster = berth_cycle_cluster(cycle);
    struct berth_str name = berth_object_label(pod, GROUP_LABEL);
    struct berth_str own = berth_object_label(pod, WORKLOAD_LABEL);
    const void *group = name.len && own.len ? find(self, cluster, APP_GROUP, name) : NULL;
    uint32_t len = berth_read(APP_GROUP, group, "spec.workloads").len;
    struct state *state = berth_alloc(berth_cycle_arena(cycle), sizeof(*state));
    *slot = state;
    state->self = self;
    peers_begin(&self->peers, cluster);
    for (uint32_t i = 0; i < len; i++) {
        struct path path = path_to("spec.workloads[%u]", i);
        if (berth_eq(read_at(APP_GROUP, group, &path, "workload.selector").text, own))
            add_dependencies(self, state, group, name, &path);
    }
    if (!state->len)
        return state;
    update_costs(self, cluster);
    /* Nodes that are seen for the first time in this attempt may be of new domains. */
    state->domains =
        berth_alloc(berth_cycle_arena(cycle),
                    (self->peers.domains.len + berth_nodes(cluster).len) * sizeof(*state->domains));
    return state;
}

static inline struct state *state_of(struct berth_cycle *cycle)
{
    struct state *state = *berth_cycle_state(cycle);
    return state ? state : begin(cycle);
}

static const int64_t *cost_between(const struct self *self, struct berth_str from, struct berth_str to)
{
    uint32_t a = names_find(&self->places, from), b = names_find(&self->places, to);
    return from.len && a != NAMES_NONE && b != NAMES_NONE ? pairs_get(&self->costs, a, b) : NULL;
}

/* What one placed pod in a domain, on another node, means for a node of a domain. */
static struct domain_sum judge(const struct self *self, uint32_t node, uint32_t pod, int64_t cost_max)
{
    struct berth_str region = peers_label(&self->peers, node, 0), zone = peers_label(&self->peers, node, 1);
    struct berth_str pod_region = peers_label(&self->peers, pod, 0),
                     pod_zone = peers_label(&self->peers, pod, 1);
    if (!pod_region.len && !pod_zone.len)
        return (struct domain_sum){ .cost = COST_MAX, .violated = 1 };
    bool same_region = berth_eq(region, pod_region);
    if (same_region && berth_eq(zone, pod_zone))
        return (struct domain_sum){ .cost = COST_SAME_ZONE, .satisfied = 1 };
    const int64_t *cost =
        same_region ? cost_between(self, zone, pod_zone) : cost_between(self, region, pod_region);
    if (!cost)
        return (struct domain_sum){ .cost = COST_MAX };
    return (struct domain_sum){ .cost = *cost, .satisfied = *cost <= cost_max, .violated = *cost > cost_max };
}

static void add(struct domain_sum *sum, struct domain_sum one, int64_t count)
{
    sum->cost += one.cost * count;
    sum->satisfied += one.satisfied * count;
    sum->violated += one.violated * count;
}

static __attribute__((noinline)) void sum_domain(const struct self *self, struct state *state,
                                                 uint32_t domain)
{
    struct domain_sum sum = { .is_known = true,
                              .is_nowhere = !peers_label(&self->peers, domain, 0).len &&
                                            !peers_label(&self->peers, domain, 1).len };
    for (uint32_t i = 0; i < state->len; i++) {
        const struct dependency *dependency = &state->dependencies[i];
        for (uint32_t other = 0; other < dependency->pods->domains_len; other++)
            if (dependency->pods->domains[other])
                add(&sum, judge(self, domain, other, dependency->cost_max), dependency->pods->domains[other]);
    }
    state->domains[domain] = sum;
}

/* The pods of the node itself were counted as others of its domain: they cost nothing, and are satisfied. */
AT_ONCE struct domain_sum sum_node(struct state *state, struct berth_node_view node)
{
    if (!state->len)
        return (struct domain_sum){ 0 };
    uint32_t domain = peers_domain(&state->self->peers, node);
    if (!state->domains[domain].is_known)
        sum_domain(state->self, state, domain);
    struct domain_sum sum = state->domains[domain];
    for (uint32_t i = 0; i < state->len; i++) {
        int64_t here = peer_set_on(state->dependencies[i].pods, node.row);
        sum.cost -= here * (sum.is_nowhere ? COST_MAX : COST_SAME_ZONE);
        sum.violated -= sum.is_nowhere ? here : 0;
        sum.satisfied += sum.is_nowhere ? here : 0;
    }
    return sum;
}

static struct berth_status pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    (void)narrow;
    return state_of(cycle)->len ? BERTH_OK : berth_verdict(BERTH_SKIP);
}

AT_ONCE struct berth_status judge_node(struct state *state, struct berth_node_view node)
{
    struct domain_sum sum = sum_node(state, node);
    if (sum.violated > sum.satisfied)
        return BERTH_REJECT(BERTH_UNSCHEDULABLE,
                            "node(s) were too far in the network from the pods that the pod depends on");
    return BERTH_OK;
}

FILTER_SLOTS(state_of, judge_node)

static struct berth_status pre_score(struct berth_cycle *cycle)
{
    return state_of(cycle)->len ? BERTH_OK : berth_verdict(BERTH_SKIP);
}

AT_ONCE int64_t cost_to(struct state *state, struct berth_node_view node)
{
    return sum_node(state, node).cost;
}

SCORE_SLOTS(state_of, cost_to)

/* In floating point, as in the original. */
static void normalize(struct berth_cycle *cycle, int64_t *scores, size_t len)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    (void)cycle;
    for (size_t i = 0; i < len; i++) {
        low = scores[i] < low ? scores[i] : low;
        high = scores[i] > high ? scores[i] : high;
    }
    if (low == 0 && high == 0)
        return;
    for (size_t i = 0; i < len; i++) {
        double share = high != low ? 100.0 * (double)(scores[i] - low) / (double)(high - low) : 0;
        scores[i] = BERTH_SCORE_MAX - (int64_t)share;
    }
}

/* ---- waking ---- */
static enum berth_hint_answer pod_changed(const struct berth_hint *hint, const struct berth_pod *pod,
                                          const struct berth_event *event)
{
    const void *before = berth_event_before(event), *after = berth_event_after(event);
    struct berth_str group = berth_object_label(pod, GROUP_LABEL);
    (void)hint;
    return (before && berth_eq(berth_object_label(before, GROUP_LABEL), group)) ||
                   (after && berth_eq(berth_object_label(after, GROUP_LABEL), group))
               ? BERTH_HINT_QUEUE
               : BERTH_HINT_SKIP;
}

/* A node that comes, or moves to another region or zone: it may take the pod, or have a pod that the pod depends on. */
static enum berth_hint_answer node_changed(const struct berth_hint *hint, const struct berth_pod *pod,
                                           const struct berth_event *event)
{
    const void *before = berth_event_before(event), *after = berth_event_after(event);
    (void)hint, (void)pod;
    bool same = before && after &&
                berth_eq(berth_object_label(before, REGION), berth_object_label(after, REGION)) &&
                berth_eq(berth_object_label(before, ZONE), berth_object_label(after, ZONE));
    return same ? BERTH_HINT_SKIP : BERTH_HINT_QUEUE;
}

static enum berth_hint_answer object_changed(const struct berth_hint *hint, const struct berth_pod *pod,
                                             const struct berth_event *event)
{
    const void *object = berth_event_after(event) ? berth_event_after(event) : berth_event_before(event);
    const struct self *self = berth_hint_self(hint);
    struct berth_str wanted = berth_is(berth_object_kind(object), APP_GROUP)
                                  ? berth_object_label(pod, GROUP_LABEL)
                              : berth_is(berth_object_kind(object), TOPOLOGY) ? self->args->topology_name
                                                                              : berth_text(NULL);
    return wanted.len && berth_eq(berth_object_name(object), wanted) ? BERTH_HINT_QUEUE : BERTH_HINT_SKIP;
}

static const struct berth_event_rule events[] = {
    { BERTH_EVENT_OBJECT, BERTH_ALL_ACTIONS, object_changed },
    { BERTH_EVENT_ASSIGNED_POD, BERTH_ADD | BERTH_DELETE | BERTH_POD_LABEL, pod_changed },
    { BERTH_EVENT_TARGET_POD, BERTH_POD_LABEL, NULL },
    { BERTH_EVENT_NODE, BERTH_ADD | BERTH_DELETE | BERTH_NODE_LABEL, node_changed },
    { 0 },
};

static const char *const reads[] = { "metadata.labels", NULL };
static const char *const kinds[] = { APP_GROUP, TOPOLOGY, NULL };

static const struct berth_plugin network_overhead = {
    .name = "NetworkOverhead",
    .doc = "Places pods near the pods that they depend on, by AppGroup and NetworkTopology.",
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

BERTH_PLUGINS(&network_overhead)
