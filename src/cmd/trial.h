/* trial.h: does something in a child process first, to see whether it crashes. */
#ifndef CMD_TRIAL_H
#define CMD_TRIAL_H

#include "base/error.h"

struct trial;

/* What will be said if it crashes from here on: "FILE: crashed in init()". Without a trial (NULL) nothing is noted. */
void trial_note(struct trial *trial, const char *format, ...) _printf_(2, 3);
/* Calls `act` in a child that can not be heard. 0: it returned; otherwise the last note, and how it ended. Before
 * other threads start. */
int trial_run(void (*act)(struct trial *trial, void *context), void *context, struct error *err);

#endif
