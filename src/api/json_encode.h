/* json_encode.h: the JSON side of the field tables, writing. What is zero, or absent, is left out, unless a reader
 * could tell the difference. The result has what the tables know. */
#ifndef API_JSON_ENCODE_H
#define API_JSON_ENCODE_H

#include "api/fields.h"
#include "api/object.h"
#include "codec/json_writer.h"

/* Who may put another text in the place of each text, for snapshots that tell no names. */
struct json_veil {
    /* `is_key`: the text is a key of a map. A text without a pointer: it is left out. A FIELD_RAW may be left out,
     * and nothing else. */
    struct str (*text)(void *user, const struct field *field, struct str text, bool is_key);
    void *user;
};

/* `veil` may be NULL. */
void object_encode_json(const struct object *object, const struct json_veil *veil, struct json_writer *json);

/* A part of an object that has a table of its own, as an object. */
void value_encode_json(const struct type *type, const void *value, struct json_writer *json);

#endif
