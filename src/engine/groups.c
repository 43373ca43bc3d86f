/* groups.c: finds groups by hash of their inputs; keeps buckets sorted, best first. */
#include "engine/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"

/* ---- finding a group ---- */
static uint64_t hash_row(const struct table *table, uint32_t row)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < table->inputs_len; i++) {
        hash = (hash ^ table->inputs[i][row]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

static bool same_inputs(const struct groups *groups, uint32_t number, const struct table *table, uint32_t row)
{
    const uint32_t *inputs = group_inputs(groups, number);
    for (uint32_t i = 0; i < groups->width; i++)
        if (inputs[i] != table->inputs[i][row])
            return false;
    return true;
}

static void slots_put(struct groups *groups, uint32_t number)
{
    uint32_t at = (uint32_t)groups->items.items[number].hash & (groups->slots_cap - 1);
    while (groups->slots[at])
        at = (at + 1) & (groups->slots_cap - 1);
    groups->slots[at] = number;
}

/* The table of slots is at most half full of groups that are in use; free ones are dropped when it is made anew. */
static void slots_rebuild(struct groups *groups)
{
    size_t used = groups->items.len - groups->free.len;
    uint32_t cap = 16;
    while (cap < used * 4)
        cap *= 2;
    free(groups->slots);
    groups->slots = xcalloc(cap, sizeof(*groups->slots));
    groups->slots_cap = cap;
    for (uint32_t i = 1; i < groups->items.len; i++)
        if (groups->items.items[i].rows)
            slots_put(groups, i);
}

static uint32_t group_new(struct groups *groups, const struct table *table, uint32_t row, uint64_t hash)
{
    uint32_t number;
    if (groups->free.len) {
        number = groups->free.items[--groups->free.len];
    } else {
        number = (uint32_t)groups->items.len;
        *vec_push(&groups->items) = (struct group){ .inputs_at = (uint32_t)groups->pool.len };
        for (uint32_t i = 0; i < groups->width; i++)
            *vec_push(&groups->pool) = 0;
    }
    struct group *group = &groups->items.items[number];
    group->hash = hash;
    group->rows = 0;
    group->best = INT32_MIN;
    group->best_rows = 0;
    for (uint32_t i = 0; i < groups->width; i++)
        groups->pool.items[group->inputs_at + i] = table->inputs[i][row];
    return number;
}

static void slots_drop(struct groups *groups, uint32_t number)
{
    uint32_t mask = groups->slots_cap - 1;
    uint32_t hole = (uint32_t)groups->items.items[number].hash & mask;
    while (groups->slots[hole] != number)
        hole = (hole + 1) & mask;
    for (uint32_t at = (hole + 1) & mask; groups->slots[at]; at = (at + 1) & mask) {
        uint32_t home = (uint32_t)groups->items.items[groups->slots[at]].hash & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            groups->slots[hole] = groups->slots[at];
            hole = at;
        }
    }
    groups->slots[hole] = 0;
}

static uint32_t group_for(struct groups *groups, const struct table *table, uint32_t row)
{
    uint64_t hash = hash_row(table, row);
    uint32_t at = (uint32_t)hash & (groups->slots_cap - 1), number;
    while ((number = groups->slots[at])) {
        if (groups->items.items[number].hash == hash && same_inputs(groups, number, table, row))
            return number;
        at = (at + 1) & (groups->slots_cap - 1);
    }
    number = group_new(groups, table, row, hash);
    groups->slots[at] = number;
    if ((groups->items.len - groups->free.len) * 2 > groups->slots_cap) {
        groups->items.items[number].rows = 1; /* keeps it while the slots are made anew */
        slots_rebuild(groups);
        groups->items.items[number].rows = 0;
    }
    return number;
}

/* ---- buckets ---- */
static uint64_t *bitmap_take(struct groups *groups)
{
    if (groups->spare.len)
        return groups->spare.items[--groups->spare.len];
    return xcalloc(groups->words, sizeof(uint64_t));
}

/* The place of the bucket with that score, or where it belongs. */
static size_t bucket_place(const struct group *group, int32_t local)
{
    size_t low = 0, high = group->buckets.len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (group->buckets.items[middle].local > local)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void bucket_insert(struct groups *groups, struct group *group, uint32_t bit, int32_t local)
{
    size_t at = bucket_place(group, local);
    if (at == group->buckets.len || group->buckets.items[at].local != local) {
        (void)vec_push(&group->buckets);
        memmove(&group->buckets.items[at + 1], &group->buckets.items[at],
                (group->buckets.len - 1 - at) * sizeof(struct bucket));
        group->buckets.items[at] = (struct bucket){ .local = local, .bits = bitmap_take(groups) };
    }
    struct bucket *bucket = &group->buckets.items[at];
    bucket->rows++;
    bitmap_set(bucket->bits, bit);
}

static void bucket_remove(struct groups *groups, struct group *group, uint32_t bit, int32_t local)
{
    size_t at = bucket_place(group, local);
    struct bucket *bucket = &group->buckets.items[at];
    assert(at < group->buckets.len && bucket->local == local);
    bitmap_clear(bucket->bits, bit);
    if (--bucket->rows)
        return;
    *vec_push(&groups->spare) = bucket->bits;
    memmove(bucket, bucket + 1, (group->buckets.len - 1 - at) * sizeof(*bucket));
    group->buckets.len--;
}

static void note_best(struct group *group)
{
    bool any = group->buckets.len > 0;
    group->best = any ? group->buckets.items[0].local : INT32_MIN;
    group->best_rows = any ? group->buckets.items[0].rows : 0;
}

/* ---- rows ---- */
static uint32_t bit_of(const struct groups *groups, uint32_t row)
{
    return groups->places ? groups->places[row] : row;
}

void groups_insert(struct groups *groups, const struct table *table, uint32_t row)
{
    if (table->rejection[row])
        return;
    uint32_t number = group_for(groups, table, row);
    struct group *group = &groups->items.items[number];
    groups->group_of[row] = number;
    group->rows++;
    uint32_t bit = bit_of(groups, row);
    bucket_insert(groups, group, bit, table->local[row]);
    note_best(group);
    if (!groups->places)
        return;
    if (!group->members)
        group->members = bitmap_take(groups);
    bitmap_set(group->members, bit);
    bitmap_set(groups->passing, bit);
}

void groups_remove(struct groups *groups, const struct table *table, uint32_t row)
{
    uint32_t number = groups->group_of[row];
    if (!number)
        return;
    struct group *group = &groups->items.items[number];
    groups->group_of[row] = 0;
    uint32_t bit = bit_of(groups, row);
    bucket_remove(groups, group, bit, table->local[row]);
    note_best(group);
    if (groups->places) {
        bitmap_clear(group->members, bit);
        bitmap_clear(groups->passing, bit);
    }
    if (--group->rows)
        return;
    slots_drop(groups, number);
    *vec_push(&groups->free) = number;
}

static void clear(struct groups *groups)
{
    vec_for(&groups->items, group) {
        vec_for(&group->buckets, bucket)
            free(bucket->bits);
        vec_release(&group->buckets);
        free(group->members);
    }
    vec_clear(&groups->items);
    vec_clear(&groups->pool);
    vec_clear(&groups->free);
    vec_for(&groups->spare, bits)
        free(*bits);
    vec_clear(&groups->spare);
    free(groups->passing);
    groups->passing = NULL;
    groups->places = NULL;
    *vec_push(&groups->items) = (struct group){ 0 };
}

/* The best of a run of rows of one group, kept out of memory while the run lasts. */
struct run_best {
    uint32_t number, rows, best_rows;
    int32_t best;
};

static void run_flush(struct groups *groups, const struct run_best *run)
{
    if (!run->number)
        return;
    struct group *group = &groups->items.items[run->number];
    group->rows = run->rows;
    group->best = run->best;
    group->best_rows = run->best_rows;
}

static struct run_best run_start(const struct groups *groups, uint32_t number)
{
    const struct group *group = &groups->items.items[number];
    return (struct run_best){ number, group->rows, group->best_rows, group->best };
}

static void build_scanned(struct groups *groups, const struct table *table)
{
    struct run_best run = { 0 };
    for (uint32_t row = 0; row < table->rows; row++) {
        if (table->rejection[row])
            continue;
        if (!run.number || !same_inputs(groups, run.number, table, row)) {
            run_flush(groups, &run);
            run = run_start(groups, group_for(groups, table, row));
        }
        int32_t local = table->local[row];
        groups->group_of[row] = run.number;
        run.best_rows = local > run.best ? 1 : run.best_rows + (local == run.best);
        run.best = MAX(run.best, local);
        run.rows++;
    }
    run_flush(groups, &run);
}

void groups_build(struct groups *groups, const struct table *table, bool ranked, bool ordered)
{
    clear(groups);
    groups->ranked = ranked;
    groups->width = table->inputs_len;
    if (groups->rows_cap < table->rows_cap) {
        groups->rows_cap = table->rows_cap;
        groups->group_of = xreallocarray(groups->group_of, groups->rows_cap, sizeof(*groups->group_of));
    }
    groups->words = (uint32_t)bitmap_words(groups->rows_cap);
    memset(groups->group_of, 0, groups->rows_cap * sizeof(*groups->group_of));
    slots_rebuild(groups);
    if (ordered) {
        groups->places = cluster_places(table->cluster, &groups->order_number);
        groups->passing = xcalloc(groups->words, sizeof(uint64_t));
    }
    if (!ranked)
        build_scanned(groups, table);
    for (uint32_t row = 0; ranked && row < table->rows; row++)
        groups_insert(groups, table, row);
}

void groups_release(struct groups *groups)
{
    clear(groups);
    vec_release(&groups->items);
    vec_release(&groups->pool);
    vec_release(&groups->free);
    vec_release(&groups->spare);
    free(groups->slots);
    free(groups->group_of);
    *groups = (struct groups){ 0 };
}

size_t groups_bytes(const struct groups *groups)
{
    size_t bytes = (size_t)groups->rows_cap * sizeof(uint32_t) + (size_t)groups->slots_cap * sizeof(uint32_t);
    size_t bitmaps = groups->spare.len + (groups->passing != NULL);
    vec_for(&groups->items, group) {
        bytes += sizeof(*group) + group->buckets.len * sizeof(struct bucket);
        bitmaps += group->buckets.len + (group->members != NULL);
    }
    return bytes + bitmaps * groups->words * sizeof(uint64_t);
}
