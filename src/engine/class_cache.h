/* class_cache.h: the tables of the classes in use.
 *
 * A class that is seen for the first time is scanned into a table that the next such class uses again. One that comes
 * back gets a table of its own, with ranked groups, that is repaired from the cluster's log of changes. Tables are
 * bounded in memory: the least recently used one goes. */
#ifndef ENGINE_CLASS_CACHE_H
#define ENGINE_CLASS_CACHE_H

#include "engine/groups.h"
#include "framework/row_memo.h"

struct engine_stats;
struct refusal;

struct class_table {
    struct table table;
    struct groups groups;
    struct pod_class *owner; /* NULL: the table that scans share */
    const struct profile *profile;
    bool unfit;          /* this class needs the plain path */
    uint64_t synced_seq; /* how far the log has been read */
    uint64_t used_at;
    size_t bytes, memos_bytes; /* of all; of the memos, as they were counted last */
    struct refusal *refusal;   /* refusal.h; NULL: none */
    struct row_memo rivals;    /* rows that reject the pod beside their nominated pods */
    struct row_memo useless;   /* rows that reject it without their pods of lower priority */
};

struct class_cache;

/* EITHER: scanned when the class is new, ranked when it comes back. */
enum table_kind { TABLE_EITHER, TABLE_SCANNED, TABLE_RANKED };

/* The least recently used tables go when all of them take more than `bytes_max`; 0: 64 MiB. */
struct class_cache *class_cache_new(struct cluster *cluster, size_t bytes_max, struct engine_stats *stats);
void class_cache_free(struct class_cache *cache);
/* The table of the pod's class, up to date, with these weights of scores. `ordered`: ranked groups by places in the
 * order of the search. NULL: the pod needs the plain path. */
struct class_table *class_cache_get(struct class_cache *cache, const struct profile *profile,
                                    struct pod_info *pod, const struct score_weights *weights,
                                    enum table_kind kind, bool ordered);
/* How many tables there are. */
size_t class_cache_len(const struct class_cache *cache);

#endif
