/* event_expiry.h: Events go an hour after they were written last, as those of kube-apiserver (--event-ttl). Without
 * that a cluster whose pods come and go would keep an Event of each of them for ever. */
#ifndef APISERVER_EVENT_EXPIRY_H
#define APISERVER_EVENT_EXPIRY_H

#include "apiserver/registry.h"
#include "net/loop.h"

struct event_expiry;

/* Events that are there already count as written now. On the loop's thread, as event_expiry_free(). */
struct event_expiry *event_expiry_new(struct registry *registry, struct loop *loop, int64_t ttl_ms);
/* NULL is fine. */
void event_expiry_free(struct event_expiry *expiry);

#endif
