/* resource_list.c: merging of sorted lists.
 *
 * A list that grows here has capacity for the next power of two of its length, so that joining many small lists copies
 * each amount a few times only. New names are merged from the back, in place:
 *
 *     cpu memory . .   +   gpu         cpu gpu memory .
 */
#include "api/resource_list.h"

#include <stdlib.h>

#include "codec/record.h"

enum { TOTAL_SCANNED = 16 }; /* a total of so many names is read from its beginning to find one */

struct quantity *resource_list_get(const struct resource_list *list, struct str name)
{
    struct resource *found = record_map_find(list->items, list->len, sizeof(*found), name);
    return found ? &found->amount : NULL;
}

struct quantity resource_list_amount(const struct resource_list *list, struct str name)
{
    const struct quantity *amount = resource_list_get(list, name);
    return amount ? *amount : (struct quantity){ 0 };
}

static void join_amount(struct quantity *amount, struct quantity other, enum resource_join join)
{
    switch (join) {
    case RESOURCE_SUM:
        *amount = quantity_add(*amount, other);
        break;
    case RESOURCE_MAX:
        if (quantity_cmp(other, *amount) > 0)
            *amount = other;
        break;
    case RESOURCE_REPLACE:
        *amount = other;
        break;
    case RESOURCE_KEEP:
        break;
    }
}

/* Joins the amounts of names that both have; returns how many names are new. */
static uint32_t join_shared(struct resource_list *list, const struct resource_list *other,
                            enum resource_join join)
{
    uint32_t at = 0, fresh = 0;
    list_for(other, resource) {
        int order = 1;
        while (at < list->len && (order = str_cmp(list->items[at].name, resource->name)) < 0)
            at++;
        if (at < list->len && order == 0)
            join_amount(&list->items[at].amount, resource->amount, join);
        else
            fresh++;
    }
    return fresh;
}

static uint32_t capacity_for(uint32_t len)
{
    uint32_t capacity = len ? 4 : 0;
    while (capacity < len)
        capacity = capacity > UINT32_MAX / 2 ? UINT32_MAX : capacity * 2;
    return capacity;
}

static void grow(struct resource_list *list, uint32_t len, struct arena *arena)
{
    if (capacity_for(len) <= capacity_for(list->len))
        return;
    list->items = arena_copy(arena, struct resource, list->items, list->len, capacity_for(len));
}

void resource_list_join(struct resource_list *list, const struct resource_list *other,
                        enum resource_join join, struct arena *arena)
{
    uint32_t fresh = join_shared(list, other, join), len;
    if (!fresh)
        return;
    if (__builtin_add_overflow(list->len, fresh, &len))
        return; /* more names than memory can hold */
    grow(list, len, arena);
    uint32_t from = list->len, to = len;
    for (uint32_t i = other->len; i > 0 && to > from; i--) {
        const struct resource *resource = &other->items[i - 1];
        int order = -1;
        while (from > 0 && (order = str_cmp(list->items[from - 1].name, resource->name)) > 0)
            list->items[--to] = list->items[--from];
        if (from == 0 || order != 0)
            list->items[--to] = *resource;
    }
    list->len = len;
}

struct quantity *resource_total_find(const struct resource_total *total, struct str name)
{
    if (total->places.len) {
        uintptr_t place = (uintptr_t)strmap_get(&total->places, name);
        return place ? &total->list.items[place - 1].amount : NULL;
    }
    list_for(&total->list, resource)
        if (str_eq(resource->name, name))
            return &resource->amount;
    return NULL;
}

static void total_add(struct resource_total *total, const struct resource *resource)
{
    struct resource_list *list = &total->list;
    if (list->len == total->cap) {
        total->cap = total->cap ? total->cap * 2 : 4;
        list->items = arena_copy(total->arena, struct resource, list->items, list->len, total->cap);
    }
    list->items[list->len++] = *resource;
    uint32_t first = total->places.len; /* all, once they are too many to be scanned */
    for (uint32_t i = first; list->len > TOTAL_SCANNED && i < list->len; i++)
        strmap_put(&total->places, list->items[i].name, (void *)((uintptr_t)i + 1));
}

void resource_total_join(struct resource_total *total, const struct resource_list *other,
                         enum resource_join join)
{
    list_for(other, resource) {
        struct quantity *amount = resource_total_find(total, resource->name);
        if (amount)
            join_amount(amount, resource->amount, join);
        else
            total_add(total, resource);
    }
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct resource *)a)->name, ((const struct resource *)b)->name);
}

void resource_total_end(struct resource_total *total, struct resource_list *ret)
{
    if (total->list.len)
        qsort(total->list.items, total->list.len, sizeof(*total->list.items), by_name);
    *ret = total->list;
    resource_total_release(total);
}

void resource_total_release(struct resource_total *total)
{
    strmap_release(&total->places);
    *total = (struct resource_total){ 0 };
}
