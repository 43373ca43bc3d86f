/* eviction.h: victims are asked to leave, in the background.
 *
 *     nominations of lower pods on the node are cleared
 *     all victims but the last, side by side: condition DisruptionTarget ─▶ delete ─▶ event Preempted
 *     then the last one; then the pod that they leave for is free to be tried again
 *
 * A victim that has no node in the cluster yet, because it is still being bound here, goes back to the queue instead.
 * When one of them cannot be asked, the last one is spared and the pod is tried again at once. */
#ifndef ENGINE_EVICTION_H
#define ENGINE_EVICTION_H

#include "engine/engine.h"

/* What the decision of a pod says about victims becomes true. */
void eviction_begin(struct engine *engine, const struct profile *profile, const struct decision *decision,
                    int64_t now_ns);
/* A pod is gone: it need not be asked any more. */
void evictions_pod_gone(struct engine *engine, const struct pod *pod, int64_t now_ns);
/* By which it was decided. */
const struct profile *eviction_profile(const struct eviction *eviction);
void evictions_release(struct engine *engine);

#endif
