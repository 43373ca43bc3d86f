/* server.h: the API server's handling of a scheduler's request. */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "sim.h"

/* Strings of the answer are in the arena. */
struct answer server_do(struct sim *sim, const struct effect *effect, struct arena *arena);
/* As kubectl delete; `at_once`: without grace. */
void server_delete_pod(struct sim *sim, struct stored *pod, bool at_once);
/* A pod gets a node. */
void server_assign(struct sim *sim, struct stored *pod, int node, bool by_us);

#endif
