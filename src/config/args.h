/* args.h: a small decoder driven by tables, for the configuration and for the arguments of plugins.
 *
 *     static const struct args_field fields[] = {
 *         ARGS_FIELD("minCandidateNodesPercentage", INT32, struct my_args, percentage),
 *         ARGS_NESTED("resources", STRUCT_LIST, struct my_args, resources, &resource_type),
 *     };
 *     static const struct args_type my_type = ARGS_TYPE(struct my_args, fields);
 *
 *     struct my_args args = { .percentage = 10 };      // defaults first: what is absent or null stays as it was
 *     r = args_decode(doc, val, &my_type, NULL, arena, &args, err);
 *
 * Decoding is strict: an unknown field, a field given twice and a value of the wrong type are errors that name
 * line, column, the path of the field and what was expected. Strings are copied into the arena. */
#ifndef CONFIG_ARGS_H
#define CONFIG_ARGS_H

#include "api/types.h"
#include "base/arena.h"
#include "codec/doc.h"
#include "codec/path.h"

enum args_kind {
    ARGS_STRING,       /* struct str */
    ARGS_BYTES,        /* struct str; base64 in the file */
    ARGS_BOOL,         /* bool */
    ARGS_INT32,        /* int32_t */
    ARGS_INT64,        /* int64_t */
    ARGS_FLOAT,        /* double, that fits a 32-bit float */
    ARGS_DURATION,     /* int64_t, nanoseconds; null is an error */
    ARGS_OPT_BOOL,     /* struct opt_bool */
    ARGS_OPT_INT32,    /* struct opt_int32 */
    ARGS_OPT_INT64,    /* struct opt_int64 */
    ARGS_OPT_DURATION, /* struct opt_int64, nanoseconds */
    ARGS_ENUM,         /* int, the position in `names` */
    ARGS_STRING_LIST,  /* struct str_list */
    ARGS_STRING_MAP,   /* struct str_map, sorted */
    ARGS_STRUCT,       /* the struct itself */
    ARGS_STRUCT_PTR,   /* a pointer to it, NULL when absent */
    ARGS_STRUCT_LIST,  /* LIST() of it; items is not NULL when the list is there and empty */
    ARGS_RAW,          /* yyjson_val *, undecoded; NULL when absent or null */
};

struct args_type;

struct args_field {
    const char *name;
    enum args_kind kind;
    size_t offset;
    const struct args_type *type; /* of the STRUCT kinds */
    const char *const *names;     /* of ENUM; ends with NULL */
    bool always;                  /* written even where it is empty, zero or absent; see args_encode() */
};

enum { ARGS_FIELDS_MAX = 60 };

struct args_type {
    size_t size;
    const struct args_field *fields;
    size_t count;   /* at most ARGS_FIELDS_MAX */
    bool type_meta; /* apiVersion and kind are allowed too; the caller has looked at them */
    /* Runs on a decoded struct, to fill in what follows from the rest; may be NULL. */
    void (*finish)(void *ret, yyjson_val *val);
};

#define ARGS_FIELD(field, what, type_, member) \
    { .name = (field), .kind = ARGS_##what, .offset = offsetof(type_, member) }
#define ARGS_ALWAYS(field, what, type_, member) \
    { .name = (field), .kind = ARGS_##what, .offset = offsetof(type_, member), .always = true }
#define ARGS_NESTED(field, what, type_, member, inner) \
    { .name = (field), .kind = ARGS_##what, .offset = offsetof(type_, member), .type = (inner) }
#define ARGS_NAMED(field, type_, member, list) \
    { .name = (field), .kind = ARGS_ENUM, .offset = offsetof(type_, member), .names = (list) }
#define ARGS_TYPE(type_, list) { .size = sizeof(type_), .fields = (list), .count = ARRAY_SIZE(list) }
#define ARGS_OBJECT(type_, list) \
    { .size = sizeof(type_), .fields = (list), .count = ARRAY_SIZE(list), .type_meta = true }
#define ARGS_TYPE_FINISH(type_, list, function) \
    { .size = sizeof(type_), .fields = (list), .count = ARRAY_SIZE(list), .finish = (function) }

/* Decodes an object into *ret, which holds the defaults; null leaves them all. `path` is where the value stands,
 * for messages; NULL for the root. On failure *ret is half filled and of no use. */
int args_decode(const struct doc *doc, yyjson_val *val, const struct args_type *type, const struct path *path,
                struct arena *arena, void *ret, struct error *err);

/* The way back: an object with the fields of the struct, in the tables' order. As in Go, what is empty, zero or
 * absent is left out, unless the field is written `always`; structs and durations are always written. Strings are
 * not copied. */
yyjson_mut_val *args_encode(yyjson_mut_doc *doc, const struct args_type *type, const void *value);

#endif
