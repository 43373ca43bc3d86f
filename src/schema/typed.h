/* typed.h: objects beside their types, for server-side apply: which fields they have, how two differ, how one is merged
 * into another.
 *
 * A list is atomic, a set of scalars or a map of objects by keys; a map is atomic or granular: the type says which.
 * What has no type is granular where it is an object and atomic otherwise. */
#ifndef SCHEMA_TYPED_H
#define SCHEMA_TYPED_H

#include "schema/field_set.h"
#include "schema/schema.h"

/* The type of a value, and the field that it is the value of, which has the list type. */
struct typed {
    const struct schema_value *value; /* NULL: unknown */
    const struct schema_field *field;
};

struct typed typed_object(const struct schema_value *root);

/* Says what is wrong in an object that is to be applied, as the API server does; one line per problem. */
void typed_validate(struct typed type, yyjson_mut_val *val, struct strbuf *problems);
/* The fields of the value, as members. */
void typed_fields(struct typed type, yyjson_mut_val *val, struct field_set *set, struct arena *arena);
/* Adds the paths that differ, with the bits of a comparison. */
void typed_compare(struct typed type, yyjson_mut_val *old, yyjson_mut_val *new, struct field_set *ret,
                   struct arena *arena);
/* Both in one; where they differ the new one counts. Both may become part of the result. NULL: nothing is left. */
yyjson_mut_val *typed_merge(struct typed type, yyjson_mut_doc *doc, yyjson_mut_val *old, yyjson_mut_val *new);
/* A copy without the members of the set. NULL: nothing is left. */
yyjson_mut_val *typed_remove(struct typed type, yyjson_mut_doc *doc, yyjson_mut_val *val,
                             const struct field_set *set);
/* Named fields on the way to a member are members, too. */
void typed_fill(struct typed type, struct field_set *set);
/* The object of a type before anything is set in it. */
yyjson_mut_val *typed_zero(const struct schema_type *type, yyjson_mut_doc *doc);

#endif
