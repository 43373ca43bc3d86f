/* vec.h: a growing array of any type.
 *
 *     VEC(struct str) names = { 0 };
 *     *vec_push(&names) = STR("a");
 *     vec_release(&names);
 *
 * Items are moved by realloc; only vec_release() frees them. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdlib.h>

#include "base/common.h"

#define VEC(type) \
    struct { \
        type *items; \
        size_t len, cap; \
    }

#define vec_reserve(v, count) \
    do { \
        size_t want_ = (count); \
        if (want_ > (v)->cap) { \
            (v)->cap = MAX(want_, (v)->cap ? (v)->cap * 2 : 8); \
            (v)->items = xreallocarray((v)->items, (v)->cap, sizeof(*(v)->items)); \
        } \
    } while (0)

/* A pointer to a new last item, not cleared. */
#define vec_push(v) \
    ({ \
        vec_reserve((v), (v)->len + 1); \
        &(v)->items[(v)->len++]; \
    })

/* Takes out item i; the last one takes its place. */
#define vec_swap_remove(v, i) ((v)->items[(i)] = (v)->items[--(v)->len])
/* By a comparison as qsort() takes it. */
#define vec_sort(v, compare) \
    do { \
        if ((v)->len) \
            qsort((v)->items, (v)->len, sizeof(*(v)->items), (compare)); \
    } while (0)
/* Gives back the room of a vector that is nearly empty, and was not once. */
#define vec_shrink(v) \
    do { \
        if ((v)->cap > 64 && (v)->len < (v)->cap / 4) { \
            (v)->cap = MAX((v)->len * 2, (size_t)8); \
            (v)->items = xreallocarray((v)->items, (v)->cap, sizeof(*(v)->items)); \
        } \
    } while (0)
#define vec_clear(v) ((void)((v)->len = 0))
#define vec_release(v) \
    do { \
        free((v)->items); \
        (v)->items = NULL; \
        (v)->len = (v)->cap = 0; \
    } while (0)

/* The vector must not grow meanwhile. An empty one may have no items at all, and C allows no arithmetic on a NULL
 * pointer, not even + 0. */
#define vec_for(v, item) \
    for (__typeof__(*(v)->items) *item = (v)->items, *end_##item = item ? item + (v)->len : item; \
         item != end_##item; item++)

#endif
