/* protobuf_encode.c: the protobuf side of the field tables, writing.
 *
 * Fields come in the order of their tags, as Kubernetes writes them. What is zero, or absent, is left out, unless the
 * reader could tell the difference. */
#include "api/fields.h"
#include "api/protobuf.h"

enum { NANO = 1000000000, NANO_PER_MICRO = 1000 };

static void put_struct(struct strbuf *out, const struct type *type, const void *ptr);

static void put_time(struct strbuf *out, uint32_t tag, const struct opt_time *time, bool micro)
{
    if (!time->set)
        return;
    size_t begun = protobuf_begin(out, tag);
    protobuf_put_number(out, 1, (uint64_t)time->seconds);
    if (micro)
        protobuf_put_number(out, 2, (uint64_t)(time->nanos / NANO_PER_MICRO * NANO_PER_MICRO));
    protobuf_end(out, begun);
}

static void put_int_or_str(struct strbuf *out, uint32_t tag, const struct int_or_str *value)
{
    if (!value->set)
        return;
    size_t begun = protobuf_begin(out, tag);
    protobuf_put_number(out, 1, value->text.ptr != NULL);
    if (value->text.ptr)
        protobuf_put_bytes(out, 3, value->text);
    else
        protobuf_put_number(out, 2, (uint64_t)value->number);
    protobuf_end(out, begun);
}

/* Like printf's %lld, at a fraction of its price. */
static size_t add_integer(char *to, int64_t value)
{
    char digits[24];
    size_t len = 0, at = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        digits[len++] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        to[at++] = '-';
    while (len)
        to[at++] = digits[--len];
    return at;
}

/* A message that has the quantity as text, which is read back as it was, `finer` and, if it can be, `binary`. */
static void put_quantity(struct strbuf *out, uint32_t tag, struct quantity q)
{
    char text[48];
    bool in_ki = q.binary && q.nano == 0 && q.units && q.units % 1024 == 0;
    if (q.nano == 0) {
        size_t len = add_integer(text, in_ki ? q.units / 1024 : q.units);
        const char *rest = q.finer ? (in_ki ? ".0Ki" : ".0") : in_ki ? "Ki" : "";
        memcpy(text + len, rest, strlen(rest) + 1);
    } else if (q.units >= 0)
        snprintf(text, sizeof(text), "%lld.%09u", (long long)q.units, q.nano);
    else /* -0.25 is {-1, 750000000} */
        snprintf(text, sizeof(text), "-%lld.%09u", -(long long)(q.units + 1), NANO - q.nano);
    size_t begun = protobuf_begin(out, tag);
    protobuf_put_bytes(out, 1, str_from(text));
    protobuf_end(out, begun);
}

static void put_pairs(struct strbuf *out, uint32_t tag, const struct str_map *map)
{
    list_for(map, pair) {
        size_t begun = protobuf_begin(out, tag);
        protobuf_put_bytes(out, 1, pair->key);
        protobuf_put_bytes(out, 2, pair->value);
        protobuf_end(out, begun);
    }
}

static void put_resources(struct strbuf *out, uint32_t tag, const struct resource_list *list)
{
    list_for(list, resource) {
        size_t begun = protobuf_begin(out, tag);
        protobuf_put_bytes(out, 1, resource->name);
        put_quantity(out, 2, resource->amount);
        protobuf_end(out, begun);
    }
}

/* A map whose values nobody kept. */
static void put_keys(struct strbuf *out, uint32_t tag, const struct str_list *keys)
{
    list_for(keys, key) {
        size_t begun = protobuf_begin(out, tag);
        protobuf_put_bytes(out, 1, *key);
        protobuf_put_bytes(out, 2, STR(""));
        protobuf_end(out, begun);
    }
}

static void put_raw(struct strbuf *out, uint32_t tag, struct str json)
{
    if (!json.len)
        return;
    size_t begun = protobuf_begin(out, tag);
    protobuf_put_bytes(out, 1, json);
    protobuf_end(out, begun);
}

static void put_message(struct strbuf *out, uint32_t tag, const struct type *type, const void *ptr)
{
    size_t begun = protobuf_begin(out, tag);
    put_struct(out, type, ptr);
    protobuf_end(out, begun);
}

/* Left out when it has nothing: a struct that is no pointer is there anyway. */
static void put_inner(struct strbuf *out, uint32_t tag, const struct type *type, const void *ptr)
{
    size_t before = out->len, begun = protobuf_begin(out, tag);
    put_struct(out, type, ptr);
    if (out->len > begun) {
        protobuf_end(out, begun);
        return;
    }
    out->len = before;
    out->text[before] = '\0';
}

/* All LIST(type) have this shape. */
struct any_list {
    const char *items;
    uint32_t len;
};

/* Entries begin with their key. */
static void put_map(struct strbuf *out, uint32_t tag, const struct type *type, const struct any_list *list)
{
    for (uint32_t i = 0; i < list->len; i++) {
        const char *item = list->items + i * type->size;
        size_t begun = protobuf_begin(out, tag);
        protobuf_put_bytes(out, 1, *(const struct str *)(const void *)item);
        put_message(out, 2, type, item);
        protobuf_end(out, begun);
    }
}

static void put_number(struct strbuf *out, uint32_t tag, bool set, int64_t value)
{
    if (set)
        protobuf_put_number(out, tag, (uint64_t)value);
}

static void put_simple(struct strbuf *out, const struct field *field, const void *at)
{
    const struct opt_bool *opt_bool = at;
    const struct opt_int32 *opt_int32 = at;
    const struct opt_int64 *opt_int64 = at;
    const struct str *text = at;
    switch ((enum field_kind)field->kind) {
    case FIELD_STR:
    case FIELD_OPT_STR:
        if (field->kind == FIELD_OPT_STR ? text->ptr != NULL : text->len > 0)
            protobuf_put_bytes(out, field->tag, *text);
        break;
    case FIELD_BOOL:
        put_number(out, field->tag, *(const bool *)at, 1);
        break;
    case FIELD_OPT_BOOL:
        put_number(out, field->tag, opt_bool->set, opt_bool->value);
        break;
    case FIELD_INT32:
        put_number(out, field->tag, *(const int32_t *)at != 0, *(const int32_t *)at);
        break;
    case FIELD_INT64:
        put_number(out, field->tag, *(const int64_t *)at != 0, *(const int64_t *)at);
        break;
    case FIELD_OPT_INT32:
        put_number(out, field->tag, opt_int32->set, opt_int32->value);
        break;
    default: /* FIELD_OPT_INT64 */
        put_number(out, field->tag, opt_int64->set, opt_int64->value);
        break;
    }
}

static void put_field(struct strbuf *out, const struct field *field, const void *at)
{
    switch ((enum field_kind)field->kind) {
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        put_time(out, field->tag, at, field->kind == FIELD_MICRO_TIME);
        break;
    case FIELD_INT_OR_STR:
        put_int_or_str(out, field->tag, at);
        break;
    case FIELD_QUANTITY:
        if (*(struct quantity *const *)at)
            put_quantity(out, field->tag, **(struct quantity *const *)at);
        break;
    case FIELD_STRS:
        list_for((const struct str_list *)at, text)
            protobuf_put_bytes(out, field->tag, *text);
        break;
    case FIELD_KEYS:
        put_keys(out, field->tag, at);
        break;
    case FIELD_PAIRS:
        put_pairs(out, field->tag, at);
        break;
    case FIELD_RESOURCES:
        put_resources(out, field->tag, at);
        break;
    case FIELD_QUANTITIES:
        list_for((const struct quantity_list *)at, quantity)
            put_quantity(out, field->tag, *quantity);
        break;
    case FIELD_RAW:
        put_raw(out, field->tag, *(const struct str *)at);
        break;
    case FIELD_MAP:
        put_map(out, field->tag, field->type, at);
        break;
    case FIELD_STRUCT:
    case FIELD_PART: /* its offset is 0 */
        put_inner(out, field->tag, field->type, at);
        break;
    case FIELD_PTR:
        if (*(const void *const *)at)
            put_message(out, field->tag, field->type, *(const void *const *)at);
        break;
    case FIELD_LIST: {
        const struct any_list *list = at;
        for (uint32_t i = 0; i < list->len; i++)
            put_message(out, field->tag, field->type, list->items + i * field->type->size);
        break;
    }
    default:
        put_simple(out, field, at);
        break;
    }
}

/* Kinds that begin with a pointer, and have nothing to write where it is NULL: most fields of most objects. */
#define KIND_BIT(name) (UINT64_C(1) << FIELD_##name)
static const uint64_t pointer_kinds = KIND_BIT(STR) | KIND_BIT(OPT_STR) | KIND_BIT(RAW) | KIND_BIT(QUANTITY) |
                                      KIND_BIT(STRS) | KIND_BIT(PAIRS) | KIND_BIT(RESOURCES) |
                                      KIND_BIT(QUANTITIES) | KIND_BIT(KEYS) | KIND_BIT(PTR) | KIND_BIT(LIST) |
                                      KIND_BIT(MAP);

static void put_struct(struct strbuf *out, const struct type *type, const void *ptr)
{
    uint32_t len = MIN(type->len, (uint32_t)FIELD_TAG_OLDER);
    for (uint32_t tag = 0; tag < len; tag++) {
        const struct field *field = &type->fields[tag];
        const void *at = (const char *)ptr + field->offset;
        if (field->name && (!(pointer_kinds >> field->kind & 1) || *(const void *const *)at))
            put_field(out, field, at);
    }
}

void object_encode_protobuf(const struct object *object, struct strbuf *out)
{
    assert(object->kind != KIND_UNKNOWN);
    const struct kind_info *kind = &api_kinds[object->kind];
    strbuf_add(out, "k8s", 4); /* its end is part of the magic */
    size_t begun = protobuf_begin(out, 1);
    protobuf_put_bytes(out, 1, kind->api_version);
    protobuf_put_bytes(out, 2, kind->kind);
    protobuf_end(out, begun);
    put_message(out, 2, api_types_by_tag[object->kind], object->ptr);
}
