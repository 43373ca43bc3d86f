/* Conditions and nominations: one write at a time, the newest change wins, and no value is written twice. */
#include "fake_host.h"

struct setup {
    struct fake_host h;
    struct writes writes;
    struct pod_statuses statuses;
    uint32_t idle;
    int64_t now_ns;
    struct pod *pods; /* in the model */
    size_t crowd_len;
    uint32_t ends[2]; /* of writes that were done, and that failed */
};

static void on_idle(void *context, struct str pod_key, int64_t now_ns)
{
    struct setup *setup = context;
    (void)now_ns;
    assert_true(pod_key.len > 0 && pod_key.ptr[0] == 'u');
    setup->idle++;
}

static const struct pod *find_known(void *context, struct str namespace, struct str name)
{
    struct setup *setup = context;
    assert_str(namespace, "default");
    for (size_t i = 0; i < setup->crowd_len; i++)
        if (str_eq(setup->pods[i].meta.name, name))
            return &setup->pods[i];
    return NULL;
}

static void begin(struct setup *setup)
{
    *setup = (struct setup){ .now_ns = 5000 * SECOND };
    writes_init(&setup->writes, fake_emit, &setup->h, 1);
    setup->statuses = (struct pod_statuses){
        .writes = &setup->writes, .known = find_known, .idle = on_idle, .context = setup
    };
}

static void end(struct setup *setup)
{
    pod_statuses_release(&setup->statuses);
    writes_release(&setup->writes);
    vec_release(&setup->h.wanted);
    arena_release(&setup->h.arena);
}

static void answer_with(struct setup *setup, enum answer_kind kind, const char *version)
{
    struct wanted *wanted = host_wants(&setup->h, EFFECT_POD_STATUS);
    wanted->answered = true;
    writes_answer(&setup->writes, wanted->effect.ticket,
                  &(struct answer){ .kind = kind, .resource_version = str_from(version) }, setup->now_ns);
}

static void answer(struct setup *setup, enum answer_kind kind)
{
    answer_with(setup, kind, "");
}

static struct pod new_pod(void)
{
    return (struct pod){ .meta = { .namespace = STR("default"),
                                   .name = STR("p"),
                                   .uid = STR("u"),
                                   .resource_version = STR("10"),
                                   .generation = 1 } };
}

static const struct status_change waits = { .condition = { .type = STR("PodScheduled"),
                                                           .status = STR("False"),
                                                           .reason = STR("Unschedulable"),
                                                           .message = STR("no room") } };

static struct status_change with_message(const char *message)
{
    struct status_change change = waits;
    change.condition.message = str_from(message);
    return change;
}

/* ---- which changes are written ---- */
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
        { "it is about an older generation", "PodScheduled", "False", "Unschedulable", "no room", 0, false,
          true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct pod pod = new_pod();
        struct wanted_condition wanted = waits.condition;
        struct pod_condition there = { .type = str_from(cases[i].type),
                                       .status = str_from(cases[i].status),
                                       .reason = str_from(cases[i].reason),
                                       .message = str_from(cases[i].message),
                                       .last_transition_time = { .set = true, .seconds = 77 },
                                       .observed_generation = cases[i].generation };
        pod.status.conditions.items = &there;
        pod.status.conditions.len = 1;
        bool is_wanted = condition_wanted(&pod, 5000 * SECOND, &wanted);
        if (is_wanted != cases[i].wanted)
            fail_msg("%s", cases[i].what);
        assert_int_equal(wanted.last_transition_time.seconds, cases[i].keeps_time ? 77 : 5000);
        assert_int_equal(wanted.observed_generation.value, 1);
        assert_str(wanted.message, "no room");
    }
}

static void test_nothing_to_write(void **state)
{
    (void)state;
    struct setup setup;
    struct pod pod = new_pod();
    struct pod_condition there = { .type = waits.condition.type,
                                   .status = waits.condition.status,
                                   .reason = waits.condition.reason,
                                   .message = waits.condition.message,
                                   .observed_generation = 1 };
    begin(&setup);
    pod.status.conditions.items = &there;
    pod.status.conditions.len = 1;
    pod.status.nominated_node_name = STR("a");
    pod_status_set(&setup.statuses, &pod, &waits, setup.now_ns);
    struct status_change same = waits;
    same.nomination = NOMINATION_SET;
    same.node = STR("a");
    pod_status_set(&setup.statuses, &pod, &same, setup.now_ns);
    assert_int_equal(setup.h.wanted.len, 0);
    same.node = STR("b"); /* only the nomination */
    pod_status_set(&setup.statuses, &pod, &same, setup.now_ns);
    const struct effect *effect = &host_wants(&setup.h, EFFECT_POD_STATUS)->effect;
    assert_null(effect->condition);
    assert_true(effect->sets_nomination);
    assert_str(effect->node, "b");
    end(&setup);
}

/* The watch may show the pod with the condition before the answer comes: nothing newer will be seen of it. The next
 * attempt of the pod wants no nomination, which it does not have. */
static void test_second_attempt(void **state)
{
    (void)state;
    for (int seen_first = 0; seen_first < 2; seen_first++) {
        struct setup setup;
        struct pod pod = new_pod(), seen = new_pod();
        struct pod_condition there = { .type = waits.condition.type,
                                       .status = waits.condition.status,
                                       .reason = waits.condition.reason,
                                       .message = waits.condition.message,
                                       .observed_generation = 1 };
        struct status_change change = waits;
        begin(&setup);
        seen.meta.resource_version = STR("11");
        seen.status.conditions.items = &there;
        seen.status.conditions.len = 1;
        change.nomination = NOMINATION_CLEAR;
        pod_status_set(&setup.statuses, &pod, &change, setup.now_ns);
        pod_status_set(&setup.statuses, &pod, &change, setup.now_ns); /* before the answer, too */
        if (seen_first)
            pod_status_seen(&setup.statuses, &seen);
        answer_with(&setup, ANSWER_DONE, "11");
        assert_int_equal(setup.statuses.by_pod.len, !seen_first);
        for (int attempt = 0; attempt < 3; attempt++)
            pod_status_set(&setup.statuses, seen_first ? &seen : &pod, &change, setup.now_ns);
        assert_int_equal(setup.h.wanted.len, 1);
        change.nomination = NOMINATION_SET; /* and only what is new is written */
        change.node = STR("a");
        pod_status_set(&setup.statuses, seen_first ? &seen : &pod, &change, setup.now_ns);
        assert_int_equal(setup.h.wanted.len, 2);
        assert_null(setup.h.wanted.items[1]->effect.condition);
        assert_true(setup.h.wanted.items[1]->effect.sets_nomination);
        end(&setup);
    }
}

/* ---- one at a time ---- */
static void test_newest_wins(void **state)
{
    (void)state;
    struct setup setup;
    struct pod pod = new_pod();
    struct status_change changes[] = { with_message("one"), with_message("two"), with_message("three") };
    changes[1].nomination = NOMINATION_SET; /* kept: later changes do not touch nominations */
    changes[1].node = STR("a");
    begin(&setup);
    assert_false(pod_status_busy(&setup.statuses, &pod));
    for (size_t i = 0; i < 3; i++)
        pod_status_set(&setup.statuses, &pod, &changes[i], setup.now_ns);
    assert_true(pod_status_busy(&setup.statuses, &pod));
    assert_int_equal(setup.h.wanted.len, 1);
    assert_str(host_wants(&setup.h, EFFECT_POD_STATUS)->condition.message, "one");
    answer(&setup, ANSWER_DONE);
    assert_int_equal(setup.idle, 0);
    const struct wanted *next = host_wants(&setup.h, EFFECT_POD_STATUS);
    assert_str(next->condition.message, "three");
    assert_true(next->effect.sets_nomination);
    assert_str(next->effect.node, "a");
    assert_int_equal(next->condition.last_transition_time.seconds, 5000);
    answer(&setup, ANSWER_DONE);
    assert_int_equal(setup.idle, 1);
    assert_false(pod_status_busy(&setup.statuses, &pod));
    pod_status_set(&setup.statuses, &pod, &changes[2],
                   setup.now_ns); /* the model has no newer version of the pod */
    pod_status_set(&setup.statuses, &pod,
                   &(struct status_change){ .nomination = NOMINATION_SET, .node = STR("a") }, setup.now_ns);
    assert_int_equal(setup.h.wanted.len, 2); /* the last write contained both parts */
    end(&setup);
}

/* Dates are the time of day, also after the machine's clock was set, in either direction. */
static void test_dates_follow_the_clock(void **state)
{
    (void)state;
    static const int64_t steps_s[] = { 0, 3600, -4000 };
    for (size_t i = 0; i < ARRAY_SIZE(steps_s); i++) {
        struct setup setup;
        struct pod pod = new_pod();
        struct status_change one = with_message("one"), two = with_message("two");
        begin(&setup);
        setup.statuses.wall_ahead_ns = steps_s[i] * SECOND;
        pod_status_set(&setup.statuses, &pod, &one, setup.now_ns);
        pod_status_set(&setup.statuses, &pod, &two, setup.now_ns);
        assert_int_equal(host_wants(&setup.h, EFFECT_POD_STATUS)->condition.last_transition_time.seconds,
                         5000 + steps_s[i]);
        end(&setup);
    }
}

static void test_same_again(void **state)
{
    (void)state;
    struct setup setup;
    struct pod pod = new_pod();
    begin(&setup);
    pod_status_set(&setup.statuses, &pod, &waits, setup.now_ns);
    pod_status_set(&setup.statuses, &pod, &waits, setup.now_ns);
    answer(&setup, ANSWER_DONE);
    pod_status_set(&setup.statuses, &pod, &waits, setup.now_ns); /* the model does not show it yet */
    assert_int_equal(setup.h.wanted.len, 1);
    assert_int_equal(setup.idle, 1);
    end(&setup);
}

static void test_answers(void **state)
{
    (void)state;
    static const struct {
        enum answer_kind kind;
        bool has_next;
        uint32_t sent, idle, again; /* again: writes if the same change is set once more */
    } cases[] = {
        { ANSWER_DONE, false, 1, 1, 0 },     { ANSWER_DONE, true, 2, 0, 0 },
        { ANSWER_GONE, false, 1, 1, 1 },     { ANSWER_GONE, true, 1, 1, 1 },
        { ANSWER_REFUSED, false, 1, 1, 1 },  { ANSWER_REFUSED, true, 2, 0, 0 },
        { ANSWER_CONFLICT, false, 1, 1, 1 }, { ANSWER_CONFLICT, true, 2, 0, 0 },
        { ANSWER_UNKNOWN, true, 1, 0, 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup;
        struct pod pod = new_pod();
        struct status_change next = with_message("newer");
        begin(&setup);
        pod_status_set(&setup.statuses, &pod, &waits, setup.now_ns);
        if (cases[i].has_next)
            pod_status_set(&setup.statuses, &pod, &next, setup.now_ns);
        answer(&setup, cases[i].kind);
        if (setup.h.wanted.len != cases[i].sent || setup.idle != cases[i].idle)
            fail_msg("%s, %s: %zu sent, %u idle", answer_kind_names[cases[i].kind],
                     cases[i].has_next ? "more waits" : "nothing waits", setup.h.wanted.len, setup.idle);
        pod_status_set(&setup.statuses, &pod, cases[i].has_next ? &next : &waits, setup.now_ns);
        assert_int_equal(setup.h.wanted.len, cases[i].sent + cases[i].again);
        end(&setup);
    }
}

/* ---- observed versions ---- */
static void test_seen(void **state)
{
    (void)state;
    static const struct {
        const char *what, *written, *seen;
        uint32_t again; /* writes if the same change is set once more, for a pod that does not show it */
    } cases[] = {
        { "newer than the write: what it shows counts", "12", "13", 1 },
        { "the write itself", "12", "12", 1 },
        { "from before the write: ignored", "12", "11", 0 },
        { "versions that cannot be compared", "", "11", 1 },
        { "no numbers", "x12", "x11", 1 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup;
        struct pod pod = new_pod();
        begin(&setup);
        pod_status_set(&setup.statuses, &pod, &waits, setup.now_ns);
        answer_with(&setup, ANSWER_DONE, cases[i].written);
        pod.meta.resource_version = str_from(cases[i].seen);
        pod_status_seen(&setup.statuses, &pod);
        pod_status_set(&setup.statuses, &pod, &waits, setup.now_ns);
        if (setup.h.wanted.len != 1 + cases[i].again)
            fail_msg("%s: %zu writes", cases[i].what, setup.h.wanted.len);
        end(&setup);
    }
}

/* A nomination that was written but not observed can still be cleared. */
static void test_unseen_nomination(void **state)
{
    (void)state;
    struct setup setup;
    struct pod pod = new_pod();
    struct status_change set = { .nomination = NOMINATION_SET, .node = STR("a") }, clear = waits;
    clear.nomination = NOMINATION_CLEAR;
    begin(&setup);
    pod_status_set(&setup.statuses, &pod, &set, setup.now_ns);
    answer_with(&setup, ANSWER_DONE, "20");
    pod.meta.resource_version = STR("15"); /* an old version */
    pod_status_seen(&setup.statuses, &pod);
    pod_status_set(&setup.statuses, &pod, &clear, setup.now_ns);
    const struct effect *effect = &host_wants(&setup.h, EFFECT_POD_STATUS)->effect;
    assert_true(effect->sets_nomination);
    assert_str(effect->node, "");
    assert_non_null(effect->condition);
    end(&setup);
}

static void test_forget(void **state)
{
    (void)state;
    struct setup setup;
    struct pod pod = new_pod();
    begin(&setup);
    for (int answered = 0; answered < 2; answered++) {
        pod_status_set(&setup.statuses, &pod, &waits, setup.now_ns);
        if (answered)
            answer(&setup, ANSWER_DONE);
        pod_status_forget(&setup.statuses, &pod, setup.now_ns);
        pod_status_forget(&setup.statuses, &pod, setup.now_ns);
        assert_int_equal(setup.statuses.by_pod.len, 0);
        assert_int_equal(setup.writes.by_ticket.len, 0);
        vec_clear(&setup.h.wanted);
    }
    end(&setup);
}

/* ---- bounded concurrency ---- */
enum { PODS = 3 * STATUS_WRITES_MAX };

static void add_pods(struct setup *setup, struct pod *pods)
{
    begin(setup);
    setup->pods = pods;
    setup->crowd_len = PODS;
    for (size_t i = 0; i < PODS; i++) {
        pods[i] = new_pod();
        pods[i].meta.name = arena_printf(&setup->h.arena, "p%zu", i);
        pods[i].meta.uid = arena_printf(&setup->h.arena, "u%zu", i);
        pod_status_set(&setup->statuses, &pods[i], &waits, setup->now_ns);
    }
    assert_int_equal(setup->h.wanted.len, STATUS_WRITES_MAX);
}

static const struct wanted *last_wanted(const struct setup *setup)
{
    return setup->h.wanted.items[setup->h.wanted.len - 1];
}

static void test_few_at_a_time(void **state)
{
    (void)state;
    struct setup setup;
    struct pod pods[PODS];
    struct status_change newer = with_message("newer"), newest = with_message("newest");
    add_pods(&setup, pods);
    pod_status_set(&setup.statuses, &pods[0], &newer,
                   setup.now_ns); /* in flight; only its text is new: it comes last */
    pod_status_set(&setup.statuses, &pods[STATUS_WRITES_MAX], &newer, setup.now_ns);
    pod_status_set(&setup.statuses, &pods[STATUS_WRITES_MAX], &newest, setup.now_ns);
    assert_false(pod_status_busy(&setup.statuses, &pods[STATUS_WRITES_MAX]));
    for (size_t i = 0; i < PODS - STATUS_WRITES_MAX; i++) {
        answer(&setup, ANSWER_DONE);
        assert_int_equal(setup.h.wanted.len, STATUS_WRITES_MAX + i + 1);
        assert_true(str_eq(last_wanted(&setup)->effect.name, pods[STATUS_WRITES_MAX + i].meta.name));
        assert_str(last_wanted(&setup)->condition.message, i ? "no room" : "newest");
    }
    for (size_t i = 0; i < STATUS_WRITES_MAX; i++)
        answer(&setup, ANSWER_DONE);
    assert_str(last_wanted(&setup)->effect.name, "p0");
    assert_str(last_wanted(&setup)->condition.message, "newer");
    while (setup.writes.by_ticket.len)
        answer(&setup, ANSWER_DONE);
    assert_int_equal(setup.h.wanted.len, PODS + 1);
    assert_int_equal(setup.statuses.under_way, 0);
    end(&setup);
}

/* New texts are written one at a time, after all else, and rarely where a write takes long; the last one arrives. */
static void test_new_texts(void **state)
{
    (void)state;
    struct setup setup;
    struct pod pods[PODS];
    struct status_change newer = with_message("newer"), failed = with_message("failed");
    failed.condition.reason = STR("SchedulerError");
    add_pods(&setup, pods);
    while (setup.writes.by_ticket.len)
        answer(&setup, ANSWER_DONE);
    for (size_t i = 0; i < PODS; i++)
        pod_status_set(&setup.statuses, &pods[i], &newer, setup.now_ns);
    assert_int_equal(setup.writes.by_ticket.len, 1);
    assert_int_equal(pod_statuses_next_due(&setup.statuses), INT64_MAX);
    pod_status_set(&setup.statuses, &pods[5], &failed, setup.now_ns); /* another reason does not wait */
    assert_str(last_wanted(&setup)->effect.name, "p5");
    assert_str(last_wanted(&setup)->condition.message, "failed");
    answer(&setup, ANSWER_DONE);
    answer(&setup, ANSWER_DONE);
    for (size_t i = 2; i < PODS; i++) {
        assert_int_equal(setup.writes.by_ticket.len, 1);
        setup.now_ns += SECOND;
        answer(&setup, ANSWER_DONE);
        assert_int_equal(setup.writes.by_ticket.len, 0);
        int64_t due_ns = pod_statuses_next_due(&setup.statuses);
        assert_int_equal(due_ns == INT64_MAX, i == PODS - 1);
        assert_true(due_ns > setup.now_ns + SECOND);
        setup.now_ns = due_ns;
        pod_statuses_tick(&setup.statuses, setup.now_ns);
    }
    assert_int_equal(setup.h.wanted.len, 2 * PODS);
    assert_int_equal(setup.writes.by_ticket.len, 0);
    end(&setup);
}

/* One pod is bound, one was recreated, one already shows the change; and one is gone while its write is in flight,
 * which lets the next write start. */
static void test_changes_that_are_dropped(void **state)
{
    (void)state;
    struct setup setup;
    struct pod pods[PODS];
    add_pods(&setup, pods);
    struct pod *bound = &pods[STATUS_WRITES_MAX], *other = bound + 1, *shown = bound + 2, *next = bound + 3;
    struct pod_condition there = { .type = waits.condition.type,
                                   .status = waits.condition.status,
                                   .reason = waits.condition.reason,
                                   .message = waits.condition.message,
                                   .observed_generation = 1 };
    pod_status_void(&setup.statuses, bound);
    other->meta.uid = STR("u-other");
    shown->status.conditions.items = &there;
    shown->status.conditions.len = 1;
    pod_status_seen(&setup.statuses, shown);
    struct pod gone = pods[1];
    pod_status_forget(&setup.statuses, &gone, setup.now_ns);
    assert_true(str_eq(last_wanted(&setup)->effect.name, next->meta.name));
    assert_int_equal(setup.statuses.by_pod.len, PODS - 4);
    for (size_t i = 0; i < PODS; i++)
        pod_status_forget(&setup.statuses, &pods[i], setup.now_ns);
    assert_int_equal(setup.statuses.by_pod.len, 0);
    assert_int_equal(setup.writes.by_ticket.len, 0);
    assert_int_equal(setup.statuses.under_way, 0);
    assert_null(setup.statuses.waiting.first);
    end(&setup);
}

static void on_written(void *context, bool failed, int64_t took_ns)
{
    struct setup *setup = context;
    assert_int_equal(took_ns, 2 * SECOND);
    setup->ends[failed]++;
}

/* A binding replaces a nomination that was not sent yet, with SchedulerAsyncAPICalls; what was sent is waited for. */
static void test_bindings_replace(void **state _unused_)
{
    for (int replaces = 0; replaces < 2; replaces++) {
        struct setup setup;
        struct pod pod = new_pod();
        const struct status_change nominated = { .nomination = NOMINATION_SET, .node = STR("n") };
        begin(&setup);
        setup.statuses.bindings_replace_all = replaces;
        setup.statuses.written = on_written;
        setup.pods = &pod;
        setup.crowd_len = 1;
        pod_status_set(&setup.statuses, &pod, &waits, setup.now_ns);
        pod_status_set(&setup.statuses, &pod, &nominated, setup.now_ns);
        pod_status_void(&setup.statuses, &pod);
        assert_true(pod_status_busy(&setup.statuses, &pod));
        setup.now_ns += 2 * SECOND;
        answer(&setup, ANSWER_DONE);
        assert_int_equal(pod_status_busy(&setup.statuses, &pod), !replaces);
        if (!replaces) {
            setup.now_ns += 2 * SECOND;
            answer(&setup, ANSWER_REFUSED);
        }
        assert_int_equal(setup.ends[0], 1);
        assert_int_equal(setup.ends[1], !replaces);
        end(&setup);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_condition_wanted),  cmocka_unit_test(test_bindings_replace),
        cmocka_unit_test(test_nothing_to_write),  cmocka_unit_test(test_dates_follow_the_clock),
        cmocka_unit_test(test_newest_wins),       cmocka_unit_test(test_same_again),
        cmocka_unit_test(test_answers),           cmocka_unit_test(test_seen),
        cmocka_unit_test(test_unseen_nomination), cmocka_unit_test(test_forget),
        cmocka_unit_test(test_few_at_a_time),     cmocka_unit_test(test_changes_that_are_dropped),
        cmocka_unit_test(test_second_attempt),    cmocka_unit_test(test_new_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
