/* host_read.c: reads any field of any object, by its path; the field tables of api/ say where everything is. */
#include <math.h>
#include <stdlib.h>

#include "abi/host.h"
#include "api/extra_kinds.h"
#include "api/fields.h"

enum api_kind host_kind(const char *kind)
{
    struct str name = kind ? str_from(kind) : STR("");
    for (int i = KIND_UNKNOWN + 1; i < KIND_EXTRA_FIRST; i++)
        if (i != KIND_CONFIG_MAP && str_eq(api_kinds[i].kind, name)) /* those are the scheduler's own */
            return (enum api_kind)i;
    return extra_kind_named(name);
}

struct berth_str host_object_kind(const void *object)
{
    enum api_kind kind = object ? (enum api_kind)((const struct meta *)object)->kind : KIND_UNKNOWN;
    return out_str(kind_is_extra(kind) ? extra_kind_of(kind)->text : api_kinds[kind].kind);
}

/* A plugin may have mistaken the kind: then the fields are elsewhere. */
static bool is_of_kind(const struct meta *meta, enum api_kind kind)
{
    if (kind_is_extra(kind))
        return extra_kind_has_same_objects((enum api_kind)meta->kind, kind);
    return meta->kind == KIND_UNKNOWN || meta->kind == (uint8_t)kind;
}

static struct record_view view(const char *kind, const void *object, const char *path)
{
    enum api_kind number = host_kind(kind);
    if (number == KIND_UNKNOWN || !object || !path || !is_of_kind(object, number))
        return (struct record_view){ .type = VIEW_ABSENT };
    return record_view(api_kinds[number].type, object, str_from(path));
}

struct berth_value host_read(const char *kind, const void *object, const char *path)
{
    static const enum berth_type types[] = {
        [VIEW_ABSENT] = BERTH_ABSENT,   [VIEW_TEXT] = BERTH_TEXT,     [VIEW_NUMBER] = BERTH_NUMBER,
        [VIEW_FLAG] = BERTH_FLAG,       [VIEW_AMOUNT] = BERTH_AMOUNT, [VIEW_TEXTS] = BERTH_TEXTS,
        [VIEW_ENTRIES] = BERTH_ENTRIES, [VIEW_OBJECT] = BERTH_OBJECT,
    };
    struct record_view found = view(kind, object, path);
    return (struct berth_value){ .type = types[found.type],
                                 .text = { found.text.ptr, found.text.len },
                                 .number = found.number,
                                 .milli = found.milli,
                                 .len = found.len };
}

struct berth_str host_read_key(const char *kind, const void *object, const char *path, uint32_t index)
{
    enum api_kind number = host_kind(kind);
    if (number == KIND_UNKNOWN || !object || !path || !is_of_kind(object, number))
        return (struct berth_str){ NULL, 0 };
    return out_str(record_view_key(api_kinds[number].type, object, str_from(path), index));
}

/* The complete text is a decimal number. */
static bool text_to_double(struct str text, double *ret)
{
    enum { NUMBER_LEN_MAX = 63 };
    char copy[NUMBER_LEN_MAX + 1], *end;
    if (!text.len || text.len > NUMBER_LEN_MAX)
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (strspn(copy, "+-.0123456789eE") != text.len)
        return false;
    *ret = strtod(copy, &end);
    return *end == '\0' && isfinite(*ret);
}

bool host_read_double(const char *kind, const void *object, const char *path, double *ret)
{
    struct record_view found = view(kind, object, path);
    if (found.type == VIEW_TEXT)
        return text_to_double(found.text, ret);
    if (found.type != VIEW_NUMBER && found.type != VIEW_AMOUNT)
        return false;
    *ret = found.type == VIEW_NUMBER ? (double)found.number : found.real;
    return true;
}
