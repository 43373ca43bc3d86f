/* capacity.h: how much of a device a request takes.
 *
 * A device that may be allocated several times gives each claim a part of its capacity: what the request says, brought
 * into the shape that the device's policy wants. */
#ifndef PLUGINS_DYNAMIC_RESOURCES_CAPACITY_H
#define PLUGINS_DYNAMIC_RESOURCES_CAPACITY_H

#include "plugins/dynamic_resources/pools.h"

/* What a request takes of one capacity of a device. */
struct quantity capacity_consumed(const struct capacity_requirements *wanted,
                                  const struct device_capacity *capacity);
/* Is so much left of everything, with what claims hold and what this search has picked? */
bool capacity_suffices(const struct capacity_requirements *wanted, struct candidate *candidate,
                       const struct cluster *cluster);
/* A share of the device is picked, or put back. */
void capacity_take(const struct capacity_requirements *wanted, struct candidate *candidate,
                   struct arena *arena);
void capacity_return(const struct capacity_requirements *wanted, struct candidate *candidate);

#endif
