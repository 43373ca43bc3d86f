/* queue_log.h: kube-scheduler's log lines about its queues, in the words of the release. */
#ifndef QUEUE_QUEUE_LOG_H
#define QUEUE_QUEUE_LOG_H

#include "queue/hint_eval.h"
#include "queue/queue.h"

/* A PreEnqueue plugin holds the pod back, or failed. The pod has no condition that could say so. */
void queue_log_gate(const struct queued_pod *entry, struct status status, struct arena *arena);
void queue_log_entered(const struct queue *queue, const struct queued_pod *entry, enum queue_name name,
                       enum event_label why);
/* A pod came back from an attempt that failed, and went where its place says; `strategy` follows from what happened
 * meanwhile. */
void queue_log_failed(const struct queue *queue, const struct queued_pod *entry, enum strategy strategy);

#endif
