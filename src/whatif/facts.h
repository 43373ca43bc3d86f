/* facts.h: what a simulation comes to, for every way of printing it: totals per resource, pods per workload, how full
 * the nodes are.
 *
 * A pod counts by its last decision: one that was placed and evicted later is not placed. A node is empty if all that
 * runs on it are pods of DaemonSets and mirror pods, which leave with it. */
#ifndef WHATIF_FACTS_H
#define WHATIF_FACTS_H

#include "whatif/simulate.h"

struct fact_total {
    uint32_t resource;
    int64_t allocatable_before;               /* as allocatable, without the changes of the input */
    int64_t allocatable, before, after, free; /* over all nodes; free: what schedulable nodes have left */
    int64_t hole;                             /* the most that one schedulable node has left */
    uint32_t hole_row;                        /* ROW_NONE: none has any */
};

/* How many pods of a workload a node got. */
struct fact_share {
    uint32_t row;
    size_t pods;
};

struct fact_workload {
    struct str kind, namespace, name; /* of pods without a controller: Pod, and no name */
    size_t placed, waiting;
    VEC(struct fact_share) nodes; /* most pods first */
};

struct fact_node {
    uint32_t row;
    double share; /* of the resource of which it has least left: cpu, memory or pods */
    bool empty;
};

/* A node of the input, or one that a change takes away. */
struct fact_place {
    const struct meta *meta;
    uint32_t row; /* of a removed one: only in simulation->before */
    enum change_kind change;
};

struct facts {
    const struct simulation *simulation;
    struct arena arena;
    VEC(struct fact_place) places;         /* by name */
    VEC(struct fact_total) totals;         /* of resources that a node has */
    VEC(struct fact_workload) workloads;   /* that something was decided about, by namespace and name */
    VEC(struct fact_node) nodes;           /* the fullest first */
    VEC(const struct sim_record *) finals; /* the last decision of each pod, in the order of decisions */
    struct idmap last;                     /* by the address of a pod: its last decision */
    struct idmap evicted;                  /* addresses of pods */
    size_t empty;                          /* nodes */
    double imbalance[2]; /* cpu, memory: the standard deviation of the used share over the nodes */
};

void facts_collect(struct facts *facts, const struct simulation *simulation);
void facts_release(struct facts *facts);
/* The final decision gave the pod a node. */
bool fact_is_placed(const struct facts *facts, const struct sim_record *record);
/* The controller as people know it: the Deployment of a ReplicaSet. The kind Pod and no name where there is none. */
struct fact_workload fact_workload_of(const struct load *load, const struct meta *pod);

#endif
