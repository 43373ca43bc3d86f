/* messages.c: protobuf to JSON by the table of messages, which is read at the first use. What comes in is bounded by
 * the size of a request; messages are nested MESSAGE_DEPTH_MAX deep at most. */
#include "apiserver/messages.h"

#include <stdlib.h>

#include "apiserver/messages_data.h"
#include "apiserver/tree.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/map.h"
#include "base/timestamp.h"
#include "base/vec.h"
#include "codec/protobuf.h"

enum { MESSAGE_DEPTH_MAX = 50 };

#define LEAVES(X) \
    X(STRING, "string") \
    X(INT, "int") \
    X(BOOL, "bool") \
    X(DOUBLE, "double") \
    X(BYTES, "bytes") \
    X(TIME, "time") \
    X(MICRO_TIME, "microtime") \
    X(DURATION, "duration") \
    X(QUANTITY, "quantity") \
    X(INT_OR_STRING, "intorstring") \
    X(RAW, "raw")

enum leaf {
#define X(name, word) LEAF_##name,
    LEAVES(X)
#undef X
        LEAF_MESSAGE,
};

static const char *const words[] = {
#define X(name, word) [LEAF_##name] = word,
    LEAVES(X)
#undef X
};

struct row {
    uint32_t tag;
    struct str name; /* "-": inline */
    bool is_pointer, is_list, is_map, has_items;
    enum leaf leaf;
    struct str message; /* of LEAF_MESSAGE */
};

struct message {
    struct str name; /* first, see strmap_make() */
    VEC(struct row) rows;
};

struct kind {
    struct str name; /* "v1 Pod" */
    struct str message;
};

static struct {
    struct strmap messages, kinds;
    bool is_read;
} table;

/* ---- the table ---- */
static bool take_prefix(struct str *text, const char *prefix)
{
    if (!str_starts_with(*text, str_from(prefix)))
        return false;
    *text = str_slice(*text, strlen(prefix), text->len);
    return true;
}

static struct row read_row(struct str line)
{
    struct row row = { .leaf = LEAF_MESSAGE };
    int64_t tag = 0;
    str_to_int64(str_cut(&line, ' '), &tag);
    row.tag = (uint32_t)tag;
    row.name = str_cut(&line, ' ');
    row.is_pointer = take_prefix(&line, "*");
    row.is_list = take_prefix(&line, "[]");
    row.is_map = take_prefix(&line, "{}");
    row.has_items = take_prefix(&line, "items:");
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (str_is(line, words[i]))
            row.leaf = (enum leaf)i;
    row.message = line;
    return row;
}

static void read_table(void)
{
    struct str text = str_from(messages_data);
    struct message *message = NULL;
    if (table.is_read)
        return;
    table.is_read = true;
    while (text.len) {
        struct str line = str_cut(&text, '\n');
        if (take_prefix(&line, "kind ")) {
            ptrdiff_t space = str_rfind(line, ' ');
            struct kind *kind = strmap_make(&table.kinds, str_slice(line, 0, (size_t)space), sizeof(*kind));
            kind->message = str_slice(line, (size_t)space + 1, line.len);
        } else if (take_prefix(&line, "message ")) {
            message = strmap_make(&table.messages, line, sizeof(*message));
        } else if (message && line.len) {
            *vec_push(&message->rows) = read_row(line);
        }
    }
}

/* ---- values ---- */
struct decoder {
    yyjson_mut_doc *doc;
    const char *problem; /* NULL: none so far */
    int depth;
};

static void decode_message(struct decoder *decoder, struct str name, struct str bytes,
                           yyjson_mut_val *object);

/* The first field of this tag in a small message. */
static bool find(struct decoder *decoder, struct str bytes, uint32_t tag, struct protobuf_field *ret)
{
    struct protobuf_reader reader = protobuf_reader(bytes);
    int r;
    while ((r = protobuf_next(&reader, ret)) > 0)
        if (ret->tag == tag)
            return true;
    if (r < 0)
        decoder->problem = protobuf_problem(r);
    return false;
}

static int64_t find_number(struct decoder *decoder, struct str bytes, uint32_t tag)
{
    struct protobuf_field field;
    return find(decoder, bytes, tag, &field) && field.wire == WIRE_VARINT ? (int64_t)field.number : 0;
}

static struct str find_bytes(struct decoder *decoder, struct str bytes, uint32_t tag)
{
    struct protobuf_field field;
    return find(decoder, bytes, tag, &field) && field.wire == WIRE_BYTES ? field.bytes : (struct str){ 0 };
}

static yyjson_mut_val *decode_time(struct decoder *decoder, struct str bytes, bool is_micro)
{
    char buf[TIMESTAMP_LEN_MAX + 1];
    int64_t seconds = find_number(decoder, bytes, 1), nanos = find_number(decoder, bytes, 2);
    if (!bytes.len)
        return NULL;
    return tree_mut_new_str(decoder->doc,
                            is_micro ? timestamp_format_fraction(seconds, (int32_t)(nanos % NS_PER_S), 6, buf)
                                     : timestamp_format(seconds, buf));
}

static yyjson_mut_val *decode_raw(struct decoder *decoder, struct str bytes)
{
    struct str json = find_bytes(decoder, bytes, 1), reason;
    struct arena arena = { 0 };
    yyjson_doc *doc = json.len ? tree_parse(json, &arena, &reason) : NULL;
    yyjson_mut_val *val = doc ? yyjson_val_mut_copy(decoder->doc, yyjson_doc_get_root(doc)) : NULL;
    if (json.len && !doc)
        decoder->problem = "a raw value is no JSON";
    yyjson_doc_free(doc);
    arena_release(&arena);
    return val;
}

static yyjson_mut_val *decode_base64(struct decoder *decoder, struct str bytes)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    base64_encode(&text, bytes);
    return tree_mut_new_str(decoder->doc, strbuf_slice(&text));
}

static yyjson_mut_val *decode_duration(struct decoder *decoder, struct str bytes)
{
    char text[DURATION_TEXT_MAX];
    duration_format(find_number(decoder, bytes, 1), text);
    return tree_mut_new_str(decoder->doc, str_from(text));
}

static yyjson_mut_val *decode_int_or_string(struct decoder *decoder, struct str bytes)
{
    return find_number(decoder, bytes, 1) ? tree_mut_new_str(decoder->doc, find_bytes(decoder, bytes, 3))
                                          : yyjson_mut_sint(decoder->doc, find_number(decoder, bytes, 2));
}

static bool is_of_wire(enum leaf leaf, enum protobuf_wire wire)
{
    if (leaf == LEAF_INT || leaf == LEAF_BOOL)
        return wire == WIRE_VARINT;
    return wire == (leaf == LEAF_DOUBLE ? WIRE_FIXED64 : WIRE_BYTES);
}

/* NULL: it has no value. */
static yyjson_mut_val *decode_leaf(struct decoder *decoder, const struct row *row,
                                   const struct protobuf_field *field)
{
    yyjson_mut_doc *doc = decoder->doc;
    yyjson_mut_val *object;
    double real;
    if (!is_of_wire(row->leaf, field->wire)) {
        decoder->problem = "a field has a wrong type";
        return NULL;
    }
    switch (row->leaf) {
    case LEAF_STRING:
        return tree_mut_new_str(doc, field->bytes);
    case LEAF_INT:
        return yyjson_mut_sint(doc, (int64_t)field->number);
    case LEAF_BOOL:
        return yyjson_mut_bool(doc, field->number != 0);
    case LEAF_DOUBLE:
        memcpy(&real, &field->number, sizeof(real));
        return yyjson_mut_real(doc, real);
    case LEAF_BYTES:
        return decode_base64(decoder, field->bytes);
    case LEAF_TIME:
    case LEAF_MICRO_TIME:
        return decode_time(decoder, field->bytes, row->leaf == LEAF_MICRO_TIME);
    case LEAF_DURATION:
        return decode_duration(decoder, field->bytes);
    case LEAF_QUANTITY:
        return tree_mut_new_str(doc, find_bytes(decoder, field->bytes, 1));
    case LEAF_INT_OR_STRING:
        return decode_int_or_string(decoder, field->bytes);
    case LEAF_RAW:
        return decode_raw(decoder, field->bytes);
    case LEAF_MESSAGE:
        object = yyjson_mut_obj(doc);
        decode_message(decoder, row->message, field->bytes, object);
        return object;
    }
    return NULL;
}

/* A message that is a list. */
static yyjson_mut_val *decode_items(struct decoder *decoder, const struct row *row, struct str bytes)
{
    struct protobuf_reader reader = protobuf_reader(bytes);
    struct protobuf_field field;
    yyjson_mut_val *list = yyjson_mut_arr(decoder->doc);
    int r;
    while ((r = protobuf_next(&reader, &field)) > 0)
        if (field.tag == 1)
            yyjson_mut_arr_append(list, decode_leaf(decoder, row, &field));
    if (r < 0)
        decoder->problem = protobuf_problem(r);
    return list;
}

static yyjson_mut_val *decode_value(struct decoder *decoder, const struct row *row,
                                    const struct protobuf_field *field)
{
    if (row->has_items && field->wire == WIRE_BYTES)
        return decode_items(decoder, row, field->bytes);
    return decode_leaf(decoder, row, field);
}

/* ---- messages ---- */
/* Go leaves out the zero of what is no pointer. */
static bool is_zero(const struct row *row, const struct protobuf_field *field)
{
    if (row->is_pointer)
        return false;
    if (row->leaf == LEAF_STRING || row->leaf == LEAF_BYTES)
        return field->wire == WIRE_BYTES && !field->bytes.len;
    return (row->leaf == LEAF_INT || row->leaf == LEAF_BOOL) && field->wire == WIRE_VARINT && !field->number;
}

static void decode_map_entry(struct decoder *decoder, const struct row *row, struct str bytes,
                             yyjson_mut_val *object)
{
    struct protobuf_field value;
    struct str key = find_bytes(decoder, bytes, 1);
    yyjson_mut_val *map = tree_mut_member(object, row->name);
    if (!map) {
        map = yyjson_mut_obj(decoder->doc);
        tree_mut_put(decoder->doc, object, row->name, map);
    }
    yyjson_mut_val *val = find(decoder, bytes, 2, &value) ? decode_value(decoder, row, &value)
                          : row->leaf == LEAF_STRING      ? tree_mut_new_str(decoder->doc, (struct str){ 0 })
                                                          : NULL;
    if (val)
        yyjson_mut_obj_add(map, tree_mut_new_str(decoder->doc, key), val);
}

static void decode_field(struct decoder *decoder, const struct row *row, const struct protobuf_field *field,
                         yyjson_mut_val *object)
{
    if (str_is(row->name, "-") && row->leaf == LEAF_MESSAGE && field->wire == WIRE_BYTES) {
        decode_message(decoder, row->message, field->bytes, object);
    } else if (row->is_map && field->wire == WIRE_BYTES) {
        decode_map_entry(decoder, row, field->bytes, object);
    } else if (row->is_list) {
        yyjson_mut_val *list = tree_mut_member(object, row->name);
        if (!list) {
            list = yyjson_mut_arr(decoder->doc);
            tree_mut_put(decoder->doc, object, row->name, list);
        }
        yyjson_mut_arr_append(list, decode_value(decoder, row, field));
    } else if (!is_zero(row, field)) {
        yyjson_mut_val *val = decode_value(decoder, row, field);
        if (val)
            tree_mut_put(decoder->doc, object, row->name, val);
    }
}

static void decode_message(struct decoder *decoder, struct str name, struct str bytes, yyjson_mut_val *object)
{
    const struct message *message = strmap_get(&table.messages, name);
    struct protobuf_reader reader = protobuf_reader(bytes);
    struct protobuf_field field;
    int r = 0;
    if (decoder->depth++ >= MESSAGE_DEPTH_MAX)
        decoder->problem = "messages are nested too deeply";
    while (message && !decoder->problem && (r = protobuf_next(&reader, &field)) > 0)
        for (size_t i = 0; i < message->rows.len; i++)
            if (message->rows.items[i].tag == field.tag) {
                decode_field(decoder, &message->rows.items[i], &field, object);
                break;
            }
    if (r < 0)
        decoder->problem = protobuf_problem(r);
    decoder->depth--;
}

/* "k8s\0" and a runtime.Unknown. */
static const char *decode_envelope(struct decoder *decoder, struct str bytes)
{
    static const struct str magic = { "k8s", 4 };
    yyjson_mut_val *object = yyjson_mut_obj(decoder->doc);
    if (!str_starts_with(bytes, magic))
        return "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
    bytes = str_slice(bytes, magic.len, bytes.len);
    struct str type = find_bytes(decoder, bytes, 1), raw = find_bytes(decoder, bytes, 2);
    struct str version = find_bytes(decoder, type, 1), kind = find_bytes(decoder, type, 2);
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    strbuf_printf(&key, STR_FMT " " STR_FMT, STR_ARG(version), STR_ARG(kind));
    const struct kind *row = strmap_get(&table.kinds, strbuf_slice(&key));
    if (!row)
        return decoder->problem ? decoder->problem : "its kind has no protobuf message here";
    tree_mut_put_str(decoder->doc, object, "kind", kind);
    tree_mut_put_str(decoder->doc, object, "apiVersion", version);
    yyjson_mut_doc_set_root(decoder->doc, object);
    decode_message(decoder, row->message, raw, object);
    return decoder->problem;
}

bool messages_to_json(struct str bytes, struct strbuf *out, struct arena *arena, struct str *ret_reason)
{
    struct decoder decoder = { .doc = yyjson_mut_doc_new(NULL) };
    read_table();
    const char *problem = decode_envelope(&decoder, bytes);
    size_t before = out->len;
    if (!problem)
        tree_mut_write(yyjson_mut_doc_get_root(decoder.doc), out);
    if (!problem && out->len == before)
        problem = "a string is not UTF-8";
    yyjson_mut_doc_free(decoder.doc);
    *ret_reason = problem ? arena_str(arena, str_from(problem)) : (struct str){ 0 };
    return !problem;
}
