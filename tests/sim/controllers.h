/* controllers.h: kubelets that run and end pods, and whoever makes volumes and binds claims. */
#ifndef SIM_CONTROLLERS_H
#define SIM_CONTROLLERS_H

#include "sim.h"

/* They look around from now on. */
void controllers_begin(struct sim *sim);
void controllers_create_claim(struct sim *sim, uint32_t number);
/* One that nobody uses. */
void controllers_delete_claim(struct sim *sim);
/* Volumes that are there before anybody wants them. */
void controllers_create_volumes(struct sim *sim, uint32_t count);

#endif
