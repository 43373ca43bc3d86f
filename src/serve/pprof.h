/* pprof.h: /debug/pprof, as far as a program in C has what it shows: the CPU profile and the names of functions.
 *
 *     /debug/pprof/                    what there is
 *     /debug/pprof/profile?seconds=N   what uses the CPU in the next N (30) seconds, for `go tool pprof`
 *     /debug/pprof/symbol              names of functions by address
 *     /debug/pprof/cmdline             the command line, its words separated by zero bytes
 *     /debug/pprof/heap?debug=1        figures of malloc, as text
 *
 * A timer of the server's loop ends the profile, and the worker pool writes it down. There is one profile at a time; it
 * ends early when its client goes. */
#ifndef SERVE_PPROF_H
#define SERVE_PPROF_H

#include "serve/serve.h"

#define PPROF_PATH "/debug/pprof"

struct pprof;

struct pprof *pprof_new(struct serve *serve);
/* A profile that is under way ends now, what there is of it is the answer, and no other begins. While the server runs.
 * NULL is fine. */
void pprof_stop(struct pprof *pprof);
/* After the server. NULL is fine. */
void pprof_free(struct pprof *pprof);
/* The view of PPROF_PATH and everything below. */
int pprof_show(struct pprof *pprof, const struct serve_request *request, struct serve_reply *reply);

#endif
