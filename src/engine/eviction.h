/* eviction.h: victims of preemption are deleted, in the background.
 *
 *     nominations of lower pods on the node are cleared
 *     all victims but the last, side by side: condition DisruptionTarget ─▶ delete ─▶ event Preempted
 *     then the last one; then the preemptor is not held any more
 *
 * A victim that is still being bound here goes back to the queue instead. When one of them cannot be deleted, the last
 * one is spared and the preemptor is tried again at once. */
#ifndef ENGINE_EVICTION_H
#define ENGINE_EVICTION_H

#include "engine/engine.h"

/* Evicts the victims of a decision. */
void eviction_begin(struct engine *engine, const struct profile *profile, const struct decision *decision,
                    int64_t now_ns);
/* A pod is gone: it need not be deleted any more. */
void evictions_pod_gone(struct engine *engine, const struct pod *pod, int64_t now_ns);
/* Is an eviction under way that a profile of the generation decided? */
bool evictions_need(const struct engine *engine, const struct generation *generation);
void evictions_release(struct engine *engine);

#endif
