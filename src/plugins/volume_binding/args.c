/* args.c: see args.h. Ranges and sentences are those of the reference. */
#include "plugins/volume_binding/args.h"

#include "codec/record_rows.h"

#define T struct volume_binding_args
static const struct record_field args_fields[] = {
    F("bindTimeoutSeconds", 0, INT64, bind_timeout_seconds, RECORD_ALWAYS),
    F_LIST("shape", 0, shape, shape_point),
};
TYPE_WITH(args, .has_type_meta = true)
#undef T

static void preset(void *ret, const struct features *features _unused_)
{
    ((struct volume_binding_args *)ret)->bind_timeout_seconds = 600;
}

static void complete(void *ret, const struct features *features, struct arena *arena)
{
    static const struct shape_point default_shape[] = { { 0, 10 }, { 100, 0 } };
    struct volume_binding_args *args = ret;
    if (args->shape.len || !features->enabled[FEATURE_StorageCapacityScoring])
        return;
    args->shape.len = ARRAY_SIZE(default_shape);
    args->shape.items =
        arena_copy(arena, struct shape_point, default_shape, args->shape.len, args->shape.len);
}

static void validate(const void *args_, const struct path *path, const struct features *features,
                     struct problems *problems)
{
    const struct volume_binding_args *args = args_;
    const struct path *shape_at = PATH_FIELD(path, "shape");
    if (args->bind_timeout_seconds < 0)
        problem_int(problems, PATH_FIELD(path, "bindTimeoutSeconds"), args->bind_timeout_seconds,
                    "invalid BindTimeoutSeconds, should not be a negative value");
    if (features->enabled[FEATURE_StorageCapacityScoring]) {
        shape_validate(args->shape.items, args->shape.len, shape_at, problems);
    } else if (args->shape.items) {
        _cleanup_(strbuf_release) struct strbuf json = { 0 };
        strbuf_putc(&json, '[');
        list_for(&args->shape, point)
            strbuf_printf(&json, "%s{\"Utilization\":%d,\"Score\":%d}", point == args->shape.items ? "" : ",",
                          (int)point->utilization, (int)point->score);
        strbuf_putc(&json, ']');
        problem_json(
            problems, shape_at, strbuf_slice(&json),
            "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring");
    }
}

const struct plugin_args_kind volume_binding_args_kind = {
    .type = &args_type,
    .preset = preset,
    .complete = complete,
    .validate = validate,
};
