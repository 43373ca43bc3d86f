/* profile.c: from a profile as written to the plugins that run at each extension point.
 *
 * Two steps, as in the reference. Merging puts the user's sections over the default one (all defaults are in
 * multiPoint). Expansion then distributes multiPoint over the extension points, where the order is:
 *   1. plugins of the point's own section that multiPoint has too, in the section's order;
 *   2. multiPoint's other plugins that implement the point and are not disabled there, in its order;
 *   3. the rest of the point's own section. */
#include "config/build.h"
#include "config/strategies.h"

enum { ALWAYS = -1 };

/* The default section, in order. */
static const struct {
    const char *name;
    int32_t weight; /* 0: none */
    int feature;    /* the gate that brings it, or ALWAYS */
    enum behaviour since, until;
    int32_t weight_v1beta2; /* 0: the same */
} default_plugins[] = {
    { "SchedulingGates", 0, ALWAYS },
    { "PrioritySort", 0, ALWAYS },
    { "NodeUnschedulable", 0, ALWAYS, .until = BEHAVIOUR_node_name_comes_first },
    { "NodeName", 0, ALWAYS },
    { "NodeUnschedulable", 0, ALWAYS, .since = BEHAVIOUR_node_name_comes_first },
    { "TaintToleration", 3, ALWAYS, .weight_v1beta2 = 1 },
    { "NodeAffinity", 2, ALWAYS, .weight_v1beta2 = 1 },
    { "NodePorts", 0, ALWAYS },
    { "DeferredPodScheduling", 0, FEATURE_InPlacePodVerticalScalingSchedulerPreemption },
    { "NodeResourcesFit", 1, ALWAYS },
    { "VolumeRestrictions", 0, ALWAYS },
    { "NodeVolumeLimits", 0, ALWAYS },
    { "VolumeBinding", 0, ALWAYS },
    { "VolumeZone", 0, ALWAYS },
    { "PodTopologySpread", 2, ALWAYS },
    { "InterPodAffinity", 2, ALWAYS, .weight_v1beta2 = 1 },
    { "DynamicResources", 2, FEATURE_DynamicResourceAllocation },
    { "DefaultPreemption", 0, ALWAYS },
    { "NodeResourcesBalancedAllocation", 1, ALWAYS },
    { "ImageLocality", 1, ALWAYS },
    { "DefaultBinder", 0, ALWAYS },
    { "NodeDeclaredFeatures", 0, FEATURE_NodeDeclaredFeatures },
    { "GangScheduling", 0, FEATURE_GangScheduling, .until = BEHAVIOUR_gangs_are_generic_workloads },
    { "GangScheduling", 0, FEATURE_GenericWorkload, .since = BEHAVIOUR_gangs_are_generic_workloads },
    { "TopologyPlacementGenerator", 0, FEATURE_TopologyAwareWorkloadScheduling },
    { "PodGroupPodsCount", 1, FEATURE_TopologyAwareWorkloadScheduling },
};

/* ---- merging ---- */

static bool is_default(const struct config_build *build, size_t number)
{
    int gate = default_plugins[number].feature;
    return release_row_applies(build->features->release, default_plugins[number].since,
                               default_plugins[number].until) &&
           (gate == ALWAYS || build->features->enabled[gate]);
}

static bool is_disabled(const struct plugin_set *set, struct str name)
{
    list_for(&set->disabled, ref)
        if (str_eq(ref->name, name))
            return true;
    return false;
}

/* The last mention of the name among the enabled, or NULL. */
static struct plugin_ref *last_enabled(const struct plugin_set *set, struct str name)
{
    struct plugin_ref *found = NULL;
    list_for(&set->enabled, ref)
        if (str_eq(ref->name, name))
            found = ref;
    return found;
}

static int32_t default_weight(const struct config_build *build, size_t number)
{
    int32_t older = build->version->has_older_weights ? default_plugins[number].weight_v1beta2 : 0;
    return older ? older : default_plugins[number].weight;
}

/* Defaults that are not disabled, each replaced in its place by the user's word on it; then the user's others.
 * A plugin named twice stays twice: expansion refuses it. */
static void merge_multi_point(struct config_build *build, const struct plugin_set *custom,
                              struct plugin_set *ret)
{
    bool all_disabled = is_disabled(custom, STR("*"));
    size_t len_max = ARRAY_SIZE(default_plugins) + (size_t)custom->enabled.len;
    bool *replaced = arena_array(build->arena, bool, custom->enabled.len);
    struct plugin_ref *merged = arena_array(build->arena, struct plugin_ref, len_max);
    uint32_t len = 0;
    for (size_t i = 0; i < ARRAY_SIZE(default_plugins) && !all_disabled; i++) {
        struct str name = str_from(default_plugins[i].name);
        if (!is_default(build, i) || is_disabled(custom, name))
            continue;
        struct plugin_ref *own = last_enabled(custom, name);
        if (own)
            replaced[own - custom->enabled.items] = true;
        merged[len++] = own ? *own : (struct plugin_ref){ .name = name, .weight = default_weight(build, i) };
    }
    for (uint32_t i = 0; i < custom->enabled.len; i++)
        if (!replaced[i])
            merged[len++] = custom->enabled.items[i];
    *ret = *custom;
    ret->enabled.items = merged;
    ret->enabled.len = len;
}

static void merge(struct config_build *build, const struct profile_plugins *custom,
                  struct profile_config *profile)
{
    profile->plugins = *custom;
    merge_multi_point(build, &custom->sections[POINT_MULTI], &profile->plugins.sections[POINT_MULTI]);
    /* A weight says nothing where a plugin is disabled. */
    for (size_t section = 0; section < POINT_SECTIONS; section++)
        list_for(&profile->plugins.sections[section].disabled, ref)
            ref->weight = 0;
}

/* ---- arguments ---- */

static int decode_args(struct config_build *build, size_t index, const struct profile_source *source,
                       struct profile_config *profile)
{
    const struct path *list = PATH_FIELD(PATH_INDEX(PATH_FIELD(NULL, "profiles"), index), "pluginConfig");
    for (uint32_t i = 0; i < source->plugin_config.len; i++) {
        struct plugin_config_entry *entry = &source->plugin_config.items[i];
        struct plugin_args *args = &profile->args.items[profile->args.len++];
        *args = (struct plugin_args){ .plugin = entry->name, .raw = entry->args, .doc = build->doc };
        const struct catalog_plugin *plugin = catalog_find(build->catalog, entry->name);
        if (!args->plugin.ptr)
            args->plugin = STR("");
        if (!plugin || !plugin->args)
            continue;
        args->kind = plugin->args;
        int r = plugin_args_decode(plugin->args, plugin->name, build->doc, entry->args,
                                   PATH_FIELD(PATH_INDEX(list, i), "args"), build->features, build->arena,
                                   &args->typed, build->err);
        if (r < 0)
            return r;
    }
    return 0;
}

bool profile_names_plugin(const struct profile_config *profile, struct str plugin)
{
    for (size_t section = 0; section < POINT_SECTIONS; section++)
        if (last_enabled(&profile->plugins.sections[section], plugin))
            return true;
    return false;
}

/* The arguments of enabled plugins of which the file says nothing. */
static int default_args(struct config_build *build, struct profile_config *profile)
{
    for (size_t i = 0; i < build->catalog->count; i++) {
        const struct catalog_plugin *plugin = &build->catalog->plugins[i];
        struct str name = str_from(plugin->name);
        if (!plugin->args || profile_plugin_args(profile, name) || !profile_names_plugin(profile, name))
            continue;
        struct plugin_args *args = &profile->args.items[profile->args.len++];
        *args = (struct plugin_args){ .plugin = name, .kind = plugin->args };
        int r = plugin_args_decode(plugin->args, plugin->name, build->doc, NULL, NULL, build->features,
                                   build->arena, &args->typed, build->err);
        if (r < 0)
            return r;
    }
    return 0;
}

int profile_build(struct config_build *build, size_t index, struct profile_source *source,
                  struct profile_config *ret)
{
    static const struct profile_plugins nothing;
    struct profile_plugins *custom = source->plugins;
    ret->scheduler_name = source->scheduler_name;
    ret->percentage_of_nodes_to_score = source->percentage_of_nodes_to_score;
    ret->args.items =
        arena_array(build->arena, struct plugin_args, source->plugin_config.len + build->catalog->count);
    int r = renamed_replace(build, index, source);
    if (r == 0)
        r = decode_args(build, index, source, ret);
    if (r < 0)
        return r;
    if (custom)
        renamed_drop(build, index, custom, ret);
    merge(build, custom ? custom : &nothing, ret);
    return default_args(build, ret);
}

/* ---- expansion ---- */

struct expansion {
    struct config_build *build;
    struct profile_config *profile;
    uint8_t *marks; /* per plugin of the catalog; MARK_* */
};

enum { MARK_OWN = 1, MARK_DISABLED = 2, MARK_OVERRIDE = 4, MARK_MULTI = 8, MARK_WEIGHED = 16 };

static int refuse(struct expansion *expansion, yyjson_val *at, const char *format, ...) _printf_(3, 4);

static int refuse(struct expansion *expansion, yyjson_val *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str sentence = arena_vprintf(expansion->build->arena, format, args);
    va_end(args);
    return build_error(expansion->build, at,
                       "initializing profiles: creating profile for scheduler name " STR_FMT ": " STR_FMT,
                       STR_ARG(expansion->profile->scheduler_name), STR_ARG(sentence));
}

/* Misspelled, or not loaded? */
static struct str what_helps(const struct plugin_catalog *catalog, struct str name, struct arena *arena)
{
    const char *near = plugin_name_near(catalog, name);
    if (!near)
        return STR("; load it with --plugin FILE.so or --plugin-dir DIR if it is your own");
    return arena_printf(
        arena, "; did you mean %s? If it is your own, --plugin FILE.so or --plugin-dir DIR loads it", near);
}

static int find_plugin(struct expansion *expansion, const struct plugin_ref *ref, size_t point, uint32_t *ret)
{
    const struct plugin_catalog *catalog = expansion->build->catalog;
    const struct catalog_plugin *plugin = catalog_find(catalog, ref->name);
    if (plugin && release_row_applies(expansion->build->features->release, plugin->since, BEHAVIOUR_NONE)) {
        *ret = (uint32_t)(plugin - catalog->plugins);
        return 0;
    }
    struct arena *arena = expansion->build->arena;
    struct str name = quote_go_arena(arena, ref->name);
    bool may_be_loaded = !plugin && !str_empty(ref->name);
    return refuse(expansion, ref->at, "%s " STR_FMT " does not exist" STR_FMT, point_infos[point].interface,
                  STR_ARG(name), STR_ARG(may_be_loaded ? what_helps(catalog, ref->name, arena) : STR("")));
}

static bool implements(struct expansion *expansion, uint32_t plugin, size_t point)
{
    const struct catalog_plugin *info = &expansion->build->catalog->plugins[plugin];
    const struct release *release = expansion->build->features->release;
    bool is_newer = info->newer.mask & POINT_BIT(point);
    return info->points_mask & POINT_BIT(point) &&
           release_row_applies(release, point_infos[point].since, BEHAVIOUR_NONE) &&
           (!is_newer || release_has(release, info->newer.since));
}

static int already_registered(struct expansion *expansion, const struct plugin_ref *ref, size_t point)
{
    struct str name = quote_go_arena(expansion->build->arena, ref->name);
    return refuse(expansion, ref->at, "plugin " STR_FMT " already registered as \"%s\"", STR_ARG(name),
                  point_infos[point].interface);
}

static int not_extending(struct expansion *expansion, const struct plugin_ref *ref, size_t point)
{
    struct str name = quote_go_arena(expansion->build->arena, ref->name);
    return refuse(expansion, ref->at, "plugin " STR_FMT " does not extend %s plugin", STR_ARG(name),
                  point_infos[point].interface);
}

/* The plugins of a point's own section. */
static int own_plugins(struct expansion *expansion, size_t point)
{
    const struct plugin_set *section = &expansion->profile->plugins.sections[point];
    struct enabled_list *list = &expansion->profile->points[point];
    memset(expansion->marks, 0, expansion->build->catalog->count);
    list->items = arena_array(expansion->build->arena, struct enabled_plugin, section->enabled.len);
    list->len = 0;
    list_for(&section->enabled, ref) {
        uint32_t index = 0;
        int r = find_plugin(expansion, ref, point, &index);
        if (r < 0)
            return r;
        if (!implements(expansion, index, point))
            return not_extending(expansion, ref, point);
        if (expansion->marks[index] & MARK_OWN)
            return already_registered(expansion, ref, point);
        expansion->marks[index] |= MARK_OWN;
        list->items[list->len++] = (struct enabled_plugin){ .name = ref->name, .index = index };
    }
    return 0;
}

/* Notes what multiPoint has to say about a point: MARK_OVERRIDE on plugins that the point's section has too, and
 * the others in *ret. */
static int multi_plugins(struct expansion *expansion, size_t point, struct enabled_list *ret)
{
    const struct plugin_set *multi = &expansion->profile->plugins.sections[POINT_MULTI];
    list_for(&multi->enabled, ref) {
        uint32_t index = 0;
        int r = find_plugin(expansion, ref, point, &index);
        if (r < 0)
            return r;
        uint8_t *mark = &expansion->marks[index];
        if (!implements(expansion, index, point) || *mark & MARK_DISABLED)
            continue;
        if (*mark & MARK_OWN) {
            *mark |= MARK_OVERRIDE;
            continue;
        }
        if (*mark & MARK_MULTI)
            return already_registered(expansion, ref, point);
        *mark |= MARK_MULTI;
        ret->items[ret->len++] = (struct enabled_plugin){ .name = ref->name, .index = index };
    }
    return 0;
}

static void mark_section(struct expansion *expansion, size_t point)
{
    const struct plugin_catalog *catalog = expansion->build->catalog;
    const struct enabled_list *own = &expansion->profile->points[point];
    memset(expansion->marks, 0, catalog->count);
    for (uint32_t i = 0; i < own->len; i++)
        expansion->marks[own->items[i].index] |= MARK_OWN;
    for (size_t i = 0; i < catalog->count; i++)
        if (is_disabled(&expansion->profile->plugins.sections[point], str_from(catalog->plugins[i].name)))
            expansion->marks[i] |= MARK_DISABLED;
}

static int expand_point(struct expansion *expansion, size_t point)
{
    const struct plugin_set *section = &expansion->profile->plugins.sections[point];
    struct enabled_list own = expansion->profile->points[point], others = { 0 }, list = { 0 };
    if (is_disabled(section, STR("*")))
        return 0;
    mark_section(expansion, point);
    struct arena *arena = expansion->build->arena;
    uint32_t multi_len = expansion->profile->plugins.sections[POINT_MULTI].enabled.len;
    others.items = arena_array(arena, struct enabled_plugin, multi_len);
    int r = multi_plugins(expansion, point, &others);
    if (r < 0)
        return r;
    list.items = arena_array(arena, struct enabled_plugin, (size_t)own.len + others.len);
    for (uint32_t i = 0; i < own.len; i++)
        if (expansion->marks[own.items[i].index] & MARK_OVERRIDE)
            list.items[list.len++] = own.items[i];
    for (uint32_t i = 0; i < others.len; i++)
        list.items[list.len++] = others.items[i];
    for (uint32_t i = 0; i < own.len; i++)
        if (!(expansion->marks[own.items[i].index] & MARK_OVERRIDE))
            list.items[list.len++] = own.items[i];
    expansion->profile->points[point] = list;
    return 0;
}

/* The weight of a plugin is the one in the point's own section, else multiPoint's; 0 is 1. */
static int set_weights(struct expansion *expansion, size_t point, const char *what)
{
    enum { SCORE_MAX = 100 };
    struct profile_config *profile = expansion->profile;
    const struct plugin_set *sets[] = { &profile->plugins.sections[point],
                                        &profile->plugins.sections[POINT_MULTI] };
    const struct plugin_catalog *catalog = expansion->build->catalog;
    int32_t *weights = arena_array(expansion->build->arena, int32_t, catalog->count);
    int64_t total = 0;
    memset(expansion->marks, 0, catalog->count);
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
        list_for(&sets[i]->enabled, ref) {
            uint32_t index = 0;
            int r = find_plugin(expansion, ref, point, &index);
            if (r < 0)
                return r;
            if (!implements(expansion, index, point) || expansion->marks[index] & MARK_WEIGHED)
                continue;
            expansion->marks[index] |= MARK_WEIGHED;
            weights[index] = ref->weight ? ref->weight : 1;
            /* A negative weight makes this wrap in the reference, which refuses it so. */
            int64_t left = (int64_t)((uint64_t)INT64_MAX - (uint64_t)total);
            if ((int64_t)weights[index] * SCORE_MAX > left)
                return refuse(expansion, ref->at, "%s plugins: total score of Score plugins could overflow",
                              what);
            total += (int64_t)weights[index] * SCORE_MAX;
        }
    }
    struct enabled_list *list = &profile->points[point];
    for (uint32_t i = 0; i < list->len; i++)
        list->items[i].weight = weights[list->items[i].index];
    return 0;
}

/* Arguments that the reference checks when it makes the plugin. */
static int check_setup(struct expansion *expansion)
{
    struct profile_config *profile = expansion->profile;
    list_for(&profile->args, args) {
        if (!args->kind || !args->kind->validated_at_setup || !profile_names_plugin(profile, args->plugin))
            continue;
        struct problems problems = { .root = args->raw };
        args->kind->validate(args->typed, NULL, expansion->build->features, &problems);
        struct str prefix = arena_printf(expansion->build->arena,
                                         "initializing profiles: creating profile for scheduler name " STR_FMT
                                         ": initializing plugin \"" STR_FMT "\": ",
                                         STR_ARG(profile->scheduler_name), STR_ARG(args->plugin));
        int r = problems_report(&problems, expansion->build->doc, prefix.ptr, expansion->build->err);
        problems_release(&problems);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_counts(struct expansion *expansion, yyjson_val *at)
{
    struct profile_config *profile = expansion->profile;
    struct str name = quote_go_arena(expansion->build->arena, profile->scheduler_name);
    if (profile->points[POINT_QUEUE_SORT].len != 1)
        return refuse(expansion, at,
                      "only one queue sort plugin required for profile with scheduler name " STR_FMT
                      ", but got %u",
                      STR_ARG(name), profile->points[POINT_QUEUE_SORT].len);
    if (profile->points[POINT_BIND].len == 0)
        return refuse(expansion, at,
                      "at least one bind plugin is needed for profile with scheduler name " STR_FMT,
                      STR_ARG(name));
    if (profile->points[POINT_PLACEMENT_GENERATE].len > 1)
        return refuse(
            expansion, at,
            "at most one placement generate plugin is allowed for profile with scheduler name " STR_FMT,
            STR_ARG(name));
    return 0;
}

int profile_expand(struct config_build *build, size_t index, struct profile_config *profile)
{
    struct expansion expansion = {
        .build = build,
        .profile = profile,
        .marks = arena_array(build->arena, uint8_t, build->catalog->count),
    };
    const struct path *path = PATH_FIELD(PATH_INDEX(PATH_FIELD(NULL, "profiles"), index), "plugins");
    int r = check_setup(&expansion);
    for (size_t point = 0; point < POINT_COUNT && r == 0; point++)
        r = own_plugins(&expansion, point);
    if (profile->plugins.sections[POINT_MULTI].enabled.len)
        for (size_t point = 0; point < POINT_COUNT && r == 0; point++)
            r = expand_point(&expansion, point);
    if (r == 0)
        r = check_counts(&expansion, path_resolve(build->root, path));
    if (r == 0)
        r = set_weights(&expansion, POINT_SCORE, "score");
    if (r == 0)
        r = set_weights(&expansion, POINT_PLACEMENT_SCORE, "placement score");
    return r;
}
