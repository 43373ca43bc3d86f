/* device_classes.h: extended resources that device classes provide.
 *
 * A pod may request devices as an extended resource. The class is found by the resource's name: every class provides
 * the resource of the prefix and its own name, and may name one more. */
#ifndef PLUGINS_DEVICE_CLASSES_H
#define PLUGINS_DEVICE_CLASSES_H

#include "cluster/cluster.h"

/* Every class provides the resource of this prefix and its own name. */
#define DEVICE_CLASS_PREFIX "deviceclass.resource.kubernetes.io/"

/* Can devices provide a resource of that name at all? */
bool resource_may_be_devices(struct str resource);
/* The class for the resource, by its name or by extendedResourceName: of several, the newest, then the first by name.
 * NULL: none. */
const struct device_class *device_class_of(const struct cluster *cluster, struct str resource);
bool device_class_provides(const struct cluster *cluster, struct str resource);

#endif
