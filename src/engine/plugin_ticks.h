/* plugin_ticks.h: timers of plugins, by the engine's clock: a recording has the times of all ticks, so a replay calls
 * them at the same moments. */
#ifndef ENGINE_PLUGIN_TICKS_H
#define ENGINE_PLUGIN_TICKS_H

#include "engine/engine.h"

/* The profiles in use have changed: which plugins have a timer? */
void plugin_ticks_collect(struct engine *engine);
/* Calls those whose time has come. One that is late is called once. */
void plugin_ticks_run(struct engine *engine, int64_t now_ns);
/* INT64_MAX: none. */
int64_t plugin_ticks_next_due(const struct engine *engine);

#endif
