/* fields.h: what the objects look like on the wire, as data.
 *
 * One row per field: its JSON name, its protobuf tag, what kind of thing it is, and where it goes in the C struct.
 * Decoders walk these tables; none of them knows a type by name. */
#ifndef API_FIELDS_H
#define API_FIELDS_H

#include "api/types.h"

#define FIELD_KINDS(X) \
    /* kind, C type */ \
    X(STR, struct str) /* absent and empty are the same */ \
    X(OPT_STR, struct str) \
    X(BOOL, bool) \
    X(OPT_BOOL, struct opt_bool) \
    X(INT32, int32_t) \
    X(INT64, int64_t) \
    X(OPT_INT32, struct opt_int32) \
    X(OPT_INT64, struct opt_int64) \
    X(TIME, struct opt_time) /* whole seconds in protobuf */ \
    X(MICRO_TIME, struct opt_time) \
    X(INT_OR_STR, struct int_or_str) \
    X(QUANTITY, struct quantity *) \
    X(STRS, struct str_list) \
    X(PAIRS, struct str_map) \
    X(RESOURCES, struct resource_list) \
    X(QUANTITIES, struct quantity_list) \
    X(RAW, struct str) /* any JSON: its text */

enum field_kind {
#define X(name, ctype) FIELD_##name,
    FIELD_KINDS(X)
#undef X
        FIELD_KEYS, /* an object whose keys alone matter: struct str_list */
    FIELD_STRUCT,   /* a struct inside the struct */
    FIELD_PTR,      /* a pointer to a struct, NULL when absent */
    FIELD_LIST,     /* LIST(struct) */
    FIELD_MAP,      /* the same of a map: sorted by the struct str that each begins with */
    FIELD_PART,     /* an object of its own on the wire, whose fields live in this very struct */
    FIELD_KIND_COUNT
};

/* Rows from this tag on are in no message: they read JSON of older versions, and nobody writes them. */
enum { FIELD_TAG_OLDER = 60 };

struct field {
    const char
        *name; /* "": the fields of a FIELD_PART stand in the parent in JSON; in protobuf it has its tag */
    uint16_t name_len;
    uint16_t tag;
    uint16_t offset;
    uint16_t kind;
    const struct type *type; /* of FIELD_STRUCT and those below it */
};

struct type {
    size_t size;
    const struct field *fields;
    uint32_t len;
    void (*finish)(void *ptr); /* derives what is not on the wire; may be NULL */
};

struct kind_info {
    struct str kind, api_version;
    bool namespaced;
    const struct type *type; /* its struct begins with a struct meta */
};

/* Indexed by enum api_kind; KIND_UNKNOWN is empty. */
extern const struct kind_info api_kinds[KIND_COUNT];
extern const struct type *const api_status_type; /* of struct api_status */
/* Parts of objects that are copied, compared and written on their own; see values.h. */
extern const struct type *const api_allocation_type;   /* of struct allocation_result */
extern const struct type *const api_claim_status_type; /* of struct claim_status */
extern const struct type *const api_claim_type;        /* of struct resource_claim */

/* The same tables for protobuf: here row i of a type is the field of tag i, and a row without a name is none. */
extern const struct type *const api_types_by_tag[KIND_COUNT];
extern const struct type *const api_status_by_tag;

#endif
