/* controllers.h: kubelets that run and end pods, and controllers that create volumes and bind claims. */
#ifndef SIM_CONTROLLERS_H
#define SIM_CONTROLLERS_H

#include "sim.h"

/* Starts the controllers. */
void controllers_begin(struct sim *sim);
void controllers_create_claim(struct sim *sim, uint32_t number);
/* Deletes an unused claim. */
void controllers_delete_claim(struct sim *sim);
/* Creates volumes in advance. */
void controllers_create_volumes(struct sim *sim, uint32_t count);

#endif
