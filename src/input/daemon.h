/* daemon.h: which nodes a DaemonSet runs on, and what makes a pod one of a DaemonSet. */
#ifndef INPUT_DAEMON_H
#define INPUT_DAEMON_H

#include "api/types.h"
#include "base/arena.h"

/* The tolerations that the controller gives each of its pods. */
void daemon_tolerations(struct pod_spec *spec, struct arena *arena);
/* Would the controller put a pod of this spec (with daemon_tolerations) on the node? */
bool daemon_wants_node(const struct pod_spec *spec, const struct node *node);
/* Ties a pod to a node by its name, as the controller does. */
void daemon_pin(struct pod_spec *spec, struct str node, struct arena *arena);
/* The node that a pod is on or tied to; empty when there is none. */
struct str daemon_node(const struct pod *pod);

/* Leaves with its node: a mirror pod, or one of a DaemonSet. */
bool pod_stays_with_node(const struct pod *pod);

#endif
