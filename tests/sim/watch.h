/* watch.h: how the core learns what is in the store. */
#ifndef SIM_WATCH_H
#define SIM_WATCH_H

#include "sim.h"

/* Begins with a list. */
void watch_start(struct sim *sim, enum sim_kind kind);
/* Something was committed: watches that slept go on. */
void watches_wake(struct sim *sim);
/* Events from now on are lost, until a list has made up for it. */
void watch_break(struct sim *sim, enum sim_kind kind);

#endif
