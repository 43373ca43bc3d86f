/* groups.h: the rows of a table that pass their node-local filters, put together by equal inputs.
 *
 *     group {z1, 3 pods}   buckets   97: rows 0 4 9   85: row 2   ...
 *     group {z2, 0 pods}   buckets   97: rows 1 5     ...
 *
 * In a group only the local score ranks: its best rows are those of its first bucket. A bucket is a set of rows as a
 * bitmap, so that the n-th best row in row order is found without sorting.
 *
 * The bit of a row is its number; in groups for a search that stops at enough nodes, its place in the order of the
 * search (`places`), so that what such a search looks at is a range of bits (engine/window.h).
 *
 * `ranked` groups keep buckets and follow changes row by row (the index); others know only their best score and how
 * many rows have it, found in one pass (the scan). */
#ifndef ENGINE_GROUPS_H
#define ENGINE_GROUPS_H

#include "index/table.h"

struct bucket {
    int32_t local;
    uint32_t rows;
    uint64_t *bits;
};

struct group {
    uint64_t hash;
    uint32_t inputs_at; /* in the pool of inputs */
    uint32_t rows;
    int32_t best;               /* local score */
    uint32_t best_rows;         /* how many have it */
    VEC(struct bucket) buckets; /* ranked: best first */
    uint64_t *members;          /* bits of all rows, where there are places; NULL: never had rows */
};

struct groups {
    bool ranked;
    uint32_t width;          /* inputs per group */
    VEC(struct group) items; /* [0] is unused; one without rows is free */
    VEC(uint32_t) pool;      /* inputs of the groups */
    VEC(uint32_t) free;
    uint32_t *slots, slots_cap; /* hash table of group numbers */
    uint32_t *group_of;         /* by row; 0: none */
    uint32_t rows_cap, words;   /* size of group_of; words of a bitmap */
    VEC(uint64_t *) spare;      /* bitmaps to use again */
    const uint32_t *places;     /* ranked: by row; NULL: a row's bit is its number */
    uint64_t order_number;      /* of the order that the places are of */
    uint64_t *passing;          /* bits of the rows of all groups, where there are places */
};

/* Groups all rows of a filled table. `ordered`: by places in the order of the search; for ranked ones only. */
void groups_build(struct groups *groups, const struct table *table, bool ranked, bool ordered);
/* Ranked only: the row leaves its group; joins the one that its columns name now (if it passes). */
void groups_remove(struct groups *groups, const struct table *table, uint32_t row);
void groups_insert(struct groups *groups, const struct table *table, uint32_t row);
void groups_release(struct groups *groups);
size_t groups_bytes(const struct groups *groups);

static inline const uint32_t *group_inputs(const struct groups *groups, uint32_t number)
{
    static const uint32_t none; /* no group has any: something to point to */
    return groups->pool.items ? groups->pool.items + groups->items.items[number].inputs_at : &none;
}

#endif
