/* loaded_args.h: arguments of loaded plugins: their tables of fields become tables of codec/record.h. */
#ifndef ABI_LOADED_ARGS_H
#define ABI_LOADED_ARGS_H

#include "base/arena.h"
#include "base/error.h"

struct record_type;
struct berth_env;
struct berth_plugin;
struct plugin_args;

/* The plugin's table, checked, whose rows have `stride` bytes; *ret is NULL for a plugin without one. */
int loaded_args_type(const struct berth_plugin *plugin, size_t stride, struct arena *arena,
                     const struct record_type **ret, const char *file, struct error *err);
/* Decodes what the configuration says (NULL: nothing) into env->args, and its text into env->args_json. */
int loaded_args_decode(const struct record_type *type, const struct berth_plugin *plugin,
                       const struct plugin_args *written, struct arena *arena, struct berth_env *env,
                       struct error *err);

#endif
