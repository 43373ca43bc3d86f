/* pod_status.h: writes conditions and nominations of pods.
 *
 * For each pod at most one write is under way; what is wanted meanwhile waits, and only the newest of it is sent. So a
 * condition never overtakes a newer one, and a pod is bound only when nothing is under way: a "not scheduled" must not
 * arrive after the binding. What is there already is not written again.
 *
 * Of all pods, few writes are under way: where thousands fit nowhere, bindings do not queue behind conditions, and a
 * slow API server gets fewer writes. Others wait for their turn in order of arrival, and send what is wanted by then.
 * Nominations do not wait: other components need them. */
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
    struct strmap by_pod; /* pod_key() to struct status_record */
    uint32_t under_way;
    struct list waiting; /* struct status_record: for their turn */
    const struct pod *(*known)(void *context, struct str namespace, struct str name); /* NULL: it is gone */
    void (*idle)(void *context, struct str pod_key,
                 int64_t now_ns); /* nothing is under way for it any more */
    void *context;
};

/* Identifies a pod: its uid, or its name if it has none. */
struct str pod_key(const struct pod *pod, struct strbuf *scratch);

void pod_statuses_release(struct pod_statuses *statuses);
void pod_status_set(struct pod_statuses *statuses, const struct pod *pod, const struct status_change *change,
                    int64_t now_ns);
bool pod_status_busy(const struct pod_statuses *statuses, const struct pod *pod);
/* A newer version of the pod is known: from now on changes are compared with it. */
void pod_status_seen(struct pod_statuses *statuses, const struct pod *pod);
/* The pod goes to a node: a condition that says why it has none need not be written any more. */
void pod_status_void(struct pod_statuses *statuses, const struct pod *pod);
/* The pod is gone. */
void pod_status_forget(struct pod_statuses *statuses, const struct pod *pod, int64_t now_ns);

/* Fills in when the condition got its status, and the generation that it is about; false: the pod has it already. */
bool condition_wanted(const struct pod *pod, int64_t now_ns, struct wanted_condition *condition);

#endif
