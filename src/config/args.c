/* args.c: strict decoding by tables.
 *
 * One function per kind, chosen by the table `kinds`; each gets the value, where it goes, and a context that knows
 * how to complain. Null means "not there", as in the reference, except for a plain duration. */
#include "config/args.h"

#include <float.h>
#include <math.h>

#include "codec/json_writer.h"
#include "config/duration.h"

struct decoder {
    const struct doc *doc;
    struct arena *arena;
    struct error *err;
};

static int decode_object(struct decoder *decoder, yyjson_val *val, const struct args_type *type,
                         const struct path *path, void *ret);

/* "path: sentence", at the place of the value. */
static int complain(struct decoder *decoder, yyjson_val *val, const struct path *path, const char *format,
                    ...) _printf_(4, 5);

static int complain(struct decoder *decoder, yyjson_val *val, const struct path *path, const char *format,
                    ...)
{
    _cleanup_(strbuf_release) struct strbuf where = { 0 };
    path_print(&where, path);
    va_list args;
    va_start(args, format);
    struct str sentence = arena_vprintf(decoder->arena, format, args);
    va_end(args);
    return doc_error(decoder->doc, val, -EINVAL, decoder->err, "%s%s" STR_FMT, where.len ? where.text : "",
                     where.len ? ": " : "", STR_ARG(sentence));
}

/* "expected a string, got the number 5" */
static int wrong_type(struct decoder *decoder, yyjson_val *val, const struct path *path, const char *expected)
{
    enum { SHOWN_MAX = 40 };
    if (yyjson_is_str(val))
        return complain(decoder, val, path, "expected %s, got the string \"%.*s%s\"", expected,
                        (int)MIN(yyjson_get_len(val), (size_t)SHOWN_MAX), yyjson_get_str(val),
                        yyjson_get_len(val) > SHOWN_MAX ? "..." : "");
    if (yyjson_is_real(val)) {
        _cleanup_(strbuf_release) struct strbuf number = { 0 };
        struct json_writer writer = json_writer(&number, JSON_COMPACT);
        json_double(&writer, yyjson_get_real(val));
        const char *tail = strpbrk(number.text, ".e") ? "" : ".0";
        return complain(decoder, val, path, "expected %s, got the number %s%s", expected, number.text, tail);
    }
    if (yyjson_is_uint(val))
        return complain(decoder, val, path, "expected %s, got the number %llu", expected,
                        (unsigned long long)yyjson_get_uint(val));
    if (yyjson_is_sint(val))
        return complain(decoder, val, path, "expected %s, got the number %lld", expected,
                        (long long)yyjson_get_sint(val));
    if (yyjson_is_bool(val))
        return complain(decoder, val, path, "expected %s, got %s", expected,
                        yyjson_get_bool(val) ? "true" : "false");
    const char *type = doc_type_name(val);
    return complain(decoder, val, path, "expected %s, got %s%s", expected,
                    yyjson_is_null(val) ? ""
                    : *type == 'o'      ? "an "
                                        : "a ",
                    type);
}

static struct str copy_str(struct decoder *decoder, yyjson_val *val)
{
    return arena_str(decoder->arena, (struct str){ yyjson_get_str(val), (uint32_t)yyjson_get_len(val) });
}

static int decode_string(struct decoder *decoder, yyjson_val *val, const struct args_field *field _unused_,
                         const struct path *path, void *ret)
{
    if (!yyjson_is_str(val))
        return wrong_type(decoder, val, path, "a string");
    *(struct str *)ret = copy_str(decoder, val);
    return 0;
}

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Standard base64 with padding; line breaks are skipped. Returns the number of bytes, or -1. */
static ptrdiff_t base64_decode(struct str text, char *out)
{
    size_t len = 0, digits = 0, padding = 0;
    uint32_t group = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '\r' || c == '\n')
            continue;
        int digit = c == '=' && digits % 4 >= 2 ? 0 : base64_digit(c);
        if (digit < 0 || (padding && c != '='))
            return -1;
        padding += c == '=';
        group = group << 6 | (uint32_t)digit;
        if (++digits % 4 == 0) {
            for (size_t byte = 0; byte < 3 - padding; byte++)
                out[len++] = (char)(group >> (16 - 8 * byte));
            group = 0;
            if (padding && i + 1 < text.len && strspn(text.ptr + i + 1, "\r\n") != text.len - i - 1)
                return -1;
        }
    }
    return digits % 4 ? -1 : (ptrdiff_t)len;
}

static int decode_bytes(struct decoder *decoder, yyjson_val *val, const struct args_field *field _unused_,
                        const struct path *path, void *ret)
{
    if (!yyjson_is_str(val))
        return wrong_type(decoder, val, path, "base64 text");
    struct str text = copy_str(decoder, val);
    char *bytes = arena_alloc(decoder->arena, (size_t)text.len / 4 * 3 + 3);
    ptrdiff_t len = base64_decode(text, bytes);
    if (len < 0)
        return wrong_type(decoder, val, path, "base64 text");
    *(struct str *)ret = (struct str){ bytes, (uint32_t)len };
    return 0;
}

static int decode_bool(struct decoder *decoder, yyjson_val *val, const struct args_field *field _unused_,
                       const struct path *path, void *ret)
{
    if (!yyjson_is_bool(val))
        return wrong_type(decoder, val, path, "true or false");
    *(bool *)ret = yyjson_get_bool(val);
    return 0;
}

static int decode_opt_bool(struct decoder *decoder, yyjson_val *val, const struct args_field *field,
                           const struct path *path, void *ret)
{
    struct opt_bool *opt = ret;
    opt->set = true;
    return decode_bool(decoder, val, field, path, &opt->value);
}

/* YAML does not tell 1 from 1.0 and 1e0, JSON does. */
static bool whole_number(const struct decoder *decoder, yyjson_val *val, int64_t *ret)
{
    if (yyjson_is_uint(val)) {
        *ret = (int64_t)yyjson_get_uint(val);
        return yyjson_get_uint(val) <= INT64_MAX;
    }
    if (yyjson_is_sint(val)) {
        *ret = yyjson_get_sint(val);
        return true;
    }
    double real = yyjson_is_real(val) && !doc_strings_stay(decoder->doc) ? yyjson_get_real(val) : NAN;
    if (!(fabs(real) <= 9007199254740992.0) || real != floor(real))
        return false;
    *ret = (int64_t)real;
    return true;
}

static int decode_int32(struct decoder *decoder, yyjson_val *val, const struct args_field *field _unused_,
                        const struct path *path, void *ret)
{
    int64_t value;
    if (!whole_number(decoder, val, &value))
        return wrong_type(decoder, val, path, "a whole number");
    if (value < INT32_MIN || value > INT32_MAX)
        return wrong_type(decoder, val, path, "a whole number from -2147483648 to 2147483647");
    *(int32_t *)ret = (int32_t)value;
    return 0;
}

static int decode_int64(struct decoder *decoder, yyjson_val *val, const struct args_field *field _unused_,
                        const struct path *path, void *ret)
{
    if (!whole_number(decoder, val, ret))
        return wrong_type(decoder, val, path, "a whole number of 64 bits");
    return 0;
}

static int decode_opt_int32(struct decoder *decoder, yyjson_val *val, const struct args_field *field,
                            const struct path *path, void *ret)
{
    struct opt_int32 *opt = ret;
    opt->set = true;
    return decode_int32(decoder, val, field, path, &opt->value);
}

static int decode_opt_int64(struct decoder *decoder, yyjson_val *val, const struct args_field *field,
                            const struct path *path, void *ret)
{
    struct opt_int64 *opt = ret;
    opt->set = true;
    return decode_int64(decoder, val, field, path, &opt->value);
}

static int decode_float(struct decoder *decoder, yyjson_val *val, const struct args_field *field _unused_,
                        const struct path *path, void *ret)
{
    double value = yyjson_get_num(val);
    if (!yyjson_is_num(val) || !(fabs(value) <= FLT_MAX))
        return wrong_type(decoder, val, path, "a number that fits 32 bits");
    *(double *)ret = (double)(float)value;
    return 0;
}

static int decode_duration(struct decoder *decoder, yyjson_val *val, const struct args_field *field _unused_,
                           const struct path *path, void *ret)
{
    struct str text = { yyjson_get_str(val), (uint32_t)yyjson_get_len(val) };
    if (!yyjson_is_str(val) || !duration_parse(text, ret))
        return wrong_type(decoder, val, path, "a duration such as \"1m30s\"");
    return 0;
}

static int decode_opt_duration(struct decoder *decoder, yyjson_val *val, const struct args_field *field,
                               const struct path *path, void *ret)
{
    struct opt_int64 *opt = ret;
    opt->set = true;
    return decode_duration(decoder, val, field, path, &opt->value);
}

static int decode_enum(struct decoder *decoder, yyjson_val *val, const struct args_field *field,
                       const struct path *path, void *ret)
{
    _cleanup_(strbuf_release) struct strbuf expected = { 0 };
    for (int i = 0; field->names[i]; i++) {
        if (yyjson_equals_str(val, field->names[i])) {
            *(int *)ret = i;
            return 0;
        }
        const char *glue = i == 0 ? "" : field->names[i + 1] ? ", " : " or ";
        strbuf_printf(&expected, "%s\"%s\"", glue, field->names[i]);
    }
    return wrong_type(decoder, val, path, expected.text);
}

static int decode_string_list(struct decoder *decoder, yyjson_val *val, const struct args_field *field,
                              const struct path *path, void *ret)
{
    if (!yyjson_is_arr(val))
        return wrong_type(decoder, val, path, "a list of strings");
    struct str_list *list = ret;
    list->items = arena_array(decoder->arena, struct str, yyjson_arr_size(val));
    list->len = 0;
    size_t i, count;
    yyjson_val *item;
    yyjson_arr_foreach(val, i, count, item) {
        struct str *text = &list->items[list->len++];
        *text = STR("");
        int r = yyjson_is_null(item) ? 0 : decode_string(decoder, item, field, PATH_INDEX(path, i), text);
        if (r < 0)
            return r;
    }
    return 0;
}

static int pair_cmp(const void *a, const void *b)
{
    return str_cmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

static int decode_string_map(struct decoder *decoder, yyjson_val *val, const struct args_field *field,
                             const struct path *path, void *ret)
{
    if (!yyjson_is_obj(val))
        return wrong_type(decoder, val, path, "an object with strings");
    struct str_map *map = ret;
    map->items = arena_array(decoder->arena, struct pair, yyjson_obj_size(val));
    map->len = 0;
    size_t i, count;
    yyjson_val *key, *item;
    yyjson_obj_foreach(val, i, count, key, item) {
        struct pair *pair = &map->items[map->len++];
        pair->key = copy_str(decoder, key);
        pair->value = STR("");
        if (yyjson_is_null(item))
            continue;
        int r = decode_string(decoder, item, field, PATH_KEY(path, pair->key), &pair->value);
        if (r < 0)
            return r;
    }
    qsort(map->items, map->len, sizeof(*map->items), pair_cmp);
    for (uint32_t j = 1; j < map->len; j++)
        if (str_eq(map->items[j - 1].key, map->items[j].key))
            return complain(decoder, val, path, "the key \"" STR_FMT "\" is given twice",
                            STR_ARG(map->items[j].key));
    return 0;
}

static int decode_struct(struct decoder *decoder, yyjson_val *val, const struct args_field *field,
                         const struct path *path, void *ret)
{
    return decode_object(decoder, val, field->type, path, ret);
}

static int decode_struct_ptr(struct decoder *decoder, yyjson_val *val, const struct args_field *field,
                             const struct path *path, void *ret)
{
    void *inner = arena_zalloc(decoder->arena, field->type->size);
    memcpy(ret, &inner, sizeof(inner));
    return decode_object(decoder, val, field->type, path, inner);
}

static int decode_struct_list(struct decoder *decoder, yyjson_val *val, const struct args_field *field,
                              const struct path *path, void *ret)
{
    if (!yyjson_is_arr(val))
        return wrong_type(decoder, val, path, "a list");
    struct {
        char *items;
        uint32_t len;
    } list = { 0 };
    _Static_assert(sizeof(list) == sizeof(LIST(struct str)), "LIST() is a pointer and a length");
    size_t size = field->type->size;
    list.items = arena_zalloc(decoder->arena, arena_bytes(yyjson_arr_size(val), size));
    list.len = (uint32_t)yyjson_arr_size(val);
    memcpy(ret, &list, sizeof(list));
    size_t i, count;
    yyjson_val *item;
    yyjson_arr_foreach(val, i, count, item) {
        if (yyjson_is_null(item))
            continue;
        int r = decode_object(decoder, item, field->type, PATH_INDEX(path, i), list.items + i * size);
        if (r < 0)
            return r;
    }
    return 0;
}

static int decode_raw(struct decoder *decoder _unused_, yyjson_val *val,
                      const struct args_field *field _unused_, const struct path *path _unused_, void *ret)
{
    memcpy(ret, &val, sizeof(val));
    return 0;
}

static int (*const kinds[])(struct decoder *, yyjson_val *, const struct args_field *, const struct path *,
                            void *) = {
    [ARGS_STRING] = decode_string,
    [ARGS_BYTES] = decode_bytes,
    [ARGS_BOOL] = decode_bool,
    [ARGS_INT32] = decode_int32,
    [ARGS_INT64] = decode_int64,
    [ARGS_FLOAT] = decode_float,
    [ARGS_DURATION] = decode_duration,
    [ARGS_OPT_BOOL] = decode_opt_bool,
    [ARGS_OPT_INT32] = decode_opt_int32,
    [ARGS_OPT_INT64] = decode_opt_int64,
    [ARGS_OPT_DURATION] = decode_opt_duration,
    [ARGS_ENUM] = decode_enum,
    [ARGS_STRING_LIST] = decode_string_list,
    [ARGS_STRING_MAP] = decode_string_map,
    [ARGS_STRUCT] = decode_struct,
    [ARGS_STRUCT_PTR] = decode_struct_ptr,
    [ARGS_STRUCT_LIST] = decode_struct_list,
    [ARGS_RAW] = decode_raw,
};

/* How many letters must change, be added or dropped; names are short. Case alone counts as nothing. */
static size_t distance(struct str a, struct str b)
{
    enum { LEN_MAX = 40 };
    size_t row[LEN_MAX + 1];
    if (a.len > LEN_MAX || b.len > LEN_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t same = diagonal + ((a.ptr[i - 1] | 0x20) != (b.ptr[j - 1] | 0x20));
            diagonal = row[j];
            row[j] = MIN(same, MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[b.len];
}

static int unknown_field(struct decoder *decoder, yyjson_val *key, const struct args_type *type,
                         const struct path *path)
{
    struct str name = { yyjson_get_str(key), (uint32_t)yyjson_get_len(key) };
    const char *near = NULL;
    size_t best = 3; /* farther than two letters is not a slip */
    for (size_t i = 0; i < type->count; i++) {
        size_t apart = distance(name, str_from(type->fields[i].name));
        if (apart < best && apart < name.len) {
            best = apart;
            near = type->fields[i].name;
        }
    }
    const struct path *at = &(const struct path){ .parent = path, .name = name };
    if (near)
        return complain(decoder, key, at, "unknown field; did you mean \"%s\"?", near);
    return complain(decoder, key, at, "unknown field");
}

/* The position of a field in the table; those of TypeMeta come behind all others. -1: there is no such field. */
static int find_field(const struct args_type *type, yyjson_val *key, const struct args_field **ret)
{
    static const struct args_field type_meta[] = { { .name = "apiVersion" }, { .name = "kind" } };
    for (size_t i = 0; i < type->count; i++) {
        *ret = &type->fields[i];
        if (yyjson_equals_str(key, type->fields[i].name))
            return (int)i;
    }
    for (size_t i = 0; type->type_meta && i < ARRAY_SIZE(type_meta); i++) {
        *ret = &type_meta[i];
        if (yyjson_equals_str(key, type_meta[i].name))
            return (int)(ARGS_FIELDS_MAX + i);
    }
    return -1;
}

static int decode_object(struct decoder *decoder, yyjson_val *val, const struct args_type *type,
                         const struct path *path, void *ret)
{
    assert(type->count <= ARGS_FIELDS_MAX);
    if (!yyjson_is_obj(val))
        return wrong_type(decoder, val, path, "an object");
    uint64_t seen = 0;
    size_t i, count;
    yyjson_val *key, *item;
    yyjson_obj_foreach(val, i, count, key, item) {
        const struct args_field *field;
        int which = find_field(type, key, &field);
        if (which < 0)
            return unknown_field(decoder, key, type, path);
        const struct path *at = PATH_FIELD(path, field->name);
        if (seen >> which & 1)
            return complain(decoder, key, at, "the field is given twice");
        seen |= UINT64_C(1) << which;
        if (yyjson_is_null(item) && field->kind != ARGS_DURATION)
            continue;
        struct str ignored;
        void *into = which < ARGS_FIELDS_MAX ? (char *)ret + field->offset : (void *)&ignored;
        int r = kinds[field->kind](decoder, item, field, at, into);
        if (r < 0)
            return r;
    }
    if (type->finish)
        type->finish(ret, val);
    return 0;
}

int args_decode(const struct doc *doc, yyjson_val *val, const struct args_type *type, const struct path *path,
                struct arena *arena, void *ret, struct error *err)
{
    struct decoder decoder = { .doc = doc, .arena = arena, .err = err };
    if (!val || yyjson_is_null(val))
        return 0;
    return decode_object(&decoder, val, type, path, ret);
}
