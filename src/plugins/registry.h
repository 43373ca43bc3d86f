/* registry.h: all built-in plugins. */
#ifndef PLUGINS_REGISTRY_H
#define PLUGINS_REGISTRY_H

#include "framework/profile.h"

extern const struct registry builtin_plugins;

#endif
