/* map.h: hash maps with 64-bit or string keys and pointer-sized values.
 *
 * The entries are an array in the order in which they came; an index of their numbers finds them by hash. Hashes are
 * keyed with random secrets of the process, so that keys which a tenant chooses do not collide on purpose. The secrets
 * show nowhere: iteration is in the order of insertion, so two processes with the same input do the same.
 *
 *     slots   [ a ][ b ][   ][ d ]          entry 2 was removed
 *     index   0 4 0 0 1 0 2 0               number of the entry + 1, 0: free; in the same block, behind the slots
 *
 * A removed entry leaves its slot until the array is full; then it is packed, and gets the size that the entries need,
 * as it does when an entry is added to an array that is nearly empty. A map that becomes empty gives its memory back. A
 * zeroed map is empty. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/common.h"
#include "base/str.h"

struct map_slot {
    uint64_t key; /* strmap: the hash */
    void *value;  /* NULL: the entry was removed */
    struct str name;
};

struct map {
    size_t len; /* entries */
    struct map_slot *slots;
    uint32_t used, cap; /* slots in use, removed entries too; and all: a power of two or 0 */
};

/* Keys are 64-bit numbers; values are pointers that are not NULL. */
struct idmap {
    union {
        struct map map;
        size_t len;
    };
};

void *idmap_get(const struct idmap *map, uint64_t key);
/* Adds or replaces, where it was; returns the value that was there, or NULL. */
void *idmap_put(struct idmap *map, uint64_t key, void *value);
void *idmap_remove(struct idmap *map, uint64_t key);
void idmap_release(struct idmap *map);

/* Keys are strings that the caller keeps alive as long as the entry (often inside the value). */
struct strmap {
    union {
        struct map map;
        size_t len;
    };
};

void *strmap_get(const struct strmap *map, struct str key);
void *strmap_put(struct strmap *map, struct str key, void *value);
void *strmap_remove(struct strmap *map, struct str key);
void strmap_release(struct strmap *map);
/* The entry of the key. A new one is `size` bytes, cleared but for the struct str that it begins with: a copy of the
 * key, which is in the same block. free() frees it, after strmap_remove(). */
void *strmap_make(struct strmap *map, struct str key, size_t size);

/* In the order of insertion. Entries may be removed meanwhile, the present one included, but none may be added. */
#define map_for(of, slot) \
    for (struct map_slot *slot = (of)->map.slots; \
         slot && (uintptr_t)slot < (uintptr_t)((of)->map.slots + (of)->map.used); slot++) \
        if (slot->value)

/* A hash for tables of keys that a tenant may choose, keyed with secrets of this process: it is never printed, written
 * or sent, and nothing is ordered by it. str_hash() is for what must be the same everywhere. */
uint64_t table_hash(struct str key);
uint64_t table_hash_number(uint64_t key);

/* How many other entries the lookups of all keys pass, in sum: what tests measure. */
size_t idmap_steps(const struct idmap *map);
size_t strmap_steps(const struct strmap *map);

#endif
