/* loaded_plugin.h: a plugin of a module as a plugin of the registry; for loaded.c and slots.c. */
#ifndef ABI_LOADED_PLUGIN_H
#define ABI_LOADED_PLUGIN_H

#include "abi/host.h"

struct record_type;

struct loaded_plugin {
    struct plugin plugin;
    struct berth_plugin outer; /* as large as we know it; what an older plugin does not have is NULL */
    const struct berth_event_rule *rules; /* likewise, each; as many as plugin.events */
    const struct record_type *args;
};

/* Gives the plugin the slots that its `outer` has; `init` and `events` are the caller's. */
void slots_connect(struct loaded_plugin *loaded);
/* The hint of a rule of a loaded plugin. */
enum hint slots_hint(const struct hint_context *context, const struct pod *pod,
                     const struct cluster_event *event);

#endif
