/* device_classes.c: which resources do device classes provide? */
#include "plugins/device_classes.h"

bool device_class_provides(const struct cluster *cluster, struct str resource)
{
    if (!cluster->device_classes.len)
        return false;
    if (str_starts_with(resource, STR(DEVICE_CLASS_PREFIX)) &&
        cluster_get(&cluster->device_classes, (struct str){ 0 },
                    str_slice(resource, sizeof(DEVICE_CLASS_PREFIX) - 1, resource.len)))
        return true;
    if (!resource_is_extended(resource))
        return false;
    map_for(&cluster->device_classes, slot) {
        const struct device_class *class = stored_object(slot);
        if (str_eq(class->extended_resource_name, resource))
            return true;
    }
    return false;
}
