/* loaded_args.c: see loaded_args.h. A field that does not fit its struct is found when the plugin is loaded. */
#include "abi/loaded_args.h"

#include <stdlib.h>

#include "abi/host.h"
#include "config/kinds.h"

static const struct record_kind *const kinds[] = {
    [BERTH_STRING] = &record_STR,    [BERTH_BOOL] = &record_BOOL,         [BERTH_INT] = &record_INT64,
    [BERTH_DOUBLE] = &record_DOUBLE, [BERTH_DURATION] = &record_DURATION, [BERTH_STRINGS] = &record_STRS,
    [BERTH_MAP] = &record_PAIRS,     [BERTH_STRUCT] = &record_STRUCT,     [BERTH_LIST] = &record_LIST,
    [BERTH_JSON] = &record_RAW,
};
/* The public header's structs are the records' own. */
_Static_assert(sizeof(struct berth_str) == sizeof(struct str) &&
                   sizeof(struct berth_strs) == sizeof(struct str_list) &&
                   sizeof(struct berth_pairs) == sizeof(struct str_map) &&
                   sizeof(struct berth_list) == sizeof(struct record_list),
               "a plugin's arguments are decoded in place");

enum { TABLES_DEPTH_MAX = 8 };

/* A table of the plugin: an older one has shorter rows. */
struct table {
    const struct berth_field *rows;
    size_t stride;
};

static struct berth_field row_at(const struct table *table, size_t number)
{
    struct berth_field field = { 0 };
    memcpy(&field, (const char *)table->rows + table->stride * number, MIN(table->stride, sizeof(field)));
    return field;
}

static const char *make_type(struct table table, size_t size, struct arena *arena, int depth,
                             struct record_type *ret);

static const char *make_field(const struct berth_field *field, size_t stride, size_t size,
                              struct arena *arena, int depth, struct record_field *ret)
{
    if (field->kind < BERTH_STRING || field->kind > BERTH_JSON)
        return "has an argument of an unknown kind";
    bool nested = field->kind == BERTH_STRUCT || field->kind == BERTH_LIST;
    size_t bytes = field->kind == BERTH_STRUCT ? field->size : kinds[field->kind]->size;
    if (field->offset > size || bytes > size - field->offset)
        return "has an argument outside of its struct: is args_size right?";
    size_t name_len = strlen(field->name);
    if (!name_len || name_len > UINT16_MAX || field->offset > UINT16_MAX)
        return "has an argument whose name is empty, or whose name or offset is too large";
    *ret = (struct record_field){ .name = field->name,
                                  .name_len = (uint16_t)name_len,
                                  .kind = kinds[field->kind],
                                  .offset = (uint16_t)field->offset };
    if (!nested)
        return NULL;
    struct record_type *inner = arena_new(arena, struct record_type);
    ret->type = inner;
    return make_type((struct table){ field->fields, stride }, field->size, arena, depth + 1, inner);
}

static const char *make_type(struct table table, size_t size, struct arena *arena, int depth,
                             struct record_type *ret)
{
    size_t count = 0;
    if (!table.rows || !size)
        return "has arguments without a table or without a size";
    if (depth > TABLES_DEPTH_MAX)
        return "has arguments nested too deep";
    while (row_at(&table, count).name)
        if (++count > RECORD_FIELDS_MAX)
            return "has too many arguments, or a table that does not end";
    struct record_field *made = arena_array(arena, struct record_field, count);
    for (size_t i = 0; i < count; i++) {
        struct berth_field field = row_at(&table, i);
        for (size_t j = 0; j < i; j++)
            if (strcmp(field.name, made[j].name) == 0)
                return "has two arguments of one name";
        const char *wrong = make_field(&field, table.stride, size, arena, depth, &made[i]);
        if (wrong)
            return wrong;
    }
    *ret = (struct record_type){ .size = size,
                                 .fields = made,
                                 .len = (uint32_t)count,
                                 .has_type_meta = depth == 0,
                                 .index = arena_new(arena, struct record_index) };
    record_index_fill(ret);
    return NULL;
}

int loaded_args_type(const struct berth_plugin *plugin, size_t stride, struct arena *arena,
                     const struct record_type **ret, const char *file, struct error *err)
{
    *ret = NULL;
    if (!plugin->args)
        return 0;
    struct record_type *type = arena_new(arena, struct record_type);
    const char *wrong = make_type((struct table){ plugin->args, stride }, plugin->args_size, arena, 0, type);
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

int loaded_args_decode(const struct record_type *type, const struct berth_plugin *plugin,
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
    return raw ? config_read(written->doc, raw, type, PATH_FIELD(NULL, "args"), arena, args, err) : 0;
}
