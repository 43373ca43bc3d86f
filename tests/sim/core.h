/* core.h: the scheduler's process: its engine, and the host around it as the live scheduler has one.
 *
 * Objects are handed over as they come; one that is older than what is known of the same object is ignored. At the end
 * of a list, what was not in it is gone. The engine decides when every kind was listed. */
#ifndef SIM_CORE_H
#define SIM_CORE_H

#include "sim.h"

void core_start(struct sim *sim);
/* The process dies; what it has sent is on its way. */
void core_stop(struct sim *sim);
/* The engine runs: time, decisions. */
void core_pump(struct sim *sim);
void core_answer(struct sim *sim, uint64_t ticket, const struct answer *answer);

void core_set(struct sim *sim, struct version *version);
void core_remove(struct sim *sim, enum sim_kind kind, uint32_t number);

#endif
