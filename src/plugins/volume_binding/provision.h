/* provision.h: can a new volume be made for a claim, reachable from a node?
 *
 * The class must have a provisioner and allow the node's topology. Where the driver reports its free space, some
 * pool that the node reaches must be able to hold the volume. */
#ifndef PLUGINS_VOLUME_BINDING_PROVISION_H
#define PLUGINS_VOLUME_BINDING_PROVISION_H

#include "cluster/volumes.h"

struct provisioner {
    bool supported;                /* the class makes volumes */
    struct node_selector *allowed; /* topologies of the class; NULL: all */
    bool tracked;                  /* the driver reports capacity: one of these pools is needed */
    struct capacity_span pools;    /* that can hold the volume */
};

enum provision_result { PROVISION_OK, PROVISION_NO_MATCH, PROVISION_NO_SPACE };

void provisioner_init(struct provisioner *provisioner, struct cluster *cluster, const struct pvc *pvc,
                      struct arena *arena);
/* The largest volume that the pool can hold; NULL: unknown, which counts as none. */
const struct quantity *provision_pool_limit(const struct csi_storage_capacity *pool);
/* *ret_pool has the space, if the driver reports capacity. */
enum provision_result provisioner_check(const struct provisioner *provisioner,
                                        const struct str_map *node_labels,
                                        const struct csi_storage_capacity **ret_pool);

#endif
