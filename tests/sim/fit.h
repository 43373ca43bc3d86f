/* fit.h: whether a pod fits on a node, from facts alone. */
#ifndef SIM_FIT_H
#define SIM_FIT_H

#include "sim.h"

/* A pod that occupies a node. */
struct placed {
    const struct pod_facts *pod;
    int node;
};
typedef VEC(struct placed) placed_vec;

/* Pods below that priority are ignored. INT32_MIN: none are. */
bool fits_among(const placed_vec *placed, const struct pod_facts *pod, int node_number,
                const struct node_facts *node, int32_t below);
/* Whether the pod's claim can have its volume there, by the store. */
bool fits_claim(struct sim *sim, const struct pod_facts *pod, int node_number, const struct node_facts *node);

#endif
