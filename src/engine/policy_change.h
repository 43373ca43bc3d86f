/* policy_change.h: policies, or what chooses among them, change while the engine runs.
 *
 *     ConfigMap ──▶ policy_set_read() ──▶ refused: nothing has changed
 *                                     └─▶ profiles for its weights ──▶ pods are derived anew ──▶ the queue judges anew
 *     Namespace, PriorityClass ──▶ stale ──▶ before the next decision: the pods that it concerns are derived anew
 *
 * Between two decisions all pods have the policies that are in effect, but for those that are being bound: they get
 * where they were decided to go, or are derived anew when they come back. */
#ifndef ENGINE_POLICY_CHANGE_H
#define ENGINE_POLICY_CHANGE_H

#include "engine/engine.h"

/* The ConfigMap with the policies was set; NULL: it is gone. */
void policy_change_map(struct engine *engine, const struct config_map *map, int64_t now_ns);
/* An object of another kind was set or removed (NULL), in the model too. */
void policy_change_object(struct engine *engine, enum api_kind kind, const struct meta *before,
                          const struct meta *after);
/* A pod that was being bound has no node. */
void policy_change_binding_failed(struct engine *engine);
/* Derives anew the pods of another policy. Returns how many. Those that wait are judged anew by the caller. */
uint32_t policy_change_derive(struct engine *engine);
/* Before a decision. */
void policy_change_settle(struct engine *engine, int64_t now_ns);
void policy_change_release(struct engine *engine);

#endif
