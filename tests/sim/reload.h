/* reload.h: the configuration changes while the scheduler runs.
 *
 * The configurations differ in the order and number of profiles, in plugins, weights, arguments and backoffs, never
 * in what a pod needs: the nodes that fit do not depend on the configuration, so every check holds throughout. */
#ifndef SIM_RELOAD_H
#define SIM_RELOAD_H

#include "sim.h"

/* The configuration of a scheduler that starts. */
struct engine_setup reload_setup(struct sim *sim);
/* engine_host.retired. */
void reload_retired(void *sim, void *owner);
/* Switches to another configuration, if a scheduler runs. */
void reload_change(struct sim *sim);

#endif
