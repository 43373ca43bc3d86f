/* common.h: the few macros every file wants.
 *
 * _cleanup_(f) runs `f(&variable)` when the variable leaves its scope; every `f` used with it accepts a
 * zeroed variable. */
#ifndef BASE_COMMON_H
#define BASE_COMMON_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
/* Negative, zero or positive, for qsort(): `COMPARE(x->a, y->a) ?: COMPARE(x->b, y->b)`. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))
#define _cleanup_(f) __attribute__((cleanup(f)))
#define _always_inline_ inline __attribute__((always_inline))
#define _printf_(text, first) __attribute__((format(printf, text, first)))
#define _unused_ __attribute__((unused))

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* Allocation that does not fail: out of memory ends the process with one sentence. */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *ptr, size_t size);
/* Grows to count elements of size bytes each; aborts on overflow of the product. */
void *xreallocarray(void *ptr, size_t count, size_t size);

/* For _cleanup_ of a malloc'ed pointer. */
static inline void freep(void *ptr)
{
    extern void free(void *);
    free(*(void **)ptr);
}

#endif
