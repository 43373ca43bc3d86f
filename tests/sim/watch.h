/* watch.h: the watches that feed the core from the store. */
#ifndef SIM_WATCH_H
#define SIM_WATCH_H

#include "sim.h"

/* Begins with a list. */
void watch_start(struct sim *sim, enum sim_kind kind);
/* After a commit: idle watches continue. */
void watches_wake(struct sim *sim);
/* Events are lost from now on, until the next list. */
void watch_break(struct sim *sim, enum sim_kind kind);

#endif
