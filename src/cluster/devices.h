/* devices.h: devices as scheduling sees them: the slices that offer them, and the claims that hold them.
 *
 * Between the moment a pod gets a node and the moment its claims are allocated in the API, the next pods must already
 * see the devices as taken. Such a claim is assumed: a copy of it with its allocation lies over the stored one.
 *
 *     in flight   the allocation was decided. Its devices are taken, but no other pod may use the claim yet: the
 *                 write may still fail
 *     written     the API server has it. From now on the copy is the claim, until a stored one that is as new comes
 *     held        it is written, but the pod that it was made for still waits for its devices: when the
 *                 allocation goes away meanwhile, the claim counts as in flight again
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
/* The allocation of a claim that was written is held, until it is let go. Copied. */
void devices_hold(struct cluster *cluster, const struct resource_claim *claim);
void devices_let_go(struct cluster *cluster, struct str namespace, struct str name);
/* What was taken is free again; nothing happens to a claim that is not in flight. */
void devices_drop(struct cluster *cluster, struct str namespace, struct str name);

/* ---- slices ---- */
/* The slices of a pool, of whatever generation, by name. */
struct slice_pool {
    struct str driver, name;
    const struct resource_slice *const *slices;
    uint32_t len;
    const struct device_taint_rule *const *rules; /* that taint some device of the pool, or all, by name */
    uint32_t rules_len;
};
/* Does a rule of the pool taint the device? */
static inline bool device_rule_taints(const struct device_taint_rule *rule, const struct device *device)
{
    return !rule->selector || !rule->selector->device.ptr || str_eq(rule->selector->device, device->name);
}
struct slice_pools {
    const struct slice_pool **items; /* by driver and name */
    uint32_t len;
};
/* The pools that may have something for a node: it is named by one of their slices, or they have slices for more than
 * one node, or shared counters. The pools stay until a slice changes; the list is in the arena. */
struct slice_pools devices_pools(struct cluster *cluster, struct str node_name, struct arena *arena);

/* The pool of that name, of the driver or the first of all drivers; NULL: there is none. It stays until a slice
 * changes. */
const struct slice_pool *devices_pool(struct cluster *cluster, struct str driver, struct str name);
const struct slice_pool *devices_pool_of_any(struct cluster *cluster, struct str name);

/* A rule has come (no before), has changed, or is gone (no after); both still exist. Slices with a device whose taints
 * have changed by that are as good as updated. They are told in the order of driver, pool and name. */
typedef void devices_on_slice(void *user, const struct resource_slice *slice);
void devices_rule_changed(struct cluster *cluster, const struct device_taint_rule *before,
                          const struct device_taint_rule *after, devices_on_slice *on_slice, void *user);

/* ---- for the cluster itself ---- */
/* A claim comes (no before), changes, or goes (no after). Both still exist. */
void devices_claim_changed(struct cluster *cluster, const struct resource_claim *before,
                           const struct resource_claim *after);
void devices_free(struct devices *devices);

#endif
