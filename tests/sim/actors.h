/* actors.h: users, controllers, kubelets, another scheduler and an operator. */
#ifndef SIM_ACTORS_H
#define SIM_ACTORS_H

#include "sim.h"

/* Creates the initial cluster. */
void actors_begin(struct sim *sim);
/* Ends all faults; requests in flight complete. */
void actors_calm(struct sim *sim);
void actors_delete_everything(struct sim *sim);

void actors_random_pod(struct sim *sim, struct pod_facts *ret);
struct stored *actors_create_pod(struct sim *sim, uint32_t number, const struct pod_facts *facts);

#endif
