/* Where pods wait, when they are requeued, and in which order. test_trace.c compares the same with recorded runs of
 * kube-scheduler; here each rule has its own test. */
#include "setup.h"

#include <fcntl.h>

#include "base/log.h"

static void pod_deleted(struct setup *b)
{
    struct pod gone = { .spec.node_name = STR("n") };
    event(b, EVENT_ASSIGNED_POD, ACTION_DELETE, &gone, NULL);
}

/* A new version of a pod, as the engine passes it on. */
static void update(struct setup *b, struct queued_pod *entry, const char *labels, const char *spec)
{
    struct pod_info *before = entry->pod;
    char name[32];
    snprintf(name, sizeof(name), STR_FMT, STR_ARG(before->api->meta.name));
    pod_info_ref(before);
    fixture_loadf(&b->f, "{kind: Pod, metadata: {name: %s, uid: %s, labels: {%s}}, spec: {priority: %d%s}}",
                  name, name, labels, before->priority, spec);
    queue_update(&b->queue, before, b->f.last_pod, 0, b->now_ns);
    pod_info_unref(&b->f.cluster, before);
}

/* ---- order ---- */
static void test_order(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *low = add(&b, "low", 1, ""), *first = add(&b, "first", 5, "");
    struct queued_pod *second = add(&b, "second", 5, ""), *high = add(&b, "high", 9, "");
    wait(&b, 1 * MS);
    struct queued_pod *third = add(&b, "third", 5, ""), *negative = add(&b, "negative", -1, "");
    pop(&b, high);
    pop(&b, first); /* equal times: in order of arrival */
    pop(&b, second);
    pop(&b, third);
    pop(&b, low);
    pop(&b, negative);
    assert_null(queue_pop(&b.queue));
    assert_int_equal(b.queue.counts[QUEUE_IN_FLIGHT], 6);
    setup_release(&b);
}

static void test_no_sorter(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    b.queue.options.less = NULL;
    struct queued_pod *low = add(&b, "low", 1, ""), *high = add(&b, "high", 9, "");
    pop(&b, low);
    pop(&b, high);
    setup_release(&b);
}

/* A pod that returns from an attempt is queued behind those that were added meanwhile. */
static void test_timestamp_is_renewed(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *old = add(&b, "old", 0, "app: red");
    wait(&b, MS);
    struct queued_pod *young = add(&b, "young", 0, "");
    reject_pod(&b, old, ALPHA);
    wait(&b, 20 * SECOND);
    node_added(&b, "red");
    assert_place(old, QUEUE_ACTIVE);
    pop(&b, young);
    pop(&b, old);
    assert_int_equal(old->attempts, 2);
    setup_release(&b);
}

/* ---- backoff ---- */
/* The backoff doubles up to the maximum, and ends at a full second. */
static void test_backoff_grows(void **state)
{
    (void)state;
    static const int64_t seconds[] = { 1, 2, 4, 8, 10, 10, 10 };
    struct setup b;
    setup_init(&b);
    wait(&b, 300 * MS);
    struct queued_pod *pod = add(&b, "pod", 0, "app: red");
    for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
        int64_t begin = b.now_ns;
        reject_pod(&b, pod, ALPHA);
        assert_int_equal(queue_next_backoff(&b.queue), QUEUE_NEVER);
        node_added(&b, "red");
        assert_place(pod, QUEUE_BACKOFF);
        int64_t due = queue_next_backoff(&b.queue), end = begin + seconds[i] * SECOND;
        assert_int_equal(due, end / SECOND * SECOND + SECOND); /* the end is rounded up to the next second */
        assert_int_equal(queue_next_due(&b.queue), due);
        wait(&b, due - 1 - b.now_ns);
        assert_place(pod, QUEUE_BACKOFF);
        wait(&b, 1);
        assert_place(pod, QUEUE_ACTIVE);
        assert_int_equal(pod->rejections, i + 1);
        wait(&b, 300 * MS);
    }
    setup_release(&b);
}

/* Errors are counted separately, and only consecutive ones. */
static void test_backoff_after_errors(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *pod = add(&b, "pod", 0, "app: red");
    for (int i = 0; i < 2; i++) {
        reject_pod(&b, pod, ALPHA);
        wait(&b, 20 * SECOND);
        node_added(&b, "red");
    }
    for (int64_t expected = 1; expected <= 4; expected *= 2) {
        int64_t begin = b.now_ns;
        reject_pod(&b, pod, 0);
        assert_place(pod, QUEUE_ERROR_BACKOFF);
        assert_int_equal(queue_next_backoff(&b.queue), begin + expected * SECOND + SECOND);
        assert_null(queue_pop(&b.queue)); /* an error backoff is not cut short by an idle scheduler */
        wait(&b, queue_next_backoff(&b.queue) - b.now_ns);
    }
    assert_int_equal(pod->rejections, 2);
    assert_int_equal(pod->errors_in_a_row, 3);
    reject_pod(&b, pod, ALPHA);
    assert_int_equal(pod->errors_in_a_row, 0);
    node_added(&b, "red");
    int64_t until = b.now_ns + 4 * SECOND; /* the third rejection */
    assert_int_equal(queue_next_backoff(&b.queue), until + SECOND);
    setup_release(&b);
}

/* With an empty active queue, rejected pods are popped from backoff: by its end, then by priority. */
static void test_pop_from_backoff(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *low = add(&b, "low", 0, "app: red"), *high = add(&b, "high", 9, "app: red");
    struct queued_pod *failed = add(&b, "failed", 99, "app: red");
    reject_pod(&b, failed, 0);
    reject_pod(&b, high, ALPHA);
    wait(&b, 200 * MS); /* later, but in the same second */
    reject_pod(&b, low, ALPHA);
    wait(&b, 900 * MS);
    struct queued_pod *late = add(&b, "late", 99, "app: red");
    reject_pod(&b, late, ALPHA);
    node_added(&b, "red");
    assert_place(low, QUEUE_BACKOFF);
    assert_place(high, QUEUE_BACKOFF);
    assert_place(late, QUEUE_BACKOFF);
    struct queued_pod *fresh = add(&b, "fresh", -5, "");
    pop(&b, fresh);
    pop(&b, high);
    pop(&b, low);
    pop(&b, late);
    assert_null(queue_pop(&b.queue));
    assert_place(failed, QUEUE_ERROR_BACKOFF);
    setup_release(&b);
}

static void test_no_backoff(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    b.queue.options.backoff_max_ns = 0;
    struct queued_pod *pod = add(&b, "pod", 0, "app: red");
    reject_pod(&b, pod, ALPHA);
    node_added(&b, "red");
    assert_place(pod, QUEUE_ACTIVE);
    reject_pod(&b, pod, 0);
    assert_place(pod, QUEUE_ACTIVE);
    setup_release(&b);
}

/* Huge counts and durations give the maximum and do not overflow. */
static void test_backoff_limits(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    b.queue.options.backoff_max_ns = INT64_MAX;
    struct queued_pod *pod = add(&b, "pod", 0, "app: red");
    pod->rejections = UINT32_MAX - 1;
    reject_pod(&b, pod, ALPHA);
    node_added(&b, "red");
    assert_place(pod, QUEUE_BACKOFF);
    assert_true(queue_next_backoff(&b.queue) > START);
    setup_release(&b);
}

/* ---- events ---- */
static void test_only_rejecting_plugins_are_called(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *alpha = add(&b, "alpha", 0, "app: red"), *beta = add(&b, "beta", 0, "app: red");
    struct queued_pod *both = add(&b, "both", 0, "app: blue");
    reject_pod(&b, alpha, ALPHA);
    reject_pod(&b, beta, BETA);
    reject_pod(&b, both, ALPHA | BETA);
    wait(&b, 20 * SECOND);
    assert_int_equal(b.queue.counts[QUEUE_UNSCHEDULABLE], 3);
    node_added(&b, "green");
    event(&b, EVENT_NODE, ACTION_NODE_CONDITION, &(struct node){ 0 }, &(struct node){ 0 });
    event(&b, EVENT_PV, ACTION_ADD, NULL, &(struct pv){ 0 });
    assert_int_equal(b.queue.counts[QUEUE_UNSCHEDULABLE], 3);
    node_added(&b, "red");
    assert_place(alpha, QUEUE_ACTIVE);
    assert_place(beta, QUEUE_UNSCHEDULABLE); /* its app, but not its rejecting plugin */
    assert_place(both, QUEUE_UNSCHEDULABLE);
    pod_deleted(&b);
    assert_place(beta, QUEUE_ACTIVE);
    assert_place(both, QUEUE_ACTIVE);
    setup_release(&b);
}

/* In 1.36 a rule for new nodes includes changed taints; since 1.37 it does not. */
static void test_new_nodes_include_taints(void **state)
{
    static const struct {
        int minor;
        enum queue_place place;
    } cases[] = { { 36, QUEUE_BACKOFF }, { 37, QUEUE_UNSCHEDULABLE } };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup b;
        setup_init_as(&b, cases[i].minor);
        struct queued_pod *alpha = add(&b, "alpha", 0, "app: red"), *beta = add(&b, "beta", 0, "app: red");
        reject_pod(&b, alpha, ALPHA);
        reject_pod(&b, beta, BETA);
        event(&b, EVENT_NODE, ACTION_NODE_TAINT, &(struct node){ 0 }, &(struct node){ 0 });
        assert_place(alpha, cases[i].place);
        assert_place(beta, QUEUE_UNSCHEDULABLE);
        setup_release(&b);
    }
}

/* A plugin that returned Pending queues its pod at once; for other plugins the backoff applies. */
static void test_pending(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *pod = add(&b, "pod", 0, "app: red"), *other = add(&b, "other", 0, "app: red");
    reject_pod(&b, pod, ALPHA | GAMMA);
    reject_pod(&b, other, ALPHA | GAMMA);
    struct pod added = { .meta.labels = node_of_app("red").meta.labels, .spec.node_name = STR("n") };
    event(&b, EVENT_ASSIGNED_POD, ACTION_ADD, NULL, &added);
    assert_place(pod, QUEUE_ACTIVE);
    pop(&b, pod);
    queue_requeue(&b.queue, pod, ALPHA | GAMMA, GAMMA, b.now_ns);
    node_added(&b, "red");
    assert_place(pod, QUEUE_BACKOFF);
    setup_release(&b);
}

static void test_filter(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *low = add(&b, "low", 1, ""), *high = add(&b, "high", 9, ""),
                      *same = add(&b, "same", 5, "");
    struct pod gone = { .spec.node_name = STR("n") };
    struct cluster_event happened = { .resource = EVENT_ASSIGNED_POD,
                                      .actions = ACTION_DELETE,
                                      .before = &gone };
    reject_pod(&b, high, BETA);
    reject_pod(&b, same, BETA);
    reject_pod(&b, low, BETA);
    struct queue_filter only = { .has_priority_max = true, .priority_max = 5, .except = low->pod };
    queue_event(&b.queue, &happened, &only, b.now_ns);
    assert_place(low, QUEUE_UNSCHEDULABLE);
    assert_place(same, QUEUE_BACKOFF);
    assert_place(high, QUEUE_UNSCHEDULABLE);
    setup_release(&b);
}

/* ---- updates ---- */
static void test_update(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *pod = add(&b, "pod", 0, "app: red"), *other = add(&b, "other", 0, "app: red");
    update(&b, pod, "app: blue", "");
    assert_place(pod, QUEUE_ACTIVE);
    reject_pod(&b, pod, ALPHA);
    reject_pod(&b, other, ALPHA);
    wait(&b, 20 * SECOND);
    update(&b, pod, "app: blue", ", tolerations: [{operator: Exists}]"); /* not a rule of Alpha */
    assert_place(pod, QUEUE_UNSCHEDULABLE);
    update(&b, pod, "app: green", ", tolerations: [{operator: Exists}]");
    assert_place(pod, QUEUE_ACTIVE);
    assert_place(other, QUEUE_UNSCHEDULABLE); /* the event was the pod's own */
    reject_pod(&b, pod, ALPHA);
    node_added(&b, "green");
    assert_place(pod, QUEUE_BACKOFF);
    update(&b, pod, "app: red", "");
    assert_place(pod, QUEUE_BACKOFF); /* already in backoff */
    assert_ptr_equal(queue_find(&b.queue, fixture_pod(&b.f, "pod")), pod);
    setup_release(&b);
}

/* An unknown pod is added. */
static void test_update_of_unknown(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    static const struct pod unknown;
    struct pod_info before = { .api = &unknown };
    fixture_load(&b.f, "{kind: Pod, metadata: {name: pod}}");
    queue_update(&b.queue, &before, b.f.last_pod, 0, b.now_ns);
    assert_place(queue_find(&b.queue, b.f.last_pod), QUEUE_ACTIVE);
    setup_release(&b);
}

static void test_remove(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *pods[6];
    static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
    for (int i = 0; i < 6; i++)
        pods[i] = add(&b, names[i], 10 - i, i == 5 ? "gate: closed" : "app: red");
    reject_pod(&b, pods[0], ALPHA);
    node_added(&b, "red");
    reject_pod(&b, pods[1], 0);
    reject_pod(&b, pods[2], BETA);
    pop(&b, pods[3]);
    static const enum queue_place places[] = { QUEUE_BACKOFF,   QUEUE_ERROR_BACKOFF, QUEUE_UNSCHEDULABLE,
                                               QUEUE_IN_FLIGHT, QUEUE_ACTIVE,        QUEUE_GATED };
    for (int i = 0; i < 6; i++) {
        struct pod_info *pod = fixture_pod(&b.f, names[i]);
        assert_place(pods[i], places[i]);
        queue_remove(&b.queue, pod);
        assert_null(queue_find(&b.queue, pod));
        queue_remove(&b.queue, pod);
        cluster_remove_pod(&b.f.cluster, pod);
    }
    assert_null(queue_pop(&b.queue));
    assert_int_equal(b.queue.counts[QUEUE_IN_FLIGHT], 1);
    queue_requeue(&b.queue, pods[3], ALPHA, 0, b.now_ns); /* deleted: not requeued */
    for (int i = 0; i < QUEUE_PLACE_COUNT; i++)
        assert_int_equal(b.queue.counts[i], 0);
    assert_int_equal(queue_next_due(&b.queue), QUEUE_NEVER);
    setup_release(&b);
}

/* ---- gates ---- */
static void test_gate(void **state)
{
    (void)state;
    struct setup b;
    struct status gate;
    setup_init(&b);
    fixture_load(&b.f, "{kind: Pod, metadata: {name: pod, uid: pod, labels: {gate: closed}}}");
    struct queued_pod *pod = queue_add(&b.queue, b.f.last_pod, 0, b.now_ns, &gate);
    assert_status(gate, STATUS_UNRESOLVABLE, "the gate is closed");
    assert_ptr_equal(gate.plugin, &plugin_gate);
    assert_place(pod, QUEUE_GATED);
    assert_int_equal(pod->first_attempt_ns, QUEUE_NEVER);
    assert_null(queue_pop(&b.queue));
    event(&b, EVENT_NODE, ACTION_NODE_TAINT, &(struct node){ 0 }, &(struct node){ 0 });
    assert_place(pod, QUEUE_GATED); /* checked again, and still closed */
    wait(&b, 5 * SECOND);
    update(&b, pod, "gate: open", "");
    assert_place(pod, QUEUE_ACTIVE);
    assert_int_equal(pod->first_attempt_ns, START + 5 * SECOND);
    assert_int_equal(pod->gate, GATE_NONE);
    setup_release(&b);
}

/* A gate that closes later gates the pod when it is moved next. */
static void test_gate_closes(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *pod = add(&b, "pod", 0, "app: red, gate: open");
    reject_pod(&b, pod, ALPHA);
    update(&b, pod, "app: red, gate: closed", ""); /* a rule of Alpha */
    assert_place(pod, QUEUE_GATED);
    node_added(&b, "red"); /* not a rule of the gate */
    assert_place(pod, QUEUE_GATED);
    assert_int_equal(pod->unschedulable, ALPHA | GATE);
    assert_int_equal(b.queue.reasons[0][3], 1);
    update(&b, pod, "app: red, gate: open", "");
    assert_place(pod, QUEUE_BACKOFF);
    assert_int_equal(pod->unschedulable, ALPHA | GATE); /* until its next attempt */
    setup_release(&b);
}

/* ---- in flight ---- */
static void test_events_in_flight(void **state)
{
    (void)state;
    struct setup b;
    size_t counts[LABEL_COUNT] = { 0 };
    setup_init(&b);
    struct queued_pod *pod = add(&b, "pod", 9, "app: red"), *other = add(&b, "other", 0, "app: blue");
    node_added(&b, "red"); /* too early */
    pop(&b, pod);
    queue_requeue(&b.queue, pod, ALPHA, 0, b.now_ns);
    assert_place(pod, QUEUE_UNSCHEDULABLE);

    wait(&b, 20 * SECOND);
    node_added(&b, "red");
    pop(&b, pod);
    pop(&b, other);
    node_added(&b, "red");
    event(&b, EVENT_NODE, ACTION_NODE_CONDITION, &(struct node){ 0 },
          &(struct node){ 0 }); /* no plugin's rule */
    queue_count_flight_events(&b.queue, counts);
    assert_int_equal(
        counts[event_label(&(struct cluster_event){ .resource = EVENT_NODE, .actions = ACTION_ADD })], 1);
    queue_requeue(&b.queue, pod, BETA, 0, b.now_ns); /* no node helps against Beta */
    queue_requeue(&b.queue, other, ALPHA, 0, b.now_ns);
    assert_place(pod, QUEUE_UNSCHEDULABLE);
    assert_place(other, QUEUE_UNSCHEDULABLE);

    pod_deleted(&b);
    pop(&b, pod);
    pod_deleted(&b);
    queue_requeue(&b.queue, pod, ALPHA | BETA, 0, b.now_ns);
    assert_place(pod, QUEUE_BACKOFF);

    pop(&b, pod);
    queue_settle(&b.queue, pod); /* it can no longer be rejected */
    pod_deleted(&b);
    assert_int_equal(b.queue.flight_events.len, 0);
    queue_requeue(&b.queue, pod, BETA, 0, b.now_ns);
    assert_place(pod, QUEUE_UNSCHEDULABLE);
    setup_release(&b);
}

static void test_pending_in_flight(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *pod = add(&b, "pod", 9, "app: red");
    pop(&b, pod);
    event(&b, EVENT_NODE, ACTION_DELETE, &(struct node){ 0 }, NULL);
    queue_requeue(&b.queue, pod, GAMMA, GAMMA, b.now_ns);
    assert_place(pod, QUEUE_ACTIVE);
    setup_release(&b);
}

static void test_update_in_flight(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *pod = add(&b, "pod", 9, "app: red");
    pop(&b, pod);
    update(&b, pod, "app: red", ", tolerations: [{operator: Exists}]");
    assert_place(pod, QUEUE_IN_FLIGHT);
    queue_requeue(&b.queue, pod, BETA, 0, b.now_ns);
    assert_place(pod, QUEUE_BACKOFF);
    assert_ptr_equal(pod->pod, fixture_pod(&b.f, "pod"));

    pop(&b, pod);
    node_added(&b, "blue");                                              /* not its app, */
    update(&b, pod, "app: blue", ", tolerations: [{operator: Exists}]"); /* until now */
    queue_requeue(&b.queue, pod, ALPHA, 0, b.now_ns);
    assert_place(pod, QUEUE_BACKOFF);
    setup_release(&b);
}

/* An update that no hint can see does not bring back what hints have said before it. */
static void test_irrelevant_update_in_flight(void **state)
{
    static const struct {
        const char *change, *more;
        uint64_t rejected_by;
        enum queue_place place;
    } cases[] = {
        { "", "status: {nominatedNodeName: node}", ALPHA, QUEUE_UNSCHEDULABLE },
        { "", "status: {nominatedNodeName: node}", GAMMA, QUEUE_UNSCHEDULABLE },
        { "annotations: {a: b}, ", "status: {}", GAMMA, QUEUE_UNSCHEDULABLE }, /* says what it reads */
        { "annotations: {a: b}, ", "status: {}", ALPHA, QUEUE_BACKOFF },       /* may read anything */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup b;
        setup_init(&b);
        struct queued_pod *pod = add(&b, "pod", 9, "app: red");
        struct pod other = { .meta = { .labels = { &(struct pair){ STR("app"), STR("blue") }, 1 } } };
        pop(&b, pod);
        node_added(&b, "blue");                         /* Alpha is interested, and says no */
        event(&b, EVENT_POD, ACTION_ADD, NULL, &other); /* so does Gamma */
        struct pod_info *before = pod->pod;
        pod_info_ref(before);
        fixture_loadf(&b.f,
                      "{kind: Pod, metadata: {%sname: pod, uid: pod, labels: {app: red}}, "
                      "spec: {priority: 9}, %s}",
                      cases[i].change, cases[i].more);
        queue_update(&b.queue, before, b.f.last_pod, 0, b.now_ns);
        pod_info_unref(&b.f.cluster, before);
        queue_requeue(&b.queue, pod, cases[i].rejected_by, 0, b.now_ns);
        if (pod->place != cases[i].place)
            fail_msg("case %zu: %s", i, queue_place_names[pod->place]);
        setup_release(&b);
    }
}

/* ---- activation ---- */
static void test_activate(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *rejected = add(&b, "rejected", 9, "app: red"),
                      *failed = add(&b, "failed", 8, "app: red");
    struct queued_pod *flying = add(&b, "flying", 7, "app: red"),
                      *bystander = add(&b, "bystander", 6, "app: red");
    struct queued_pod *gated = add(&b, "gated", 0, "gate: closed");
    reject_pod(&b, rejected, BETA);
    reject_pod(&b, failed, 0);
    pop(&b, flying);
    pop(&b, bystander);
    struct queued_pod *all[] = { rejected, failed, flying, gated };
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        queue_activate(&b.queue, all[i]->pod, b.now_ns);
    queue_activate(&b.queue, &(struct pod_info){ 0 }, b.now_ns); /* unknown */
    assert_place(rejected, QUEUE_ACTIVE);
    assert_place(failed, QUEUE_ACTIVE);
    assert_place(gated, QUEUE_GATED);
    queue_requeue(&b.queue, flying, BETA, 0, b.now_ns);
    queue_requeue(&b.queue, bystander, BETA, 0, b.now_ns);
    assert_place(flying, QUEUE_BACKOFF);
    assert_place(bystander, QUEUE_UNSCHEDULABLE);
    setup_release(&b);
}

/* ---- leftover pods ---- */
static void test_leftovers(void **state)
{
    (void)state;
    struct setup b;
    setup_init(&b);
    struct queued_pod *pod = add(&b, "pod", 0, "app: red"), *gated = add(&b, "gated", 0, "gate: closed");
    wait(&b, 10 * SECOND); /* leftovers are checked: the next time in 30 s */
    reject_pod(&b, pod, ALPHA);
    assert_int_equal(queue_next_due(&b.queue), START + 40 * SECOND);
    for (int i = 0; i < 10; i++) {
        wait(&b, 30 * SECOND);
        assert_place(pod, QUEUE_UNSCHEDULABLE); /* after exactly five minutes it stays */
    }
    assert_false(pod->was_flushed);
    assert_int_equal(gated->flushed_ns, START + 310 * SECOND);
    wait(&b, 29 * SECOND);
    assert_place(pod, QUEUE_UNSCHEDULABLE);
    wait(&b, 1 * SECOND);
    assert_place(pod, QUEUE_ACTIVE);
    assert_true(pod->was_flushed);
    assert_place(gated, QUEUE_GATED);
    assert_false(gated->was_flushed);
    pop(&b, pod);
    queue_requeue(&b.queue, pod, ALPHA, 0, b.now_ns);
    assert_false(pod->was_flushed);
    setup_release(&b);
}

/* The line about a failed attempt names the plugins that rejected the pod; there may be none that has a name. */
static void test_logged(void **state)
{
    static const uint64_t by[] = { 0, ALPHA | GATE, QUEUE_REJECTED_BY_NONE };
    struct setup b;
    struct error err;
    (void)state;
    assert_int_equal(
        log_init(&(struct log_options){ .fd = open("/dev/null", O_WRONLY), .verbosity = 5 }, &err), 0);
    setup_init(&b);
    for (size_t i = 0; i < ARRAY_SIZE(by); i++)
        reject_pod(&b, add(&b, "pod", 0, "app: red"), by[i]);
    setup_release(&b);
    assert_int_equal(log_init(&(struct log_options){ 0 }, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_no_sorter),
        cmocka_unit_test(test_timestamp_is_renewed),
        cmocka_unit_test(test_backoff_grows),
        cmocka_unit_test(test_backoff_after_errors),
        cmocka_unit_test(test_pop_from_backoff),
        cmocka_unit_test(test_no_backoff),
        cmocka_unit_test(test_backoff_limits),
        cmocka_unit_test(test_only_rejecting_plugins_are_called),
        cmocka_unit_test(test_new_nodes_include_taints),
        cmocka_unit_test(test_pending),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_update_of_unknown),
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_gate_closes),
        cmocka_unit_test(test_events_in_flight),
        cmocka_unit_test(test_pending_in_flight),
        cmocka_unit_test(test_update_in_flight),
        cmocka_unit_test(test_irrelevant_update_in_flight),
        cmocka_unit_test(test_activate),
        cmocka_unit_test(test_leftovers),
        cmocka_unit_test(test_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
