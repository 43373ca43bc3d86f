/* needs.c: plugins that are enabled at a point and cannot work there, and arguments of plugins that are not enabled.
 *
 * Some plugins prepare at PreFilter or PreScore what they use later. A configuration that disables them there alone
 * is valid, in kube-scheduler as well, and pods then fail with an error of the plugin: a warning says so at start. */
#include "config/build.h"

/* In the order in which a decision fails. */
static const struct {
    enum extension_point point;
    const char *consequence;
} failures[] = {
    { POINT_FILTER, "no pod is scheduled" },
    { POINT_PRE_SCORE, "a pod that fits on several nodes is not scheduled" },
    { POINT_SCORE, "a pod that fits on several nodes is not scheduled" },
};

static bool runs_at(const struct profile_config *profile, enum extension_point point, size_t plugin)
{
    const struct enabled_list *list = &profile->points[point];
    for (uint32_t i = 0; i < list->len; i++)
        if (list->items[i].index == plugin)
            return true;
    return false;
}

static void warn_without(struct config_build *build, const struct profile_config *profile, size_t plugin,
                         enum extension_point before, uint32_t needed_at)
{
    _cleanup_(strbuf_release) struct strbuf fields = { 0 };
    const char *consequence = NULL;
    if (!needed_at || runs_at(profile, before, plugin))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        enum extension_point point = failures[i].point;
        if (!(needed_at & POINT_BIT(point)) || !runs_at(profile, point, plugin))
            continue;
        strbuf_printf(&fields, "%s%s", fields.len ? " and " : "", point_infos[point].field);
        consequence = consequence ? consequence : failures[i].consequence;
    }
    if (consequence)
        build_warn(
            build,
            "profile " STR_FMT
            ": the plugin %s is enabled at %s, but not at %s, without which it fails: %s; disable it at "
            "%s as well, or enable it at %s",
            STR_ARG(profile->scheduler_name), build->catalog->plugins[plugin].name, fields.text,
            point_infos[before].field, consequence, fields.text, point_infos[before].field);
}

/* An alias of a plugin is another name: the arguments of one are not those of the other. Arguments of built-in plugins
 * are often there for other profiles. */
static void warn_of_args(struct config_build *build, const struct profile_config *profile)
{
    list_for(&profile->args, args)
        if (!args->kind && args->raw && !profile_names_plugin(profile, args->plugin))
            build_warn(build,
                       "profile " STR_FMT ": the arguments of " STR_FMT
                       " have no effect: the profile enables no plugin of that name",
                       STR_ARG(profile->scheduler_name), STR_ARG(args->plugin));
}

void needs_warn(struct config_build *build, const struct profile_config *profile)
{
    for (size_t i = 0; i < build->catalog->count; i++) {
        const struct catalog_plugin *plugin = &build->catalog->plugins[i];
        warn_without(build, profile, i, POINT_PRE_FILTER, plugin->needs_pre_filter);
        warn_without(build, profile, i, POINT_PRE_SCORE, plugin->needs_pre_score);
    }
    warn_of_args(build, profile);
}
