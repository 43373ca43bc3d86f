/* refusal.h: what was found for a class of pods that fits nowhere, as long as nothing changes.
 *
 * An event wakes all pods that it may help, often hundreds of one class, of which the first takes the place. For the
 * others nothing has changed since the last of them was refused: no node is feasible, no victims help, for the same
 * reasons and in the same words. A refusal belongs to the table of the class and keeps all that a decision tells.
 *
 * It counts only where the answer depends on nothing else than the model and the class: no per-node plugin, no
 * extender, no volumes or devices, no nomination of the pod, and PostFilter plugins that say so (plugin.h). */
#ifndef ENGINE_REFUSAL_H
#define ENGINE_REFUSAL_H

#include "engine/class_cache.h"
#include "engine/decide.h"

/* The refusal of the pod's class, if it still counts; else NULL. */
const struct refusal *refusal_find(const struct class_table *source, const struct cycle *cycle);
/* The pod of the cycle was refused, and the model is as before. The number is one that no other refusal has. */
void refusal_keep(struct class_table *source, const struct cycle *cycle, const struct decision *decision,
                  uint64_t number);
/* The decision for another pod of the class. */
void refusal_repeat(const struct refusal *refusal, struct cycle *cycle, struct decision *ret);
void refusal_free(struct refusal *refusal);

#endif
