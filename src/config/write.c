/* write.c: the effective configuration as a tree, and the tree as text.
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
static void add_head(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *kind)
{
    yyjson_mut_obj_insert(object, yyjson_mut_str(doc, "kind"), yyjson_mut_strcpy(doc, kind), 0);
    yyjson_mut_obj_insert(object, yyjson_mut_str(doc, "apiVersion"), yyjson_mut_str(doc, CONFIG_GROUP "/v1"),
                          1);
}

static yyjson_mut_val *encode_args(yyjson_mut_doc *doc, const struct plugin_args *args)
{
    const struct plugin_args_kind *kind = plugin_args_find(args->plugin);
    if (!kind)
        return yyjson_val_mut_copy(doc, args->raw);
    yyjson_mut_val *object = args_encode(doc, kind->type, args->typed);
    char name[100];
    snprintf(name, sizeof(name), "%sArgs", kind->plugin);
    add_head(doc, object, name);
    return object;
}

static int compare_args(const void *a, const void *b)
{
    const struct plugin_args *const *left = a, *const *right = b;
    return str_cmp((*left)->plugin, (*right)->plugin);
}

static void add_plugin_config(yyjson_mut_doc *doc, yyjson_mut_val *object,
                              const struct profile_config *profile)
{
    VEC(const struct plugin_args *) sorted = { 0 };
    list_for(&profile->args, args)
        if ((args->typed || args->raw) && is_enabled(profile, args->plugin))
            *vec_push(&sorted) = args;
    if (sorted.len) {
        qsort(sorted.items, sorted.len, sizeof(*sorted.items), compare_args);
        yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, "pluginConfig");
        vec_for(&sorted, args) {
            yyjson_mut_val *entry = yyjson_mut_arr_add_obj(doc, list);
            yyjson_mut_obj_add_strn(doc, entry, "name", (*args)->plugin.ptr, (*args)->plugin.len);
            yyjson_mut_obj_add_val(doc, entry, "args", encode_args(doc, *args));
        }
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

static void add_profile(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct profile_config *profile,
                        struct arena *arena)
{
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, list);
    struct profile_plugins plugins;
    yyjson_mut_obj_add_strn(doc, object, "schedulerName", profile->scheduler_name.ptr,
                            profile->scheduler_name.len);
    if (profile->percentage_of_nodes_to_score.set)
        yyjson_mut_obj_add_int(doc, object, "percentageOfNodesToScore",
                               profile->percentage_of_nodes_to_score.value);
    for (size_t section = 0; section < POINT_SECTIONS; section++)
        with_weights(arena, &profile->sections[section], &plugins.sections[section]);
    yyjson_mut_obj_add_val(doc, object, "plugins", args_encode(doc, &source_plugins_type, &plugins));
    add_plugin_config(doc, object, profile);
}

/* Strings in the tree point into the configuration. */
static yyjson_mut_val *config_tree(yyjson_mut_doc *doc, const struct scheduler_config *config,
                                   struct arena *arena)
{
    struct source source = {
        .config = *config,
        .contention_profiling = { true, config->enable_contention_profiling },
    };
    source.config.extenders.items = config->extenders_as_written;
    yyjson_mut_val *root = args_encode(doc, &source_type, &source);
    add_head(doc, root, "KubeSchedulerConfiguration");
    yyjson_mut_val *profiles = yyjson_mut_obj_add_arr(doc, root, "profiles");
    list_for(&config->profiles, profile)
        add_profile(doc, profiles, profile, arena);
    return root;
}

void config_write_yaml(const struct scheduler_config *config, struct strbuf *out)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yaml_write(out, config_tree(doc, config, &arena));
    yyjson_mut_doc_free(doc);
}

static struct str text_of(yyjson_mut_val *value)
{
    return (struct str){ yyjson_mut_get_str(value), (uint32_t)yyjson_mut_get_len(value) };
}

/* The tree is as deep as a configuration can be nested, which reading has limited. Numbers look as Go writes them. */
static void put_json(struct json_writer *json, yyjson_mut_val *value)
{
    size_t at, max;
    yyjson_mut_val *key, *item;
    if (yyjson_mut_is_obj(value)) {
        json_begin_object(json);
        yyjson_mut_obj_foreach(value, at, max, key, item)
        {
            json_key(json, text_of(key));
            put_json(json, item);
        }
        json_end_object(json);
    } else if (yyjson_mut_is_arr(value)) {
        json_begin_array(json);
        yyjson_mut_arr_foreach(value, at, max, item) put_json(json, item);
        json_end_array(json);
    } else if (yyjson_mut_is_str(value)) {
        json_str(json, text_of(value));
    } else if (yyjson_mut_is_uint(value)) {
        json_uint(json, yyjson_mut_get_uint(value));
    } else if (yyjson_mut_is_int(value)) {
        json_int(json, yyjson_mut_get_sint(value));
    } else if (yyjson_mut_is_real(value)) {
        json_double(json, yyjson_mut_get_real(value));
    } else if (yyjson_mut_is_bool(value)) {
        json_bool(json, yyjson_mut_get_bool(value));
    } else if (yyjson_mut_is_raw(value)) {
        json_raw(json, (struct str){ yyjson_mut_get_raw(value), (uint32_t)yyjson_mut_get_len(value) });
    } else {
        json_null(json);
    }
}

void config_write_json(const struct scheduler_config *config, struct strbuf *out)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct json_writer json = json_writer(out, JSON_COMPACT);
    put_json(&json, config_tree(doc, config, &arena));
    yyjson_mut_doc_free(doc);
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
