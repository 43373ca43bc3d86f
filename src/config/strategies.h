/* strategies.h: the names of plugins that are shipped as shared objects, whether they are loaded or not; and which
 * plugin a wrong name may have meant. */
#ifndef CONFIG_STRATEGIES_H
#define CONFIG_STRATEGIES_H

#include "config/config.h"

bool strategy_scores(struct str name);

/* The plugin of the catalog, or the strategy, whose name is nearest, but for the case and "Plugin" at the end; NULL:
 * none is near. */
const char *plugin_name_near(const struct plugin_catalog *catalog, struct str name);

#endif
