/* trial.h: does something in a child process first, to see whether it crashes.
 *
 *     trial_run()     the child is a fork: before other threads start
 *     trial_spawn()   the child is this program anew, which finds out by its name, and calls trial_serve(): at any
 *                     time. A fork of a process with threads may find a lock that no thread will open
 *
 * Both wait for it, for 20 seconds at most. */
#ifndef CMD_TRIAL_H
#define CMD_TRIAL_H

#include "base/error.h"

struct trial;

/* What the sentence about a crash (or a hang) from here on names, and where it happened: "FILE: plugin X", "in init()".
 * Without a trial (NULL) nothing is noted. */
void trial_note(struct trial *trial, const char *where, const char *who, ...) _printf_(3, 4);
/* The trial cannot be held: the sentence for trial_spawn(). */
void trial_fail(struct trial *trial, const struct error *err);

/* Calls `act` in a child without output. 0: it returned; otherwise the last note, and how it ended. */
int trial_run(void (*act)(struct trial *trial, void *context), void *context, struct error *err);

/* The same in a new process of this program, which has `argv` (from argv[1] on; NULL ends it) and `input`.
 * -ECANCELED: `stop_fd` became readable. */
int trial_spawn(char *const *argv, struct str input, int stop_fd, struct error *err);
/* Is this process a child of trial_spawn()? */
bool trial_is_child(const char *name);
/* All that such a child does. Returns only if it is none. */
void trial_serve(void (*act)(struct trial *trial, void *context), void *context);
struct str trial_input(const struct trial *trial);

#endif
