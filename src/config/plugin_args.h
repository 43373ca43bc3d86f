/* plugin_args.h: the arguments of the built-in plugins, decoded, with their defaults.
 *
 * A plugin asks its profile: `const struct node_resources_fit_args *args = profile_args(profile, "NodeResourcesFit")`.
 * The arguments of any other plugin stay a subtree that the plugin decodes with a table of its own. */
#ifndef CONFIG_PLUGIN_ARGS_H
#define CONFIG_PLUGIN_ARGS_H

#include "api/types.h"
#include "config/features.h"
#include "config/kinds.h"
#include "config/problems.h"

struct default_preemption_args {
    int32_t min_candidate_nodes_percentage;
    int32_t min_candidate_nodes_absolute;
};

struct dynamic_resources_args {
    struct opt_int64 filter_timeout_ns; /* 0: no timeout */
    struct opt_int64 binding_timeout_ns;
};

struct inter_pod_affinity_args {
    int32_t hard_pod_affinity_weight;
    bool ignore_preferred_terms_of_existing_pods;
};

struct node_affinity_args {
    struct node_affinity *added_affinity; /* NULL: none */
};

struct resource_weight {
    struct str name;
    int64_t weight;
};

struct node_resources_balanced_args {
    LIST(struct resource_weight) resources;
};

struct shape_point {
    int32_t utilization; /* percent */
    int32_t score;       /* 0 to 10 */
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

extern const char *const scoring_type_names[SCORING_TYPES];

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

struct pod_topology_spread_args {
    LIST(struct spread_constraint) default_constraints;
    struct str defaulting_type; /* "System" or "List" */
};

struct volume_binding_args {
    int64_t bind_timeout_seconds;
    LIST(struct shape_point) shape; /* only with StorageCapacityScoring */
};

/* What there is to know about the arguments of one plugin. */
struct plugin_args_kind {
    const char *plugin;
    const struct record_type *type;
    /* Before decoding: what absent fields are. After: what depends on the rest. Either may be NULL. */
    void (*preset)(void *args, const struct features *features);
    void (*complete)(void *args, const struct features *features, struct arena *arena);
    void (*validate)(const void *args, const struct path *path, const struct features *features,
                     struct problems *problems);
    /* Checked when the plugin is set up, not with the configuration: says nothing when it is not enabled. */
    bool validated_at_setup;
};

enum { PLUGIN_ARGS_KINDS = 8 };
extern const struct plugin_args_kind plugin_args_kinds[PLUGIN_ARGS_KINDS]; /* sorted by name */

#define CONFIG_GROUP "kubescheduler.config.k8s.io"
/* Is this a group and version that we read? */
bool config_version_known(const char *version);

/* NULL for a plugin that has no arguments, or that is not built in. */
const struct plugin_args_kind *plugin_args_find(struct str plugin);
/* Decodes into the arena and fills in defaults; val may be NULL or null. */
int plugin_args_decode(const struct plugin_args_kind *kind, const struct doc *doc, yyjson_val *val,
                       const struct path *path, const struct features *features, struct arena *arena,
                       void **ret, struct error *err);

/* What validate_args.c checks. */
void validate_default_preemption(const void *args, const struct path *path, const struct features *features,
                                 struct problems *problems);
void validate_dynamic_resources(const void *args, const struct path *path, const struct features *features,
                                struct problems *problems);
void validate_inter_pod_affinity(const void *args, const struct path *path, const struct features *features,
                                 struct problems *problems);
void validate_node_affinity(const void *args, const struct path *path, const struct features *features,
                            struct problems *problems);
void validate_node_resources_balanced(const void *args, const struct path *path,
                                      const struct features *features, struct problems *problems);
void validate_node_resources_fit(const void *args, const struct path *path, const struct features *features,
                                 struct problems *problems);
void validate_pod_topology_spread(const void *args, const struct path *path, const struct features *features,
                                  struct problems *problems);
void validate_volume_binding(const void *args, const struct path *path, const struct features *features,
                             struct problems *problems);

#endif
