/* module.c: the descriptor of the plugin in plugin.go: cgo exports the functions, this names them. */
#include "module.h"

#include "_cgo_export.h"

static const struct berth_plugin golang = {
    .name = "Golang",
    .doc = "Nodes by the prefix of their name.",
    .filter = goFilter,
    .score = goScore,
};

BERTH_PLUGINS(&golang)
