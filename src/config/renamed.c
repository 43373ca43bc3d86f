/* renamed.c: plugins that older releases had.
 *
 * Configurations outlive releases. Where another plugin does today what an old one did, the old name in a list of
 * enabled plugins is dropped and a warning says what covers it; kube-scheduler refuses such files. A name that
 * nothing covers stays, and is refused later like any unknown plugin. Disabling an old plugin means nothing. */
#include "config/build.h"

static const struct {
    const char *name, *covered_by;
    enum scoring_type scoring; /* covered only where NodeResourcesFit scores like this; UNKNOWN: always */
} renamed[] = {
    { "AzureDiskLimits", "NodeVolumeLimits", SCORING_UNKNOWN },
    { "CinderLimits", "NodeVolumeLimits", SCORING_UNKNOWN },
    { "EBSLimits", "NodeVolumeLimits", SCORING_UNKNOWN },
    { "GCEPDLimits", "NodeVolumeLimits", SCORING_UNKNOWN },
    { "NonCSILimits", "NodeVolumeLimits", SCORING_UNKNOWN },
    { "NodePreferAvoidPods", "TaintToleration", SCORING_UNKNOWN },
    { "DefaultPodTopologySpread", "PodTopologySpread", SCORING_UNKNOWN },
    { "SelectorSpread", "PodTopologySpread", SCORING_UNKNOWN },
    { "NodeResourcesLeastAllocated", "NodeResourcesFit", SCORING_LEAST_ALLOCATED },
    { "NodeResourcesMostAllocated", "NodeResourcesFit", SCORING_MOST_ALLOCATED },
    { "RequestedToCapacityRatio", "NodeResourcesFit", SCORING_REQUESTED_TO_CAPACITY },
};

static const char *covered_by(struct str name, enum scoring_type scoring)
{
    for (size_t i = 0; i < ARRAY_SIZE(renamed); i++)
        if (str_is(name, renamed[i].name) &&
            (renamed[i].scoring == SCORING_UNKNOWN || renamed[i].scoring == scoring))
            return renamed[i].covered_by;
    return NULL;
}

static bool in_catalog(const struct plugin_catalog *catalog, struct str name)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (str_is(name, catalog->plugins[i].name))
            return true;
    return false;
}

void renamed_drop(struct config_build *build, size_t profile, struct profile_plugins *plugins,
                  enum scoring_type scoring)
{
    for (size_t section = 0; section < POINT_SECTIONS; section++) {
        struct plugin_set *set = &plugins->sections[section];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < set->enabled.len; i++) {
            struct plugin_ref ref = set->enabled.items[i];
            const char *cover = covered_by(ref.name, scoring);
            /* An out-of-tree plugin may well have taken an old name. */
            if (!cover || in_catalog(build->catalog, ref.name)) {
                set->enabled.items[kept++] = ref;
                continue;
            }
            build_warn(build,
                       "profiles[%zu].plugins.%s.enabled[%u]: the plugin %.*s no longer exists; "
                       "%s covers it, and it is left out",
                       profile, point_infos[section].field, i, STR_ARG(ref.name), cover);
        }
        set->enabled.len = kept;
    }
}
