/* config_generation.c: see config_generation.h. */
#include "cmd/config_generation.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/log.h"
#include "cmd/plugins.h"
#include "config/change.h"
#include "config/metric_provider.h"
#include "config/write.h"
#include "net/file.h"

/* More than an object of an API server can hold, many times over. */
enum { TEXT_BYTES_MAX = 16 << 20 };

void config_generation_free(struct config_generation *generation)
{
    if (!generation)
        return;
    http_extenders_free(generation->extenders);
    prometheus_free(generation->prometheus);
    config_release(&generation->config);
    warnings_release(&generation->warnings);
    strbuf_release(&generation->text);
    strbuf_release(&generation->json);
    strbuf_release(&generation->fixed);
    arena_release(&generation->arena);
    free(generation);
}

int config_generation_read(const struct scheduler_flags *flags, const struct features *features,
                           const struct str *text, const struct scheduler_config *running, uint64_t taken,
                           struct config_generation **ret, struct error *err)
{
    struct take_overs overs;
    int opened = text ? plugins_open_strategies(*text, err) : 0;
    if (opened < 0)
        return opened;
    struct config_generation *made = xcalloc(1, sizeof(*made));
    made->text.secret = made->json.secret = true; /* keys and tokens are in there */
    struct plugin_catalog catalog = registry_catalog(plugins_registry(), &made->arena);
    int r = text ? flags_load_text(flags, *text, &catalog, features, &made->arena, &made->config,
                                   &made->warnings, err)
                 : flags_load(flags, &catalog, features, &made->arena, &made->config, &made->warnings, err);
    if (r == 0)
        r = take_overs_read(&flags->take_over, &made->arena, &overs, err);
    if (r == 0)
        r = take_overs_apply(&overs, taken, &made->arena, &made->config, err);
    if (r < 0) {
        config_generation_free(made);
        return r;
    }
    made->taken = taken;
    made->has_text = text;
    if (text)
        strbuf_str(&made->text, *text);
    if (running)
        config_keep_fixed(running, &made->arena, &made->config, &made->fixed);
    plugins_warn(&made->config, &made->arena, &made->warnings);
    config_write_json(&made->config, &made->json);
    *ret = made;
    return 0;
}

/* A file that can be read again, and is watched. What is wrong with another one is found when it is read. */
static bool is_file(struct str path)
{
    struct stat info;
    return path.len && !str_is(path, "-") && stat(path.ptr, &info) == 0 && S_ISREG(info.st_mode);
}

int config_generation_load(const struct scheduler_flags *flags, const struct features *features,
                           struct config_generation **ret, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text = { .secret = true };
    if (!is_file(flags->config) && flags->config.len && flags->take_over.len)
        return error_set(err, -EINVAL, "--take-over needs a --config that can be read again: " STR_FMT,
                         STR_ARG(flags->config));
    if (!is_file(flags->config))
        return config_generation_read(flags, features, NULL, NULL, 0, ret, err);
    int r = file_read(flags->config.ptr, TEXT_BYTES_MAX, &text, err);
    const struct str bytes = strbuf_slice(&text);
    return r < 0 ? r : config_generation_read(flags, features, &bytes, NULL, 0, ret, err);
}

/* The flags come first; what they do not say of the address, the configuration may. */
static int open_source(struct config_generation *generation, const struct scheduler_flags *flags,
                       struct loop *io, struct error *err)
{
    struct metric_provider provider = { 0 };
    struct warnings warnings = { 0 };
    bool has_flag = flags->samples_prometheus.len;
    int r = has_flag ? 0 : metric_provider_find(&generation->config, &provider, err);
    if (r < 0 || (!has_flag && !provider.is_prometheus))
        return r;
    const struct prometheus_options options = {
        .address = has_flag ? flags->samples_prometheus : provider.address,
        .token = provider.token,
        .token_file = flags->samples_prometheus_token_file,
        .ca_file = flags->samples_prometheus_ca_file,
        .queries_file = flags->samples_prometheus_queries,
        .insecure_skip_verify =
            flags->samples_prometheus_insecure_skip_verify || provider.insecure_skip_verify,
        .loop = io,
        .warnings = &warnings,
    };
    r = prometheus_new(&options, &generation->prometheus, err);
    if (r < 0 && !has_flag)
        error_prefix(err, "metricProvider of " STR_FMT, STR_ARG(provider.plugin));
    else if (r < 0)
        error_prefix(err, "--samples-prometheus");
    vec_for(&warnings.list, sentence)
        log_warning("Samples", log_str("warning", *sentence));
    warnings_release(&warnings);
    return r;
}

int config_generation_connect(struct config_generation *generation, const struct scheduler_flags *flags,
                              const struct http_extenders_options *extenders, struct loop *io,
                              struct error *err)
{
    struct http_extenders_options options = *extenders;
    options.config = &generation->config;
    int r = http_extenders_new(&options, &generation->extenders, err);
    return r < 0 ? r : open_source(generation, flags, io, err);
}

const struct prometheus *config_generation_prometheus(void *user _unused_, const void *generation)
{
    return ((const struct config_generation *)generation)->prometheus;
}
