/* plugin_args.c: tables and defaults for the arguments of the built-in plugins.
 *
 * The tables of API types that occur in arguments are here too, and not api/'s: a cluster's objects are read
 * leniently, a configuration strictly. */
#include "config/plugin_args.h"

#include "api/labels.h"
#include "config/duration.h"

/* ---- API types ---- */

static void requirement_finish(void *ret, yyjson_val *val _unused_)
{
    struct selector_requirement *requirement = ret;
    requirement->op = selector_op_from(requirement->operator);
}

static const struct args_field requirement_fields[] = {
    ARGS_ALWAYS("key", STRING, struct selector_requirement, key),
    ARGS_ALWAYS("operator", STRING, struct selector_requirement, operator),
    ARGS_FIELD("values", STRING_LIST, struct selector_requirement, values),
};
static const struct args_type requirement_type =
    ARGS_TYPE_FINISH(struct selector_requirement, requirement_fields, requirement_finish);

static const struct args_field label_selector_fields[] = {
    ARGS_FIELD("matchLabels", STRING_MAP, struct label_selector, match_labels),
    ARGS_NESTED("matchExpressions", STRUCT_LIST, struct label_selector, match_expressions, &requirement_type),
};
static const struct args_type label_selector_type = ARGS_TYPE(struct label_selector, label_selector_fields);

static const struct args_field selector_term_fields[] = {
    ARGS_NESTED("matchExpressions", STRUCT_LIST, struct node_selector_term, match_expressions,
                &requirement_type),
    ARGS_NESTED("matchFields", STRUCT_LIST, struct node_selector_term, match_fields, &requirement_type),
};
static const struct args_type selector_term_type = ARGS_TYPE(struct node_selector_term, selector_term_fields);

static const struct args_field node_selector_fields[] = {
    ARGS_NESTED("nodeSelectorTerms", STRUCT_LIST, struct node_selector, terms, &selector_term_type),
};
static const struct args_type node_selector_type = ARGS_TYPE(struct node_selector, node_selector_fields);

static const struct args_field preferred_term_fields[] = {
    ARGS_ALWAYS("weight", INT32, struct preferred_node_term, weight),
    ARGS_NESTED("preference", STRUCT, struct preferred_node_term, preference, &selector_term_type),
};
static const struct args_type preferred_term_type =
    ARGS_TYPE(struct preferred_node_term, preferred_term_fields);

static const struct args_field affinity_fields[] = {
    ARGS_NESTED("requiredDuringSchedulingIgnoredDuringExecution", STRUCT_PTR, struct node_affinity, required,
                &node_selector_type),
    ARGS_NESTED("preferredDuringSchedulingIgnoredDuringExecution", STRUCT_LIST, struct node_affinity,
                preferred, &preferred_term_type),
};
static const struct args_type affinity_type = ARGS_TYPE(struct node_affinity, affinity_fields);

static const struct args_field spread_constraint_fields[] = {
    ARGS_ALWAYS("maxSkew", INT32, struct spread_constraint, max_skew),
    ARGS_ALWAYS("topologyKey", STRING, struct spread_constraint, topology_key),
    ARGS_ALWAYS("whenUnsatisfiable", STRING, struct spread_constraint, when_unsatisfiable),
    ARGS_NESTED("labelSelector", STRUCT_PTR, struct spread_constraint, selector, &label_selector_type),
    ARGS_FIELD("minDomains", OPT_INT32, struct spread_constraint, min_domains),
    ARGS_FIELD("nodeAffinityPolicy", STRING, struct spread_constraint, node_affinity_policy),
    ARGS_FIELD("nodeTaintsPolicy", STRING, struct spread_constraint, node_taints_policy),
    ARGS_FIELD("matchLabelKeys", STRING_LIST, struct spread_constraint, match_label_keys),
};
static const struct args_type spread_constraint_type =
    ARGS_TYPE(struct spread_constraint, spread_constraint_fields);

/* ---- shared by several plugins ---- */

static const struct args_field resource_weight_fields[] = {
    ARGS_ALWAYS("name", STRING, struct resource_weight, name),
    ARGS_FIELD("weight", INT64, struct resource_weight, weight),
};
static const struct args_type resource_weight_type =
    ARGS_TYPE(struct resource_weight, resource_weight_fields);

static const struct args_field shape_point_fields[] = {
    ARGS_ALWAYS("utilization", INT32, struct shape_point, utilization),
    ARGS_ALWAYS("score", INT32, struct shape_point, score),
};
static const struct args_type shape_point_type = ARGS_TYPE(struct shape_point, shape_point_fields);

static const struct resource_weight default_resources[] = {
    { { "cpu", 3 }, 1 },
    { { "memory", 6 }, 1 },
};

/* cpu and memory where nothing is listed; a weight of 0 is a weight of 1. */
#define COMPLETE_RESOURCES(list, arena) \
    do { \
        if (!(list)->len) { \
            (list)->items = arena_array((arena), struct resource_weight, ARRAY_SIZE(default_resources)); \
            memcpy((list)->items, default_resources, sizeof(default_resources)); \
            (list)->len = ARRAY_SIZE(default_resources); \
        } \
        list_for((list), resource_) \
            if (!resource_->weight) \
                resource_->weight = 1; \
    } while (0)

/* ---- DefaultPreemption ---- */

static const struct args_field default_preemption_fields[] = {
    ARGS_ALWAYS("minCandidateNodesPercentage", INT32, struct default_preemption_args,
                min_candidate_nodes_percentage),
    ARGS_ALWAYS("minCandidateNodesAbsolute", INT32, struct default_preemption_args,
                min_candidate_nodes_absolute),
};
static const struct args_type default_preemption_type =
    ARGS_OBJECT(struct default_preemption_args, default_preemption_fields);

static void default_preemption_preset(void *ret, const struct features *features _unused_)
{
    *(struct default_preemption_args *)ret = (struct default_preemption_args){
        .min_candidate_nodes_percentage = 10,
        .min_candidate_nodes_absolute = 100,
    };
}

/* ---- DynamicResources ---- */

static const struct args_field dynamic_resources_fields[] = {
    ARGS_ALWAYS("filterTimeout", OPT_DURATION, struct dynamic_resources_args, filter_timeout_ns),
    ARGS_FIELD("bindingTimeout", OPT_DURATION, struct dynamic_resources_args, binding_timeout_ns),
};
static const struct args_type dynamic_resources_type =
    ARGS_OBJECT(struct dynamic_resources_args, dynamic_resources_fields);

static void dynamic_resources_preset(void *ret, const struct features *features)
{
    struct dynamic_resources_args *args = ret;
    if (features->enabled[FEATURE_DRASchedulerFilterTimeout])
        args->filter_timeout_ns = (struct opt_int64){ true, 10 * NS_PER_SECOND };
    if (features->enabled[FEATURE_DRADeviceBindingConditions] &&
        features->enabled[FEATURE_DRAResourceClaimDeviceStatus])
        args->binding_timeout_ns = (struct opt_int64){ true, 600 * NS_PER_SECOND };
}

/* ---- InterPodAffinity ---- */

static const struct args_field inter_pod_affinity_fields[] = {
    ARGS_ALWAYS("hardPodAffinityWeight", INT32, struct inter_pod_affinity_args, hard_pod_affinity_weight),
    ARGS_ALWAYS("ignorePreferredTermsOfExistingPods", BOOL, struct inter_pod_affinity_args,
                ignore_preferred_terms_of_existing_pods),
};
static const struct args_type inter_pod_affinity_type =
    ARGS_OBJECT(struct inter_pod_affinity_args, inter_pod_affinity_fields);

static void inter_pod_affinity_preset(void *ret, const struct features *features _unused_)
{
    ((struct inter_pod_affinity_args *)ret)->hard_pod_affinity_weight = 1;
}

/* ---- NodeAffinity ---- */

static const struct args_field node_affinity_fields[] = {
    ARGS_NESTED("addedAffinity", STRUCT_PTR, struct node_affinity_args, added_affinity, &affinity_type),
};
static const struct args_type node_affinity_type =
    ARGS_OBJECT(struct node_affinity_args, node_affinity_fields);

/* ---- NodeResourcesBalancedAllocation ---- */

static const struct args_field node_resources_balanced_fields[] = {
    ARGS_NESTED("resources", STRUCT_LIST, struct node_resources_balanced_args, resources,
                &resource_weight_type),
};
static const struct args_type node_resources_balanced_type =
    ARGS_OBJECT(struct node_resources_balanced_args, node_resources_balanced_fields);

static void node_resources_balanced_complete(void *ret, const struct features *features _unused_,
                                             struct arena *arena)
{
    struct node_resources_balanced_args *args = ret;
    COMPLETE_RESOURCES(&args->resources, arena);
}

/* ---- NodeResourcesFit ---- */

static const struct args_field ratio_fields[] = {
    ARGS_NESTED("shape", STRUCT_LIST, struct requested_to_capacity_ratio, shape, &shape_point_type),
};
static const struct args_type ratio_type = ARGS_TYPE(struct requested_to_capacity_ratio, ratio_fields);

static const struct args_field scoring_strategy_fields[] = {
    ARGS_FIELD("type", STRING, struct scoring_strategy, type),
    ARGS_NESTED("resources", STRUCT_LIST, struct scoring_strategy, resources, &resource_weight_type),
    ARGS_NESTED("requestedToCapacityRatio", STRUCT_PTR, struct scoring_strategy, requested_to_capacity_ratio,
                &ratio_type),
};
static const struct args_type scoring_strategy_type =
    ARGS_TYPE(struct scoring_strategy, scoring_strategy_fields);

static const struct args_field node_resources_fit_fields[] = {
    ARGS_FIELD("ignoredResources", STRING_LIST, struct node_resources_fit_args, ignored_resources),
    ARGS_FIELD("ignoredResourceGroups", STRING_LIST, struct node_resources_fit_args, ignored_resource_groups),
    ARGS_NESTED("scoringStrategy", STRUCT_PTR, struct node_resources_fit_args, scoring_strategy,
                &scoring_strategy_type),
};
static const struct args_type node_resources_fit_type =
    ARGS_OBJECT(struct node_resources_fit_args, node_resources_fit_fields);

const char *const scoring_type_names[SCORING_TYPES] = {
    [SCORING_LEAST_ALLOCATED] = "LeastAllocated",
    [SCORING_MOST_ALLOCATED] = "MostAllocated",
    [SCORING_REQUESTED_TO_CAPACITY] = "RequestedToCapacityRatio",
};

static void node_resources_fit_complete(void *ret, const struct features *features _unused_,
                                        struct arena *arena)
{
    struct node_resources_fit_args *args = ret;
    if (!args->scoring_strategy) {
        args->scoring_strategy = arena_new(arena, struct scoring_strategy);
        args->scoring_strategy->type = str_from(scoring_type_names[SCORING_LEAST_ALLOCATED]);
    }
    for (int type = SCORING_LEAST_ALLOCATED; type < SCORING_TYPES; type++)
        if (str_is(args->scoring_strategy->type, scoring_type_names[type]))
            args->scoring_strategy->kind = (enum scoring_type)type;
    COMPLETE_RESOURCES(&args->scoring_strategy->resources, arena);
}

/* ---- PodTopologySpread ---- */

static const struct args_field pod_topology_spread_fields[] = {
    ARGS_NESTED("defaultConstraints", STRUCT_LIST, struct pod_topology_spread_args, default_constraints,
                &spread_constraint_type),
    ARGS_FIELD("defaultingType", STRING, struct pod_topology_spread_args, defaulting_type),
};
static const struct args_type pod_topology_spread_type =
    ARGS_OBJECT(struct pod_topology_spread_args, pod_topology_spread_fields);

static void pod_topology_spread_complete(void *ret, const struct features *features _unused_,
                                         struct arena *arena _unused_)
{
    struct pod_topology_spread_args *args = ret;
    if (str_empty(args->defaulting_type))
        args->defaulting_type = STR("System");
}

/* ---- VolumeBinding ---- */

static const struct args_field volume_binding_fields[] = {
    ARGS_ALWAYS("bindTimeoutSeconds", INT64, struct volume_binding_args, bind_timeout_seconds),
    ARGS_NESTED("shape", STRUCT_LIST, struct volume_binding_args, shape, &shape_point_type),
};
static const struct args_type volume_binding_type =
    ARGS_OBJECT(struct volume_binding_args, volume_binding_fields);

static void volume_binding_preset(void *ret, const struct features *features _unused_)
{
    ((struct volume_binding_args *)ret)->bind_timeout_seconds = 600;
}

static void volume_binding_complete(void *ret, const struct features *features, struct arena *arena)
{
    static const struct shape_point default_shape[] = { { 0, 10 }, { 100, 0 } };
    struct volume_binding_args *args = ret;
    if (args->shape.len || !features->enabled[FEATURE_StorageCapacityScoring])
        return;
    args->shape.items = arena_array(arena, struct shape_point, ARRAY_SIZE(default_shape));
    memcpy(args->shape.items, default_shape, sizeof(default_shape));
    args->shape.len = ARRAY_SIZE(default_shape);
}

/* ---- all of them ---- */

const struct plugin_args_kind plugin_args_kinds[PLUGIN_ARGS_KINDS] = {
    { "DefaultPreemption", &default_preemption_type, default_preemption_preset, NULL,
      validate_default_preemption, false },
    { "DynamicResources", &dynamic_resources_type, dynamic_resources_preset, NULL, validate_dynamic_resources,
      false },
    { "InterPodAffinity", &inter_pod_affinity_type, inter_pod_affinity_preset, NULL,
      validate_inter_pod_affinity, false },
    { "NodeAffinity", &node_affinity_type, NULL, NULL, validate_node_affinity, false },
    { "NodeResourcesBalancedAllocation", &node_resources_balanced_type, NULL,
      node_resources_balanced_complete, validate_node_resources_balanced, false },
    { "NodeResourcesFit", &node_resources_fit_type, NULL, node_resources_fit_complete,
      validate_node_resources_fit, true },
    { "PodTopologySpread", &pod_topology_spread_type, NULL, pod_topology_spread_complete,
      validate_pod_topology_spread, false },
    { "VolumeBinding", &volume_binding_type, volume_binding_preset, volume_binding_complete,
      validate_volume_binding, false },
};

const struct plugin_args_kind *plugin_args_find(struct str plugin)
{
    for (size_t i = 0; i < PLUGIN_ARGS_KINDS; i++)
        if (str_is(plugin, plugin_args_kinds[i].plugin))
            return &plugin_args_kinds[i];
    return NULL;
}

/* apiVersion and kind may be left out; where they are given they must be those of this plugin. */
static int check_type_meta(const struct plugin_args_kind *kind, const struct doc *doc, yyjson_val *val,
                           const struct path *path, struct arena *arena, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf where = { 0 };
    yyjson_val *version = yyjson_obj_get(val, "apiVersion"), *name = yyjson_obj_get(val, "kind");
    path_print(&where, path);
    if (yyjson_is_str(version) && yyjson_get_len(version) && !config_version_known(yyjson_get_str(version)))
        return doc_error(doc, version, -EINVAL, err,
                         "%s.apiVersion: expected \"" CONFIG_GROUP "/v1\", got \"%.100s\"", where.text,
                         yyjson_get_str(version));
    struct str want = arena_printf(arena, "%sArgs", kind->plugin);
    if (yyjson_is_str(name) && yyjson_get_len(name) && !yyjson_equals_str(name, want.ptr))
        return doc_error(doc, name, -EINVAL, err,
                         "%s: args for plugin %s were not of type " STR_FMT "." CONFIG_GROUP
                         ", got %.100s." CONFIG_GROUP,
                         where.text, kind->plugin, STR_ARG(want), yyjson_get_str(name));
    return 0;
}

int plugin_args_decode(const struct plugin_args_kind *kind, const struct doc *doc, yyjson_val *val,
                       const struct path *path, const struct features *features, struct arena *arena,
                       void **ret, struct error *err)
{
    void *args = arena_zalloc(arena, kind->type->size);
    if (kind->preset)
        kind->preset(args, features);
    int r = check_type_meta(kind, doc, val, path, arena, err);
    if (r == 0)
        r = args_decode(doc, val, kind->type, path, arena, args, err);
    if (r < 0)
        return r;
    if (kind->complete)
        kind->complete(args, features, arena);
    *ret = args;
    return 0;
}

bool config_version_known(const char *version)
{
    return strcmp(version, CONFIG_GROUP "/v1") == 0 || strcmp(version, CONFIG_GROUP "/v1beta3") == 0;
}
