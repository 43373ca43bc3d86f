/* default_preemption.h: a pod whose victims are being asked to leave is held back from the queue. */
#ifndef PREEMPT_DEFAULT_PREEMPTION_H
#define PREEMPT_DEFAULT_PREEMPTION_H

#include "framework/profile.h"

/* Did PostFilter, which ended so, get as far as DefaultPreemption? */
bool preemption_asked(const struct profile *profile, struct status status);

/* The victims of a pod are asked to leave, one by one. A profile without DefaultPreemption ignores all of
 * these. */
void preemption_begin(const struct profile *profile, const struct pod *pod);
/* All but this one were asked: as soon as it goes, the pod is no longer held back. */
void preemption_last(const struct profile *profile, const struct pod *pod, const struct pod *victim);
/* All were asked, or it was given up. Nothing happens to a pod that does not preempt. */
void preemption_end(const struct profile *profile, const struct pod *pod);

#endif
