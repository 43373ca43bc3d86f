/* probe.h: what an observer may want to know of the engine's work, for metrics and nothing else.
 *
 *     engine, queue ──▶ struct probe ──▶ serve/observer
 *
 * No decision depends on a probe, which only receives. Without one (a simulation, a benchmark) no clock is read and
 * nothing is called. Everything is called on the thread of the engine.
 *
 * The points are reported as the reference reports them, the same number of times with the same status. Their times are
 * what is known:
 *     plain path      each point has its own
 *     other paths     judging classes of pods and groups of nodes has no PreFilter or PreScore of its own: Filter is
 * all
 *                     the time until the feasible nodes are known, Score all the time until one is chosen, the other
 *                     two are reported with no time
 *     PreBind, Bind   from the first call of a plugin to the answer, with all that was waited for
 *     no plugins      a point without plugins is reported with no time
 * Plugins are timed in a sample of the cycles, and only where they are called one by one. So that there are times of
 * plugins at all, a small part of the sample is decided by the plain path, which decides the same. */
#ifndef FRAMEWORK_PROBE_H
#define FRAMEWORK_PROBE_H

#include "framework/profile.h"

#define PROBE_POINTS(X) \
    X(PRE_ENQUEUE, "PreEnqueue") \
    X(PRE_FILTER, "PreFilter") \
    X(FILTER, "Filter") \
    X(POST_FILTER, "PostFilter") \
    X(PRE_SCORE, "PreScore") \
    X(SCORE, "Score") \
    X(RESERVE, "Reserve") \
    X(UNRESERVE, "Unreserve") \
    X(PERMIT, "Permit") \
    X(PRE_BIND_PRE_FLIGHT, "PreBindPreFlight") \
    X(PRE_BIND, "PreBind") \
    X(BIND, "Bind") \
    X(POST_BIND, "PostBind")

enum probe_point {
#define X(name, text) PROBE_##name,
    PROBE_POINTS(X)
#undef X
        PROBE_POINT_COUNT
};

/* What the observer wants of a cycle: nothing, the times of plugins that are called, or that they are called. */
enum probe_sample { SAMPLE_NONE, SAMPLE_TIMED, SAMPLE_PLAIN };

/* How a wait for devices ends. */
#define PROBE_WAIT_ENDS(X) \
    X(SUCCESS, "success") \
    X(FAILURE, "failure") /* a condition says so */ \
    X(TIMEOUT, "timeout") \
    X(ERROR, "error")

enum probe_wait_end {
#define X(name, text) WAIT_END_##name,
    PROBE_WAIT_ENDS(X)
#undef X
};

/* Requests that kube-scheduler counts with SchedulerAsyncAPICalls. */
#define PROBE_API_CALLS(X) \
    X(STATUS, "pod_status_patch") \
    X(BINDING, "pod_binding")

enum probe_api_call {
#define X(name, text) API_CALL_##name,
    PROBE_API_CALLS(X)
#undef X
        API_CALL_COUNT
};

enum probe_volume_stage { VOLUMES_SEARCHED, VOLUMES_BOUND };

/* All must be there but meet and forget. Plugins may be called with a probe that has but some of them. */
struct probe {
    void *context;
    /* A profile will be told about, and is about to go: profile->observed is the observer's. */
    void (*meet)(void *context, struct profile *profile);
    void (*forget)(void *context, struct profile *profile);
    int64_t (*now_ns)(void *context); /* never goes back */
    enum probe_sample (*sample)(void *context);
    /* A decision of SAMPLE_PLAIN took that long. */
    void (*plain)(void *context, int64_t ns);
    void (*point)(void *context, const struct profile *profile, enum probe_point point, enum status_code code,
                  int64_t ns);
    /* One plugin was called `count` times and took that long altogether. */
    void (*plugin)(void *context, const struct profile *profile, const struct plugin_instance *instance,
                   enum probe_point point, enum status_code code, uint32_t count, int64_t ns);
    /* PreFilter, Filter, PreScore and Score: the plugin had something to say, so many times. */
    void (*evaluated)(void *context, const struct profile *profile, const struct plugin_instance *instance,
                      enum probe_point point, uint32_t count);
    void (*hint)(void *context, const struct profile *profile, uint32_t plugin, enum event_label label,
                 enum hint hint, int64_t ns);
    /* The plugin said that an event is for some pods only, or for all (SchedulerPreQueueingHints). */
    void (*pre_hint)(void *context, const char *plugin, bool narrowed);
    void (*event)(void *context, enum event_label label, int64_t ns);
    void (*permit_wait)(void *context, enum status_code code, int64_t ns);
    /* All victims of a pod were deleted, or that failed. */
    void (*preemption)(void *context, bool failed, int64_t ns);
    /* A claim for the resources of a pod was created, or that failed. */
    void (*claim)(void *context, bool failed);
    /* A pod's wait for its devices to be ready has ended, after that long: once for each device. */
    void (*device)(void *context, const struct profile *profile, struct str driver, bool has_conditions,
                   enum probe_wait_end end, int64_t ns);
    /* A request about a pod was answered, after that long with all attempts. */
    void (*api_call)(void *context, enum probe_api_call call, bool failed, int64_t ns);
    /* Volumes could not be looked for on a node, or not be bound. */
    void (*volumes_failed)(void *context, enum probe_volume_stage stage);
};

static inline int64_t probe_now(const struct probe *probe)
{
    return probe ? probe->now_ns(probe->context) : 0;
}

static inline enum probe_sample probe_sample(const struct probe *probe)
{
    return probe ? probe->sample(probe->context) : SAMPLE_NONE;
}

/* The point is over that began at `begun_ns`; 0: it took no time. */
static inline void probe_point(const struct probe *probe, const struct profile *profile,
                               enum probe_point point, enum status_code code, int64_t begun_ns)
{
    if (probe)
        probe->point(probe->context, profile, point, code, begun_ns ? probe_now(probe) - begun_ns : 0);
}

static inline void probe_evaluated(const struct cycle *cycle, const struct plugin_instance *instance,
                                   enum probe_point point, uint32_t count)
{
    if (cycle->probe)
        cycle->probe->evaluated(cycle->probe->context, cycle->profile, instance, point, count);
}

/* When a plugin is called; 0: it is not timed. */
static inline int64_t probe_call(const struct cycle *cycle)
{
    return cycle->probe && cycle->is_sampled ? probe_now(cycle->probe) : 0;
}

static inline void probe_called(const struct cycle *cycle, const struct plugin_instance *instance,
                                enum probe_point point, enum status_code code, uint32_t count,
                                int64_t begun_ns)
{
    if (begun_ns)
        cycle->probe->plugin(cycle->probe->context, cycle->profile, instance, point, code, count,
                             probe_now(cycle->probe) - begun_ns);
}

static inline void probe_event(const struct probe *probe, enum event_label label, int64_t begun_ns)
{
    if (probe)
        probe->event(probe->context, label, probe_now(probe) - begun_ns);
}

static inline void probe_volumes_failed(const struct probe *probe, enum probe_volume_stage stage)
{
    if (probe && probe->volumes_failed)
        probe->volumes_failed(probe->context, stage);
}

#endif
