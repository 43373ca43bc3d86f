/* bind_claims.h: which volumes the claims have that a user wrote.
 *
 * In a cluster the controller of persistent volumes makes a new volume available, and binds a new claim at once, unless
 * its class waits for the first pod:
 *   - to the volume that the claim names, or that is reserved for the claim,
 *   - else to the smallest available one that is large enough, of its class, with its access modes and labels.
 * Volumes and claims that an API server has seen are as that controller has left them. */
#ifndef INPUT_BIND_CLAIMS_H
#define INPUT_BIND_CLAIMS_H

#include "input/load.h"

/* The objects of `written`. What they refer to is in the arena. */
void bind_written_claims(struct load *load, struct arena *arena);

#endif
