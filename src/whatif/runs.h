/* runs.h: the same input, decided with several configurations: how they differ, and where each pod goes. */
#ifndef WHATIF_RUNS_H
#define WHATIF_RUNS_H

#include "whatif/facts.h"
#include "whatif/prices.h"

/* What one configuration comes to. */
struct run_facts {
    const char *config; /* NULL: the defaults */
    size_t placed, pending, preempted, decisions, nodes, empty_nodes;
    size_t foreign;      /* pods for whose schedulers it has no profile */
    double imbalance[2]; /* as in struct facts: cpu, memory */
    bool has_cost;
    double cost;          /* per hour of the nodes that are not empty and have a price */
    size_t without_price; /* nodes that are not empty and have none */
};

/* Where a pod is in the end, by configuration; empty: no node has it; no pointer: it was not decided. */
struct run_pod {
    struct str namespace, name, *nodes;
};

struct runs {
    struct arena arena;
    size_t expected; /* runs */
    VEC(struct run_facts) items;
    VEC(struct run_pod *) pods; /* in the order in which they were decided first */
    struct strmap by_name;      /* "namespace/name" to struct run_pod */
    size_t differing;           /* pods that are not on the same node everywhere */
};

void runs_init(struct runs *runs, size_t expected);
/* After each simulation, which may go afterwards. */
void runs_add(struct runs *runs, const char *config, const struct facts *facts, const struct prices *prices);
bool runs_differ(const struct runs *runs, const struct run_pod *pod);
void runs_release(struct runs *runs);

#endif
