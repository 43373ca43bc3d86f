/* wanted_kinds.c: see wanted_kinds.h. */
#include "input/wanted_kinds.h"

#include "api/extra_kinds.h"

static void add(struct wanted_kinds *kinds, struct watched_kind watched, const char *whose)
{
    vec_for(&kinds->list, row)
        if (row->watched.kind == watched.kind)
            return;
    *vec_push(&kinds->list) = (struct listed_kind){ watched, whose };
}

static uint64_t listed(uint64_t kinds)
{
    uint64_t samples = UINT64_C(1) << KIND_NODE_METRICS | UINT64_C(1) << KIND_POD_METRICS;
    return (kinds & samples) | extra_kinds_of_servers(kinds);
}

static void add_plugins(struct wanted_kinds *kinds, const struct profile *profile)
{
    for (uint32_t i = 0; i < profile->plugins_len; i++) {
        uint64_t wanted = listed(plugin_wanted_kinds(&profile->plugins[i]));
        const char *whose =
            wanted ? arena_printf(&kinds->arena, "the plugin %s", profile->plugins[i].plugin->name).ptr : "";
        for (int kind = 0; kind < KIND_COUNT; kind++)
            if (wanted >> kind & 1)
                add(kinds, watched_for_plugins((enum api_kind)kind, &kinds->arena), whose);
    }
}

static int ask_plugins(struct wanted_kinds *kinds, const struct wanted_options *options, struct error *err)
{
    struct cluster cluster;
    int r = 0;
    cluster_init(&cluster);
    if (options->features)
        cluster.features = *options->features;
    for (uint32_t i = 0; i < options->config->profiles.len && r == 0; i++) {
        struct profile profile;
        r = profile_init(&profile, options->registry, &options->config->profiles.items[i], &cluster, err);
        if (r == 0)
            add_plugins(kinds, &profile);
        profile_release(&profile);
    }
    cluster_release(&cluster);
    return r;
}

static struct watched_kind row_of(enum api_kind kind, const char *resource)
{
    return (struct watched_kind){
        .kind = kind, .resource = resource, .page_len = 500, .older_versions = "", .field_selector = ""
    };
}

/* As for the live scheduler: live/policy_watch.c. */
static void add_policies(struct wanted_kinds *kinds, const struct wanted_options *options)
{
    struct str name = str_from(options->policy_config_map ? options->policy_config_map : "");
    struct str namespace = str_cut(&name, '/');
    struct watched_kind map = row_of(KIND_CONFIG_MAP, "configmaps");
    add(kinds, row_of(KIND_PRIORITY_CLASS, "priorityclasses"), "scheduling policies");
    if (!options->policy_config_map)
        return;
    map.field_selector = arena_printf(&kinds->arena, "metadata.name=" STR_FMT, STR_ARG(name)).ptr;
    map.namespace = arena_str(&kinds->arena, namespace).ptr;
    add(kinds, map, "scheduling policies");
}

int wanted_kinds_find(struct wanted_kinds *kinds, const struct wanted_options *options, struct error *err)
{
    if (options->has_policies)
        add_policies(kinds, options);
    return ask_plugins(kinds, options, err);
}

void wanted_kinds_release(struct wanted_kinds *kinds)
{
    vec_release(&kinds->list);
    arena_release(&kinds->arena);
}
