/* class_cache.c: keeps tables up to date, and their number within bounds. */
#include "engine/class_cache.h"
#include "engine/refusal.h"

#include <stdlib.h>

#include "engine/engine.h"

enum { TABLES_BYTES_DEFAULT = 64 << 20, TABLES_MAX = 1024 };

struct class_cache {
    struct cluster *cluster;
    VEC(struct class_table *) tables;
    struct engine_stats *stats;
    size_t bytes, bytes_max;
    uint64_t clock;
    struct class_table scan;
    struct arena scratch; /* of the table that is being built */
    VEC(uint32_t) changed;
};

static void table_free(struct class_table *table)
{
    refusal_free(table->refusal);
    row_memo_release(&table->rivals);
    row_memo_release(&table->useless);
    groups_release(&table->groups);
    table_release(&table->table);
    free(table);
}

/* What a class's `index` points to: it leaves the cache when the class goes. */
struct class_slot {
    struct class_cache *cache;
    struct class_table *table; /* NULL: seen once, or evicted */
};

static void drop(struct class_cache *cache, struct class_table *table)
{
    for (size_t i = 0; i < cache->tables.len; i++) {
        if (cache->tables.items[i] != table)
            continue;
        vec_swap_remove(&cache->tables, i);
        break;
    }
    cache->bytes -= table->bytes;
    struct class_slot *slot = table->owner->index;
    slot->table = NULL;
    table_free(table);
}

static void slot_free(void *index)
{
    struct class_slot *slot = index;
    if (slot->table)
        drop(slot->cache, slot->table);
    free(slot);
}

struct class_cache *class_cache_new(struct cluster *cluster, size_t bytes_max, struct engine_stats *stats)
{
    struct class_cache *cache = xcalloc(1, sizeof(*cache));
    cache->cluster = cluster;
    cache->stats = stats;
    cache->bytes_max = bytes_max ? bytes_max : TABLES_BYTES_DEFAULT;
    cluster->index_free = slot_free;
    return cache;
}

void class_cache_free(struct class_cache *cache)
{
    if (!cache)
        return;
    while (cache->tables.len)
        drop(cache, cache->tables.items[0]);
    map_for(&cache->cluster->classes, entry) {
        struct pod_class *cls = entry->value;
        free(cls->index);
        cls->index = NULL;
    }
    vec_release(&cache->tables);
    groups_release(&cache->scan.groups);
    table_release(&cache->scan.table);
    vec_release(&cache->changed);
    arena_release(&cache->scratch);
    free(cache);
}

static bool build(struct class_cache *cache, struct class_table *table, const struct profile *profile,
                  struct pod_info *pod, const struct score_weights *weights, bool ranked, bool ordered)
{
    struct row_span all = { .len = (uint32_t)cache->cluster->nodes.len };
    cache->stats->tables_built++;
    row_memo_clear(&table->rivals);
    row_memo_clear(&table->useless);
    table->table.scratch = &cache->scratch;
    arena_reset(&cache->scratch);
    if (!table_prepare(&table->table, cache->cluster, profile, pod, weights) ||
        !table_fill(&table->table, all))
        return false;
    groups_build(&table->groups, &table->table, ranked, ordered);
    table->synced_seq = cluster_seq(cache->cluster);
    return true;
}

static size_t memos_bytes(const struct class_table *table)
{
    return row_memo_bytes(&table->rivals) + row_memo_bytes(&table->useless);
}

static void account(struct class_cache *cache, struct class_table *table)
{
    size_t per_row = sizeof(uint32_t) * (2 + table->table.inputs_allocated);
    size_t bytes = groups_bytes(&table->groups) + per_row * table->table.rows_cap +
                   table->table.arena.total_bytes + memos_bytes(table);
    table->memos_bytes = memos_bytes(table);
    cache->bytes += bytes - table->bytes;
    table->bytes = bytes;
}

static void drop_oldest(struct class_cache *cache, const struct class_table *keep)
{
    while (cache->tables.len > 1 && (cache->bytes > cache->bytes_max || cache->tables.len > TABLES_MAX)) {
        struct class_table *oldest = NULL;
        vec_for(&cache->tables, table)
            if (*table != keep && (!oldest || (*table)->used_at < oldest->used_at))
                oldest = *table;
        drop(cache, oldest);
    }
}

/* Every row that changed since the table was last used, once. False: too many to be worth it, or the log is gone. */
static bool collect_changes(struct class_cache *cache, const struct class_table *table)
{
    const struct cluster *cluster = cache->cluster;
    if (table->synced_seq < cluster->log_base)
        return false;
    vec_clear(&cache->changed);
    for (uint64_t seq = table->synced_seq; seq < cluster_seq(cluster); seq++) {
        uint32_t row = cluster->log.items[seq - cluster->log_base];
        if (cluster->nodes.items[row].changed_seq == seq)
            *vec_push(&cache->changed) = row;
        if (cache->changed.len * 4 > cluster->nodes.len + 16)
            return false;
    }
    return true;
}

/* Are the bits of the groups those that are wanted? */
static bool order_is_current(struct class_cache *cache, const struct groups *groups, bool ordered)
{
    uint64_t number;
    if (!ordered)
        return !groups->places;
    (void)cluster_places(cache->cluster, &number);
    return groups->places && groups->order_number == number;
}

static bool repair(struct class_cache *cache, struct class_table *table, bool ordered)
{
    if (!order_is_current(cache, &table->groups, ordered) || !table_is_current(&table->table) ||
        !collect_changes(cache, table))
        return false;
    cache->stats->rows_repaired += cache->changed.len;
    vec_for(&cache->changed, row)
        groups_remove(&table->groups, &table->table, *row);
    struct row_span span = { cache->changed.items, (uint32_t)cache->changed.len };
    if (span.len)
        (void)table_fill(&table->table, span);
    if (table->table.must_rebuild)
        return false;
    vec_for(&cache->changed, row)
        groups_insert(&table->groups, &table->table, *row);
    table->synced_seq = cluster_seq(cache->cluster);
    return true;
}

static struct class_table *ranked_table(struct class_cache *cache, struct class_slot *slot,
                                        const struct profile *profile, struct pod_info *pod,
                                        const struct score_weights *weights, bool ordered)
{
    struct class_table *table = slot->table;
    if (!table) {
        table = xcalloc(1, sizeof(*table));
        table->owner = pod->class;
        table->rivals.repeated = table->useless.repeated = &cache->stats->rows_remembered;
        *vec_push(&cache->tables) = table;
        slot->table = table;
    }
    table->used_at = ++cache->clock;
    bool fresh = !table->unfit && table->groups.ranked && table->profile == profile &&
                 table_has_weights(&table->table, weights) && repair(cache, table, ordered);
    if (!fresh) {
        table->profile = profile;
        table->unfit = !build(cache, table, profile, pod->class->sample, weights, true, ordered);
    }
    if (!fresh || table->memos_bytes != memos_bytes(table)) {
        account(cache, table);
        drop_oldest(cache, table);
    }
    return table->unfit ? NULL : table;
}

struct class_table *class_cache_get(struct class_cache *cache, const struct profile *profile,
                                    struct pod_info *pod, const struct score_weights *weights,
                                    enum table_kind kind, bool ordered)
{
    struct class_slot *slot = pod->class->index;
    bool first = !slot;
    if (first) {
        slot = xcalloc(1, sizeof(*slot));
        slot->cache = cache;
        pod->class->index = slot;
    }
    if (kind == TABLE_RANKED || (kind == TABLE_EITHER && !first))
        return ranked_table(cache, slot, profile, pod, weights, ordered);
    return build(cache, &cache->scan, profile, pod, weights, false, false) ? &cache->scan : NULL;
}

size_t class_cache_len(const struct class_cache *cache)
{
    return cache->tables.len;
}
