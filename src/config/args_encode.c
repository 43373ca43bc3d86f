/* args_encode.c: structs written by the tables that read them. */
#include <stdlib.h>

#include "base/base64.h"
#include "config/args.h"
#include "config/duration.h"

static yyjson_mut_val *encode_str(yyjson_mut_doc *doc, struct str text)
{
    return yyjson_mut_strn(doc, text.ptr ? text.ptr : "", text.len);
}

static yyjson_mut_val *encode_bytes(yyjson_mut_doc *doc, struct str bytes)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    base64_encode(&text, bytes);
    return yyjson_mut_strncpy(doc, text.text ? text.text : "", text.len);
}

static yyjson_mut_val *encode_duration(yyjson_mut_doc *doc, int64_t ns)
{
    char text[DURATION_TEXT_MAX];
    duration_format(ns, text);
    return yyjson_mut_strcpy(doc, text);
}

/* The fewest digits that are this 32-bit float again. */
static yyjson_mut_val *encode_float(yyjson_mut_doc *doc, double value)
{
    enum { DIGITS_MIN = 6, DIGITS_MAX = 9 };
    char text[40];
    double shortest = value;
    for (int digits = DIGITS_MIN; digits <= DIGITS_MAX; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        shortest = strtod(text, NULL);
        if ((float)shortest == (float)value)
            break;
    }
    return yyjson_mut_real(doc, shortest);
}

static yyjson_mut_val *encode_strings(yyjson_mut_doc *doc, const struct str_list *list)
{
    yyjson_mut_val *array = yyjson_mut_arr(doc);
    for (uint32_t i = 0; i < list->len; i++)
        yyjson_mut_arr_append(array, encode_str(doc, list->items[i]));
    return array;
}

static yyjson_mut_val *encode_map(yyjson_mut_doc *doc, const struct str_map *map)
{
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    for (uint32_t i = 0; i < map->len; i++)
        yyjson_mut_obj_add(object, encode_str(doc, map->items[i].key), encode_str(doc, map->items[i].value));
    return object;
}

struct any_list { /* the layout of every LIST() */
    void *items;
    uint32_t len;
};

static yyjson_mut_val *encode_structs(yyjson_mut_doc *doc, const struct args_type *type,
                                      const struct any_list *list)
{
    yyjson_mut_val *array = yyjson_mut_arr(doc);
    for (uint32_t i = 0; i < list->len; i++)
        yyjson_mut_arr_append(array, args_encode(doc, type, (const char *)list->items + i * type->size));
    return array;
}

/* Empty, zero or absent, as Go's omitempty means it. */
static bool is_empty(const struct args_field *field, const void *at)
{
    switch (field->kind) {
    case ARGS_STRING:
    case ARGS_BYTES:
        return str_empty(*(const struct str *)at);
    case ARGS_BOOL:
        return !*(const bool *)at;
    case ARGS_INT32:
        return !*(const int32_t *)at;
    case ARGS_INT64:
        return !*(const int64_t *)at;
    case ARGS_FLOAT:
        return *(const double *)at == 0;
    case ARGS_OPT_BOOL:
        return !((const struct opt_bool *)at)->set;
    case ARGS_OPT_INT32:
        return !((const struct opt_int32 *)at)->set;
    case ARGS_OPT_INT64:
    case ARGS_OPT_DURATION:
        return !((const struct opt_int64 *)at)->set;
    case ARGS_STRING_LIST:
    case ARGS_STRING_MAP:
    case ARGS_STRUCT_LIST:
        return !((const struct any_list *)at)->len;
    case ARGS_STRUCT_PTR:
    case ARGS_RAW:
        return !*(void *const *)at;
    case ARGS_ENUM:
    case ARGS_DURATION:
    case ARGS_STRUCT:
        break;
    }
    return false;
}

static yyjson_mut_val *encode_value(yyjson_mut_doc *doc, const struct args_field *field, const void *at)
{
    switch (field->kind) {
    case ARGS_STRING:
        return encode_str(doc, *(const struct str *)at);
    case ARGS_BYTES:
        return encode_bytes(doc, *(const struct str *)at);
    case ARGS_BOOL:
        return yyjson_mut_bool(doc, *(const bool *)at);
    case ARGS_INT32:
        return yyjson_mut_int(doc, *(const int32_t *)at);
    case ARGS_INT64:
        return yyjson_mut_int(doc, *(const int64_t *)at);
    case ARGS_FLOAT:
        return encode_float(doc, *(const double *)at);
    case ARGS_DURATION:
        return encode_duration(doc, *(const int64_t *)at);
    case ARGS_OPT_BOOL:
        return yyjson_mut_bool(doc, ((const struct opt_bool *)at)->value);
    case ARGS_OPT_INT32:
        return yyjson_mut_int(doc, ((const struct opt_int32 *)at)->value);
    case ARGS_OPT_INT64:
        return yyjson_mut_int(doc, ((const struct opt_int64 *)at)->value);
    case ARGS_OPT_DURATION:
        return encode_duration(doc, ((const struct opt_int64 *)at)->value);
    case ARGS_ENUM:
        return yyjson_mut_str(doc, field->names[*(const int *)at]);
    case ARGS_STRING_LIST:
        return encode_strings(doc, at);
    case ARGS_STRING_MAP:
        return encode_map(doc, at);
    case ARGS_STRUCT:
        return args_encode(doc, field->type, at);
    case ARGS_STRUCT_PTR:
        return args_encode(doc, field->type, *(void *const *)at);
    case ARGS_STRUCT_LIST:
        return encode_structs(doc, field->type, at);
    case ARGS_RAW:
        return yyjson_val_mut_copy(doc, *(yyjson_val *const *)at);
    }
    return yyjson_mut_null(doc);
}

/* Has nothing to write that is not null: a pointer, a list. */
static bool is_nullable(enum args_kind kind)
{
    return kind == ARGS_OPT_BOOL || kind == ARGS_OPT_INT32 || kind == ARGS_OPT_INT64 ||
           kind == ARGS_OPT_DURATION || kind == ARGS_STRING_LIST || kind == ARGS_STRING_MAP ||
           kind == ARGS_STRUCT_LIST || kind == ARGS_STRUCT_PTR || kind == ARGS_RAW;
}

yyjson_mut_val *args_encode(yyjson_mut_doc *doc, const struct args_type *type, const void *value)
{
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    for (size_t i = 0; i < type->count; i++) {
        const struct args_field *field = &type->fields[i];
        const void *at = (const char *)value + field->offset;
        bool empty = is_empty(field, at);
        if (empty && !field->always)
            continue;
        yyjson_mut_obj_add_val(doc, object, field->name,
                               empty && is_nullable(field->kind) ? yyjson_mut_null(doc)
                                                                 : encode_value(doc, field, at));
    }
    return object;
}
