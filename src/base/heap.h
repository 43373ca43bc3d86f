/* heap.h: a binary heap of pointers with a comparison; the first in order is on top. Items know their place through a
 * callback, so that any of them can be taken out. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include "base/vec.h"

struct heap {
    VEC(void *) items;
    bool (*before)(const void *a, const void *b, const void *context);
    void (*moved)(void *item, size_t at); /* may be NULL */
    const void *context;
};

void heap_push(struct heap *heap, void *item);
/* The first in order, taken out; NULL when empty. */
void *heap_pop(struct heap *heap);
void heap_remove(struct heap *heap, size_t at);
void heap_release(struct heap *heap);

#endif
