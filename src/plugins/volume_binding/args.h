/* args.h: the arguments of VolumeBinding. */
#ifndef PLUGINS_VOLUME_BINDING_ARGS_H
#define PLUGINS_VOLUME_BINDING_ARGS_H

#include "plugins/utilization_shape.h"

struct volume_binding_args {
    int64_t bind_timeout_seconds;
    LIST(struct shape_point) shape; /* only with StorageCapacityScoring */
};
extern const struct plugin_args_kind volume_binding_args_kind;

#endif
