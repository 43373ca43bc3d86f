/* device_counts.h: how many devices a node has for an extended resource, and how many of them are in use.
 *
 * Where a node's status has none of a resource that a device class provides, scores take the devices of the class for
 * it. All slices count, whatever their generation, and whether their pool is complete or not: that is the reference's
 * view, which is simpler than that of the allocation. */
#ifndef PLUGINS_NODE_RESOURCES_DEVICE_COUNTS_H
#define PLUGINS_NODE_RESOURCES_DEVICE_COUNTS_H

#include "cluster/devices.h"
#include "plugins/device_selectors.h"

struct device_counts {
    struct selectors selectors;
    struct arena scratch; /* of one node */
};

void device_counts_release(struct device_counts *counts);
/* False: a selector failed, and the resource does not count for the node. */
bool device_counts_of(struct device_counts *counts, struct cluster *cluster, const struct node *node,
                      const struct device_class *class, int64_t *ret_capacity, int64_t *ret_in_use);

#endif
