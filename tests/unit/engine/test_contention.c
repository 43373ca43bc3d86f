/* A full cluster, in which pods wait, preempt and leave: what the scheduler writes and how often it searches.
 *
 * 200 full nodes, 500 pods wait, 150 of high priority preempt, ten places a second become free, for 30 seconds of
 * virtual time. A small API server answers each request some time later, and shows the result on the watch before or
 * after the answer; victims leave after a second. make bench-live E2E_FLAGS='-contention 150' is the same with real
 * parts. */
#include "fake_host.h"

enum {
    NODES = 200,
    PER_NODE = 4,
    WAITING = 500,
    PREEMPTORS = 150,
    TICKS = 300,
    LATENCY_TICKS = 2,
    LEAVE_TICKS = 10
};
enum { FILLERS = NODES * PER_NODE, PODS = FILLERS + WAITING + PREEMPTORS };
#define TICK (100 * MS)

struct actor {
    char name[16], node[16], nominated[16], text[1024];
    bool is_high, has_condition, is_marked, is_deleting, is_gone;
    int leaves; /* the tick; 0: not yet */
    uint32_t deletions;
};

static struct world {
    struct fake_host h;
    struct actor pods[PODS];
    size_t answered; /* effects that were handled */
    int64_t version;
    int tick;
    uint32_t patches, repeated, bound;
} world;

static struct actor *actor_of(struct str name)
{
    for (size_t i = 0; i < PODS; i++)
        if (str_is(name, world.pods[i].name))
            return &world.pods[i];
    fail_msg("no pod " STR_FMT, STR_ARG(name));
    return NULL;
}

/* The watch shows the pod as it is. */
static void show(const struct actor *pod)
{
    fixture_loadf(
        &world.h.e.f,
        "{kind: Pod, metadata: {name: %s, uid: u-%s, resourceVersion: '%lld', generation: 1%s}, spec: "
        "{priority: %d, %s%s%s containers: [{name: c, resources: {requests: {cpu: 1}}}]}, status: "
        "{nominatedNodeName: '%s', conditions: [%s%s%s%s]}}",
        pod->name, pod->name, (long long)++world.version,
        pod->is_deleting ? ", deletionTimestamp: '2026-01-01T00:00:00Z'" : "", pod->is_high ? 1000 : 0,
        pod->node[0] ? "nodeName: " : "", pod->node, pod->node[0] ? "," : "", pod->nominated,
        pod->has_condition ? "{type: PodScheduled, status: 'False', reason: Unschedulable, "
                             "observedGeneration: 1, message: \""
                           : "",
        pod->text, pod->has_condition ? "\"}," : "",
        pod->is_marked ? "{type: DisruptionTarget, status: 'True', reason: PreemptionByScheduler}" : "");
}

static void add(size_t at, const char *prefix, size_t number, const char *node)
{
    struct actor *pod = &world.pods[at];
    snprintf(pod->name, sizeof(pod->name), "%s%zu", prefix, number);
    snprintf(pod->node, sizeof(pod->node), "%s", node);
    pod->is_high = prefix[0] == 'h';
    show(pod);
}

static void leave(struct actor *pod)
{
    if (pod->is_gone || !pod->node[0])
        return;
    pod->is_gone = true;
    engine_remove_pod(&world.h.e.engine, fixture_pod(&world.h.e.f, pod->name), world.h.e.now_ns);
}

static void set_text(char *to, size_t size, struct str from)
{
    snprintf(to, size, STR_FMT, STR_ARG(from));
}

static void patch_status(struct actor *pod, const struct wanted *wanted)
{
    const struct effect *effect = &wanted->effect;
    world.patches++;
    if (effect->condition && str_is(wanted->condition.type, "DisruptionTarget")) {
        assert_false(pod->is_marked);
        pod->is_marked = true;
    } else if (effect->condition) {
        world.repeated += pod->has_condition && str_is(wanted->condition.message, pod->text);
        pod->has_condition = true;
        set_text(pod->text, sizeof(pod->text), wanted->condition.message);
    }
    if (effect->sets_nomination) {
        world.repeated += str_is(effect->node, pod->nominated);
        set_text(pod->nominated, sizeof(pod->nominated), effect->node);
    }
}

/* What the API server does with a request. */
static void perform(struct wanted *wanted)
{
    struct actor *pod = actor_of(wanted->effect.name);
    if (pod->is_gone) {
        host_answer(&world.h, wanted, ANSWER_GONE);
        return;
    }
    if (wanted->effect.kind == EFFECT_POD_STATUS) {
        patch_status(pod, wanted);
    } else if (wanted->effect.kind == EFFECT_BIND) {
        assert_false(pod->node[0]);
        set_text(pod->node, sizeof(pod->node), wanted->effect.node);
        world.bound++;
    } else {
        assert_int_equal(wanted->effect.kind, EFFECT_DELETE_POD);
        pod->deletions++;
        pod->is_deleting = true;
        pod->leaves = world.tick + LEAVE_TICKS;
    }
    bool shown_first = world.version % 2;
    if (shown_first)
        show(pod);
    char version[24];
    snprintf(version, sizeof(version), "%lld", (long long)(shown_first ? world.version : world.version + 1));
    host_answer_with(&world.h, wanted,
                     (struct answer){ .kind = ANSWER_DONE, .resource_version = str_from(version) });
    if (!shown_first)
        show(pod);
}

/* Requests that were sent up to then are performed. */
static void perform_until(size_t end)
{
    for (; world.answered < end; world.answered++) {
        struct wanted *wanted = world.h.wanted.items[world.answered];
        if (wanted->effect.kind != EFFECT_EVENT)
            perform(wanted);
    }
}

static void run(int preemptors)
{
    size_t sent[LATENCY_TICKS] = { 0 };
    memset(&world, 0, sizeof(world));
    host_begin(&world.h, NULL, NULL);
    for (size_t i = 0; i < NODES; i++)
        fixture_loadf(&world.h.e.f,
                      "{kind: Node, metadata: {name: n%zu}, status: {allocatable: {cpu: %d, pods: 20}}}", i,
                      PER_NODE);
    for (size_t i = 0; i < FILLERS; i++) {
        char node[16];
        snprintf(node, sizeof(node), "n%zu", i % NODES);
        add(i, "f", i, node);
    }
    for (size_t i = 0; i < WAITING; i++)
        add(FILLERS + i, "w", i, "");
    for (world.tick = 1; world.tick <= TICKS; world.tick++) {
        for (int i = 0; world.tick == 10 && i < preemptors; i++)
            add(FILLERS + WAITING + (size_t)i, "h", (size_t)i, "");
        if (world.tick > 10)
            leave(&world.pods[world.tick]);
        for (size_t i = 0; i < PODS; i++)
            if (world.pods[i].leaves == world.tick)
                leave(&world.pods[i]);
        perform_until(sent[world.tick % LATENCY_TICKS]);
        sent[world.tick % LATENCY_TICKS] = world.h.wanted.len;
        host_pass(&world.h, TICK);
    }
}

static uint64_t decisions(void)
{
    const struct engine_stats *stats = &world.h.e.engine.stats;
    return stats->decisions[PATH_PLAIN] + stats->decisions[PATH_SCAN] + stats->decisions[PATH_INDEX];
}

static void test_full_cluster(void **state)
{
    (void)state;
    run(0);
    assert_int_equal(world.repeated, 0);
    assert_int_equal(world.patches, WAITING); /* each is refused once, for a reason that stays */
    assert_in_range(world.bound, TICKS - 20, TICKS);
    assert_true(decisions() > 10 * TICKS);
    assert_true(world.h.e.engine.stats.refusals_repeated > decisions() * 9 / 10);
    host_end(&world.h);
}

static void test_preemption(void **state)
{
    (void)state;
    run(PREEMPTORS);
    uint32_t victims = 0, high = 0;
    for (size_t i = 0; i < PODS; i++) {
        assert_true(world.pods[i].deletions <= 1);
        victims += world.pods[i].deletions;
        high += world.pods[i].is_high && world.pods[i].node[0];
    }
    assert_int_equal(world.repeated, 0);
    assert_int_equal(high, PREEMPTORS);
    assert_in_range(victims, 1, PREEMPTORS); /* none for a pod that has victims already */
    /* The first condition of each pod, nominations, marks of victims; and texts that changed. */
    assert_in_range(world.patches, WAITING + PREEMPTORS, WAITING + 3 * PREEMPTORS + victims + TICKS);
    const struct engine_stats *stats = &world.h.e.engine.stats;
    assert_true(stats->refusals_repeated > decisions() / 2);
    /* A pod that waits for its victims is decided from the table of its class, too; on the plain path it goes to the
     * node that it is nominated to. Nodes with nominated pods are tried again only when they have changed. */
    assert_true(stats->decisions[PATH_PLAIN] <= PREEMPTORS);
    assert_true(stats->rows_remembered > 100000);
    host_end(&world.h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_cluster),
        cmocka_unit_test(test_preemption),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
