/* row_cache.h: what a plugin found out about each node's object, computed again when the node changes.
 *
 *     struct price { struct row_entry entry; double hourly; };
 *     row_cache_begin(&self->cache, cluster);                  once per attempt, before the first node
 *     const struct price *price = row_cache_get(&self->cache, self, node);
 *
 * Reading labels and numbers of an object takes longer than everything else that a scorer does. An entry depends on the
 * object only: pods of the node count as changes, too, and cost one more computation. Nothing changes during an attempt
 * until its node is chosen. */
#ifndef STRATEGIES_ROW_CACHE_H
#define STRATEGIES_ROW_CACHE_H

#include <berth/plugin.h>
#include <stdlib.h>

/* An entry begins with this. */
struct row_entry {
    bool is_filled;
};

struct row_cache {
    size_t size; /* of an entry */
    void (*fill)(const void *self, const void *object, struct row_entry *ret);
    const struct berth_cluster *cluster;
    uint64_t position; /* in the changes of the cluster */
    uint32_t len;
    char *entries;
};

static inline void row_cache_release(struct row_cache *cache)
{
    free(cache->entries);
    cache->entries = NULL;
    cache->len = 0;
}

static inline struct row_entry *row_cache_at(const struct row_cache *cache, uint32_t row)
{
    return (struct row_entry *)(void *)(cache->entries + row * cache->size);
}

static inline void row_cache_begin(struct row_cache *cache, const struct berth_cluster *cluster)
{
    struct berth_rows rows;
    if (cache->cluster != cluster)
        cache->position = 0;
    cache->cluster = cluster;
    bool is_known = berth_node_changes(cluster, &cache->position, &rows);
    for (uint32_t i = 0; i < rows.len; i++)
        if (rows.items[i] < cache->len)
            row_cache_at(cache, rows.items[i])->is_filled = false;
    if (!is_known && cache->len)
        memset(cache->entries, 0, cache->len * cache->size);
}

/* For a row beyond the end, or that is not filled. */
static __attribute__((noinline, unused)) const void *row_cache_fill(struct row_cache *cache, const void *self,
                                                                    struct berth_node_view node)
{
    uint32_t len = cache->len ? cache->len : 64;
    while (len <= node.row)
        len *= 2;
    if (len > cache->len) {
        cache->entries = realloc(cache->entries, len * cache->size);
        if (!cache->entries)
            abort();
        memset(cache->entries + cache->len * cache->size, 0, (len - cache->len) * cache->size);
        cache->len = len;
    }
    struct row_entry *entry = row_cache_at(cache, node.row);
    cache->fill(self, berth_node_object(node), entry);
    entry->is_filled = true;
    return entry;
}

static inline const void *row_cache_get(struct row_cache *cache, const void *self,
                                        struct berth_node_view node)
{
    if (node.row < cache->len && row_cache_at(cache, node.row)->is_filled)
        return row_cache_at(cache, node.row);
    return row_cache_fill(cache, self, node);
}

#endif
