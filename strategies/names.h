/* names.h: texts as small numbers, and pairs of numbers as keys: hash tables for strategies. */
#ifndef STRATEGIES_NAMES_H
#define STRATEGIES_NAMES_H

#include <berth/plugin.h>
#include <stdlib.h>

#include "keyed_hash.h"

#define NAMES_NONE UINT32_MAX

static inline void *names_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        abort();
    return memory;
}

/* ---- texts ---- */
struct names {
    struct berth_str *texts; /* by number; own copies */
    uint32_t len, cap;
    uint32_t *slots; /* number + 1, at 2 x cap places; 0: free */
    struct hash_key key;
};

static inline uint32_t names_slot(const struct names *names, struct berth_str text)
{
    uint32_t mask = 2 * names->cap - 1, at = (uint32_t)keyed_hash(&names->key, text.ptr, text.len) & mask;
    while (names->slots[at] && !berth_eq(names->texts[names->slots[at] - 1], text))
        at = (at + 1) & mask;
    return at;
}

/* NAMES_NONE: it has none. */
static inline uint32_t names_find(const struct names *names, struct berth_str text)
{
    return names->cap && names->slots[names_slot(names, text)] ? names->slots[names_slot(names, text)] - 1
                                                               : NAMES_NONE;
}

static inline void names_grow(struct names *names)
{
    if (!names->cap)
        names->key = hash_key_new();
    names->cap = names->cap ? 2 * names->cap : 16;
    names->texts = realloc(names->texts, names->cap * sizeof(*names->texts));
    if (!names->texts)
        abort();
    free(names->slots);
    names->slots = names_alloc(2 * (size_t)names->cap, sizeof(*names->slots));
    for (uint32_t i = 0; i < names->len; i++)
        names->slots[names_slot(names, names->texts[i])] = i + 1;
}

static inline uint32_t names_add(struct names *names, struct berth_str text)
{
    uint32_t known = names_find(names, text);
    if (known != NAMES_NONE)
        return known;
    if (names->len == names->cap)
        names_grow(names);
    char *copy = names_alloc((size_t)text.len + 1, 1);
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    names->texts[names->len] = (struct berth_str){ copy, text.len };
    names->slots[names_slot(names, names->texts[names->len])] = names->len + 1;
    return names->len++;
}

static inline void names_release(struct names *names)
{
    for (uint32_t i = 0; i < names->len; i++)
        free((char *)names->texts[i].ptr);
    free(names->texts);
    free(names->slots);
    *names = (struct names){ 0 };
}

/* ---- from a pair of numbers to a value ---- */
struct pair_entry {
    uint32_t from, to;
    int64_t value;
    bool is_used;
};
struct pairs {
    struct pair_entry *entries; /* `cap` places */
    uint32_t len, cap;
};

static inline struct pair_entry *pairs_slot(const struct pairs *pairs, uint32_t from, uint32_t to)
{
    uint64_t hash = ((uint64_t)from << 32 | to) * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(hash >> 32) & (pairs->cap - 1);
    while (pairs->entries[at].is_used && (pairs->entries[at].from != from || pairs->entries[at].to != to))
        at = (at + 1) & (pairs->cap - 1);
    return &pairs->entries[at];
}

/* NULL: there is none. */
static inline const int64_t *pairs_get(const struct pairs *pairs, uint32_t from, uint32_t to)
{
    const struct pair_entry *entry = pairs->cap ? pairs_slot(pairs, from, to) : NULL;
    return entry && entry->is_used ? &entry->value : NULL;
}

static inline void pairs_put(struct pairs *pairs, uint32_t from, uint32_t to, int64_t value)
{
    if (2 * pairs->len >= pairs->cap) {
        struct pairs larger = { .len = pairs->len, .cap = pairs->cap ? 2 * pairs->cap : 32 };
        larger.entries = names_alloc(larger.cap, sizeof(*larger.entries));
        for (uint32_t i = 0; i < pairs->cap; i++)
            if (pairs->entries[i].is_used)
                *pairs_slot(&larger, pairs->entries[i].from, pairs->entries[i].to) = pairs->entries[i];
        free(pairs->entries);
        *pairs = larger;
    }
    struct pair_entry *entry = pairs_slot(pairs, from, to);
    pairs->len += !entry->is_used;
    *entry = (struct pair_entry){ from, to, value, true };
}

static inline void pairs_clear(struct pairs *pairs)
{
    free(pairs->entries);
    *pairs = (struct pairs){ 0 };
}

#endif
