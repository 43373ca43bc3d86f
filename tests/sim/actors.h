/* actors.h: everybody else: users, controllers, kubelets, another scheduler, an operator with a heavy hand. */
#ifndef SIM_ACTORS_H
#define SIM_ACTORS_H

#include "sim.h"

/* The cluster as it is at the beginning. */
void actors_begin(struct sim *sim);
/* No more trouble: what is under way ends. */
void actors_calm(struct sim *sim);
void actors_delete_everything(struct sim *sim);

void actors_random_pod(struct sim *sim, struct pod_facts *ret);
struct stored *actors_create_pod(struct sim *sim, uint32_t number, const struct pod_facts *facts);

#endif
