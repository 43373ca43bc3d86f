/* trial.h: does something in a child process first, to see whether it crashes. */
#ifndef CMD_TRIAL_H
#define CMD_TRIAL_H

#include "base/error.h"

struct trial;

/* Who will be said to have crashed (or hung), and where, if that happens from here on: "FILE: plugin X", "in init()".
 * Without a trial (NULL) nothing is noted. */
void trial_note(struct trial *trial, const char *where, const char *who, ...) _printf_(3, 4);
/* Calls `act` in a child that can not be heard. 0: it returned; otherwise the last note, and how it ended. Before
 * other threads start. */
int trial_run(void (*act)(struct trial *trial, void *context), void *context, struct error *err);

#endif
