/* observer.h: what the core does, counted: from decisions and notices of the engine to kube-scheduler's metrics.
 *
 * Everything here runs on the core thread. Numbers that are a state and not an event (how many pods wait, what the
 * model holds) are copied by observer_publish(), which the core calls when it has time and at least every few
 * decisions: a scrape reads them without asking the core. */
#ifndef SERVE_OBSERVER_H
#define SERVE_OBSERVER_H

#include "engine/engine.h"
#include "serve/families.h"

struct observer;

/* The metrics and the profiles outlive it. */
struct observer *observer_new(struct metrics *metrics, const struct engine *engine);
void observer_free(struct observer *observer);

/* A pod was decided; `took_ns` is what that took. */
void observer_decision(struct observer *observer, const struct decision *decision, int64_t took_ns);
void observer_notice(struct observer *observer, const struct notice *notice);
/* At most every 100 ms something happens. */
void observer_publish(struct observer *observer, const struct engine *engine, int64_t now_ns);

#endif
