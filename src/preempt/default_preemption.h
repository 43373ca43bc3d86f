/* default_preemption.h: what the engine asks about the DefaultPreemption plugin. */
#ifndef PREEMPT_DEFAULT_PREEMPTION_H
#define PREEMPT_DEFAULT_PREEMPTION_H

#include "framework/profile.h"

/* Did PostFilter, which ended with this status, call DefaultPreemption? */
bool preemption_tried(const struct profile *profile, struct status status);

#endif
