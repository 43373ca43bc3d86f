/* From a decision to the node: what becomes of a pod for every answer and every concurrent event. */
#include "fake_host.h"

#include "engine/binding.h"

/* ---- answers ---- */
/* The answer to a BIND, or to the READ that follows it. */
struct line {
    enum effect_kind kind;
    enum answer_kind answer;
    const char *node; /* of a successful READ; "!": the pod is terminating */
};

enum outcome { BOUND, FAILED, OPEN };

static const struct answer_case {
    const char *what;
    struct line lines[6];
    enum outcome outcome;
    int64_t cpu_on_a; /* requested on node a at the end */
} answer_cases[] = {
    { "done", { { EFFECT_BIND, ANSWER_DONE } }, BOUND, 1000 },
    { "refused", { { EFFECT_BIND, ANSWER_REFUSED } }, FAILED, 0 },
    { "gone, and the watch reports it", { { EFFECT_BIND, ANSWER_GONE } }, FAILED, 0 },
    { "no answer yet", { { EFFECT_BIND, ANSWER_UNKNOWN } }, OPEN, 1000 },
    { "not sent, then done", { { EFFECT_BIND, ANSWER_UNSENT }, { EFFECT_BIND, ANSWER_DONE } }, BOUND, 1000 },
    { "not sent, then refused",
      { { EFFECT_BIND, ANSWER_UNSENT }, { EFFECT_BIND, ANSWER_REFUSED } },
      FAILED,
      0 },
    { "lost, and it was done",
      { { EFFECT_BIND, ANSWER_UNKNOWN },
        { EFFECT_BIND, ANSWER_CONFLICT },
        { EFFECT_READ_POD, ANSWER_DONE, "a" } },
      BOUND,
      1000 },
    { "lost; another scheduler bound the pod",
      { { EFFECT_BIND, ANSWER_UNKNOWN },
        { EFFECT_BIND, ANSWER_CONFLICT },
        { EFFECT_READ_POD, ANSWER_DONE, "b" } },
      BOUND,
      0 },
    { "lost, then refused: it may still arrive",
      { { EFFECT_BIND, ANSWER_UNKNOWN },
        { EFFECT_BIND, ANSWER_REFUSED },
        { EFFECT_READ_POD, ANSWER_DONE, "" } },
      OPEN,
      1000 },
    { "lost, then refused, then it arrives",
      { { EFFECT_BIND, ANSWER_UNKNOWN },
        { EFFECT_BIND, ANSWER_REFUSED },
        { EFFECT_READ_POD, ANSWER_DONE, "" },
        { EFFECT_BIND, ANSWER_CONFLICT },
        { EFFECT_READ_POD, ANSWER_DONE, "a" } },
      BOUND,
      1000 },
    { "lost, and the pod is being deleted",
      { { EFFECT_BIND, ANSWER_UNKNOWN },
        { EFFECT_BIND, ANSWER_CONFLICT },
        { EFFECT_READ_POD, ANSWER_DONE, "!" } },
      FAILED,
      0 },
    { "lost, and the pod is gone",
      { { EFFECT_BIND, ANSWER_UNKNOWN }, { EFFECT_BIND, ANSWER_GONE }, { EFFECT_READ_POD, ANSWER_GONE } },
      FAILED,
      0 },
    { "a conflict for no reason",
      { { EFFECT_BIND, ANSWER_CONFLICT }, { EFFECT_READ_POD, ANSWER_DONE, "" } },
      FAILED,
      0 },
    { "a read that is lost or rejected decides nothing",
      { { EFFECT_BIND, ANSWER_CONFLICT },
        { EFFECT_READ_POD, ANSWER_UNKNOWN },
        { EFFECT_READ_POD, ANSWER_REFUSED } },
      OPEN,
      1000 },
};

static void play(struct fake_host *h, const struct line *line)
{
    struct answer answer = { .kind = line->answer, .message = STR("rejected by the server") };
    if (line->node && line->node[0] == '!')
        answer.terminating = true;
    else
        answer.node = str_from(line->node);
    host_answer_with(h, host_wants(h, line->kind), answer);
    while (!host_open(h, EFFECT_BIND) && !host_open(h, EFFECT_READ_POD) &&
           writes_next_due(&h->e.engine.writes) != INT64_MAX) {
        h->e.now_ns = writes_next_due(&h->e.engine.writes);
        engine_tick(&h->e.engine, h->e.now_ns);
    }
}

static void test_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(answer_cases); i++) {
        const struct answer_case *test = &answer_cases[i];
        struct fake_host h;
        host_begin(&h, NULL, NULL);
        fixture_load(&h.e.f, NODE("a", "1"));
        fixture_load(&h.e.f, POD("p", "1", ""));
        host_settle(&h);
        assert_str(host_wants(&h, EFFECT_BIND)->effect.node, "a");
        assert_str(host_wants(&h, EFFECT_BIND)->effect.uid, "u-p");
        fixture_load(&h.e.f, NODE("b", "1"));
        for (size_t l = 0; l < ARRAY_SIZE(test->lines) && test->lines[l].answer; l++)
            play(&h, &test->lines[l]);
        enum queue_place place = host_place(&h, "p");
        enum outcome outcome = engine_bindings(&h.e.engine) ? OPEN : place == QUEUE_NOWHERE ? BOUND : FAILED;
        if (outcome != test->outcome || host_used_cpu(&h, "a") != test->cpu_on_a)
            fail_msg("%s: outcome %d, %lld taken", test->what, outcome, (long long)host_used_cpu(&h, "a"));
        if (outcome == FAILED)
            assert_int_equal(place, QUEUE_ERROR_BACKOFF);
        host_end(&h);
    }
}

/* Events and conditions. */
static void test_reports(void **state)
{
    (void)state;
    struct fake_host h;
    host_begin(&h, NULL, NULL);
    fixture_load(&h.e.f, NODE("a", "2"));
    fixture_load(&h.e.f, POD("good", "1", ""));
    fixture_load(&h.e.f, POD("bad", "1", ""));
    host_settle(&h);
    h.e.now_ns += 3 * SECOND;
    host_answer(&h, host_wants_of(&h, EFFECT_BIND, "good"), ANSWER_DONE);
    host_answer(&h, host_wants_of(&h, EFFECT_BIND, "bad"), ANSWER_REFUSED);
    assert_true(host_has_event(&h, "Scheduled", "good"));
    assert_true(host_has_event(&h, "FailedScheduling", "bad"));
    assert_int_equal(h.notices.len, 2);
    assert_int_equal(h.notices.items[0].kind, NOTICE_BOUND);
    assert_str(h.notices.items[0].node, "a");
    assert_int_equal(h.notices.items[0].took_ns, 3 * SECOND);
    assert_int_equal(h.notices.items[1].kind, NOTICE_BINDING_FAILED);
    const struct wanted *status = host_wants(&h, EFFECT_POD_STATUS);
    assert_str(status->effect.name, "bad");
    assert_str(status->condition.reason, "SchedulerError");
    assert_str(status->condition.message, "running Bind plugin \"DefaultBinder\": rejected by the server");
    host_end(&h);
}

/* While the node of the pod is unknown, it is read again with backoff, for long enough but not forever. */
static void test_unknown_outcome_ends(void **state)
{
    (void)state;
    struct fake_host h;
    host_begin(&h, NULL, NULL);
    fixture_load(&h.e.f, NODE("a", "1"));
    fixture_load(&h.e.f, POD("p", "1", ""));
    host_settle(&h);
    play(&h, &(struct line){ EFFECT_BIND, ANSWER_UNKNOWN });
    int64_t start_ns = h.e.now_ns;
    while (engine_bindings(&h.e.engine)) {
        play(&h, &(struct line){ EFFECT_BIND, ANSWER_REFUSED });
        play(&h, &(struct line){ EFFECT_READ_POD, ANSWER_DONE, "" });
        assert_true(h.e.now_ns - start_ns < 600 * SECOND);
    }
    assert_true(h.e.now_ns - start_ns >= 60 * SECOND);
    assert_true(host_count(&h, EFFECT_BIND) < 300);
    assert_int_equal(host_used_cpu(&h, "a"), 0);
    assert_place(&h, "p", QUEUE_ERROR_BACKOFF);
    host_end(&h);
}

/* ---- concurrent events ---- */
static void begin_full(struct fake_host *h)
{
    host_begin(h, NULL, NULL);
    fixture_load(&h->e.f, NODE("a", "1"));
    fixture_load(&h->e.f, POD("p", "1", ""));
    host_settle(h);
    fixture_load(&h->e.f, POD("next", "1", "")); /* waits for the cpu */
    host_settle(h);
    assert_place(h, "next", QUEUE_UNSCHEDULABLE);
    host_answer(h, host_wants(h, EFFECT_POD_STATUS), ANSWER_DONE);
    host_pass(h, 20 * SECOND);
}

static void test_watch_before_answer(void **state)
{
    (void)state;
    static const struct {
        const char *what, *pod;
        size_t bindings;
        int64_t cpu_on_a;
        enum queue_place next; /* where the waiting pod is */
    } cases[] = {
        { "bound, as wanted", POD_WITH("p", "2", "1", "", ", nodeName: a"), 0, 1000, QUEUE_UNSCHEDULABLE },
        { "bound elsewhere", POD_WITH("p", "2", "1", "", ", nodeName: b"), 0, 0, QUEUE_ACTIVE },
        { "another label", POD_WITH("p", "2", "1", ", labels: {a: b}", ""), 1, 1000, QUEUE_UNSCHEDULABLE },
        { "being deleted", POD_WITH("p", "2", "1", ", deletionTimestamp: '2026-01-01T00:00:00Z'", ""), 0, 0,
          QUEUE_ACTIVE },
        { "another pod of that name",
          "{kind: Pod, metadata: {name: p, uid: other}, spec: {nodeName: b, containers: [{name: c}]}}", 0, 0,
          QUEUE_ACTIVE },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_host h;
        begin_full(&h);
        struct wanted *bind = host_wants(&h, EFFECT_BIND);
        fixture_load(&h.e.f, cases[i].pod);
        if (engine_bindings(&h.e.engine) != cases[i].bindings ||
            host_used_cpu(&h, "a") != cases[i].cpu_on_a || host_place(&h, "next") != cases[i].next)
            fail_msg("%s: %zu bindings, %lld taken, next is %s", cases[i].what, engine_bindings(&h.e.engine),
                     (long long)host_used_cpu(&h, "a"), queue_place_names[host_place(&h, "next")]);
        host_answer(&h, bind, ANSWER_DONE); /* after the watch, or not */
        assert_int_equal(engine_bindings(&h.e.engine), 0);
        host_end(&h);
    }
}

static void test_pod_deleted(void **state)
{
    (void)state;
    struct fake_host h;
    begin_full(&h);
    struct wanted *bind = host_wants(&h, EFFECT_BIND);
    host_answer(&h, bind, ANSWER_UNKNOWN);
    engine_remove_pod(&h.e.engine, fixture_pod(&h.e.f, "p"), h.e.now_ns);
    assert_int_equal(engine_bindings(&h.e.engine), 0);
    assert_int_equal(host_used_cpu(&h, "a"), 0);
    assert_place(&h, "next", QUEUE_ACTIVE);
    host_pass(&h, 10 * SECOND);
    assert_int_equal(host_count(&h, EFFECT_BIND), 2); /* it was not repeated, the other pod's is new */
    assert_str(host_wants(&h, EFFECT_BIND)->effect.name, "next");
    assert_int_equal(h.e.engine.writes.by_ticket.len, 1);
    host_end(&h);
}

/* An old version of the pod, from before its binding, does not requeue it. */
static void test_old_version_after_binding(void **state)
{
    (void)state;
    struct fake_host h;
    begin_full(&h);
    host_answer(&h, host_wants(&h, EFFECT_BIND), ANSWER_DONE);
    fixture_load(&h.e.f, POD_WITH("p", "2", "1", ", labels: {a: b}", ""));
    assert_place(&h, "p", QUEUE_NOWHERE);
    assert_int_equal(host_used_cpu(&h, "a"), 1000);
    host_settle(&h);
    fixture_load(&h.e.f, POD_WITH("p", "3", "1", "", ", nodeName: a"));
    assert_int_equal(host_used_cpu(&h, "a"), 1000);
    host_end(&h);
}

/* A pod is bound after its pending status writes, and to the decided node, even if that node has changed. */
static void test_bind_after_status_writes(void **state)
{
    (void)state;
    struct fake_host h;
    host_begin(&h, NULL, NULL);
    fixture_load(&h.e.f, NODE("small", "100m"));
    fixture_load(&h.e.f, POD("p", "1", ""));
    host_settle(&h);
    struct wanted *status = host_wants(&h, EFFECT_POD_STATUS);
    assert_str(status->condition.reason, "Unschedulable");
    fixture_load(&h.e.f, NODE("a", "1"));
    host_pass(&h, 20 * SECOND);
    assert_int_equal(engine_bindings(&h.e.engine), 1);
    assert_int_equal(host_count(&h, EFFECT_BIND), 0);
    engine_remove_object(&h.e.engine, KIND_NODE, STR(""), STR("a"), h.e.now_ns);
    /* The row is freed with the old version, and another node takes it. */
    fixture_load(
        &h.e.f,
        "{kind: Pod, metadata: {name: p, uid: u-p, resourceVersion: '2'}, spec: {containers: [{name: c, "
        "resources: {requests: {cpu: 1}}}]}, status: {nominatedNodeName: ghost}}");
    fixture_load(&h.e.f, NODE("c", "4"));
    fixture_load(&h.e.f, NODE("d", "4"));
    host_answer(&h, status, ANSWER_DONE);
    assert_str(host_wants(&h, EFFECT_BIND)->effect.node, "a");
    host_answer(&h, host_wants(&h, EFFECT_BIND), ANSWER_DONE);
    assert_str(h.notices.items[0].node, "a");
    fixture_load(&h.e.f, NODE("a", "1"));
    assert_int_equal(host_used_cpu(&h, "a"), 1000);
    host_end(&h);
}

/* ---- Permit ---- */
static int64_t permit_ms;

static struct status permit(struct cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    (void)row;
    *ret_timeout_ms = permit_ms;
    return str_is(cycle->pod->meta.name, "free") ? STATUS_OK : (struct status){ .code = STATUS_WAIT };
}

extern const struct plugin plugin_priority_sort, plugin_default_binder, plugin_node_resources_fit;
static const struct plugin plugin_guard = { .name = "Guard", .permit = permit };
static const struct plugin *const guarded[] = { &plugin_priority_sort, &plugin_node_resources_fit,
                                                &plugin_guard, &plugin_default_binder };
static const struct registry guarded_registry = { guarded, ARRAY_SIZE(guarded) };
#define GUARDED \
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" \
    "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, " \
    "{name: NodeResourcesFit}, {name: Guard}, {name: DefaultBinder}]}}}]"

enum guard_action { ALLOW, REJECT, PREEMPT, TIMEOUT, NOTHING };

static void test_permit(void **state)
{
    (void)state;
    static const struct {
        enum guard_action action;
        size_t binds;
        int64_t cpu;
        enum queue_place place;
        const char *reason, *message;
    } cases[] = {
        { NOTHING, 0, 1000, QUEUE_IN_FLIGHT, NULL, NULL },
        { ALLOW, 1, 1000, QUEUE_IN_FLIGHT, NULL, NULL },
        { REJECT, 0, 0, QUEUE_UNSCHEDULABLE, "Unschedulable", "0/1 nodes are available: 1 not today." },
        { TIMEOUT, 0, 0, QUEUE_UNSCHEDULABLE, "Unschedulable",
          "0/1 nodes are available: 1 rejected due to timeout after waiting 5s at plugin Guard." },
        { PREEMPT, 0, 0, QUEUE_ERROR_BACKOFF, "SchedulerError", "waiting on permit for pod: preempted" },
    };
    permit_ms = 5000;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_host h;
        host_begin(&h, GUARDED, &guarded_registry);
        fixture_load(&h.e.f, NODE("a", "1"));
        fixture_load(&h.e.f, POD("p", "1", ""));
        host_settle(&h);
        struct pod_binding *binding = binding_find(&h.e.engine, fixture_pod(&h.e.f, "p")->api);
        struct wanted *nomination = host_wants(&h, EFFECT_POD_STATUS); /* the nomination is published */
        assert_str(nomination->effect.node, "a");
        assert_null(nomination->effect.condition);
        host_answer(&h, nomination, ANSWER_DONE);
        assert_int_equal(engine_next_due(&h.e.engine), h.e.now_ns + 5 * SECOND);
        switch (cases[i].action) {
        case ALLOW:
            binding_event(binding, &(struct binding_event){ BINDING_ON_ALLOWED, h.e.now_ns, "Guard" });
            break;
        case REJECT:
            binding_event(binding, &(struct binding_event){ BINDING_ON_REJECTED, h.e.now_ns, "Guard",
                                                            STR("not today") });
            break;
        case PREEMPT:
            assert_true(binding_event(
                binding, &(struct binding_event){ BINDING_ON_PREEMPTED, h.e.now_ns, "DefaultPreemption" }));
            break;
        case TIMEOUT:
            h.e.now_ns += 5 * SECOND;
            engine_tick(&h.e.engine, h.e.now_ns);
            break;
        case NOTHING:
            engine_tick(&h.e.engine, h.e.now_ns + 4 * SECOND);
            break;
        }
        assert_int_equal(host_count(&h, EFFECT_BIND), cases[i].binds);
        assert_int_equal(host_used_cpu(&h, "a"), cases[i].cpu);
        assert_place(&h, "p", cases[i].place);
        if (cases[i].reason) {
            assert_str(host_wants(&h, EFFECT_POD_STATUS)->condition.reason, cases[i].reason);
            assert_str(host_wants(&h, EFFECT_POD_STATUS)->condition.message, cases[i].message);
        }
        if (cases[i].action == ALLOW) /* too late */
            assert_false(binding_event(
                binding, &(struct binding_event){ BINDING_ON_PREEMPTED, h.e.now_ns, "DefaultPreemption" }));
        host_end(&h);
    }
}

/* ---- many pods ---- */
static void test_limit(void **state)
{
    (void)state;
    struct fake_host h;
    host_begin(&h, NULL, NULL);
    h.e.engine.host.bindings_max = 3;
    fixture_load(&h.e.f, NODE("a", "9"));
    for (int i = 0; i < 8; i++)
        fixture_loadf(&h.e.f, "{kind: Pod, metadata: {name: p%d, uid: u%d}, spec: {containers: [{name: c}]}}",
                      i, i);
    for (size_t done = 0; done < 8; done++) {
        host_settle(&h);
        assert_int_equal(engine_bindings(&h.e.engine), MIN(3, 8 - done));
        host_answer(&h, host_wants(&h, EFFECT_BIND), ANSWER_DONE);
    }
    host_settle(&h);
    assert_int_equal(engine_bindings(&h.e.engine), 0);
    assert_int_equal(host_count(&h, EFFECT_BIND), 8);
    assert_int_equal(h.notices.len, 8);
    host_end(&h);
}

/* An engine can be released in any state. */
static void test_release_in_any_state(void **state)
{
    (void)state;
    struct fake_host h;
    begin_full(&h);
    host_answer(&h, host_wants(&h, EFFECT_BIND), ANSWER_UNKNOWN);
    assert_int_equal(engine_bindings(&h.e.engine), 1);
    host_end(&h);
    permit_ms = 5000;
    host_begin(&h, GUARDED, &guarded_registry);
    fixture_load(&h.e.f, NODE("a", "2"));
    fixture_load(&h.e.f, POD("p", "1", ""));
    fixture_load(&h.e.f, POD("free", "1", ""));
    host_settle(&h);
    assert_int_equal(engine_bindings(&h.e.engine), 2);
    host_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_unknown_outcome_ends),
        cmocka_unit_test(test_watch_before_answer),
        cmocka_unit_test(test_pod_deleted),
        cmocka_unit_test(test_old_version_after_binding),
        cmocka_unit_test(test_bind_after_status_writes),
        cmocka_unit_test(test_permit),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_release_in_any_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
