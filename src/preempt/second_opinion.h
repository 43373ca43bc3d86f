/* second_opinion.h: extenders look at the candidates for preemption before one is chosen. */
#ifndef PREEMPT_SECOND_OPINION_H
#define PREEMPT_SECOND_OPINION_H

#include "preempt/preempt.h"

/* Replaces candidates and their victims by what the extenders make of them, perhaps nothing. Error: one failed that
 * must not. */
struct status second_opinion(struct cycle *cycle, struct preempt_candidate **candidates, uint32_t *len);

#endif
