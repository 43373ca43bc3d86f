/* object.h: from a parsed document to Kubernetes objects, and back to JSON.
 *
 * The tables of fields.h drive both. Unknown fields are ignored, null is absent, and a value of the wrong type ends the
 * decoding with one sentence: "cluster.yaml:12:5: spec.containers[0].image: expected a string, got the number 5".
 * Nothing is defaulted here; see defaults.h. */
#ifndef API_OBJECT_H
#define API_OBJECT_H

#include "api/types.h"
#include "base/arena.h"
#include "base/error.h"
#include "codec/record.h"

/* An object and all it points to live in the arena it was decoded into. Its strings do as well, or, where
 * doc_strings_stay(), in the stream's text. */
struct object {
    enum api_kind kind;
    void *ptr;                         /* struct pod, struct node, ... by kind; NULL when KIND_UNKNOWN */
    struct meta *meta;                 /* of the same */
    struct str api_version, kind_name; /* as written, also of unknown kinds */
    bool is_partial;                   /* values that could not be read are empty */
};

/* A reader for objects of this doc, lenient; strings stay in the doc's text where they can. */
struct record_reader object_reader(const struct doc *doc, struct arena *arena, struct error *err);

/* One object. 0 with KIND_UNKNOWN for a kind or version that berth does not know; older versions of known kinds count
 * as known where their fields are the same. */
int object_decode(const struct doc *doc, yyjson_val *val, struct arena *arena, struct object *ret,
                  struct error *err);
/* The same for a value whose kind is known (items of a PodList); its own apiVersion and kind are ignored. KIND_UNKNOWN:
 * they count. */
int object_decode_as(const struct doc *doc, yyjson_val *val, enum api_kind kind, struct arena *arena,
                     struct object *ret, struct error *err);

/* Is it known which object of the cluster this is? Of a partial one it may not be. */
bool object_is_identified(const struct object *object);

/* The kind for "v1", "Pod"; KIND_UNKNOWN if there is none. */
enum api_kind object_kind_from(struct str api_version, struct str kind);

/* Makes what was written in an older version of its kind mean the same in the one that the structs are. */
void object_convert(const struct object *object, struct str api_version);

/* One JSON object with what the tables know. `redactor` may be NULL. */
void object_encode_json(const struct object *object, const struct record_redactor *redactor,
                        struct json_writer *json);

#endif
