/* allocator.h: picks devices of a node for claims: the first choice that satisfies all of them.
 *
 * An exhaustive search, claim after claim, request after request, device after device, each in the order given; the
 * first complete solution wins. Whether one exists decides if a pod fits; which one it is decides what the pod gets.
 * So the order is part of the behaviour: pools by driver and name, slices by name, devices as their driver lists them.
 * */
#ifndef PLUGINS_DYNAMIC_RESOURCES_ALLOCATOR_H
#define PLUGINS_DYNAMIC_RESOURCES_ALLOCATOR_H

#include "cluster/devices.h"
#include "framework/status.h"
#include "plugins/device_selectors.h"

/* A node declares this feature when its kubelet can leave out operations. */
#define OPTIONAL_OPERATIONS "DRAOptionalNodeOperations"

struct shortfall_list;

/* What the release and its gates say about devices. */
struct allocation_rules {
    const struct release *release;
    /* The reference has three allocators, and uses the first that knows what the gates ask for. The oldest one knows
     * neither shares of devices nor devices that must be prepared, nor distinctAttribute. */
    bool oldest;
    bool newest;            /* this one alone looks at operations that slices skip */
    bool alternatives;      /* firstAvailable */
    bool shares;            /* of devices that may be allocated several times */
    bool partitions;        /* that consume shared counters; devices with nodes of their own */
    bool taints;            /* of devices count */
    bool preparation;       /* binding conditions */
    bool fractional_ranges; /* steps of capacity may be fractions */
    bool counters_have_nodes;
    bool lists; /* constraints are about sets of values */
    bool compatibility_groups, derived_attributes, optional_operations;
};

void allocation_rules_init(struct allocation_rules *rules, const struct features *features);

struct allocate_input {
    struct cluster *cluster;
    const struct allocation_rules *rules;
    const struct node *node;
    const struct resource_claim *const *claims; /* without allocations */
    uint32_t len;
    struct selectors *selectors;
    int64_t timeout_ns;    /* compared with the estimated time of the work done; 0: none */
    struct arena *scratch; /* of the search */
    struct arena *arena;   /* of allocations and the status */
};

/* Success: *ret has the allocation of each claim; its texts are those of slices, classes and claims.
 * UnschedulableAndUnresolvable: not on this node. Error: the search took too long, or something is wrong with a claim,
 * a class or a slice. */
struct status allocate(const struct allocate_input *input, struct allocation_result **ret);
/* What the node lacks, where allocate() found nothing. */
void allocate_explain(const struct allocate_input *input, struct shortfall_list *ret);

#endif
