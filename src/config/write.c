/* write.c: the configuration in effect as JSON, and that as YAML.
 *
 * The tables of reading do most of it. What they do not know: the arguments of plugins are written decoded,
 * by name, and only of plugins that are enabled somewhere, which is what the reference writes. */
#include "config/write.h"

#include <stdio.h>
#include <stdlib.h>

#include "codec/json_writer.h"
#include "codec/yaml_writer.h"
#include "config/build.h"

static bool is_enabled(const struct profile_config *profile, struct str plugin)
{
    for (size_t section = 0; section < POINT_SECTIONS; section++)
        list_for(&profile->sections[section].enabled, ref)
            if (str_eq(ref->name, plugin))
                return true;
    return false;
}

/* What an object is stands in front. */
static void put_head(struct json_writer *json, struct str kind, const char *suffix)
{
    _cleanup_(strbuf_release) struct strbuf name = { 0 };
    strbuf_printf(&name, STR_FMT "%s", STR_ARG(kind), suffix);
    json_key(json, STR("kind"));
    json_str(json, strbuf_slice(&name));
    json_key(json, STR("apiVersion"));
    json_str(json, STR(CONFIG_GROUP "/v1"));
}

static void put_args(struct json_writer *json, const struct plugin_args *args)
{
    if (!args->kind) {
        record_write_value(json, args->raw);
        return;
    }
    json_begin_object(json);
    put_head(json, args->plugin, "Args");
    record_write_fields(&(struct record_writer){ .json = json, .in_tag_order = true }, args->kind->type,
                        args->typed);
    json_end_object(json);
}

static int compare_args(const void *a, const void *b)
{
    const struct plugin_args *const *left = a, *const *right = b;
    return str_cmp((*left)->plugin, (*right)->plugin);
}

static void put_plugin_config(struct json_writer *json, const struct profile_config *profile)
{
    VEC(const struct plugin_args *) sorted = { 0 };
    list_for(&profile->args, args)
        if ((args->typed || args->raw) && is_enabled(profile, args->plugin))
            *vec_push(&sorted) = args;
    if (sorted.len) {
        qsort(sorted.items, sorted.len, sizeof(*sorted.items), compare_args);
        json_key(json, STR("pluginConfig"));
        json_begin_array(json);
        vec_for(&sorted, args) {
            json_begin_object(json);
            json_key(json, STR("name"));
            json_str(json, (*args)->plugin);
            json_key(json, STR("args"));
            put_args(json, *args);
            json_end_object(json);
        }
        json_end_array(json);
    }
    vec_release(&sorted);
}

/* A weight is written wherever a plugin is named, and is 0 where none was given. */
static void with_weights(struct arena *arena, const struct plugin_set *from, struct plugin_set *ret)
{
    *ret = *from;
    ret->enabled.items = arena_array(arena, struct plugin_ref, from->enabled.len);
    ret->disabled.items = arena_array(arena, struct plugin_ref, from->disabled.len);
    for (uint32_t i = 0; i < from->enabled.len; i++) {
        ret->enabled.items[i] = from->enabled.items[i];
        ret->enabled.items[i].weight.set = true;
    }
    for (uint32_t i = 0; i < from->disabled.len; i++) {
        ret->disabled.items[i] = from->disabled.items[i];
        ret->disabled.items[i].weight.set = true;
    }
}

static void put_profile(struct json_writer *json, const struct profile_config *profile, struct arena *arena)
{
    struct profile_plugins plugins;
    for (size_t section = 0; section < POINT_SECTIONS; section++)
        with_weights(arena, &profile->sections[section], &plugins.sections[section]);
    json_begin_object(json);
    json_key(json, STR("schedulerName"));
    json_str(json, profile->scheduler_name);
    if (profile->percentage_of_nodes_to_score.set) {
        json_key(json, STR("percentageOfNodesToScore"));
        json_int(json, profile->percentage_of_nodes_to_score.value);
    }
    json_key(json, STR("plugins"));
    record_write(&(struct record_writer){ .json = json }, &source_plugins_type, &plugins);
    put_plugin_config(json, profile);
    json_end_object(json);
}

void config_write_json(const struct scheduler_config *config, struct strbuf *out)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct json_writer json = json_writer(out, JSON_COMPACT);
    struct source source = {
        .config = *config,
        .contention_profiling = { true, config->enable_contention_profiling },
    };
    source.config.extenders.items = config->extenders_as_written;
    json_begin_object(&json);
    put_head(&json, STR("KubeSchedulerConfiguration"), "");
    record_write_fields(&(struct record_writer){ .json = &json }, &source_type, &source);
    json_key(&json, STR("profiles"));
    json_begin_array(&json);
    list_for(&config->profiles, profile)
        put_profile(&json, profile, &arena);
    json_end_array(&json);
    json_end_object(&json);
}

void config_write_yaml(const struct scheduler_config *config, struct strbuf *out)
{
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    config_write_json(config, &json);
    yaml_write(out, strbuf_slice(&json));
}

/* Within a text of JSON a quote has a backslash in front, so what is found here is the field. */
void config_hide_secrets(struct str json, struct strbuf *out)
{
    static const char field[] = "\"keyData\":\"";
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    const char *rest = json.ptr, *end = json.ptr + json.len, *found;
    while ((found = memmem(rest, (size_t)(end - rest), field, sizeof(field) - 1))) {
        const char *value = found + sizeof(field) - 1;
        const char *quote = memchr(value, '"', (size_t)(end - value)); /* behind base64, which has none */
        strbuf_add(&text, rest, (size_t)(value - rest));
        strbuf_puts(&text, "REDACTED");
        rest = quote ? quote : end;
    }
    strbuf_add(&text, rest, (size_t)(end - rest));
    strbuf_masked(out, strbuf_slice(&text));
}
