/* pools.h: the devices that a node can have, pool after pool.
 *
 * A pool is the slices of a driver under one name, in their newest generation. It is incomplete while slices of it are
 * missing, and invalid when they contradict each other: then it has no devices to give. Pools with devices that must be
 * prepared before use (binding conditions) come last; otherwise the order is that of the names. */
#ifndef PLUGINS_DYNAMIC_RESOURCES_POOLS_H
#define PLUGINS_DYNAMIC_RESOURCES_POOLS_H

#include "cluster/devices.h"

struct allocation_rules;
struct cel_value;

/* A counter that partitions of a device share. */
struct pool_counter {
    struct str set, name;
    struct quantity available; /* after what claims hold; may be negative */
    struct quantity consumed;  /* by devices picked so far */
};

struct slice_list {
    const struct resource_slice **items;
    uint32_t len;
};

struct pool {
    struct str driver, name;
    bool incomplete, invalid, has_binding_conditions;
    struct slice_list offers;   /* slices with devices for the node */
    struct slice_list counting; /* slices with shared counters */
    struct slice_list others;   /* slices for other nodes, whose devices share the counters */
    const struct slice_pool *source;
    struct pool_counter *counters;
    uint32_t counters_len;
    bool counters_known;
};

/* A device that the node could have. The second group of members is of the search. */
struct candidate {
    const struct device *device;
    const struct resource_slice *slice;
    struct pool *pool;
    const struct device_use *use; /* see candidate_use() */
    bool use_known;

    const struct cel_value *seen;  /* as expressions see it; made when needed */
    struct derived_value *derived; /* attributes that requests gave it (constraints.c) */
    uint64_t *claims;              /* picked it: a bit per claim; NULL: none so far */
    uint32_t claims_len;           /* how many did */
    uint32_t shares;               /* of it that were picked */
    struct quantity *taken;        /* by those, per capacity; NULL: nothing so far */
};

struct pools {
    struct pool **items;
    uint32_t len;
    struct candidate *candidates; /* of all pools */
    uint32_t candidates_len;
};

/* False: *ret_why says what is wrong with a slice. Everything is in the arena. */
bool pools_gather(struct cluster *cluster, const struct allocation_rules *rules, const struct node *node,
                  struct arena *arena, struct pools *ret, struct str *ret_why);
/* Is the device on the node, by its own fields? 1, 0, or -1: its selector is invalid, and *ret_why says how. */
int pools_device_matches(const struct node *node, const struct device *device, struct arena *arena,
                         struct str *ret_why);

/* What claims hold of the device; NULL: nothing. */
const struct device_use *candidate_use(struct candidate *candidate, const struct cluster *cluster);
/* Takes the counters that the device needs; false: there are not enough, and none were taken. */
bool candidate_take_counters(struct candidate *candidate, const struct cluster *cluster, struct arena *arena);
void candidate_return_counters(struct candidate *candidate);
/* May it consume counters beside the devices that do already? (groups.c) */
bool candidate_is_compatible(const struct pools *pools, const struct candidate *candidate,
                             const struct cluster *cluster);

#endif
