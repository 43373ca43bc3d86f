/* defaults.h: what the API server fills in before it stores an object.
 *
 * Objects from a live cluster have it already; objects from files need it. Only fields that berth knows are filled in.
 * Defaulting a pod twice changes nothing; a pod that was made from a template still needs it. */
#ifndef API_DEFAULTS_H
#define API_DEFAULTS_H

#include "api/object.h"

/* KIND_UNKNOWN is left alone. New memory comes from the arena. */
void object_default(struct object *obj, struct arena *arena);

/* The spec and status of a pod alone, without metadata: for pods made from a template. */
void pod_default(struct pod *pod, struct arena *arena);

#endif
