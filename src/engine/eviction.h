/* eviction.h: victims of preemption are deleted, in the background.
 *
 *     nominations of lower pods on the node are cleared
 *     all victims but the last, side by side: condition DisruptionTarget ─▶ delete ─▶ event Preempted
 *     then the last one; then the preemptor is not held any more
 *
 * A victim that is still being bound here goes back to the queue instead; if the last one does, the preemptor of 1.37
 * and later is tried at once. When one of them cannot be deleted, the last
 * one is spared and the preemptor is tried again at once.
 *
 * No victim is deleted twice, although several preemptors may choose it before the watch shows its deletion: one whose
 * deletion is under way for another preemptor is waited for, one that was deleted is settled. pod_info.eviction
 * remembers both until the pod is gone. */
#ifndef ENGINE_EVICTION_H
#define ENGINE_EVICTION_H

#include "engine/engine.h"

/* Is there a victim that is not leaving already? */
bool eviction_needed(const struct decision *decision);
/* Evicts the victims of a decision: in the background, or, if it is engine->open, before anything else is decided. Then
 * all victims are evicted at once, the first that cannot be deleted ends it, and engine_victims_settled() is called. */
void eviction_begin(struct engine *engine, const struct profile *profile, const struct decision *decision,
                    int64_t now_ns);
/* Clears the nominations of less important pods to the node. */
void eviction_clear_lower(struct engine *engine, const struct decision *decision, int64_t now_ns);
/* A pod is gone: it need not be deleted any more. */
void evictions_pod_gone(struct engine *engine, const struct pod *pod, int64_t now_ns);
/* Is an eviction under way that a profile of the generation decided? */
bool evictions_need(const struct engine *engine, const struct generation *generation);
void evictions_release(struct engine *engine);

/* ---- after a refusal ----
 * A preemptor whose victims could not be deleted is tried again at once, and would evict them again as fast as the API
 * server refuses: one that has just started refuses all for seconds, one that denies the right does so for ever. There
 * are no evictions in the second after one that failed. A pod that needs some waits like one that no eviction would
 * help, also for events that may help it, and is tried when the second is over. */
/* A decision to evict pods, when it is not the time for that, evicts none and nominates no node. */
void eviction_postpone(struct engine *engine, struct queued_pod *entry, struct decision *decision,
                       int64_t now_ns);
/* The pod in flight is tried again when the second is over. */
void eviction_retry(struct engine *engine, struct queued_pod *entry);
void evictions_tick(struct engine *engine, int64_t now_ns);
/* INT64_MAX: never. */
int64_t evictions_next_due(const struct engine *engine);

#endif
