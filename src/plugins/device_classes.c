/* device_classes.c: the device class that provides a resource. */
#include "plugins/device_classes.h"

#include "api/names.h"

bool resource_may_be_devices(struct str resource)
{
    return str_starts_with(resource, STR(DEVICE_CLASS_PREFIX)) || name_is_extended_resource(resource);
}

static bool is_preferred(const struct device_class *class, const struct device_class *over)
{
    const struct opt_time *a = &class->meta.creation_time, *b = &over->meta.creation_time;
    if (a->seconds != b->seconds)
        return a->seconds > b->seconds;
    if (a->nanos != b->nanos)
        return a->nanos > b->nanos;
    return str_cmp(class->meta.name, over->meta.name) < 0;
}

const struct device_class *device_class_of(const struct cluster *cluster, struct str resource)
{
    const struct device_class *found = NULL;
    if (!cluster->device_classes.len || !cluster->features.enabled[FEATURE_DRAExtendedResource])
        return NULL;
    if (str_starts_with(resource, STR(DEVICE_CLASS_PREFIX)))
        found = cluster_get(&cluster->device_classes, (struct str){ 0 },
                            str_slice(resource, sizeof(DEVICE_CLASS_PREFIX) - 1, resource.len));
    if (found || !name_is_extended_resource(resource))
        return found;
    map_for(&cluster->device_classes, slot) {
        const struct device_class *class = stored_object(slot);
        if (class->extended_resource_name.ptr && str_eq(class->extended_resource_name, resource) &&
            (!found || is_preferred(class, found)))
            found = class;
    }
    return found;
}

bool device_class_provides(const struct cluster *cluster, struct str resource)
{
    return device_class_of(cluster, resource);
}
