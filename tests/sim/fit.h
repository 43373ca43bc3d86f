/* fit.h: does a pod fit on a node? The plain answer, from facts alone. */
#ifndef SIM_FIT_H
#define SIM_FIT_H

#include "sim.h"

/* A pod that occupies a node. */
struct placed {
    const struct pod_facts *pod;
    int node;
};
typedef VEC(struct placed) placed_vec;

/* Pods below that priority count as gone. INT32_MIN: none do. */
bool fits_among(const placed_vec *placed, const struct pod_facts *pod, int node_number,
                const struct node_facts *node, int32_t below);
/* Can the pod's claim have its volume there? By what is in the store. */
bool fits_claim(struct sim *sim, const struct pod_facts *pod, int node_number, const struct node_facts *node);

#endif
