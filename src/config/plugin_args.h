/* plugin_args.h: the arguments of a built-in plugin, decoded, with their defaults.
 *
 * A plugin's descriptor names a struct plugin_args_kind, which lives beside the plugin and makes a struct of the
 * plugin's own from what the configuration says. The catalog (config.h) carries it here. The arguments of a plugin
 * without one stay a subtree, as those of plugins from shared objects do. */
#ifndef CONFIG_PLUGIN_ARGS_H
#define CONFIG_PLUGIN_ARGS_H

#include "codec/problems.h"
#include "config/features.h"
#include "config/kinds.h"

struct plugin_args_kind {
    const struct record_type *type;
    /* Before decoding: what absent fields are. After: what depends on the rest. Either may be NULL. */
    void (*preset)(void *args, const struct features *features);
    void (*complete)(void *args, const struct features *features, struct arena *arena);
    /* A path of NULL stands for the arguments themselves. */
    void (*validate)(const void *args, const struct path *path, const struct features *features,
                     struct problems *problems);
    /* Checked when the plugin is set up, not with the configuration: says nothing when it is not enabled. */
    bool validated_at_setup;
    /* The resources that extenders manage are none of this plugin's. NULL: it has nothing to do with resources. */
    void (*ignore)(void *args, struct str_list resources);
    /* These arguments with other weights of resources, in the arena. NULL: it has no such weights. */
    const void *(*reweigh)(const void *args, const struct weight_map *weights, struct arena *arena);
    /* Does the plugin, with these arguments (NULL: its defaults), do what that plugin of older releases did? NULL:
     * always. */
    bool (*covers)(const void *args, struct str plugin);
};

/* Decodes into the arena and fills in defaults; val may be NULL or null. */
int plugin_args_decode(const struct plugin_args_kind *kind, const char *plugin, const struct doc *doc,
                       yyjson_val *val, const struct path *path, const struct features *features,
                       struct arena *arena, void **ret, struct error *err);

/* Each fault of a label key, which resource names are as well, as a problem of its own. */
void problem_label_key(struct problems *problems, const struct path *path, struct str name);

#endif
