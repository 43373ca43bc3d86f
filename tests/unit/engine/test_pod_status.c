/* Conditions and nominations: one write at a time, the newest wish wins, what is there is not written again. */
#include "fake_host.h"

struct desk {
    struct fake_host h;
    struct writes writes;
    struct pod_statuses statuses;
    uint32_t idle;
    int64_t now_ns;
    struct pod *crowd; /* that is known */
    size_t crowd_len;
};

static void on_idle(void *context, struct str pod_key, int64_t now_ns)
{
    struct desk *desk = context;
    (void)now_ns;
    assert_true(pod_key.len > 0 && pod_key.ptr[0] == 'u');
    desk->idle++;
}

static const struct pod *find_known(void *context, struct str namespace, struct str name)
{
    struct desk *desk = context;
    assert_str(namespace, "default");
    for (size_t i = 0; i < desk->crowd_len; i++)
        if (str_eq(desk->crowd[i].meta.name, name))
            return &desk->crowd[i];
    return NULL;
}

static void begin(struct desk *desk)
{
    *desk = (struct desk){ .now_ns = 5000 * SECOND };
    writes_init(&desk->writes, fake_emit, &desk->h, 1);
    desk->statuses = (struct pod_statuses){
        .writes = &desk->writes, .known = find_known, .idle = on_idle, .context = desk
    };
}

static void end(struct desk *desk)
{
    pod_statuses_release(&desk->statuses);
    writes_release(&desk->writes);
    vec_release(&desk->h.wanted);
    arena_release(&desk->h.arena);
}

static void answer_with(struct desk *desk, enum answer_kind kind, const char *version)
{
    struct wanted *wanted = host_wants(&desk->h, EFFECT_POD_STATUS);
    wanted->answered = true;
    writes_answer(&desk->writes, wanted->effect.ticket,
                  &(struct answer){ .kind = kind, .resource_version = str_from(version) }, desk->now_ns);
}

static void answer(struct desk *desk, enum answer_kind kind)
{
    answer_with(desk, kind, "");
}

static struct pod new_pod(void)
{
    return (struct pod){ .meta = { .namespace = STR("default"),
                                   .name = STR("p"),
                                   .uid = STR("u"),
                                   .resource_version = STR("10"),
                                   .generation = 1 } };
}

static const struct status_change waits = { .type = STR("PodScheduled"),
                                            .status = STR("False"),
                                            .reason = STR("Unschedulable"),
                                            .message = STR("no room") };

static struct status_change with_message(const char *message)
{
    struct status_change change = waits;
    change.message = str_from(message);
    return change;
}

/* ---- what a change is ---- */
static void test_condition_wanted(void **state)
{
    (void)state;
    static const struct {
        const char *what, *type, *status, *reason, *message;
        int64_t generation;
        bool wanted, keeps_time;
    } cases[] = {
        { "there is none", "Ready", "False", "", "", 1, true, false },
        { "it is the same", "PodScheduled", "False", "Unschedulable", "no room", 1, false, true },
        { "another message", "PodScheduled", "False", "Unschedulable", "too small", 1, true, true },
        { "another reason", "PodScheduled", "False", "SchedulerError", "no room", 1, true, true },
        { "another status", "PodScheduled", "True", "", "", 1, true, false },
        { "the pod has changed", "PodScheduled", "False", "Unschedulable", "no room", 0, true, true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct pod pod = new_pod();
        struct wanted_condition wanted;
        struct pod_condition there = { .type = str_from(cases[i].type),
                                       .status = str_from(cases[i].status),
                                       .reason = str_from(cases[i].reason),
                                       .message = str_from(cases[i].message),
                                       .last_transition_time = { .set = true, .seconds = 77 },
                                       .observed_generation = cases[i].generation };
        pod.status.conditions.items = &there;
        pod.status.conditions.len = 1;
        bool is_wanted = condition_wanted(&pod, &waits, 5000 * SECOND, &wanted);
        if (is_wanted != cases[i].wanted)
            fail_msg("%s", cases[i].what);
        assert_int_equal(wanted.last_transition_time.seconds, cases[i].keeps_time ? 77 : 5000);
        assert_int_equal(wanted.observed_generation.value, 1);
        assert_str(wanted.message, "no room");
    }
}

static void test_nothing_to_say(void **state)
{
    (void)state;
    struct desk desk;
    struct pod pod = new_pod();
    struct pod_condition there = { .type = waits.type,
                                   .status = waits.status,
                                   .reason = waits.reason,
                                   .message = waits.message,
                                   .observed_generation = 1 };
    begin(&desk);
    pod.status.conditions.items = &there;
    pod.status.conditions.len = 1;
    pod.status.nominated_node_name = STR("a");
    pod_status_set(&desk.statuses, &pod, &waits, desk.now_ns);
    struct status_change same = waits;
    same.nomination = NOMINATION_SET;
    same.node = STR("a");
    pod_status_set(&desk.statuses, &pod, &same, desk.now_ns);
    assert_int_equal(desk.h.wanted.len, 0);
    same.node = STR("b"); /* only the nomination */
    pod_status_set(&desk.statuses, &pod, &same, desk.now_ns);
    const struct effect *effect = &host_wants(&desk.h, EFFECT_POD_STATUS)->effect;
    assert_null(effect->condition);
    assert_true(effect->sets_nomination);
    assert_str(effect->node, "b");
    end(&desk);
}

/* ---- one at a time ---- */
static void test_newest_wins(void **state)
{
    (void)state;
    struct desk desk;
    struct pod pod = new_pod();
    struct status_change changes[] = { with_message("one"), with_message("two"), with_message("three") };
    changes[1].nomination = NOMINATION_SET; /* stays wanted: what comes after it leaves nominations alone */
    changes[1].node = STR("a");
    begin(&desk);
    assert_false(pod_status_busy(&desk.statuses, &pod));
    for (size_t i = 0; i < 3; i++)
        pod_status_set(&desk.statuses, &pod, &changes[i], desk.now_ns);
    assert_true(pod_status_busy(&desk.statuses, &pod));
    assert_int_equal(desk.h.wanted.len, 1);
    assert_str(host_wants(&desk.h, EFFECT_POD_STATUS)->condition.message, "one");
    answer(&desk, ANSWER_DONE);
    assert_int_equal(desk.idle, 0);
    const struct wanted *next = host_wants(&desk.h, EFFECT_POD_STATUS);
    assert_str(next->condition.message, "three");
    assert_true(next->effect.sets_nomination);
    assert_str(next->effect.node, "a");
    assert_int_equal(next->condition.last_transition_time.seconds, 5000);
    answer(&desk, ANSWER_DONE);
    assert_int_equal(desk.idle, 1);
    assert_false(pod_status_busy(&desk.statuses, &pod));
    pod_status_set(&desk.statuses, &pod, &changes[2], desk.now_ns); /* nothing newer of the pod is known */
    pod_status_set(&desk.statuses, &pod,
                   &(struct status_change){ .nomination = NOMINATION_SET, .node = STR("a") }, desk.now_ns);
    assert_int_equal(desk.h.wanted.len, 2); /* both parts were said with the last one */
    end(&desk);
}

static void test_same_again(void **state)
{
    (void)state;
    struct desk desk;
    struct pod pod = new_pod();
    begin(&desk);
    pod_status_set(&desk.statuses, &pod, &waits, desk.now_ns);
    pod_status_set(&desk.statuses, &pod, &waits, desk.now_ns);
    answer(&desk, ANSWER_DONE);
    pod_status_set(&desk.statuses, &pod, &waits,
                   desk.now_ns); /* the pod that is known does not show it yet */
    assert_int_equal(desk.h.wanted.len, 1);
    assert_int_equal(desk.idle, 1);
    end(&desk);
}

static void test_how_it_ends(void **state)
{
    (void)state;
    static const struct {
        enum answer_kind kind;
        bool has_next;
        uint32_t sent, idle, again; /* again: writes if the same is wanted once more */
    } cases[] = {
        { ANSWER_DONE, false, 1, 1, 0 },     { ANSWER_DONE, true, 2, 0, 0 },
        { ANSWER_GONE, false, 1, 1, 1 },     { ANSWER_GONE, true, 1, 1, 1 },
        { ANSWER_REFUSED, false, 1, 1, 1 },  { ANSWER_REFUSED, true, 2, 0, 0 },
        { ANSWER_CONFLICT, false, 1, 1, 1 }, { ANSWER_CONFLICT, true, 2, 0, 0 },
        { ANSWER_UNKNOWN, true, 1, 0, 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct desk desk;
        struct pod pod = new_pod();
        struct status_change next = with_message("newer");
        begin(&desk);
        pod_status_set(&desk.statuses, &pod, &waits, desk.now_ns);
        if (cases[i].has_next)
            pod_status_set(&desk.statuses, &pod, &next, desk.now_ns);
        answer(&desk, cases[i].kind);
        if (desk.h.wanted.len != cases[i].sent || desk.idle != cases[i].idle)
            fail_msg("%s, %s: %zu sent, %u idle", answer_kind_names[cases[i].kind],
                     cases[i].has_next ? "more waits" : "nothing waits", desk.h.wanted.len, desk.idle);
        pod_status_set(&desk.statuses, &pod, cases[i].has_next ? &next : &waits, desk.now_ns);
        assert_int_equal(desk.h.wanted.len, cases[i].sent + cases[i].again);
        end(&desk);
    }
}

/* ---- what is seen ---- */
static void test_seen(void **state)
{
    (void)state;
    static const struct {
        const char *what, *written, *seen;
        uint32_t again; /* writes if the same is wanted once more, against a pod that does not show it */
    } cases[] = {
        { "newer than the write: what it shows counts", "12", "13", 1 },
        { "the write itself", "12", "12", 1 },
        { "from before the write: it says nothing", "12", "11", 0 },
        { "nobody knows what is newer", "", "11", 1 },
        { "no numbers", "x12", "x11", 1 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct desk desk;
        struct pod pod = new_pod();
        begin(&desk);
        pod_status_set(&desk.statuses, &pod, &waits, desk.now_ns);
        answer_with(&desk, ANSWER_DONE, cases[i].written);
        pod.meta.resource_version = str_from(cases[i].seen);
        pod_status_seen(&desk.statuses, &pod);
        pod_status_set(&desk.statuses, &pod, &waits, desk.now_ns);
        if (desk.h.wanted.len != 1 + cases[i].again)
            fail_msg("%s: %zu writes", cases[i].what, desk.h.wanted.len);
        end(&desk);
    }
}

/* A nomination that was written and is not seen yet is taken back all the same. */
static void test_unseen_nomination(void **state)
{
    (void)state;
    struct desk desk;
    struct pod pod = new_pod();
    struct status_change set = { .nomination = NOMINATION_SET, .node = STR("a") }, clear = waits;
    clear.nomination = NOMINATION_CLEAR;
    begin(&desk);
    pod_status_set(&desk.statuses, &pod, &set, desk.now_ns);
    answer_with(&desk, ANSWER_DONE, "20");
    pod.meta.resource_version = STR("15"); /* a straggler */
    pod_status_seen(&desk.statuses, &pod);
    pod_status_set(&desk.statuses, &pod, &clear, desk.now_ns);
    const struct effect *effect = &host_wants(&desk.h, EFFECT_POD_STATUS)->effect;
    assert_true(effect->sets_nomination);
    assert_str(effect->node, "");
    assert_non_null(effect->condition);
    end(&desk);
}

static void test_forget(void **state)
{
    (void)state;
    struct desk desk;
    struct pod pod = new_pod();
    begin(&desk);
    for (int answered = 0; answered < 2; answered++) {
        pod_status_set(&desk.statuses, &pod, &waits, desk.now_ns);
        if (answered)
            answer(&desk, ANSWER_DONE);
        pod_status_forget(&desk.statuses, &pod, desk.now_ns);
        pod_status_forget(&desk.statuses, &pod, desk.now_ns);
        assert_int_equal(desk.statuses.by_pod.len, 0);
        assert_int_equal(desk.writes.by_ticket.len, 0);
        vec_clear(&desk.h.wanted);
    }
    end(&desk);
}

/* ---- few of all pods ---- */
enum { CROWD = 3 * STATUS_WRITES_MAX };

static void gather(struct desk *desk, struct pod *crowd)
{
    begin(desk);
    desk->crowd = crowd;
    desk->crowd_len = CROWD;
    for (size_t i = 0; i < CROWD; i++) {
        crowd[i] = new_pod();
        crowd[i].meta.name = arena_printf(&desk->h.arena, "p%zu", i);
        crowd[i].meta.uid = arena_printf(&desk->h.arena, "u%zu", i);
        pod_status_set(&desk->statuses, &crowd[i], &waits, desk->now_ns);
    }
    assert_int_equal(desk->h.wanted.len, STATUS_WRITES_MAX);
}

static const struct wanted *last_wanted(const struct desk *desk)
{
    return desk->h.wanted.items[desk->h.wanted.len - 1];
}

static void test_few_at_a_time(void **state)
{
    (void)state;
    struct desk desk;
    struct pod crowd[CROWD];
    struct status_change newer = with_message("newer"), newest = with_message("newest");
    gather(&desk, crowd);
    pod_status_set(&desk.statuses, &crowd[0], &newer, desk.now_ns); /* under way: behind all who wait */
    pod_status_set(&desk.statuses, &crowd[STATUS_WRITES_MAX], &newer, desk.now_ns);
    pod_status_set(&desk.statuses, &crowd[STATUS_WRITES_MAX], &newest, desk.now_ns);
    assert_false(pod_status_busy(&desk.statuses, &crowd[STATUS_WRITES_MAX]));
    for (size_t i = 0; i < CROWD - STATUS_WRITES_MAX; i++) {
        answer(&desk, ANSWER_DONE);
        assert_int_equal(desk.h.wanted.len, STATUS_WRITES_MAX + i + 1);
        assert_true(str_eq(last_wanted(&desk)->effect.name, crowd[STATUS_WRITES_MAX + i].meta.name));
        assert_str(last_wanted(&desk)->condition.message, i ? "no room" : "newest");
    }
    answer(&desk, ANSWER_DONE);
    assert_str(last_wanted(&desk)->effect.name, "p0");
    assert_str(last_wanted(&desk)->condition.message, "newer");
    while (desk.writes.by_ticket.len)
        answer(&desk, ANSWER_DONE);
    assert_int_equal(desk.h.wanted.len, CROWD + 1);
    assert_int_equal(desk.statuses.under_way, 0);
    end(&desk);
}

/* One is bound, one is gone and another has its name, one shows by now what was to be said; and one whose write is
 * under way is gone, which makes room. */
static void test_who_leaves_the_line(void **state)
{
    (void)state;
    struct desk desk;
    struct pod crowd[CROWD];
    gather(&desk, crowd);
    struct pod *bound = &crowd[STATUS_WRITES_MAX], *other = bound + 1, *shown = bound + 2, *next = bound + 3;
    struct pod_condition there = { .type = waits.type,
                                   .status = waits.status,
                                   .reason = waits.reason,
                                   .message = waits.message,
                                   .observed_generation = 1 };
    pod_status_void(&desk.statuses, bound);
    other->meta.uid = STR("u-other");
    shown->status.conditions.items = &there;
    shown->status.conditions.len = 1;
    pod_status_seen(&desk.statuses, shown);
    struct pod gone = crowd[1];
    pod_status_forget(&desk.statuses, &gone, desk.now_ns);
    assert_true(str_eq(last_wanted(&desk)->effect.name, next->meta.name));
    assert_int_equal(desk.statuses.by_pod.len, CROWD - 4);
    for (size_t i = 0; i < CROWD; i++)
        pod_status_forget(&desk.statuses, &crowd[i], desk.now_ns);
    assert_int_equal(desk.statuses.by_pod.len, 0);
    assert_int_equal(desk.writes.by_ticket.len, 0);
    assert_int_equal(desk.statuses.under_way, 0);
    assert_null(desk.statuses.waiting.first);
    end(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_condition_wanted),  cmocka_unit_test(test_nothing_to_say),
        cmocka_unit_test(test_newest_wins),       cmocka_unit_test(test_same_again),
        cmocka_unit_test(test_how_it_ends),       cmocka_unit_test(test_seen),
        cmocka_unit_test(test_unseen_nomination), cmocka_unit_test(test_forget),
        cmocka_unit_test(test_few_at_a_time),     cmocka_unit_test(test_who_leaves_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
