/* object_order.c: see object_order.h. */
#include "apiserver/object_order.h"

#include <stdlib.h>

#include "base/map.h"

void object_order_init(struct object_order *order)
{
    *order = (struct object_order){ 0 };
    /* Random per process, so that heights cannot be known outside. */
    rng_seed(&order->rng, table_hash(STR("object order")));
}

static void entry_free(struct order_entry *entry)
{
    stored_unref(entry->newest);
    free(entry);
}

void object_order_release(struct object_order *order)
{
    for (struct order_entry *entry = order->first[0], *next; entry; entry = next) {
        next = entry->next[0];
        entry_free(entry);
    }
    *order = (struct object_order){ 0 };
}

static int compare(const struct order_entry *entry, struct str ns, struct str name)
{
    return str_cmp(entry->newest->ns, ns) ?: str_cmp(entry->newest->name, name);
}

/* The places that refer to the first entry that is not before the key, on each level. */
static void search(struct object_order *order, struct str ns, struct str name,
                   struct order_entry **places[static OBJECT_ORDER_LEVELS])
{
    struct order_entry **level = order->first;
    for (int i = OBJECT_ORDER_LEVELS; i-- > 0;) {
        while (level[i] && compare(level[i], ns, name) < 0)
            level = level[i]->next;
        places[i] = &level[i];
    }
}

struct order_entry *object_order_find(struct object_order *order, struct str ns, struct str name)
{
    struct order_entry **places[OBJECT_ORDER_LEVELS];
    search(order, ns, name, places);
    struct order_entry *entry = *places[0];
    return entry && compare(entry, ns, name) == 0 ? entry : NULL;
}

struct order_entry *object_order_after(struct object_order *order, struct str ns, struct str name)
{
    struct order_entry **places[OBJECT_ORDER_LEVELS];
    search(order, ns, name, places);
    struct order_entry *entry = *places[0];
    return entry && compare(entry, ns, name) == 0 ? entry->next[0] : entry;
}

void object_order_add(struct object_order *order, struct stored *version)
{
    struct order_entry **places[OBJECT_ORDER_LEVELS];
    search(order, version->ns, version->name, places);
    /* Each level has a quarter of the entries of the one below. */
    uint64_t bits = rng_next(&order->rng) | (uint64_t)1 << (2 * (OBJECT_ORDER_LEVELS - 1));
    size_t height = (size_t)__builtin_ctzll(bits) / 2 + 1;
    struct order_entry *entry = xmalloc(sizeof(*entry) + height * sizeof(*entry->next));
    entry->newest = version;
    for (size_t i = 0; i < height; i++) {
        entry->next[i] = *places[i];
        *places[i] = entry;
    }
}

void object_order_remove(struct object_order *order, struct order_entry *entry)
{
    struct order_entry **places[OBJECT_ORDER_LEVELS];
    search(order, entry->newest->ns, entry->newest->name, places);
    for (size_t i = 0; i < OBJECT_ORDER_LEVELS && *places[i] == entry; i++)
        *places[i] = entry->next[i];
    entry_free(entry);
}
