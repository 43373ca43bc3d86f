/* test_load_waking.c: a pod that LoadAwareScheduling rejected is tried again exactly when a sample, a pod or a node may
 * help, and pods that were placed since the sample count.
 *
 * NodeResourcesFit is disabled, so that nothing but the strategy rejects the pod. The clock begins 1000 s after
 * 1970. */
#include "support/engine_fixture.h"

#include <dlfcn.h>

#include "abi/host.h"
#include "abi/loaded.h"
#include "engine/inputs.h"

#define SECOND NS_PER_SECOND

#define NODE(name, annotations) \
    "{kind: Node, metadata: {name: " name ", annotations: {" annotations \
    "}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}}}\n---\n"
#define SAMPLE(node, time, cpu) \
    "{apiVersion: metrics.k8s.io/v1beta1, kind: NodeMetrics, metadata: {name: " node \
    "}, timestamp: '1970-01-01T00:" time "Z', window: 30s, usage: {cpu: " cpu ", memory: 1Gi}}\n---\n"
#define POD(name, labels, cpu) \
    "{kind: Pod, metadata: {name: " name ", uid: " name ", labels: {" labels \
    "}}, spec: {containers: [{name: c, resources: {requests: {cpu: " cpu ", memory: 1Gi}}}]}}\n---\n"
#define BUSY NODE("a", "") SAMPLE("a", "16:40", "3500m") POD("p", "", "100m")
#define RUNNING_POD \
    "{kind: Pod, metadata: {name: q, namespace: default, uid: q}, spec: {nodeName: a, containers: [{name: " \
    "c, " \
    "resources: {requests: {cpu: 3}}}]}, status: {conditions: [{type: PodScheduled, status: 'True', " \
    "lastTransitionTime: '1970-01-01T00:16:30Z'}]}}\n---\n"
#define POD_SAMPLE \
    "{apiVersion: metrics.k8s.io/v1beta1, kind: PodMetrics, metadata: {name: q, namespace: default}, " \
    "timestamp: '1970-01-01T00:16:39Z', window: 30s, containers: [{name: c, usage: {cpu: 2550m}}]}\n---\n"
#define COUNTER(reason) \
    "berth_strategy_samples_unusable_total{plugin=\"LoadAwareScheduling\",reason=\"" reason "\"}"
#define CPU_REASON "node(s) cpu usage was above the threshold"

static const struct waking {
    const char *what, *args, *objects, *reason, *change;
    bool is_woken, is_placed;
} cases[] = {
    { "the use falls far enough", "", BUSY, CPU_REASON, SAMPLE("a", "17:30", "100m"), true, true },
    { "the use falls", "", BUSY, CPU_REASON, SAMPLE("a", "17:30", "3"), false, false },
    { "a sample of a node that is not there", "", BUSY, CPU_REASON, SAMPLE("b", "17:30", "0"), false, false },
    { "another node is too busy as well", "", NODE("b", "") SAMPLE("b", "16:40", "3500m") BUSY, CPU_REASON,
      SAMPLE("b", "17:30", "3400m"), false, false },
    { "a node comes, of which nothing is known", "", BUSY, CPU_REASON, NODE("b", ""), true, true },
    { "the node gets another threshold", "", BUSY, CPU_REASON,
      NODE("a", "scheduling.koordinator.sh/usage-thresholds: '{\"usageThresholds\": {\"cpu\": 99}}'"), true,
      true },
    { "an annotation that changes nothing", "", BUSY, CPU_REASON, NODE("a", "color: red"), true, false },
    { "the pod gets another class", "prodUsageThresholds: {cpu: 50}",
      NODE("a", "") SAMPLE("a", "16:40", "3500m")
          POD("p", "koordinator.sh/priority-class: koord-batch", "100m"),
      CPU_REASON, POD("p", "koordinator.sh/priority-class: koord-prod", "100m"), true, true },
    { "a sample comes for a node that had an old one", "",
      NODE("a", "") SAMPLE("a", "10:00", "0") NODE("b", "") SAMPLE("b", "16:40", "3500m")
          POD("p", "", "100m"),
      "had no recent sample", SAMPLE("a", "17:30", "0"), true, true },
};

static void load(struct loaded *loaded)
{
    static const char path[] = STRATEGIES "/LoadAwareScheduling.so";
    struct error err;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail_msg("%s", dlerror());
    loaded_init(loaded, &builtin_plugins);
    if (loaded_add(loaded, dlsym(handle, "berth_module"), path, &err) < 0)
        fail_msg("%s", err.text);
}

/* Passes each loaded object to the engine. */
static void add_to_engine(struct fixture *f, enum api_kind kind, struct meta *object)
{
    struct engine_fixture *e = container_of(f, struct engine_fixture, f);
    assert_true(engine_set_object(&e->engine, kind, object, object, e->now_ns));
}

static void begin(struct engine_fixture *e, int minor, const struct loaded *loaded, const char *args)
{
    char config[1024];
    snprintf(config, sizeof(config),
             "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: "
             "[{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}], enabled: [{name: "
             "LoadAwareScheduling}]}}, pluginConfig: [{name: LoadAwareScheduling, args: {%s}}]}]}",
             args);
    engine_fixture_init_as(e, minor, config,
                           &(struct engine_options){ .slowest = PATH_INDEX,
                                                     .now_ns = 1000 * SECOND,
                                                     .registry = &loaded->registry });
    e->f.add = add_to_engine;
}

static void try_case(int minor, const struct waking *test)
{
    struct engine_fixture e;
    struct loaded loaded;
    struct decision decision;
    load(&loaded);
    begin(&e, minor, &loaded, test->args);
    fixture_load(&e.f, test->objects);
    decision = engine_fixture_step(&e);
    if (decision.row != ROW_NONE || !str_contains(decision.message, str_from(test->reason)))
        fail_msg("%s: " STR_FMT, test->what, STR_ARG(decision.message));
    e.now_ns += 60 * SECOND; /* no backoff is left */
    fixture_load(&e.f, test->change);
    bool is_woken = engine_step(&e.engine, e.now_ns, &decision);
    if (is_woken != test->is_woken)
        fail_msg("%s: the pod is %s", test->what, is_woken ? "tried again" : "not tried again");
    if (is_woken && (decision.row != ROW_NONE) != test->is_placed)
        fail_msg("%s: " STR_FMT, test->what, STR_ARG(decision.message));
    engine_fixture_release(&e);
    loaded_release(&loaded);
}

static void test_waking(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        try_case(36, &cases[i]);
        try_case(RELEASE_DEFAULT, &cases[i]);
    }
}

/* Three pods of 1 core, each expected to use 0.85: two of them fit below 65 percent of 4 cores, the third one does not.
 * A sample that was taken later knows that they use little. */
static void test_placed_pods_count(void **state _unused_)
{
    struct engine_fixture e;
    struct loaded loaded;
    struct decision decision;
    load(&loaded);
    begin(&e, RELEASE_DEFAULT, &loaded, "");
    fixture_load(&e.f, NODE("a", "") SAMPLE("a", "16:39", "200m") POD("p1", "", "1") POD("p2", "", "1")
                           POD("p3", "", "1"));
    assert_int_not_equal(engine_fixture_step(&e).row, ROW_NONE);
    assert_int_not_equal(engine_fixture_step(&e).row, ROW_NONE);
    decision = engine_fixture_step(&e);
    assert_int_equal(decision.row, ROW_NONE);
    assert_true(str_contains(decision.message, STR(CPU_REASON)));
    e.now_ns += 60 * SECOND;
    fixture_load(&e.f, SAMPLE("a", "17:40", "300m"));
    assert_int_not_equal(engine_fixture_step(&e).row, ROW_NONE);
    engine_fixture_release(&e);
    loaded_release(&loaded);
}

/* A sample of a pod that comes after that of its node: q was counted by an estimate of 2.55 cores, and uses them. */
static void test_samples_of_pods_count_when_they_come(void **state _unused_)
{
    struct engine_fixture e;
    struct loaded loaded;
    load(&loaded);
    begin(&e, RELEASE_DEFAULT, &loaded, "");
    fixture_load(&e.f, NODE("a", "") SAMPLE("a", "16:39", "2") RUNNING_POD POD("p1", "", "100m"));
    assert_int_equal(engine_fixture_step(&e).row, ROW_NONE);
    fixture_load(&e.f, POD_SAMPLE POD("p2", "", "100m"));
    assert_int_not_equal(engine_fixture_step(&e).row, ROW_NONE);
    engine_fixture_release(&e);
    loaded_release(&loaded);
}

static bool is_shown(const char *line)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    host_metrics_write(&out);
    return str_contains(strbuf_slice(&out), str_from(line));
}

/* Each judgement of a node without a usable sample is counted, by the reason. Filter and Score are one each. */
static void test_unusable_samples_are_counted(void **state _unused_)
{
    struct engine_fixture e;
    struct loaded loaded;
    load(&loaded);
    begin(&e, RELEASE_DEFAULT, &loaded, "enableScheduleWhenNodeMetricsExpired: true");
    fixture_load(&e.f, NODE("missing", "") NODE("old", "") NODE("absurd", "") SAMPLE("old", "10:00", "0")
                           SAMPLE("absurd", "16:39", "9") POD("p", "", "100m"));
    assert_int_not_equal(engine_fixture_step(&e).row, ROW_NONE);
    assert_true(is_shown(COUNTER("missing") " 2\n"));
    assert_true(is_shown(COUNTER("old") " 2\n"));
    assert_true(is_shown(COUNTER("absurd") " 2\n"));
    engine_fixture_release(&e);
    loaded_release(&loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unusable_samples_are_counted), /* first: the counters are of the process */
        cmocka_unit_test(test_waking),
        cmocka_unit_test(test_placed_pods_count),
        cmocka_unit_test(test_samples_of_pods_count_when_they_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
