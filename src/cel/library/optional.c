/* optional.c: values that may not be there. */
#include "cel/value.h"

static struct cel_value none(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)run;
    (void)args;
    (void)len;
    return (struct cel_value){ .kind = CEL_OPTIONAL };
}

static struct cel_value of(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    struct cel_value *held = cel_take(run, sizeof(*held));
    if (!held)
        return cel_stop(run);
    *held = *args;
    return (struct cel_value){ .kind = CEL_OPTIONAL, .optional = held };
}

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

static struct cel_value of_non_zero(struct cel_run *run, const struct cel_value *args, size_t len)
{
    return is_zero(args) ? none(run, args, len) : of(run, args, len);
}

static struct cel_value value_of(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)run;
    (void)len;
    return args->optional ? *args->optional : cel_fail_static("optional.none() dereference");
}

static struct cel_value has_value(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)run;
    (void)len;
    return cel_bool(args->optional != NULL);
}

static struct cel_value at(struct cel_run *run, const struct cel_value *args, size_t i)
{
    if (args->list->len == 0)
        return none(run, args, 1);
    struct cel_value item = cel_list_item(run, args->list, i);
    return of(run, &item, 1);
}

static struct cel_value first(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    return at(run, args, 0);
}

static struct cel_value last(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    return at(run, args, args->list->len - 1);
}

static struct cel_value unwrap(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
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

#define MEMBER(name, id, signature, call) { name, id, signature, call, true, false, COST_ONE }
#define GLOBAL(name, id, signature, call) { name, id, signature, call, false, false, COST_ONE }

const struct cel_overload cel_lib_optional[] = {
    GLOBAL("optional.none", "optional_none", "-> opt(V)", none),
    GLOBAL("optional.of", "optional_of", "V -> opt(V)", of),
    GLOBAL("optional.ofNonZeroValue", "optional_ofNonZeroValue", "V -> opt(V)", of_non_zero),
    GLOBAL("optional.unwrap", "optional_unwrap", "list(opt(V)) -> list(V)", unwrap),
    MEMBER("unwrapOpt", "optional_unwrapOpt", "list(opt(V)) -> list(V)", unwrap),
    MEMBER("hasValue", "optional_hasValue", "opt(V) -> bool", has_value),
    MEMBER("value", "optional_value", "opt(V) -> V", value_of),
    MEMBER("or", "optional_or_optional", "opt(V), opt(V) -> opt(V)", NULL),
    MEMBER("orValue", "optional_orValue_value", "opt(V), V -> V", NULL),
    MEMBER("first", "list_first", "list(V) -> opt(V)", first),
    MEMBER("last", "list_last", "list(V) -> opt(V)", last),
    { 0 },
};
