/* devices.h: devices as scheduling sees them: the slices that offer them, and the claims that hold them.
 *
 * Between the moment a pod gets a node and the moment its claims are allocated in the API, the next pods must already
 * see the devices as taken. Such a claim is assumed: a copy of it with its allocation lies over the stored one.
 *
 *     in flight   the allocation was decided. Its devices are taken, but no other pod may use the claim yet: the
 *                 write may still fail
 *     written     the API server has it. From now on the copy is the claim, until a stored one that is as new comes
 *
 * What claims hold of each device is kept up to date as claims come and go; nothing is ever counted twice. */
#ifndef CLUSTER_DEVICES_H
#define CLUSTER_DEVICES_H

#include "cluster/cluster.h"

struct devices;

/* What claims hold of a device. */
struct device_use {
    struct str key;               /* "driver/pool/device" */
    uint32_t whole;               /* have it for themselves */
    uint32_t shares;              /* have a part of it */
    uint32_t measured;            /* of those, with amounts */
    VEC(struct resource) amounts; /* the sums */
};

static inline bool device_is_allocated(const struct device_use *use)
{
    return use && (use->whole || use->shares);
}

/* ---- claims ---- */
/* The claim of that name as it is, stored or written; NULL: none. */
const struct resource_claim *devices_claim(const struct cluster *cluster, struct str namespace,
                                           struct str name);
bool devices_claim_in_flight(const struct cluster *cluster, const struct resource_claim *claim);
/* What claims hold of a device; NULL: nothing. */
const struct device_use *devices_use(const struct cluster *cluster, struct str driver, struct str pool,
                                     struct str device);

/* `claim` has an allocation that is on its way to the API server. Copied. A claim that does not exist in the API server
 * yet has a name of its own as well. */
void devices_take(struct cluster *cluster, const struct resource_claim *claim);
/* The API server has stored the claim as it is in `claim`, which is copied. Its version is empty where it is not known.
 * The claim need not be one that was taken. */
void devices_written(struct cluster *cluster, const struct resource_claim *claim);
/* What was taken is free again; nothing happens to a claim that is not in flight. */
void devices_drop(struct cluster *cluster, struct str namespace, struct str name);

/* ---- slices ---- */
/* The slices of a pool, of whatever generation, by name. */
struct slice_pool {
    struct str driver, name;
    const struct resource_slice *const *slices;
    uint32_t len;
};
struct slice_pools {
    const struct slice_pool **items; /* by driver and name */
    uint32_t len;
};
/* The pools that may have something for a node: it is named by one of their slices, or they have slices for more than
 * one node, or shared counters. The pools stay until a slice changes; the list is in the arena. */
struct slice_pools devices_pools(struct cluster *cluster, struct str node_name, struct arena *arena);

/* ---- for the cluster itself ---- */
/* A claim comes (no before), changes, or goes (no after). Both still exist. */
void devices_claim_changed(struct cluster *cluster, const struct resource_claim *before,
                           const struct resource_claim *after);
void devices_free(struct devices *devices);

#endif
