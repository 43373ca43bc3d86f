/* observer.h: metrics of the core: from decisions, notices and the probe of the engine to kube-scheduler's
 * metrics.
 *
 * Everything here runs on the core thread and takes no lock, but when a combination of labels comes for the first time.
 * Numbers that are a state and not an event (how many pods wait, what the model holds) are copied by
 * observer_publish(), which the core calls when it has time and at least every few decisions: a scrape reads them
 * without asking the core. */
#ifndef OBSERVE_OBSERVER_H
#define OBSERVE_OBSERVER_H

#include "engine/engine.h"
#include "framework/probe.h"
#include "observe/families.h"

struct observer;

/* The metrics outlive it. Labels of events are those of the release. */
struct observer *observer_new(struct metrics *metrics, const struct features *features);
/* After the engine that it watches. */
void observer_free(struct observer *observer);
/* For engine_watch(); lives as long as the observer. */
const struct probe *observer_probe(const struct observer *observer);

/* A pod was decided; `took_ns` is what that took. */
void observer_decision(struct observer *observer, const struct decision *decision, int64_t took_ns);
void observer_notice(struct observer *observer, const struct notice *notice);
/* What was sampled of the calls of a plugin, by index in the profile; without PreBind and Bind, whose times are those
 * of waiting. A profile that is not observed: nothing. */
void observer_sampled(const struct profile *profile, uint32_t plugin, uint64_t *ret_calls, int64_t *ret_ns);
/* Publishes at most every 100 ms. Returns when to call again though nothing else happens, because of changes since the
 * last publication; INT64_MAX: all is published. */
int64_t observer_publish(struct observer *observer, const struct engine *engine, int64_t wall_ns);

#endif
