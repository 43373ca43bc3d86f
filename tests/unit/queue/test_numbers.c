/* What the queue counts for metrics. */
#include "setup.h"

static uint64_t incoming(const struct setup *b, enum queue_name name, enum event_resource resource,
                         uint32_t actions)
{
    return b->queue
        .incoming[name][event_label(&(struct cluster_event){ .resource = resource, .actions = actions })];
}

static void test_numbers(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *pod = add(&b, "pod", 0, "app: red");
    add(&b, "gated", 0, "gate: closed");
    assert_int_equal(incoming(&b, QUEUE_NAME_ACTIVE, EVENT_UNSCHEDULED_POD, ACTION_ADD), 1);
    assert_int_equal(incoming(&b, QUEUE_NAME_UNSCHEDULABLE, EVENT_UNSCHEDULED_POD, ACTION_ADD), 1);
    assert_int_equal(b.queue.reasons[0][3], 1);
    reject_pod(&b, pod, ALPHA | BETA);
    assert_int_equal(b.queue.incoming[QUEUE_NAME_UNSCHEDULABLE][LABEL_ATTEMPT_FAILURE], 1);
    assert_int_equal(b.queue.reasons[0][0], 1);
    assert_int_equal(b.queue.reasons[0][1], 1);
    node_added(&b, "red");
    assert_int_equal(incoming(&b, QUEUE_NAME_BACKOFF, EVENT_NODE, ACTION_ADD), 1);
    assert_int_equal(b.queue.reasons[0][0], 1); /* it is still waiting */
    pop(&b, pod);
    assert_int_equal(b.queue.incoming[QUEUE_NAME_ACTIVE][LABEL_POP_FROM_BACKOFF], 1);
    assert_int_equal(b.queue.reasons[0][0], 0);
    queue_done(&b.queue, pod);
    setup_release(&b);
}

static uint64_t total(const uint64_t (*counts)[LABEL_COUNT], enum queue_name name)
{
    uint64_t sum = 0;
    for (int label = 0; label < LABEL_COUNT; label++)
        sum += counts[name][label];
    return sum;
}

static void assert_entities(const struct setup *b, enum queue_name name, uint64_t pods, uint64_t entities)
{
    assert_int_equal(total((const uint64_t(*)[LABEL_COUNT])b->queue.incoming, name), pods);
    assert_int_equal(total((const uint64_t(*)[LABEL_COUNT])b->queue.incoming_entities, name), entities);
}

/* As an entity a pod does not count in the queue that a hint has sent it to. */
static void test_numbers_of_entities(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *pod = add(&b, "pod", 0, "app: red");
    assert_entities(&b, QUEUE_NAME_ACTIVE, 1, 1);
    reject_pod(&b, pod, ALPHA);
    assert_entities(&b, QUEUE_NAME_UNSCHEDULABLE, 1, 0);
    node_added(&b, "red"); /* it backs off, as the hint says */
    assert_entities(&b, QUEUE_NAME_BACKOFF, 1, 0);
    reject_pod(&b, pod, ALPHA);
    assert_entities(&b, QUEUE_NAME_ACTIVE, 2, 2); /* popped from there */
    wait(&b, 10 * SECOND);
    node_added(&b, "red"); /* nothing is left of its backoff: the hint meant another queue */
    assert_entities(&b, QUEUE_NAME_ACTIVE, 3, 3);
    assert_entities(&b, QUEUE_NAME_BACKOFF, 1, 0);
    assert_entities(&b, QUEUE_NAME_UNSCHEDULABLE, 2, 0);
    setup_release(&b);
}

/* A pod that is gated again when it is updated or activated has not left its wait list. */
static void test_a_gated_pod_does_not_come_again(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *gated = add(&b, "gated", 0, "gate: closed");
    assert_entities(&b, QUEUE_NAME_UNSCHEDULABLE, 1, 1);
    queue_activate(&b.queue, gated->pod, b.now_ns);
    assert_place(gated, QUEUE_GATED);
    assert_entities(&b, QUEUE_NAME_UNSCHEDULABLE, 1, 1);
    setup_release(&b);
}

static int64_t no_time(void *context _unused_)
{
    return 1;
}

static void no_point(void *context _unused_, const struct profile *profile _unused_,
                     enum probe_point point _unused_, enum status_code code _unused_, int64_t ns _unused_)
{
}

static void no_hint(void *context _unused_, const struct profile *profile _unused_, uint32_t plugin _unused_,
                    enum event_label label _unused_, enum hint hint _unused_, int64_t ns _unused_)
{
}

static void count_pre_hint(void *context, const char *plugin, bool narrowed)
{
    assert_non_null(plugin);
    ((uint32_t *)context)[narrowed]++;
}

/* With SchedulerPreQueueingHints a plugin may say which pods an event is for: no other one is asked about. */
static void test_narrowed_events(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        struct setup b;
        setup_init(&b);
        b.f.cluster.features.enabled[FEATURE_SchedulerPreQueueingHints] = on;
        uint32_t counts[2] = { 0 };
        const struct probe probe = { .context = counts,
                                     .now_ns = no_time,
                                     .point = no_point,
                                     .hint = no_hint,
                                     .pre_hint = count_pre_hint };
        b.f.profile.probe = &probe;
        struct queued_pod *red = add(&b, "red", 2, "app: red"), *blue = add(&b, "blue", 1, "app: blue");
        reject_pod(&b, red, BETA);
        reject_pod(&b, blue, BETA);
        wait(&b, 10 * SECOND);
        struct pair label = { STR("app"), STR("red") };
        struct pvc claim = { .meta = { .labels = { &label, 1 } } };
        event(&b, EVENT_PVC, ACTION_ADD, NULL, &claim);
        assert_place(red, QUEUE_ACTIVE);
        assert_place(blue, on ? QUEUE_UNSCHEDULABLE : QUEUE_ACTIVE);
        assert_int_equal(counts[0], 0);
        assert_int_equal(counts[1], on);
        event(&b, EVENT_PVC, ACTION_ADD, NULL, &claim); /* counted though no pod waits for it any more */
        assert_int_equal(counts[1], 2 * on);
        setup_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_numbers_of_entities),
        cmocka_unit_test(test_a_gated_pod_does_not_come_again),
        cmocka_unit_test(test_narrowed_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
