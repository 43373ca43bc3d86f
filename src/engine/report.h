/* report.h: events and conditions of pods, and notices for the host's log and metrics. */
#ifndef ENGINE_REPORT_H
#define ENGINE_REPORT_H

#include "engine/binding.h"

/* The pod waits, or failed: its event and its condition. */
void report_failure(struct engine *engine, const struct profile *profile, const struct pod *pod,
                    struct str message, bool is_error, enum nomination nomination, struct str node,
                    int64_t now_ns);
/* A pod that is being deleted was not decided. */
void report_skipped(struct engine *engine, const struct profile *profile, const struct pod *pod,
                    struct str message);
void report_bound(struct engine *engine, const struct pod_binding *binding, int64_t now_ns);
void report_binding_failure(struct engine *engine, const struct pod_binding *binding, struct status status,
                            int64_t now_ns);
/* A pod was preempted. `in_memory`: it had no node in the cluster yet. */
/* Likewise, of a pod that was deleted: there is nothing to write the condition to. */
void report_removed(struct engine *engine, const struct pod_binding *binding, struct status status,
                    int64_t now_ns);
void report_preempted(struct engine *engine, const struct profile *profile,
                      const struct event_subject *victim, const struct event_subject *preemptor,
                      struct str node, bool in_memory);

#endif
