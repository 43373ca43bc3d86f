/* record_scalars.c: kinds that are one value: texts, numbers, any JSON. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/base64.h"
#include "codec/record_ops.h"
#include "codec/record_struct.h"

/* ---- values that are their bytes ---- */

PUT_KEY(bytes_put_key)
{
    strbuf_add(out, at, kind->size);
}

/* ---- texts ---- */

int record_read_str(struct record_reader *reader, const struct path *path, yyjson_val *val, struct str *ret)
{
    if (!yyjson_is_str(val))
        return record_expected(reader, path, val, "a string");
    struct str text = doc_text(val);
    if (reader->mode & RECORD_C_STRINGS && text.len && memchr(text.ptr, '\0', text.len))
        return record_complain(reader, path, val, "a zero byte is not allowed");
    *ret = record_keep(reader, text);
    return 0;
}

READ(str_read)
{
    return record_read_str(reader, path, val, at);
}

WRITE(str_write)
{
    json_str(writer->json, *(const struct str *)at);
}

READ_PROTOBUF(str_read_protobuf)
{
    *(struct str *)at = in->bytes.len ? record_keep(reader, in->bytes) : (struct str){ 0 };
    return 0;
}

READ_PROTOBUF(opt_str_read_protobuf)
{
    *(struct str *)at = record_keep(reader, in->bytes);
    return 0;
}

WRITE_PROTOBUF(str_write_protobuf)
{
    protobuf_put_bytes(out, tag, *(const struct str *)at);
}

COPY(str_copy)
{
    struct str *text = at;
    if (text->ptr)
        *text = text->len ? arena_str(arena, *text) : STR("");
}

PUT_KEY(str_put_key)
{
    const struct str *text = at;
    strbuf_add(out, (const char *)&text->len, sizeof(text->len));
    strbuf_str(out, *text);
}

PUT_KEY(opt_str_put_key)
{
    strbuf_putc(out, ((const struct str *)at)->ptr != NULL);
    str_put_key(kind, out, field, at);
}

VIEW(str_view)
{
    struct str text = *(const struct str *)at;
    return (struct record_view){ .type = text.ptr ? VIEW_TEXT : VIEW_ABSENT, .text = text };
}

static const struct record_ops str_ops = { str_read, str_write,   str_read_protobuf, str_write_protobuf,
                                           str_copy, str_put_key, str_view };
static const struct record_ops opt_str_ops = {
    str_read, str_write, opt_str_read_protobuf, str_write_protobuf, str_copy, opt_str_put_key, str_view
};
VIEW(item_str_view)
{
    struct str text = *(const struct str *)at;
    return (struct record_view){ .type = VIEW_TEXT, .text = text.ptr ? text : STR("") };
}

static const struct record_ops item_str_ops = { str_read,           str_write, opt_str_read_protobuf,
                                                str_write_protobuf, str_copy,  str_put_key,
                                                item_str_view };
const struct record_kind record_STR = {
    .ops = &str_ops, .size = sizeof(struct str), .empty = EMPTY_LEN, .wire = WIRE_BYTES, .is_text = true
};
const struct record_kind record_OPT_STR = { .ops = &opt_str_ops,
                                            .size = sizeof(struct str),
                                            .empty = EMPTY_POINTER,
                                            .wire = WIRE_BYTES,
                                            .is_text = true,
                                            .has_null = true };

const struct record_kind record_ITEM_STR = {
    .ops = &item_str_ops, .size = sizeof(struct str), .empty = EMPTY_LEN, .wire = WIRE_BYTES, .is_text = true
};

/* ---- bytes, which are base64 in JSON ---- */

READ(base64_read)
{
    if (!yyjson_is_str(val))
        return record_expected(reader, path, val, "base64 text");
    struct str text = doc_text(val);
    char *bytes = arena_alloc(reader->arena, base64_bytes_max(text.len) + 1);
    ptrdiff_t len = base64_decode(text, bytes);
    if (len < 0)
        return record_expected(reader, path, val, "base64 text");
    bytes[len] = '\0';
    *(struct str *)at = (struct str){ bytes, (uint32_t)len };
    return 0;
}

WRITE(base64_write)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    base64_encode(&text, *(const struct str *)at);
    json_str(writer->json, strbuf_slice(&text));
}

static const struct record_ops bytes_ops = {
    .read = base64_read, .write = base64_write, .copy = str_copy, .put_key = str_put_key
};
const struct record_kind record_BYTES = { .ops = &bytes_ops, .size = sizeof(struct str), .empty = EMPTY_LEN };

/* ---- booleans and numbers ---- */

READ(bool_read)
{
    if (!yyjson_is_bool(val))
        return record_expected(reader, path, val, "true or false");
    *(bool *)at = yyjson_get_bool(val);
    return 0;
}

WRITE(bool_write)
{
    json_bool(writer->json, *(const bool *)at);
}

/* The number or truth value at a place of 1, 4 or 8 bytes. */
static int64_t number_at(const struct record_kind *kind, const void *at)
{
    return kind->size == sizeof(bool)      ? *(const bool *)at
           : kind->size == sizeof(int32_t) ? *(const int32_t *)at
                                           : *(const int64_t *)at;
}

READ_PROTOBUF(number_read_protobuf)
{
    if (kind->size == sizeof(bool))
        *(bool *)at = in->number != 0;
    else if (kind->size == sizeof(int32_t))
        *(int32_t *)at = (int32_t)in->number;
    else
        *(int64_t *)at = (int64_t)in->number;
    return 0;
}

WRITE_PROTOBUF(number_write_protobuf)
{
    protobuf_put_number(out, tag, (uint64_t)number_at(kind, at));
}

VIEW(number_view)
{
    return (struct record_view){ .type = kind->size == sizeof(bool) ? VIEW_FLAG : VIEW_NUMBER,
                                 .number = number_at(kind, at) };
}

static const struct record_ops bool_ops = { .read = bool_read,
                                            .write = bool_write,
                                            .read_protobuf = number_read_protobuf,
                                            .write_protobuf = number_write_protobuf,
                                            .put_key = bytes_put_key,
                                            .view = number_view };
const struct record_kind record_BOOL = { .ops = &bool_ops, .size = sizeof(bool), .empty = EMPTY_ZERO };

/* JSON tells 1 from 1.0 and 1e0, YAML does not. */
static bool whole_number(const struct record_reader *reader, yyjson_val *val, int64_t *ret)
{
    if (yyjson_is_uint(val)) {
        *ret = (int64_t)yyjson_get_uint(val);
        return yyjson_get_uint(val) <= INT64_MAX;
    }
    if (yyjson_is_sint(val)) {
        *ret = yyjson_get_sint(val);
        return true;
    }
    double real = yyjson_is_real(val) && !doc_strings_stay(reader->doc) ? yyjson_get_real(val) : NAN;
    if (!(fabs(real) <= 9007199254740992.0) || real != floor(real))
        return false;
    *ret = (int64_t)real;
    return true;
}

READ(int32_read)
{
    int64_t value;
    if (!whole_number(reader, val, &value))
        return record_expected(reader, path, val, "a whole number");
    if (value < INT32_MIN || value > INT32_MAX)
        return record_expected(reader, path, val, "a whole number from -2147483648 to 2147483647");
    *(int32_t *)at = (int32_t)value;
    return 0;
}

READ(int64_read)
{
    if (!whole_number(reader, val, at))
        return record_expected(reader, path, val, "a whole number of 64 bits");
    return 0;
}

WRITE(int_write)
{
    json_int(writer->json, number_at(kind, at));
}

static const struct record_ops int32_ops = { .read = int32_read,
                                             .write = int_write,
                                             .read_protobuf = number_read_protobuf,
                                             .write_protobuf = number_write_protobuf,
                                             .put_key = bytes_put_key,
                                             .view = number_view };
static const struct record_ops int64_ops = { .read = int64_read,
                                             .write = int_write,
                                             .read_protobuf = number_read_protobuf,
                                             .write_protobuf = number_write_protobuf,
                                             .put_key = bytes_put_key,
                                             .view = number_view };
const struct record_kind record_INT32 = { .ops = &int32_ops, .size = sizeof(int32_t), .empty = EMPTY_ZERO };
const struct record_kind record_INT64 = { .ops = &int64_ops, .size = sizeof(int64_t), .empty = EMPTY_ZERO };
const struct record_kind record_OPT_BOOL = RECORD_OPTIONAL(BOOL, struct opt_bool, WIRE_VARINT);
const struct record_kind record_OPT_INT32 = RECORD_OPTIONAL(INT32, struct opt_int32, WIRE_VARINT);
const struct record_kind record_OPT_INT64 = RECORD_OPTIONAL(INT64, struct opt_int64, WIRE_VARINT);

READ(float_read)
{
    double value = yyjson_get_num(val);
    if (!yyjson_is_num(val) || !(fabs(value) <= FLT_MAX))
        return record_expected(reader, path, val, "a number that fits 32 bits");
    *(double *)at = (double)(float)value;
    return 0;
}

/* The fewest digits that are this 32-bit float again. */
WRITE(float_write)
{
    enum { DIGITS_MIN = 6, DIGITS_MAX = 9 };
    double value = *(const double *)at, shortest = value;
    char text[40];
    for (int digits = DIGITS_MIN; digits <= DIGITS_MAX; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        shortest = strtod(text, NULL);
        if ((float)shortest == (float)value)
            break;
    }
    json_double(writer->json, shortest);
}

static const struct record_ops float_ops = { .read = float_read,
                                             .write = float_write,
                                             .put_key = bytes_put_key };
const struct record_kind record_FLOAT = { .ops = &float_ops, .size = sizeof(double), .empty = EMPTY_ZERO };

READ(double_read)
{
    double value = yyjson_is_raw(val) ? strtod(yyjson_get_raw(val), NULL) : yyjson_get_num(val);
    if ((!yyjson_is_num(val) && !yyjson_is_raw(val)) || !isfinite(value))
        return record_expected(reader, path, val, "a number that fits 64 bits");
    *(double *)at = value;
    return 0;
}

WRITE(double_write)
{
    json_double(writer->json, *(const double *)at);
}

static const struct record_ops double_ops = { .read = double_read,
                                              .write = double_write,
                                              .put_key = bytes_put_key };
const struct record_kind record_DOUBLE = { .ops = &double_ops, .size = sizeof(double), .empty = EMPTY_ZERO };

/* ---- a number or a text ---- */

READ(int_or_str_read)
{
    struct int_or_str *either = at;
    if (!yyjson_is_str(val) && !yyjson_is_num(val) && !yyjson_is_raw(val))
        return record_expected(reader, path, val, "a whole number or a string");
    either->set = true;
    return yyjson_is_str(val) ? record_read_str(reader, path, val, &either->text)
                              : int32_read(kind, reader, path, val, field, &either->number);
}

WRITE(int_or_str_write)
{
    const struct int_or_str *either = at;
    if (either->text.ptr)
        json_str(writer->json, either->text);
    else
        json_int(writer->json, either->number);
}

READ_PROTOBUF(int_or_str_read_protobuf)
{
    struct protobuf_field parts[] = { { .wire = WIRE_VARINT },
                                      { .wire = WIRE_VARINT },
                                      { .wire = WIRE_BYTES } };
    int r = protobuf_parts(in->bytes, parts, ARRAY_SIZE(parts));
    if (r < 0)
        return record_refuse(reader, path, r, "%s", protobuf_problem(r));
    struct int_or_str value = { .set = true };
    if (parts[0].number)
        value.text = record_keep(reader, parts[2].bytes);
    else
        value.number = (int32_t)parts[1].number;
    *(struct int_or_str *)at = value;
    return 0;
}

WRITE_PROTOBUF(int_or_str_write_protobuf)
{
    const struct int_or_str *either = at;
    size_t begun = protobuf_begin(out, tag);
    protobuf_put_number(out, 1, either->text.ptr != NULL);
    if (either->text.ptr)
        protobuf_put_bytes(out, 3, either->text);
    else
        protobuf_put_number(out, 2, (uint64_t)either->number);
    protobuf_end(out, begun);
}

COPY(int_or_str_copy)
{
    str_copy(kind, arena, field, &((struct int_or_str *)at)->text);
}

PUT_KEY(int_or_str_put_key)
{
    const struct int_or_str *either = at;
    strbuf_putc(out, either->set);
    strbuf_add(out, (const char *)&either->number, sizeof(either->number));
    opt_str_put_key(kind, out, field, &either->text);
}

VIEW(int_or_str_view)
{
    const struct int_or_str *either = at;
    enum record_view_type type = !either->set ? VIEW_ABSENT : either->text.ptr ? VIEW_TEXT : VIEW_NUMBER;
    return (struct record_view){ .type = type, .number = either->number, .text = either->text };
}

static const struct record_ops int_or_str_ops = { int_or_str_read,          int_or_str_write,
                                                  int_or_str_read_protobuf, int_or_str_write_protobuf,
                                                  int_or_str_copy,          int_or_str_put_key,
                                                  int_or_str_view };
const struct record_kind record_INT_OR_STR = {
    .ops = &int_or_str_ops, .size = sizeof(struct int_or_str), .empty = EMPTY_UNSET, .wire = WIRE_BYTES
};

/* ---- any JSON, as text: a RawExtension ---- */

READ(raw_read)
{
    size_t len;
    _cleanup_(freep) char *text = yyjson_val_write(val, 0, &len);
    if (!text || len > UINT32_MAX)
        return record_complain(reader, path, val, "cannot be written as JSON");
    *(struct str *)at = arena_str(reader->arena, (struct str){ text, (uint32_t)len });
    return 0;
}

WRITE(raw_write)
{
    json_raw(writer->json, *(const struct str *)at);
}

READ_PROTOBUF(raw_read_protobuf)
{
    struct protobuf_field raw = { .wire = WIRE_BYTES };
    int r = protobuf_parts(in->bytes, &raw, 1);
    if (r < 0)
        return record_refuse(reader, path, r, "%s", protobuf_problem(r));
    if (raw.tag)
        *(struct str *)at = record_keep(reader, raw.bytes);
    return 0;
}

WRITE_PROTOBUF(raw_write_protobuf)
{
    size_t begun = protobuf_begin(out, tag);
    protobuf_put_bytes(out, 1, *(const struct str *)at);
    protobuf_end(out, begun);
}

static const struct record_ops raw_ops = { .read = raw_read,
                                           .write = raw_write,
                                           .read_protobuf = raw_read_protobuf,
                                           .write_protobuf = raw_write_protobuf,
                                           .copy = str_copy,
                                           .put_key = str_put_key };
const struct record_kind record_RAW = {
    .ops = &raw_ops, .size = sizeof(struct str), .empty = EMPTY_LEN, .wire = WIRE_BYTES, .is_text = true
};

/* ---- any JSON, as it is in its document ---- */

READ(value_read)
{
    *(yyjson_val **)at = val;
    return 0;
}

/* Documents are nested no deeper than DOC_DEPTH_MAX. */
void record_write_value(struct json_writer *json, yyjson_val *val)
{
    size_t i, max;
    yyjson_val *key, *item;
    if (yyjson_is_obj(val)) {
        json_begin_object(json);
        yyjson_obj_foreach(val, i, max, key, item) {
            json_key(json, doc_text(key));
            record_write_value(json, item);
        }
        json_end_object(json);
    } else if (yyjson_is_arr(val)) {
        json_begin_array(json);
        yyjson_arr_foreach(val, i, max, item)
            record_write_value(json, item);
        json_end_array(json);
    } else if (yyjson_is_str(val)) {
        json_str(json, doc_text(val));
    } else if (yyjson_is_uint(val)) {
        json_uint(json, yyjson_get_uint(val));
    } else if (yyjson_is_sint(val)) {
        json_int(json, yyjson_get_sint(val));
    } else if (yyjson_is_real(val)) {
        json_double(json, yyjson_get_real(val));
    } else if (yyjson_is_bool(val)) {
        json_bool(json, yyjson_get_bool(val));
    } else if (yyjson_is_raw(val)) {
        json_raw(json, (struct str){ yyjson_get_raw(val), (uint32_t)yyjson_get_len(val) });
    } else {
        json_null(json);
    }
}

WRITE(value_write)
{
    record_write_value(writer->json, *(yyjson_val *const *)at);
}

PUT_KEY(value_put_key)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    record_write_value(&json, *(yyjson_val *const *)at);
}

static const struct record_ops value_ops = { .read = value_read,
                                             .write = value_write,
                                             .put_key = value_put_key };
const struct record_kind record_VALUE = {
    .ops = &value_ops, .size = sizeof(yyjson_val *), .empty = EMPTY_POINTER, .has_null = true
};
