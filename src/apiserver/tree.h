/* tree.h: small helpers for JSON trees of objects, by dotted paths such as "spec.nodeName".
 *
 * Paths have no keys with dots in them. A step through something that is no object gives NULL. */
#ifndef APISERVER_TREE_H
#define APISERVER_TREE_H

#include "base/arena.h"
#include "codec/doc.h"

/* A JSON text that came from a client; NULL with a reason, as Go's decoder would give it, for one that is broken or
 * nested too deeply. Free with yyjson_doc_free(). */
yyjson_doc *tree_parse(struct str json, struct arena *arena, struct str *ret_reason);

/* ---- immutable trees ---- */
yyjson_val *tree_at(yyjson_val *object, const char *path);
/* Its string; empty where it is absent or something else. */
struct str tree_text(yyjson_val *object, const char *path);
int64_t tree_int(yyjson_val *object, const char *path, int64_t otherwise);
bool tree_bool(yyjson_val *object, const char *path);

/* ---- mutable trees ---- */
yyjson_mut_val *tree_mut_at(yyjson_mut_val *object, const char *path);
struct str tree_mut_text(yyjson_mut_val *object, const char *path);
struct str tree_mut_str(yyjson_mut_val *val);
int64_t tree_mut_int(yyjson_mut_val *object, const char *path, int64_t otherwise);
yyjson_mut_val *tree_mut_member(yyjson_mut_val *object, struct str key);
/* The object at the path; objects that are missing on the way are made. */
yyjson_mut_val *tree_mut_make(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *path);
/* Adds or replaces, at the place where it was; NULL removes. The key is copied. */
void tree_mut_put(yyjson_mut_doc *doc, yyjson_mut_val *object, struct str key, yyjson_mut_val *val);
void tree_mut_put_str(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, struct str text);
void tree_mut_put_int(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t number);
void tree_mut_remove(yyjson_mut_val *object, const char *key);
/* A string value, copied. */
yyjson_mut_val *tree_mut_new_str(yyjson_mut_doc *doc, struct str text);
/* The same value, whatever the order of keys? */
bool tree_mut_equal(yyjson_mut_val *a, yyjson_mut_val *b);

/* The compact text of a tree, appended. */
void tree_mut_write(yyjson_mut_val *val, struct strbuf *out);
void tree_write(yyjson_val *val, struct strbuf *out);

#endif
