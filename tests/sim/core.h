/* core.h: the scheduler's process: its engine, and the mirror that feeds it, as in the live scheduler. The engine
 * decides when every kind was listed. */
#ifndef SIM_CORE_H
#define SIM_CORE_H

#include "sim.h"

void core_start(struct sim *sim);
/* The process ends; its requests stay in flight. */
void core_stop(struct sim *sim);
/* Runs the engine: timers, decisions. */
void core_pump(struct sim *sim);
void core_answer(struct sim *sim, uint64_t ticket, const struct answer *answer);

/* ---- events of the watches ---- */
void core_set(struct sim *sim, struct version *version);
void core_remove(struct sim *sim, struct version *version);
void core_list(struct sim *sim, enum sim_kind kind);
/* `listed` by number: the objects in the list. */
void core_listed(struct sim *sim, enum sim_kind kind, const bool *listed);

#endif
