/* map.h: hash maps with 64-bit or string keys and pointer-sized values.
 *
 * Open addressing, linear probing, at most 3/4 full, backward-shift deletion: no tombstones, so churn does not
 * grow it. A zeroed map is empty. Iteration order is unspecified: what a user sees is sorted first. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/common.h"
#include "base/str.h"

struct map_slot {
    uint64_t key; /* strmap: the hash */
    void *value;  /* never NULL in a used slot */
    struct str name;
};

/* Keys are 64-bit numbers; values are pointers that are not NULL. */
struct idmap {
    struct map_slot *slots;
    size_t len, cap; /* cap is a power of two or 0 */
};

void *idmap_get(const struct idmap *map, uint64_t key);
/* Adds or replaces; returns the value that was there, or NULL. */
void *idmap_put(struct idmap *map, uint64_t key, void *value);
void *idmap_remove(struct idmap *map, uint64_t key);
void idmap_release(struct idmap *map);

/* Keys are strings that the caller keeps alive as long as the entry (often inside the value). */
struct strmap {
    struct map_slot *slots;
    size_t len, cap;
};

void *strmap_get(const struct strmap *map, struct str key);
void *strmap_put(struct strmap *map, struct str key, void *value);
void *strmap_remove(struct strmap *map, struct str key);
void strmap_release(struct strmap *map);
/* The entry of the key. A new one is `size` bytes, cleared but for the struct str that it begins with: a copy of the
 * key, which is in the same block. free() frees it, after strmap_remove(). */
void *strmap_make(struct strmap *map, struct str key, size_t size);

#define map_for(map, slot) \
    for (struct map_slot *slot = (map)->slots; slot && slot != (map)->slots + (map)->cap; slot++) \
        if (slot->value)

#endif
