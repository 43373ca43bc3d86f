/* renamed.c: names of plugins that kube-scheduler does not have, or no longer has.
 *
 * Configurations outlive releases. Where another plugin does today what an old one did, the old name in a list of
 * enabled plugins is dropped and a warning says what covers it; kube-scheduler refuses such files. A name that
 * nothing covers stays, and is refused later like any unknown plugin. Disabling an old plugin means nothing.
 *
 * An alias is another name of a plugin: it is replaced wherever it stands. */
#include "config/build.h"

/* The volumes that they counted are those of CSI drivers now. */
#define CSI_LIMITS "NodeVolumeLimits", " (limits of CSI drivers)"

static const struct {
    const char *name, *covered_by, *how;
} renamed[] = {
    { "AzureDiskLimits", CSI_LIMITS },
    { "CinderLimits", CSI_LIMITS },
    { "EBSLimits", CSI_LIMITS },
    { "GCEPDLimits", CSI_LIMITS },
    { "NonCSILimits", CSI_LIMITS },
    { "NodePreferAvoidPods", "TaintToleration", "" },
    { "DefaultPodTopologySpread", "PodTopologySpread", "" },
    { "SelectorSpread", "PodTopologySpread", "" },
    { "NodeResourcesLeastAllocated", "NodeResourcesFit", "" },
    { "NodeResourcesMostAllocated", "NodeResourcesFit", "" },
    { "RequestedToCapacityRatio", "NodeResourcesFit", "" },
};
#undef CSI_LIMITS

static const struct {
    const char *name, *plugin;
} aliases[] = {
    { "NodeAffinityPlugin", "NodeAffinity" },
};

/* ---- plugins that are gone ---- */

/* The row of the plugin that does today what the old one did, with the arguments that it has in this profile; or -1. */
static int find_cover(const struct plugin_catalog *catalog, const struct profile_config *profile,
                      struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(renamed); i++) {
        if (!str_is(name, renamed[i].name))
            continue;
        const struct catalog_plugin *plugin = catalog_find(catalog, str_from(renamed[i].covered_by));
        bool covers = !plugin || !plugin->args || !plugin->args->covers ||
                      plugin->args->covers(profile_args(profile, plugin->name), name);
        return covers ? (int)i : -1;
    }
    return -1;
}

void renamed_drop(struct config_build *build, size_t index, struct profile_plugins *plugins,
                  const struct profile_config *profile)
{
    for (size_t section = 0; section < POINT_SECTIONS; section++) {
        struct plugin_set *set = &plugins->sections[section];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < set->enabled.len; i++) {
            struct plugin_ref ref = set->enabled.items[i];
            int cover = find_cover(build->catalog, profile, ref.name);
            /* An out-of-tree plugin may well have taken an old name. */
            if (cover < 0 || catalog_find(build->catalog, ref.name)) {
                set->enabled.items[kept++] = ref;
                continue;
            }
            build_warn(build,
                       "profiles[%zu].plugins.%s.enabled[%u]: the plugin %.*s no longer exists; "
                       "%s%s covers it, and it is left out",
                       index, point_infos[section].field, i, STR_ARG(ref.name), renamed[cover].covered_by,
                       renamed[cover].how);
        }
        set->enabled.len = kept;
    }
}

/* ---- aliases ---- */

/* The plugin that the name is another one of, or NULL. A loaded plugin may have that name itself. */
static const char *alias_of(const struct plugin_catalog *catalog, struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
        if (str_is(name, aliases[i].name))
            return catalog_find(catalog, name) ? NULL : aliases[i].plugin;
    return NULL;
}

static bool is_listed(const struct plugin_ref *refs, uint32_t len, const char *name)
{
    for (uint32_t i = 0; i < len; i++)
        if (str_is(refs[i].name, name))
            return true;
    return false;
}

static int replace_in_list(struct config_build *build, const char *path, struct plugin_ref *refs,
                           uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        struct str name = refs[i].name;
        const char *plugin = alias_of(build->catalog, name);
        if (!plugin)
            continue;
        if (is_listed(refs, len, plugin))
            return build_error(build, refs[i].at,
                               "%s[%u].name: Duplicate value: \"" STR_FMT
                               "\": it is another name of %s, which the list has already",
                               path, i, STR_ARG(name), plugin);
        build_warn(build, "%s[%u]: " STR_FMT " is read as %s, which is the name to write", path, i,
                   STR_ARG(name), plugin);
        refs[i].name = str_from(plugin);
    }
    return 0;
}

static int replace_in_section(struct config_build *build, size_t index, struct profile_plugins *plugins,
                              size_t section)
{
    struct plugin_set *set = &plugins->sections[section];
    struct str path =
        arena_printf(build->arena, "profiles[%zu].plugins.%s", index, point_infos[section].field);
    struct str enabled = arena_printf(build->arena, "%s.enabled", path.ptr);
    struct str disabled = arena_printf(build->arena, "%s.disabled", path.ptr);
    int r = replace_in_list(build, enabled.ptr, set->enabled.items, set->enabled.len);
    return r < 0 ? r : replace_in_list(build, disabled.ptr, set->disabled.items, set->disabled.len);
}

int renamed_replace(struct config_build *build, size_t index, struct profile_source *source)
{
    int r = 0;
    for (size_t section = 0; source->plugins && section < POINT_SECTIONS && r == 0; section++)
        r = replace_in_section(build, index, source->plugins, section);
    list_for(&source->plugin_config, entry) {
        const char *plugin = alias_of(build->catalog, entry->name);
        if (!plugin)
            continue;
        build_warn(build, "profiles[%zu].pluginConfig: " STR_FMT " is read as %s, which is the name to write",
                   index, STR_ARG(entry->name), plugin);
        entry->name = str_from(plugin);
    }
    return r;
}
