/* Evictions: their order, their failures, and when the preemptor is requeued. */
#include "fake_host.h"

#include "engine/binding.h"

#define PRIORITY(number) ", priority: " number
#define LOW ", nodeName: a" PRIORITY("1")

/* A node with pods of low priority, and a pending pod that needs all of it. */
static void begin(struct fake_host *h, uint32_t victims)
{
    host_begin(h, NULL, NULL);
    fixture_loadf(
        &h->e.f, "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: %u, memory: 8Gi, pods: 20}}}",
        victims);
    for (uint32_t i = 0; i < victims; i++)
        fixture_loadf(&h->e.f,
                      "{kind: Pod, metadata: {name: low%u, uid: u%u}, spec: {nodeName: a, priority: %u, "
                      "containers: [{name: "
                      "c, resources: {requests: {cpu: 1}}}]}}",
                      i, i, 9 - i);
    fixture_loadf(
        &h->e.f,
        "{kind: Pod, metadata: {name: high, uid: u-high}, spec: {priority: 100, containers: [{name: c, "
        "resources: {requests: {cpu: %u}}}]}}",
        victims);
    host_settle(h);
}

/* Answers the write of the preemptor's nomination. */
static void answer_nomination(struct fake_host *h)
{
    struct wanted *status = host_wants_of(h, EFFECT_POD_STATUS, "high");
    assert_true(status->effect.sets_nomination);
    assert_str(status->effect.node, "a");
    host_answer(h, status, ANSWER_DONE);
}

static void evict(struct fake_host *h, const char *victim)
{
    struct wanted *mark = host_wants_of(h, EFFECT_POD_STATUS, victim);
    assert_str(mark->condition.type, "DisruptionTarget");
    assert_str(mark->condition.reason, "PreemptionByScheduler");
    host_answer(h, mark, ANSWER_DONE);
    host_answer(h, host_wants_of(h, EFFECT_DELETE_POD, victim), ANSWER_DONE);
    assert_true(host_has_event(h, "Preempted", victim));
}

static void remove_pod(struct fake_host *h, const char *pod)
{
    engine_remove_pod(&h->e.engine, fixture_pod(&h->e.f, pod), h->e.now_ns);
}

static void test_one_victim(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h, 1);
    answer_nomination(&h);
    assert_int_equal(h.e.engine.evictions.len, 1);
    assert_int_equal(host_count(&h, EFFECT_DELETE_POD), 0); /* its condition is written first */
    evict(&h, "low0");
    assert_int_equal(h.e.engine.evictions.len, 0);
    assert_place(&h, "high", QUEUE_UNSCHEDULABLE); /* until the resources are free */
    host_pass(&h, 20 * SECOND);
    assert_place(&h, "high", QUEUE_UNSCHEDULABLE);
    remove_pod(&h, "low0");
    host_settle(&h);
    assert_str(host_wants(&h, EFFECT_BIND)->effect.name, "high");
    host_end(&h);
}

/* All victims at once except the last, then the last. */
static void test_order(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h, 3);
    answer_nomination(&h);
    assert_int_equal(host_open(&h, EFFECT_POD_STATUS), 2);
    evict(&h, "low1");
    assert_int_equal(host_open(&h, EFFECT_POD_STATUS), 1);
    evict(&h, "low0");
    assert_str(host_wants(&h, EFFECT_POD_STATUS)->effect.name, "low2"); /* the least important victim */
    evict(&h, "low2");
    assert_int_equal(h.e.engine.evictions.len, 0);
    assert_int_equal(host_count(&h, EFFECT_DELETE_POD), 3);
    host_end(&h);
}

/* ---- failures ---- */
static void test_answers(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        enum effect_kind at; /* the effect for the first victim with this answer */
        enum answer_kind answer;
        bool last_is_evicted, again; /* again: the pod is requeued at once */
    } cases[] = {
        { "marked, deleted", EFFECT_DELETE_POD, ANSWER_DONE, true, false },
        { "gone before it was marked", EFFECT_POD_STATUS, ANSWER_GONE, true, false },
        { "gone before it was deleted", EFFECT_DELETE_POD, ANSWER_GONE, true, false },
        { "it may not be marked", EFFECT_POD_STATUS, ANSWER_REFUSED, false, true },
        { "it may not be deleted", EFFECT_DELETE_POD, ANSWER_REFUSED, false, true },
        { "a conflict", EFFECT_DELETE_POD, ANSWER_CONFLICT, false, true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_host h;
        begin(&h, 2);
        answer_nomination(&h);
        if (cases[i].at == EFFECT_DELETE_POD)
            host_answer(&h, host_wants_of(&h, EFFECT_POD_STATUS, "low0"), ANSWER_DONE);
        host_answer(&h, host_wants_of(&h, cases[i].at, "low0"), cases[i].answer);
        bool last_is_evicted = host_open(&h, EFFECT_POD_STATUS) == 1;
        bool again = host_place(&h, "high") == QUEUE_ACTIVE;
        if (last_is_evicted != cases[i].last_is_evicted || again != cases[i].again)
            fail_msg("%s: the last one is %sevicted, high is %s", cases[i].what,
                     last_is_evicted ? "" : "not ", queue_place_names[host_place(&h, "high")]);
        assert_int_equal(h.e.engine.evictions.len, last_is_evicted);
        assert_int_equal(host_has_event(&h, "Preempted", "low0"), cases[i].answer == ANSWER_DONE);
        host_end(&h);
    }
}

/* After a lost answer the request is repeated: deleting twice is harmless. */
static void test_lost_answer(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h, 1);
    host_answer(&h, host_wants_of(&h, EFFECT_POD_STATUS, "low0"), ANSWER_DONE);
    host_answer(&h, host_wants(&h, EFFECT_DELETE_POD), ANSWER_UNKNOWN);
    host_pass(&h, SECOND);
    host_answer(&h, host_wants(&h, EFFECT_DELETE_POD), ANSWER_GONE);
    assert_int_equal(h.e.engine.evictions.len, 0);
    assert_int_equal(host_count(&h, EFFECT_DELETE_POD), 2);
    host_end(&h);
}

/* ---- concurrent events ---- */
/* A victim that leaves while the pod is held is taken into account. */
static void test_victims_leave_early(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        const char *leaving[2];
        bool evicted_first; /* the first one was evicted before it left */
    } cases[] = {
        { "the last one, before its turn", { "low1", "low0" }, false },
        { "the first one, during its eviction", { "low0", "low1" }, false },
        { "the first one, after its eviction", { "low0", "low1" }, true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_host h;
        begin(&h, 2);
        answer_nomination(&h);
        h.e.now_ns += 20 * SECOND; /* after any backoff */
        if (cases[i].evicted_first)
            evict(&h, "low0");
        remove_pod(&h, cases[i].leaving[0]);
        remove_pod(&h, cases[i].leaving[1]);
        if (h.e.engine.evictions.len || host_place(&h, "high") != QUEUE_ACTIVE)
            fail_msg("%s: %zu evictions, high is %s", cases[i].what, h.e.engine.evictions.len,
                     queue_place_names[host_place(&h, "high")]);
        host_settle(&h);
        assert_str(host_wants(&h, EFFECT_BIND)->effect.name, "high");
        assert_int_equal(h.e.engine.writes.by_ticket.len, 1);
        host_end(&h);
    }
}

/* A pod without a grace period is gone at once, and the watch may report it before the answer to the request. Its
 * resources are free then. */
static void test_gone_before_the_answer(void **state)
{
    (void)state;
    static const struct {
        enum answer_kind answer;
        bool by_us;
    } cases[] = { { ANSWER_DONE, true }, { ANSWER_GONE, false }, { ANSWER_UNKNOWN, false } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_host h;
        begin(&h, 2);
        answer_nomination(&h);
        evict(&h, "low0");
        remove_pod(&h, "low0");
        host_answer(&h, host_wants_of(&h, EFFECT_POD_STATUS, "low1"), ANSWER_DONE);
        struct wanted *deletion = host_wants_of(&h, EFFECT_DELETE_POD, "low1");
        h.e.now_ns += 20 * SECOND; /* after any backoff */
        remove_pod(&h, "low1");
        host_settle(&h);
        assert_str(host_wants(&h, EFFECT_BIND)->effect.name, "high"); /* without waiting for the answer */
        host_answer(&h, deletion, cases[i].answer);
        assert_int_equal(host_has_event(&h, "Preempted", "low1"), cases[i].by_us);
        assert_int_equal(h.e.engine.evictions.len, 0);
        host_end(&h);
    }
}

static void test_preemptor_deleted(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h, 2);
    answer_nomination(&h);
    remove_pod(&h, "high");
    evict(&h, "low0");                                     /* already evicted */
    assert_int_equal(host_open(&h, EFFECT_POD_STATUS), 0); /* the last one is not evicted */
    assert_int_equal(h.e.engine.evictions.len, 0);
    host_end(&h);
}

/* Pods of lower priority that are nominated to the node lose their nomination. */
static void test_lower_nominations(void **state)
{
    (void)state;
    struct fake_host h;
    host_begin(&h, NULL, NULL);
    fixture_load(&h.e.f, NODE("a", "1"));
    fixture_load(&h.e.f, POD("low", "1", LOW));
    fixture_load(&h.e.f,
                 "{kind: Pod, metadata: {name: middle, uid: um}, spec: {priority: 5, containers: [{name: c, "
                 "resources: {requests: {cpu: 1}}}]}, status: {nominatedNodeName: a}}");
    fixture_load(&h.e.f, POD("high", "1", PRIORITY("100")));
    struct decision decision;
    assert_true(engine_step(&h.e.engine, h.e.now_ns, &decision));
    assert_str(decision.pod->api->meta.name, "high");
    assert_int_equal(decision.victims_len, 1);
    const struct effect *clear = &host_wants_of(&h, EFFECT_POD_STATUS, "middle")->effect;
    assert_true(clear->sets_nomination);
    assert_str(clear->node, "");
    assert_null(clear->condition);
    host_end(&h);
}

/* ---- what was written is known before the watch shows it ---- */
/* Preemptors that choose the same victim, each more important than the one before. */
static void add_preemptor(struct fake_host *h, const char *name, int priority)
{
    fixture_loadf(&h->e.f,
                  "{kind: Pod, metadata: {name: %s, uid: u-%s}, spec: {priority: %d, containers: [{name: c, "
                  "resources: {requests: {cpu: 1}}}]}}",
                  name, name, priority);
    host_settle(h);
    assert_str(host_wants_of(h, EFFECT_POD_STATUS, name)->effect.node, "a");
    host_answer(h, host_wants_of(h, EFFECT_POD_STATUS, name), ANSWER_DONE);
}

static void test_shared_victim(void **state)
{
    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        struct fake_host h;
        begin(&h, 1);
        answer_nomination(&h);
        add_preemptor(&h, "higher", 200);
        assert_int_equal(h.e.engine.evictions.len, 2);
        assert_int_equal(host_open(&h, EFFECT_POD_STATUS), 1 + 1); /* low0, and the nomination of high */
        host_answer(&h, host_wants_of(&h, EFFECT_POD_STATUS, "low0"), ANSWER_DONE);
        host_answer(&h, host_wants(&h, EFFECT_DELETE_POD), refused ? ANSWER_REFUSED : ANSWER_DONE);
        assert_int_equal(h.e.engine.evictions.len, 0);
        assert_int_equal(host_place(&h, "high") == QUEUE_ACTIVE, refused);
        assert_int_equal(host_place(&h, "higher") == QUEUE_ACTIVE, refused);
        if (!refused)
            add_preemptor(&h, "highest", 300); /* the pod does not show its deletion yet */
        assert_int_equal(h.e.engine.evictions.len, 0);
        assert_int_equal(host_count(&h, EFFECT_DELETE_POD), 1);
        host_end(&h);
    }
}

/* The preemptor is tried again when its victim was deleted, and neither its nomination nor the victim's deletion has
 * been seen: no other victim has to leave. */
static void test_unseen_eviction(void **state)
{
    (void)state;
    struct fake_host h;
    host_begin(&h, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        fixture_loadf(&h.e.f,
                      "{kind: Node, metadata: {name: n%d}, status: {allocatable: {cpu: 1, pods: 20}}}", i);
        fixture_loadf(&h.e.f,
                      "{kind: Pod, metadata: {name: low%d, uid: u%d}, spec: {nodeName: n%d, priority: 1, "
                      "containers: [{name: c, resources: {requests: {cpu: 1}}}]}}",
                      i, i, i);
    }
    fixture_load(&h.e.f, POD("high", "1", PRIORITY("100")));
    host_settle(&h);
    host_answer(&h, host_wants_of(&h, EFFECT_POD_STATUS, "high"), ANSWER_DONE);
    struct wanted *mark = host_wants(&h, EFFECT_POD_STATUS);
    host_answer(&h, mark, ANSWER_DONE);
    host_answer(&h, host_wants(&h, EFFECT_DELETE_POD), ANSWER_DONE);
    for (int i = 0; i < 3; i++) {
        struct decision decision;
        queue_activate(&h.e.engine.queue, fixture_pod(&h.e.f, "high"), h.e.now_ns);
        assert_true(engine_step(&h.e.engine, h.e.now_ns, &decision));
        assert_int_equal(decision.victims_len, 0);
        assert_int_equal(decision.nomination, NOMINATION_KEEP);
    }
    assert_int_equal(host_count(&h, EFFECT_DELETE_POD), 1);
    host_end(&h);
}

/* ---- victims that are not bound yet ---- */
static struct status permit(struct cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    (void)row;
    *ret_timeout_ms = 600000;
    return cycle->info->priority < 5 ? (struct status){ .code = STATUS_WAIT } : STATUS_OK;
}

extern const struct plugin plugin_priority_sort, plugin_default_binder, plugin_node_resources_fit,
    plugin_default_preemption;
static const struct plugin plugin_guard = { .name = "Guard", .permit = permit };
static const struct plugin *const guarded[] = { &plugin_priority_sort, &plugin_node_resources_fit,
                                                &plugin_default_preemption, &plugin_guard,
                                                &plugin_default_binder };
static const struct registry guarded_registry = { guarded, ARRAY_SIZE(guarded) };
#define GUARDED \
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" \
    "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, " \
    "{name: NodeResourcesFit}, {name: DefaultPreemption}, {name: Guard}, {name: DefaultBinder}]}}}]"

static void check_victim_before_binding(int minor)
{
    struct fake_host h;
    host_begin_as(&h, minor, GUARDED, &guarded_registry);
    fixture_load(&h.e.f, NODE("a", "1"));
    fixture_load(&h.e.f, POD("low", "1", PRIORITY("1")));
    host_settle(&h);
    assert_int_equal(engine_bindings(&h.e.engine), 1);
    host_answer(&h, host_wants(&h, EFFECT_POD_STATUS), ANSWER_DONE);
    fixture_load(&h.e.f, POD("high", "1", PRIORITY("100")));
    host_pass(&h, 0);
    assert_int_equal(host_count(&h, EFFECT_DELETE_POD), 0);
    assert_true(host_has_event(&h, "Preempted", "low"));
    assert_int_equal(h.e.engine.evictions.len, 0);
    assert_place(&h, "low", QUEUE_ERROR_BACKOFF);
    assert_int_not_equal(host_place(&h, "high"),
                         QUEUE_UNSCHEDULABLE); /* the resources are free, and no event will report it */
    assert_int_equal(h.e.engine.queue.incoming[QUEUE_NAME_ACTIVE][LABEL_FORCE_ACTIVATE], minor == 36 ? 0 : 1);
    host_answer(&h, host_wants_of(&h, EFFECT_POD_STATUS, "high"), ANSWER_DONE);
    host_pass(&h, 2 * SECOND);
    assert_str(host_wants(&h, EFFECT_BIND)->effect.name, "high");
    host_end(&h);
}

static void test_victim_before_binding(void **state)
{
    (void)state;
    check_victim_before_binding(36);
    check_victim_before_binding(37);
}

/* Once its binding was sent, a victim must be deleted. */
static void test_victim_during_binding(void **state)
{
    (void)state;
    struct fake_host h;
    host_begin(&h, NULL, NULL);
    fixture_load(&h.e.f, NODE("a", "1"));
    fixture_load(&h.e.f, POD("low", "1", PRIORITY("1")));
    host_settle(&h);
    struct wanted *bind = host_wants(&h, EFFECT_BIND);
    fixture_load(&h.e.f, POD("high", "1", PRIORITY("100")));
    host_settle(&h);
    answer_nomination(&h);
    evict(&h, "low");
    assert_int_equal(engine_bindings(&h.e.engine), 1);
    host_pass(&h, 20 * SECOND);
    host_answer(&h, bind, ANSWER_GONE); /* the deletion came first */
    assert_int_equal(host_used_cpu(&h, "a"), 0);
    host_pass(&h, 2 * SECOND);
    assert_str(host_wants(&h, EFFECT_BIND)->effect.name, "high");
    host_end(&h);
}

static void test_release_in_any_state(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h, 3);
    host_answer(&h, host_wants_of(&h, EFFECT_POD_STATUS, "low0"), ANSWER_DONE);
    assert_int_equal(h.e.engine.evictions.len, 1);
    host_end(&h);
}

/* An API server that refuses deletions is not asked again and again. */
static void test_pause_after_refusal(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h, 1);
    answer_nomination(&h);
    for (int round = 1; round < 4; round++) {
        host_answer(&h, host_wants_of(&h, EFFECT_POD_STATUS, "low0"), ANSWER_DONE);
        host_answer(&h, host_wants_of(&h, EFFECT_DELETE_POD, "low0"), ANSWER_REFUSED);
        host_settle(&h);
        assert_int_equal(h.e.engine.evictions.len, 0);
        assert_int_equal(host_count(&h, EFFECT_DELETE_POD), (size_t)round);
        int64_t due_ns = engine_next_due(&h.e.engine);
        assert_in_range(due_ns - h.e.now_ns, 1, SECOND);
        host_pass(&h, SECOND);
        assert_int_equal(h.e.engine.evictions.len, 1);
    }
    evict(&h, "low0");
    host_end(&h);
}

/* ---- without SchedulerAsyncPreemption ---- */
static void begin_awaited(struct fake_host *h)
{
    host_begin(h, NULL, NULL);
    h->e.f.cluster.features.enabled[FEATURE_SchedulerAsyncPreemption] = false;
    fixture_load(&h->e.f, NODE("a", "2"));
    fixture_load(&h->e.f, POD("low0", "1", LOW));
    fixture_load(&h->e.f, POD("low1", "1", LOW));
    fixture_load(&h->e.f, POD("high", "2", PRIORITY("100")));
    host_settle(h);
    fixture_load(&h->e.f, POD("other", "1", PRIORITY("200")));
    host_settle(h);
    assert_non_null(h->e.engine.open.entry);
    assert_place(h, "other", QUEUE_ACTIVE); /* nothing else is decided */
}

/* All victims are deleted at once, and then the pod is nominated. It is not held. */
static void test_awaited(void **state)
{
    (void)state;
    struct fake_host h;
    begin_awaited(&h);
    struct wanted *first = host_wants_of(&h, EFFECT_POD_STATUS, "low0"),
                  *second = host_wants_of(&h, EFFECT_POD_STATUS, "low1");
    host_answer(&h, first, ANSWER_DONE);
    host_answer(&h, second, ANSWER_DONE);
    host_answer(&h, host_wants_of(&h, EFFECT_DELETE_POD, "low1"), ANSWER_DONE);
    assert_non_null(h.e.engine.open.entry);
    host_answer(&h, host_wants_of(&h, EFFECT_DELETE_POD, "low0"), ANSWER_DONE);
    assert_null(h.e.engine.open.entry);
    assert_place(&h, "high", QUEUE_UNSCHEDULABLE);
    assert_int_not_equal(fixture_pod(&h.e.f, "high")->nominated_row, ROW_NONE);
    answer_nomination(&h);
    host_settle(&h);
    assert_int_not_equal(host_place(&h, "other"), QUEUE_ACTIVE);
    host_end(&h);
}

/* The first that cannot be deleted ends it: no other one is deleted, and the pod is not nominated. */
static void test_awaited_in_vain(void **state)
{
    (void)state;
    struct fake_host h;
    begin_awaited(&h);
    struct wanted *first = host_wants_of(&h, EFFECT_POD_STATUS, "low0"),
                  *second = host_wants_of(&h, EFFECT_POD_STATUS, "low1");
    host_answer_with(&h, first, (struct answer){ .kind = ANSWER_REFUSED, .message = STR("no right") });
    assert_non_null(h.e.engine.open.entry);
    host_answer(&h, second, ANSWER_DONE);
    assert_null(h.e.engine.open.entry);
    assert_int_equal(host_count(&h, EFFECT_DELETE_POD), 0);
    assert_int_equal(fixture_pod(&h.e.f, "high")->nominated_row, ROW_NONE);
    const struct wanted *status = host_wants_of(&h, EFFECT_POD_STATUS, "high");
    assert_false(status->effect.sets_nomination);
    assert_str(status->condition.message,
               "0/1 nodes are available: 1 Insufficient cpu. preemption: no right");
    assert_place(&h, "high", QUEUE_UNSCHEDULABLE);
    assert_int_equal(fixture_pod(&h.e.f, "low1")->eviction, EVICTION_NONE); /* it may be a victim again */
    host_end(&h);
}

/* The pod, its node or the engine may go meanwhile. */
static void test_awaited_and_gone(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct fake_host h;
        begin_awaited(&h);
        if (i == 0)
            remove_pod(&h, "high");
        else if (i == 1)
            cluster_remove_node(&h.e.f.cluster, STR("a"));
        if (i < 2) {
            evict(&h, "low0");
            evict(&h, "low1");
            assert_null(h.e.engine.open.entry);
        }
        host_settle(&h);
        host_end(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_victim),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_lost_answer),
        cmocka_unit_test(test_victims_leave_early),
        cmocka_unit_test(test_gone_before_the_answer),
        cmocka_unit_test(test_preemptor_deleted),
        cmocka_unit_test(test_lower_nominations),
        cmocka_unit_test(test_shared_victim),
        cmocka_unit_test(test_unseen_eviction),
        cmocka_unit_test(test_victim_before_binding),
        cmocka_unit_test(test_victim_during_binding),
        cmocka_unit_test(test_awaited),
        cmocka_unit_test(test_awaited_in_vain),
        cmocka_unit_test(test_awaited_and_gone),
        cmocka_unit_test(test_release_in_any_state),
        cmocka_unit_test(test_pause_after_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
