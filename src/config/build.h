/* build.h: what the files of this layer share while a configuration is put together. */
#ifndef CONFIG_BUILD_H
#define CONFIG_BUILD_H

#include "config/api_versions.h"
#include "config/config.h"
#include "config/kinds.h"

enum { CONFIG_PROFILES_MAX = 1000 };

/* A profile as it is written. */
struct plugin_config_entry {
    struct str name;
    yyjson_val *args;
};
struct profile_source {
    struct str scheduler_name;
    struct opt_int32 percentage_of_nodes_to_score;
    struct profile_plugins *plugins; /* NULL: none */
    LIST(struct plugin_config_entry) plugin_config;
};

struct config_build {
    const struct doc *doc; /* NULL: nothing is read */
    yyjson_val *root;
    const struct api_version *version; /* of the document */
    const struct config_env *env;
    const struct plugin_catalog *catalog;
    const struct features *features;
    struct arena *arena;
    struct warnings *warnings; /* may be NULL */
    struct error *err;
    struct scheduler_config *config;
};

void build_warn(struct config_build *build, const char *format, ...) _printf_(2, 3);
/* An error at the place of `at`; NULL: at the beginning of the document. */
int build_error(struct config_build *build, yyjson_val *at, const char *format, ...) _printf_(3, 4);

/* source.c: the tables of the configuration, which read it and write it. */

/* The file: the scheduler's settings, and beside them what needs more work. */
struct source {
    struct scheduler_config config;
    struct opt_bool contention_profiling;
    struct str healthz_address, metrics_address; /* where api_version.has_insecure_addresses */
    LIST(struct profile_source) profiles;
};
RECORD_TYPE(source, struct source);
RECORD_TYPE(source_plugins, struct profile_plugins);
/* The fields of the configuration that the release knows. */
struct record_version release_fields(const struct release *release);

/* Decoding. Fills in the scheduler's settings and gives out the profiles as written. */
struct profile_sources {
    struct profile_source *items;
    uint32_t len;
};
int source_decode(struct config_build *build, struct profile_sources *ret);

/* renamed.c: names that kube-scheduler does not have. Puts the plugin's own name in the place of an alias, with a
 * warning; a list with both is an error. */
int renamed_replace(struct config_build *build, size_t index, struct profile_source *source);
/* Drops enabled plugins of older releases that another plugin covers, with a warning. */
void renamed_drop(struct config_build *build, size_t index, struct profile_plugins *plugins,
                  const struct profile_config *profile);

/* profile.c: arguments, merging with the defaults, expansion. */
int profile_build(struct config_build *build, size_t index, struct profile_source *source,
                  struct profile_config *ret);
/* Is the plugin enabled in a section? */
bool profile_names_plugin(const struct profile_config *profile, struct str plugin);
/* After validation: what runs at each extension point. */
int profile_expand(struct config_build *build, size_t index, struct profile_config *profile);

/* needs.c: after expansion. Warns of plugins that fail because they are not enabled where they prepare, and of
 * arguments without effect. */
void needs_warn(struct config_build *build, const struct profile_config *profile);

/* validate.c: the scheduler's settings, profiles and extenders. */
int validate_config(struct config_build *build);

#endif
