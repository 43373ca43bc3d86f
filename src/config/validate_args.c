/* validate_args.c: what the arguments of the built-in plugins may say.
 *
 * Ranges, names and sentences are those of the reference. A path of NULL stands for the arguments themselves. */
#include "base/map.h"
#include "config/duration.h"
#include "config/names.h"
#include "config/plugin_args.h"

void validate_default_preemption(const void *args_, const struct path *path,
                                 const struct features *features _unused_, struct problems *problems)
{
    const struct default_preemption_args *args = args_;
    int32_t percentage = args->min_candidate_nodes_percentage, absolute = args->min_candidate_nodes_absolute;
    const struct path *percentage_at = PATH_FIELD(path, "minCandidateNodesPercentage");
    const struct path *absolute_at = PATH_FIELD(path, "minCandidateNodesAbsolute");
    if (percentage < 0 || percentage > 100)
        problem_int(problems, percentage_at, percentage, "not in valid range [0, 100]");
    if (absolute < 0)
        problem_int(problems, absolute_at, absolute, "not in valid range [0, inf)");
    if (percentage == 0 && absolute == 0) {
        problem_int(problems, percentage_at, 0,
                    "cannot be zero at the same time as minCandidateNodesAbsolute");
        problem_int(problems, absolute_at, 0,
                    "cannot be zero at the same time as minCandidateNodesPercentage");
    }
}

void validate_dynamic_resources(const void *args_, const struct path *path, const struct features *features,
                                struct problems *problems)
{
    const struct dynamic_resources_args *args = args_;
    struct opt_int64 filter = args->filter_timeout_ns, binding = args->binding_timeout_ns;
    const struct path *filter_at = PATH_FIELD(path, "filterTimeout");
    const struct path *binding_at = PATH_FIELD(path, "bindingTimeout");
    if (filter.set && !features->enabled[FEATURE_DRASchedulerFilterTimeout])
        problem_forbidden(problems, filter_at, "DRASchedulingFilterTimeout feature gate is disabled");
    else if (filter.set && filter.value < 0)
        problem_duration(problems, filter_at, filter.value, "must be zero or positive");
    if (binding.set && !(features->enabled[FEATURE_DRADeviceBindingConditions] &&
                         features->enabled[FEATURE_DRAResourceClaimDeviceStatus]))
        problem_forbidden(
            problems, binding_at,
            "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled");
    else if (binding.set && binding.value < NS_PER_SECOND)
        problem_duration(problems, binding_at, binding.value, "must be at least 1 second");
}

void validate_inter_pod_affinity(const void *args_, const struct path *path,
                                 const struct features *features _unused_, struct problems *problems)
{
    const struct inter_pod_affinity_args *args = args_;
    int32_t weight = args->hard_pod_affinity_weight;
    if (weight < 0 || weight > 100)
        problem_int(problems, PATH_FIELD(path, "hardPodAffinityWeight"), weight,
                    "not in valid range [0, 100]");
}

/* ---- NodeAffinity ---- */

static void problem_values(struct problems *problems, const struct path *path, const struct str_list *values,
                           const char *detail)
{
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    strbuf_puts(&json, values->items ? "[" : "null");
    list_for(values, value) {
        strbuf_puts(&json, value == values->items ? "" : ",");
        print_json(&json, *value);
    }
    strbuf_puts(&json, values->items ? "]" : "");
    problem_json(problems, path, strbuf_slice(&json), detail);
}

/* The faults of one name as one problem. */
static void problem_name(struct problems *problems, const struct path *path, struct str name,
                         struct name_faults faults)
{
    _cleanup_(strbuf_release) struct strbuf detail = { 0 };
    for (size_t i = 0; i < faults.len; i++)
        strbuf_printf(&detail, "%s%s", i ? "; " : "", faults.items[i]);
    if (faults.len)
        problem_text(problems, path, name, detail.text);
}

static void validate_values(const struct selector_requirement *requirement, const struct path *at,
                            struct problems *problems)
{
    const struct str_list *values = &requirement->values;
    switch (requirement->op) {
    case OP_IN:
    case OP_NOT_IN:
        if (!values->len)
            problem_values(problems, at, values, "for 'in', 'notin' operators, values set can't be empty");
        break;
    case OP_EXISTS:
    case OP_DOES_NOT_EXIST:
        if (values->len)
            problem_values(problems, at, values, "values set must be empty for exists and does not exist");
        break;
    case OP_GT:
    case OP_LT:
        if (values->len != 1)
            problem_values(problems, at, values, "for 'Gt', 'Lt' operators, exactly one value is required");
        for (uint32_t i = 0; i < values->len; i++) {
            int64_t number;
            if (!str_to_int64(values->items[i], &number))
                problem_text(problems, PATH_INDEX(at, i), values->items[i],
                             "for 'Gt', 'Lt' operators, the value must be an integer");
        }
        break;
    case OP_INVALID:
        break;
    }
    for (uint32_t i = 0; i < values->len; i++)
        problem_name(problems, PATH_KEY(PATH_INDEX(at, i), requirement->key), values->items[i],
                     name_check_label_value(values->items[i]));
}

static void validate_expression(const struct selector_requirement *requirement, const struct path *path,
                                struct problems *problems)
{
    static const char *const operators[] = { "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt" };
    if (requirement->op == OP_INVALID) {
        problem_unsupported(problems, PATH_FIELD(path, "operator"), requirement->operator, operators,
                            ARRAY_SIZE(operators));
        return;
    }
    problem_name(problems, PATH_FIELD(path, "key"), requirement->key, name_check_label_key(requirement->key));
    validate_values(requirement, PATH_FIELD(path, "values"), problems);
}

static void validate_field(const struct selector_requirement *requirement, const struct path *path,
                           struct problems *problems)
{
    static const char *const operators[] = { "In", "NotIn" };
    if (requirement->op != OP_IN && requirement->op != OP_NOT_IN)
        problem_unsupported(problems, PATH_FIELD(path, "operator"), requirement->operator, operators,
                            ARRAY_SIZE(operators));
    else if (requirement->values.len != 1)
        problem_values(problems, PATH_FIELD(path, "values"), &requirement->values, "must have one element");
}

static void validate_term(const struct node_selector_term *term, const struct path *path,
                          struct problems *problems)
{
    for (uint32_t i = 0; i < term->match_expressions.len; i++)
        validate_expression(&term->match_expressions.items[i],
                            PATH_INDEX(PATH_FIELD(path, "matchExpressions"), i), problems);
    for (uint32_t i = 0; i < term->match_fields.len; i++)
        validate_field(&term->match_fields.items[i], PATH_INDEX(PATH_FIELD(path, "matchFields"), i),
                       problems);
}

void validate_node_affinity(const void *args_, const struct path *path,
                            const struct features *features _unused_, struct problems *problems)
{
    const struct node_affinity *affinity = ((const struct node_affinity_args *)args_)->added_affinity;
    if (!affinity)
        return;
    const struct path *at = PATH_FIELD(path, "addedAffinity");
    const struct path *terms =
        PATH_FIELD(PATH_FIELD(at, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms");
    for (uint32_t i = 0; affinity->required && i < affinity->required->terms.len; i++)
        validate_term(&affinity->required->terms.items[i], PATH_INDEX(terms, i), problems);
    const struct path *preferred = PATH_FIELD(at, "preferredDuringSchedulingIgnoredDuringExecution");
    for (uint32_t i = 0; i < affinity->preferred.len; i++)
        if (affinity->preferred.items[i].weight) /* others are never looked at */
            validate_term(&affinity->preferred.items[i].preference, PATH_INDEX(preferred, i), problems);
}

/* ---- resources ---- */

void validate_node_resources_balanced(const void *args_, const struct path *path,
                                      const struct features *features _unused_, struct problems *problems)
{
    const struct node_resources_balanced_args *args = args_;
    struct strmap seen = { 0 };
    for (uint32_t i = 0; i < args->resources.len; i++) {
        struct resource_weight *resource = &args->resources.items[i];
        const struct path *at = PATH_INDEX(PATH_FIELD(path, "resources"), i);
        if (strmap_put(&seen, resource->name, resource))
            problem_duplicate(problems, PATH_FIELD(at, "name"), resource->name);
        if (resource->weight != 1)
            problem_int(problems, PATH_FIELD(at, "weight"), resource->weight, "must be 1");
    }
    strmap_release(&seen);
}

/* Each fault of a name as a problem of its own. */
static void problem_each(struct problems *problems, const struct path *path, struct str name)
{
    struct name_faults faults = name_check_label_key(name);
    for (size_t i = 0; i < faults.len; i++)
        problem_text(problems, path, name, faults.items[i]);
}

static void validate_shape(const struct shape_point *shape, size_t len, const struct path *path,
                           struct problems *problems)
{
    if (!len)
        problem_required(problems, path, "at least one point must be specified");
    for (size_t i = 1; i < len; i++) {
        if (shape[i - 1].utilization >= shape[i].utilization) {
            problem_int(problems, PATH_FIELD(PATH_INDEX(path, i), "utilization"), shape[i].utilization,
                        "values must be sorted in increasing order");
            break;
        }
    }
    for (size_t i = 0; i < len; i++) {
        const struct path *at = PATH_INDEX(path, i);
        if (shape[i].utilization < 0 || shape[i].utilization > 100)
            problem_int(problems, PATH_FIELD(at, "utilization"), shape[i].utilization,
                        "not in valid range [0, 100]");
        if (shape[i].score < 0 || shape[i].score > 10)
            problem_int(problems, PATH_FIELD(at, "score"), shape[i].score, "not in valid range [0, 10]");
    }
}

static void validate_scoring_strategy(const struct scoring_strategy *strategy, const struct path *path,
                                      struct problems *problems)
{
    const struct path *ratio_at = PATH_FIELD(path, "requestedToCapacityRatio");
    if (strategy->kind == SCORING_UNKNOWN)
        problem_unsupported(problems, PATH_FIELD(path, "type"), strategy->type,
                            scoring_type_names + SCORING_LEAST_ALLOCATED,
                            SCORING_TYPES - SCORING_LEAST_ALLOCATED);
    for (uint32_t i = 0; i < strategy->resources.len; i++) {
        struct resource_weight *resource = &strategy->resources.items[i];
        if (resource->weight > 0 && resource->weight <= 100)
            continue;
        _cleanup_(strbuf_release) struct strbuf detail = { 0 };
        strbuf_printf(&detail, "resource weight of " STR_FMT " not in valid range (0, 100]",
                      STR_ARG(resource->name));
        problem_int(problems, PATH_FIELD(PATH_INDEX(PATH_FIELD(path, "resources"), i), "weight"),
                    resource->weight, detail.text);
    }
    const struct requested_to_capacity_ratio *ratio = strategy->requested_to_capacity_ratio;
    if (strategy->kind == SCORING_REQUESTED_TO_CAPACITY && !ratio)
        problem_required(problems, ratio_at, "must be specified when type is RequestedToCapacityRatio");
    else if (strategy->kind == SCORING_REQUESTED_TO_CAPACITY)
        validate_shape(ratio->shape.items, ratio->shape.len, PATH_FIELD(ratio_at, "shape"), problems);
    else if (ratio)
        problem_forbidden(problems, ratio_at, "must be nil when type is not RequestedToCapacityRatio");
}

void validate_node_resources_fit(const void *args_, const struct path *path,
                                 const struct features *features _unused_, struct problems *problems)
{
    const struct node_resources_fit_args *args = args_;
    for (uint32_t i = 0; i < args->ignored_resources.len; i++)
        problem_each(problems, PATH_INDEX(PATH_FIELD(path, "ignoredResources"), i),
                     args->ignored_resources.items[i]);
    for (uint32_t i = 0; i < args->ignored_resource_groups.len; i++) {
        struct str group = args->ignored_resource_groups.items[i];
        const struct path *at = PATH_INDEX(PATH_FIELD(path, "ignoredResourceGroups"), i);
        if (str_find(group, '/') >= 0)
            problem_text(problems, at, group, "resource group name can't contain '/'");
        problem_each(problems, at, group);
    }
    validate_scoring_strategy(args->scoring_strategy, PATH_FIELD(path, "scoringStrategy"), problems);
}

/* ---- PodTopologySpread ---- */

static void validate_defaulting_type(const struct pod_topology_spread_args *args, const struct path *path,
                                     struct problems *problems)
{
    static const char *const types[] = { "System", "List" };
    bool system = str_is(args->defaulting_type, "System");
    if (!system && !str_is(args->defaulting_type, "List")) {
        problem_unsupported(problems, path, args->defaulting_type, types, ARRAY_SIZE(types));
    } else if (system && args->default_constraints.len) {
        problem_json(problems, path, STR("\"System\""), "when .defaultConstraints are not empty");
    }
}

static void validate_constraint(const struct spread_constraint *constraint, const struct path *path,
                                struct problems *problems)
{
    static const char *const actions[] = { "DoNotSchedule", "ScheduleAnyway" };
    const struct path *key_at = PATH_FIELD(path, "topologyKey"),
                      *action_at = PATH_FIELD(path, "whenUnsatisfiable");
    struct str action = constraint->when_unsatisfiable;
    if (constraint->max_skew <= 0)
        problem_int(problems, PATH_FIELD(path, "maxSkew"), constraint->max_skew,
                    "not in valid range (0, inf)");
    if (str_empty(constraint->topology_key))
        problem_required(problems, key_at, "can not be empty");
    else
        problem_each(problems, key_at, constraint->topology_key);
    if (str_empty(action))
        problem_required(problems, action_at, "can not be empty");
    else if (!str_is(action, actions[0]) && !str_is(action, actions[1]))
        problem_unsupported(problems, action_at, action, actions, ARRAY_SIZE(actions));
    if (constraint->selector)
        problem_forbidden(problems, PATH_FIELD(path, "labelSelector"),
                          "constraint must not define a selector, as they deduced for each pod");
}

void validate_pod_topology_spread(const void *args_, const struct path *path,
                                  const struct features *features _unused_, struct problems *problems)
{
    const struct pod_topology_spread_args *args = args_;
    struct arena scratch = { 0 };
    struct strmap seen = { 0 };
    validate_defaulting_type(args, PATH_FIELD(path, "defaultingType"), problems);
    for (uint32_t i = 0; i < args->default_constraints.len; i++) {
        struct spread_constraint *constraint = &args->default_constraints.items[i];
        const struct path *at = PATH_INDEX(PATH_FIELD(path, "defaultConstraints"), i);
        validate_constraint(constraint, at, problems);
        struct str pair =
            arena_printf(&scratch, "{" STR_FMT ", " STR_FMT "}", STR_ARG(constraint->topology_key),
                         STR_ARG(constraint->when_unsatisfiable));
        if (strmap_put(&seen, pair, constraint))
            problem_duplicate(problems, at, pair);
    }
    strmap_release(&seen);
    arena_release(&scratch);
}

/* ---- VolumeBinding ---- */

void validate_volume_binding(const void *args_, const struct path *path, const struct features *features,
                             struct problems *problems)
{
    const struct volume_binding_args *args = args_;
    const struct path *shape_at = PATH_FIELD(path, "shape");
    if (args->bind_timeout_seconds < 0)
        problem_int(problems, PATH_FIELD(path, "bindTimeoutSeconds"), args->bind_timeout_seconds,
                    "invalid BindTimeoutSeconds, should not be a negative value");
    if (features->enabled[FEATURE_StorageCapacityScoring]) {
        validate_shape(args->shape.items, args->shape.len, shape_at, problems);
    } else if (args->shape.items) {
        _cleanup_(strbuf_release) struct strbuf json = { 0 };
        strbuf_putc(&json, '[');
        list_for(&args->shape, point)
            strbuf_printf(&json, "%s{\"Utilization\":%d,\"Score\":%d}", point == args->shape.items ? "" : ",",
                          (int)point->utilization, (int)point->score);
        strbuf_putc(&json, ']');
        problem_json(
            problems, shape_at, strbuf_slice(&json),
            "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring");
    }
}
