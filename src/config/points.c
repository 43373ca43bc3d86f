/* points.c: the names of the extension points. */
#include "config/points.h"

const struct point_info point_infos[POINT_SECTIONS] = {
#define X(point, field_name, point_name, interface_name, since) \
    [POINT_##point] = { field_name, point_name, interface_name, BEHAVIOUR_##since },
    EXTENSION_POINTS(X)
#undef X
        [POINT_MULTI] = { "multiPoint", "MultiPoint", "MultiPoint", BEHAVIOUR_NONE },
};
