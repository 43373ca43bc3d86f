/* map.c: one table behind both kinds of keys. A number is its own identity; a string compares by hash, then text.
 *
 * The index has two places per slot, so it is at most half full: linear probing, and deletion by shifting back, so that
 * churn leaves no marks in it. */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

enum { CAP_MIN = 4, CAP_KEPT = 64 }; /* KEPT: so many slots are not worth giving back */

/* ---- hashes ---- */

static uint64_t secrets[3];

/* Before main(), as there are maps that are filled before anything else runs. */
__attribute__((constructor(101))) static void draw_secrets(void)
{
    size_t done = 0;
    while (done < sizeof(secrets)) {
        ssize_t n = getrandom((char *)secrets + done, sizeof(secrets) - done, 0);
        if (n < 0 && errno != EINTR)
            abort();
        done += n > 0 ? (size_t)n : 0;
    }
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t read_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

/* One product spreads keys that count up badly with some secrets: a second one, by a constant that is known to be good,
 * makes it independent of them. */
static uint64_t finish(uint64_t hash)
{
    return mix(hash ^ secrets[2], 0x9e3779b97f4a7c15u);
}

/* Both factors of each product carry a secret: no input makes one of them zero or known. The last
 * product, which only spreads, has one. The length comes in behind all text: beside a byte that a tenant may choose,
 * that byte could undo it. */
uint64_t table_hash(struct str key)
{
    const char *at = key.ptr;
    size_t left = key.len;
    uint64_t hash = secrets[0], a = 0, b = 0;
    for (; left > 16; left -= 16, at += 16)
        hash = mix(read_word(at) ^ secrets[1], read_word(at + 8) ^ hash);
    if (left >= 8) {
        a = read_word(at);
        b = read_word(at + left - 8);
    } else if (left >= 4) {
        uint32_t low, high;
        memcpy(&low, at, 4);
        memcpy(&high, at + left - 4, 4);
        a = low;
        b = high;
    } else if (left) {
        a = (unsigned char)at[0] | (uint64_t)(unsigned char)at[left / 2] << 8;
        b = (unsigned char)at[left - 1];
    }
    return finish(mix(a ^ secrets[2], b ^ hash) ^ key.len);
}

uint64_t table_hash_number(uint64_t key)
{
    return finish(mix(key ^ secrets[0], secrets[1]));
}

/* ---- the table ---- */

static uint32_t *index_of(const struct map *map)
{
    return (uint32_t *)(map->slots + map->cap);
}

static size_t mask_of(const struct map *map)
{
    return (size_t)map->cap * 2 - 1;
}

static bool slot_is(const struct map_slot *slot, uint64_t key, struct str name)
{
    return slot->key == key && str_eq(slot->name, name);
}

/* The place in the index that leads to the key, or the free one where it belongs. */
static size_t find(const struct map *map, uint64_t hash, uint64_t key, struct str name)
{
    const uint32_t *index = index_of(map);
    size_t mask = mask_of(map), at = hash & mask;
    while (index[at] && !slot_is(&map->slots[index[at] - 1], key, name))
        at = (at + 1) & mask;
    return at;
}

/* The key of a string is its hash already. */
static uint64_t hash_of(const struct map_slot *slot, bool strings)
{
    return strings ? slot->key : table_hash_number(slot->key);
}

/* Packs the entries into an array of the size that they need. A quarter of it is free then: as many entries can come
 * before the next time. */
static void rebuild(struct map *map, bool strings)
{
    struct map old = *map;
    size_t cap = CAP_MIN;
    while (old.len + 1 > cap / 4 * 3)
        cap *= 2;
    assert(cap <= UINT32_MAX / 4);
    map->cap = (uint32_t)cap;
    map->used = 0;
    map->slots = xmalloc(cap * sizeof(*map->slots) + cap * 2 * sizeof(uint32_t));
    uint32_t *index = index_of(map);
    memset(index, 0, cap * 2 * sizeof(*index));
    for (size_t i = 0; i < old.used; i++) {
        if (!old.slots[i].value)
            continue;
        map->slots[map->used++] = old.slots[i];
        size_t mask = mask_of(map), at = hash_of(&old.slots[i], strings) & mask;
        while (index[at])
            at = (at + 1) & mask;
        index[at] = map->used;
    }
    free(old.slots);
}

static void release(struct map *map)
{
    free(map->slots);
    *map = (struct map){ 0 };
}

static inline void *get(const struct map *map, uint64_t hash, uint64_t key, struct str name)
{
    if (!map->cap)
        return NULL;
    uint32_t number = index_of(map)[find(map, hash, key, name)];
    return number ? map->slots[number - 1].value : NULL;
}

static void *put(struct map *map, uint64_t hash, uint64_t key, struct str name, void *value, bool strings)
{
    assert(value);
    struct map_slot fresh = { .key = key, .value = value, .name = name };
    size_t at = map->cap ? find(map, hash, key, name) : 0;
    uint32_t number = map->cap ? index_of(map)[at] : 0;
    if (number) {
        void *old = map->slots[number - 1].value;
        map->slots[number - 1] = fresh;
        return old;
    }
    bool sparse = map->cap > CAP_KEPT && map->len < map->cap / 16;
    if (map->used == map->cap || sparse) {
        rebuild(map, strings);
        at = find(map, hash, key, name);
    }
    map->slots[map->used++] = fresh;
    index_of(map)[at] = map->used;
    map->len++;
    return NULL;
}

/* Shifts back every follower that the hole would hide from its home. */
static void close_hole(struct map *map, size_t hole, bool strings)
{
    uint32_t *index = index_of(map);
    size_t mask = mask_of(map);
    for (size_t at = (hole + 1) & mask; index[at]; at = (at + 1) & mask) {
        size_t home = hash_of(&map->slots[index[at] - 1], strings) & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            index[hole] = index[at];
            hole = at;
        }
    }
    index[hole] = 0;
}

static void *take(struct map *map, uint64_t hash, uint64_t key, struct str name, bool strings)
{
    if (!map->cap)
        return NULL;
    size_t at = find(map, hash, key, name);
    uint32_t number = index_of(map)[at];
    if (!number)
        return NULL;
    void *old = map->slots[number - 1].value;
    close_hole(map, at, strings);
    map->slots[number - 1].value = NULL;
    map->len--;
    while (map->used && !map->slots[map->used - 1].value)
        map->used--;
    if (!map->len && map->cap > CAP_KEPT)
        release(map);
    return old;
}

static size_t steps_of(const struct map *map, bool strings)
{
    size_t steps = 0;
    for (size_t at = 0; map->cap && at <= mask_of(map); at++) {
        uint32_t number = index_of(map)[at];
        if (number)
            steps += (at - hash_of(&map->slots[number - 1], strings)) & mask_of(map);
    }
    return steps;
}

/* ---- both kinds ---- */

void *idmap_get(const struct idmap *map, uint64_t key)
{
    return get(&map->map, table_hash_number(key), key, (struct str){ 0 });
}

void *idmap_put(struct idmap *map, uint64_t key, void *value)
{
    return put(&map->map, table_hash_number(key), key, (struct str){ 0 }, value, false);
}

void *idmap_remove(struct idmap *map, uint64_t key)
{
    return take(&map->map, table_hash_number(key), key, (struct str){ 0 }, false);
}

size_t idmap_steps(const struct idmap *map)
{
    return steps_of(&map->map, false);
}

void idmap_release(struct idmap *map)
{
    release(&map->map);
}

void *strmap_get(const struct strmap *map, struct str key)
{
    if (!map->len)
        return NULL;
    uint64_t hash = table_hash(key);
    return get(&map->map, hash, hash, key);
}

void *strmap_put(struct strmap *map, struct str key, void *value)
{
    uint64_t hash = table_hash(key);
    return put(&map->map, hash, hash, key, value, true);
}

void *strmap_remove(struct strmap *map, struct str key)
{
    if (!map->len)
        return NULL;
    uint64_t hash = table_hash(key);
    return take(&map->map, hash, hash, key, true);
}

size_t strmap_steps(const struct strmap *map)
{
    return steps_of(&map->map, true);
}

void strmap_release(struct strmap *map)
{
    release(&map->map);
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
