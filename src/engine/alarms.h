/* alarms.h: pods that a plugin rejected until a time: then they are tried again, though nothing happened. */
#ifndef ENGINE_ALARMS_H
#define ENGINE_ALARMS_H

#include "base/heap.h"
#include "cluster/cluster.h"

struct engine;

struct alarms {
    struct heap due; /* struct alarm, the first in order on top */
    uint64_t set;    /* how many there were */
};

void alarms_init(struct alarms *alarms);
void alarms_release(struct alarms *alarms);
/* For a pod that waits again. One that waits no longer, or for something else, is left alone when the time comes. */
void alarms_set(struct alarms *alarms, const struct pod *pod, int64_t at_ns);
/* INT64_MAX: none. */
int64_t alarms_next_due(const struct alarms *alarms);
void alarms_ring(struct engine *engine, int64_t now_ns);

#endif
