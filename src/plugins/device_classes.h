/* device_classes.h: resources that device classes stand for.
 *
 * A pod may ask for devices as it asks for any other resource. Which class that means is found by name: every class
 * stands for the resource of the prefix and its own name, and may name one more. */
#ifndef PLUGINS_DEVICE_CLASSES_H
#define PLUGINS_DEVICE_CLASSES_H

#include "cluster/cluster.h"

/* Every class stands for the resource of this prefix and its own name. */
#define DEVICE_CLASS_PREFIX "deviceclass.resource.kubernetes.io/"

/* May devices stand for a resource of that name at all? */
bool resource_may_be_devices(struct str resource);
/* The class for the resource, by name or because the class says so: of several, the newest, then the first by name.
 * NULL: none. */
const struct device_class *device_class_of(const struct cluster *cluster, struct str resource);
bool device_class_provides(const struct cluster *cluster, struct str resource);

#endif
