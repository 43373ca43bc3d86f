/* allocator.h: picks devices of a node for claims: the first choice that satisfies all of them.
 *
 * An exhaustive search, claim after claim, request after request, device after device, each in the order given; the
 * first complete solution wins. Whether one exists decides if a pod fits; which one it is decides what the pod gets.
 * So the order is part of the behaviour: pools by driver and name, slices by name, devices as their driver lists them.
 * */
#ifndef PLUGINS_DYNAMIC_RESOURCES_ALLOCATOR_H
#define PLUGINS_DYNAMIC_RESOURCES_ALLOCATOR_H

#include "cluster/devices.h"
#include "plugins/dynamic_resources/selectors.h"

enum allocate_outcome {
    ALLOCATE_FOUND,
    ALLOCATE_NOTHING,   /* not on this node */
    ALLOCATE_NOT_HERE,  /* likewise, and `why` says more */
    ALLOCATE_TIMED_OUT, /* the search took too long */
    ALLOCATE_ERROR,     /* something is wrong with a claim, a class or a slice: `why` */
};

struct allocate_input {
    struct cluster *cluster;
    const struct node *node;
    const struct resource_claim *const *claims; /* without allocations */
    uint32_t len;
    struct selectors *selectors;
    int64_t timeout_ns;    /* about so long it may take; 0: for ever */
    struct arena *scratch; /* of the search, and of `why` */
    struct arena *arena;   /* of allocations */
};

struct allocate_result {
    enum allocate_outcome outcome;
    struct str why;
    struct allocation_result *allocations; /* of each claim; texts are those of slices, classes and claims */
};

void allocate(const struct allocate_input *input, struct allocate_result *ret);

#endif
