/* map.c: one table behind both kinds of keys. A number is its own identity; a string compares by hash, then text. */
#include "base/map.h"

#include <stdlib.h>

static uint64_t scramble(uint64_t key)
{
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93u;
    return key ^ (key >> 32);
}

static bool slot_is(const struct map_slot *slot, uint64_t key, struct str name)
{
    return slot->key == key && str_eq(slot->name, name);
}

/* The slot that holds the key, or the free one where it belongs. */
static size_t find(const struct map_slot *slots, size_t cap, uint64_t key, struct str name)
{
    size_t at = scramble(key) & (cap - 1);
    while (slots[at].value && !slot_is(&slots[at], key, name))
        at = (at + 1) & (cap - 1);
    return at;
}

static void grow(struct map_slot **slots, size_t len, size_t *cap)
{
    if (*cap && (len + 1) * 4 <= *cap * 3)
        return;
    size_t wider = *cap ? *cap * 2 : 8;
    struct map_slot *fresh = xcalloc(wider, sizeof(*fresh));
    for (size_t i = 0; i < *cap; i++) {
        const struct map_slot *old = &(*slots)[i];
        if (old->value)
            fresh[find(fresh, wider, old->key, old->name)] = *old;
    }
    free(*slots);
    *slots = fresh;
    *cap = wider;
}

static void *get(const struct map_slot *slots, size_t cap, uint64_t key, struct str name)
{
    return cap ? slots[find(slots, cap, key, name)].value : NULL;
}

static void *put(struct map_slot **slots, size_t *len, size_t *cap, uint64_t key, struct str name,
                 void *value)
{
    assert(value);
    grow(slots, *len, cap);
    struct map_slot *slot = &(*slots)[find(*slots, *cap, key, name)];
    void *old = slot->value;
    if (!old)
        ++*len;
    *slot = (struct map_slot){ .key = key, .value = value, .name = name };
    return old;
}

static void *take(struct map_slot *slots, size_t *len, size_t cap, uint64_t key, struct str name)
{
    if (!cap)
        return NULL;
    size_t hole = find(slots, cap, key, name);
    void *old = slots[hole].value;
    if (!old)
        return NULL;
    --*len;
    /* Shift back every follower that the hole would hide from its home. */
    for (size_t at = (hole + 1) & (cap - 1); slots[at].value; at = (at + 1) & (cap - 1)) {
        size_t home = scramble(slots[at].key) & (cap - 1);
        if (((at - home) & (cap - 1)) >= ((at - hole) & (cap - 1))) {
            slots[hole] = slots[at];
            hole = at;
        }
    }
    slots[hole] = (struct map_slot){ 0 };
    return old;
}

void *idmap_get(const struct idmap *map, uint64_t key)
{
    return get(map->slots, map->cap, key, (struct str){ 0 });
}

void *idmap_put(struct idmap *map, uint64_t key, void *value)
{
    return put(&map->slots, &map->len, &map->cap, key, (struct str){ 0 }, value);
}

void *idmap_remove(struct idmap *map, uint64_t key)
{
    return take(map->slots, &map->len, map->cap, key, (struct str){ 0 });
}

void idmap_release(struct idmap *map)
{
    free(map->slots);
    *map = (struct idmap){ 0 };
}

void *strmap_get(const struct strmap *map, struct str key)
{
    return get(map->slots, map->cap, str_hash(key), key);
}

void *strmap_put(struct strmap *map, struct str key, void *value)
{
    return put(&map->slots, &map->len, &map->cap, str_hash(key), key, value);
}

void *strmap_remove(struct strmap *map, struct str key)
{
    return take(map->slots, &map->len, map->cap, str_hash(key), key);
}

void strmap_release(struct strmap *map)
{
    free(map->slots);
    *map = (struct strmap){ 0 };
}

void *strmap_make(struct strmap *map, struct str key, size_t size)
{
    struct str *entry = strmap_get(map, key);
    if (entry)
        return entry;
    entry = xcalloc(1, size + key.len + 1);
    char *copy = (char *)entry + size;
    if (key.len)
        memcpy(copy, key.ptr, key.len);
    *entry = (struct str){ copy, key.len };
    strmap_put(map, *entry, entry);
    return entry;
}
