/* in_flight.h: pods that are being decided, and the events that happen meanwhile.
 *
 * Which plugin will reject such a pod is not known yet. kube-scheduler keeps all events with their objects until the
 * pod comes back; here the hint of every plugin that has a rule is evaluated when the event comes, and a bit per plugin
 * is kept. When the pod itself changes meanwhile, hints for the old version are void: they all count as Queue.
 *
 * Pods that wait at Permit can be rejected by the plugins that they wait for only, and there may be thousands of them.
 * They are in groups by these plugins. An event costs nothing for a group whose plugins have no rule for it; where a
 * rule has no hint function, the group remembers the number of the event, and a pod compares it with the number at
 * which it came. Hint functions are called for each pod of the group until they say Queue. */
#ifndef QUEUE_IN_FLIGHT_H
#define QUEUE_IN_FLIGHT_H

#include "queue/hint_eval.h"

void in_flight_add(struct queue *queue, struct queued_pod *entry);
void in_flight_remove(struct queue *queue, struct queued_pod *entry);
/* False: not in flight, or no plugin can reject it any more (queue_settle()). */
bool in_flight_has(const struct queue *queue, const struct queued_pod *entry);
/* Remembers the event for all pods in flight. */
void in_flight_note(struct queue *queue, const struct cluster_event *event);
/* Tried at once by a plugin or an operator: whichever plugin rejects it. */
void in_flight_activate(struct queue *queue, struct queued_pod *entry);
void in_flight_group(struct queue *queue, struct queued_pod *entry, uint64_t plugins);
/* Out of its group, whose plugins are gone: what it has noted is void. */
void in_flight_ungroup(struct queue *queue, struct queued_pod *entry);
/* What the group has noted is in the pod's own bits. */
void in_flight_catch_up(const struct queue *queue, struct queued_pod *entry);
void in_flight_release(struct queue *queue);
/* What the events mean for a pod that has been rejected. */
enum strategy in_flight_strategy(const struct queued_pod *entry);

#endif
