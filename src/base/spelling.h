/* spelling.h: which known name a wrong one may have meant. */
#ifndef BASE_SPELLING_H
#define BASE_SPELLING_H

#include <stddef.h>

/* The nearest of the names in spelling, or NULL when none is near. */
const char *nearest_name(const char *wanted, const char *const *names, size_t len);

#endif
