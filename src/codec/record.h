/* record.h: C structs that are read and written by tables.
 *
 * A record is a C struct with a table: one row per field, with its JSON name, its protobuf tag, its kind and its place
 * in the struct. Everything that is done with records is done by these tables: JSON and YAML in, JSON out, protobuf in
 * and out, copies, comparisons, keys of classes of equal records, reads by path.
 *
 *     #include "codec/record_rows.h"
 *
 *     #define T struct toleration
 *     static const struct record_field toleration_fields[] = {
 *         F("key", 1, STR, key),                                   // JSON name, protobuf tag, kind, member
 *         F("tolerationSeconds", 5, OPT_INT64, toleration_seconds),
 *         F("weight", 0, INT32, weight, RECORD_ALWAYS),            // tag 0: in no message; then flags
 *         F_PTR("selector", 2, selector, label_selector),          // ..., the name of its TYPE()
 *     };
 *     TYPE(toleration)                                             // makes toleration_type
 *     #undef T
 *
 * A field is a member of the struct and a row. A row whose member has not the C type of its kind does not compile; two
 * rows of one name or tag end the program at its start. A new kind is a RECORD_KIND() and a struct record_kind, in
 * whichever layer knows its C type: api/ adds quantities, config/ adds durations.
 *
 *     doc ──record_read()──▶ struct ──record_write()──▶ JSON
 *     bytes ──record_read_protobuf()──▶ struct ──record_write_protobuf()──▶ bytes
 *
 * What is wrong in a document is one sentence, with file, line, column and path:
 *
 *     config.yaml:3:14: parallelism: expected a whole number, got the string "many"
 *     config.yaml:4:3: profiles[0].plugns: unknown field; did you mean "plugins"?
 *
 * Tables are constant once main() runs: any number of threads may use them. */
#ifndef CODEC_RECORD_H
#define CODEC_RECORD_H

#include "base/arena.h"
#include "base/error.h"
#include "codec/doc.h"
#include "codec/json_writer.h"
#include "codec/path.h"
#include "codec/protobuf.h"
#include "codec/record_types.h"

struct record_kind;
struct record_type;

/* ---- tables ---- */

enum record_flags {
    RECORD_ALWAYS = 1, /* written to JSON where it is empty, zero or absent, too */
    RECORD_OLDER = 2,  /* JSON of older versions: read, but never written, copied or compared; has no tag */
    RECORD_REST = 4,   /* of a REST, the last row: the members that no other row names */
};
/* Among the flags: what the field came with, from 1 to 255; 0: it was always there. A reader or writer says what it
 * knows, and to others the field is unknown. Of JSON only. */
enum { RECORD_SINCE_SHIFT = 8 };
#define RECORD_SINCE(what) ((what) << RECORD_SINCE_SHIFT)
struct record_version {
    bool (*has)(const void *version, uint32_t since);
    const void *version;
};

struct record_field {
    const char *name;  /* "" of a STRUCT: in JSON its fields stand in the parent */
    uint16_t name_len; /* without the terminating zero */
    uint16_t tag;      /* below RECORD_TAGS_MAX; 0: in no protobuf message */
    uint16_t offset;
    uint16_t flags;
    const struct record_kind *kind;
    const struct record_type *type; /* of STRUCT, PTR, LIST and MAP */
};

enum { RECORD_FIELDS_MAX = 60, RECORD_TAGS_MAX = 64, RECORD_NAME_SLOTS = 128 };

/* Where a row is found by name and by tag. Filled before main(), by TYPE(). */
struct record_index {
    uint8_t by_name[RECORD_NAME_SLOTS]; /* number of the row + 1; 0: none */
    uint8_t by_tag[RECORD_TAGS_MAX];    /* the same */
    uint8_t in_tag_order[RECORD_FIELDS_MAX], tags_len;
    uint8_t unnamed; /* number + 1 of the row without a name */
};

struct record_type {
    size_t size;
    const struct record_field *fields; /* in the order in which JSON is written */
    uint32_t len;                      /* at most RECORD_FIELDS_MAX */
    bool has_type_meta; /* apiVersion and kind are no unknown fields: the caller has looked at them */
    /* Derives what is not in a document from what is. `val` is NULL where there is no JSON. May be NULL. */
    void (*finish)(void *record, yyjson_val *val);
    struct record_index *index;
};

/* For tables that are made at run time. Asserts that no name and no tag is there twice. */
void record_index_fill(const struct record_type *type);
/* Places the fields of a type that has no C struct one behind the other, and sets its size; then fills its index.
 * Types of its fields come first. */
void record_lay_out(struct record_type *type, struct record_field *fields);

/* ---- reading ---- */

enum record_strictness {
    RECORD_STRICT =
        1, /* unknown fields and fields given twice are errors; else: ignored, and the last counts */
    RECORD_SECRET = 2,    /* no sentence repeats a value */
    RECORD_C_STRINGS = 4, /* a zero byte in a string is an error */
};

/* What a decoder works with, for JSON and for protobuf. */
struct record_reader {
    struct arena *arena;
    /* Where strings go: arena_str, or a function like it. NULL: they stay in the document or message. */
    struct str (*keep)(struct arena *arena, struct str text);
    struct error *err;             /* may be NULL */
    const struct doc *doc;         /* of JSON */
    enum record_strictness mode;   /* of JSON: or'ed together */
    struct record_version version; /* zeroed: it knows all fields */
    /* A value that cannot be read stays empty and is counted, and the rest is read; err has the first sentence. */
    bool tolerant;
    uint32_t skipped;
    size_t budget_bytes;            /* of protobuf; see record_budget() */
    struct record_message *message; /* of protobuf: the innermost one; for lists */
};

/* Fills the struct at `record`, which holds the defaults: what is absent or null stays as it was. NULL and null leave
 * all. `path` is where the value stands, for messages; NULL for the root. After a failure the struct is of no use. */
int record_read(struct record_reader *reader, const struct path *path, yyjson_val *val,
                const struct record_type *type, void *record);
/* The same of one message; the struct is zero. */
int record_read_protobuf(struct record_reader *reader, const struct path *path, struct str bytes,
                         const struct record_type *type, void *record);
/* How much memory the arrays and structs of a message of so many bytes may take: real ones take less than a tenth. */
size_t record_budget(size_t bytes);

/* For readers of kinds, and for what is read by hand. A string where the reader keeps strings; never NULL. */
static inline struct str record_keep(const struct record_reader *reader, struct str text)
{
    if (!text.len)
        return STR("");
    return reader->keep ? reader->keep(reader->arena, text) : text;
}
int record_read_str(struct record_reader *reader, const struct path *path, yyjson_val *val, struct str *ret);
/* "path: sentence", in a document at the place of the value (NULL: of the document); returns `code`. */
int record_fail(const struct record_reader *reader, const struct path *path, const yyjson_val *val, int code,
                const char *format, ...) _printf_(5, 6);
#define record_complain(reader, path, val, ...) record_fail(reader, path, val, -EINVAL, __VA_ARGS__)
/* About protobuf, which has no lines. */
#define record_refuse(reader, path, code, ...) record_fail(reader, path, NULL, code, __VA_ARGS__)
/* "path: expected a string, got the number 5". */
int record_expected(const struct record_reader *reader, const struct path *path, const yyjson_val *val,
                    const char *expected);

/* ---- writing ---- */

/* Puts another text in the place of each text that is written, for snapshots that reveal no names. */
struct record_redactor {
    /* `is_key`: the text is a key of a map. A text without a pointer: it is left out. */
    struct str (*text)(void *user, const struct record_field *field, struct str text, bool is_key);
    void *user;
};

struct record_writer {
    struct json_writer *json;
    const struct record_redactor *redactor; /* may be NULL */
    bool in_tag_order; /* of types whose fields all have tags: that is the order of their Go structs */
    struct record_version version; /* zeroed: it knows all fields */
};

/* One object. What is empty, zero or absent is left out, unless a reader could tell the difference or the row says
 * RECORD_ALWAYS: then it is null, or an empty value where the kind has no null. */
void record_write(const struct record_writer *writer, const struct record_type *type, const void *record);
/* Its fields alone, for an object that has others as well. */
void record_write_fields(const struct record_writer *writer, const struct record_type *type,
                         const void *record);
/* The fields of one message, in the order of their tags, without what is empty, zero or absent. */
void record_write_protobuf(struct strbuf *out, const struct record_type *type, const void *record);
/* A value of a document, with numbers as Go writes them. */
void record_write_value(struct json_writer *json, yyjson_val *val);

/* ---- values ---- */

/* All that the record has, to be found in `arena`: the source may go. `ret` may be the source. Only what the table
 * names is copied deeply; anything else in the struct is copied as it is. */
void record_copy(const struct record_type *type, const void *record, struct arena *arena, void *ret);
/* In all that the table names. Absent and empty lists are the same. */
bool record_equal(const struct record_type *type, const void *a, const void *b);
/* Appends bytes that are equal for two records of the type if and only if record_equal(). */
void record_put_key(struct strbuf *out, const struct record_type *type, const void *record);

/* The entry of that key in a map, a sorted list of entries of so many bytes that begin with their keys. NULL: none. */
void *record_map_find(const void *entries, uint32_t len, size_t size, struct str key);

/* A value as a plugin sees it. */
enum record_view_type {
    VIEW_ABSENT,
    VIEW_TEXT,
    VIEW_NUMBER,
    VIEW_FLAG,    /* number: 0 or 1 */
    VIEW_AMOUNT,  /* number: rounded up; milli: in thousandths */
    VIEW_TEXTS,   /* a list of texts; len */
    VIEW_ENTRIES, /* a list of objects, or a map; len */
    VIEW_OBJECT,
};
struct record_view {
    enum record_view_type type;
    uint32_t len;
    int64_t number, milli;
    double real; /* of amounts: without rounding */
    struct str text;
};
/* Reads by path: spec.containers[0].resources.requests[cpu], metadata.labels[app.kubernetes.io/name]. A name in
 * brackets goes to the closing one. A path that leads nowhere is absent. */
struct record_view record_view(const struct record_type *type, const void *record, struct str path);
/* The key of entry `index` of the map at the path. Absent: it is no map, or has fewer. */
struct str record_view_key(const struct record_type *type, const void *record, struct str path,
                           uint32_t index);

/* ---- one row of a table, by path ---- */

/* A member of a record that is not inside a pointer, list or map: "spec.tolerations" of a pod. */
struct record_member {
    const struct record_field *field; /* NULL: there is none */
    size_t offset;                    /* in the record */
};
struct record_member record_member(const struct record_type *type, struct str path);
/* What record_put_key() appends for this member alone. */
void record_member_put_key(struct strbuf *out, struct record_member member, const void *record);
/* record_equal() of this member alone. */
bool record_member_equal(struct record_member member, const void *a, const void *b);

/* ---- kinds ---- */

/* When a value has nothing to write. */
enum record_empty {
    EMPTY_NEVER,
    EMPTY_POINTER, /* begins with a pointer that is NULL */
    EMPTY_LEN,     /* a string or list of length 0 */
    EMPTY_UNSET,   /* begins with a bool that is false */
    EMPTY_ZERO,    /* all bytes are 0 */
    EMPTY_FIELDS,  /* a struct all of whose fields are empty */
};

/* What can be done with a value at `at`. `field` is the row; its kind is another one for items of lists and such, so
 * each operation gets its own. */
struct record_ops {
    int (*read)(const struct record_kind *kind, struct record_reader *reader, const struct path *path,
                yyjson_val *val, const struct record_field *field, void *at);
    void (*write)(const struct record_kind *kind, const struct record_writer *writer,
                  const struct record_field *field, const void *at);
    /* These two are NULL for kinds that no message has. */
    int (*read_protobuf)(const struct record_kind *kind, struct record_reader *reader,
                         const struct path *path, const struct protobuf_field *in,
                         const struct record_field *field, void *at);
    void (*write_protobuf)(const struct record_kind *kind, struct strbuf *out, uint32_t tag,
                           const struct record_field *field, const void *at);
    /* The value was copied bit by bit: makes its own what it points to. NULL: it points to nothing. */
    void (*copy)(const struct record_kind *kind, struct arena *arena, const struct record_field *field,
                 void *at);
    /* Appends bytes that tell the value from every other one. */
    void (*put_key)(const struct record_kind *kind, struct strbuf *out, const struct record_field *field,
                    const void *at);
    /* NULL: a plugin cannot read it. */
    struct record_view (*view)(const struct record_kind *kind, const struct record_field *field,
                               const void *at);
};

struct record_kind {
    const struct record_ops *ops;
    uint16_t size;   /* of the C type; STRUCT: 0, it is that of the row's type */
    uint8_t empty;   /* enum record_empty */
    uint8_t wire;    /* enum protobuf_wire, of its fields in messages */
    bool has_null;   /* an empty value that is written always is null */
    bool reads_null; /* read() is called for null as well, to refuse it */
    bool is_text;    /* a struct str, which a redactor may replace */
    bool is_single;  /* in a message at most once */
    /* Of shapes: what they hold, its size (0: that of the row's type), and where it begins in an entry of a map or
     * behind the bool of an optional value. */
    const struct record_kind *item;
    uint16_t item_size, item_offset;
};

/* Shapes: kinds that are made of another kind.
 *
 *     const struct record_kind record_OPT_INT32 = RECORD_OPTIONAL(INT32, struct opt_int32, WIRE_VARINT);
 *     const struct record_kind record_QUANTITY = RECORD_POINTER(AMOUNT);
 *     const struct record_kind record_STRS = RECORD_LIST_OF(OPT_STR, WIRE_BYTES);
 *     const struct record_kind record_RESOURCES = RECORD_MAP_OF(AMOUNT, struct resource, amount); */
extern const struct record_ops record_optional_ops, record_pointer_ops, record_list_ops, record_map_ops;
#define RECORD_OPTIONAL(of, ctype, wire_) \
    { .ops = &record_optional_ops, \
      .size = sizeof(ctype), \
      .empty = EMPTY_UNSET, \
      .wire = wire_, \
      .has_null = true, \
      .item = &record_##of, \
      .item_size = sizeof(record_c_##of), \
      .item_offset = offsetof(ctype, value) }
#define RECORD_POINTER(of) \
    { .ops = &record_pointer_ops, \
      .size = sizeof(void *), \
      .empty = EMPTY_POINTER, \
      .wire = WIRE_BYTES, \
      .has_null = true, \
      .item = &record_##of, \
      .item_size = sizeof(record_c_##of) }
/* `shape`: list or map. */
#define RECORD_MANY(shape, of, item_size_, item_offset_, wire_) \
    { .ops = &record_##shape##_ops, \
      .size = sizeof(struct record_list), \
      .empty = EMPTY_LEN, \
      .wire = wire_, \
      .has_null = true, \
      .item = &record_##of, \
      .item_size = item_size_, \
      .item_offset = item_offset_ }
#define RECORD_LIST_OF(of, wire_) RECORD_MANY(list, of, sizeof(record_c_##of), 0, wire_)
#define RECORD_MAP_OF(of, ctype, member) \
    RECORD_MANY(map, of, sizeof(ctype), offsetof(ctype, member), WIRE_BYTES)

/* All LIST(type) have this layout. Each is another type: what is read and written through this one may be any of them,
 * which the compiler must know. */
struct __attribute__((may_alias)) record_list {
    char *items;
    uint32_t len;
};

/* Declares the kind NAME, record_NAME, whose members are of the C type. */
#define RECORD_KIND(name, ctype) \
    typedef ctype record_c_##name; \
    extern const struct record_kind record_##name

/* Declares the type NAME_type of another file's table, for F_STRUCT() and its like. */
#define RECORD_TYPE(name, ctype) \
    typedef ctype name##_record; \
    extern const struct record_type name##_type

RECORD_KIND(STR, struct str);     /* absent and empty are the same */
RECORD_KIND(OPT_STR, struct str); /* absent: ptr is NULL */
RECORD_KIND(BOOL, bool);
RECORD_KIND(OPT_BOOL, struct opt_bool);
RECORD_KIND(INT32, int32_t);
RECORD_KIND(OPT_INT32, struct opt_int32);
RECORD_KIND(INT64, int64_t);
RECORD_KIND(OPT_INT64, struct opt_int64);
RECORD_KIND(FLOAT, double);  /* that fits a 32-bit float; in no message */
RECORD_KIND(DOUBLE, double); /* in no message */
RECORD_KIND(INT_OR_STR, struct int_or_str);
RECORD_KIND(BYTES, struct str);   /* base64 in JSON; in no message */
RECORD_KIND(RAW, struct str);     /* any JSON: its text */
RECORD_KIND(VALUE, yyjson_val *); /* any JSON, undecoded, of the document; in no message */
RECORD_KIND(REST,
            yyjson_val *); /* with RECORD_REST: a copy of an object without apiVersion, kind, metadata */
RECORD_KIND(STRS, struct str_list);
RECORD_KIND(INT64S, struct int64_list);
RECORD_KIND(BOOLS, struct bool_list);
RECORD_KIND(PAIRS, struct str_map);
RECORD_KIND(KEYS, struct str_list); /* the keys of a map whose values are dropped */
/* These have macros of their own in record_rows.h: */
extern const struct record_kind record_STRUCT; /* a record in the struct, or, at offset 0, a part of it */
extern const struct record_kind record_PTR;    /* a pointer to a record, NULL when absent */
extern const struct record_kind record_LIST; /* LIST(record); items is not NULL when it is there and empty */
extern const struct record_kind
    record_MAP; /* the same of a map: each record begins with its key, a struct str */

#endif
