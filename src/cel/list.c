/* list.c: the lists of an evaluation; see struct cel_list. */
#include "cel/value.h"

struct cel_value cel_list_at(const struct cel_list *list, size_t i, uint64_t *steps)
{
    for (; list->first; (*steps)++) {
        bool behind = i >= list->first->len;
        i -= behind ? list->first->len : 0;
        list = behind ? list->second : list->first;
    }
    return list->items[i];
}

struct cel_value cel_list_item(struct cel_run *run, const struct cel_list *list, size_t i)
{
    return cel_list_at(list, i, &run->work);
}

struct cel_value cel_list(const struct cel_value *items, size_t len, struct arena *arena)
{
    struct cel_list *list = arena_new(arena, struct cel_list);
    *list = (struct cel_list){ .len = len, .items = items };
    return (struct cel_value){ .kind = CEL_LIST, .list = list };
}

struct cel_value cel_list_make(struct cel_run *run, const struct cel_value *items, size_t len)
{
    return cel_take(run, 0) ? cel_list(items, len, run->scratch) : cel_stop(run);
}

/* A list of the evaluation that is not made of items alone. */
static struct cel_value list_new(struct cel_run *run, struct cel_list list)
{
    struct cel_list *copy = cel_take(run, sizeof(*copy));
    if (!copy)
        return cel_stop(run);
    *copy = list;
    return (struct cel_value){ .kind = CEL_LIST, .list = copy };
}

struct cel_value cel_list_grower(struct cel_run *run)
{
    return list_new(run, (struct cel_list){ .grows = true });
}

struct cel_value cel_list_frozen(struct cel_run *run, const struct cel_value *value)
{
    return cel_list_make(run, value->list->items, value->list->len);
}

static struct cel_value grow(struct cel_run *run, const struct cel_value *value, const struct cel_list *more)
{
    struct cel_list *list = (struct cel_list *)value->list;
    size_t len = list->len, added = more->len, want = len + added;
    if (want < len || !cel_work(run, added))
        return cel_stop(run);
    if (want > list->cap) {
        size_t cap = MAX(MAX(want, list->cap * 2), (size_t)8);
        struct cel_value *items = cel_take(run, arena_bytes(cap, sizeof(*items)));
        if (!items)
            return cel_stop(run);
        if (len)
            memcpy(items, list->items, len * sizeof(*items));
        list->items = items;
        list->cap = cap;
    }
    for (size_t i = 0; i < added; i++)
        ((struct cel_value *)list->items)[len + i] = cel_list_item(run, more, i);
    list->len = want;
    return *value;
}

struct cel_value cel_list_push(struct cel_run *run, const struct cel_value *grower, struct cel_value item)
{
    return grow(run, grower, &(struct cel_list){ .len = 1, .items = &item });
}

struct cel_value cel_list_concat(struct cel_run *run, const struct cel_value *a, const struct cel_value *b)
{
    if (a->list->grows)
        return grow(run, a, b->list);
    if (a->list->len == 0 || b->list->len == 0)
        return a->list->len == 0 ? *b : *a;
    size_t len;
    if (__builtin_add_overflow(a->list->len, b->list->len, &len) || len > INT64_MAX)
        return cel_stop(run);
    return list_new(run, (struct cel_list){ .len = len, .first = a->list, .second = b->list });
}

bool cel_list_contains(struct cel_run *run, const struct cel_list *list, const struct cel_value *item)
{
    for (size_t i = 0; i < list->len && !run->stopped; i++) {
        struct cel_value other = cel_list_item(run, list, i);
        if (cel_values_equal(run, item, &other) == CEL_EQUAL)
            return true;
    }
    return false;
}
