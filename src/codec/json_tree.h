/* json_tree.h: a value of a document that outlives it, in an arena, and reads of it by path.
 *
 *     doc ──json_tree_copy_rest()──▶ yyjson_val[], one behind the other ──json_tree_view()──▶ a value
 *
 * For objects of kinds that have no table. The layout is that of yyjson: a value is 16 bytes, and an object or a list
 * is followed by what is in it. So a copy is one array, and yyjson's own functions read it. */
#ifndef CODEC_JSON_TREE_H
#define CODEC_JSON_TREE_H

#include "codec/record.h"

/* A copy of a Kubernetes object, without apiVersion, kind and metadata. `keep` is where strings go, as in struct
 * record_reader; NULL: they stay where they are. */
yyjson_val *json_tree_copy_rest(yyjson_val *object, struct arena *arena,
                                struct str (*keep)(struct arena *arena, struct str text));

/* As record_view(). Names step into objects; names and numbers in brackets into objects and lists. A list is
 * VIEW_ENTRIES and an object VIEW_OBJECT, both with their number of items; a number with a fraction, or one that no
 * 64-bit number holds, is VIEW_AMOUNT. */
struct record_view json_tree_view(yyjson_val *tree, struct str path);
/* The key of member `index` of the object at the path; an empty path is the tree itself. Absent: there is none. */
struct str json_tree_key(yyjson_val *tree, struct str path, uint32_t index);

#endif
