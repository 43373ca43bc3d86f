/* field_set.h: sets of fields of an object, as metadata.managedFields has them (FieldsV1).
 *
 * A set is a tree: a node is a path element ("f:spec", "k:{\"name\":\"c\"}", "v:\"x\""), its bits say of which sets the
 * path itself is a member. Several sets can share one tree, with a bit each: a comparison is three. */
#ifndef SCHEMA_FIELD_SET_H
#define SCHEMA_FIELD_SET_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/map.h"

enum field_bits {
    FIELD_MEMBER = 1,
    FIELD_ADDED = 2,
    FIELD_MODIFIED = 4,
    FIELD_REMOVED = 8,
    FIELD_CHANGED = FIELD_ADDED | FIELD_MODIFIED,
};

struct field_set {
    struct str element; /* in the arena */
    unsigned bits;
    struct strmap children; /* element → struct field_set */
};

/* Nodes are in the arena, their maps are freed by field_set_release(). A zeroed root is an empty set. */
struct field_set *field_set_child(struct field_set *set, struct str element, struct arena *arena);
struct field_set *field_set_find(const struct field_set *set, struct str element);
void field_set_release(struct field_set *set);

bool field_set_empty(const struct field_set *set, unsigned bits);
/* Adds to `set` the paths of `other` that have one of the bits, as members. */
void field_set_add(struct field_set *set, const struct field_set *other, unsigned bits, struct arena *arena);
/* Takes from `set` the paths that have one of the bits in `other`. */
void field_set_subtract(struct field_set *set, const struct field_set *other, unsigned bits);
/* Keeps in `set` what has one of the bits in `other`. */
void field_set_intersect(struct field_set *set, const struct field_set *other, unsigned bits);
/* The same as field_set_subtract() for a path of named fields ("status") and everything below. */
void field_set_drop(struct field_set *set, const char *path, bool below);

/* From and to FieldsV1. False: not one. */
bool field_set_read(struct field_set *set, yyjson_val *fields, struct arena *arena);
yyjson_mut_val *field_set_write(const struct field_set *set, yyjson_mut_doc *doc);
/* Calls `visit` with each member as a path such as .spec.containers[name="c"].image, in order. */
void field_set_paths(const struct field_set *set, struct strbuf *path,
                     void (*visit)(void *user, struct str path), void *user);
/* The element as it is in such a path. */
void field_element_print(struct strbuf *out, struct str element);

#endif
