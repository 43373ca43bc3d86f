/* host_samples.c: times and measured use, for plugins. */
#include "abi/host.h"
#include "base/duration.h"
#include "cluster/node_samples.h"
#include "framework/blocking_work.h"

#define X(name, text) \
    static_assert((int)STATISTIC_##name == (int)BERTH_##name, "statistics of the header: " text);
SAMPLE_STATISTICS(X)
#undef X

int64_t host_cycle_now(const struct berth_cycle *cycle)
{
    return in_cycle(cycle)->now_ns + in_cycle(cycle)->wall_ahead_ns;
}

void host_retry_at(struct berth_cycle *outer, int64_t at)
{
    struct cycle *cycle = in_cycle(outer);
    int64_t at_ns;
    if (work_is_here()) /* PreBind and Bind: the attempt has succeeded */
        return;
    if (__builtin_sub_overflow(at, cycle->wall_ahead_ns, &at_ns))
        at_ns = at < 0 ? 1 : INT64_MAX;
    at_ns = MAX(at_ns, 1);
    cycle->retry_ns = cycle->retry_ns ? MIN(cycle->retry_ns, at_ns) : at_ns;
}

static int64_t ns_of(struct opt_time time)
{
    return time.set ? time.seconds * NS_PER_SECOND + time.nanos : 0;
}

/* Of a pod that another scheduler placed, or this one before it was restarted: as its object has it. */
static int64_t placed_by_object(const struct pod *pod)
{
    list_for(&pod->status.conditions, condition)
        if (str_is(condition->type, "PodScheduled") && str_is(condition->status, "True") &&
            condition->last_transition_time.set)
            return ns_of(condition->last_transition_time);
    return ns_of(pod->status.start_time.set ? pod->status.start_time : pod->meta.creation_time);
}

int64_t host_info_placed_at(const struct berth_pod_info *outer)
{
    const struct pod_info *pod = in_pod_info(outer);
    if (!pod || pod->row == ROW_NONE)
        return 0;
    int64_t at_ns = pod->placed_ns ? pod->placed_ns : placed_by_object(pod->api);
    return at_ns ? at_ns : 1; /* nobody says when: long ago */
}

static const struct node_sample *sample_of(struct berth_node_view node, const char *function)
{
    return host_node_exists(node, function) ? cluster_node(in_cluster(node.cluster), node.row)->sample : NULL;
}

int64_t host_node_sampled_at(struct berth_node_view node)
{
    const struct node_sample *sample = sample_of(node, "berth_node_sampled_at");
    return sample ? sample->at_ns : 0;
}

int64_t host_node_sample_window(struct berth_node_view node)
{
    const struct node_sample *sample = sample_of(node, "berth_node_sample_window");
    return sample ? sample->window_ns : 0;
}

/* SAMPLE_RESOURCES: not measured. */
static enum sample_resource measured(uint32_t resource)
{
    return resource == RES_CPU ? SAMPLE_CPU : resource == RES_MEMORY ? SAMPLE_MEMORY : SAMPLE_RESOURCES;
}

double host_node_sample(struct berth_node_view node, uint32_t resource, enum berth_statistic statistic)
{
    const struct node_sample *sample = sample_of(node, "berth_node_sample");
    enum sample_resource number = measured(resource);
    if (!sample || number == SAMPLE_RESOURCES || (uint32_t)statistic >= STATISTIC_COUNT)
        return -1;
    return sample->values[number][statistic];
}

double host_pod_sample(const struct berth_cluster *cluster, const struct berth_pod_info *pod,
                       uint32_t resource)
{
    enum sample_resource number = measured(resource);
    if (!pod || number == SAMPLE_RESOURCES || !host_may_look(cluster, "berth_pod_sample"))
        return -1;
    return node_samples_of_pod(in_cluster(cluster), in_pod_info(pod)->api, number);
}
