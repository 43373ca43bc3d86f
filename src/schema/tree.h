/* tree.h: helpers for changing JSON trees (yyjson_mut) in linear time.
 *
 * Objects of yyjson are lists: looking up each of n keys costs n². A `members` is an object taken apart: an array of
 * its members, with an index once there are many. It is put together again by members_close(). */
#ifndef SCHEMA_TREE_H
#define SCHEMA_TREE_H

#include <yyjson.h>

#include "base/map.h"
#include "base/vec.h"
#include "codec/doc.h"

struct member {
    struct str name;
    yyjson_mut_val *key, *value; /* no value: removed */
};

struct members {
    yyjson_mut_val *object;
    VEC(struct member) all;
    struct strmap index; /* name → position + 1 */
};

/* Of members with the same name the last one counts, at the place of the first. */
void members_open(struct members *members, yyjson_mut_val *object);
yyjson_mut_val *members_get(const struct members *members, struct str name);
/* Adds or replaces. The name is copied into the document if it is new. */
void members_set(struct members *members, yyjson_mut_doc *doc, struct str name, yyjson_mut_val *value);
void members_remove(struct members *members, struct str name);
/* Writes the members back into the object, and releases. */
void members_close(struct members *members);
/* Releases without writing: the object has no members then. */
void members_drop(struct members *members);

/* The text of a string, which a value of another type does not have: its length is that of a list. */
static inline struct str mut_str(yyjson_mut_val *val)
{
    if (!yyjson_mut_is_str(val))
        return (struct str){ 0 };
    return (struct str){ yyjson_mut_get_str(val), (uint32_t)yyjson_mut_get_len(val) };
}

/* For the loops of yyjson, which must not be given NULL. */
static inline yyjson_mut_val *mut_items(yyjson_mut_val *val)
{
    static yyjson_mut_val none;
    return val ? val : &none;
}

/* Is the value nested in at most `max` levels? */
bool tree_depth_within(yyjson_val *val, uint32_t max);
bool tree_mut_depth_within(yyjson_mut_val *val, uint32_t max);
/* Same type and value; the order of members does not matter, 1 and 1.0 differ. */
bool tree_equal(yyjson_mut_val *a, yyjson_mut_val *b);
/* A scalar as a text that equals that of an equal scalar only; lists and objects have none (returns false). */
bool tree_scalar_key(yyjson_mut_val *val, struct strbuf *out);
/* Of members with the same name only the last one stays, at any depth. */
void tree_drop_duplicates(yyjson_mut_val *val);
/* Members that are null go, at any depth: in a patch they say "remove", and here is nothing to remove. Lists keep
 * theirs. */
void tree_drop_nulls(yyjson_mut_val *val);
/* As Go's %v writes a decoded value: map[a:1 b:[x y]]. */
void tree_print_go(struct strbuf *out, yyjson_mut_val *val);
/* Objects with sorted keys, as encoding/json writes a Go map. */
void tree_print_json(struct strbuf *out, yyjson_mut_val *val);

#endif
