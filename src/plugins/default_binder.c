/* DefaultBinder: the pod's node is decided; telling the API server is an effect that the engine sends out. */
#include "framework/plugin.h"

static struct status bind(struct cycle *cycle, uint32_t row)
{
    (void)cycle;
    (void)row;
    return STATUS_OK;
}

const struct plugin plugin_default_binder = {
    .name = "DefaultBinder",
    .doc = "Binds the pod to its node.",
    .bind = bind,
};
