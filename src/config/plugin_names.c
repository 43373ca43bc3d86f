/* plugin_names.c: see config_plugin_names(). */
#include "codec/doc.h"
#include "config/config.h"

static void add(struct config_names *names, struct str name, struct arena *arena)
{
    vec_for(names, known)
        if (str_eq(*known, name))
            return;
    if (name.len)
        *vec_push(names) = arena_str(arena, name);
}

static void add_items(struct config_names *names, yyjson_val *items, struct arena *arena)
{
    size_t i, count;
    yyjson_val *item;
    yyjson_arr_foreach(doc_items(items), i, count, item)
        add(names, doc_text(yyjson_obj_get(item, "name")), arena);
}

static void add_profile(struct config_names *names, yyjson_val *profile, struct arena *arena)
{
    size_t i, count;
    yyjson_val *point, *section;
    yyjson_obj_foreach(doc_items(yyjson_obj_get(profile, "plugins")), i, count, point, section)
        add_items(names, yyjson_obj_get(section, "enabled"), arena);
}

void config_plugin_names(struct str text, struct arena *arena, struct config_names *ret)
{
    struct doc_stream stream;
    struct doc doc;
    struct error ignored;
    char *copy = xcalloc(1, (size_t)text.len + YYJSON_PADDING_SIZE);
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    doc_stream_init(&stream, "", copy, text.len);
    if (doc_stream_next(&stream, &doc, &ignored) == 1) {
        size_t i, count;
        yyjson_val *profile;
        yyjson_arr_foreach(doc_items(yyjson_obj_get(doc.root, "profiles")), i, count, profile)
            add_profile(ret, profile, arena);
        doc_release(&doc);
    }
    doc_stream_release(&stream);
}
