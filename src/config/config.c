/* config.c: the way of a configuration, from a file to what the scheduler runs with. */
#include "config/config.h"

#include "config/build.h"

struct config_file {
    struct doc_stream stream;
    struct doc doc;
};

const struct catalog_plugin *catalog_find(const struct plugin_catalog *catalog, struct str name)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (str_is(name, catalog->plugins[i].name))
            return &catalog->plugins[i];
    return NULL;
}

void warnings_release(struct warnings *warnings)
{
    vec_release(&warnings->list);
}

void build_warn(struct config_build *build, const char *format, ...)
{
    enum { WARNINGS_MAX = 100 };
    if (!build->warnings || build->warnings->list.len >= WARNINGS_MAX)
        return;
    va_list args;
    va_start(args, format);
    *vec_push(&build->warnings->list) = arena_vprintf(build->arena, format, args);
    va_end(args);
}

int build_error(struct config_build *build, yyjson_val *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str sentence = arena_vprintf(build->arena, format, args);
    va_end(args);
    if (!build->doc)
        return error_set(build->err, -EINVAL, STR_FMT, STR_ARG(sentence));
    return doc_error(build->doc, at ? at : build->root, -EINVAL, build->err, STR_FMT, STR_ARG(sentence));
}

/* Resources that an extender takes care of are none of NodeResourcesFit's business. */
static int ignore_managed_resources(struct config_build *build)
{
    size_t len_max = 0;
    list_for(&build->config->extenders, extender)
        len_max += extender->managed_resources.len;
    struct str_list names = { arena_array(build->arena, struct str, len_max), 0 };
    list_for(&build->config->extenders, extender)
        list_for(&extender->managed_resources, resource)
            if (resource->ignored_by_scheduler)
                names.items[names.len++] = resource->name;
    for (uint32_t i = 0; names.len && i < build->config->profiles.len; i++) {
        bool found = false;
        list_for(&build->config->profiles.items[i].args, args) {
            if (!args->kind || !args->kind->ignore)
                continue;
            args->kind->ignore(args->typed, names);
            found = true;
        }
        if (!found)
            return build_error(build, NULL,
                               "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config");
    }
    return 0;
}

/* An extender that may fail is called after those that may not. */
static void order_extenders(struct config_build *build)
{
    struct scheduler_config *config = build->config;
    struct extender_config *ordered =
        arena_array(build->arena, struct extender_config, config->extenders.len);
    uint32_t len = 0;
    for (int ignorable = 0; ignorable <= 1; ignorable++)
        list_for(&config->extenders, extender)
            if (extender->ignorable == (bool)ignorable)
                ordered[len++] = *extender;
    config->extenders_as_written = config->extenders.items;
    config->extenders.items = ordered;
}

static int build_extenders(struct config_build *build)
{
    list_for(&build->config->extenders, extender) {
        const struct extender_tls_config *tls = extender->tls;
        if (tls && tls->insecure && (!str_empty(tls->ca_data) || !str_empty(tls->ca_file)))
            return build_error(build, yyjson_obj_get(build->root, "extenders"),
                               "couldn't build extenders: specifying a root certificates file with the "
                               "insecure flag is not allowed");
    }
    order_extenders(build);
    return ignore_managed_resources(build);
}

/* All profiles feed one queue: they must sort it alike. */
static int check_queue_sort(struct config_build *build, size_t index)
{
    const struct profile_config *first = &build->config->profiles.items[0];
    const struct profile_config *profile = &build->config->profiles.items[index];
    struct str name = profile->points[POINT_QUEUE_SORT].items[0].name;
    struct str wanted = first->points[POINT_QUEUE_SORT].items[0].name;
    yyjson_val *at = path_resolve(build->root, PATH_INDEX(PATH_FIELD(NULL, "profiles"), index));
    struct str quoted = quote_go_arena(build->arena, profile->scheduler_name);
    if (!str_eq(name, wanted)) {
        struct str got = quote_go_arena(build->arena, name),
                   first_name = quote_go_arena(build->arena, wanted);
        return build_error(build, at,
                           "initializing profiles: different queue sort plugins for profile " STR_FMT
                           ": " STR_FMT ", first: " STR_FMT,
                           STR_ARG(quoted), STR_ARG(got), STR_ARG(first_name));
    }
    const struct plugin_args *args = profile_plugin_args(profile, name);
    const struct plugin_args *first_args = profile_plugin_args(first, name);
    yyjson_val *raw = args ? args->raw : NULL, *first_raw = first_args ? first_args->raw : NULL;
    if (raw == first_raw || (raw && first_raw && yyjson_equals(raw, first_raw)))
        return 0;
    return build_error(build, at,
                       "initializing profiles: different queue sort plugin args for profile " STR_FMT,
                       STR_ARG(quoted));
}

static int build_config(struct config_build *build)
{
    struct scheduler_config *config = build->config;
    struct profile_sources sources;
    int r = source_decode(build, &sources);
    if (r < 0)
        return r;
    if (build->env->override)
        build->env->override(build->env->override_context, config);
    config->percentage_of_nodes_to_score.set = true;
    config->profiles.items = arena_array(build->arena, struct profile_config, sources.len);
    config->profiles.len = sources.len;
    for (uint32_t i = 0; i < sources.len && r == 0; i++)
        r = profile_build(build, i, &sources.items[i], &config->profiles.items[i]);
    if (r == 0)
        r = validate_config(build);
    if (r == 0)
        r = build_extenders(build);
    for (uint32_t i = 0; i < sources.len && r == 0; i++) {
        r = profile_expand(build, i, &config->profiles.items[i]);
        if (r == 0)
            r = check_queue_sort(build, i);
        if (r == 0)
            needs_warn(build, &config->profiles.items[i]);
    }
    return r;
}

static int config_build(const struct doc *doc, yyjson_val *root, const struct config_env *env,
                        struct arena *arena, struct scheduler_config *ret, struct warnings *warnings,
                        struct error *err)
{
    struct features features;
    struct scheduler_config config = { 0 };
    features_default(&features, NULL, 0);
    struct config_build build = {
        .doc = doc,
        .root = root,
        .env = env,
        .catalog = env->catalog,
        .features = env->features ? env->features : &features,
        .arena = arena,
        .warnings = warnings,
        .err = err,
        .config = &config,
    };
    int r = build_config(&build);
    if (r == 0)
        *ret = config;
    return r;
}

int config_default(const struct config_env *env, struct arena *arena, struct scheduler_config *ret,
                   struct error *err)
{
    return config_build(NULL, NULL, env, arena, ret, NULL, err);
}

/* The reference reads the first YAML document and never looks at what follows. */
static int read_document(struct config_file *file, const struct config_env *env, struct arena *arena,
                         struct scheduler_config *ret, struct warnings *warnings, struct error *err)
{
    int r = doc_stream_next(&file->stream, &file->doc, err);
    if (r < 0)
        return r;
    if (r == 0)
        return error_at(err, -EINVAL, file->stream.path, 1, 1,
                        "expected a KubeSchedulerConfiguration, but there is nothing in it");
    r = config_build(&file->doc, file->doc.root, env, arena, ret, warnings, err);
    if (r < 0)
        doc_release(&file->doc);
    return r;
}

static int check_rest(struct config_file *file, struct warnings *warnings, struct error *err)
{
    struct doc rest;
    struct error ignored;
    bool yaml = file->stream.yaml;
    int r = doc_stream_next(&file->stream, &rest, yaml ? &ignored : err);
    if (r > 0)
        doc_release(&rest);
    if (!yaml)
        return r > 0 ? error_at(err, -EINVAL, file->stream.path, 0, 0,
                                "more than one document; a configuration is one")
                     : r;
    if (r != 0 && warnings)
        *vec_push(&warnings->list) = STR("only the first document of the file is read");
    return 0;
}

static int load_stream(struct config_file *file, const struct config_env *env, struct arena *arena,
                       struct scheduler_config *ret, struct warnings *warnings, struct error *err)
{
    arena->secret = true; /* keys and URLs of extenders */
    int r = read_document(file, env, arena, ret, warnings, err);
    if (r == 0) {
        r = check_rest(file, warnings, err);
        if (r < 0)
            doc_release(&file->doc);
    }
    if (r < 0) {
        doc_stream_release(&file->stream);
        return r;
    }
    ret->file = file;
    return 0;
}

int config_load(const char *path, const struct config_env *env, struct arena *arena,
                struct scheduler_config *ret, struct warnings *warnings, struct error *err)
{
    struct config_file *file = arena_new(arena, struct config_file);
    int r = doc_stream_open_secret(&file->stream, path, err);
    return r < 0 ? r : load_stream(file, env, arena, ret, warnings, err);
}

int config_load_text(const char *path, char *text, size_t len, const struct config_env *env,
                     struct arena *arena, struct scheduler_config *ret, struct warnings *warnings,
                     struct error *err)
{
    struct config_file *file = arena_new(arena, struct config_file);
    doc_stream_init(&file->stream, path, text, len);
    file->stream.secret = true;
    return load_stream(file, env, arena, ret, warnings, err);
}

void config_release(struct scheduler_config *config)
{
    if (!config->file)
        return;
    doc_release(&config->file->doc);
    doc_stream_release(&config->file->stream);
    config->file = NULL;
}

const struct plugin_args *profile_plugin_args(const struct profile_config *profile, struct str plugin)
{
    list_for(&profile->args, args)
        if (str_eq(args->plugin, plugin))
            return args;
    return NULL;
}

const void *profile_args(const struct profile_config *profile, const char *plugin)
{
    const struct plugin_args *args = profile_plugin_args(profile, str_from(plugin));
    return args ? args->typed : NULL;
}

const struct profile_config *config_profile(const struct scheduler_config *config, struct str scheduler_name)
{
    list_for(&config->profiles, profile)
        if (str_eq(profile->scheduler_name, scheduler_name))
            return profile;
    return NULL;
}
