/* gang.c: pods of a group are bound together or not at all, as for MPI jobs and distributed training.
 *
 *     metadata: {labels: {gang/name: train, gang/size: "4"}}
 *
 *     pluginConfig: [{name: Gang, args: {timeout: 30s}}]      # how long a pod may wait for the others
 *
 * PreFilter rejects the pods of an incomplete gang, so that they reserve no resources in vain. Permit lets a pod wait
 * with its reservation, and activates the others; the last one to be reserved allows all of them. If one loses its
 * reservation, because of the timeout or a failed bind, so do the others. */
#include <berth/plugin.h>

struct args {
    int64_t timeout_ns;
};
static const struct berth_field fields[] = { BERTH_FIELD("timeout", BERTH_DURATION, struct args, timeout_ns),
                                             { 0 } };
static const struct args defaults = { .timeout_ns = 30000000000 };
struct self {
    const struct berth_handle *handle;
    int64_t timeout_ms;
};

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    if (args->timeout_ns <= 0)
        return berth_fail(err, "timeout: it must be more than nothing");
    *self = (struct self){ env->handle, args->timeout_ns / 1000000 };
    *ret_self = self;
    return 0;
}

/* ---- a gang ---- */
struct gang {
    const struct berth_cluster *cluster;
    const struct self *self;
    struct berth_str namespace_, name;
    int64_t size;
    uint32_t pods, placed; /* existing pods, and those with a node, bound or reserved */
    bool activates;        /* pods without a node are activated */
    const char *why;       /* why they are rejected; NULL: they are allowed */
};

/* False: the pod is in no gang. */
static bool gang_of(struct berth_cycle *cycle, struct gang *ret)
{
    const struct berth_pod *pod = berth_cycle_pod(cycle);
    *ret = (struct gang){ .cluster = berth_cycle_cluster(cycle),
                          .self = berth_cycle_self(cycle),
                          .namespace_ = berth_object_namespace(pod),
                          .name = berth_object_label(pod, "gang/name") };
    return ret->name.ptr && berth_to_int(berth_object_label(pod, "gang/size"), &ret->size);
}

static bool is_in(const struct gang *gang, const struct berth_pod *pod)
{
    return berth_eq(berth_object_label(pod, "gang/name"), gang->name) &&
           berth_eq(berth_object_namespace(pod), gang->namespace_);
}

static bool count(void *context, const void *pod)
{
    struct gang *gang = context;
    struct berth_str name = berth_object_name(pod);
    bool leaves = berth_read("Pod", pod, "metadata.deletionTimestamp").type != BERTH_ABSENT;
    if (!is_in(gang, pod) || leaves)
        return true;
    bool has_node = berth_info_row(berth_find_pod(gang->cluster, gang->namespace_, name)) != BERTH_ROW_NONE;
    gang->pods++;
    gang->placed += has_node;
    if (gang->activates && !has_node)
        berth_activate(gang->self->handle, gang->namespace_, name);
    return true;
}

static bool answer(void *context, const struct berth_pod_info *info)
{
    const struct gang *gang = context;
    const struct berth_pod *pod = berth_info_pod(info);
    struct berth_str name = berth_object_name(pod), uid = berth_object_uid(pod);
    if (!is_in(gang, pod))
        return true;
    if (gang->why)
        berth_refuse_uid(gang->self->handle, gang->namespace_, name, uid, berth_text(gang->why));
    else
        berth_allow_uid(gang->self->handle, gang->namespace_, name, uid);
    return true;
}

/* ---- extension points ---- */
static struct berth_status pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    struct gang gang;
    (void)narrow;
    if (!gang_of(cycle, &gang))
        return berth_verdict(BERTH_SKIP);
    berth_each(gang.cluster, "Pod", count, &gang);
    if (gang.pods < gang.size)
        return berth_reject(berth_cycle_arena(cycle), BERTH_UNRESOLVABLE, "gang has %u of %lld pods",
                            gang.pods, (long long)gang.size);
    return BERTH_OK;
}

static struct berth_status permit(struct berth_cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    struct gang gang;
    (void)row;
    if (!gang_of(cycle, &gang))
        return BERTH_OK;
    gang.activates = true;
    berth_each(gang.cluster, "Pod", count, &gang);
    if (gang.placed >= gang.size) {
        berth_each_waiting(gang.self->handle, answer, &gang);
        return BERTH_OK;
    }
    *ret_timeout_ms = gang.self->timeout_ms;
    return berth_verdict(BERTH_WAIT);
}

static void unreserve(struct berth_cycle *cycle, uint32_t row)
{
    struct gang gang;
    (void)row;
    if (!gang_of(cycle, &gang))
        return;
    gang.why = "another pod of the gang lost its reservation";
    berth_each_waiting(gang.self->handle, answer, &gang);
}

static const struct berth_event_rule events[] = {
    { BERTH_EVENT_ASSIGNED_POD, BERTH_ADD | BERTH_DELETE, NULL },
    { BERTH_EVENT_NODE, BERTH_ADD | BERTH_NODE_ALLOCATABLE, NULL },
    { 0 },
};

static const struct berth_plugin gang = {
    .name = "Gang",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .pre_filter = pre_filter,
    .unreserve = unreserve,
    .permit = permit,
    .events = events,
};

BERTH_PLUGINS(&gang)
