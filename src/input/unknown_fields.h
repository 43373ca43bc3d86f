/* unknown_fields.h: fields of manifests that their kind does not have, most often misspelled or misplaced; values that
 * an API server would refuse (field_values.h); and of objects that a user wrote, required fields that are missing.
 *
 *     object ──▶ walked beside its type in schema/ ──▶ a row per kind and path, with the place of the first
 *
 * What Kubernetes knows and berth does not need is no row. An API server does not store unknown fields, so that objects
 * that come from one are left out where it would take time: in long files of JSON. */
#ifndef INPUT_UNKNOWN_FIELDS_H
#define INPUT_UNKNOWN_FIELDS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "codec/doc.h"

/* A field that objects of a kind have at a path, whatever the indexes of its lists. */
struct unknown_field {
    struct str sentence; /* file:line:column, the first object, path, and what may be meant */
    size_t objects;      /* that have it */
    size_t last;         /* the number of the one that was counted last */
};

/* Zeroed, it is empty. */
struct unknown_fields {
    VEC(struct unknown_field) rows; /* in the order of the input */
    struct strmap places;           /* kind and path to place + 1 in rows */
    size_t objects;                 /* that were looked at */
    struct unknown_field runtime;   /* objects whose pods have a RuntimeClass, which is not read */
    struct arena arena;
};

/* Of one object, whose kind and version may be those of the List around it. */
void unknown_fields_check(struct unknown_fields *fields, const struct doc *doc, yyjson_val *object,
                          struct str kind, struct str version);
/* Is this kind one of Kubernetes, but for a slip of the pen in its name or version? Then that is a row. */
bool unknown_kind_check(struct unknown_fields *fields, const struct doc *doc, yyjson_val *object,
                        struct str kind, struct str version);
/* "FILE:LINE:COLUMN: Pod shop/web: unknown field spec.nodeNam; did you mean nodeName?" */
void unknown_field_print(const struct unknown_field *field, struct strbuf *out);
void unknown_fields_release(struct unknown_fields *fields);

#endif
