/* secret.c: see secret.h. The allocator knows how large a block is. */
#include "base/secret.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/common.h"

void *secret_malloc(size_t size)
{
    return xmalloc(size);
}

void *secret_calloc(size_t count, size_t size)
{
    return xcalloc(count, size);
}

void secret_free(void *ptr)
{
    if (ptr)
        explicit_bzero(ptr, malloc_usable_size(ptr));
    free(ptr);
}

void *secret_realloc(void *ptr, size_t size)
{
    size_t before = ptr ? malloc_usable_size(ptr) : 0;
    if (ptr && size <= before && size >= before / 2)
        return ptr;
    void *moved = xmalloc(size);
    if (ptr)
        memcpy(moved, ptr, MIN(before, size));
    secret_free(ptr);
    return moved;
}

char *secret_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(xmalloc(size), text, size);
}
