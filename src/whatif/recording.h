/* recording.h: a simulation as a live scheduler would see it, recorded: `berth replay` repeats it without a cluster.
 *
 *     objects ──lists──▶ mirror ──▶ ENGINE ──effects──▶ answers, and what a watch would show
 *                          └──────── journal (live/journal.h) ────────┘
 *
 * Bindings and deletions succeed at once, and controllers make pods again in place of victims. Volumes and claims for
 * devices that are still to be made are refused: no controller makes them here, so their pods wait. */
#ifndef WHATIF_RECORDING_H
#define WHATIF_RECORDING_H

#include "whatif/simulate.h"

/* Records what becomes of the input, with these changes, in a folder. */
int simulation_record(const struct input *input, const struct change_requests *changes, const char *dir,
                      const struct sim_options *options, uint64_t *ret_decisions, struct error *err);

#endif
