/* memory.c: what glibc's malloc is told; another one is left as it is.
 *
 * By itself it adapts: once a page of a list of 20 MB has been freed, blocks of that size come from the heap, and up to
 * 40 MB of free heap are kept for good. And each thread has a heap of its own, so that what the I/O thread allocates
 * and the core frees is of no use to the core. Two threads that meet at one lock a few thousand times a second do not
 * wait for each other. */
#include "base/memory.h"

#include <malloc.h>

enum { MAPPED_BYTES_MIN = 128 << 10, KEPT_BYTES_MAX = 512 << 10 };

void memory_for_daemon(void)
{
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES_MAX);
    mallopt(M_TOP_PAD, KEPT_BYTES_MAX / 4);
#endif
}

void memory_give_back(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
