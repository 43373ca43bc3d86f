/* hint_eval.h: does an event make a pod worth another attempt? The queueing hints of the plugins that rejected the pod
 * are evaluated. */
#ifndef QUEUE_HINT_EVAL_H
#define QUEUE_HINT_EVAL_H

#include "queue/queue.h"

/* In rising order of eagerness. */
enum strategy { STRATEGY_SKIP, STRATEGY_AFTER_BACKOFF, STRATEGY_AT_ONCE };

/* Has a plugin of any profile a rule for the event? */
bool hint_eval_any(const struct queue *queue, const struct cluster_event *event);
/* Has one of the plugins that rejected the pods of the list? */
bool hint_eval_list(const struct queue *queue, const struct wait_list *list,
                    const struct cluster_event *event);
/* With SchedulerPreQueueingHints: do plugins say that the event is for some pods only? */
bool hint_eval_narrows(const struct queue *queue, const struct cluster_event *event);
/* Then: is it for this one? */
bool hint_eval_affects(const struct queue *queue, const struct pod *pod, const struct cluster_event *event);
/* Calls the hints of the plugins that rejected the pod. */
enum strategy hint_eval_pod(struct queue *queue, const struct queued_pod *entry,
                            const struct cluster_event *event);
/* The hint of one plugin. */
enum hint hint_eval_plugin(struct queue *queue, const struct queued_pod *entry, uint32_t plugin,
                           const struct cluster_event *event);
/* A wildcard event with a pod concerns that pod alone. */
bool hint_eval_wildcard(const struct queued_pod *entry, const struct cluster_event *event);

#endif
