/* list.c: the lists of an evaluation.
 *
 *     items    an array
 *     grower   an array with spare capacity, that + appends to in place: only the accumulator of a fold is one
 *     concat   a + b, which is not copied: doubling a list again and again costs nothing, as in the reference */
#include "cel/lib.h"
#include "cel/value.h"

struct item_list {
    struct cel_list head;
    const struct cel_value *items;
    size_t cap; /* of a grower */
};

struct concat_list {
    struct cel_list head;
    const struct cel_list *first, *second;
};

static void items_at(const struct cel_list *list, size_t i, struct arena *scratch, struct cel_value *ret)
{
    (void)scratch;
    *ret = container_of(list, const struct item_list, head)->items[i];
}

static const struct cel_list_ops item_ops = { .at = items_at };
/* The same functions at another address, which marks a list that grows. */
static const struct cel_list_ops grower_ops = { .at = items_at };

/* The half that has item *i, and which of its items it is. */
static const struct cel_list *step_into(const struct cel_list *list, size_t *i)
{
    const struct concat_list *both = container_of(list, const struct concat_list, head);
    if (*i < both->first->len)
        return both->first;
    *i -= both->first->len;
    return both->second;
}

static void concat_at(const struct cel_list *list, size_t i, struct arena *scratch, struct cel_value *ret)
{
    while (list->ops->at == concat_at)
        list = step_into(list, &i);
    list->ops->at(list, i, scratch, ret);
}

static const struct cel_list_ops concat_ops = { .at = concat_at };

bool cel_list_is_concat(const struct cel_list *list)
{
    return list->ops == &concat_ops;
}

struct cel_value cel_list_item(struct cel_run *run, const struct cel_list *list, size_t i)
{
    struct cel_value value;
    for (; list->ops == &concat_ops; run->work++) /* callers with loops check the work done */
        list = step_into(list, &i);
    list->ops->at(list, i, run->scratch, &value);
    return value;
}

static struct cel_value as_value(const struct cel_list *list)
{
    return (struct cel_value){ .kind = CEL_LIST, .list = list };
}

struct cel_value cel_list(const struct cel_value *items, size_t len, struct arena *arena)
{
    struct item_list *list = arena_new(arena, struct item_list);
    *list = (struct item_list){ .head = { &item_ops, len }, .items = items };
    return as_value(&list->head);
}

struct cel_value cel_list_make(struct cel_run *run, const struct cel_value *items, size_t len)
{
    if (!cel_take(run, 0))
        return cel_stop(run);
    return cel_list(items, len, run->scratch);
}

struct cel_value cel_list_grower(struct cel_run *run)
{
    struct item_list *list = cel_take(run, sizeof(*list));
    if (!list)
        return cel_stop(run);
    *list = (struct item_list){ .head = { &grower_ops, 0 } };
    return as_value(&list->head);
}

bool cel_list_grows(const struct cel_value *value)
{
    return value->kind == CEL_LIST && value->list->ops == &grower_ops;
}

struct cel_value cel_list_frozen(struct cel_run *run, const struct cel_value *value)
{
    const struct item_list *list = container_of(value->list, const struct item_list, head);
    return cel_list_make(run, list->items, list->head.len);
}

static struct cel_value grow(struct cel_run *run, const struct cel_value *value, const struct cel_list *more)
{
    struct item_list *list =
        (struct item_list *)(void *)container_of(value->list, const struct item_list, head);
    size_t len = list->head.len, added = more->len, want = len + added;
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
    list->head.len = want;
    return *value;
}

struct cel_value cel_list_push(struct cel_run *run, const struct cel_value *grower, struct cel_value item)
{
    struct item_list one = { .head = { &item_ops, 1 }, .items = &item };
    return grow(run, grower, &one.head);
}

struct cel_value cel_list_concat(struct cel_run *run, const struct cel_value *a, const struct cel_value *b)
{
    if (cel_list_grows(a))
        return grow(run, a, b->list);
    if (a->list->len == 0 || b->list->len == 0)
        return a->list->len == 0 ? *b : *a;
    struct concat_list *list = cel_take(run, sizeof(*list));
    size_t len;
    if (!list || __builtin_add_overflow(a->list->len, b->list->len, &len) || len > INT64_MAX)
        return cel_stop(run);
    *list = (struct concat_list){ .head = { &concat_ops, len }, .first = a->list, .second = b->list };
    return as_value(&list->head);
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
