/* peers.h: on which nodes, and in which topology domains, are the pods that a pod talks to?
 *
 *     domain    nodes with the same values of one or two labels; a number
 *     query     pods that have certain labels, of a namespace or of any
 *
 * What a query found is kept, and only nodes that changed since are counted again: a decision costs time by the number
 * of changes, not of pods. */
#ifndef STRATEGIES_PEERS_H
#define STRATEGIES_PEERS_H

#include <berth/plugin.h>

#include "names.h"
#include "row_cache.h"

enum { PEER_LABELS_MAX = 8, PEER_SETS_MAX = 128 };

struct peer_query {
    struct berth_str namespace_; /* absent: any */
    struct berth_pair labels[PEER_LABELS_MAX];
    uint32_t labels_len;
};

struct peer_row {
    uint32_t domain, count;
};
/* The pods of a query. */
struct peer_set {
    uint64_t position, used;
    struct peer_query query; /* texts in `text` */
    char *text;
    struct peer_row *rows; /* by row of the node */
    uint32_t rows_len;
    uint32_t *domains; /* pods by domain */
    uint32_t domains_len;
    uint64_t total;
};

struct peers {
    const char *keys[2]; /* labels of nodes; the second may be NULL */
    const struct berth_cluster *cluster;
    struct names domains; /* "value", or "value\0value" of two labels */
    struct row_cache nodes;
    struct peer_set sets[PEER_SETS_MAX];
    uint32_t sets_len;
    uint64_t uses, epoch; /* epoch: numbers of domains have another meaning */
};

/* Allocates nothing yet: an init() that fails has nothing to release. */
void peers_init(struct peers *peers, const char *first_key, const char *second_key);
void peers_release(struct peers *peers);
/* Once per attempt, before the others. */
void peers_begin(struct peers *peers, const struct berth_cluster *cluster);

struct peer_node {
    struct row_entry entry;
    uint32_t domain;
};
/* The domain of a node: without the label it is one of its own kind, with an empty name. */
static inline uint32_t peers_domain(struct peers *peers, struct berth_node_view node)
{
    return ((const struct peer_node *)row_cache_get(&peers->nodes, peers, node))->domain;
}
/* The value of one of the two labels in the name of a domain. */
struct berth_str peers_label(const struct peers *peers, uint32_t domain, uint32_t key);

/* Counted up to now; valid until PEER_SETS_MAX others were asked for. */
const struct peer_set *peers_find(struct peers *peers, const struct peer_query *query);
bool peer_query_matches(const struct peer_query *query, const void *pod);

static inline uint32_t peer_set_on(const struct peer_set *set, uint32_t row)
{
    return row < set->rows_len ? set->rows[row].count : 0;
}
static inline uint32_t peer_set_in(const struct peer_set *set, uint32_t domain)
{
    return domain < set->domains_len ? set->domains[domain] : 0;
}

#endif
