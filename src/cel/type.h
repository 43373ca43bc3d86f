/* type.h: the types that expressions are checked with, and when one may stand for another.
 *
 * Types are never changed. A type parameter is a number; what it stands for is kept aside, in struct cel_types,
 * and an attempt that fails is undone. Shared parts can make a type exponentially larger than its memory, so
 * every walk over types counts its steps, and beyond a limit gives up: `exhausted`. */
#ifndef CEL_TYPE_H
#define CEL_TYPE_H

#include "base/vec.h"
#include "cel/cel.h"

struct cel_type {
    enum cel_kind kind; /* that values of this type have; from CEL_KINDS on: any */
    uint32_t param;     /* of CEL_PARAM */
    size_t len;         /* of args: 1 of a list, an optional or a type, 2 of a map */
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

void cel_types_release(struct cel_types *types);

const struct cel_type *cel_type_param(struct cel_types *types);
/* A type without arguments. */
const struct cel_type *cel_type_plain(enum cel_kind kind);
/* list(a), map(a, b), type(a), optional_type(a). */
const struct cel_type *cel_type_of(struct cel_types *types, enum cel_kind kind, const struct cel_type *a,
                                   const struct cel_type *b);
/* The type that a name in an expression means ("int", "google.protobuf.Duration"), or NULL. */
const struct cel_type *cel_type_named(struct cel_types *types, struct str name);
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
