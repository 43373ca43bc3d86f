/* decode.c: the JSON (and YAML) side of the field tables.
 *
 * One function per kind of field. Recursion goes down the types, which end; what a document holds beyond them is never
 * looked at. Most fields of an object from a live cluster are unknown here, so passing over one must be cheap: a
 * comparison of lengths per row, starting behind the row that was found last, since documents and tables are mostly in
 * the same order. */
#include "api/decode.h"

#include <stdlib.h>

#include "api/timestamp.h"
#include "api/words.h"
#include "base/vec.h"
#include "codec/decimal.h"

enum { TEXT_SHOWN_MAX = 60, KEYS_ON_STACK_MAX = 32 };

/* ---- messages ---- */

/* Hostile text must not break the line or fill it. */
void decode_put_shown(struct strbuf *out, struct str text)
{
    for (size_t i = 0; i < text.len && i < TEXT_SHOWN_MAX; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        strbuf_putc(out, c < ' ' || c == 0x7f ? '?' : (char)c);
    }
    if (text.len > TEXT_SHOWN_MAX)
        strbuf_puts(out, "...");
}

void decode_put_path(struct strbuf *out, const struct place *place)
{
    if (!place)
        return;
    decode_put_path(out, place->up);
    if (!place->name.ptr) {
        strbuf_printf(out, "[%zu]", place->index);
        return;
    }
    if (out->len)
        strbuf_putc(out, '.');
    decode_put_shown(out, place->name);
}

int decode_refuse(const struct decoder *dec, const struct place *place, yyjson_val *val, const char *expected,
                  struct str found)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    decode_put_path(&text, place);
    strbuf_puts(&text, text.len ? ": expected " : "expected ");
    strbuf_printf(&text, "%s, found ", expected);
    decode_put_shown(&text, found);
    return doc_error(dec->doc, val, -EINVAL, dec->err, "%s", text.text);
}

static int refuse_text(const struct decoder *dec, const struct place *place, yyjson_val *val, struct str text,
                       const char *expected)
{
    _cleanup_(strbuf_release) struct strbuf found = { 0 };
    strbuf_putc(&found, '"');
    decode_put_shown(&found, text);
    strbuf_putc(&found, '"');
    return decode_refuse(dec, place, val, expected, strbuf_slice(&found));
}

int decode_wrong(const struct decoder *dec, const struct place *place, yyjson_val *val, const char *expected)
{
    char found[32];
    const char *type = doc_type_name(val);
    snprintf(found, sizeof(found), "%s%s", yyjson_is_null(val) ? "" : *type == 'o' ? "an " : "a ", type);
    return decode_refuse(dec, place, val, expected, str_from(found));
}

/* ---- simple values ---- */

int decode_str(const struct decoder *dec, const struct place *place, yyjson_val *val, struct str *ret)
{
    if (!yyjson_is_str(val))
        return decode_wrong(dec, place, val, "a string");
    size_t len = yyjson_get_len(val);
    if (len > UINT32_MAX)
        return decode_refuse(dec, place, val, "a string", STR("one of 4 GiB or more"));
    struct str text = { yyjson_get_str(val), (uint32_t)len };
    *ret = dec->borrow ? text : words_keep(dec->arena, text);
    return 0;
}

static int decode_int(const struct decoder *dec, const struct place *place, yyjson_val *val, int64_t min,
                      int64_t max, int64_t *ret)
{
    if (yyjson_is_real(val))
        return decode_refuse(dec, place, val, "an integer", STR("a number with a fraction or an exponent"));
    if (yyjson_is_raw(val))
        return decode_refuse(dec, place, val, "an integer", STR("a number that is out of range"));
    if (!yyjson_is_int(val))
        return decode_wrong(dec, place, val, "an integer");
    bool too_big = yyjson_is_uint(val) && yyjson_get_uint(val) > (uint64_t)max;
    if (too_big || (yyjson_is_sint(val) && yyjson_get_sint(val) < min))
        return decode_refuse(dec, place, val,
                             max == INT32_MAX ? "an integer of 32 bits" : "an integer of 64 bits",
                             too_big ? STR("a larger one") : STR("a smaller one"));
    *ret = yyjson_is_uint(val) ? (int64_t)yyjson_get_uint(val) : yyjson_get_sint(val);
    return 0;
}

static int decode_bool(const struct decoder *dec, const struct place *place, yyjson_val *val, bool *ret)
{
    if (!yyjson_is_bool(val))
        return decode_wrong(dec, place, val, "a boolean");
    *ret = yyjson_get_bool(val);
    return 0;
}

static struct str trim(struct str text)
{
    static const char spaces[] = " \t\n\v\f\r";
    while (text.len && memchr(spaces, text.ptr[0], sizeof(spaces) - 1))
        text = str_slice(text, 1, text.len);
    while (text.len && memchr(spaces, text.ptr[text.len - 1], sizeof(spaces) - 1))
        text.len--;
    return text;
}

static int decode_quantity(const struct decoder *dec, const struct place *place, yyjson_val *val,
                           struct quantity *ret)
{
    char digits[DECIMAL_LEN_MAX];
    if (yyjson_is_null(val))
        return 0;
    /* A number too big for a machine's is raw: its text. */
    if ((yyjson_is_str(val) || yyjson_is_raw(val)) && yyjson_get_len(val) <= UINT32_MAX) {
        struct str text = { yyjson_is_str(val) ? yyjson_get_str(val) : yyjson_get_raw(val),
                            (uint32_t)yyjson_get_len(val) };
        return quantity_parse(trim(text), ret) < 0 ? refuse_text(dec, place, val, text, "a quantity") : 0;
    }
    if (yyjson_is_uint(val)) {
        *ret = quantity_from_int((int64_t)MIN(yyjson_get_uint(val), (uint64_t)INT64_MAX));
        return 0;
    }
    if (yyjson_is_sint(val)) {
        *ret = quantity_from_int(yyjson_get_sint(val));
        return 0;
    }
    /* The shortest digits, not the exact ones: 0.1 is meant, and exact digits would round up. */
    if (yyjson_is_real(val) && quantity_parse(decimal_json(yyjson_get_real(val), digits), ret) == 0)
        return 0;
    return decode_wrong(dec, place, val, "a quantity");
}

static int decode_int_or_str(const struct decoder *dec, const struct place *place, yyjson_val *val,
                             struct int_or_str *ret)
{
    int64_t number = 0;
    if (!yyjson_is_str(val) && !yyjson_is_num(val) && !yyjson_is_raw(val))
        return decode_wrong(dec, place, val, "an integer or a string");
    int r = yyjson_is_str(val) ? decode_str(dec, place, val, &ret->text)
                               : decode_int(dec, place, val, INT32_MIN, INT32_MAX, &number);
    ret->number = (int32_t)number;
    ret->set = true;
    return r;
}

static int decode_time(const struct decoder *dec, const struct place *place, yyjson_val *val,
                       struct opt_time *ret)
{
    if (!yyjson_is_str(val))
        return decode_wrong(dec, place, val, "a time");
    struct str text = { yyjson_get_str(val), (uint32_t)MIN(yyjson_get_len(val), (size_t)UINT32_MAX) };
    if (timestamp_parse(text, ret) < 0)
        return refuse_text(dec, place, val, text, "a time such as 2006-01-02T15:04:05Z");
    return 0;
}

/* ---- lists and maps ---- */

/* `*ret_count` items of a list, or a sentence. */
static int list_begin(const struct decoder *dec, const struct place *place, yyjson_val *val,
                      uint32_t *ret_count)
{
    if (!yyjson_is_arr(val))
        return decode_wrong(dec, place, val, "a list");
    if (yyjson_arr_size(val) > UINT32_MAX)
        return decode_refuse(dec, place, val, "a list", STR("one that is too long"));
    *ret_count = (uint32_t)yyjson_arr_size(val);
    return 0;
}

static int decode_strs(const struct decoder *dec, const struct place *place, yyjson_val *val,
                       struct str_list *ret)
{
    uint32_t count;
    int r = list_begin(dec, place, val, &count);
    if (r < 0)
        return r;
    *ret = (struct str_list){ arena_array(dec->arena, struct str, count), count };
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(val, i, max, item) {
        struct place here = { place, { 0 }, i };
        if (!yyjson_is_null(item) && (r = decode_str(dec, &here, item, &ret->items[i])) < 0)
            return r;
    }
    return 0;
}

/* One key of a map. Values of a document lie in memory in its order, so their addresses tell which came last. */
struct entry {
    struct str key;
    yyjson_val *key_val, *val;
};

static int entry_cmp(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    int order = str_cmp(left->key, right->key);
    return order ? order : (left->val > right->val) - (left->val < right->val);
}

/* Sorted by key, the last of equal keys kept; returns how many are left. */
static uint32_t entries_settle(struct entry *entries, uint32_t len)
{
    uint32_t sorted = 1, kept = 0;
    while (sorted < len && str_cmp(entries[sorted - 1].key, entries[sorted].key) < 0)
        sorted++;
    if (sorted >= len)
        return len;
    qsort(entries, len, sizeof(*entries), entry_cmp);
    for (uint32_t i = 0; i < len; i++)
        if (i + 1 == len || !str_eq(entries[i].key, entries[i + 1].key))
            entries[kept++] = entries[i];
    return kept;
}

typedef int (*fill_entries)(const struct decoder *dec, const struct place *place, const struct entry *entries,
                            uint32_t len, void *ret);

/* Collects the entries of an object in order and hands them to `fill`. */
static int decode_map(const struct decoder *dec, const struct place *place, yyjson_val *val,
                      fill_entries fill, void *ret)
{
    if (!yyjson_is_obj(val))
        return decode_wrong(dec, place, val, "an object");
    size_t count = yyjson_obj_size(val), i, max;
    if (count > UINT32_MAX)
        return decode_refuse(dec, place, val, "an object", STR("one with too many keys"));
    struct entry few[KEYS_ON_STACK_MAX];
    _cleanup_(freep) struct entry *many =
        count > KEYS_ON_STACK_MAX ? xreallocarray(NULL, count, sizeof(*many)) : NULL;
    struct entry *entries = many ? many : few;
    yyjson_val *key, *item;
    yyjson_obj_foreach(val, i, max, key, item) {
        size_t len = MIN(yyjson_get_len(key), (size_t)UINT32_MAX);
        entries[i] = (struct entry){ { yyjson_get_str(key), (uint32_t)len }, key, item };
    }
    return fill(dec, place, entries, entries_settle(entries, (uint32_t)count), ret);
}

static int fill_keys(const struct decoder *dec, const struct place *place, const struct entry *entries,
                     uint32_t len, void *ret)
{
    struct str_list *list = ret;
    *list = (struct str_list){ arena_array(dec->arena, struct str, len), len };
    int r = 0;
    for (uint32_t i = 0; i < len && r == 0; i++)
        r = decode_str(dec, place, entries[i].key_val, &list->items[i]);
    return r;
}

static int fill_pairs(const struct decoder *dec, const struct place *place, const struct entry *entries,
                      uint32_t len, void *ret)
{
    struct str_map *map = ret;
    *map = (struct str_map){ arena_array(dec->arena, struct pair, len), len };
    int r = 0;
    for (uint32_t i = 0; i < len && r == 0; i++) {
        struct place here = { place, entries[i].key, 0 };
        r = decode_str(dec, &here, entries[i].key_val, &map->items[i].key);
        if (r == 0 && !yyjson_is_null(entries[i].val))
            r = decode_str(dec, &here, entries[i].val, &map->items[i].value);
    }
    return r;
}

static int fill_resources(const struct decoder *dec, const struct place *place, const struct entry *entries,
                          uint32_t len, void *ret)
{
    struct resource_list *list = ret;
    *list = (struct resource_list){ arena_array(dec->arena, struct resource, len), len };
    int r = 0;
    for (uint32_t i = 0; i < len && r == 0; i++) {
        struct place here = { place, entries[i].key, 0 };
        r = decode_str(dec, &here, entries[i].key_val, &list->items[i].name);
        if (r == 0)
            r = decode_quantity(dec, &here, entries[i].val, &list->items[i].amount);
    }
    return r;
}

/* A list of quantities: null is zero. */
static int decode_quantities(const struct decoder *dec, const struct place *place, yyjson_val *val,
                             struct quantity_list *ret)
{
    uint32_t count;
    int r = list_begin(dec, place, val, &count);
    if (r < 0)
        return r;
    *ret = (struct quantity_list){ arena_array(dec->arena, struct quantity, count), count };
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(val, i, max, item) {
        struct place here = { place, { 0 }, i };
        if ((r = decode_quantity(dec, &here, item, &ret->items[i])) < 0)
            return r;
    }
    return 0;
}

/* Any value, as text again. */
static int decode_raw(const struct decoder *dec, const struct place *place, yyjson_val *val, struct str *ret)
{
    size_t len;
    char *text = yyjson_val_write(val, 0, &len);
    if (!text || len > UINT32_MAX) {
        free(text);
        return decode_refuse(dec, place, val, "any value", STR("one that cannot be written as JSON"));
    }
    *ret = arena_str(dec->arena, (struct str){ text, (uint32_t)len });
    free(text);
    return 0;
}

/* ---- structs ---- */

/* All LIST(type) have this shape. */
struct any_list {
    void *items;
    uint32_t len;
};

static int decode_list(const struct decoder *dec, const struct place *place, yyjson_val *val,
                       const struct type *type, struct any_list *ret)
{
    uint32_t count;
    int r = list_begin(dec, place, val, &count);
    if (r < 0)
        return r;
    char *items = arena_zalloc(dec->arena, arena_bytes(count, type->size));
    ret->items = items;
    ret->len = count;
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(val, i, max, item) {
        struct place here = { place, { 0 }, i };
        if (!yyjson_is_null(item) && (r = decode_struct(dec, &here, item, type, items + i * type->size)) < 0)
            return r;
    }
    return 0;
}

struct typed_list {
    const struct type *type;
    struct any_list *list;
};

static int fill_structs(const struct decoder *dec, const struct place *place, const struct entry *entries,
                        uint32_t len, void *ret)
{
    const struct typed_list *typed = ret;
    char *items = arena_zalloc(dec->arena, arena_bytes(len, typed->type->size));
    *typed->list = (struct any_list){ items, len };
    int r = 0;
    for (uint32_t i = 0; i < len && r == 0; i++) {
        struct place here = { place, entries[i].key, 0 };
        char *item = items + i * typed->type->size;
        if (!yyjson_is_null(entries[i].val))
            r = decode_struct(dec, &here, entries[i].val, typed->type, item);
        if (r == 0)
            r = decode_str(dec, &here, entries[i].key_val, (struct str *)(void *)item);
    }
    return r;
}

static int decode_ptr(const struct decoder *dec, const struct place *place, yyjson_val *val,
                      const struct type *type, void **ret)
{
    void *ptr = arena_zalloc(dec->arena, type->size);
    int r = decode_struct(dec, place, val, type, ptr);
    if (r == 0)
        *ret = ptr;
    return r;
}

static int decode_number(const struct decoder *dec, const struct place *place, yyjson_val *val,
                         enum field_kind kind, void *at)
{
    bool narrow = kind == FIELD_INT32 || kind == FIELD_OPT_INT32;
    int64_t number;
    int r =
        decode_int(dec, place, val, narrow ? INT32_MIN : INT64_MIN, narrow ? INT32_MAX : INT64_MAX, &number);
    if (r < 0)
        return r;
    if (kind == FIELD_INT32)
        *(int32_t *)at = (int32_t)number;
    else if (kind == FIELD_INT64)
        *(int64_t *)at = number;
    else if (kind == FIELD_OPT_INT32)
        *(struct opt_int32 *)at = (struct opt_int32){ true, (int32_t)number };
    else
        *(struct opt_int64 *)at = (struct opt_int64){ true, number };
    return 0;
}

static int decode_field(const struct decoder *dec, const struct place *place, yyjson_val *val,
                        const struct field *field, void *ptr)
{
    void *at = (char *)ptr + field->offset;
    switch ((enum field_kind)field->kind) {
    case FIELD_STR:
    case FIELD_OPT_STR:
        return decode_str(dec, place, val, at);
    case FIELD_BOOL:
        return decode_bool(dec, place, val, at);
    case FIELD_OPT_BOOL:
        ((struct opt_bool *)at)->set = true;
        return decode_bool(dec, place, val, &((struct opt_bool *)at)->value);
    case FIELD_INT32:
    case FIELD_INT64:
    case FIELD_OPT_INT32:
    case FIELD_OPT_INT64:
        return decode_number(dec, place, val, field->kind, at);
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        return decode_time(dec, place, val, at);
    case FIELD_INT_OR_STR:
        return decode_int_or_str(dec, place, val, at);
    case FIELD_QUANTITY:
        *(struct quantity **)at = arena_new(dec->arena, struct quantity);
        return decode_quantity(dec, place, val, *(struct quantity **)at);
    case FIELD_STRS:
        return decode_strs(dec, place, val, at);
    case FIELD_KEYS:
        return decode_map(dec, place, val, fill_keys, at);
    case FIELD_PAIRS:
        return decode_map(dec, place, val, fill_pairs, at);
    case FIELD_RESOURCES:
        return decode_map(dec, place, val, fill_resources, at);
    case FIELD_QUANTITIES:
        return decode_quantities(dec, place, val, at);
    case FIELD_RAW:
        return decode_raw(dec, place, val, at);
    case FIELD_STRUCT:
    case FIELD_PART: /* its offset is 0 */
        return decode_struct(dec, place, val, field->type, at);
    case FIELD_PTR:
        return decode_ptr(dec, place, val, field->type, at);
    case FIELD_LIST:
        return decode_list(dec, place, val, field->type, at);
    case FIELD_MAP:
        return decode_map(dec, place, val, fill_structs, &(struct typed_list){ field->type, at });
    case FIELD_KIND_COUNT:
        break;
    }
    return 0;
}

/* The row of a key, or NULL. `*hint` is the row to try first. A part without a name is looked into last. */
static const struct field *find_field(const struct type *type, struct str key, uint32_t *hint)
{
    const struct field *part = NULL;
    uint32_t i = *hint;
    for (uint32_t left = type->len; left > 0; left--, i++) {
        if (i >= type->len)
            i = 0;
        const struct field *field = &type->fields[i];
        if (field->name_len == 0)
            part = field;
        else if (field->name_len == key.len && memcmp(field->name, key.ptr, key.len) == 0) {
            *hint = i + 1;
            return field;
        }
    }
    return part ? find_field(part->type, key, &(uint32_t){ 0 }) : NULL;
}

int decode_struct(const struct decoder *dec, const struct place *place, yyjson_val *val,
                  const struct type *type, void *ptr)
{
    if (!yyjson_is_obj(val))
        return decode_wrong(dec, place, val, "an object");
    uint32_t hint = 0;
    size_t i, max;
    yyjson_val *key, *item;
    yyjson_obj_foreach(val, i, max, key, item) {
        struct str name = { yyjson_get_str(key), (uint32_t)MIN(yyjson_get_len(key), (size_t)UINT32_MAX) };
        const struct field *field = find_field(type, name, &hint);
        if (!field || yyjson_is_null(item))
            continue;
        struct place here = { place, name, 0 };
        int r = decode_field(dec, &here, item, field, ptr);
        if (r < 0)
            return r;
    }
    if (type->finish)
        type->finish(ptr);
    return 0;
}
