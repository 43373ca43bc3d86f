/* host_read.c: reads any field of any object, by its path; the field tables of api/ say where everything is. */
#include "abi/host.h"
#include "api/fields.h"

enum api_kind host_kind(const char *kind)
{
    struct str name = kind ? str_from(kind) : STR("");
    for (int i = KIND_UNKNOWN + 1; i < KIND_COUNT; i++)
        if (i != KIND_CONFIG_MAP && str_eq(api_kinds[i].kind, name)) /* those are the scheduler's own */
            return (enum api_kind)i;
    return KIND_UNKNOWN;
}

/* A plugin may have mistaken the kind: then the fields are elsewhere. */
static bool is_of_kind(const struct meta *meta, enum api_kind kind)
{
    return meta->kind == KIND_UNKNOWN || meta->kind == (uint8_t)kind;
}

struct berth_value host_read(const char *kind, const void *object, const char *path)
{
    static const enum berth_type types[] = {
        [VIEW_ABSENT] = BERTH_ABSENT,   [VIEW_TEXT] = BERTH_TEXT,     [VIEW_NUMBER] = BERTH_NUMBER,
        [VIEW_FLAG] = BERTH_FLAG,       [VIEW_AMOUNT] = BERTH_AMOUNT, [VIEW_TEXTS] = BERTH_TEXTS,
        [VIEW_ENTRIES] = BERTH_ENTRIES, [VIEW_OBJECT] = BERTH_OBJECT,
    };
    enum api_kind number = host_kind(kind);
    if (number == KIND_UNKNOWN || !object || !path || !is_of_kind(object, number))
        return (struct berth_value){ .type = BERTH_ABSENT };
    struct record_view view = record_view(api_kinds[number].type, object, str_from(path));
    return (struct berth_value){ .type = types[view.type],
                                 .text = { view.text.ptr, view.text.len },
                                 .number = view.number,
                                 .milli = view.milli,
                                 .len = view.len };
}
