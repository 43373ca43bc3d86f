/* topology.h: a label key as a column: which domain (distinct value) is each node in?
 *
 * Domain numbers are dense and start at 1; 0 means that the node has no such label. Numbers of empty domains
 * are used again. `shape` moves whenever a domain's size crosses between one node and several, because the
 * index treats the two kinds of domains differently. */
#ifndef CLUSTER_TOPOLOGY_H
#define CLUSTER_TOPOLOGY_H

#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

struct domain {
    sym value;      /* SYM_NONE: free */
    uint32_t nodes; /* how many rows are in it */
};

struct topology {
    sym key;
    uint32_t users;      /* of a pointer to it; without any, the column may be dropped */
    uint32_t *domain_of; /* by row */
    uint32_t rows_cap;
    bool is_shared;             /* the column is not its own: no row has ever had the label */
    VEC(struct domain) domains; /* [0] is unused */
    VEC(uint32_t) free;
    struct idmap by_value; /* value symbol to number, as pointer */
    uint64_t shape;
};

void topology_init(struct topology *topo, sym key);
void topology_release(struct topology *topo);
/* `zeros`: as many of them, which columns share that have no domain yet: pods name keys that no node has. They are
 * valid until the next call. NULL: the column is its own. */
void topology_reserve(struct topology *topo, uint32_t rows, uint32_t *zeros);
/* The row's label is now `value` (SYM_NONE: none). */
void topology_assign(struct topology *topo, uint32_t row, sym value);
/* The number of the domain of a value, or 0. */
uint32_t topology_find(const struct topology *topo, sym value);

static inline bool topology_has_domains(const struct topology *topo)
{
    return topo->by_value.len > 0;
}

#endif
