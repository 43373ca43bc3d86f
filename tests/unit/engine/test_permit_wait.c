/* Pods that wait at Permit: what waits costs nothing until it wakes. What is counted is how many of them are looked at
 * while other pods are bound and nodes change. */
#include "fake_host.h"

#include "api/labels.h"
#include "engine/binding.h"

enum { MANY = 500 };

/* ---- two plugins that let pods wait ---- */
static struct status wait_if(struct cycle *cycle, const char *label, int64_t *ret_timeout_ms)
{
    const struct str *value = str_map_get(&cycle->pod->meta.labels, str_from(label));
    if (!value)
        return STATUS_OK;
    *ret_timeout_ms = strtol(value->ptr, NULL, 10);
    return STATUS_WAITING;
}

static struct status first_permit(struct cycle *cycle, _unused_ uint32_t row, int64_t *ret_timeout_ms)
{
    return wait_if(cycle, "first", ret_timeout_ms);
}

static struct status second_permit(struct cycle *cycle, _unused_ uint32_t row, int64_t *ret_timeout_ms)
{
    return wait_if(cycle, "second", ret_timeout_ms);
}

static size_t hints;

HINT(count_hint)
{
    hints++;
    return HINT_QUEUE;
}

/* First is helped by any change of a node's labels, and by a new node if its hint says so. */
static const struct event_rule first_events[] = { { EVENT_NODE, ACTION_NODE_LABEL, NULL },
                                                  { EVENT_NODE, ACTION_ADD | ACTION_NODE_TAINT, count_hint },
                                                  { 0 } };
static const struct event_rule second_events[] = { { EVENT_PV, ACTION_ADD, NULL }, { 0 } };
static const struct plugin plugin_first = { .name = "First", .permit = first_permit, .events = first_events };
static const struct plugin plugin_second = { .name = "Second",
                                             .permit = second_permit,
                                             .events = second_events };

#define CONFIG \
    "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: [{plugins: {" \
    "multiPoint: {enabled: [{name: First}, {name: Second}]}}}]}"

struct setup {
    struct fake_host h;
    const struct plugin *plugins[64];
    struct registry registry;
};

static void setup_init(struct setup *s)
{
    uint32_t len = builtin_plugins.len;
    memcpy(s->plugins, builtin_plugins.items, len * sizeof(*s->plugins));
    s->plugins[len++] = &plugin_first;
    s->plugins[len++] = &plugin_second;
    s->registry = (struct registry){ s->plugins, len };
    host_begin(&s->h, CONFIG, &s->registry);
    fixture_load(&s->h.e.f, "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 9k, pods: 9k}}}");
    fixture_load(&s->h.e.f, "{kind: Node, metadata: {name: b}, status: {allocatable: {cpu: 9k, pods: 9k}}}");
}

static void add_pod(struct setup *s, const char *name, const char *labels)
{
    fixture_loadf(&s->h.e.f,
                  "{kind: Pod, metadata: {name: %s, uid: u-%s, labels: {%s}}, spec: {containers: [{name: c, "
                  "resources: {requests: {cpu: 1}}}]}}",
                  name, name, labels);
    host_settle(&s->h);
}

static void add_waiting(struct setup *s, int len, int64_t timeout_ms)
{
    for (int i = 0; i < len; i++) {
        char name[32], labels[64];
        snprintf(name, sizeof(name), "w%d", i);
        snprintf(labels, sizeof(labels), "%s: '%lld'", i % 2 ? "second" : "first", (long long)timeout_ms + i);
        add_pod(s, name, labels);
    }
    assert_int_equal(s->h.e.engine.bindings_at[BINDING_PERMIT], len);
}

/* ---- what others cost ---- */
/* The pods that are looked at while another one is bound and a node changes. */
static uint64_t looks(int waiting)
{
    struct setup s;
    setup_init(&s);
    add_waiting(&s, waiting, 60000);
    struct engine *engine = &s.h.e.engine;
    uint64_t before = engine->stats.bindings_called + engine->queue.pods_noted;
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%d", i);
        add_pod(&s, name, "");
        host_answer(&s.h, host_wants_of(&s.h, EFFECT_BIND, name), ANSWER_DONE);
        fixture_loadf(
            &s.h.e.f,
            "{kind: Node, metadata: {name: a, labels: {x: v%d}}, status: {allocatable: {cpu: 9k, pods: "
            "9k}}}",
            i);
        fixture_loadf(&s.h.e.f,
                      "{kind: PersistentVolume, metadata: {name: v%d}, spec: {capacity: {storage: 1Gi}}}", i);
        s.h.e.now_ns += MS;
        engine_tick(engine, s.h.e.now_ns);
        assert_true(engine_next_due(engine) > s.h.e.now_ns);
    }
    uint64_t looks = engine->stats.bindings_called + engine->queue.pods_noted - before;
    assert_int_equal(engine->bindings_at[BINDING_PERMIT], waiting);
    host_end(&s.h);
    return looks;
}

static void test_what_waits_costs_nothing(void **state _unused_)
{
    uint64_t none = looks(0), many = looks(MANY);
    if (many != none)
        fail_msg("%llu looks without pods that wait, %llu with %d of them", (unsigned long long)none,
                 (unsigned long long)many, MANY);
}

/* ---- time ---- */
/* Each ends at its own time, and only it is called. */
static void test_timeouts(void **state _unused_)
{
    struct setup s;
    setup_init(&s);
    add_waiting(&s, MANY, 1000);
    struct engine *engine = &s.h.e.engine;
    int64_t start_ns = s.h.e.now_ns;
    for (int i = 0; i < MANY; i++) {
        uint64_t called = engine->stats.bindings_called;
        assert_int_equal(bindings_next_due(engine), start_ns + (1000 + i) * MS);
        s.h.e.now_ns = start_ns + (1000 + i) * MS - 1;
        engine_tick(engine, s.h.e.now_ns);
        assert_int_equal(engine->bindings_at[BINDING_PERMIT], MANY - i);
        engine_tick(engine, ++s.h.e.now_ns);
        assert_int_equal(engine->bindings_at[BINDING_PERMIT], MANY - i - 1);
        assert_int_equal(engine->stats.bindings_called, called + 1);
    }
    assert_int_equal(bindings_next_due(engine), INT64_MAX);
    assert_int_equal(engine->permit_lists.len, 0);
    assert_int_equal(engine->queue.flight_groups.len, 0);
    host_end(&s.h);
}

static void post(struct setup *s, const struct plugin *plugin, const char *pod)
{
    mailbox_post(&s->h.e.engine.profiles[0].mailbox,
                 plugin_message_new(&(struct plugin_message){ .kind = PLUGIN_MESSAGE_ALLOW,
                                                              .plugin = plugin,
                                                              .namespace = STR("default"),
                                                              .name = str_from(pod) }));
    engine_tick(&s->h.e.engine, s->h.e.now_ns);
}

/* A plugin that has allowed the pod does not count any more: neither its timeout nor in its list. */
static bool put_name(void *context, const struct pod_info *pod)
{
    strbuf_str(context, pod->api->meta.name);
    strbuf_putc(context, ' ');
    return true;
}

static void assert_waiting(struct setup *s, const struct plugin *plugin, const char *want)
{
    _cleanup_(strbuf_release) struct strbuf names = { 0 };
    bindings_each_waiting(&s->h.e.engine, plugin, put_name, &names);
    assert_str(strbuf_slice(&names), want);
}

static void test_two_plugins(void **state _unused_)
{
    struct setup s;
    setup_init(&s);
    int64_t start_ns = s.h.e.now_ns;
    add_pod(&s, "one", "first: '1000', second: '3000'");
    add_pod(&s, "two", "second: '2000'");
    add_pod(&s, "three", "first: '4000'");
    assert_waiting(&s, &plugin_first, "one three ");
    assert_waiting(&s, &plugin_second, "one two ");
    assert_int_equal(bindings_next_due(&s.h.e.engine), start_ns + 1000 * MS);
    post(&s, &plugin_first, "one");
    assert_waiting(&s, &plugin_first, "three ");
    assert_waiting(&s, &plugin_second, "one two ");
    assert_int_equal(bindings_next_due(&s.h.e.engine), start_ns + 2000 * MS);
    post(&s, &plugin_second, "two");
    assert_int_equal(bindings_next_due(&s.h.e.engine), start_ns + 3000 * MS);
    engine_remove_object(&s.h.e.engine, KIND_POD, STR("default"), STR("one"), s.h.e.now_ns);
    assert_waiting(&s, &plugin_second, "");
    assert_int_equal(bindings_next_due(&s.h.e.engine), start_ns + 4000 * MS);
    host_end(&s.h);
}

/* ---- events while a pod waits ---- */
/* Those that the rejecting plugin has a rule for mean that the pod is tried again after its backoff. */
static void test_events(void **state _unused_)
{
    static const struct {
        const char *what, *before, *during;
        enum queue_place place;
        size_t hints;
    } cases[] = {
        { "nothing", NULL, NULL, QUEUE_UNSCHEDULABLE, 0 },
        { "an event before", "{kind: Node, metadata: {name: b, labels: {x: new}}}", NULL, QUEUE_UNSCHEDULABLE,
          0 },
        { "a rule without a hint", NULL, "{kind: Node, metadata: {name: b, labels: {x: new}}}", QUEUE_BACKOFF,
          0 },
        { "a rule with a hint", NULL, "{kind: Node, metadata: {name: c}}", QUEUE_BACKOFF, 1 },
        { "another plugin's rule", NULL,
          "{kind: PersistentVolume, metadata: {name: v}, spec: {capacity: {storage: 1Gi}}}",
          QUEUE_UNSCHEDULABLE, 0 },
        { "no rule", NULL, "{kind: Node, metadata: {name: b, annotations: {x: new}}}", QUEUE_UNSCHEDULABLE,
          0 },
        { "its own labels", NULL,
          "{kind: Pod, metadata: {name: p, uid: u-p, resourceVersion: '2', labels: {first: '1000', x: new}}, "
          "spec: "
          "{containers: [{name: c, resources: {requests: {cpu: 1}}}]}}",
          QUEUE_UNSCHEDULABLE, 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup s;
        setup_init(&s);
        hints = 0;
        add_pod(&s, "other", "first: '9000'");
        if (cases[i].before)
            fixture_load(&s.h.e.f, cases[i].before);
        add_pod(&s, "p", "first: '1000'");
        size_t hints_before = hints;
        if (cases[i].during)
            fixture_load(&s.h.e.f, cases[i].during);
        s.h.e.now_ns += 1000 * MS;
        engine_tick(&s.h.e.engine, s.h.e.now_ns);
        if (host_place(&s.h, "p") != cases[i].place || hints - hints_before != 2 * cases[i].hints)
            fail_msg("%s: p is %s after %zu hints", cases[i].what, queue_place_names[host_place(&s.h, "p")],
                     hints - hints_before);
        host_end(&s.h);
    }
}

/* Without NominatedNodeNameForExpectation the node of a pod that waits is not told. */
static void test_node_is_told(void **state _unused_)
{
    for (int on = 0; on < 2; on++) {
        struct setup s;
        setup_init(&s);
        s.h.e.f.cluster.features.enabled[FEATURE_NominatedNodeNameForExpectation] = on;
        add_pod(&s, "p", "first: '1000'");
        assert_int_equal(s.h.e.engine.bindings_at[BINDING_PERMIT], 1);
        assert_int_equal(host_count(&s.h, EFFECT_POD_STATUS), on);
        post(&s, &plugin_first, "p");
        if (on)
            host_answer(&s.h, host_wants(&s.h, EFFECT_POD_STATUS), ANSWER_DONE);
        assert_str(host_wants(&s.h, EFFECT_BIND)->effect.name, "p");
        host_end(&s.h);
    }
}

/* ---- the pod goes ---- */
#define HELD(version, meta, spec) \
    "{kind: Pod, metadata: {name: p, uid: u-p, resourceVersion: '" version "', labels: {first: '1000'}" meta \
    "}, spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]" spec "}}"

/* As kube-scheduler rejects it; a pod that is not there any more has an event and no condition. */
static void test_the_pod_goes(void **state _unused_)
{
    static const struct {
        const char *what, *pod; /* NULL: it is deleted */
        const char *message;    /* NULL: nothing is said about it */
        enum queue_place place;
    } cases[] = {
        { "its deletion begins", HELD("2", ", deletionTimestamp: '2026-01-01T00:00:00Z'", ""),
          "0/1 nodes are available: 1 removed.", QUEUE_UNSCHEDULABLE },
        { "it is gone", NULL, "0/1 nodes are available: 1 removed.", QUEUE_NOWHERE },
        { "another one has its name",
          "{kind: Pod, metadata: {name: p, uid: other}, spec: {nodeName: b, containers: [{name: c}]}}", NULL,
          QUEUE_NOWHERE },
        { "another client bound it", HELD("2", "", ", nodeName: b"), NULL, QUEUE_NOWHERE },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup s;
        setup_init(&s);
        fixture_load(&s.h.e.f, HELD("1", "", ", nodeSelector: {x: a}"));
        fixture_load(
            &s.h.e.f,
            "{kind: Node, metadata: {name: a, labels: {x: a}}, status: {allocatable: {cpu: 9k, pods: 9k}}}");
        host_settle(&s.h);
        assert_int_equal(s.h.e.engine.bindings_at[BINDING_PERMIT], 1);
        host_answer(&s.h, host_wants(&s.h, EFFECT_POD_STATUS), ANSWER_DONE); /* the nomination */
        if (cases[i].pod)
            fixture_load(&s.h.e.f, cases[i].pod);
        else
            engine_remove_object(&s.h.e.engine, KIND_POD, STR("default"), STR("p"), s.h.e.now_ns);
        engine_tick(&s.h.e.engine, s.h.e.now_ns);
        assert_int_equal(engine_bindings(&s.h.e.engine), 0);
        assert_int_equal(host_used_cpu(&s.h, "a"), 0);
        if (host_has_event(&s.h, "FailedScheduling", "p") != (cases[i].message != NULL))
            fail_msg("%s: wrong events", cases[i].what);
        if (cases[i].message && !cases[i].pod) {
            assert_int_equal(s.h.notices.len, 1);
            assert_str(s.h.notices.items[0].message, cases[i].message);
            assert_true(s.h.notices.items[0].rejected);
        }
        if (cases[i].message && cases[i].pod) {
            const struct wanted *status = host_wants(&s.h, EFFECT_POD_STATUS);
            assert_str(status->condition.reason, "Unschedulable");
            assert_str(status->condition.message, cases[i].message);
            assert_place(&s.h, "p", cases[i].place);
            fixture_load(&s.h.e.f, "{kind: Node, metadata: {name: c}}"); /* no event helps it */
            host_pass(&s.h, 30 * SECOND);
            assert_place(&s.h, "p", cases[i].place);
        }
        host_end(&s.h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_waits_costs_nothing),
        cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_two_plugins),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_node_is_told),
        cmocka_unit_test(test_the_pod_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
