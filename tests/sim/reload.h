/* reload.h: the configuration changes while the scheduler runs.
 *
 * The configurations differ in the order and number of profiles, in plugins, weights, arguments and backoffs, never in
 * what a pod needs: where a pod fits does not depend on which one is in effect, so every check holds throughout. */
#ifndef SIM_RELOAD_H
#define SIM_RELOAD_H

#include "sim.h"

/* What a scheduler that starts begins with. */
struct engine_setup reload_setup(struct sim *sim);
/* engine_host.retired. */
void reload_retired(void *sim, void *owner);
/* Another one is in effect, if a scheduler runs. */
void reload_change(struct sim *sim);

#endif
