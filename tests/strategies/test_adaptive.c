/* test_adaptive.c: AdaptiveSchedulingPlugin in an engine: what it observes over time, how weights move and come back,
 * and that a replay repeats its decisions. test_alike.c compares the paths of a decision.
 *
 * test_adaptive.py has the conditions that follow from objects. The clock begins 100,000 s after 1970; the cluster is
 * one node of 10 cores, of which pods that run before use half. ImageLocality is the plugin whose weight moves. */
#include "unit/replay/recorded.h"

#include <dlfcn.h>

#include "abi/host.h"
#include "abi/loaded.h"
#include "engine/inputs.h"
#include "framework/weights.h"
#include "support/engine_fixture.h"
#include "whatif/explain.h"

#define BEGINS (100000 * SECOND)
#define RULE(when, direction) "{when: " when ", plugin: ImageLocality, direction: " direction "}"
#define WEIGHTS "weights: [{plugin: ImageLocality, min: 0, max: 4, step: 1}], minObservations: 4"
#define MOVES(namespace, direction) \
    "berth_strategy_weight_moves_total{direction=\"" direction \
    "\",namespace=\"" namespace "\",plugin=\"ImageLocality\",profile=\"default-scheduler\"}"

static struct loaded loaded;

static int load(void **state _unused_)
{
    static const char path[] = STRATEGIES "/AdaptiveSchedulingPlugin.so";
    struct error err;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail_msg("%s", dlerror());
    if (log_init(&(struct log_options){ .fd = open("/dev/null", O_WRONLY | O_CLOEXEC) }, &err) < 0)
        return -1;
    loaded_init(&loaded, &builtin_plugins);
    return loaded_add(&loaded, dlsym(handle, "berth_module"), path, &err);
}

static int unload(void **state _unused_)
{
    loaded_release(&loaded);
    return 0;
}

/* ---- an engine ---- */
static void add_to_engine(struct fixture *f, enum api_kind kind, struct meta *object)
{
    struct engine_fixture *e = container_of(f, struct engine_fixture, f);
    assert_true(engine_set_object(&e->engine, kind, object, object, e->now_ns));
}

static void begin_on(struct engine_fixture *e, const char *args, enum decision_path slowest)
{
    char config[2048];
    snprintf(config, sizeof(config),
             "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: "
             "[{plugins: {score: {enabled: [{name: AdaptiveSchedulingPlugin}]}}, pluginConfig: [{name: "
             "AdaptiveSchedulingPlugin, args: {%s}}]}]}",
             args);
    engine_fixture_init(e, config,
                        &(struct engine_options){
                            .slowest = slowest, .now_ns = BEGINS, .seed = 1, .registry = &loaded.registry });
    e->f.add = add_to_engine;
}

static void set_node(struct engine_fixture *e, const char *name, int cpus)
{
    fixture_loadf(&e->f,
                  "{kind: Node, metadata: {name: %s}, status: {allocatable: {cpu: %d, memory: 64Gi, "
                  "pods: 500}}}",
                  name, cpus);
}

static void begin(struct engine_fixture *e, const char *args)
{
    begin_on(e, args, PATH_INDEX);
    set_node(e, "a", 10);
    fixture_loadf(&e->f,
                  "{kind: Pod, metadata: {name: half, namespace: other, uid: half}, spec: {nodeName: a, "
                  "containers: [{name: c, resources: {requests: {cpu: 5}}}]}}");
}

static void set_pod(struct engine_fixture *e, const char *namespace, uint32_t number, const char *cpu,
                    const char *node)
{
    fixture_loadf(&e->f,
                  "{kind: Pod, metadata: {name: p%u, namespace: %s, uid: %s%u}, spec: {nodeName: '%s', "
                  "containers: [{name: c, image: i%u, resources: {requests: {cpu: %s}}}]}}",
                  number, namespace, namespace, number, node, number % 3, cpu);
}

/* A pod comes, is decided after a while, and is bound there. Returns the weight that the decision had. */
static int32_t decide_after(struct engine_fixture *e, const char *namespace, const char *cpu, int64_t wait_ns)
{
    static uint32_t number;
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct cycle cycle;
    set_pod(e, namespace, ++number, cpu, "");
    e->now_ns += wait_ns;
    struct decision decision = engine_fixture_step(e);
    const struct profile *profile = &e->engine.profiles[0];
    cycle_init(&cycle, profile, &e->f.cluster, decision.pod, &arena);
    run_weigh(&cycle);
    int32_t weight = weight_in_effect(cycle.weights, profile_find(profile, "ImageLocality"));
    if (decision.row != ROW_NONE)
        set_pod(e, namespace, number, cpu, "a");
    return weight;
}

static int32_t decide(struct engine_fixture *e, const char *namespace)
{
    return decide_after(e, namespace, "1m", 0);
}

/* Pods that do not fit: their attempts fail. */
static void fail_attempts(struct engine_fixture *e, const char *namespace, int count)
{
    for (int i = 0; i < count; i++)
        decide_after(e, namespace, "1000", 0);
}

static bool is_shown(const char *line)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    host_metrics_write(&out);
    return str_contains(strbuf_slice(&out), str_from(line));
}

/* ---- conditions over time ---- */
/* Of five pods that ended, three ran for less than five minutes; one pod runs. */
static void test_short_running(void **state _unused_)
{
    struct engine_fixture e;
    begin(&e, WEIGHTS ", hysteresis: 0.2, rules: [" RULE("ShortRunning", "Up") "]");
    for (uint32_t i = 0; i < 5; i++) {
        fixture_loadf(&e.f,
                      "{kind: Pod, metadata: {name: r%u, namespace: batch, uid: r%u}, spec: {nodeName: a}, "
                      "status: {conditions: [{type: PodScheduled, status: 'True', lastTransitionTime: "
                      "'1970-01-02T03:%s:41Z'}]}}", /* BEGINS is 03:46:40 */
                      i, i, i < 3 ? "41" : "40");
    }
    assert_int_equal(decide(&e, "batch"), 1);
    for (uint32_t i = 0; i < 5; i++)
        engine_remove_object(&e.engine, KIND_POD, STR("batch"),
                             (struct str){ (char[]){ 'r', (char)('0' + i) }, 2 }, e.now_ns);
    e.now_ns += 60 * SECOND;
    assert_int_equal(decide(&e, "batch"), 2); /* 3 of 6 */
    e.now_ns += 60 * SECOND;
    assert_int_equal(decide(&e, "batch"), 3); /* 3 of 7: not below 0.4 */
    e.now_ns += 60 * SECOND;
    assert_int_equal(decide(&e, "batch"), 2); /* 3 of 8 */
    engine_fixture_release(&e);
}

static void test_pending(void **state _unused_)
{
    struct engine_fixture e;
    begin(&e, WEIGHTS ", rules: [" RULE("Pending", "Down") "]");
    assert_int_equal(decide(&e, "jobs"), 1);
    fail_attempts(&e, "jobs", 3);
    e.now_ns += 60 * SECOND;
    assert_int_equal(decide(&e, "shop"), 1); /* its own attempts count */
    assert_int_equal(decide(&e, "jobs"), 0);
    engine_fixture_release(&e);
}

/* The window is over: the attempts do not count any more. */
static void test_the_window_ends(void **state _unused_)
{
    struct engine_fixture e;
    begin(&e, WEIGHTS ", window: 10m, rules: [" RULE("Pending", "Down") "]");
    decide(&e, "jobs");
    fail_attempts(&e, "jobs", 4);
    e.now_ns += 539 * SECOND;
    assert_int_equal(decide(&e, "jobs"), 0);
    e.now_ns += 61 * SECOND;
    assert_int_equal(decide(&e, "jobs"), 1);
    engine_fixture_release(&e);
}

static void test_failing(void **state _unused_)
{
    struct engine_fixture e;
    begin(&e, WEIGHTS ", rules: [" RULE("Failing", "Up") "]");
    decide(&e, "jobs");
    fail_attempts(&e, "jobs", 3);
    e.now_ns += 60 * SECOND;
    assert_int_equal(decide(&e, "shop"), 2); /* of the cluster */
    engine_fixture_release(&e);
}

static void test_slow(void **state _unused_)
{
    struct engine_fixture e;
    begin(&e, WEIGHTS ", rules: [" RULE("Slow", "Up") "]");
    for (int i = 0; i < 4; i++)
        decide_after(&e, "shop", "1m", (8 + i) * SECOND); /* the mean is 9.5 s */
    assert_int_equal(decide_after(&e, "shop", "1m", 40 * SECOND), 1);
    e.now_ns += 60 * SECOND;
    assert_int_equal(decide(&e, "shop"), 2); /* 15.6 s */
    engine_fixture_release(&e);
}

/* Mean use is the higher share of CPU and memory: 0.5, then what other nodes make of it. */
static void test_hysteresis(void **state _unused_)
{
    struct engine_fixture e;
    begin(&e, WEIGHTS ", thresholds: {busy: 0.5}, rules: [" RULE("Busy", "Up") "]");
    assert_int_equal(decide(&e, "shop"), 2);
    e.now_ns += 60 * SECOND;
    set_node(&e, "a", 11); /* 0.4546: above 0.45 */
    assert_int_equal(decide(&e, "shop"), 3);
    e.now_ns += 60 * SECOND;
    set_node(&e, "a", 12); /* 0.417 */
    assert_int_equal(decide(&e, "shop"), 2);
    e.now_ns += 60 * SECOND;
    set_node(&e, "a", 11); /* now it does not hold */
    assert_int_equal(decide(&e, "shop"), 1);
    engine_fixture_release(&e);
}

/* ---- moves ---- */
static void test_moves_are_limited_and_taken_back(void **state _unused_)
{
    static const int32_t up[] = { 2, 3, 4, 4 };
    struct engine_fixture e;
    begin(&e, WEIGHTS ", thresholds: {idle: 0.6}, rules: [" RULE("Idle", "Up") "]");
    for (size_t i = 0; i < ARRAY_SIZE(up); i++) {
        assert_int_equal(decide(&e, "limits"), up[i]);
        e.now_ns += 59 * SECOND;
        assert_int_equal(decide(&e, "limits"), up[i]); /* an interval has not passed */
        e.now_ns += SECOND;
    }
    assert_true(
        is_shown("berth_strategy_weight{namespace=\"limits\",plugin=\"ImageLocality\",profile=\"default-"
                 "scheduler\"} 4\n"));
    set_node(&e, "a", 5); /* all of it is in use */
    assert_int_equal(decide(&e, "limits"), 3);
    e.now_ns += 125 * SECOND; /* nothing was decided: two steps back */
    assert_int_equal(decide(&e, "limits"), 1);
    e.now_ns += 600 * SECOND;
    assert_int_equal(decide(&e, "limits"), 1);
    assert_true(is_shown(MOVES("limits", "up") " 3\n"));
    assert_true(is_shown(MOVES("limits", "down") " 2\n"));
    engine_fixture_release(&e);
}

/* From one bound to the other with a stop at the configured weight. */
static void test_a_weight_turns_round(void **state _unused_)
{
    static const int32_t down[] = { 3, 2, 1, 0, 0 };
    struct engine_fixture e;
    begin(&e, WEIGHTS
          ", thresholds: {idle: 0.6, busy: 0.9}, rules: [" RULE("Idle", "Up") "," RULE("Busy", "Down") "]");
    for (int i = 0; i < 3; i++, e.now_ns += 60 * SECOND)
        decide(&e, "shop");
    set_node(&e, "a", 5);
    for (size_t i = 0; i < ARRAY_SIZE(down); i++, e.now_ns += 60 * SECOND)
        assert_int_equal(decide(&e, "shop"), down[i]);
    set_node(&e, "a", 10);
    assert_int_equal(decide(&e, "shop"), 1);
    engine_fixture_release(&e);
}

static void test_rules_are_weighed_against_each_other(void **state _unused_)
{
    struct engine_fixture e;
    begin(&e, WEIGHTS
          ", thresholds: {idle: 0.6, busy: 0.4}, rules: [" RULE("Idle", "Up") "," RULE("Busy", "Down") "]");
    assert_int_equal(decide(&e, "shop"), 1); /* one for up, one for down */
    engine_fixture_release(&e);
}

/* Nothing moves until an interval of the clock as it is now has passed. */
static void test_the_clock_is_set_back(void **state _unused_)
{
    struct engine_fixture e;
    begin(&e, WEIGHTS ", thresholds: {idle: 0.6}, rules: [" RULE("Idle", "Up") "]");
    assert_int_equal(decide(&e, "shop"), 2);
    engine_set_wall_clock(&e.engine, -7200 * SECOND);
    e.now_ns += 60 * SECOND;
    assert_int_equal(decide(&e, "shop"), 2);
    e.now_ns += 60 * SECOND;
    assert_int_equal(decide(&e, "shop"), 3);
    engine_fixture_release(&e);
}

/* ---- large clusters ---- */
/* 3,000 pods, which are looked at in three parts. What is not known to the end moves nothing. */
static void begin_large(struct engine_fixture *e)
{
    begin_on(e, WEIGHTS ", thresholds: {idle: 0.6}, rules: [" RULE("Idle", "Up") "]", PATH_INDEX);
    for (uint32_t i = 0; i < 3000; i++) {
        char node[16];
        snprintf(node, sizeof(node), "n%u", i / 100);
        if (i % 100 == 0)
            set_node(e, node, 10);
        set_pod(e, "other", 10000 + i, "50m", node);
    }
    set_node(e, "a", 10);
}

static void test_a_survey_goes_on_with_attempts(void **state _unused_)
{
    struct engine_fixture e;
    begin_large(&e);
    assert_int_equal(decide(&e, "shop"), 1); /* a part as it begins, and one as it ends */
    assert_int_equal(decide(&e, "shop"), 1);
    assert_int_equal(decide(&e, "shop"), 2);
    assert_int_equal(decide(&e, "shop"), 2); /* the next move is for the next interval */
    e.now_ns += 60 * SECOND;
    assert_int_equal(decide(&e, "shop"),
                     3); /* by what was known before, while the second survey is under way */
    engine_fixture_release(&e);
}

static void test_a_survey_goes_on_by_time(void **state _unused_)
{
    struct engine_fixture e;
    begin_large(&e);
    assert_int_equal(decide(&e, "shop"), 1);
    for (int i = 0; i < 3; i++) {
        e.now_ns += SECOND;
        engine_tick(&e.engine, e.now_ns);
    }
    assert_int_equal(decide(&e, "shop"), 2);
    engine_fixture_release(&e);
}

/* ---- paths ---- */
/* A move makes the table of a class anew; between moves nothing is. */
static void test_the_index_serves_moved_weights(void **state _unused_)
{
    struct engine_fixture e;
    begin(&e, WEIGHTS ", thresholds: {idle: 0.6}, rules: [" RULE("Idle", "Up") "]");
    set_node(&e, "b", 10);
    for (int i = 0; i < 6; i++)
        decide(&e, "shop");
    uint64_t index = e.engine.stats.decisions[PATH_INDEX], built = e.engine.stats.tables_built;
    for (int i = 0; i < 30; i++)
        decide(&e, "shop");
    assert_int_equal(e.engine.stats.decisions[PATH_INDEX], index + 30);
    assert_int_equal(e.engine.stats.tables_built, built);
    e.now_ns += 60 * SECOND;
    assert_int_equal(decide(&e, "shop"), 3);
    assert_true(e.engine.stats.tables_built > built);
    assert_int_equal(e.engine.stats.decisions[PATH_PLAIN], 0);
    engine_fixture_release(&e);
}

/* ---- replay ---- */
#define RECORDED_CONFIG \
    "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: [{plugins: " \
    "{multiPoint: {enabled: [{name: AdaptiveSchedulingPlugin}]}}, pluginConfig: [{name: " \
    "AdaptiveSchedulingPlugin, args: {interval: 5s, window: 30s, minObservations: 3, shortRunning: 20s, " \
    "longRunning: 40s, thresholds: {busy: 0.5, uneven: 0.1}, weights: [{plugin: NodeResourcesFit, min: 0, " \
    "max: 20, step: 3}, {plugin: ImageLocality, min: 0, max: 4}], rules: [{when: Uneven, plugin: " \
    "NodeResourcesFit, direction: Up}, {when: Busy, plugin: NodeResourcesFit, direction: Down}, " RULE( \
        "ShortRunning", "Up") ", " RULE("Pending", "Down") "]}}]}]}"

static void count_reweighted(void *user, const struct recording_entry *entry _unused_,
                             const struct explanation *explanation)
{
    *(uint32_t *)user += explanation->cycle.weights != NULL;
}

/* The decisions are the same, also where they are explained on the way. */
static void test_a_recording_is_repeated(void **state _unused_)
{
    struct recorded recorded;
    uint32_t reweighted = 0;
    recorded_open(&recorded,
                  &(struct recorded_options){ .registry = &loaded.registry, .config = RECORDED_CONFIG });
    for (int i = 0; i < 300; i++)
        recorded_round(&recorded);
    recorded_stop(&recorded);
    for (int explains = 0; explains < 2; explains++) {
        struct replay_options options = { .on_explanation = explains ? count_reweighted : NULL,
                                          .user = &reweighted };
        struct replay *again = recorded_replay(&recorded, NULL, &options, 0);
        assert_false(again->difference.there);
        assert_int_equal(again->decisions, recorded.decisions);
        recorded_drop(again);
    }
    assert_true(recorded.decisions > 300 && reweighted > 100);
    recorded_forget(&recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_running),
        cmocka_unit_test(test_pending),
        cmocka_unit_test(test_the_window_ends),
        cmocka_unit_test(test_failing),
        cmocka_unit_test(test_slow),
        cmocka_unit_test(test_hysteresis),
        cmocka_unit_test(test_moves_are_limited_and_taken_back),
        cmocka_unit_test(test_a_weight_turns_round),
        cmocka_unit_test(test_rules_are_weighed_against_each_other),
        cmocka_unit_test(test_the_clock_is_set_back),
        cmocka_unit_test(test_a_survey_goes_on_with_attempts),
        cmocka_unit_test(test_a_survey_goes_on_by_time),
        cmocka_unit_test(test_the_index_serves_moved_weights),
        cmocka_unit_test(test_a_recording_is_repeated),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
