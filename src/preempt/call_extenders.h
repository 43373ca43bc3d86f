/* call_extenders.h: extenders may change the candidates for preemption before one is chosen. */
#ifndef PREEMPT_CALL_EXTENDERS_H
#define PREEMPT_CALL_EXTENDERS_H

#include "preempt/preempt.h"

/* Replaces candidates and their victims by those that the extenders leave, perhaps none. Error: an extender failed that
 * is not ignorable. */
struct status call_extenders(struct cycle *cycle, struct preempt_candidate **candidates, uint32_t *len);

#endif
