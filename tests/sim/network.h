/* network.h: between the engine's effects and the server: requests are delivered, delayed or lost. */
#ifndef SIM_NETWORK_H
#define SIM_NETWORK_H

#include "sim.h"

/* An effect_emit; the host is the sim. */
void network_emit(void *sim, const struct effect *effect);

#endif
