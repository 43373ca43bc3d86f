/* check.h: what must be true, at once and in the end. Everything is worked out from plain facts, with no code of the
 * engine's. */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "sim.h"

/* ---- at once ---- */
void check_effect(struct sim *sim, const struct effect *effect);
void check_answer(struct sim *sim, const struct effect *effect, const struct answer *answer);
void check_decision(struct sim *sim, const struct decision *decision);
void check_notice(struct sim *sim, const struct notice *notice);
/* The server has bound a pod for us. */
void check_bound(struct sim *sim, const struct stored *pod);
/* A node appeared or changed. */
void check_node(struct sim *sim, const struct stored *node);
/* The core was told. */
void check_told(struct sim *sim, enum sim_kind kind, uint32_t number);
void check_new_life(struct sim *sim);

/* ---- in the end ---- */
/* Nobody waits who fits somewhere. */
void check_nobody_waits_in_vain(struct sim *sim);
/* Conditions say what is the case. */
void check_conditions(struct sim *sim);
void check_calm(struct sim *sim);
/* All pods were deleted. */
void check_drained(struct sim *sim);
/* No pod is left: what is remembered of them goes, so that it does not count as memory in use. */
void check_forget(struct sim *sim);

#endif
