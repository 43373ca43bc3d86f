/* plugin_args.c: tables and defaults for the arguments of the built-in plugins.
 *
 * The tables of API types that occur in arguments are here too, and not api/'s: a cluster's objects are read
 * leniently, a configuration strictly. */
#include "config/plugin_args.h"

#include "api/labels.h"
#include "codec/record_rows.h"
#include "config/duration.h"

/* ---- API types ---- */

static void requirement_finish(void *ret, yyjson_val *val _unused_)
{
    struct selector_requirement *requirement = ret;
    requirement->op = selector_op_from(requirement->operator);
}

#define T struct selector_requirement
static const struct record_field requirement_fields[] = {
    F("key", 0, STR, key, RECORD_ALWAYS),
    F("operator", 0, STR, operator, RECORD_ALWAYS),
    F("values", 0, STRS, values),
};
TYPE_WITH(requirement, .finish = requirement_finish)
#undef T

#define T struct label_selector
static const struct record_field label_selector_fields[] = {
    F("matchLabels", 0, PAIRS, match_labels),
    F_LIST("matchExpressions", 0, match_expressions, requirement),
};
TYPE(label_selector)
#undef T

#define T struct node_selector_term
static const struct record_field selector_term_fields[] = {
    F_LIST("matchExpressions", 0, match_expressions, requirement),
    F_LIST("matchFields", 0, match_fields, requirement),
};
TYPE(selector_term)
#undef T

#define T struct node_selector
static const struct record_field node_selector_fields[] = {
    F_LIST("nodeSelectorTerms", 0, terms, selector_term),
};
TYPE(node_selector)
#undef T

#define T struct preferred_node_term
static const struct record_field preferred_term_fields[] = {
    F("weight", 0, INT32, weight, RECORD_ALWAYS),
    F_STRUCT("preference", 0, preference, selector_term, RECORD_ALWAYS),
};
TYPE(preferred_term)
#undef T

#define T struct node_affinity
static const struct record_field affinity_fields[] = {
    F_PTR("requiredDuringSchedulingIgnoredDuringExecution", 0, required, node_selector),
    F_LIST("preferredDuringSchedulingIgnoredDuringExecution", 0, preferred, preferred_term),
};
TYPE(affinity)
#undef T

#define T struct spread_constraint
static const struct record_field spread_constraint_fields[] = {
    F("maxSkew", 0, INT32, max_skew, RECORD_ALWAYS),
    F("topologyKey", 0, STR, topology_key, RECORD_ALWAYS),
    F("whenUnsatisfiable", 0, STR, when_unsatisfiable, RECORD_ALWAYS),
    F_PTR("labelSelector", 0, selector, label_selector),
    F("minDomains", 0, OPT_INT32, min_domains),
    F("nodeAffinityPolicy", 0, STR, node_affinity_policy),
    F("nodeTaintsPolicy", 0, STR, node_taints_policy),
    F("matchLabelKeys", 0, STRS, match_label_keys),
};
TYPE(spread_constraint)
#undef T

/* ---- shared by several plugins ---- */

#define T struct resource_weight
static const struct record_field resource_weight_fields[] = {
    F("name", 0, STR, name, RECORD_ALWAYS),
    F("weight", 0, INT64, weight),
};
TYPE(resource_weight)
#undef T

#define T struct shape_point
static const struct record_field shape_point_fields[] = {
    F("utilization", 0, INT32, utilization, RECORD_ALWAYS),
    F("score", 0, INT32, score, RECORD_ALWAYS),
};
TYPE(shape_point)
#undef T

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

#define T struct default_preemption_args
static const struct record_field default_preemption_fields[] = {
    F("minCandidateNodesPercentage", 0, INT32, min_candidate_nodes_percentage, RECORD_ALWAYS),
    F("minCandidateNodesAbsolute", 0, INT32, min_candidate_nodes_absolute, RECORD_ALWAYS),
};
TYPE_WITH(default_preemption, .has_type_meta = true)
#undef T

static void default_preemption_preset(void *ret, const struct features *features _unused_)
{
    *(struct default_preemption_args *)ret = (struct default_preemption_args){
        .min_candidate_nodes_percentage = 10,
        .min_candidate_nodes_absolute = 100,
    };
}

/* ---- DynamicResources ---- */

#define T struct dynamic_resources_args
static const struct record_field dynamic_resources_fields[] = {
    F("filterTimeout", 0, OPT_DURATION, filter_timeout_ns, RECORD_ALWAYS),
    F("bindingTimeout", 0, OPT_DURATION, binding_timeout_ns),
};
TYPE_WITH(dynamic_resources, .has_type_meta = true)
#undef T

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

#define T struct inter_pod_affinity_args
static const struct record_field inter_pod_affinity_fields[] = {
    F("hardPodAffinityWeight", 0, INT32, hard_pod_affinity_weight, RECORD_ALWAYS),
    F("ignorePreferredTermsOfExistingPods", 0, BOOL, ignore_preferred_terms_of_existing_pods, RECORD_ALWAYS),
};
TYPE_WITH(inter_pod_affinity, .has_type_meta = true)
#undef T

static void inter_pod_affinity_preset(void *ret, const struct features *features _unused_)
{
    ((struct inter_pod_affinity_args *)ret)->hard_pod_affinity_weight = 1;
}

/* ---- NodeAffinity ---- */

#define T struct node_affinity_args
static const struct record_field node_affinity_fields[] = {
    F_PTR("addedAffinity", 0, added_affinity, affinity),
};
TYPE_WITH(node_affinity, .has_type_meta = true)
#undef T

/* ---- NodeResourcesBalancedAllocation ---- */

#define T struct node_resources_balanced_args
static const struct record_field node_resources_balanced_fields[] = {
    F_LIST("resources", 0, resources, resource_weight),
};
TYPE_WITH(node_resources_balanced, .has_type_meta = true)
#undef T

static void node_resources_balanced_complete(void *ret, const struct features *features _unused_,
                                             struct arena *arena)
{
    struct node_resources_balanced_args *args = ret;
    COMPLETE_RESOURCES(&args->resources, arena);
}

/* ---- NodeResourcesFit ---- */

#define T struct requested_to_capacity_ratio
static const struct record_field ratio_fields[] = {
    F_LIST("shape", 0, shape, shape_point),
};
TYPE(ratio)
#undef T

#define T struct scoring_strategy
static const struct record_field scoring_strategy_fields[] = {
    F("type", 0, STR, type),
    F_LIST("resources", 0, resources, resource_weight),
    F_PTR("requestedToCapacityRatio", 0, requested_to_capacity_ratio, ratio),
};
TYPE(scoring_strategy)
#undef T

#define T struct node_resources_fit_args
static const struct record_field node_resources_fit_fields[] = {
    F("ignoredResources", 0, STRS, ignored_resources),
    F("ignoredResourceGroups", 0, STRS, ignored_resource_groups),
    F_PTR("scoringStrategy", 0, scoring_strategy, scoring_strategy),
};
TYPE_WITH(node_resources_fit, .has_type_meta = true)
#undef T

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

#define T struct pod_topology_spread_args
static const struct record_field pod_topology_spread_fields[] = {
    F_LIST("defaultConstraints", 0, default_constraints, spread_constraint),
    F("defaultingType", 0, STR, defaulting_type),
};
TYPE_WITH(pod_topology_spread, .has_type_meta = true)
#undef T

static void pod_topology_spread_complete(void *ret, const struct features *features _unused_,
                                         struct arena *arena _unused_)
{
    struct pod_topology_spread_args *args = ret;
    if (str_empty(args->defaulting_type))
        args->defaulting_type = STR("System");
}

/* ---- VolumeBinding ---- */

#define T struct volume_binding_args
static const struct record_field volume_binding_fields[] = {
    F("bindTimeoutSeconds", 0, INT64, bind_timeout_seconds, RECORD_ALWAYS),
    F_LIST("shape", 0, shape, shape_point),
};
TYPE_WITH(volume_binding, .has_type_meta = true)
#undef T

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
        r = config_read(doc, val, kind->type, path, arena, args, err);
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
