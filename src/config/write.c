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

/* What an object is stands in front. */
static void put_head(struct json_writer *json, struct str kind, const char *suffix)
{
    _cleanup_(strbuf_release) struct strbuf name = { 0 };
    strbuf_printf(&name, STR_FMT "%s", STR_ARG(kind), suffix);
    json_member_str(json, "kind", strbuf_slice(&name));
    json_member_str(json, "apiVersion", STR(CONFIG_GROUP "/v1"));
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
        if ((args->typed || args->raw) && profile_names_plugin(profile, args->plugin))
            *vec_push(&sorted) = args;
    if (sorted.len) {
        qsort(sorted.items, sorted.len, sizeof(*sorted.items), compare_args);
        json_member_array(json, "pluginConfig");
        vec_for(&sorted, args) {
            json_begin_object(json);
            json_member_str(json, "name", (*args)->plugin);
            json_key(json, STR("args"));
            put_args(json, *args);
            json_end_object(json);
        }
        json_end_array(json);
    }
    vec_release(&sorted);
}

static void put_profile(struct json_writer *json, const struct profile_config *profile,
                        const struct release *release)
{
    json_begin_object(json);
    json_member_str(json, "schedulerName", profile->scheduler_name);
    if (profile->percentage_of_nodes_to_score.set)
        json_member_int(json, "percentageOfNodesToScore", profile->percentage_of_nodes_to_score.value);
    json_key(json, STR("plugins"));
    record_write(&(struct record_writer){ .json = json, .version = release_fields(release) },
                 &source_plugins_type, &profile->plugins);
    put_plugin_config(json, profile);
    json_end_object(json);
}

void config_write_json(const struct scheduler_config *config, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    struct source source = {
        .config = *config,
        .contention_profiling = { true, config->enable_contention_profiling },
    };
    source.config.extenders.items = config->extenders_as_written;
    json_begin_object(&json);
    put_head(&json, STR("KubeSchedulerConfiguration"), "");
    record_write_fields(&(struct record_writer){ .json = &json }, &source_type, &source);
    json_member_array(&json, "profiles");
    list_for(&config->profiles, profile)
        put_profile(&json, profile, config->release);
    json_end_array(&json);
    json_end_object(&json);
}

void config_write_yaml(const struct scheduler_config *config, struct strbuf *out)
{
    _cleanup_(strbuf_release) struct strbuf json = { .secret = true };
    config_write_json(config, &json);
    yaml_write(out, strbuf_slice(&json));
}

/* Where the string ends that `at` is in. */
static const char *string_end(const char *at, const char *end)
{
    while (at < end && *at != '"')
        at += *at == '\\' ? 2 : 1;
    return MIN(at, end);
}

/* The value of `field` between here and the end of the object; NULL: it has none. No object is in there. */
static const char *value_within(const char *at, const char *end, const char *field)
{
    size_t len = strlen(field);
    for (; at < end && *at != '}'; at++) {
        if ((size_t)(end - at) > len && memcmp(at, field, len) == 0)
            return at + len;
        if (*at == '"')
            at = string_end(at + 1, end);
    }
    return NULL;
}

/* Writes what is before the next secret, then REDACTED in its place. Returns where to go on; NULL: there is none. */
static const char *hide_next(const char *rest, const char *end, struct strbuf *out)
{
    static const char key[] = "\"keyData\":\"", provider[] = "\"metricProvider\":{";
    const char *value = memmem(rest, (size_t)(end - rest), key, sizeof(key) - 1);
    const char *from = rest;
    value = value ? value + sizeof(key) - 1 : NULL;
    while ((from = memmem(from, (size_t)(end - from), provider, sizeof(provider) - 1))) {
        from += sizeof(provider) - 1;
        const char *token = value_within(from, end, "\"token\":\"");
        if (token && (!value || token < value))
            value = token;
        if (token)
            break;
    }
    if (!value)
        return NULL;
    strbuf_add(out, rest, (size_t)(value - rest));
    strbuf_puts(out, "REDACTED");
    return string_end(value, end);
}

/* Within a text of JSON a quote has a backslash in front, so what is found here is the field. */
void config_hide_secrets(struct str json, struct strbuf *out)
{
    _cleanup_(strbuf_release) struct strbuf text = { .secret = true };
    const char *rest = json.ptr, *end = json.ptr + json.len;
    for (const char *next; (next = hide_next(rest, end, &text)); rest = next)
        ;
    strbuf_add(&text, rest, (size_t)(end - rest));
    strbuf_masked(out, strbuf_slice(&text));
}
