/* host_read.c: reads any field of any object, by its path.
 *
 *     spec.containers[0].resources.requests[cpu]     names and numbers in brackets; a name goes to the closing one,
 *     metadata.labels[app.kubernetes.io/name]        dots and slashes are part of it
 *
 * The field tables that drive the decoders say where everything is. A path that leads nowhere is absent. */
#include "abi/host.h"
#include "api/fields.h"
#include "api/labels.h"
#include "api/resource_list.h"

/* The next step of a path: .name, or [name]. */
struct step {
    struct str name;
    bool bracket;
};

static bool next_step(struct str *path, struct step *ret)
{
    if (!path->len)
        return false;
    *ret = (struct step){ .bracket = path->ptr[0] == '[' };
    if (ret->bracket) {
        ptrdiff_t end = str_find(*path, ']');
        if (end < 0)
            return false;
        ret->name = str_slice(*path, 1, (size_t)end);
        *path = str_slice(*path, (size_t)end + 1, path->len);
        return true;
    }
    size_t from = path->ptr[0] == '.', end = from;
    while (end < path->len && path->ptr[end] != '.' && path->ptr[end] != '[')
        end++;
    ret->name = str_slice(*path, from, end);
    *path = str_slice(*path, end, path->len);
    return ret->name.len > 0;
}

static const struct berth_value absent = { .type = BERTH_ABSENT };

static struct berth_value text_value(struct str text)
{
    return (struct berth_value){ .type = BERTH_TEXT, .text = { text.ptr ? text.ptr : "", text.len } };
}

static struct berth_value number_value(enum berth_type type, int64_t number)
{
    return (struct berth_value){ .type = type, .number = number };
}

static struct berth_value amount_value(const struct quantity *amount)
{
    return amount ? (struct berth_value){ .type = BERTH_AMOUNT,
                                          .number = quantity_value(*amount),
                                          .milli = quantity_milli_value(*amount) }
                  : absent;
}

/* ---- scalars ---- */
static struct berth_value scalar(enum field_kind kind, const void *at)
{
    switch (kind) {
    case FIELD_STR:
    case FIELD_OPT_STR:
        return ((const struct str *)at)->ptr ? text_value(*(const struct str *)at) : absent;
    case FIELD_BOOL:
        return number_value(BERTH_FLAG, *(const bool *)at);
    case FIELD_OPT_BOOL:
        return ((const struct opt_bool *)at)->set
                   ? number_value(BERTH_FLAG, ((const struct opt_bool *)at)->value)
                   : absent;
    case FIELD_INT32:
        return number_value(BERTH_NUMBER, *(const int32_t *)at);
    case FIELD_INT64:
        return number_value(BERTH_NUMBER, *(const int64_t *)at);
    case FIELD_OPT_INT32:
        return ((const struct opt_int32 *)at)->set
                   ? number_value(BERTH_NUMBER, ((const struct opt_int32 *)at)->value)
                   : absent;
    case FIELD_OPT_INT64:
        return ((const struct opt_int64 *)at)->set
                   ? number_value(BERTH_NUMBER, ((const struct opt_int64 *)at)->value)
                   : absent;
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        return ((const struct opt_time *)at)->set
                   ? number_value(BERTH_NUMBER, ((const struct opt_time *)at)->seconds)
                   : absent;
    case FIELD_INT_OR_STR: {
        const struct int_or_str *either = at;
        return !either->set       ? absent
               : either->text.ptr ? text_value(either->text)
                                  : number_value(BERTH_NUMBER, either->number);
    }
    case FIELD_QUANTITY:
        return amount_value(*(const struct quantity *const *)at);
    default:
        return absent;
    }
}

/* ---- lists and maps ---- */
static struct berth_value counted(enum berth_type type, uint32_t len)
{
    return (struct berth_value){ .type = type, .len = len };
}

static bool as_index(struct str text, uint32_t len, uint32_t *ret)
{
    int64_t number;
    if (!str_to_int64(text, &number) || number < 0 || number >= len)
        return false;
    *ret = (uint32_t)number;
    return true;
}

/* The last step into a list of texts, a map of texts or of amounts. */
static struct berth_value entry(enum field_kind kind, const void *at, const struct step *step)
{
    uint32_t index;
    if (kind == FIELD_PAIRS) {
        const struct str *value = str_map_get(at, step->name);
        return value ? text_value(*value) : absent;
    }
    if (kind == FIELD_RESOURCES)
        return amount_value(resource_list_get(at, step->name));
    if (kind != FIELD_STRS && kind != FIELD_KEYS)
        return absent;
    const struct str_list *list = at;
    return as_index(step->name, list->len, &index) ? text_value(list->items[index]) : absent;
}

static struct berth_value whole(enum field_kind kind, const void *at)
{
    switch (kind) {
    case FIELD_PAIRS:
        return counted(BERTH_ENTRIES, ((const struct str_map *)at)->len);
    case FIELD_RESOURCES:
        return counted(BERTH_ENTRIES, ((const struct resource_list *)at)->len);
    case FIELD_STRS:
    case FIELD_KEYS:
        return counted(BERTH_TEXTS, ((const struct str_list *)at)->len);
    case FIELD_LIST:
        return counted(BERTH_ENTRIES, ((const LIST(void) *)at)->len);
    case FIELD_PTR:
        return *(void *const *)at ? counted(BERTH_OBJECT, 0) : absent;
    case FIELD_STRUCT:
    case FIELD_PART:
        return counted(BERTH_OBJECT, 0);
    default:
        return scalar(kind, at);
    }
}

/* ---- the walk ---- */
/* The field of that name; the fields of a part without a name stand in its parent. */
static const struct field *find_field(const struct type *type, struct str name)
{
    for (uint32_t i = 0; i < type->len; i++) {
        const struct field *field = &type->fields[i];
        if (field->kind == FIELD_PART && !field->name_len) {
            const struct field *inner = find_field(field->type, name);
            if (inner)
                return inner;
        }
        if (field->name_len == name.len && name.len && memcmp(field->name, name.ptr, name.len) == 0)
            return field;
    }
    return NULL;
}

/* Into the struct behind a field; NULL: it is not there, or has no fields. */
static const void *enter(const struct field *field, const void *at, const struct step *index)
{
    uint32_t number;
    if (!index && field->kind == FIELD_PTR)
        return *(void *const *)at;
    if (!index && field->kind == FIELD_STRUCT)
        return at;
    const LIST(char) *list = at;
    if (field->kind != FIELD_LIST || !index || !as_index(index->name, list->len, &number))
        return NULL;
    return list->items + number * field->type->size;
}

static struct berth_value walk(const struct type *type, const void *base, struct str path)
{
    struct step step, after;
    while (next_step(&path, &step) && !step.bracket) {
        const struct field *field = find_field(type, step.name);
        const void *at = field ? (const char *)base + field->offset : NULL;
        if (!field)
            return absent;
        if (!path.len)
            return whole((enum field_kind)field->kind, at);
        if (field->kind == FIELD_PART) { /* its fields live in this very struct */
            type = field->type;
            continue;
        }
        bool leaf = field->kind < FIELD_STRUCT, indexed = path.ptr[0] == '[' && next_step(&path, &after);
        if (leaf)
            return indexed && !path.len ? entry((enum field_kind)field->kind, at, &after) : absent;
        base = enter(field, at, indexed ? &after : NULL);
        if (!base)
            return absent;
        if (!path.len)
            return counted(BERTH_OBJECT, 0);
        type = field->type;
    }
    return absent;
}

enum api_kind host_kind(const char *kind)
{
    struct str name = kind ? str_from(kind) : STR("");
    for (int i = KIND_UNKNOWN + 1; i < KIND_COUNT; i++)
        if (str_eq(api_kinds[i].kind, name))
            return (enum api_kind)i;
    return KIND_UNKNOWN;
}

struct berth_value host_read(const char *kind, const void *object, const char *path)
{
    enum api_kind number = host_kind(kind);
    if (number == KIND_UNKNOWN || !object || !path)
        return absent;
    return walk(api_kinds[number].type, object, str_from(path));
}
