/* in_flight.h: pods that are being decided, and the events that happen meanwhile.
 *
 * Which plugin will reject such a pod is not known yet. kube-scheduler keeps all events with their objects until the
 * pod comes back; here the hint of every plugin that has a rule is evaluated when the event comes, and a bit per plugin
 * is kept. When the pod itself changes meanwhile, hints for the old version are void: they all count as Queue. */
#ifndef QUEUE_IN_FLIGHT_H
#define QUEUE_IN_FLIGHT_H

#include "queue/hint_eval.h"

void in_flight_add(struct queue *queue, struct queued_pod *entry);
void in_flight_remove(struct queue *queue, struct queued_pod *entry);
/* False: not in flight, or no plugin can reject it any more (queue_settle()). */
bool in_flight_has(const struct queue *queue, const struct queued_pod *entry);
/* Remembers the event for all pods in flight. */
void in_flight_note(struct queue *queue, const struct cluster_event *event);
/* What the events mean for a pod that has been rejected. */
enum strategy in_flight_strategy(const struct queued_pod *entry);

#endif
