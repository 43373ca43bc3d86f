/* worth.h: is a pod worth another try after an event? */
#ifndef QUEUE_WORTH_H
#define QUEUE_WORTH_H

#include "queue/queue.h"

/* In rising order of eagerness. */
enum strategy { STRATEGY_SKIP, STRATEGY_AFTER_BACKOFF, STRATEGY_AT_ONCE };

/* Is any profile interested? */
bool worth_looking(const struct queue *queue, const struct cluster_event *event);
/* May the room's pods be worth a try at all? */
bool room_worth_looking(const struct queue *queue, const struct room *room,
                        const struct cluster_event *event);
/* Asks the plugins that rejected the pod. */
enum strategy pod_worth(struct queue *queue, struct queued_pod *entry, const struct cluster_event *event);

/* Pods in flight: remembers the event, and whom it may help. */
void flight_note(struct queue *queue, const struct cluster_event *event);
/* What came of that for a pod that was rejected. */
enum strategy flight_worth(const struct queued_pod *entry);
bool flight_is_on(const struct queue *queue, const struct queued_pod *entry);
void flight_begin(struct queue *queue, struct queued_pod *entry);
void flight_end(struct queue *queue, struct queued_pod *entry);

#endif
