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
    uint32_t users;      /* tables that keep a pointer; without any the column may go to make room */
    uint32_t *domain_of; /* by row */
    uint32_t rows_cap;
    VEC(struct domain) domains; /* [0] is nobody's */
    VEC(uint32_t) free;
    struct idmap by_value; /* value symbol to number, as pointer */
    uint64_t shape;
};

void topology_init(struct topology *topo, sym key);
void topology_release(struct topology *topo);
void topology_reserve(struct topology *topo, uint32_t rows);
/* The row's label is now `value` (SYM_NONE: none). */
void topology_assign(struct topology *topo, uint32_t row, sym value);
/* The number of the domain of a value, or 0. */
uint32_t topology_find(const struct topology *topo, sym value);

#endif
