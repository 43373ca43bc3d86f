/* arena.h: memory that lives and dies together.
 *
 * One of the three lifetimes of the project: a cycle's scratch memory and a decoded object live in an arena.
 * Nothing is freed alone; arena_reset() keeps the memory so that a steady cycle allocates nothing. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>

#include "base/common.h"
#include "base/str.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks; /* newest first */
    char *next, *end;           /* free space in the newest chunk */
    size_t total_bytes : 63;    /* of all chunks */
    size_t secret : 1;          /* they are overwritten before they are freed, see base/secret.h */
};

/* A zeroed struct arena is ready for use. Memory is aligned to 8 bytes and not cleared. */
void *arena_alloc(struct arena *arena, size_t size);
/* Cleared. */
void *arena_zalloc(struct arena *arena, size_t size);
void *arena_zalloc_copy(struct arena *arena, const void *from, size_t len, size_t size);
char *arena_strndup(struct arena *arena, const char *text, size_t len);
struct str arena_str(struct arena *arena, struct str text);
/* With small letters for capital ones of ASCII. */
struct str arena_lower(struct arena *arena, struct str text);
struct str arena_printf(struct arena *arena, const char *format, ...) _printf_(2, 3);
struct str arena_vprintf(struct arena *arena, const char *format, va_list args);
/* Makes space for so many bytes in one piece: what is taken up to there needs no other chunk, and none is wasted. */
void arena_reserve(struct arena *arena, size_t bytes);
/* How many bytes were taken; the ends of chunks that were too short for what came next count as well. */
size_t arena_used(const struct arena *arena);
/* Forgets everything, keeps memory for about as much again. */
void arena_reset(struct arena *arena);
/* An arena for secrets stays one. */
void arena_release(struct arena *arena);

#define arena_new(arena, type) ((type *)arena_zalloc((arena), sizeof(type)))
#define arena_array(arena, type, count) ((type *)arena_zalloc((arena), arena_bytes((count), sizeof(type))))

/* An array of `cap` items: a copy of the first `len`, the rest cleared. */
#define arena_copy(arena, type, items, len, cap) \
    ((type *)arena_zalloc_copy((arena), (items), arena_bytes((len), sizeof(type)), \
                               arena_bytes((cap), sizeof(type))))

static inline size_t arena_bytes(size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

#endif
