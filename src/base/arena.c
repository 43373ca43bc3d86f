/* arena.c: chunks that double in size up to a bound, newest first.
 *
 *     chunk  [ structs and arrays, aligned ──▶   free   ◀── texts, of any length ]
 *
 * What is large gets a chunk of just its size behind the newest one, in which small things go on. */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
    struct arena_chunk *older;
    size_t size_bytes;
    char data[];
};

enum {
    CHUNK_BYTES_MIN = 512,
    CHUNK_BYTES_MAX = 1 << 20,
    APART_BYTES_MIN = 8 << 10,
    RESET_BYTES_MAX = 64 << 20
};

static struct arena_chunk *chunk_new(struct arena *arena, size_t size, struct arena_chunk *older)
{
    if (size > SIZE_MAX - sizeof(struct arena_chunk))
        size = SIZE_MAX - sizeof(struct arena_chunk); /* xmalloc ends it */
    struct arena_chunk *chunk = xmalloc(sizeof(*chunk) + size);
    *chunk = (struct arena_chunk){ .older = older, .size_bytes = size };
    arena->total_bytes += size;
    return chunk;
}

static void add_chunk(struct arena *arena, size_t size)
{
    arena->chunks = chunk_new(arena, size, arena->chunks);
    arena->next = arena->chunks->data;
    arena->end = arena->next + arena->chunks->size_bytes;
}

static void *alloc_apart(struct arena *arena, size_t size)
{
    arena->chunks->older = chunk_new(arena, size, arena->chunks->older);
    return arena->chunks->older->data;
}

static void arena_grow(struct arena *arena, size_t need)
{
    size_t size = arena->chunks ? arena->chunks->size_bytes * 2 : CHUNK_BYTES_MIN;
    add_chunk(arena, MAX(MIN(size, (size_t)CHUNK_BYTES_MAX), need));
}

void arena_reserve(struct arena *arena, size_t bytes)
{
    if (!arena->next || (size_t)(arena->end - arena->next) < bytes)
        add_chunk(arena, bytes);
}

size_t arena_used(const struct arena *arena)
{
    return arena->chunks ? arena->total_bytes - (size_t)(arena->end - arena->next) : 0;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    size_t need = size > SIZE_MAX - 7 ? SIZE_MAX - 7 : (size + 7) & ~(size_t)7;
    if (!arena->next || (size_t)(arena->end - arena->next) < need) {
        if (arena->next && need >= APART_BYTES_MIN)
            return alloc_apart(arena, need);
        arena_grow(arena, need);
    }
    void *ptr = arena->next;
    arena->next += need;
    return ptr;
}

void *arena_zalloc(struct arena *arena, size_t size)
{
    void *ptr = arena_alloc(arena, size);
    return memset(ptr, 0, size);
}

/* A text that does not fit into the newest chunk. */
static char *text_alloc(struct arena *arena, size_t size)
{
    if (size >= APART_BYTES_MIN)
        return arena_alloc(arena, size);
    arena_grow(arena, size);
    return arena->end -= size;
}

void *arena_zalloc_copy(struct arena *arena, const void *from, size_t len, size_t size)
{
    void *copy = arena_zalloc(arena, size);
    if (len)
        memcpy(copy, from, len);
    return copy;
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
    size_t space = (size_t)(arena->end - arena->next);
    char *copy = arena->next && space > len ? (arena->end -= len + 1) : text_alloc(arena, len + 1);
    if (len)
        memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

struct str arena_str(struct arena *arena, struct str text)
{
    return (struct str){ arena_strndup(arena, text.ptr, text.len), text.len };
}

struct str arena_lower(struct arena *arena, struct str text)
{
    char *lower = arena_strndup(arena, text.ptr, text.len);
    for (uint32_t i = 0; i < text.len; i++)
        lower[i] = lower[i] >= 'A' && lower[i] <= 'Z' ? (char)(lower[i] | 0x20) : lower[i];
    return (struct str){ lower, text.len };
}

struct str arena_vprintf(struct arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    char *text = arena_alloc(arena, (size_t)MAX(len, 0) + 1);
    vsnprintf(text, (size_t)MAX(len, 0) + 1, format, again);
    va_end(again);
    return (struct str){ text, (uint32_t)MAX(len, 0) };
}

struct str arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str text = arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

/* What needed several chunks gets one of their size next time. */
void arena_reset(struct arena *arena)
{
    struct arena_chunk *newest = arena->chunks;
    if (!newest)
        return;
    if (newest->older) {
        size_t total = MIN(arena->total_bytes, (size_t)RESET_BYTES_MAX);
        arena_release(arena);
        arena_grow(arena, total);
        return;
    }
    if (arena->secret)
        explicit_bzero(newest->data, newest->size_bytes);
    arena->next = newest->data;
    arena->end = newest->data + newest->size_bytes;
}

void arena_release(struct arena *arena)
{
    for (struct arena_chunk *chunk = arena->chunks, *older; chunk; chunk = older) {
        older = chunk->older;
        if (arena->secret)
            explicit_bzero(chunk->data, chunk->size_bytes);
        free(chunk);
    }
    *arena = (struct arena){ .secret = arena->secret };
}
