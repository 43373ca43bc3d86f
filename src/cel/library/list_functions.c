/* list_functions.c: functions on lists: the extension's third version, sets, those of Kubernetes, and includes(). */
#include "cel/lib.h"
#include "cel/value.h"

#include <stdlib.h>

/* ResourceSliceMaxAttributeValuesPerDevice */
enum { INCLUDES_LEN_MAX = 48, FLATTEN_DEPTH_MAX = 300 };

static struct cel_value slice(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    const struct cel_list *list = args[0].list;
    long long from = args[1].integer, to = args[2].integer;
    if (from < 0 || to < 0)
        return cel_fail(run, "cannot slice(%lld, %lld), negative indexes not supported", from, to);
    if (from > to)
        return cel_fail(run, "cannot slice(%lld, %lld), start index must be less than or equal to end index",
                        from, to);
    if ((uint64_t)to > list->len)
        return cel_fail(run, "cannot slice(%lld, %lld), list is length %zu", from, to, list->len);
    size_t count = (size_t)(to - from);
    struct cel_value *items = cel_take(run, arena_bytes(count, sizeof(*items)));
    if (!items)
        return cel_stop(run);
    for (size_t i = 0; i < count; i++)
        items[i] = cel_list_item(run, list, (size_t)from + i);
    return cel_list_make(run, items, count);
}

static struct cel_value flatten_into(struct cel_run *run, struct cel_value *out, const struct cel_list *list,
                                     int64_t depth, int nesting)
{
    for (size_t i = 0; i < list->len; i++) {
        struct cel_value item = cel_list_item(run, list, i);
        if (nesting > FLATTEN_DEPTH_MAX || !cel_work(run, 1))
            return cel_stop(run);
        struct cel_value r = item.kind == CEL_LIST && depth > 0
                                 ? flatten_into(run, out, item.list, depth - 1, nesting + 1)
                                 : cel_list_push(run, out, item);
        if (cel_is_error(&r))
            return r;
    }
    return *out;
}

static struct cel_value flatten(struct cel_run *run, const struct cel_value *args, size_t len)
{
    int64_t depth = len > 1 ? args[1].integer : 1;
    if (args[0].kind != CEL_LIST || (len > 1 && args[1].kind != CEL_INT))
        return cel_no_overload();
    if (depth < 0)
        return cel_fail_static("level must be non-negative");
    struct cel_value out = cel_list_grower(run);
    out = cel_is_error(&out) ? out : flatten_into(run, &out, args[0].list, depth, 0);
    return cel_is_error(&out) ? out : cel_list_frozen(run, &out);
}

struct sortable {
    struct cel_value key;
    size_t index;
};

static int by_key(const void *a, const void *b)
{
    const struct sortable *x = a, *y = b;
    struct cel_value order = cel_values_compare(&x->key, &y->key);
    if (order.kind == CEL_INT && order.integer != 0)
        return (int)order.integer;
    return x->index < y->index ? -1 : 1;
}

static struct cel_value sort_by_keys(struct cel_run *run, const struct cel_value *args, size_t len)
{
    const struct cel_value *keys = &args[len - 1];
    if (args[0].kind != CEL_LIST || keys->kind != CEL_LIST)
        return cel_no_overload();
    size_t count = args[0].list->len;
    if (keys->list->len != count)
        return cel_fail(
            run,
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but "
            "got %zu and %zu elements respectively",
            count, keys->list->len);
    if (count == 0)
        return args[0];
    struct sortable *order = cel_take(run, arena_bytes(count, sizeof(*order)));
    struct cel_value *items = cel_take(run, arena_bytes(count, sizeof(*items)));
    if (!order || !items || !cel_work(run, count))
        return cel_stop(run);
    for (size_t i = 0; i < count; i++) {
        order[i] = (struct sortable){ cel_list_item(run, keys->list, i), i };
        if (!cel_is_ordered(order[0].key.kind))
            return cel_fail_static("list elements must be comparable");
        if (order[i].key.kind != order[0].key.kind)
            return cel_fail_static("list elements must have the same type");
    }
    qsort(order, count, sizeof(*order), by_key);
    for (size_t i = 0; i < count; i++)
        items[i] = cel_list_item(run, args[0].list, order[i].index);
    return cel_list_make(run, items, count);
}

static struct cel_value range(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    size_t count = args->integer > 0 ? (size_t)args->integer : 0;
    struct cel_value *items = cel_take(run, arena_bytes(count, sizeof(*items)));
    if (!items)
        return cel_stop(run);
    for (size_t i = 0; i < count; i++)
        items[i] = cel_int((int64_t)i);
    return cel_list_make(run, items, count);
}

static struct cel_value reverse(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    size_t count = args->list->len;
    struct cel_value *items = cel_take(run, arena_bytes(count, sizeof(*items)));
    if (!items)
        return cel_stop(run);
    for (size_t i = 0; i < count; i++)
        items[i] = cel_list_item(run, args->list, count - i - 1);
    return cel_list_make(run, items, count);
}

static struct cel_value distinct(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    size_t count = args->list->len, kept = 0;
    struct cel_value *items = cel_take(run, arena_bytes(count, sizeof(*items)));
    if (!items)
        return cel_stop(run);
    for (size_t i = 0; i < count && !run->stopped; i++) {
        struct cel_value item = cel_list_item(run, args->list, i);
        bool seen = false;
        for (size_t j = 0; j < kept && !seen && !run->stopped; j++)
            seen = cel_values_equal(run, &item, &items[j]) == CEL_EQUAL;
        if (!seen)
            items[kept++] = item;
    }
    return run->stopped ? cel_stop(run) : cel_list_make(run, items, kept);
}

static bool contains_all(struct cel_run *run, const struct cel_list *list, const struct cel_list *part)
{
    for (size_t i = 0; i < part->len && !run->stopped; i++) {
        struct cel_value item = cel_list_item(run, part, i);
        if (!cel_list_contains(run, list, &item))
            return false;
    }
    return true;
}

static struct cel_value sets_contains(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    return cel_bool(contains_all(run, args[0].list, args[1].list));
}

static struct cel_value sets_equivalent(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    return cel_bool(contains_all(run, args[0].list, args[1].list) &&
                    contains_all(run, args[1].list, args[0].list));
}

static struct cel_value sets_intersects(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    for (size_t i = 0; i < args[0].list->len && !run->stopped; i++) {
        struct cel_value item = cel_list_item(run, args[0].list, i);
        if (cel_list_contains(run, args[1].list, &item))
            return cel_bool(true);
    }
    return cel_bool(false);
}

static struct cel_value is_sorted(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    struct cel_value before = { .kind = CEL_NULL };
    for (size_t i = 0; i < args->list->len; i++) {
        struct cel_value item = cel_list_item(run, args->list, i);
        if (!cel_is_ordered(item.kind))
            return cel_no_overload();
        struct cel_value order = i ? cel_values_compare(&before, &item) : cel_int(0);
        if (order.kind == CEL_INT && order.integer > 0)
            return cel_bool(false);
        before = item;
        if (!cel_work(run, 1))
            return cel_stop(run);
    }
    return cel_bool(true);
}

static struct cel_value sum(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    struct cel_value total = cel_int(0), first;
    if (args->list->len > 0) {
        first = cel_list_item(run, args->list, 0);
        total = first.kind == CEL_UINT       ? cel_make_uint(0)
                : first.kind == CEL_DOUBLE   ? cel_make_double(0)
                : first.kind == CEL_DURATION ? (struct cel_value){ .kind = CEL_DURATION }
                                             : total;
    } else {
        const struct cel_candidate *candidate = &run->call->candidates[0];
        const char *id = candidate->overload->id;
        total = strcmp(id, "list_uint_sum_uint") == 0           ? cel_make_uint(0)
                : strcmp(id, "list_double_sum_double") == 0     ? cel_make_double(0)
                : strcmp(id, "list_duration_sum_duration") == 0 ? (struct cel_value){ .kind = CEL_DURATION }
                                                                : total;
    }
    for (size_t i = 0; i < args->list->len && !cel_is_error(&total); i++) {
        struct cel_value pair[] = { total, cel_list_item(run, args->list, i) };
        total = cel_work(run, 1) ? cel_add(run, pair, 2) : cel_stop(run);
    }
    return total;
}

static struct cel_value extreme(struct cel_run *run, const struct cel_list *list, int wanted,
                                const char *name)
{
    if (list->len == 0)
        return cel_fail(run, "%s called on empty list", name);
    struct cel_value best = { .kind = CEL_NULL };
    for (size_t i = 0; i < list->len; i++) {
        struct cel_value item = cel_list_item(run, list, i);
        if (!cel_is_ordered(item.kind))
            return cel_no_overload();
        struct cel_value order = i ? cel_values_compare(&best, &item) : cel_int(wanted);
        if (order.kind == CEL_INT && order.integer == wanted)
            best = item;
        if (!cel_work(run, 1))
            return cel_stop(run);
    }
    return best;
}

static struct cel_value max(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    return extreme(run, args->list, -1, "max");
}

static struct cel_value min(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    return extreme(run, args->list, 1, "min");
}

static struct cel_value index_of(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    for (size_t i = 0; i < args[0].list->len && !run->stopped; i++) {
        struct cel_value item = cel_list_item(run, args[0].list, i);
        if (cel_values_equal(run, &item, &args[1]) == CEL_EQUAL)
            return cel_int((int64_t)i);
    }
    return cel_int(-1);
}

static struct cel_value last_index_of(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    for (size_t i = args[0].list->len; i-- > 0 && !run->stopped;) {
        struct cel_value item = cel_list_item(run, args[0].list, i);
        if (cel_values_equal(run, &item, &args[1]) == CEL_EQUAL)
            return cel_int((int64_t)i);
    }
    return cel_int(-1);
}

static struct cel_value includes(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    if (args[0].kind != CEL_LIST)
        return cel_bool(cel_values_equal(run, &args[0], &args[1]) == CEL_EQUAL);
    for (size_t i = 0; i < args[0].list->len; i++) {
        if (i >= INCLUDES_LEN_MAX)
            return cel_fail(run, "'includes' function cannot be applied to lists longer than %d values",
                            INCLUDES_LEN_MAX);
        struct cel_value item = cel_list_item(run, args[0].list, i);
        if (cel_values_equal(run, &item, &args[1]) == CEL_EQUAL)
            return cel_bool(true);
    }
    return cel_bool(false);
}

static struct cel_value map_insert(struct cel_run *run, const struct cel_value *args, size_t len)
{
    if (len == 3)
        return cel_map_insert(run, &args[0], &args[1], &args[2]);
    struct cel_value map = args[0];
    for (size_t i = 0; i < args[1].map->len && !cel_is_error(&map); i++) {
        struct cel_value key, value;
        args[1].map->ops->at(args[1].map, i, run->scratch, &key, &value);
        map = cel_map_insert(run, &map, &key, &value);
    }
    return map;
}

#define MEMBER(name, id, signature, call, cost) { name, id, signature, call, true, false, cost }
#define SORT(type, long_name) \
    { "sort", "list_" long_name "_sort", "list(" type ") -> list(" type ")", sort_by_keys, true, \
      true,   COST_SELF_COMPARE }, \
    { \
        "@sortByAssociatedKeys", "list_" long_name "_sortByAssociatedKeys", \
            "list(T), list(" type ") -> list(T)", sort_by_keys, true, true, COST_SELF_COMPARE_KEYS \
    }
#define COMPARABLE(type) \
    MEMBER("isSorted", "list_" type "_is_sorted_bool", "list(" type ") -> bool", is_sorted, COST_TRAVERSAL), \
        MEMBER("max", "list_" type "_max_" type, "list(" type ") -> " type, max, COST_TRAVERSAL), \
        MEMBER("min", "list_" type "_min_" type, "list(" type ") -> " type, min, COST_TRAVERSAL)
#define SUMMABLE(type) \
    MEMBER("sum", "list_" type "_sum_" type, "list(" type ") -> " type, sum, COST_TRAVERSAL)

const struct cel_overload cel_lib_lists[] = {
    MEMBER("slice", "list_slice", "list(T), int, int -> list(T)", slice, COST_LIST_RESULT),
    { "flatten", "list_flatten", "list(list(T)) -> list(T)", flatten, true, true, COST_FLATTEN },
    { "flatten", "list_flatten_int", "list(dyn), int -> list(dyn)", flatten, true, true, COST_FLATTEN },
    SORT("int", "int"),
    SORT("uint", "uint"),
    SORT("double", "double"),
    SORT("bool", "bool"),
    SORT("duration", "google.protobuf.Duration"),
    SORT("timestamp", "google.protobuf.Timestamp"),
    SORT("string", "string"),
    SORT("bytes", "bytes"),
    { "lists.range", "lists_range", "int -> list(int)", range, false, false, COST_LIST_RESULT },
    MEMBER("reverse", "list_reverse", "list(T) -> list(T)", reverse, COST_LIST_RESULT),
    MEMBER("distinct", "list_distinct", "list(T) -> list(T)", distinct, COST_SELF_COMPARE),
    { "sets.contains", "list_sets_contains_list", "list(T), list(T) -> bool", sets_contains, false, false,
      COST_SETS },
    { "sets.equivalent", "list_sets_equivalent_list", "list(T), list(T) -> bool", sets_equivalent, false,
      false, COST_SETS_TWICE },
    { "sets.intersects", "list_sets_intersects_list", "list(T), list(T) -> bool", sets_intersects, false,
      false, COST_SETS },
    COMPARABLE("int"),
    COMPARABLE("uint"),
    COMPARABLE("double"),
    COMPARABLE("bool"),
    COMPARABLE("duration"),
    COMPARABLE("timestamp"),
    COMPARABLE("string"),
    COMPARABLE("bytes"),
    SUMMABLE("int"),
    SUMMABLE("uint"),
    SUMMABLE("double"),
    SUMMABLE("duration"),
    MEMBER("indexOf", "list_a_index_of_int", "list(A), A -> int", index_of, COST_TRAVERSAL),
    MEMBER("lastIndexOf", "list_a_last_index_of_int", "list(A), A -> int", last_index_of, COST_TRAVERSAL),
    MEMBER("includes", "dra_includes_dyn_dyn", "dyn, dyn -> bool", includes, COST_ONE),
    { "cel.@mapInsert", "@mapInsert_map_key_value", "map(K, V), K, V -> map(K, V)", map_insert, false, false,
      COST_ONE },
    { "cel.@mapInsert", "@mapInsert_map_map", "map(K, V), map(K, V) -> map(K, V)", map_insert, false, false,
      COST_ONE },
    { 0 },
};
