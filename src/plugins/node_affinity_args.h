/* node_affinity_args.h: the arguments of NodeAffinity. */
#ifndef PLUGINS_NODE_AFFINITY_ARGS_H
#define PLUGINS_NODE_AFFINITY_ARGS_H

#include "api/types.h"
#include "config/plugin_args.h"

struct node_affinity_args {
    struct node_affinity *added_affinity; /* NULL: none */
};
extern const struct plugin_args_kind node_affinity_args_kind;

#endif
