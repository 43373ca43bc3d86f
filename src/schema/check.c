/* check.c: one walk over the object beside its type.
 *
 * Two paths are kept, as in the API server's decoder: that of messages about unknown fields (with indexes and keys of
 * maps), and that of messages about types (names of fields only). */
#include "schema/check.h"

#include <inttypes.h>
#include <math.h>

#include "api/quantity.h"
#include "base/base64.h"
#include "base/decimal.h"
#include "base/duration.h"
#include "base/map.h"
#include "base/quote.h"
#include "base/timestamp.h"
#include "codec/doc.h"
#include "schema/tree.h"

struct check {
    struct schema_problems *problems;
    enum schema_form form;
    struct strbuf path;              /* spec.containers[0].env */
    struct strbuf fields;            /* spec.containers.env */
    const struct schema_type *owner; /* of the field that the value is of */
    const struct schema_field *field;
    uint32_t depth;
};

static void check_value(struct check *check, const struct schema_value *value, struct str go,
                        yyjson_val *val);

/* ---- texts ---- */

static void strict(struct check *check, const char *what, struct str name)
{
    struct schema_problems *problems = check->problems;
    if (problems->strict.len >= SCHEMA_STRICT_MAX)
        return;
    struct strbuf path = { 0 }, text = { 0 };
    if (check->path.len)
        strbuf_printf(&path, "%s.", check->path.text);
    strbuf_str(&path, name);
    strbuf_printf(&text, "%s ", what);
    quote_go(&text, strbuf_slice(&path));
    struct str line = strbuf_slice(&text);
    bool known = false;
    vec_for(&problems->strict, old)
        known |= str_eq(*old, line);
    if (!known)
        *vec_push(&problems->strict) = arena_str(&problems->arena, line);
    strbuf_release(&path);
    strbuf_release(&text);
}

/* The first wrong value is the one that is reported. */
__attribute__((format(printf, 2, 3))) static void wrong(struct check *check, const char *format, ...)
{
    if (check->problems->wrong.ptr)
        return;
    va_list args;
    va_start(args, format);
    check->problems->wrong = arena_vprintf(&check->problems->arena, format, args);
    va_end(args);
}

static const char *json_word(yyjson_val *val)
{
    return yyjson_is_str(val)    ? "string"
           : yyjson_is_bool(val) ? "bool"
           : yyjson_is_num(val)  ? "number"
           : yyjson_is_arr(val)  ? "array"
                                 : "object";
}

/* What Go's reflection calls the kind of a decoded value. */
static const char *kind_word(yyjson_val *val)
{
    return yyjson_is_str(val)    ? "string"
           : yyjson_is_bool(val) ? "bool"
           : yyjson_is_real(val) ? "float64"
           : yyjson_is_num(val)  ? "int64"
           : yyjson_is_arr(val)  ? "slice"
                                 : "map";
}

static void wrong_type(struct check *check, yyjson_val *val, const char *number, struct str go)
{
    if (check->owner)
        wrong(check, "json: cannot unmarshal %s%s into Go struct field " STR_FMT ".%s of type " STR_FMT,
              json_word(val), number, STR_ARG(check->owner->name), check->fields.text, STR_ARG(go));
    else
        wrong(check, "json: cannot unmarshal %s%s into Go value of type " STR_FMT, json_word(val), number,
              STR_ARG(go));
}

/* "io.k8s.api.core.v1", "Pod": "v1.Pod" */
static void go_type(struct strbuf *out, const struct schema_value *value)
{
    static const char *const scalars[] = {
        [SCHEMA_STRING] = "string",
        [SCHEMA_BOOL] = "bool",
        [SCHEMA_INT32] = "int32",
        [SCHEMA_INT64] = "int64",
        [SCHEMA_DOUBLE] = "float64",
        [SCHEMA_BYTES] = "[]uint8",
        [SCHEMA_TIME] = "v1.Time",
        [SCHEMA_MICRO_TIME] = "v1.MicroTime",
        [SCHEMA_DURATION] = "v1.Duration",
        [SCHEMA_QUANTITY] = "resource.Quantity",
        [SCHEMA_INT_OR_STRING] = "intstr.IntOrString",
        [SCHEMA_FIELDS] = "v1.FieldsV1",
        [SCHEMA_RAW] = "runtime.RawExtension",
        [SCHEMA_JSON] = "v1.JSON",
    };
    switch (value->kind) {
    case SCHEMA_LIST:
        strbuf_puts(out, "[]");
        go_type(out, value->item);
        break;
    case SCHEMA_MAP:
        strbuf_puts(out, "map[string]");
        go_type(out, value->item);
        break;
    case SCHEMA_OBJECT: {
        struct str package = value->type->package;
        strbuf_str(out, str_slice(package, (size_t)(str_rfind(package, '.') + 1), package.len));
        strbuf_printf(out, "." STR_FMT, STR_ARG(value->type->name));
        break;
    }
    default:
        strbuf_puts(out, scalars[value->kind]);
    }
}

static void mismatch(struct check *check, const struct schema_value *value, struct str go, yyjson_val *val)
{
    static const char *const converted[] = {
        [SCHEMA_STRING] = "unrecognized type: string",  [SCHEMA_BOOL] = "unrecognized type: bool",
        [SCHEMA_INT32] = "unrecognized type: int32",    [SCHEMA_INT64] = "unrecognized type: int64",
        [SCHEMA_DOUBLE] = "unrecognized type: float64",
    };
    if (check->form == SCHEMA_CONVERTED && value->kind == SCHEMA_STRING && yyjson_is_int(val))
        wrong(check, "cannot convert int64 to " STR_FMT, STR_ARG(go.len ? go : STR("string")));
    else if (check->form == SCHEMA_CONVERTED && value->kind <= SCHEMA_DOUBLE)
        wrong(check, "%s", converted[value->kind]);
    else if (check->form == SCHEMA_CONVERTED && (value->kind == SCHEMA_LIST || value->kind == SCHEMA_BYTES))
        wrong(check, "cannot restore slice from %s", kind_word(val));
    else if (check->form == SCHEMA_CONVERTED && value->kind == SCHEMA_MAP)
        wrong(check, "cannot restore map from %s", kind_word(val));
    else if (check->form == SCHEMA_CONVERTED && value->kind == SCHEMA_OBJECT)
        wrong(check, "cannot restore struct from: %s", kind_word(val));
    else if (go.len)
        wrong_type(check, val, "", go);
    else {
        struct strbuf text = { 0 };
        go_type(&text, value);
        wrong_type(check, val, "", strbuf_slice(&text));
        strbuf_release(&text);
    }
}

/* ---- scalars ---- */

static void check_integer(struct check *check, const struct schema_value *value, struct str go,
                          yyjson_val *val)
{
    int64_t min = value->kind == SCHEMA_INT32 ? INT32_MIN : INT64_MIN;
    int64_t max = value->kind == SCHEMA_INT32 ? INT32_MAX : INT64_MAX;
    if (!yyjson_is_num(val)) {
        mismatch(check, value, go, val);
        return;
    }
    char text[DECIMAL_LEN_MAX + 4] = " ", digits[DECIMAL_LEN_MAX];
    if (yyjson_is_real(val)) {
        double real = yyjson_get_real(val);
        if (check->form == SCHEMA_CONVERTED) {
            if (real != trunc(real))
                wrong(check, "cannot convert float64 to %s", schema_scalar_word(value->kind));
            return;
        }
        struct str printed = decimal_format(real, DECIMAL_JSON, digits);
        memcpy(text + 1, printed.ptr, printed.len);
        bool whole = str_find(printed, '.') < 0 && str_find(printed, 'e') < 0;
        snprintf(text + 1 + printed.len, sizeof(text) - 1 - printed.len, "%s", whole ? ".0" : "");
    } else if (yyjson_is_uint(val) ? yyjson_get_uint(val) > (uint64_t)max : yyjson_get_sint(val) < min) {
        if (yyjson_is_uint(val))
            snprintf(text, sizeof(text), " %" PRIu64, yyjson_get_uint(val));
        else
            snprintf(text, sizeof(text), " %" PRId64, yyjson_get_sint(val));
    } else
        return;
    wrong_type(check, val, text, go.len ? go : str_from(schema_scalar_word(value->kind)));
}

static void check_time(struct check *check, yyjson_val *val, bool micro)
{
    struct timestamp time;
    if (!yyjson_is_str(val)) {
        wrong_type(check, val, "", STR("string"));
        return;
    }
    /* MicroTime needs six digits of a fraction. */
    struct str text = doc_text(val), tail = str_slice(text, MIN(text.len, 19), text.len);
    bool six = tail.len > 7 && tail.ptr[0] == '.' && (unsigned)(tail.ptr[6] - '0') < 10 &&
               (unsigned)(tail.ptr[7] - '0') > 9;
    bool parsed = timestamp_parse(text, &time);
    if (parsed ? !micro || six : str_empty(text) && !micro)
        return;
    const char *layout = micro ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00";
    struct strbuf quoted = { 0 }, rest = { 0 };
    quote_go(&quoted, text);
    quote_go(&rest, parsed ? tail : text);
    wrong(check, "parsing time %s as \"%s\": cannot parse %s as \"%s\"", quoted.text, layout, rest.text,
          parsed ? ".000000" : "2006");
    strbuf_release(&quoted);
    strbuf_release(&rest);
}

static void check_quantity(struct check *check, yyjson_val *val)
{
    struct quantity amount;
    char digits[DECIMAL_LEN_MAX];
    struct str text = doc_text(val);
    if (yyjson_is_real(val))
        text = decimal_format(yyjson_get_real(val), DECIMAL_JSON, digits);
    if (yyjson_is_int(val) || quantity_parse(text, &amount) == 0)
        return;
    wrong(check,
          "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

static void check_bytes(struct check *check, const struct schema_value *value, struct str go, yyjson_val *val)
{
    if (yyjson_is_arr(val))
        return;
    if (!yyjson_is_str(val)) {
        mismatch(check, value, go, val);
        return;
    }
    struct str text = doc_text(val);
    char *bytes = xmalloc(base64_bytes_max(text.len) + 1);
    if (base64_decode(text, bytes) < 0) {
        size_t at = 0;
        while (at < text.len &&
               (text.ptr[at] == '+' || text.ptr[at] == '/' || (unsigned)(text.ptr[at] - '0') < 10 ||
                (unsigned)((text.ptr[at] | 0x20) - 'a') < 26))
            at++;
        wrong(check, "illegal base64 data at input byte %zu", at);
    }
    free(bytes);
}

/* ---- containers ---- */

static void push_name(struct strbuf *path, struct str name)
{
    if (path->len)
        strbuf_putc(path, '.');
    strbuf_str(path, name);
}

static void pop(struct strbuf *path, size_t len)
{
    path->len = len;
    if (path->text)
        path->text[len] = '\0';
}

/* Calls `visit` for each member, with the path of strict messages; reports duplicates. */
static void each_member(struct check *check, yyjson_val *object, const void *context,
                        void (*visit)(struct check *, const void *context, struct str name, yyjson_val *val))
{
    struct strmap seen = { 0 };
    bool small = yyjson_obj_size(object) < 8;
    size_t i, max;
    yyjson_val *key, *val;
    yyjson_obj_foreach(doc_items(object), i, max, key, val) {
        struct str name = doc_text(key);
        bool twice = false;
        if (small) {
            yyjson_val *first = yyjson_obj_getn(object, name.ptr, name.len);
            twice = first != val;
        } else
            twice = strmap_put(&seen, name, val) != NULL;
        if (twice && check->form == SCHEMA_DECODED)
            strict(check, "duplicate field", name);
        visit(check, context, name, val);
    }
    strmap_release(&seen);
}

static void check_field(struct check *check, const void *context, struct str name, yyjson_val *val)
{
    const struct schema_type *type = context;
    const struct schema_field *field = schema_field(type, name);
    if (!field && !type->open) {
        strict(check, "unknown field", name);
        return;
    }
    static const struct schema_value any = { .kind = SCHEMA_JSON };
    size_t path = check->path.len, fields = check->fields.len;
    const struct schema_type *owner = check->owner;
    push_name(&check->path, name);
    if (field && field->via.len)
        push_name(&check->fields, field->via);
    push_name(&check->fields, name);
    check->owner = type;
    check_value(check, field ? &field->value : &any, field ? field->go : (struct str){ 0 }, val);
    check->owner = owner;
    pop(&check->path, path);
    pop(&check->fields, fields);
}

struct item {
    const struct schema_value *value;
    struct str go;
};

static void check_entry(struct check *check, const void *context, struct str name, yyjson_val *val)
{
    const struct item *item = context;
    size_t path = check->path.len;
    if (check->form == SCHEMA_DECODED)
        push_name(&check->path, name);
    check_value(check, item->value, item->go, val);
    pop(&check->path, path);
}

/* "[]v1.Capability": "v1.Capability". A named type of a list or map says nothing about its items. */
static struct str item_go(struct str go)
{
    if (str_starts_with(go, STR("[]")))
        return str_slice(go, 2, go.len);
    ptrdiff_t end = str_starts_with(go, STR("map[")) ? str_find(go, ']') : -1;
    return end < 0 ? (struct str){ 0 } : str_slice(go, (size_t)end + 1, go.len);
}

static void check_items(struct check *check, const struct item *item, yyjson_val *list)
{
    size_t path = check->path.len, i, max;
    yyjson_val *val;
    yyjson_arr_foreach(list, i, max, val) {
        strbuf_printf(&check->path, "[%zu]", i);
        check_value(check, item->value, item->go, val);
        pop(&check->path, path);
    }
}

static void check_container(struct check *check, const struct schema_value *value, struct str go,
                            yyjson_val *val)
{
    struct item item = { value->item, item_go(go) };
    if (++check->depth > SCHEMA_DEPTH_MAX)
        wrong(check, "exceeded max depth");
    else if (value->kind == SCHEMA_OBJECT && yyjson_is_obj(val))
        each_member(check, val, value->type, check_field);
    else if (value->kind == SCHEMA_MAP && yyjson_is_obj(val))
        each_member(check, val, &item, check_entry);
    else if (value->kind == SCHEMA_LIST && yyjson_is_arr(val))
        check_items(check, &item, val);
    else
        mismatch(check, value, go, val);
    check->depth--;
}

/* Any JSON: only its depth and duplicates matter. */
static void check_any(struct check *check, yyjson_val *val)
{
    static const struct schema_value any = { .kind = SCHEMA_JSON };
    static const struct item item = { .value = &any };
    if (!yyjson_is_ctn(val))
        return;
    if (++check->depth > SCHEMA_DEPTH_MAX)
        wrong(check, "exceeded max depth");
    else if (yyjson_is_obj(val))
        each_member(check, val, &item, check_entry);
    else
        check_items(check, &item, val);
    check->depth--;
}

static void check_value(struct check *check, const struct schema_value *value, struct str go, yyjson_val *val)
{
    if (yyjson_is_null(val))
        return;
    switch (value->kind) {
    case SCHEMA_STRING:
        if (!yyjson_is_str(val))
            mismatch(check, value, go, val);
        break;
    case SCHEMA_BOOL:
        if (!yyjson_is_bool(val))
            mismatch(check, value, go, val);
        break;
    case SCHEMA_INT32:
    case SCHEMA_INT64:
        check_integer(check, value, go, val);
        break;
    case SCHEMA_DOUBLE:
        if (!yyjson_is_num(val))
            mismatch(check, value, go, val);
        break;
    case SCHEMA_BYTES:
        check_bytes(check, value, go, val);
        break;
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        check_time(check, val, value->kind == SCHEMA_MICRO_TIME);
        break;
    case SCHEMA_DURATION:
        if (!yyjson_is_str(val))
            wrong_type(check, val, "", STR("string"));
        break;
    case SCHEMA_QUANTITY:
        check_quantity(check, val);
        break;
    case SCHEMA_INT_OR_STRING:
        if (yyjson_is_num(val))
            check_integer(check, &(struct schema_value){ .kind = SCHEMA_INT32 }, STR("int32"), val);
        else if (!yyjson_is_str(val))
            wrong_type(check, val, "", STR("int32"));
        break;
    case SCHEMA_FIELDS:
    case SCHEMA_RAW:
    case SCHEMA_JSON:
        check_any(check, val);
        break;
    case SCHEMA_OBJECT:
    case SCHEMA_LIST:
    case SCHEMA_MAP:
        check_container(check, value, go, val);
        break;
    }
}

void schema_check(const struct schema_type *type, yyjson_val *object, enum schema_form form,
                  struct schema_problems *problems)
{
    struct check check = { .problems = problems, .form = form };
    size_t first = problems->strict.len;
    struct schema_value value = { .kind = type ? SCHEMA_OBJECT : SCHEMA_JSON, .type = type };
    check_value(&check, &value, type ? (struct str){ 0 } : STR("map[string]interface {}"), object);
    if (form == SCHEMA_CONVERTED && problems->strict.len > first)
        qsort(problems->strict.items + first, problems->strict.len - first, sizeof(struct str),
              str_qsort_cmp);
    strbuf_release(&check.path);
    strbuf_release(&check.fields);
}

void schema_problems_release(struct schema_problems *problems)
{
    vec_release(&problems->strict);
    arena_release(&problems->arena);
}

void schema_strict_text(const struct schema_problems *problems, struct strbuf *out)
{
    strbuf_puts(out, "strict decoding error: ");
    for (size_t i = 0; i < problems->strict.len; i++)
        strbuf_printf(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(problems->strict.items[i]));
}
