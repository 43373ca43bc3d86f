/* binding_calls.h: when a pod on its way to a node is called: at a time, by a heap; and when an object changes that it
 * waits for. What waits costs nothing until then. */
#ifndef ENGINE_BINDING_CALLS_H
#define ENGINE_BINDING_CALLS_H

#include "engine/binding.h"

/* From now on BINDING_ON_CHANGED follows a change of volumes, claims or devices; not any more. */
void binding_watch(struct pod_binding *binding);
void binding_unwatch(struct pod_binding *binding);

/* BINDING_ON_DUE for those whose time has come. */
void bindings_call_due(struct engine *engine, int64_t now_ns);
/* BINDING_ON_CHANGED for those that watch, if anything changed. */
void bindings_call_watching(struct engine *engine, int64_t now_ns);

#endif
