/* args.h: the arguments of PodTopologySpread. */
#ifndef PLUGINS_POD_TOPOLOGY_SPREAD_ARGS_H
#define PLUGINS_POD_TOPOLOGY_SPREAD_ARGS_H

#include "api/types.h"
#include "config/plugin_args.h"

struct pod_topology_spread_args {
    LIST(struct spread_constraint) default_constraints;
    struct str defaulting_type; /* "System" or "List" */
};
extern const struct plugin_args_kind pod_topology_spread_args_kind;

#endif
