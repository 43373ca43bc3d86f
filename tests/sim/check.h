/* check.h: invariants, checked at once and at the end. They are computed from plain facts, without code of the
 * engine. */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "sim.h"

/* ---- after each step ---- */
void check_effect(struct sim *sim, const struct effect *effect);
void check_answer(struct sim *sim, const struct effect *effect, const struct answer *answer);
void check_decision(struct sim *sim, const struct decision *decision);
void check_notice(struct sim *sim, const struct notice *notice);
/* The server has bound a pod for the engine. */
void check_bound(struct sim *sim, const struct stored *pod);
/* A node appeared or changed. */
void check_node(struct sim *sim, const struct stored *node);
/* The core has received an object. */
void check_known(struct sim *sim, enum sim_kind kind, uint32_t number);
void check_restart(struct sim *sim);

/* ---- at the end ---- */
/* No pod waits that fits on a node. */
void check_no_fitting_pod_waits(struct sim *sim);
/* Conditions match the state of the pods. */
void check_conditions(struct sim *sim);
void check_calm(struct sim *sim);
/* All pods were deleted. */
void check_drained(struct sim *sim);
/* No pod is left: frees the records of pods, so that they do not count as memory in use. */
void check_forget(struct sim *sim);

#endif
