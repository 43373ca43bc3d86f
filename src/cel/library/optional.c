/* optional.c: values that may not be there. */
#include "cel/value.h"

static bool is_zero(const struct cel_value *value)
{
    /* Seconds from 1970 to the first of January of the year 1, which is Go's zero. */
    static const int64_t YEAR_ONE = -62135596800;
    switch (value->kind) {
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return !value->boolean;
    case CEL_INT:
    case CEL_UINT:
        return value->integer == 0;
    case CEL_DOUBLE:
        return value->number == 0;
    case CEL_STRING:
    case CEL_BYTES:
        return value->text.len == 0;
    case CEL_LIST:
        return value->list->len == 0;
    case CEL_MAP:
        return value->map->len == 0;
    case CEL_DURATION:
        return value->duration_ns == 0;
    case CEL_TIMESTAMP:
        return value->timestamp.seconds == YEAR_ONE && value->timestamp.nanos == 0;
    default:
        return false;
    }
}

CEL_RETURNS(none, cel_optional(run, NULL))
CEL_RETURNS(of, cel_optional(run, args))
CEL_RETURNS(of_non_zero, cel_optional(run, is_zero(args) ? NULL : args))
CEL_RETURNS(value_of, args->optional ? *args->optional : cel_fail_static("optional.none() dereference"))
CEL_RETURNS(has_value, cel_bool(args->optional != NULL))

/* Item `i` of a list, or none of an empty one. */
static struct cel_value item_of(struct cel_run *run, const struct cel_list *list, size_t i)
{
    if (list->len == 0)
        return cel_optional(run, NULL);
    struct cel_value item = cel_list_item(run, list, i);
    return cel_optional(run, &item);
}

CEL_RETURNS(first, item_of(run, args->list, 0))
CEL_RETURNS(last, item_of(run, args->list, args->list->len - 1))

CEL_FUNCTION(unwrap)
{
    const struct cel_list *list = args->list;
    struct cel_value *items = cel_take(run, arena_bytes(list->len, sizeof(*items)));
    if (!items)
        return cel_stop(run);
    size_t count = 0;
    for (size_t i = 0; i < list->len; i++) {
        struct cel_value item = cel_list_item(run, list, i);
        if (item.kind != CEL_OPTIONAL) {
            struct str text = cel_value_text(run, &item);
            return cel_fail(run, "value " STR_FMT " is not optional", STR_ARG(text));
        }
        if (item.optional)
            items[count++] = *item.optional;
    }
    return cel_list_make(run, items, count);
}

const struct cel_overload cel_lib_optional[] = {
    { "optional.none", "-> opt(V)", none },
    { "optional.of", "V -> opt(V)", of },
    { "optional.ofNonZeroValue", "V -> opt(V)", of_non_zero },
    { "optional.unwrap", "list(opt(V)) -> list(V)", unwrap },
    { "unwrapOpt", "list(opt(V)) -> list(V)", unwrap, CEL_MEMBER },
    { "hasValue", "opt(V) -> bool", has_value, CEL_MEMBER },
    { "value", "opt(V) -> V", value_of, CEL_MEMBER },
    { "or", "opt(V), opt(V) -> opt(V)", NULL, CEL_MEMBER, .op = OP_OPTIONAL_OR },
    { "orValue", "opt(V), V -> V", NULL, CEL_MEMBER, .op = OP_OPTIONAL_OR_VALUE },
    { "first", "list(V) -> opt(V)", first, CEL_MEMBER },
    { "last", "list(V) -> opt(V)", last, CEL_MEMBER },
    { 0 },
};
