/* args.h: the arguments of NodeResourcesFit and NodeResourcesBalancedAllocation. */
#ifndef PLUGINS_NODE_RESOURCES_ARGS_H
#define PLUGINS_NODE_RESOURCES_ARGS_H

#include "plugins/utilization_shape.h"

struct resource_weight {
    struct str name;
    int64_t weight;
};

struct node_resources_balanced_args {
    LIST(struct resource_weight) resources;
};

struct requested_to_capacity_ratio {
    LIST(struct shape_point) shape;
};

enum scoring_type {
    SCORING_UNKNOWN,
    SCORING_LEAST_ALLOCATED,
    SCORING_MOST_ALLOCATED,
    SCORING_REQUESTED_TO_CAPACITY,
    SCORING_TYPES
};

struct scoring_strategy {
    struct str type;        /* as written */
    enum scoring_type kind; /* never SCORING_UNKNOWN after loading, unless the plugin is not enabled */
    LIST(struct resource_weight) resources;
    struct requested_to_capacity_ratio *requested_to_capacity_ratio;
};

struct node_resources_fit_args {
    struct str_list ignored_resources, ignored_resource_groups;
    struct scoring_strategy *scoring_strategy; /* never NULL after loading */
};

extern const struct plugin_args_kind node_resources_fit_args_kind, node_resources_balanced_args_kind;

#endif
