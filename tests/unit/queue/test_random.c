/* Random operations on the queue: no pod is lost or in two places, the best is popped, and the counts are right. */
#include "plugins.h"

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "queue/wait_lists.h"

enum { PODS = 40, STEPS = 60000 };

struct setup {
    struct fixture f;
    struct queue queue;
    struct rng rng;
    struct pod_info *pods[PODS];        /* known */
    struct queued_pod *in_flight[PODS]; /* the pod may be gone */
    int64_t now_ns;
    size_t popped, from_backoff, woken;
};

static uint64_t random_below(struct setup *w, uint64_t sides)
{
    return rng_below(&w->rng, sides);
}

/* A version of the pod; old ones stay in the fixture's arena. */
static struct pod *make_pod(struct setup *w, int number, int32_t priority)
{
    static const char *const apps[] = { "red", "blue" };
    struct pod *pod = arena_new(&w->f.arena, struct pod);
    struct pair *labels = arena_array(&w->f.arena, struct pair, 2);
    labels[0] = (struct pair){ STR("app"), str_from(apps[random_below(w, 2)]) };
    labels[1] = (struct pair){ STR("gate"), random_below(w, 6) ? STR("open") : STR("closed") };
    pod->meta.name = pod->meta.uid = arena_printf(&w->f.arena, "p%d", number);
    pod->meta.namespace = STR("default");
    pod->meta.labels.items = labels;
    pod->meta.labels.len = 2;
    pod->spec.priority = (struct opt_int32){ true, priority };
    return pod;
}

static void add_pod(struct setup *w, int i)
{
    struct status gate;
    w->pods[i] = cluster_add_pod(&w->f.cluster, make_pod(w, i, (int32_t)random_below(w, 4)));
    struct queued_pod *entry = queue_add(&w->queue, w->pods[i], 0, w->now_ns, &gate);
    assert_int_equal(entry->place, status_ok(gate) ? QUEUE_ACTIVE : QUEUE_GATED);
}

static void change(struct setup *w, int i)
{
    struct pod_info *before = w->pods[i];
    pod_info_ref(before);
    w->pods[i] = cluster_add_pod(&w->f.cluster, make_pod(w, i, before->priority));
    queue_update(&w->queue, before, w->pods[i], 0, w->now_ns);
    pod_info_unref(&w->f.cluster, before);
}

static void remove_pod(struct setup *w, int i)
{
    queue_remove(&w->queue, w->pods[i]);
    cluster_remove_pod(&w->f.cluster, w->pods[i]);
    w->pods[i] = NULL;
}

/* Whether `a` should be popped before `b`. */
static bool beats(const struct queued_pod *a, const struct queued_pod *b, bool backoff)
{
    if (backoff && a->backoff_until_ns != b->backoff_until_ns)
        return a->backoff_until_ns < b->backoff_until_ns;
    if (a->pod->priority != b->pod->priority)
        return a->pod->priority > b->pod->priority;
    return a->since_ns != b->since_ns ? a->since_ns < b->since_ns : a->order < b->order;
}

static struct queued_pod *best(struct setup *w, enum queue_place place)
{
    struct queued_pod *found = NULL;
    for (int i = 0; i < PODS; i++) {
        struct queued_pod *entry = w->pods[i] ? queue_find(&w->queue, w->pods[i]) : NULL;
        if (entry && entry->place == place && (!found || beats(entry, found, place == QUEUE_BACKOFF)))
            found = entry;
    }
    return found;
}

static void pop(struct setup *w)
{
    struct queued_pod *active = best(w, QUEUE_ACTIVE), *want = active ? active : best(w, QUEUE_BACKOFF);
    struct queued_pod *entry = queue_pop(&w->queue);
    assert_ptr_equal(entry, want);
    if (!entry)
        return;
    w->popped++;
    w->from_backoff += !active;
    for (int i = 0; i < PODS; i++) {
        if (w->pods[i] != entry->pod)
            continue;
        assert_null(w->in_flight[i]);
        w->in_flight[i] = entry;
    }
}

static void end_attempt(struct setup *w, int i)
{
    uint64_t by = random_below(w, 8);
    struct queued_pod *entry = w->in_flight[i];
    w->in_flight[i] = NULL;
    if (random_below(w, 4) == 0)
        queue_settle(&w->queue, entry);
    if (w->pods[i] && random_below(w, 3))
        queue_requeue(&w->queue, entry, by, by & GAMMA, w->now_ns);
    else {
        queue_done(&w->queue, entry);
        if (w->pods[i]) {
            cluster_remove_pod(&w->f.cluster, w->pods[i]);
            w->pods[i] = NULL;
        }
    }
}

static void random_operation(struct setup *w)
{
    static const struct {
        enum event_resource resource;
        uint32_t actions;
    } kinds[] = {
        { EVENT_NODE, ACTION_ADD },
        { EVENT_NODE, ACTION_NODE_LABEL },
        { EVENT_NODE, ACTION_NODE_TAINT },
        { EVENT_NODE, ACTION_DELETE },
        { EVENT_NODE, ACTION_NODE_ALLOCATABLE },
        { EVENT_ASSIGNED_POD, ACTION_ADD },
        { EVENT_ASSIGNED_POD, ACTION_DELETE },
        { EVENT_ANY, ACTION_ALL },
    };
    size_t kind = random_below(w, ARRAY_SIZE(kinds)), before = w->queue.counts[QUEUE_UNSCHEDULABLE];
    struct pod *pod = make_pod(w, -1, 0);
    struct node node = { .meta = pod->meta };
    pod->spec.node_name = STR("n");
    const void *object = kinds[kind].resource == EVENT_NODE ? (const void *)&node : pod;
    struct cluster_event event = { .resource = kinds[kind].resource, .actions = kinds[kind].actions };
    if (event.resource != EVENT_ANY) {
        event.before = event.actions == ACTION_ADD ? NULL : object;
        event.after = event.actions == ACTION_DELETE ? NULL : object;
    }
    struct queue_filter only = { .has_priority_max = random_below(w, 2),
                                 .priority_max = (int32_t)random_below(w, 4) };
    queue_event(&w->queue, &event, &only, w->now_ns);
    w->woken += before - w->queue.counts[QUEUE_UNSCHEDULABLE];
}

/* ---- invariants ---- */
static void check_reasons(const struct setup *w)
{
    uint32_t reasons[PLUGINS_MAX] = { 0 };
    for (int i = 0; i < PODS; i++) {
        const struct queued_pod *entry = w->pods[i] ? queue_find(&w->queue, w->pods[i]) : NULL;
        for (uint32_t p = 0; entry && entry->place != QUEUE_IN_FLIGHT && p < 4; p++)
            reasons[p] += (entry->unschedulable | entry->pending) >> p & 1;
    }
    assert_memory_equal(reasons, w->queue.reasons[0], sizeof(reasons));
}

static void check_entry(const struct setup *w, const struct queued_pod *entry)
{
    const struct queue *queue = &w->queue;
    const struct heap *heap =
        entry->place && entry->place <= QUEUE_LAST_HEAP ? &queue->heaps[entry->place] : NULL;
    bool in_list = entry->place == QUEUE_UNSCHEDULABLE || entry->place == QUEUE_GATED;
    if (heap)
        assert_ptr_equal(heap->items.items[entry->at], entry);
    assert_int_equal(entry->list != NULL, in_list);
    if (in_list) {
        assert_ptr_equal(entry->list->pods.items[entry->at], entry);
        assert_int_equal(entry->list->unschedulable, entry->unschedulable);
        assert_int_equal(entry->list->pending, entry->pending);
        assert_int_equal(entry->list->gate, entry->gate);
    }
    assert_int_equal(entry->gate != GATE_NONE, entry->place == QUEUE_GATED);
    if (entry->place == QUEUE_ERROR_BACKOFF || entry->place == QUEUE_BACKOFF)
        assert_int_equal(entry->place == QUEUE_ERROR_BACKOFF, !(entry->unschedulable | entry->pending));
}

static void check(struct setup *w)
{
    size_t counts[QUEUE_PLACE_COUNT] = { 0 }, known = 0;
    for (int i = 0; i < PODS; i++) {
        struct queued_pod *entry = w->pods[i] ? queue_find(&w->queue, w->pods[i]) : NULL;
        assert_int_equal(entry != NULL, w->pods[i] != NULL);
        if (w->in_flight[i])
            assert_int_equal(w->in_flight[i]->place, QUEUE_IN_FLIGHT);
        counts[QUEUE_IN_FLIGHT] += w->in_flight[i] != NULL;
        if (!entry)
            continue;
        known++;
        assert_ptr_equal(entry->pod, w->pods[i]);
        assert_int_equal(entry->place == QUEUE_IN_FLIGHT, w->in_flight[i] == entry);
        counts[entry->place] += entry->place != QUEUE_IN_FLIGHT;
        check_entry(w, entry);
    }
    assert_memory_equal(counts, w->queue.counts, sizeof(counts));
    assert_int_equal(w->queue.entries.len, known);
    check_reasons(w);
}

static void step(struct setup *w)
{
    int i = (int)random_below(w, PODS);
    uint64_t what = random_below(w, 100);
    static const int64_t jumps_ms[] = { 0, 0, 1, 40, 700, 1500, 12000, 31000, 320000, -2000 };
    if (what < 8) {
        w->now_ns += jumps_ms[random_below(w, ARRAY_SIZE(jumps_ms))] * 1000000;
        int64_t due = queue_next_due(&w->queue);
        size_t counts[QUEUE_PLACE_COUNT];
        memcpy(counts, w->queue.counts, sizeof(counts));
        queue_tick(&w->queue, w->now_ns);
        if (due > w->now_ns) /* nothing was due */
            assert_memory_equal(counts, w->queue.counts, sizeof(counts));
        assert_true(queue_next_due(&w->queue) > w->now_ns);
    } else if (what < 35) {
        pop(w);
    } else if (what < 65) {
        if (w->in_flight[i])
            end_attempt(w, i);
        else if (!w->pods[i])
            add_pod(w, i);
    } else if (what < 73) {
        if (w->pods[i])
            change(w, i);
    } else if (what < 77) {
        if (w->pods[i])
            remove_pod(w, i);
    } else if (what < 82) {
        if (w->pods[i])
            queue_activate(&w->queue, w->pods[i], w->now_ns);
    } else {
        random_operation(w);
    }
}

static void test_any_history(void **state)
{
    (void)state;
    static struct setup w;
    w = (struct setup){ .rng = test_rng(), .now_ns = 1000 * NS_PER_SECOND };
    FIXTURE(&w.f, NULL, TEST_PLUGINS);
    struct queue_options options = test_options(&w.f, w.now_ns);
    queue_init(&w.queue, &options);
    for (int i = 0; i < STEPS; i++) {
        step(&w);
        if (i % 7 == 0)
            check(&w);
    }
    assert_true(w.popped > 1000 && w.from_backoff > 100 && w.woken > 100); /* the run reached all places */
    for (int i = 0; i < PODS; i++) /* deleted pods in flight are no longer in the queue */
        if (w.in_flight[i])
            queue_done(&w.queue, w.in_flight[i]);
    queue_release(&w.queue);
    fixture_release(&w.f);
}

/* Many pods are added and removed, many times: memory is released. */
static void test_memory(void **state)
{
    (void)state;
    enum { MANY_PODS = 20000, ROUNDS = 5 };
    struct fixture f;
    struct queue queue;
    FIXTURE(&f, NULL, TEST_PLUGINS);
    struct queue_options options = test_options(&f, NS_PER_SECOND);
    queue_init(&queue, &options);
    static const struct pod api;
    struct pod_info *pods = xcalloc(MANY_PODS, sizeof(*pods));
    size_t used[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        struct status gate;
        for (int i = 0; i < MANY_PODS; i++) {
            pods[i].api = &api;
            queue_add(&queue, &pods[i], 0, NS_PER_SECOND, &gate);
        }
        for (int i = 0; i < MANY_PODS; i++)
            queue_requeue(&queue, queue_pop(&queue), i % 3 ? ALPHA : BETA, 0, NS_PER_SECOND);
        struct cluster_event event = { .resource = EVENT_ANY, .actions = ACTION_ALL };
        queue_event(&queue, &event, NULL, NS_PER_SECOND);
        for (int i = 0; i < MANY_PODS; i++)
            queue_done(&queue, queue_pop(&queue));
        assert_true(queue.heaps[QUEUE_ACTIVE].items.cap <= 4096 &&
                    queue.heaps[QUEUE_BACKOFF].items.cap <= 4096);
        used[round] = mallinfo2().uordblks;
    }
    for (int round = 1; round < ROUNDS; round++)
        assert_int_equal(used[round], used[0]);
    free(pods);
    queue_release(&queue);
    fixture_release(&f);
}

/* Repeated attempts and rejections allocate nothing. */
static void test_steady(void **state)
{
    (void)state;
    struct fixture f;
    struct queue queue;
    struct status gate;
    FIXTURE(&f, NULL, TEST_PLUGINS);
    struct queue_options options = test_options(&f, NS_PER_SECOND);
    queue_init(&queue, &options);
    fixture_load(&f, "{kind: Pod, metadata: {name: a}}\n---\n{kind: Pod, metadata: {name: b}}");
    queue_add(&queue, fixture_pod(&f, "a"), 0, NS_PER_SECOND, &gate);
    queue_add(&queue, fixture_pod(&f, "b"), 0, NS_PER_SECOND, &gate);
    struct pod gone = { .spec.node_name = STR("n") };
    struct cluster_event event = { .resource = EVENT_ASSIGNED_POD,
                                   .actions = ACTION_DELETE,
                                   .before = &gone };
    size_t used = 0;
    for (int i = 0; i < 10000; i++) {
        struct queued_pod *first = queue_pop(&queue), *second = queue_pop(&queue);
        queue_requeue(&queue, first, BETA, 0, NS_PER_SECOND);
        queue_event(&queue, &event, NULL, NS_PER_SECOND);
        queue_requeue(&queue, second, i % 2 ? BETA : 0, 0, NS_PER_SECOND);
        queue_event(&queue, &event, NULL, NS_PER_SECOND);
        queue_tick(&queue, NS_PER_SECOND * (100 + 100 * (int64_t)i));
        if (i == 10)
            used = mallinfo2().uordblks;
        if (i > 10)
            assert_int_equal(mallinfo2().uordblks, used);
    }
    queue_release(&queue);
    fixture_release(&f);
}

/* The C library caches freed chunks and counts them as allocated. Without that, memory is compared exactly. */
static void run_without_malloc_cache(char **argv)
{
    if (!getenv("GLIBC_TUNABLES") && setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1) == 0)
        execv("/proc/self/exe", argv);
}

int main(int argc _unused_, char **argv)
{
    run_without_malloc_cache(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_history),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_steady),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
