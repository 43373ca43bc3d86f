/* json_encode.c: see json_encode.h. A struct that has nothing to say is left out, so each is tried first. */
#include "api/json_encode.h"

#include <stdio.h>

#include "api/fields.h"
#include "api/quantity.h"
#include "api/timestamp.h"

struct out {
    struct json_writer *json;
    const struct json_veil *veil; /* may be NULL */
};

static void put_fields(const struct out *out, const struct type *type, const void *ptr);
static bool has_fields(const struct type *type, const void *ptr);

/* All LIST(type) have this shape. */
struct any_list {
    const char *items;
    uint32_t len;
};

static const void *inside(const struct field *field, const void *ptr)
{
    return (const char *)ptr + field->offset;
}

/* Is there anything to write? */
static bool has(const struct field *field, const void *at)
{
    switch ((enum field_kind)field->kind) {
    case FIELD_STR:
    case FIELD_RAW:
        return ((const struct str *)at)->len > 0;
    case FIELD_OPT_STR:
        return ((const struct str *)at)->ptr != NULL;
    case FIELD_BOOL:
        return *(const bool *)at;
    case FIELD_OPT_BOOL:
        return ((const struct opt_bool *)at)->set;
    case FIELD_INT32:
        return *(const int32_t *)at != 0;
    case FIELD_INT64:
        return *(const int64_t *)at != 0;
    case FIELD_OPT_INT32:
        return ((const struct opt_int32 *)at)->set;
    case FIELD_OPT_INT64:
        return ((const struct opt_int64 *)at)->set;
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        return ((const struct opt_time *)at)->set;
    case FIELD_INT_OR_STR:
        return ((const struct int_or_str *)at)->set;
    case FIELD_QUANTITY:
    case FIELD_PTR:
        return *(const void *const *)at != NULL;
    case FIELD_STRUCT:
    case FIELD_PART:
        return has_fields(field->type, at);
    default: /* lists of all kinds */
        return ((const struct any_list *)at)->len > 0;
    }
}

static bool is_written(const struct field *field)
{
    return field->name && field->tag < FIELD_TAG_OLDER;
}

static bool has_fields(const struct type *type, const void *ptr)
{
    for (uint32_t i = 0; i < type->len; i++)
        if (is_written(&type->fields[i]) && has(&type->fields[i], inside(&type->fields[i], ptr)))
            return true;
    return false;
}

static void put_quantity(struct json_writer *json, struct quantity q)
{
    char buf[QUANTITY_LEN_MAX];
    json_str(json, quantity_format(q, buf));
}

static void put_time(struct json_writer *json, const struct opt_time *time, bool micro)
{
    char seconds[TIMESTAMP_LEN + 1], text[TIMESTAMP_LEN + 16];
    struct str whole = timestamp_format(time->seconds, seconds);
    if (!micro) {
        json_str(json, whole);
        return;
    }
    snprintf(text, sizeof(text), STR_FMT ".%06dZ", STR_ARG(str_slice(whole, 0, whole.len - 1)),
             (int)(time->nanos / 1000));
    json_str(json, str_from(text));
}

static void put_int_or_str(struct json_writer *json, const struct int_or_str *value)
{
    if (value->text.ptr)
        json_str(json, value->text);
    else
        json_int(json, value->number);
}

/* The text as it may be told; false: not at all. */
static bool veiled(const struct out *out, const struct field *field, struct str *text, bool is_key)
{
    if (out->veil)
        *text = out->veil->text(out->veil->user, field, *text, is_key);
    return text->ptr || !out->veil;
}

static void put_object(const struct out *out, const struct type *type, const void *ptr)
{
    json_begin_object(out->json);
    put_fields(out, type, ptr);
    json_end_object(out->json);
}

static void put_list(const struct out *out, const struct type *type, const struct any_list *list)
{
    json_begin_array(out->json);
    for (uint32_t i = 0; i < list->len; i++)
        put_object(out, type, list->items + i * type->size);
    json_end_array(out->json);
}

/* Entries begin with their key. */
static void put_map(const struct out *out, const struct field *field, const struct any_list *list)
{
    json_begin_object(out->json);
    for (uint32_t i = 0; i < list->len; i++) {
        const char *item = list->items + i * field->type->size;
        struct str key = *(const struct str *)(const void *)item;
        if (!veiled(out, field, &key, true))
            continue;
        json_key(out->json, key);
        put_object(out, field->type, item);
    }
    json_end_object(out->json);
}

static void put_texts(const struct out *out, const struct field *field, const void *at)
{
    struct json_writer *json = out->json;
    if (field->kind == FIELD_STRS || field->kind == FIELD_QUANTITIES)
        json_begin_array(json);
    else
        json_begin_object(json);
    switch ((enum field_kind)field->kind) {
    case FIELD_STRS:
        list_for((const struct str_list *)at, item) {
            struct str text = *item;
            if (veiled(out, field, &text, false))
                json_str(json, text);
        }
        break;
    case FIELD_QUANTITIES:
        list_for((const struct quantity_list *)at, quantity)
            put_quantity(json, *quantity);
        break;
    case FIELD_PAIRS:
        list_for((const struct str_map *)at, pair) {
            struct str key = pair->key, value = pair->value;
            if (!veiled(out, field, &key, true) || !veiled(out, field, &value, false))
                continue;
            json_key(json, key);
            json_str(json, value);
        }
        break;
    case FIELD_RESOURCES:
        list_for((const struct resource_list *)at, resource) {
            struct str name = resource->name;
            if (!veiled(out, field, &name, true))
                continue;
            json_key(json, name);
            put_quantity(json, resource->amount);
        }
        break;
    default: /* FIELD_KEYS: times that nobody kept; see decode.c */
        list_for((const struct str_list *)at, key) {
            struct str text = *key;
            if (!veiled(out, field, &text, true))
                continue;
            json_key(json, text);
            json_str(json, STR("1970-01-01T00:00:00Z"));
        }
        break;
    }
    if (field->kind == FIELD_STRS || field->kind == FIELD_QUANTITIES)
        json_end_array(json);
    else
        json_end_object(json);
}

static void put_number(struct json_writer *json, const struct field *field, const void *at)
{
    switch ((enum field_kind)field->kind) {
    case FIELD_BOOL:
        json_bool(json, *(const bool *)at);
        break;
    case FIELD_OPT_BOOL:
        json_bool(json, ((const struct opt_bool *)at)->value);
        break;
    case FIELD_INT32:
        json_int(json, *(const int32_t *)at);
        break;
    case FIELD_INT64:
        json_int(json, *(const int64_t *)at);
        break;
    case FIELD_OPT_INT32:
        json_int(json, ((const struct opt_int32 *)at)->value);
        break;
    default: /* FIELD_OPT_INT64 */
        json_int(json, ((const struct opt_int64 *)at)->value);
        break;
    }
}

static void put_value(const struct out *out, const struct field *field, const void *at)
{
    struct json_writer *json = out->json;
    switch ((enum field_kind)field->kind) {
    case FIELD_RAW:
        json_raw(json, *(const struct str *)at);
        break;
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        put_time(json, at, field->kind == FIELD_MICRO_TIME);
        break;
    case FIELD_INT_OR_STR:
        put_int_or_str(json, at);
        break;
    case FIELD_QUANTITY:
        put_quantity(json, **(struct quantity *const *)at);
        break;
    case FIELD_PTR:
        put_object(out, field->type, *(const void *const *)at);
        break;
    case FIELD_STRUCT:
    case FIELD_PART:
        put_object(out, field->type, at);
        break;
    case FIELD_LIST:
        put_list(out, field->type, at);
        break;
    case FIELD_MAP:
        put_map(out, field, at);
        break;
    case FIELD_STRS:
    case FIELD_KEYS:
    case FIELD_PAIRS:
    case FIELD_RESOURCES:
    case FIELD_QUANTITIES:
        put_texts(out, field, at);
        break;
    default:
        put_number(json, field, at);
        break;
    }
}

static void put_fields(const struct out *out, const struct type *type, const void *ptr)
{
    for (uint32_t i = 0; i < type->len; i++) {
        const struct field *field = &type->fields[i];
        const void *at = inside(field, ptr);
        bool is_text = field->kind == FIELD_STR || field->kind == FIELD_OPT_STR;
        struct str text = { 0 };
        if (!is_written(field) || !has(field, at))
            continue;
        if (is_text || field->kind == FIELD_RAW) {
            text = *(const struct str *)at;
            if (!veiled(out, field, &text, false))
                continue;
        }
        if (!field->name_len) { /* its fields stand in the parent */
            put_fields(out, field->type, at);
            continue;
        }
        json_key(out->json, (struct str){ field->name, field->name_len });
        if (is_text)
            json_str(out->json, text);
        else
            put_value(out, field, at);
    }
}

void object_encode_json(const struct object *object, const struct json_veil *veil, struct json_writer *json)
{
    const struct kind_info *kind = &api_kinds[object->kind];
    const struct out out = { json, veil };
    json_begin_object(json);
    json_member_str(json, "apiVersion", kind->api_version);
    json_member_str(json, "kind", kind->kind);
    put_fields(&out, kind->type, object->ptr);
    json_end_object(json);
}

void value_encode_json(const struct type *type, const void *value, struct json_writer *json)
{
    put_object(&(const struct out){ json, NULL }, type, value);
}
