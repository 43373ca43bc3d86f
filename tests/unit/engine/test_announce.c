/* Announcements: a pod is bound when the watch shows its own, beside those of other schedulers. */
#include "fake_host.h"

#include "engine/binding.h"

/* Of the scheduler under test, and of another one: a name, a version, cpu, priority, the minute of its creation, and
 * the node that it is nominated to. */
#define A_POD(scheduler, name, version, cpu, priority, minute, nominated) \
    "{kind: Pod, metadata: {name: " name ", uid: u-" name ", resourceVersion: '" version \
    "', creationTimestamp: '2026-01-01T00:" minute ":00Z'}, spec: {schedulerName: " scheduler \
    ", priority: " priority ", containers: [{name: c, resources: {requests: {cpu: " cpu \
    "}}}]}, status: {nominatedNodeName: '" nominated "'}}"
#define OWN(name, version, nominated) A_POD("default-scheduler", name, version, "600m", "5", "30", nominated)
#define OTHER(name, version, priority, minute, nominated) \
    A_POD("another", name, version, "600m", priority, minute, nominated)

static void begin(struct fake_host *h, bool announces)
{
    const struct engine_options options = {
        .slowest = PATH_INDEX,
        .seed = 1,
        .now_ns = 1000 * SECOND,
        .announces = announces,
        .host = { .emit = fake_emit, .notice = fake_notice, .context = h },
    };
    struct error err;
    *h = (struct fake_host){ 0 };
    if (engine_fixture_try(&h->e, NULL, &options, &err) < 0)
        fail_msg("%s", err.text);
    h->e.f.add = host_add;
    fixture_load(&h->e.f, NODE("a", "1"));
}

/* The pod is decided, and its announcement written as version 5. */
static void announce(struct fake_host *h)
{
    fixture_load(&h->e.f, OWN("p", "1", ""));
    host_settle(h);
    struct wanted *wanted = host_wants(h, EFFECT_POD_STATUS);
    assert_true(wanted->effect.sets_nomination);
    assert_str(wanted->effect.node, "a");
    host_answer_with(h, wanted, (struct answer){ .kind = ANSWER_DONE, .resource_version = STR("5") });
    host_settle(h);
    assert_int_equal(host_count(h, EFFECT_BIND), 0); /* the watch has not shown it */
}

static void test_it_is_bound_when_the_watch_shows_it(void **state _unused_)
{
    struct fake_host h;
    begin(&h, true);
    announce(&h);
    fixture_load(&h.e.f, OWN("p", "2", "")); /* an older version */
    host_settle(&h);
    assert_int_equal(host_count(&h, EFFECT_BIND), 0);
    fixture_load(&h.e.f, OWN("p", "5", "a"));
    assert_int_equal(host_count(&h, EFFECT_BIND), 0); /* within a batch of messages nothing is judged */
    host_settle(&h);
    assert_int_equal(host_open(&h, EFFECT_BIND), 1);
    host_end(&h);
}

static void test_nothing_is_judged_within_a_list(void **state _unused_)
{
    struct fake_host h;
    begin(&h, true);
    announce(&h);
    engine_list(&h.e.engine, KIND_POD, true);
    fixture_load(&h.e.f, OWN("p", "5", "a"));
    host_settle(&h);
    assert_int_equal(host_count(&h, EFFECT_BIND), 0);
    fixture_load(&h.e.f, OTHER("q", "4", "5", "00", "a")); /* older, so it precedes */
    engine_list(&h.e.engine, KIND_POD, false);
    host_settle(&h);
    assert_int_equal(host_count(&h, EFFECT_BIND), 0);
    assert_int_equal(engine_bindings(&h.e.engine), 0);
    host_end(&h);
}

static void test_without_the_option(void **state _unused_)
{
    struct fake_host h;
    begin(&h, false);
    fixture_load(&h.e.f, OTHER("q", "1", "9", "00", "a"));
    assert_null(cluster_find_pod(&h.e.f.cluster, STR("default"), STR("q")));
    fixture_load(&h.e.f, OWN("p", "1", ""));
    host_settle(&h);
    assert_int_equal(host_count(&h, EFFECT_POD_STATUS), 0);
    assert_int_equal(host_open(&h, EFFECT_BIND), 1);
    host_end(&h);
}

/* The other pod is announced at the same time, and there is room for one. */
enum end { BINDS, WAITS, WITHDRAWS };

static void test_the_order_of_two(void **state _unused_)
{
    static const struct {
        const char *what, *other;
        enum end end;
    } cases[] = {
        { "higher priority", OTHER("q", "4", "9", "59", "a"), WITHDRAWS },
        { "lower priority", OTHER("q", "4", "1", "00", "a"), WAITS },
        { "the same, and older", OTHER("q", "4", "5", "00", "a"), WITHDRAWS },
        { "the same, and younger", OTHER("q", "4", "5", "59", "a"), WAITS },
        { "the same, by uid", OTHER("q", "4", "5", "30", "a"), WAITS },
        { "the same, by uid, before", OTHER("o", "4", "5", "30", "a"), WITHDRAWS },
        { "another node", OTHER("q", "4", "9", "00", "b"), BINDS },
        { "room for both", A_POD("another", "q", "4", "400m", "9", "00", "a"), BINDS },
        { "bound already",
          "{kind: Pod, metadata: {name: q, uid: u-q, resourceVersion: '4'}, spec: {nodeName: a, "
          "containers: [{name: c, resources: {requests: {cpu: 600m}}}]}}",
          WITHDRAWS },
        { "being deleted",
          "{kind: Pod, metadata: {name: q, uid: u-q, resourceVersion: '4', deletionTimestamp: "
          "'2026-01-01T00:00:00Z'}, spec: {schedulerName: another, priority: 9, containers: [{name: c, "
          "resources: {requests: {cpu: 600m}}}]}, status: {nominatedNodeName: a}}",
          BINDS },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_host h;
        begin(&h, true);
        announce(&h);
        fixture_load(&h.e.f, cases[i].other);
        fixture_load(&h.e.f, OWN("p", "5", "a"));
        host_settle(&h);
        enum end end = host_open(&h, EFFECT_BIND) ? BINDS : engine_bindings(&h.e.engine) ? WAITS : WITHDRAWS;
        if (end != cases[i].end)
            fail_msg("%s: %d, want %d", cases[i].what, (int)end, (int)cases[i].end);
        if (end == WITHDRAWS) {
            assert_true(host_wants(&h, EFFECT_POD_STATUS)->effect.sets_nomination);
            assert_str(host_wants(&h, EFFECT_POD_STATUS)->effect.node, "");
            assert_place(&h, "p", QUEUE_ERROR_BACKOFF); /* it may have room elsewhere */
        }
        host_end(&h);
    }
}

static void begin_waiting(struct fake_host *h)
{
    begin(h, true);
    announce(h);
    fixture_load(&h->e.f, OTHER("q", "4", "1", "00", "a"));
    fixture_load(&h->e.f, OWN("p", "5", "a"));
    host_settle(h);
    assert_int_equal(host_count(h, EFFECT_BIND), 0);
    assert_int_equal(engine_bindings(&h->e.engine), 1);
}

static void test_what_it_waits_for(void **state _unused_)
{
    static const struct {
        const char *what, *other; /* NULL: time passes */
        enum end end;
    } cases[] = {
        { "it is withdrawn", OTHER("q", "6", "1", "00", ""), BINDS },
        { "it goes elsewhere", OTHER("q", "6", "1", "00", "b"), BINDS },
        { "it is bound elsewhere",
          "{kind: Pod, metadata: {name: q, uid: u-q, resourceVersion: '6'}, spec: {nodeName: b, "
          "schedulerName: another, containers: [{name: c, resources: {requests: {cpu: 600m}}}]}}",
          BINDS },
        { "it is bound",
          "{kind: Pod, metadata: {name: q, uid: u-q, resourceVersion: '6'}, spec: {nodeName: a, "
          "schedulerName: another, containers: [{name: c, resources: {requests: {cpu: 600m}}}]}}",
          WITHDRAWS },
        { "another label",
          "{kind: Pod, metadata: {name: q, uid: u-q, resourceVersion: '6', labels: {a: b}}, spec: "
          "{schedulerName: another, containers: [{name: c, resources: {requests: {cpu: 600m}}}]}, status: "
          "{nominatedNodeName: a}}",
          WAITS },
        { "nothing happens", NULL, WITHDRAWS },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_host h;
        begin_waiting(&h);
        if (cases[i].other) {
            fixture_load(&h.e.f, cases[i].other);
            host_settle(&h);
        } else {
            assert_int_equal(engine_next_due(&h.e.engine), h.e.now_ns + 2 * SECOND);
            host_pass(&h, 2 * SECOND);
        }
        enum end end = host_open(&h, EFFECT_BIND) ? BINDS : engine_bindings(&h.e.engine) ? WAITS : WITHDRAWS;
        if (end != cases[i].end)
            fail_msg("%s: %d, want %d", cases[i].what, (int)end, (int)cases[i].end);
        host_end(&h);
    }
}

static void test_a_refused_announcement(void **state _unused_)
{
    struct fake_host h;
    begin(&h, true);
    fixture_load(&h.e.f, OWN("p", "1", ""));
    host_settle(&h);
    host_answer(&h, host_wants(&h, EFFECT_POD_STATUS), ANSWER_REFUSED);
    host_settle(&h);
    assert_int_equal(host_count(&h, EFFECT_BIND), 0);
    assert_int_equal(engine_bindings(&h.e.engine), 0);
    assert_int_equal(host_used_cpu(&h, "a"), 0);
    assert_place(&h, "p", QUEUE_ERROR_BACKOFF);
    host_end(&h);
}

/* Of two own pods on a node, the one that precedes has the room that is left. */
static void test_own_pods_in_order(void **state _unused_)
{
    struct fake_host h;
    begin(&h, true);
    fixture_load(&h.e.f, A_POD("default-scheduler", "low", "1", "400m", "1", "00", ""));
    fixture_load(&h.e.f, A_POD("default-scheduler", "high", "2", "400m", "3", "00", ""));
    host_settle(&h);
    while (host_open(&h, EFFECT_POD_STATUS))
        host_answer_with(&h, host_wants(&h, EFFECT_POD_STATUS),
                         (struct answer){ .kind = ANSWER_DONE, .resource_version = STR("5") });
    fixture_load(&h.e.f, OTHER("q", "4", "9", "00", "a")); /* 600m */
    fixture_load(&h.e.f, A_POD("default-scheduler", "low", "5", "400m", "1", "00", "a"));
    fixture_load(&h.e.f, A_POD("default-scheduler", "high", "6", "400m", "3", "00", "a"));
    host_settle(&h);
    assert_str(host_wants(&h, EFFECT_BIND)->effect.name, "high");
    assert_int_equal(engine_bindings(&h.e.engine), 1);
    host_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_bound_when_the_watch_shows_it),
        cmocka_unit_test(test_nothing_is_judged_within_a_list),
        cmocka_unit_test(test_without_the_option),
        cmocka_unit_test(test_the_order_of_two),
        cmocka_unit_test(test_what_it_waits_for),
        cmocka_unit_test(test_a_refused_announcement),
        cmocka_unit_test(test_own_pods_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
