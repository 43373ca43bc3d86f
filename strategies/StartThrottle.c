/* StartThrottle.c: at most so many pods start on a node in a time.
 *
 * After a mass start every node pulls images and starts containers at once, and all of them take longer than one after
 * the other would. Filter: a node where `maxStarts` pods were placed within the last `window` takes no more. The pod is
 * tried again when the first of these times is over: nothing else need happen. */
#include <berth/plugin.h>

#include "row_cache.h"

enum { STARTS_MAX = 1000 };
#define SECOND INT64_C(1000000000)

struct args {
    int64_t max_starts, window_ns;
};

static const struct berth_field fields[] = {
    BERTH_FIELD("maxStarts", BERTH_INT, struct args, max_starts),
    BERTH_FIELD("window", BERTH_DURATION, struct args, window_ns),
    { 0 },
};
static const struct args defaults = { .max_starts = 5, .window_ns = 60 * SECOND };

struct self {
    const struct args *args;
    struct row_cache nodes;
    int64_t *newest; /* as many times as starts are allowed, for fill_node() */
};

struct node_starts {
    struct row_entry entry;
    int64_t full_since; /* of the last `maxStarts` starts the first; 0: there were fewer */
};

/* Keeps the newest times, the oldest of them first. */
static void keep_newest(int64_t *newest, uint32_t len, int64_t at)
{
    uint32_t i = 0;
    if (at <= newest[0])
        return;
    for (; i + 1 < len && newest[i + 1] < at; i++)
        newest[i] = newest[i + 1];
    newest[i] = at;
}

static void fill_node(const void *context, const void *object, struct row_entry *ret)
{
    const struct self *self = context;
    const struct berth_cluster *cluster = self->nodes.cluster;
    uint32_t len = (uint32_t)self->args->max_starts;
    struct berth_pod_infos pods =
        berth_node_pods(berth_node(cluster, berth_node_row(cluster, berth_object_name(object))));
    memset(self->newest, 0, len * sizeof(*self->newest));
    for (size_t i = 0; i < pods.len; i++)
        keep_newest(self->newest, len, berth_info_placed_at(pods.items[i]));
    ((struct node_starts *)(void *)ret)->full_since = self->newest[0];
}

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    *ret_self = self;
    if (args->max_starts < 1 || args->max_starts > STARTS_MAX)
        return berth_fail(err, "maxStarts: expected a number from 1 to %d, got %lld", STARTS_MAX,
                          (long long)args->max_starts);
    if (args->window_ns < SECOND || args->window_ns > 3600 * SECOND)
        return berth_fail(err, "window: expected a duration from 1s to 1h");
    *self = (struct self){
        .args = args,
        .nodes = { .size = sizeof(struct node_starts), .fill = fill_node },
        .newest = berth_alloc(env->arena, (size_t)args->max_starts * sizeof(int64_t)),
    };
    return 0;
}

static void release(void *data)
{
    struct self *self = data;
    if (self)
        row_cache_release(&self->nodes);
}

static struct berth_status pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    struct self *self = berth_cycle_self(cycle);
    (void)narrow;
    row_cache_begin(&self->nodes, berth_cycle_cluster(cycle));
    return BERTH_OK;
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    struct self *self = berth_cycle_self(cycle);
    const struct node_starts *starts = row_cache_get(&self->nodes, self, node);
    int64_t until = starts->full_since + self->args->window_ns;
    if (!starts->full_since || until <= berth_cycle_now(cycle))
        return BERTH_OK;
    berth_retry_at(cycle, until);
    return BERTH_REJECT(BERTH_UNRESOLVABLE, "node(s) had started as many pods as they may in that time");
}

static const struct berth_event_rule events[] = {
    { BERTH_EVENT_NODE, BERTH_ADD, NULL },
    { BERTH_EVENT_ASSIGNED_POD, BERTH_DELETE, NULL },
    { 0 },
};

static const char *const reads[] = { NULL };

static const struct berth_plugin start_throttle = {
    .name = "StartThrottle",
    .doc = "Lets at most so many pods start on a node in a time.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .release = release,
    .pre_filter = pre_filter,
    .filter = filter,
    .events = events,
    .reads = reads,
};

BERTH_PLUGINS(&start_throttle)
