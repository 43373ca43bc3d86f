/* picky.c: statuses derived from hashes of pods and nodes, so that every status occurs: both kinds of rejection, rare
 * errors, Skip, narrowed nodes. Scores depend on the resources in use.
 *
 * Picky keeps its cycle state outside of the arena, so that a cycle that is not released leaks. */
#include "property/picky.h"

#include <stdlib.h>

#include "api/labels.h"
#include "framework/weights.h"
#include "plugins/registry.h"

struct opinion {
    uint64_t seed;
    uint32_t calls;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t pair[] = { a, b };
    return hash_bytes(pair, sizeof(pair), 7);
}

static uint64_t label_hash(const struct meta *meta, const char *key)
{
    const struct str *value = str_map_get(&meta->labels, str_from(key));
    return value ? str_hash(*value) : 1;
}

static uint64_t pod_seed(const struct cycle *cycle)
{
    return mix(label_hash(&cycle->pod->meta, "app"), label_hash(&cycle->pod->meta, "version"));
}

static uint64_t node_seed(struct node_view node)
{
    const struct meta *meta = &node_api(node)->meta;
    return mix(label_hash(meta, "disk"), label_hash(meta, "gen"));
}

static struct status narrow(struct cycle *cycle, struct node_names *names)
{
    names->all = false;
    names->items = arena_array(cycle->arena, struct str, 3);
    names->items[names->len++] = STR("n1");
    names->items[names->len++] = STR("n12");
    names->items[names->len++] = STR("n3");
    return STATUS_OK;
}

static void forget(void *state)
{
    free(state);
}

static struct status pre_filter(struct cycle *cycle, struct node_names *names)
{
    uint64_t seed = pod_seed(cycle);
    switch (mix(seed, label_hash(&cycle->pod->meta, "tier")) % 24) {
    case 0:
        return STATUS_SKIPPED;
    case 1:
        return reject(STATUS_UNSCHEDULABLE, "picky about the pod");
    case 2:
        return reject(STATUS_UNRESOLVABLE, "picky about the pod for ever");
    case 3:
        return narrow(cycle, names);
    case 4:
        return status_printf(cycle->arena, STATUS_ERROR, "picky is broken");
    default:
        break;
    }
    struct opinion *opinion = xcalloc(1, sizeof(*opinion));
    opinion->seed = seed;
    free(*cycle_state(cycle)); /* a profile may run PreFilter twice in a cycle */
    *cycle_state(cycle) = opinion;
    return STATUS_OK;
}

static struct status judge(struct cycle *cycle, struct node_view node, uint64_t seed)
{
    uint64_t hash = mix(seed, node_seed(node));
    if (hash % 8 == 0)
        return reject(STATUS_UNSCHEDULABLE, "node(s) were not to Picky's taste");
    if (hash % 8 == 1)
        return status_printf(cycle->arena, STATUS_UNRESOLVABLE, "node(s) had the number %d",
                             (int)(hash / 8 % 3));
    if (hash % 512 == 2)
        return status_printf(cycle->arena, STATUS_ERROR, "no opinion about " STR_FMT,
                             STR_ARG(node_name(node)));
    return node_pods(node).len > 20 ? reject(STATUS_UNSCHEDULABLE, "node(s) were crowded") : STATUS_OK;
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    struct opinion *opinion = *cycle_state(cycle);
    if (opinion)
        opinion->calls++;
    return judge(cycle, node, opinion ? opinion->seed : 0);
}

static struct status pre_score(struct cycle *cycle)
{
    struct row_list rows = cycle_feasible(cycle);
    for (uint32_t i = 1; i < rows.len; i++)
        if (rows.items[i - 1] >= rows.items[i])
            return status_printf(cycle->arena, STATUS_ERROR, "rows are not in order");
    return rows.len % 5 == 0 ? STATUS_SKIPPED : STATUS_OK;
}

static struct status score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    uint64_t hash = mix(pod_seed(cycle), node_seed(node));
    if (hash % 1024 == 3)
        return status_printf(cycle->arena, STATUS_ERROR, "no score");
    *ret = (int64_t)(hash % 50) + node_used(node, RES_CPU) % 1000 + (int64_t)node_pods(node).len;
    return STATUS_OK;
}

static void normalize(struct cycle *cycle, int64_t *scores, size_t len)
{
    int64_t most = 1;
    (void)cycle;
    for (size_t i = 0; i < len; i++)
        most = MAX(most, scores[i]);
    for (size_t i = 0; i < len; i++)
        scores[i] = scores[i] * SCORE_MAX / most;
}

static struct status terse_filter(struct cycle *cycle, struct node_view node)
{
    return mix(pod_seed(cycle) / 3, node_seed(node) / 5) % 6 == 0
               ? reject(STATUS_UNSCHEDULABLE, "node(s) did not please Terse")
               : STATUS_OK;
}

/* Sometimes out of range. */
static struct status terse_score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    *ret = (int64_t)(mix(pod_seed(cycle), node_seed(node)) % 60) + (node_pods(node).len > 15 ? 42 : 0);
    return STATUS_OK;
}

/* The weights of a class stay for a while, and then change. Some are what they were. */
static void weigh(struct cycle *cycle)
{
    uint64_t seed = mix(str_hash(cycle->pod->meta.namespace), cycle->cluster->placed_pods / 4);
    for (uint32_t i = 0; i < cycle->profile->plugins_len; i++) {
        uint64_t hash = mix(seed, i);
        if (hash % 3 == 0)
            (void)weights_set(cycle, i, (int32_t)(hash / 3 % (hash % 2 ? 12 : WEIGHT_MAX + 1)), STR("hash"));
    }
}

static const struct plugin picky = {
    .name = "Picky",
    .forget = forget,
    .pre_filter = pre_filter,
    .filter = filter,
    .pre_score = pre_score,
    .score = score,
    .normalize = normalize,
};

static const struct plugin terse = {
    .name = "Terse",
    .filter = terse_filter,
    .score = terse_score,
};

static const struct plugin weigher = {
    .name = "Weigher",
    .silent_points = POINT_BIT(POINT_PRE_SCORE) | POINT_BIT(POINT_SCORE),
    .weigh = weigh,
};

const struct registry *picky_registry(void)
{
    static const struct plugin *plugins[PLUGINS_MAX];
    static struct registry registry;
    if (registry.len)
        return &registry;
    memcpy(plugins, builtin_plugins.items, builtin_plugins.len * sizeof(*plugins));
    plugins[builtin_plugins.len] = &picky;
    plugins[builtin_plugins.len + 1] = &terse;
    plugins[builtin_plugins.len + 2] = &weigher;
    registry = (struct registry){ plugins, builtin_plugins.len + 3 };
    return &registry;
}
