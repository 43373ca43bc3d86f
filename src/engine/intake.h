/* intake.h: what a watch on the API server tells the engine: objects come, change and go.
 *
 * Each call brings the model up to date and wakes the pods that the change may help, as the reference's event handlers
 * do. An object given here must stay until it is replaced or removed, and the old version until the call returns. Pods
 * are different: they are freed through cluster->pod_free when nobody needs them any more. */
#ifndef ENGINE_INTAKE_H
#define ENGINE_INTAKE_H

#include "engine/engine.h"

/* A pod appeared or changed: it occupies a node, or waits for a decision. NULL: it has no node and is of another
 * scheduler, so it is not kept and stays the caller's. A pod that was decided here and is not bound yet keeps its
 * place. */
struct pod_info *engine_set_pod(struct engine *engine, const struct pod *pod, int64_t now_ns);
/* Removal is engine_remove_pod(). */

void engine_set_node(struct engine *engine, const struct node *node, int64_t now_ns);
void engine_remove_node(struct engine *engine, struct str name, int64_t now_ns);

/* Everything else that the model keeps (CLUSTER_STORES). False: it does not keep that kind. */
bool engine_set_object(struct engine *engine, enum api_kind kind, const void *object, const struct meta *meta,
                       int64_t now_ns);
void engine_remove_object(struct engine *engine, enum api_kind kind, struct str namespace, struct str name,
                          int64_t now_ns);

#endif
