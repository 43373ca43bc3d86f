/* plugin_args.c: see plugin_args.h. */
#include "config/plugin_args.h"

#include "api/names.h"
#include "config/api_versions.h"

void problem_label_key(struct problems *problems, const struct path *path, struct str name)
{
    struct name_faults faults = name_check_label_key(name);
    for (size_t i = 0; i < faults.len; i++)
        problem_text(problems, path, name, faults.items[i]);
}

/* apiVersion and kind may be left out; where they are given they must be those of this plugin. */
static int check_type_meta(const char *plugin, const struct doc *doc, yyjson_val *val,
                           const struct path *path, struct arena *arena, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf where = { 0 };
    yyjson_val *version = yyjson_obj_get(val, "apiVersion"), *name = yyjson_obj_get(val, "kind");
    path_print(&where, path);
    if (yyjson_is_str(version) && yyjson_get_len(version) && !api_version_find(yyjson_get_str(version)))
        return doc_error(doc, version, -EINVAL, err,
                         "%s.apiVersion: expected \"" CONFIG_GROUP "/v1\", got \"%.100s\"", where.text,
                         yyjson_get_str(version));
    struct str want = arena_printf(arena, "%sArgs", plugin);
    if (yyjson_is_str(name) && yyjson_get_len(name) && !yyjson_equals_str(name, want.ptr))
        return doc_error(doc, name, -EINVAL, err,
                         "%s: args for plugin %s were not of type " STR_FMT "." CONFIG_GROUP
                         ", got %.100s." CONFIG_GROUP,
                         where.text, plugin, STR_ARG(want), yyjson_get_str(name));
    return 0;
}

int plugin_args_decode(const struct plugin_args_kind *kind, const char *plugin, const struct doc *doc,
                       yyjson_val *val, const struct path *path, const struct features *features,
                       struct arena *arena, void **ret, struct error *err)
{
    void *args = arena_zalloc(arena, kind->type->size);
    if (kind->preset)
        kind->preset(args, features);
    int r = check_type_meta(plugin, doc, val, path, arena, err);
    if (r == 0)
        r = config_read(doc, val, kind->type, path, arena, args, err);
    if (r < 0)
        return r;
    if (kind->complete)
        kind->complete(args, features, arena);
    *ret = args;
    return 0;
}
