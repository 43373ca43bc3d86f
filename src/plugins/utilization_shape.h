/* utilization_shape.h: a piecewise linear function from utilization to score, in the arguments of plugins. */
#ifndef PLUGINS_UTILIZATION_SHAPE_H
#define PLUGINS_UTILIZATION_SHAPE_H

#include "config/plugin_args.h"

struct shape_point {
    int32_t utilization; /* percent */
    int32_t score;       /* 0 to 10 */
};
RECORD_TYPE(shape_point, struct shape_point);

void shape_validate(const struct shape_point *shape, size_t len, const struct path *path,
                    struct problems *problems);

#endif
