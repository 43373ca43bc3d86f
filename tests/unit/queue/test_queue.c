/* Who is decided next, and where the others wait. */
#include "support/test.h"

#include "queue/queue.h"

enum { PODS = 30 };

static bool by_priority(const struct pod_info *a, const struct pod_info *b)
{
    return a->priority > b->priority;
}

static struct pod_info pod_of(int32_t priority)
{
    return (struct pod_info){ .priority = priority };
}

static void assert_next(struct queue *queue, const struct pod_info *want)
{
    struct queued_pod *entry = queue_pop(queue);
    assert_non_null(entry);
    assert_ptr_equal(entry->pod, want);
    queue_done(queue, entry);
}

static void test_order(void **state)
{
    (void)state;
    struct pod_info low = pod_of(1), high = pod_of(9), first = pod_of(5), second = pod_of(5),
                    negative = pod_of(-1);
    struct queue queue;
    queue_init(&queue, by_priority);
    queue_add(&queue, &low, false);
    queue_add(&queue, &first, false);
    queue_add(&queue, &negative, false);
    queue_add(&queue, &high, false);
    queue_add(&queue, &second, false);
    assert_next(&queue, &high);
    assert_next(&queue, &first); /* equal ones as they came */
    assert_next(&queue, &second);
    assert_next(&queue, &low);
    assert_next(&queue, &negative);
    assert_null(queue_pop(&queue));
    queue_release(&queue);
}

static void test_no_sorter(void **state)
{
    (void)state;
    struct pod_info low = pod_of(1), high = pod_of(9);
    struct queue queue;
    queue_init(&queue, NULL);
    queue_add(&queue, &low, false);
    queue_add(&queue, &high, false);
    assert_next(&queue, &low);
    assert_next(&queue, &high);
    queue_release(&queue);
}

/* A pod that is tried again keeps its place among equals, and its attempts are counted. */
static void test_retry(void **state)
{
    (void)state;
    struct pod_info first = pod_of(5), second = pod_of(5);
    struct queue queue;
    queue_init(&queue, by_priority);
    queue_add(&queue, &first, false);
    queue_add(&queue, &second, false);
    struct queued_pod *entry = queue_pop(&queue);
    assert_ptr_equal(entry->pod, &first);
    assert_int_equal(entry->place, QUEUE_NOWHERE);
    queue_retry(&queue, entry);
    entry = queue_pop(&queue);
    assert_ptr_equal(entry->pod, &first);
    assert_int_equal(entry->attempts, 2);
    queue_park(&queue, entry);
    assert_next(&queue, &second);
    assert_null(queue_pop(&queue)); /* who is parked is not tried */
    queue_wake_all(&queue);
    entry = queue_pop(&queue);
    assert_ptr_equal(entry->pod, &first);
    assert_int_equal(entry->attempts, 3);
    queue_done(&queue, entry);
    queue_release(&queue);
}

static void test_gated(void **state)
{
    (void)state;
    struct pod_info gated = pod_of(9), open = pod_of(1);
    struct queue queue;
    queue_init(&queue, by_priority);
    queue_add(&queue, &gated, true);
    queue_add(&queue, &open, false);
    assert_next(&queue, &open);
    queue_wake_all(&queue); /* does not open gates */
    assert_null(queue_pop(&queue));
    assert_int_equal(queue.gated.len, 1);
    queue_release(&queue);
}

/* Gone from wherever it waits; the others stay where they are. */
static void test_remove(void **state)
{
    (void)state;
    struct pod_info pods[9];
    struct queue queue;
    queue_init(&queue, by_priority);
    for (int i = 0; i < 9; i++) {
        pods[i] = pod_of(9 - i);
        queue_add(&queue, &pods[i], i >= 6);
    }
    for (int i = 0; i < 3; i++)
        queue_park(&queue, queue_pop(&queue)); /* 0 1 2 parked, 3 4 5 active, 6 7 8 gated */
    for (int i = 1; i < 9; i += 3)
        queue_remove(&queue, &pods[i]);
    queue_remove(&queue, &pods[1]); /* is nowhere already */
    assert_int_equal(queue.unschedulable.len, 2);
    assert_int_equal(queue.active.items.len, 2);
    assert_int_equal(queue.gated.len, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(queue.unschedulable.items[i]->at, i);
        assert_int_equal(queue.gated.items[i]->at, i);
    }
    queue_wake_all(&queue);
    assert_next(&queue, &pods[0]);
    assert_next(&queue, &pods[2]);
    assert_next(&queue, &pods[3]);
    assert_next(&queue, &pods[5]);
    assert_null(queue_pop(&queue));
    queue_release(&queue);
}

/* ---- any history against a list ---- */
struct waiting {
    enum queue_place place;
    uint64_t arrival;
};

static int best_of(const struct pod_info *pods, const struct waiting *model)
{
    int best = -1;
    for (int i = 0; i < PODS; i++) {
        if (model[i].place != QUEUE_ACTIVE)
            continue;
        if (best < 0 || pods[i].priority > pods[best].priority ||
            (pods[i].priority == pods[best].priority && model[i].arrival < model[best].arrival))
            best = i;
    }
    return best;
}

static void pop_and_settle(struct queue *queue, struct pod_info *pods, struct waiting *model, struct rng *rng)
{
    int want = best_of(pods, model);
    struct queued_pod *entry = queue_pop(queue);
    assert_int_equal(entry != NULL, want >= 0);
    if (!entry)
        return;
    assert_ptr_equal(entry->pod, &pods[want]);
    switch (rng_below(rng, 3)) {
    case 0:
        queue_retry(queue, entry);
        break;
    case 1:
        queue_park(queue, entry);
        model[want].place = QUEUE_UNSCHEDULABLE;
        break;
    default:
        queue_done(queue, entry);
        model[want].place = QUEUE_NOWHERE;
    }
}

static void test_any_history(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct pod_info pods[PODS];
    struct waiting model[PODS] = { 0 };
    struct queue queue;
    uint64_t arrivals = 0;
    queue_init(&queue, by_priority);
    for (int i = 0; i < PODS; i++)
        pods[i] = pod_of((int32_t)rng_below(&rng, 4));
    for (int step = 0; step < 50000; step++) {
        int i = (int)rng_below(&rng, PODS);
        if (rng_below(&rng, 50) == 0) {
            queue_wake_all(&queue);
            for (int k = 0; k < PODS; k++)
                if (model[k].place == QUEUE_UNSCHEDULABLE)
                    model[k].place = QUEUE_ACTIVE;
        } else if (rng_below(&rng, 2)) {
            pop_and_settle(&queue, pods, model, &rng);
        } else if (model[i].place == QUEUE_NOWHERE) {
            bool gated = rng_below(&rng, 8) == 0;
            queue_add(&queue, &pods[i], gated);
            model[i] = (struct waiting){ gated ? QUEUE_GATED : QUEUE_ACTIVE, ++arrivals };
        } else if (rng_below(&rng, 3) == 0) {
            queue_remove(&queue, &pods[i]);
            model[i].place = QUEUE_NOWHERE;
        }
    }
    queue_release(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order), cmocka_unit_test(test_no_sorter), cmocka_unit_test(test_retry),
        cmocka_unit_test(test_gated), cmocka_unit_test(test_remove),    cmocka_unit_test(test_any_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
