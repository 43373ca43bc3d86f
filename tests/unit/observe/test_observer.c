/* Decisions are counted in the same way on every path, as kube-scheduler counts them. */
#include "support/engine_fixture.h"

#include "engine/account.h"
#include "observe/observer.h"
#include "observe/rest_metrics.h"

#define NODE(name, cpu) \
    "{kind: Node, metadata: {name: " name "}, status: {allocatable: {cpu: " cpu \
    ", memory: 8Gi, pods: 20}}}\n---\n"
#define POD(name, cpu) \
    "{kind: Pod, metadata: {name: " name ", uid: u-" name \
    "}, spec: {containers: [{name: c, resources: {requests: {cpu: " cpu "}}}]}}"
#define POINT(point, status) \
    "scheduler_framework_extension_point_duration_seconds_count{extension_point=\"" point \
    "\",profile=\"default-scheduler\",status=\"" status "\"} "
#define EVALUATED(point, plugin) \
    "scheduler_plugin_evaluation_total{extension_point=\"" point "\",plugin=\"" plugin \
    "\",profile=\"default-scheduler\"} "

struct observed {
    struct engine_fixture e;
    struct metrics *metrics;
    struct observer *observer;
};

static void observed_init_with(struct observed *o, int minor, const char *gates, enum decision_path slowest)
{
    char release[32];
    snprintf(release, sizeof(release), "--emulated-version=1.%d", minor);
    char *argv[] = { (char *)(uintptr_t)"x", release, (char *)(uintptr_t)gates };
    struct scheduler_flags flags;
    struct features features;
    struct error err;
    assert_int_equal(flags_parse(&flags, gates ? 3 : 2, argv, &err), 0);
    assert_int_equal(flags_check(&flags, &features, NULL, &err), 0);
    o->metrics = families_new(&flags, &features, &err);
    flags_release(&flags);
    engine_fixture_init_as(&o->e, minor, NULL, &(struct engine_options){ .seed = 1, .slowest = slowest });
    o->observer = observer_new(o->metrics, &features);
    const struct probe *probe = observer_probe(o->observer);
    probe->plain(probe->context, INT64_C(3600000000000)); /* for hours no sample takes the plain path */
    engine_watch(&o->e.engine, probe);
}

static void observed_init_as(struct observed *o, int minor, enum decision_path slowest)
{
    observed_init_with(o, minor, NULL, slowest);
}

static void observed_init(struct observed *o, enum decision_path slowest)
{
    observed_init_as(o, RELEASE_DEFAULT, slowest);
}

static void observed_release(struct observed *o)
{
    engine_fixture_release(&o->e);
    observer_free(o->observer);
    metrics_free(o->metrics);
}

static void step(struct observed *o)
{
    struct decision decision = engine_fixture_step(&o->e);
    observer_decision(o->observer, &decision, 1000);
}

static void assert_line(struct metrics *metrics, const char *line, bool want)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    metrics_write(metrics, &out);
    if (!!strstr(out.text, line) != want)
        fail_msg("%s %s", line, want ? "is missing" : "is there");
}

/* Two nodes; a pod that fits both, a pod that fits one of them, and a pod that fits neither. */
static void test_every_path_counts_the_same(void **state)
{
    static const char *const lines[] = {
        POINT("PreEnqueue", "Success") "3\n",
        POINT("PreFilter", "Success") "3\n",
        POINT("Filter", "Success") "3\n",
        POINT("PostFilter", "Unschedulable") "1\n",
        POINT("PreScore", "Success") "1\n",
        POINT("Score", "Success") "1\n",
        POINT("Reserve", "Success") "2\n",
        POINT("Permit", "Success") "2\n",
        EVALUATED("PreFilter", "NodeResourcesFit") "3\n",
        EVALUATED("PreFilter", "NodePorts") "0\n",
        EVALUATED("Filter", "NodeResourcesFit") "6\n",
        EVALUATED("Filter", "NodePorts") "0\n",
        EVALUATED("Score", "NodeResourcesFit") "2\n",
        EVALUATED("Score", "InterPodAffinity") "0\n",
        "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"unschedulable\"} 1\n",
        "scheduler_unschedulable_pods{plugin=\"NodeResourcesFit\",profile=\"default-scheduler\"} 1\n",
        "scheduler_preemption_attempts_total 1\n",
        "scheduler_pending_pods{queue=\"unschedulable\"} 1\n",
        "scheduler_cache_size{type=\"nodes\"} 2\n",
        "scheduler_cache_size{type=\"pods\"} 2\n",
        "scheduler_cache_size{type=\"assumed_pods\"} 2\n",
    };
    (void)state;
    for (int path = 0; path < PATH_COUNT; path++) {
        struct observed o;
        observed_init(&o, (enum decision_path)path);
        fixture_load(&o.e.f, NODE("a", "4") NODE("b", "2"));
        engine_fixture_add(&o.e, POD("p", "1"));
        step(&o);
        engine_fixture_add(&o.e, POD("q", "3"));
        step(&o);
        engine_fixture_add(&o.e, POD("r", "9"));
        step(&o);
        assert_int_equal(o.e.engine.stats.decisions[PATH_PLAIN], path == PATH_PLAIN ? 3 : 0);
        assert_int_equal(observer_publish(o.observer, &o.e.engine, NS_PER_SECOND), INT64_MAX);
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
            assert_line(o.metrics, lines[i], true);
        assert_line(o.metrics, "extension_point=\"Unreserve\"", false);
        observed_release(&o);
    }
}

/* A plugin that scores node by node has its PreScore called, on the fast paths too: it counts once. */
static void test_pre_score_counts_once(void **state)
{
    (void)state;
    for (int path = 0; path < PATH_COUNT; path++) {
        struct observed o;
        observed_init_as(&o, 37, (enum decision_path)path);
        o.e.f.cluster.features.enabled[FEATURE_StorageCapacityScoring] = true;
        fixture_load(&o.e.f, NODE("a", "4") NODE("b", "2"));
        for (int i = 0; i < 3; i++) {
            char pod[200];
            snprintf(pod, sizeof(pod),
                     "{kind: Pod, metadata: {name: p%d, uid: u-%d}, spec: {containers: [{name: c}]}}", i, i);
            engine_fixture_add(&o.e, pod);
            step(&o);
        }
        assert_int_equal(o.e.engine.stats.decisions[PATH_PLAIN], path == PATH_PLAIN ? 3 : 0);
        observer_publish(o.observer, &o.e.engine, NS_PER_SECOND);
        assert_line(o.metrics, EVALUATED("PreScore", "VolumeBinding") "3\n", true);
        assert_line(o.metrics, EVALUATED("Score", "VolumeBinding") "6\n", true);
        assert_line(o.metrics, EVALUATED("PreScore", "NodeResourcesFit") "3\n", true);
        observed_release(&o);
    }
}

/* States are published at a limited rate, and the last one is not lost. */
static void test_publishes_the_last_state(void **state)
{
    struct observed o;
    const int64_t start_ns = NS_PER_SECOND, soon_ns = start_ns + 1000;
    (void)state;
    observed_init(&o, PATH_INDEX);
    assert_int_equal(observer_publish(o.observer, &o.e.engine, start_ns), INT64_MAX);
    fixture_load(&o.e.f, NODE("a", "4"));
    int64_t due_ns = observer_publish(o.observer, &o.e.engine, soon_ns);
    assert_true(due_ns > soon_ns && due_ns < start_ns + NS_PER_SECOND);
    assert_line(o.metrics, "scheduler_cache_size{type=\"nodes\"} 0\n", true);
    assert_int_equal(observer_publish(o.observer, &o.e.engine, due_ns), INT64_MAX);
    assert_line(o.metrics, "scheduler_cache_size{type=\"nodes\"} 1\n", true);
    observed_release(&o);
}

/* Durations are in the buckets, sums in seconds; a plugin counts once per call. */
static void test_the_probe_is_counted(void **state)
{
    struct observed o;
    (void)state;
    observed_init(&o, PATH_INDEX);
    const struct probe *probe = observer_probe(o.observer);
    const struct profile *profile = &o.e.engine.profiles[0];
    const struct plugin_instance *fit = profile_find(profile, "NodeResourcesFit");
    struct cluster_event added = { .resource = EVENT_NODE, .actions = ACTION_ADD };
    probe->plugin(probe->context, profile, fit, PROBE_SCORE, STATUS_SUCCESS, 4, 4000000);
    probe->hint(probe->context, profile, fit->index, event_label(&added), HINT_SKIP, 1000);
    probe->event(probe->context, event_label(&added), 1000);
    probe->permit_wait(probe->context, STATUS_UNSCHEDULABLE, 2 * NS_PER_SECOND);
    probe->preemption(probe->context, true, 1000);
    probe->claim(probe->context, false);
    probe->claim(probe->context, true);
    probe->device(probe->context, profile, STR("gpu.example.com"), true, WAIT_END_TIMEOUT, 2 * NS_PER_SECOND);
    probe->device(probe->context, profile, STR("gpu.example.com"), false, WAIT_END_TIMEOUT,
                  2 * NS_PER_SECOND);
    probe->volumes_failed(probe->context, VOLUMES_SEARCHED);
    probe->volumes_failed(probe->context, VOLUMES_BOUND);
    static const char *const lines[] = {
        "scheduler_plugin_execution_duration_seconds_count{extension_point=\"Score\",plugin="
        "\"NodeResourcesFit\",status="
        "\"Success\"} 4\n",
        "scheduler_plugin_execution_duration_seconds_sum{extension_point=\"Score\",plugin="
        "\"NodeResourcesFit\",status="
        "\"Success\"} 0.004\n",
        "scheduler_queueing_hint_execution_duration_seconds_count{event=\"NodeAdd\",hint=\"QueueSkip\","
        "plugin="
        "\"NodeResourcesFit\"} 1\n",
        "scheduler_event_handling_duration_seconds_count{event=\"NodeAdd\"} 1\n",
        "scheduler_permit_wait_duration_seconds_sum{result=\"Unschedulable\"} 2\n",
        "scheduler_preemption_goroutines_execution_total{result=\"error\"} 1\n",
        "scheduler_dra_bindingconditions_wait_duration_seconds_sum{driver=\"gpu.example.com\",profile="
        "\"default-scheduler\",status=\"timeout\"} 4\n",
        "scheduler_dra_bindingconditions_allocations_total{driver=\"gpu.example.com\",profile="
        "\"default-scheduler\",status=\"timeout\"} 1\n",
        "scheduler_volume_scheduling_stage_error_total{operation=\"bind\"} 1\n",
        "scheduler_volume_scheduling_stage_error_total{operation=\"predicate\"} 1\n",
        "dynamic_resource_allocation_resourceclaim_creates_total{admin_access=\"false\",owner_api_group=\"\","
        "owner_api_kind=\"Pod\",status=\"failure\"} 1\n",
        "dynamic_resource_allocation_resourceclaim_creates_total{admin_access=\"false\",owner_api_group=\"\","
        "owner_api_kind=\"Pod\",status=\"success\"} 1\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        assert_line(o.metrics, lines[i], true);
    uint32_t sampled = 0;
    for (int i = 0; i < 10000; i++)
        sampled += probe->sample(probe->context) != SAMPLE_NONE;
    assert_true(sampled > 800 && sampled < 1200); /* one in ten */
    for (int i = 0; i < 1000; i++)
        assert_int_not_equal(probe->sample(probe->context), SAMPLE_PLAIN);
    observed_release(&o);
}

static void test_queues_count_entities(void **state)
{
    struct observed o;
    (void)state;
    observed_init_as(&o, 37, PATH_INDEX);
    const struct probe *probe = observer_probe(o.observer);
    probe->pre_hint(probe->context, "DynamicResources", true);
    probe->pre_hint(probe->context, "DynamicResources", false);
    fixture_load(&o.e.f, NODE("a", "4"));
    engine_fixture_add(&o.e, POD("p", "9"));
    step(&o);
    observer_publish(o.observer, &o.e.engine, NS_PER_SECOND);
    static const char *const lines[] = {
        "scheduler_queue_incoming_pods_total{event=\"UnscheduledPodAdd\",queue=\"active\"} 1\n",
        "scheduler_queue_incoming_entities_total{event=\"UnscheduledPodAdd\",queue=\"active\",type=\"pod\"} "
        "1\n",
        "scheduler_queue_incoming_pods_total{event=\"ScheduleAttemptFailure\",queue=\"unschedulable\"} 1\n",
        "scheduler_pre_queueing_hint_evaluations_total{plugin=\"DynamicResources\",result=\"all_pods\"} 1\n",
        "scheduler_pre_queueing_hint_evaluations_total{plugin=\"DynamicResources\",result=\"narrowed\"} 1\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        assert_line(o.metrics, lines[i], true);
    assert_line(o.metrics, "scheduler_queue_incoming_entities_total{event=\"ScheduleAttemptFailure\"", false);
    observed_release(&o);
}

/* With SchedulerAsyncAPICalls, requests about pods. */
static void test_calls_are_counted(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        struct observed o;
        observed_init_with(&o, 37, on ? "--feature-gates=SchedulerAsyncAPICalls=true" : NULL, PATH_INDEX);
        const struct probe *probe = observer_probe(o.observer);
        probe->api_call(probe->context, API_CALL_BINDING, false, 2 * NS_PER_SECOND);
        probe->api_call(probe->context, API_CALL_STATUS, true, NS_PER_SECOND);
        o.e.engine.statuses.turns = 3;
        observer_publish(o.observer, &o.e.engine, NS_PER_SECOND);
        o.e.engine.statuses.turns = 0;
        static const char *const lines[] = {
            "scheduler_async_api_call_execution_total{call_type=\"pod_binding\",result=\"success\"} 1\n",
            "scheduler_async_api_call_execution_total{call_type=\"pod_status_patch\",result=\"error\"} 1\n",
            "scheduler_async_api_call_execution_duration_seconds_sum{call_type=\"pod_binding\",result="
            "\"success\"} 2\n",
            "scheduler_pending_async_api_calls{call_type=\"pod_binding\"} 0\n",
            "scheduler_pending_async_api_calls{call_type=\"pod_status_patch\"} 3\n",
        };
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
            assert_line(o.metrics, lines[i], on);
        observed_release(&o);
    }
}

/* Events of objects have kube-scheduler's names. */
static void test_events_of_objects(void **state)
{
    static const char *const lines[] = {
        "scheduler_event_handling_duration_seconds_count{event=\"UnscheduledPodAdd\"} 1\n",
        "scheduler_event_handling_duration_seconds_count{event=\"UnscheduledPodDelete\"} 1\n",
        "scheduler_event_handling_duration_seconds_count{event=\"AssignedPodAdd\"} 1\n",
    };
    struct observed o;
    (void)state;
    observed_init(&o, PATH_INDEX);
    struct pod waiting = { .meta = { .name = STR("p"), .namespace = STR("default"), .uid = STR("u") },
                           .spec = { .scheduler_name = STR("default-scheduler") } };
    struct pod bound = waiting;
    bound.spec.node_name = STR("a");
    engine_set_object(&o.e.engine, KIND_POD, &waiting, &waiting.meta, 1);
    engine_set_object(&o.e.engine, KIND_POD, &bound, &bound.meta, 2);
    struct pod_info *info = cluster_find_pod(&o.e.f.cluster, bound.meta.namespace, bound.meta.name);
    assert_int_equal(o.e.f.cluster.placed_pods, 1);
    assert_int_equal(o.e.f.cluster.assumed_pods, 0);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        assert_line(o.metrics, lines[i], true);
    engine_remove_pod(&o.e.engine, info, 3);
    assert_line(o.metrics, "scheduler_event_handling_duration_seconds_count{event=\"AssignedPodDelete\"} 1\n",
                true);
    assert_int_equal(o.e.f.cluster.placed_pods, 0);
    observed_release(&o);
}

/* As in client-go: streams and failed requests are only counted; a credential program is counted by its exit. */
static void test_requests_are_counted(void **state)
{
    static const struct api_sample samples[] = {
        { .method = STR("POST"),
          .host = STR("h:1"),
          .status = 201,
          .is_limited = true,
          .took_ns = 2000000000,
          .limited_ns = 1000000000,
          .sent_bytes = 100,
          .received_bytes = 300 },
        { .method = STR("GET"), .host = STR("h:1"), .status = 200, .is_stream = true },
        { .method = STR("PATCH"), .host = STR("h:1") },
        { .method = STR("PUT"), .host = STR("h:1"), .status = 401, .is_retried = true },
    };
    static const struct {
        const char *line;
        bool want;
    } lines[] = {
        { "rest_client_requests_total{code=\"201\",host=\"h:1\",method=\"POST\"} 1\n", true },
        { "rest_client_requests_total{code=\"200\",host=\"h:1\",method=\"GET\"} 1\n", true },
        { "rest_client_requests_total{code=\"<error>\",host=\"h:1\",method=\"PATCH\"} 1\n", true },
        { "rest_client_request_retries_total{code=\"401\",host=\"h:1\",verb=\"PUT\"} 1\n", true },
        { "rest_client_request_duration_seconds_sum{host=\"h:1\",verb=\"POST\"} 2\n", true },
        { "rest_client_rate_limiter_duration_seconds_sum{host=\"h:1\",verb=\"POST\"} 1\n", true },
        { "rest_client_request_size_bytes_sum{host=\"h:1\",verb=\"POST\"} 100\n", true },
        { "rest_client_response_size_bytes_sum{host=\"h:1\",verb=\"POST\"} 300\n", true },
        { "rest_client_request_duration_seconds_count{host=\"h:1\",verb=\"GET\"}", false },
        { "rest_client_response_size_bytes_count{host=\"h:1\",verb=\"PATCH\"}", false },
        { "rest_client_exec_plugin_call_total{call_status=\"plugin_execution_error\",code=\"3\"} 1\n", true },
    };
    struct observed o;
    (void)state;
    observed_init(&o, PATH_INDEX);
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
        rest_metrics_count(o.metrics, &samples[i]);
    rest_metrics_exec(o.metrics, 3, "plugin_execution_error");
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        assert_line(o.metrics, lines[i].line, lines[i].want);
    observed_release(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pre_score_counts_once),    cmocka_unit_test(test_queues_count_entities),
        cmocka_unit_test(test_calls_are_counted),        cmocka_unit_test(test_every_path_counts_the_same),
        cmocka_unit_test(test_publishes_the_last_state), cmocka_unit_test(test_the_probe_is_counted),
        cmocka_unit_test(test_events_of_objects),        cmocka_unit_test(test_requests_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
