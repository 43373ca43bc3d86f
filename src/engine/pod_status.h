/* pod_status.h: writes conditions and nominations of pods.
 *
 * For each pod at most one write is under way; what is wanted meanwhile waits, and only the newest of it is sent. So a
 * condition never overtakes a newer one, and a pod is bound only when nothing is under way: a "not scheduled" must not
 * arrive after the binding. What is there already is not written again.
 *
 * Of all pods, few writes are under way: where thousands fit nowhere, bindings do not queue behind conditions, and a
 * slow API server gets fewer writes. Others wait for their turn in order of arrival, and send what is wanted by then.
 * Nominations do not wait: other components need them.
 *
 * A text that changes with every attempt ("0/200 nodes are available: 17 Insufficient cpu ...") is no news that a
 * component acts on. A condition with a new text and the same status and reason is written when nothing else is, one at
 * a time, and the longer it takes the rarer: a slow API server is not kept busy by texts. The last text arrives. */
#ifndef ENGINE_POD_STATUS_H
#define ENGINE_POD_STATUS_H

#include "base/list.h"
#include "engine/writes.h"

enum nomination { NOMINATION_KEEP, NOMINATION_SET, NOMINATION_CLEAR };

struct status_change {
    struct wanted_condition condition; /* an empty type: none. Its times are found when it is sent */
    enum nomination nomination;
    struct str node; /* NOMINATION_SET */
};

enum { STATUS_WRITES_MAX = 8 };

struct status_record;

struct pod_statuses {
    struct writes *writes;
    struct strmap by_pod;  /* pod_key() to struct status_record */
    int64_t wall_ahead_ns; /* engine_set_wall_clock(): dates of conditions have the time of day */
    uint32_t under_way;
    struct list waiting;    /* struct status_record: for their turn */
    struct list stale;      /* likewise, where only the text is new */
    uint32_t turns;         /* how many wait for theirs, in both lists */
    int64_t refresh_due_ns; /* not before that time is a new text sent */
    /* SchedulerAsyncAPICalls: a binding replaces whatever has not been sent, nominations too. */
    bool bindings_replace_all;
    const struct pod *(*known)(void *context, struct str namespace, struct str name); /* NULL: it is gone */
    void (*idle)(void *context, struct str pod_key,
                 int64_t now_ns);                                 /* nothing is under way for it any more */
    void (*written)(void *context, bool failed, int64_t took_ns); /* a write is over; NULL is fine */
    void *context;
};

/* Identifies a pod: its uid, or its name if it has none. */
struct str pod_key(const struct pod *pod, struct strbuf *scratch);

void pod_statuses_release(struct pod_statuses *statuses);
void pod_status_set(struct pod_statuses *statuses, const struct pod *pod, const struct status_change *change,
                    int64_t now_ns);
bool pod_status_busy(const struct pod_statuses *statuses, const struct pod *pod);
/* Is nothing under way, or to be written, or written and not shown by the watch yet? */
bool pod_status_settled(const struct pod_statuses *statuses, const struct pod *pod);
/* A newer version of the pod is known: from now on changes are compared with it. */
void pod_status_seen(struct pod_statuses *statuses, const struct pod *pod);
/* The pod goes to a node: a condition that says why it has none need not be written any more. */
void pod_status_void(struct pod_statuses *statuses, const struct pod *pod);
/* The pod is gone. */
void pod_status_forget(struct pod_statuses *statuses, const struct pod *pod, int64_t now_ns);
/* Time has passed: a new text may have its turn. */
void pod_statuses_tick(struct pod_statuses *statuses, int64_t now_ns);
/* When that is, though nothing happens; INT64_MAX: never. */
int64_t pod_statuses_next_due(const struct pod_statuses *statuses);

/* Fills in when the condition got its status, and the generation that it is about; false: the pod has it already, be
 * it about an older generation. */
bool condition_wanted(const struct pod *pod, int64_t wall_ns, struct wanted_condition *condition);

#endif
