/* args.h: the arguments of DynamicResources. */
#ifndef PLUGINS_DYNAMIC_RESOURCES_ARGS_H
#define PLUGINS_DYNAMIC_RESOURCES_ARGS_H

#include "api/types.h"
#include "config/plugin_args.h"

struct dynamic_resources_args {
    struct opt_int64 filter_timeout_ns; /* 0: no timeout */
    struct opt_int64 binding_timeout_ns;
};
extern const struct plugin_args_kind dynamic_resources_args_kind;

#endif
