/* reload_trial.h: gives plugins the arguments of another configuration in a process of its own first.
 *
 *     reload_try() ──▶ this program anew, with the same command line, the bytes of the file and the plugins' files
 *                        └─▶ reload_rehearse(): flags, plugins, configuration, each init() ──▶ a crash is a sentence
 *
 * The new process makes no connection. It has a cluster without nodes and pods. What init() returns is left to the
 * core, which calls it again. */
#ifndef CMD_RELOAD_TRIAL_H
#define CMD_RELOAD_TRIAL_H

#include "cmd/config_generation.h"

/* `argv` is the scheduler's own. 0 also where no plugin from a file takes part: then there is nothing to try.
 * -ECANCELED: `stop_fd` became readable. May take the time that a trial has (trial.h). */
int reload_try(const struct config_generation *generation, char *const *argv, int stop_fd, struct error *err);
/* All that the new process does. Returns only where it was not started by a scheduler: an exit code. */
int reload_rehearse(char **argv);

#endif
