/* business_affinity.c: business rules about where workloads may run.
 *
 *     core workloads run on core nodes only            pod  business/tier: core       node  business/pool: core
 *     databases never run at the edge                  pod  business/kind: database   node  business/pool: edge
 *     pods of one service prefer the same zone         pod  business/service: NAME    node  topology.kubernetes.io/zone
 *
 *     pluginConfig:
 *     - name: BusinessAffinity
 *       args: {corePool: core, forbidden: {database: edge, ledger: edge}}
 *
 * The first two are Filters, the last is a Score: the number of pods of the service in the node's zone, in proportion
 * to the zone with the most. */
#include <berth/plugin.h>

#define POOL "business/pool"
#define ZONE "topology.kubernetes.io/zone"
enum { ZONES_MAX = 64 };

struct args {
    struct berth_str core_pool;
    struct berth_pairs forbidden; /* kind of workload to the pool where it must not run */
};

static const struct berth_field fields[] = {
    BERTH_FIELD("corePool", BERTH_STRING, struct args, core_pool),
    BERTH_FIELD("forbidden", BERTH_MAP, struct args, forbidden),
    { 0 },
};

static const struct berth_pair no_databases = { { "database", 8 }, { "edge", 4 } };
static const struct args defaults = { .core_pool = { "core", 4 }, .forbidden = { &no_databases, 1 } };

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    (void)err;
    *ret_self = (void *)env->args; /* valid as long as the plugin */
    return 0;
}

static struct berth_str pod_label(struct berth_cycle *cycle, const char *key)
{
    return berth_object_label(berth_cycle_pod(cycle), key);
}

/* The pool where pods of this kind must not run; absent: they may run anywhere. */
static struct berth_str forbidden_pool(const struct args *args, struct berth_str kind)
{
    struct berth_str none = { NULL, 0 };
    for (uint32_t i = 0; kind.ptr && i < args->forbidden.len; i++)
        if (berth_eq(args->forbidden.items[i].key, kind))
            return args->forbidden.items[i].value;
    return none;
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    const struct args *args = berth_cycle_self(cycle);
    struct berth_str pool = berth_node_label(node, POOL);
    if (berth_is(pod_label(cycle, "business/tier"), "core") && !berth_eq(pool, args->core_pool))
        return BERTH_REJECT(BERTH_UNRESOLVABLE, "node(s) were not for core workloads");
    struct berth_str kind = pod_label(cycle, "business/kind"), bad = forbidden_pool(args, kind);
    if (bad.ptr && pool.ptr && berth_eq(pool, bad))
        return berth_reject(berth_cycle_arena(cycle), BERTH_UNRESOLVABLE,
                            "node(s) were in the pool " BERTH_FMT ", where no " BERTH_FMT " may run",
                            BERTH_ARG(pool), BERTH_ARG(kind));
    return BERTH_OK;
}

/* ---- the same zone ---- */
struct zones {
    struct berth_str names[ZONES_MAX];
    int64_t pods[ZONES_MAX];
    uint32_t len;
};

static int64_t *zone_count(struct zones *zones, struct berth_str name)
{
    uint32_t i = 0;
    while (i < zones->len && !berth_eq(zones->names[i], name))
        i++;
    if (i == zones->len && i < ZONES_MAX)
        zones->names[zones->len++] = name;
    return i < ZONES_MAX ? &zones->pods[i] : NULL;
}

/* Counts the pods of the service by zone, once per scheduling attempt. */
static struct berth_status pre_score(struct berth_cycle *cycle)
{
    struct berth_str service = pod_label(cycle, "business/service");
    const struct berth_cluster *cluster = berth_cycle_cluster(cycle);
    struct berth_rows rows = service.ptr ? berth_nodes(cluster) : (struct berth_rows){ NULL, 0 };
    if (!service.ptr)
        return berth_verdict(BERTH_SKIP);
    struct zones *zones = berth_alloc(berth_cycle_arena(cycle), sizeof(*zones));
    for (uint32_t i = 0; i < rows.len; i++) {
        struct berth_node_view node = berth_node(cluster, rows.items[i]);
        struct berth_pod_infos pods = berth_node_pods(node);
        int64_t *count = pods.len ? zone_count(zones, berth_node_label(node, ZONE)) : NULL;
        for (size_t p = 0; count && p < pods.len; p++)
            *count +=
                berth_eq(berth_object_label(berth_info_pod(pods.items[p]), "business/service"), service);
    }
    *berth_cycle_state(cycle) = zones;
    return BERTH_OK;
}

static struct berth_status score(struct berth_cycle *cycle, struct berth_node_view node, int64_t *ret)
{
    int64_t *count = zone_count(*berth_cycle_state(cycle), berth_node_label(node, ZONE));
    *ret = count ? *count : 0;
    return BERTH_OK;
}

static void normalize(struct berth_cycle *cycle, int64_t *scores, size_t len)
{
    int64_t most = 1;
    (void)cycle;
    for (size_t i = 0; i < len; i++)
        most = scores[i] > most ? scores[i] : most;
    for (size_t i = 0; i < len; i++)
        scores[i] = scores[i] * BERTH_SCORE_MAX / most;
}

static const struct berth_event_rule events[] = {
    { BERTH_EVENT_NODE, BERTH_ADD | BERTH_NODE_LABEL, NULL },
    { BERTH_EVENT_POD, BERTH_POD_LABEL, NULL },
    { 0 },
};

static const struct berth_plugin business_affinity = {
    .name = "BusinessAffinity",
    .doc = "Keeps core workloads on core nodes and databases off the edge; a service likes one zone.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .filter = filter,
    .pre_score = pre_score,
    .score = score,
    .normalize = normalize,
    .events = events,
};

BERTH_PLUGINS(&business_affinity)
