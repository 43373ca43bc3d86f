/* config.h: KubeSchedulerConfiguration, read, completed with defaults, checked, and worked out per profile.
 *
 *     file ──decode (strict)──▶ defaults, merge ──▶ validate ──▶ expand multiPoint ──▶ struct scheduler_config
 *
 * kubescheduler.config.k8s.io/v1 is read as the release's kube-scheduler reads it. v1beta3 and v1beta2 are read the
 * same way, with their own defaults and a warning. What is wrong is said in the reference's sentences, behind file,
 * line and column.
 *
 * Which plugins there are, and at which extension points, is told from above by a struct plugin_catalog: this
 * layer knows no plugin but by name. */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "api/types.h"
#include "base/arena.h"
#include "base/vec.h"
#include "codec/doc.h"
#include "config/features.h"
#include "config/plugin_args.h"
#include "config/points.h"

struct catalog_plugin {
    const char *name;
    uint32_t points_mask;                /* POINT_BIT() of each extension point that it implements */
    const struct plugin_args_kind *args; /* NULL: it has none, or decodes them itself */
    struct newer_points newer;           /* of points_mask */
    enum behaviour since;                /* what it came with */
    /* Of points_mask, where it fails for every pod unless it is enabled at PreFilter, or at PreScore. */
    uint32_t needs_pre_filter, needs_pre_score;
};

/* The plugins that exist. Names are unique. */
struct plugin_catalog {
    size_t count;
    const struct catalog_plugin *plugins;
};
/* NULL: there is no such plugin. */
const struct catalog_plugin *catalog_find(const struct plugin_catalog *catalog, struct str name);

/* Things that are accepted and that a user should know of; sentences that live in the arena of the load. */
struct warnings {
    VEC(struct str) list;
};
void warnings_release(struct warnings *warnings);

/* A plugin as a section of the configuration names it. */
struct plugin_ref {
    struct str name;
    int32_t weight; /* 0: none is given */
    yyjson_val *at; /* where it was read; NULL for a default */
};

struct plugin_set {
    LIST(struct plugin_ref) enabled, disabled;
};

struct profile_plugins {
    struct plugin_set sections[POINT_SECTIONS];
};

/* A plugin that runs at an extension point. */
struct enabled_plugin {
    struct str name;
    uint32_t index; /* in the catalog */
    int32_t weight; /* Score and PlacementScore: not 0; elsewhere 0 */
};

struct enabled_list {
    struct enabled_plugin *items;
    uint32_t len;
};

/* The arguments of one plugin. */
struct plugin_args {
    struct str plugin;
    yyjson_val *raw;                     /* as written, for a plugin's own table; NULL when absent or null */
    const struct plugin_args_kind *kind; /* of its plugin in the catalog; NULL: none */
    void *typed;                         /* of that kind, with defaults; NULL without one */
    const struct doc *doc;               /* of `raw` */
};

struct profile_config {
    struct str scheduler_name;
    struct opt_int32 percentage_of_nodes_to_score; /* absent: the scheduler's */
    struct enabled_list points[POINT_COUNT];       /* what runs, in order */
    struct profile_plugins plugins; /* the user's choice merged with the defaults, unexpanded */
    LIST(struct plugin_args) args;  /* as written, then the defaults of the others by name */
};

struct leader_election_config {
    bool leader_elect;
    bool names_lease; /* the name of the lease is given, and no default */
    int64_t lease_duration_ns, renew_deadline_ns, retry_period_ns;
    struct str resource_lock, resource_name, resource_namespace;
};

struct client_connection_config {
    struct str kubeconfig, accept_content_types, content_type;
    double qps; /* negative: unlimited */
    int32_t burst;
};

struct extender_tls_config {
    bool insecure;
    struct str server_name, cert_file, key_file, ca_file;
    struct str cert_data, key_data, ca_data; /* bytes; before the files */
};

struct managed_resource {
    struct str name;
    bool ignored_by_scheduler;
};

struct extender_config {
    struct str url_prefix, filter_verb, preempt_verb, prioritize_verb, bind_verb;
    int64_t weight;
    bool enable_https, node_cache_capable, ignorable;
    struct extender_tls_config *tls; /* NULL: none */
    int64_t http_timeout_ns;
    LIST(struct managed_resource) managed_resources;
};

struct config_file;

struct scheduler_config {
    struct str api_version;        /* of the file */
    const struct release *release; /* whose configuration it is */
    int32_t parallelism;
    struct leader_election_config leader_election;
    struct client_connection_config client_connection;
    bool enable_profiling, enable_contention_profiling;
    struct opt_int32 percentage_of_nodes_to_score; /* 0: adaptive; always set after loading */
    int64_t pod_initial_backoff_seconds, pod_max_backoff_seconds;
    bool delay_cache_until_active;
    LIST(struct extender_config) extenders;       /* in the order of calls: ignorable ones last */
    struct extender_config *extenders_as_written; /* as many, in the order of the file */
    LIST(struct profile_config) profiles;         /* at least one */

    struct config_file *file; /* what the raw arguments point into; NULL when the caller keeps it */
};

/* What a configuration is read against. */
struct config_env {
    const struct plugin_catalog *catalog;
    const struct features *features; /* NULL: the defaults */
    /* Has the last word on the scheduler's settings before they are checked; may be NULL. */
    void (*override)(const void *context, struct scheduler_config *config);
    const void *override_context;
    struct str scheduler_name; /* of the profile where no file is read; empty: default-scheduler */
};

/* Reads a file ("-": standard input). Everything but raw arguments lives in the arena; raw arguments live until
 * config_release(), which comes before the arena's end. `warnings` may be NULL. On failure nothing is left to
 * release, and err says file:line:column: field: what is wrong. */
int config_load(const char *path, const struct config_env *env, struct arena *arena,
                struct scheduler_config *ret, struct warnings *warnings, struct error *err);
/* The same from a text in memory; takes over `text`, as doc_stream_init() does. */
int config_load_text(const char *path, char *text, size_t len, const struct config_env *env,
                     struct arena *arena, struct scheduler_config *ret, struct warnings *warnings,
                     struct error *err);
/* What kube-scheduler runs with when no file is given: one profile, default-scheduler. */
int config_default(const struct config_env *env, struct arena *arena, struct scheduler_config *ret,
                   struct error *err);
void config_release(struct scheduler_config *config);
/* The plugins that a configuration enables anywhere, each once, in the arena; the caller releases the list. A text that
 * cannot be read has none: reading it as a configuration says what is wrong. */
struct config_names {
    struct str *items;
    size_t len, cap;
};
void config_plugin_names(struct str text, struct arena *arena, struct config_names *ret);
/* The arguments of a plugin in this profile, or NULL. */
const struct plugin_args *profile_plugin_args(const struct profile_config *profile, struct str plugin);
/* The decoded arguments of a built-in plugin that has some; never NULL where the plugin is enabled. */
const void *profile_args(const struct profile_config *profile, const char *plugin);
/* The profile of that scheduler name, or NULL. */
const struct profile_config *config_profile(const struct scheduler_config *config, struct str scheduler_name);

#endif
