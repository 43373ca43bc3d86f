/* Items leave a heap in order after any pushes, pops and removals; each item knows its place. */
#include "support/test.h"

#include "base/heap.h"

enum { ITEMS = 64, NOWHERE = -1 };

struct item {
    uint64_t rank;
    ptrdiff_t at;
};

static int calls_context;

static bool item_before(const void *a, const void *b, const void *context)
{
    assert_ptr_equal(context, &calls_context);
    return ((const struct item *)a)->rank < ((const struct item *)b)->rank;
}

static void item_moved(void *item, size_t at)
{
    ((struct item *)item)->at = (ptrdiff_t)at;
}

static struct heap new_heap(void)
{
    return (struct heap){ .before = item_before, .moved = item_moved, .context = &calls_context };
}

static void check_places(const struct heap *heap, const struct item *items)
{
    size_t inside = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        if (items[i].at == NOWHERE)
            continue;
        assert_ptr_equal(heap->items.items[items[i].at], &items[i]);
        inside++;
    }
    assert_int_equal(heap->items.len, inside);
}

static struct item *smallest(struct item *items)
{
    struct item *found = NULL;
    for (size_t i = 0; i < ITEMS; i++)
        if (items[i].at != NOWHERE && (!found || items[i].rank < found->rank))
            found = &items[i];
    return found;
}

static void test_against_model(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct item items[ITEMS];
    for (size_t i = 0; i < ITEMS; i++)
        items[i] = (struct item){ .at = NOWHERE };
    _cleanup_(heap_release) struct heap heap = new_heap();
    for (int step = 0; step < 50000; step++) {
        struct item *item = &items[rng_below(&rng, ITEMS)];
        if (item->at == NOWHERE) {
            item->rank = rng_next(&rng);
            heap_push(&heap, item);
        } else if (rng_below(&rng, 2)) {
            heap_remove(&heap, (size_t)item->at);
            item->at = NOWHERE;
        } else {
            struct item *want = smallest(items), *got = heap_pop(&heap);
            assert_ptr_equal(got, want);
            got->at = NOWHERE;
        }
        check_places(&heap, items);
    }
}

static void test_sorts(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct item items[ITEMS];
    struct heap heap = new_heap();
    heap.moved = NULL;
    for (size_t i = 0; i < ITEMS; i++) {
        items[i].rank = rng_below(&rng, 10); /* many are equal */
        heap_push(&heap, &items[i]);
    }
    uint64_t last = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        const struct item *item = heap_pop(&heap);
        assert_true(item->rank >= last);
        last = item->rank;
    }
    assert_null(heap_pop(&heap));
    heap_release(&heap);
    heap_release(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_sorts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
