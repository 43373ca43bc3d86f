/* device_classes.h: resources that device classes stand for. */
#ifndef PLUGINS_DEVICE_CLASSES_H
#define PLUGINS_DEVICE_CLASSES_H

#include "cluster/cluster.h"

/* Every class stands for the resource of this prefix and its own name. */
#define DEVICE_CLASS_PREFIX "deviceclass.resource.kubernetes.io/"

/* Is there a class for the resource, by name or because the class says so? */
bool device_class_provides(const struct cluster *cluster, struct str resource);

#endif
