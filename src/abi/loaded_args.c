/* loaded_args.c: see loaded_args.h. A field that does not fit its struct is found when the plugin is loaded. */
#include "abi/loaded_args.h"

#include <stdlib.h>

#include "abi/host.h"

/* What each kind is to the decoder, and how many bytes it writes. */
static const struct {
    enum args_kind kind;
    size_t size;
} kinds[] = {
    [BERTH_STRING] = { ARGS_STRING, sizeof(struct berth_str) },
    [BERTH_BOOL] = { ARGS_BOOL, sizeof(bool) },
    [BERTH_INT] = { ARGS_INT64, sizeof(int64_t) },
    [BERTH_DOUBLE] = { ARGS_FLOAT, sizeof(double) },
    [BERTH_DURATION] = { ARGS_DURATION, sizeof(int64_t) },
    [BERTH_STRINGS] = { ARGS_STRING_LIST, sizeof(struct berth_strs) },
    [BERTH_MAP] = { ARGS_STRING_MAP, sizeof(struct berth_pairs) },
    [BERTH_STRUCT] = { ARGS_STRUCT, 0 },
    [BERTH_LIST] = { ARGS_STRUCT_LIST, sizeof(struct berth_list) },
};

enum { TABLES_DEPTH_MAX = 8 };

static const char *make_type(const struct berth_field *fields, size_t size, struct arena *arena, int depth,
                             struct args_type *ret);

static const char *make_field(const struct berth_field *field, size_t size, struct arena *arena, int depth,
                              struct args_field *ret)
{
    if (field->kind < BERTH_STRING || field->kind > BERTH_LIST)
        return "has an argument of an unknown kind";
    bool nested = field->kind == BERTH_STRUCT || field->kind == BERTH_LIST;
    size_t bytes = field->kind == BERTH_STRUCT ? field->size : kinds[field->kind].size;
    if (field->offset > size || bytes > size - field->offset)
        return "has an argument outside of its struct: is args_size right?";
    *ret =
        (struct args_field){ .name = field->name, .kind = kinds[field->kind].kind, .offset = field->offset };
    if (!nested)
        return NULL;
    struct args_type *inner = arena_new(arena, struct args_type);
    ret->type = inner;
    return make_type(field->fields, field->size, arena, depth + 1, inner);
}

static const char *make_type(const struct berth_field *fields, size_t size, struct arena *arena, int depth,
                             struct args_type *ret)
{
    size_t count = 0;
    if (!fields || !size)
        return "has arguments without a table or without a size";
    if (depth > TABLES_DEPTH_MAX)
        return "has arguments nested too deep";
    while (fields[count].name)
        if (++count > ARGS_FIELDS_MAX)
            return "has too many arguments, or a table that does not end";
    struct args_field *made = arena_array(arena, struct args_field, count);
    for (size_t i = 0; i < count; i++) {
        const char *wrong = make_field(&fields[i], size, arena, depth, &made[i]);
        if (wrong)
            return wrong;
    }
    *ret = (struct args_type){ .size = size, .fields = made, .count = count, .type_meta = depth == 0 };
    return NULL;
}

int loaded_args_type(const struct berth_plugin *plugin, struct arena *arena, const struct args_type **ret,
                     const char *file, struct error *err)
{
    *ret = NULL;
    if (!plugin->args)
        return 0;
    struct args_type *type = arena_new(arena, struct args_type);
    const char *wrong = make_type(plugin->args, plugin->args_size, arena, 0, type);
    if (wrong)
        return error_set(err, -EINVAL, "%s: plugin \"%s\" %s", file, plugin->name, wrong);
    *ret = type;
    return 0;
}

static struct berth_str json_of(yyjson_val *val, struct arena *arena)
{
    size_t len;
    char *text = val ? yyjson_val_write(val, 0, &len) : NULL;
    if (!text)
        return (struct berth_str){ NULL, 0 };
    struct berth_str kept = { arena_strndup(arena, text, len), (uint32_t)len };
    free(text);
    return kept;
}

int loaded_args_decode(const struct args_type *type, const struct berth_plugin *plugin,
                       const struct plugin_args *written, struct arena *arena, struct berth_env *env,
                       struct error *err)
{
    yyjson_val *raw = written ? written->raw : NULL;
    env->args_json = json_of(raw, arena);
    if (!type)
        return 0;
    void *args = arena_zalloc(arena, type->size);
    if (plugin->args_defaults)
        memcpy(args, plugin->args_defaults, type->size);
    env->args = args;
    return raw ? args_decode(written->doc, raw, type, PATH_FIELD(NULL, "args"), arena, args, err) : 0;
}
