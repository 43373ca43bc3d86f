/* config_generation.c: see config_generation.h. */
#include "cmd/config_generation.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "cmd/plugins.h"
#include "config/change.h"
#include "config/write.h"
#include "net/file.h"

/* More than an object of an API server can hold, many times over. */
enum { TEXT_BYTES_MAX = 16 << 20 };

void config_generation_free(struct config_generation *generation)
{
    if (!generation)
        return;
    http_extenders_free(generation->extenders);
    config_release(&generation->config);
    warnings_release(&generation->warnings);
    strbuf_release(&generation->text);
    strbuf_release(&generation->json);
    strbuf_release(&generation->fixed);
    arena_release(&generation->arena);
    free(generation);
}

/* What follows a successful reading. */
static void complete(struct config_generation *generation, const struct scheduler_config *running)
{
    if (running)
        config_keep_fixed(running, &generation->arena, &generation->config, &generation->fixed);
    plugins_warn(&generation->config, &generation->arena, &generation->warnings);
    config_write_json(&generation->config, &generation->json);
}

int config_generation_read(const struct scheduler_flags *flags, const struct features *features,
                           struct str text, const struct scheduler_config *running,
                           struct config_generation **ret, struct error *err)
{
    struct config_generation *generation = xcalloc(1, sizeof(*generation));
    struct plugin_catalog catalog = registry_catalog(plugins_registry(), &generation->arena);
    int r = flags_load_text(flags, text, &catalog, features, &generation->arena, &generation->config,
                            &generation->warnings, err);
    if (r < 0) {
        config_generation_free(generation);
        return r;
    }
    strbuf_str(&generation->text, text);
    generation->has_text = true;
    complete(generation, running);
    *ret = generation;
    return 0;
}

/* A file that can be read again, and is watched; of another, what is wrong is said by who reads it. */
static bool is_file(struct str path)
{
    struct stat info;
    return path.len && !str_is(path, "-") && stat(path.ptr, &info) == 0 && S_ISREG(info.st_mode);
}

int config_generation_load(const struct scheduler_flags *flags, const struct features *features,
                           struct config_generation **ret, struct error *err)
{
    if (is_file(flags->config)) {
        _cleanup_(strbuf_release) struct strbuf text = { 0 };
        int r = file_read(flags->config.ptr, TEXT_BYTES_MAX, &text, err);
        return r < 0 ? r : config_generation_read(flags, features, strbuf_slice(&text), NULL, ret, err);
    }
    struct config_generation *generation = xcalloc(1, sizeof(*generation));
    struct plugin_catalog catalog = registry_catalog(plugins_registry(), &generation->arena);
    int r = flags_load(flags, &catalog, features, &generation->arena, &generation->config,
                       &generation->warnings, err);
    if (r < 0) {
        config_generation_free(generation);
        return r;
    }
    complete(generation, NULL);
    *ret = generation;
    return 0;
}

int config_generation_extend(struct config_generation *generation,
                             const struct http_extenders_options *options, struct error *err)
{
    struct http_extenders_options with = *options;
    with.config = &generation->config;
    return http_extenders_new(&with, &generation->extenders, err);
}
