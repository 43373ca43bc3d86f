/* informers.h: metrics about what is known of each kind of objects, as kube-scheduler counts for its informers.
 *
 *     store_resource_version   the version that the kind has been followed to; by the thread that watches
 *     queued_items             what has come and was not taken over yet
 *     processing_latency       how long the model and the queue needed to take over one change
 *
 * A release that has no such metrics has no struct informers: NULL is fine everywhere. */
#ifndef OBSERVE_INFORMERS_H
#define OBSERVE_INFORMERS_H

#include "api/types.h"
#include "observe/families.h"

struct informers;

/* Shows all kinds that the gates ask for, at 0. */
struct informers *informers_new(struct metrics *metrics, const struct features *features);
void informers_free(struct informers *informers);
/* From any thread. */
void informers_version(const struct informers *informers, enum api_kind kind, struct str version);
void informers_applied(const struct informers *informers, enum api_kind kind, int64_t ns);
/* `waiting` tells how much of a kind waits. */
void informers_publish(const struct informers *informers,
                       size_t (*waiting)(void *context, enum api_kind kind), void *context);

#endif
