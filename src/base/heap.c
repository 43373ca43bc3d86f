/* heap.c: sift up, sift down. */
#include "base/heap.h"

static void put(struct heap *heap, size_t at, void *item)
{
    heap->items.items[at] = item;
    if (heap->moved)
        heap->moved(item, at);
}

static void sift_up(struct heap *heap, size_t at, void *item)
{
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (!heap->before(item, heap->items.items[parent], heap->context))
            break;
        put(heap, at, heap->items.items[parent]);
        at = parent;
    }
    put(heap, at, item);
}

static void sift_down(struct heap *heap, size_t at, void *item)
{
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= heap->items.len)
            break;
        if (child + 1 < heap->items.len &&
            heap->before(heap->items.items[child + 1], heap->items.items[child], heap->context))
            child++;
        if (!heap->before(heap->items.items[child], item, heap->context))
            break;
        put(heap, at, heap->items.items[child]);
        at = child;
    }
    put(heap, at, item);
}

void heap_push(struct heap *heap, void *item)
{
    *vec_push(&heap->items) = NULL;
    sift_up(heap, heap->items.len - 1, item);
}

void heap_remove(struct heap *heap, size_t at)
{
    void *last = heap->items.items[--heap->items.len];
    if (at == heap->items.len)
        return;
    if (at > 0 && heap->before(last, heap->items.items[(at - 1) / 2], heap->context))
        sift_up(heap, at, last);
    else
        sift_down(heap, at, last);
}

void *heap_pop(struct heap *heap)
{
    if (!heap->items.len)
        return NULL;
    void *first = heap->items.items[0];
    heap_remove(heap, 0);
    return first;
}

void heap_release(struct heap *heap)
{
    vec_release(&heap->items);
}
