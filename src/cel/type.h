/* type.h: the types that expressions are checked with, and when one may stand for another.
 *
 * Types are never changed. A type parameter is a number; what it stands for is kept aside, in struct cel_types,
 * and an attempt that fails is undone. Shared parts can make a type exponentially larger than its memory, so
 * every walk over types counts its steps, and beyond a limit gives up: `exhausted`. */
#ifndef CEL_TYPE_H
#define CEL_TYPE_H

#include "base/vec.h"
#include "cel/cel.h"

enum cel_type_kind {
    TYPE_ERROR,
    TYPE_DYN,
    TYPE_ANY,
    TYPE_NULL,
    TYPE_BOOL,
    TYPE_INT,
    TYPE_UINT,
    TYPE_DOUBLE,
    TYPE_STRING,
    TYPE_BYTES,
    TYPE_DURATION,
    TYPE_TIMESTAMP,
    TYPE_LIST,
    TYPE_MAP,
    TYPE_TYPE,
    TYPE_OPAQUE, /* optional_type(V), net.IP */
    TYPE_STRUCT, /* kubernetes.Quantity */
    TYPE_PARAM,
};

struct cel_type {
    enum cel_type_kind kind;
    uint32_t param; /* of TYPE_PARAM */
    const char *name;
    enum cel_kind value; /* the kind that values of this type have; CEL_KINDS: any */
    size_t len;
    const struct cel_type *args[2];
};

struct cel_types {
    struct arena *arena;
    VEC(const struct cel_type *) bound; /* what a parameter stands for, or NULL */
    VEC(struct type_change {
        uint32_t param;
        const struct cel_type *before;
    }) trail; /* of the attempt under way */
    size_t steps;
    bool exhausted;
};

extern const struct cel_type cel_type_error, cel_type_dyn, cel_type_any, cel_type_null, cel_type_bool,
    cel_type_int, cel_type_uint, cel_type_double, cel_type_string, cel_type_bytes, cel_type_duration,
    cel_type_timestamp, cel_type_device, cel_type_quantity;

void cel_types_release(struct cel_types *types);

const struct cel_type *cel_type_param(struct cel_types *types);
const struct cel_type *cel_type_list(struct cel_types *types, const struct cel_type *item);
const struct cel_type *cel_type_map(struct cel_types *types, const struct cel_type *key,
                                    const struct cel_type *value);
const struct cel_type *cel_type_type(struct cel_types *types, const struct cel_type *of);
const struct cel_type *cel_type_optional(struct cel_types *types, const struct cel_type *of);
/* The type that a name in an expression means ("int", "google.protobuf.Duration"), or NULL. */
const struct cel_type *cel_type_named(struct str name);
/* The types of a signature in the tables of overloads, "list(A), int -> A; map(A, B), A -> B", with fresh parameters.
 * The last one is the result; *text moves to the next alternative. */
size_t cel_type_signature(struct cel_types *types, const char **text, const struct cel_type *ret[static 5]);

bool cel_type_is_dyn(const struct cel_type *type);
bool cel_type_is_optional(const struct cel_type *type);
/* The very same type, names of parameters included; `loose`: any parameter is like any other. */
bool cel_type_same(struct cel_types *types, const struct cel_type *a, const struct cel_type *b, bool loose);
/* Whether each of `b` can be used for that of `a`; if so, parameters are bound so that it holds. */
bool cel_type_assign(struct cel_types *types, const struct cel_type *const *a,
                     const struct cel_type *const *b, size_t len);
const struct cel_type *cel_type_most_general(struct cel_types *types, const struct cel_type *a,
                                             const struct cel_type *b);
/* With bound parameters replaced; the free ones by dyn if `to_dyn`. */
const struct cel_type *cel_type_resolve(struct cel_types *types, const struct cel_type *type, bool to_dyn);
/* As messages name it: `any`, `timestamp`; or as the type of a value is named: google.protobuf.Timestamp. */
struct str cel_type_text(struct cel_types *types, const struct cel_type *type, bool full);

#endif
