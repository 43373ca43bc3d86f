/* secret.h: memory that is overwritten before it is freed.
 *
 * The rule for tokens, passwords and private keys: they live in memory of one of these kinds, and nowhere else.
 *     an arena with .secret, and a struct strbuf with .secret (base/arena.h, base/str.h), also where they move;
 *     what a library allocates, if it lets us choose: it is given the functions below;
 *     an array on the stack, which its function overwrites by explicit_bzero().
 * A secret is never logged, nor part of a sentence. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stddef.h>

/* As malloc(), calloc(), realloc(), strdup() and free(); out of memory ends the process. Memory of malloc() may be
 * given to secret_free(); free() takes memory of secret_malloc(), and does not overwrite it. */
void *secret_malloc(size_t size);
void *secret_calloc(size_t count, size_t size);
void *secret_realloc(void *ptr, size_t size);
char *secret_strdup(const char *text);
void secret_free(void *ptr);

#endif
