/* args.c: see args.h. Ranges and sentences are those of the reference. */
#include "plugins/node_resources/args.h"

#include "base/map.h"
#include "codec/record_rows.h"

#define T struct resource_weight
static const struct record_field resource_weight_fields[] = {
    F("name", 0, STR, name, RECORD_ALWAYS),
    F("weight", 0, INT64, weight),
};
TYPE(resource_weight)
#undef T

static const struct resource_weight default_resources[] = {
    { { "cpu", 3 }, 1 },
    { { "memory", 6 }, 1 },
};

/* cpu and memory where nothing is listed; a weight of 0 is a weight of 1. */
#define COMPLETE_RESOURCES(list, arena) \
    do { \
        if (!(list)->len) { \
            (list)->len = ARRAY_SIZE(default_resources); \
            (list)->items = \
                arena_copy((arena), struct resource_weight, default_resources, (list)->len, (list)->len); \
        } \
        list_for((list), resource_) \
            if (!resource_->weight) \
                resource_->weight = 1; \
    } while (0)

/* ---- NodeResourcesBalancedAllocation ---- */

#define T struct node_resources_balanced_args
static const struct record_field balanced_fields[] = {
    F_LIST("resources", 0, resources, resource_weight),
};
TYPE_WITH(balanced, .has_type_meta = true)
#undef T

static void balanced_complete(void *ret, const struct features *features _unused_, struct arena *arena)
{
    struct node_resources_balanced_args *args = ret;
    COMPLETE_RESOURCES(&args->resources, arena);
}

static void balanced_validate(const void *args_, const struct path *path,
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

const struct plugin_args_kind node_resources_balanced_args_kind = {
    .type = &balanced_type,
    .complete = balanced_complete,
    .validate = balanced_validate,
};

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
static const struct record_field fit_fields[] = {
    F("ignoredResources", 0, STRS, ignored_resources),
    F("ignoredResourceGroups", 0, STRS, ignored_resource_groups),
    F_PTR("scoringStrategy", 0, scoring_strategy, scoring_strategy),
};
TYPE_WITH(fit, .has_type_meta = true)
#undef T

static const char *const scoring_type_names[SCORING_TYPES] = {
    [SCORING_LEAST_ALLOCATED] = "LeastAllocated",
    [SCORING_MOST_ALLOCATED] = "MostAllocated",
    [SCORING_REQUESTED_TO_CAPACITY] = "RequestedToCapacityRatio",
};

static void fit_complete(void *ret, const struct features *features _unused_, struct arena *arena)
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
        shape_validate(ratio->shape.items, ratio->shape.len, PATH_FIELD(ratio_at, "shape"), problems);
    else if (ratio)
        problem_forbidden(problems, ratio_at, "must be nil when type is not RequestedToCapacityRatio");
}

static void fit_validate(const void *args_, const struct path *path, const struct features *features _unused_,
                         struct problems *problems)
{
    const struct node_resources_fit_args *args = args_;
    for (uint32_t i = 0; i < args->ignored_resources.len; i++)
        problem_label_key(problems, PATH_INDEX(PATH_FIELD(path, "ignoredResources"), i),
                          args->ignored_resources.items[i]);
    for (uint32_t i = 0; i < args->ignored_resource_groups.len; i++) {
        struct str group = args->ignored_resource_groups.items[i];
        const struct path *at = PATH_INDEX(PATH_FIELD(path, "ignoredResourceGroups"), i);
        if (str_find(group, '/') >= 0)
            problem_text(problems, at, group, "resource group name can't contain '/'");
        problem_label_key(problems, at, group);
    }
    validate_scoring_strategy(args->scoring_strategy, PATH_FIELD(path, "scoringStrategy"), problems);
}

/* Resources that extenders manage are ignored. */
static void fit_ignore(void *args_, struct str_list resources)
{
    ((struct node_resources_fit_args *)args_)->ignored_resources = resources;
}

static const void *fit_reweigh(const void *args_, const struct weight_map *weights, struct arena *arena)
{
    struct node_resources_fit_args *args = arena_new(arena, struct node_resources_fit_args);
    *args = *(const struct node_resources_fit_args *)args_;
    struct scoring_strategy *strategy = arena_new(arena, struct scoring_strategy);
    *strategy = *args->scoring_strategy;
    strategy->resources.len = weights->len;
    strategy->resources.items = arena_array(arena, struct resource_weight, weights->len);
    for (uint32_t i = 0; i < weights->len; i++)
        strategy->resources.items[i] =
            (struct resource_weight){ weights->items[i].name, weights->items[i].weight };
    args->scoring_strategy = strategy;
    return args;
}

/* Plugins of older releases that were one strategy of this plugin. */
static bool fit_covers(const void *args_, struct str plugin)
{
    static const struct {
        const char *plugin;
        enum scoring_type scoring;
    } older[] = {
        { "NodeResourcesLeastAllocated", SCORING_LEAST_ALLOCATED },
        { "NodeResourcesMostAllocated", SCORING_MOST_ALLOCATED },
        { "RequestedToCapacityRatio", SCORING_REQUESTED_TO_CAPACITY },
    };
    const struct node_resources_fit_args *args = args_;
    enum scoring_type scoring = args ? args->scoring_strategy->kind : SCORING_LEAST_ALLOCATED;
    for (size_t i = 0; i < ARRAY_SIZE(older); i++)
        if (str_is(plugin, older[i].plugin))
            return older[i].scoring == scoring;
    return false;
}

const struct plugin_args_kind node_resources_fit_args_kind = {
    .type = &fit_type,
    .complete = fit_complete,
    .validate = fit_validate,
    .validated_at_setup = true,
    .ignore = fit_ignore,
    .reweigh = fit_reweigh,
    .covers = fit_covers,
};
