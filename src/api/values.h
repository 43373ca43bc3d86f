/* values.h: what the field tables can do besides decoding and encoding: copy a value, compare two.
 *
 * A value is a struct with a table: an object, or a part of one such as the allocation of a claim. */
#ifndef API_VALUES_H
#define API_VALUES_H

#include "api/fields.h"
#include "base/arena.h"

/* All that the value has, to be found in `arena`: the source may go. `ret` may be the source. Only what the tables
 * name is copied deeply; anything else in the struct is copied as it is. */
void value_copy(const struct type *type, const void *value, struct arena *arena, void *ret);
/* In all that the tables name. Absent and empty lists are the same. */
bool value_eq(const struct type *type, const void *a, const void *b);

#endif
