/* lists.c: functions on lists: the extension's third version, sets, those of Kubernetes, and includes(). */
#include "cel/parse.h"
#include "cel/value.h"

#include <stdlib.h>

/* ResourceSliceMaxAttributeValuesPerDevice */
enum { INCLUDES_LEN_MAX = 48, FLATTEN_DEPTH_MAX = 300 };

/* `count` items from item `from` on, or from there backwards. */
static struct cel_value part_of(struct cel_run *run, const struct cel_list *list, size_t from, size_t count,
                                bool backwards)
{
    struct cel_value *items = cel_take(run, arena_bytes(count, sizeof(*items)));
    if (!items)
        return cel_stop(run);
    for (size_t i = 0; i < count; i++)
        items[i] = cel_list_item(run, list, backwards ? from - i : from + i);
    return cel_list_make(run, items, count);
}

CEL_FUNCTION(slice)
{
    const struct cel_list *list = args[0].list;
    long long from = args[1].integer, to = args[2].integer;
    if (from < 0 || to < 0)
        return cel_fail(run, "cannot slice(%lld, %lld), negative indexes not supported", from, to);
    if (from > to)
        return cel_fail(run, "cannot slice(%lld, %lld), start index must be less than or equal to end index",
                        from, to);
    if ((uint64_t)to > list->len)
        return cel_fail(run, "cannot slice(%lld, %lld), list is length %zu", from, to, list->len);
    return part_of(run, list, (size_t)from, (size_t)(to - from), false);
}

CEL_RETURNS(reverse, part_of(run, args->list, args->list->len - 1, args->list->len, true))

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

CEL_FUNCTION(flatten)
{
    int64_t depth = len > 1 ? args[1].integer : 1;
    if (args[0].kind != CEL_LIST || (len > 1 && args[1].kind != CEL_INT))
        return cel_fail(run, "no such overload: %s%s.flatten(%s)", cel_kind_name(args[0].kind),
                        args[0].kind == CEL_MAP                                              ? "(dyn, dyn)"
                        : args[0].kind == CEL_OPTIONAL && (run->rules & CEL_OPTIONAL_OF_DYN) ? "(dyn)"
                                                                                             : "",
                        len > 1 ? cel_kind_name(args[1].kind) : "");
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

CEL_FUNCTION(sort_by_keys)
{
    const struct cel_value *keys = &args[len - 1];
    if (args[0].kind != CEL_LIST || keys->kind != CEL_LIST)
        return cel_no_trait(run, args, 1u << CEL_LIST);
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

CEL_FUNCTION(range)
{
    size_t count = args->integer > 0 ? (size_t)args->integer : 0;
    struct cel_value *items = cel_take(run, arena_bytes(count, sizeof(*items)));
    if (!items)
        return cel_stop(run);
    for (size_t i = 0; i < count; i++)
        items[i] = cel_int((int64_t)i);
    return cel_list_make(run, items, count);
}

CEL_FUNCTION(limited_range)
{
    static const long long RANGE_MAX = 1000000;
    long long count = args->integer;
    if (count < 0)
        return cel_fail(run, "lists.range: size must be non-negative, got %lld", count);
    if (count > RANGE_MAX)
        return cel_fail(run, "lists.range: size %lld exceeds maximum allowed (%lld)", count, RANGE_MAX);
    return range(run, args, len);
}

CEL_FUNCTION(distinct)
{
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

CEL_RETURNS(sets_contains, cel_bool(contains_all(run, args[0].list, args[1].list)))
CEL_RETURNS(sets_equivalent, cel_bool(contains_all(run, args[0].list, args[1].list) &&
                                      contains_all(run, args[1].list, args[0].list)))

CEL_FUNCTION(sets_intersects)
{
    for (size_t i = 0; i < args[0].list->len && !run->stopped; i++) {
        struct cel_value item = cel_list_item(run, args[0].list, i);
        if (cel_list_contains(run, args[1].list, &item))
            return cel_bool(true);
    }
    return cel_bool(false);
}

CEL_FUNCTION(is_sorted)
{
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

/* From the zero of the first item's kind on; of an empty list, of the kind that the checker found. */
CEL_FUNCTION(sum)
{
    enum cel_kind kind = run->call->candidates[0].parts[0][0];
    if (args->list->len > 0)
        kind = cel_list_item(run, args->list, 0).kind;
    if (kind != CEL_UINT && kind != CEL_DOUBLE && kind != CEL_DURATION)
        kind = CEL_INT;
    struct cel_value total = { .kind = kind };
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

CEL_RETURNS(max, extreme(run, args->list, -1, "max"))
CEL_RETURNS(min, extreme(run, args->list, 1, "min"))

static struct cel_value index_in(struct cel_run *run, const struct cel_value *args, bool backwards)
{
    size_t len = args[0].list->len;
    for (size_t i = 0; i < len && !run->stopped; i++) {
        size_t at = backwards ? len - i - 1 : i;
        struct cel_value item = cel_list_item(run, args[0].list, at);
        if (cel_values_equal(run, &item, &args[1]) == CEL_EQUAL)
            return cel_int((int64_t)at);
    }
    return cel_int(-1);
}

CEL_RETURNS(index_of, index_in(run, args, false))
CEL_RETURNS(last_index_of, index_in(run, args, true))

/* In a list that is too long, an item beyond the first `len_max` is not looked for. */
static struct cel_value includes_in(struct cel_run *run, const struct cel_value *args, size_t len_max)
{
    if (args[0].kind != CEL_LIST)
        return cel_bool(cel_values_equal(run, &args[0], &args[1]) == CEL_EQUAL);
    for (size_t i = 0; i < args[0].list->len && !run->stopped; i++) {
        if (i >= len_max)
            return cel_fail(run, "'includes' function cannot be applied to lists longer than %zu values",
                            len_max);
        struct cel_value item = cel_list_item(run, args[0].list, i);
        if (cel_values_equal(run, &item, &args[1]) == CEL_EQUAL)
            return cel_bool(true);
    }
    return run->stopped ? cel_stop(run) : cel_bool(false);
}

CEL_RETURNS(includes, includes_in(run, args, INCLUDES_LEN_MAX))
CEL_RETURNS(long_includes, includes_in(run, args, SIZE_MAX))

CEL_FUNCTION(map_insert)
{
    if (len == 3)
        return cel_map_insert(run, &args[0], &args[1], &args[2]);
    struct cel_value map = args[0];
    const struct cel_map *more = args[1].map;
    for (size_t i = 0; i < more->len && !cel_is_error(&map); i++)
        map = cel_map_insert(run, &map, &more->entries[i].key, &more->entries[i].value);
    return map;
}

/* A signature for each type that has an order. */
#define EACH_ORDERED(signature) \
    signature("int") "; " signature("uint") "; " signature("double") "; " signature("bool") "; " signature( \
        "duration") "; " signature("timestamp") "; " signature("string") "; " signature("bytes")
#define SORTED(type) "list(" type ") -> list(" type ")"
#define SORTED_BY(type) "list(T), list(" type ") -> list(T)"
#define TEST_OF(type) "list(" type ") -> bool"
#define ITEM_OF(type) "list(" type ") -> " type

const struct cel_overload cel_lib_lists[] = {
    { "slice", "list(T), int, int -> list(T)", slice, CEL_MEMBER, COST_LIST_RESULT },
    { "flatten", "list(list(T)) -> list(T); list(dyn), int -> list(dyn)", flatten, CEL_MEMBER | CEL_UNGUARDED,
      COST_FLATTEN },
    { "sort", EACH_ORDERED(SORTED), sort_by_keys, CEL_MEMBER | CEL_UNGUARDED, COST_SELF_COMPARE },
    { "@sortByAssociatedKeys", EACH_ORDERED(SORTED_BY), sort_by_keys, CEL_MEMBER | CEL_UNGUARDED,
      COST_SELF_COMPARE_KEYS },
    { "lists.range", "int -> list(int)", range, 0, COST_LIST_RESULT, .lacks = CEL_LIMITED_RANGE },
    { "lists.range", "int -> list(int)", limited_range, 0, COST_LIST_RESULT, .needs = CEL_LIMITED_RANGE },
    { "reverse", "list(T) -> list(T)", reverse, CEL_MEMBER, COST_LIST_RESULT },
    { "distinct", "list(T) -> list(T)", distinct, CEL_MEMBER, COST_SELF_COMPARE },
    { "sets.contains", "list(T), list(T) -> bool", sets_contains, 0, COST_SETS },
    { "sets.equivalent", "list(T), list(T) -> bool", sets_equivalent, 0, COST_SETS_TWICE },
    { "sets.intersects", "list(T), list(T) -> bool", sets_intersects, 0, COST_SETS },
    { "isSorted", EACH_ORDERED(TEST_OF), is_sorted, CEL_MEMBER, COST_TRAVERSAL },
    { "max", EACH_ORDERED(ITEM_OF), max, CEL_MEMBER, COST_TRAVERSAL },
    { "min", EACH_ORDERED(ITEM_OF), min, CEL_MEMBER, COST_TRAVERSAL },
    { "sum", "list(int) -> int; list(uint) -> uint; list(double) -> double; list(duration) -> duration", sum,
      CEL_MEMBER, COST_TRAVERSAL },
    { "indexOf", "list(A), A -> int", index_of, CEL_MEMBER, COST_TRAVERSAL },
    { "lastIndexOf", "list(A), A -> int", last_index_of, CEL_MEMBER, COST_TRAVERSAL },
    { "includes", "dyn, dyn -> bool", includes, CEL_MEMBER, .lacks = CEL_LONG_INCLUDES },
    { "includes", "dyn, dyn -> bool", long_includes, CEL_MEMBER, COST_TRAVERSAL, .needs = CEL_LONG_INCLUDES },
    { FN_MAP_INSERT, "map(K, V), K, V -> map(K, V); map(K, V), map(K, V) -> map(K, V)", map_insert },
    { 0 },
};
