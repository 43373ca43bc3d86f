/* schema.h: the types of the Kubernetes API as data.
 *
 * src/schema/data/ has one text file per Go package of the API, which tools/make-schema writes from the OpenAPI
 * documents of a kube-apiserver (metrics-v1beta1 and custom are written by hand). They are part of the program, and
 * are read at the first use. A line is a package, a type or a field of the last type:
 *
 *     package io.k8s.api.core.v1
 *     type Container
 *     env []EnvVar keys=name patch=merge mergekey=name
 *     limits {}quantity go=v1.ResourceList
 *     name string default="" required
 *     type Pod kind=/v1/Pod
 *
 * A value is a scalar (the words of schema_kind), a type of this or another package, a list []X or a map {}X. Further
 * words: `atomic`, `set`, `keys=a,b` (list types of server-side apply; a type can be atomic, too), `patch=`,
 * `mergekey=` (strategic merge patch), `default=JSON`, `enum=a,b`, `required`, `omit` (zero values are not written),
 * `null` (written as null when it is absent), `go=` (the name of the Go type in messages, where it does not follow
 * from the type), `via=` (the embedded struct that messages name before the field). A type with `open` has more fields
 * than are known.
 *
 * All of it is read-only and lives as long as the process. */
#ifndef SCHEMA_SCHEMA_H
#define SCHEMA_SCHEMA_H

#include "base/str.h"

#define SCHEMA_SCALARS(X) \
    X(STRING, "string") \
    X(BOOL, "bool") \
    X(INT32, "int32") \
    X(INT64, "int64") \
    X(DOUBLE, "double") \
    X(BYTES, "bytes") \
    X(TIME, "time") \
    X(MICRO_TIME, "microtime") \
    X(DURATION, "duration") \
    X(QUANTITY, "quantity") \
    X(INT_OR_STRING, "intorstring") \
    X(FIELDS, "fieldsv1") \
    X(RAW, "raw")   /* an object of any fields */ \
    X(JSON, "json") /* any value */

enum schema_kind {
#define X(name, word) SCHEMA_##name,
    SCHEMA_SCALARS(X)
#undef X
        SCHEMA_OBJECT,
    SCHEMA_LIST,
    SCHEMA_MAP,
};

struct schema_value {
    enum schema_kind kind;
    const struct schema_type *type;  /* of an OBJECT */
    const struct schema_value *item; /* of a LIST or MAP */
};

enum { SCHEMA_KEYS_MAX = 4 };

struct schema_field {
    struct str name;
    struct schema_value value;
    bool required;
    bool null;          /* written as null when it is absent */
    bool omit;          /* a zero value is left out: "", 0, false, [] or {} */
    bool atomic, set;   /* lists and maps; without them and keys, a list is atomic and a map is granular */
    bool patch_merge;   /* strategic merge patch: the list is merged, by merge_key if it is one of objects */
    bool patch_replace; /* the object is replaced */
    bool patch_retain;  /* kubectl writes $retainKeys */
    uint32_t key_count; /* a list of type "map" */
    struct str keys[SCHEMA_KEYS_MAX];
    struct str merge_key;
    struct str default_json; /* no pointer: none */
    struct str enum_words;   /* separated by commas; may have an empty first word */
    struct str go;           /* empty: follows from the value */
    struct str via;          /* empty: a field of the struct itself */
};

struct schema_type {
    struct str package, name;        /* "io.k8s.api.core.v1", "Pod" */
    struct str full_name;            /* both, as OpenAPI has it */
    struct str group, version, kind; /* no kind: it is a part of others */
    bool atomic, open;
    struct schema_field *fields; /* sorted by name */
    uint32_t field_count;
};

/* NULL: not known. */
const struct schema_type *schema_of(struct str group, struct str version, struct str kind);
const struct schema_type *schema_by_name(struct str full_name);
/* The type of custom resources: their metadata is known. */
const struct schema_type *schema_of_custom(void);
const struct schema_field *schema_field(const struct schema_type *type, struct str name);
/* All types, in the order of their full names. */
size_t schema_types(const struct schema_type *const **ret);
/* The word of a scalar. */
const char *schema_scalar_word(enum schema_kind kind);

/* What a client writes is refused when it is nested deeper. */
enum { SCHEMA_DEPTH_MAX = 200 };

#endif
