/* registry.c: the list of plugins.def as a table. */
#include "plugins/registry.h"

#define PLUGIN(name) extern const struct plugin name;
#include "plugins/plugins.def"
#undef PLUGIN

static const struct plugin *const plugins[] = {
#define PLUGIN(name) &name,
#include "plugins/plugins.def"
#undef PLUGIN
};

const struct registry builtin_plugins = { plugins, ARRAY_SIZE(plugins) };
