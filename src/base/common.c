/* common.c: allocation that does not fail. */
#include "base/common.h"

#include <stdio.h>
#include <stdlib.h>

static void *checked(void *ptr)
{
    if (ptr)
        return ptr;
    fputs("berth: out of memory\n", stderr);
    abort();
}

void *xmalloc(size_t size)
{
    return checked(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *ptr, size_t size)
{
    return checked(realloc(ptr, size ? size : 1));
}

void *xreallocarray(void *ptr, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return checked(NULL);
    return xrealloc(ptr, bytes);
}
