/* renamed.c: plugins that older releases had.
 *
 * Configurations outlive releases. Where another plugin does today what an old one did, the old name in a list of
 * enabled plugins is dropped and a warning says what covers it; kube-scheduler refuses such files. A name that
 * nothing covers stays, and is refused later like any unknown plugin. Disabling an old plugin means nothing. */
#include "config/build.h"

static const struct {
    const char *name, *covered_by;
} renamed[] = {
    { "AzureDiskLimits", "NodeVolumeLimits" },
    { "CinderLimits", "NodeVolumeLimits" },
    { "EBSLimits", "NodeVolumeLimits" },
    { "GCEPDLimits", "NodeVolumeLimits" },
    { "NonCSILimits", "NodeVolumeLimits" },
    { "NodePreferAvoidPods", "TaintToleration" },
    { "DefaultPodTopologySpread", "PodTopologySpread" },
    { "SelectorSpread", "PodTopologySpread" },
    { "NodeResourcesLeastAllocated", "NodeResourcesFit" },
    { "NodeResourcesMostAllocated", "NodeResourcesFit" },
    { "RequestedToCapacityRatio", "NodeResourcesFit" },
};

/* The plugin that does today what the old one did, with the arguments that it has in this profile; or NULL. */
static const char *covered_by(const struct plugin_catalog *catalog, const struct profile_config *profile,
                              struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(renamed); i++) {
        if (!str_is(name, renamed[i].name))
            continue;
        const struct catalog_plugin *plugin = catalog_find(catalog, str_from(renamed[i].covered_by));
        bool covers = !plugin || !plugin->args || !plugin->args->covers ||
                      plugin->args->covers(profile_args(profile, plugin->name), name);
        return covers ? renamed[i].covered_by : NULL;
    }
    return NULL;
}

void renamed_drop(struct config_build *build, size_t index, struct profile_plugins *plugins,
                  const struct profile_config *profile)
{
    for (size_t section = 0; section < POINT_SECTIONS; section++) {
        struct plugin_set *set = &plugins->sections[section];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < set->enabled.len; i++) {
            struct plugin_ref ref = set->enabled.items[i];
            const char *cover = covered_by(build->catalog, profile, ref.name);
            /* An out-of-tree plugin may well have taken an old name. */
            if (!cover || catalog_find(build->catalog, ref.name)) {
                set->enabled.items[kept++] = ref;
                continue;
            }
            build_warn(build,
                       "profiles[%zu].plugins.%s.enabled[%u]: the plugin %.*s no longer exists; "
                       "%s covers it, and it is left out",
                       index, point_infos[section].field, i, STR_ARG(ref.name), cover);
        }
        set->enabled.len = kept;
    }
}
