/* queue.h: pods that wait for a decision, each in exactly one place.
 *
 *                       ┌──────────────── passes its gates ◀── event, update ── gated
 *                       ▼                                                          ▲ a PreEnqueue plugin holds it back
 *     add ──▶ gates ──▶ active ──▶ pop ──▶ in flight ──▶ done                      │
 *                       ▲    ▲              │ rejected, failed                     │
 *            time is up │    │ none active  ├──▶ backoff ◀── event that may help ──┤
 *                       └────┴── backoff ◀──┘                                      │
 *                                           └──▶ unschedulable ────────────────────┘
 *
 *     active          to be decided: in the order of the profile's QueueSort plugin, then of age
 *     backoff         tried in vain; waits before the next attempt, longer each time. A rejected pod is taken from here
 *                     when no pod is active; one that failed with an error waits until it is over
 *     unschedulable   rejected, and nothing that could help has happened since
 *     gated           held back by a PreEnqueue plugin
 *     in flight       being decided. What happens meanwhile is remembered and counts when it comes back
 *
 * The plugins that rejected a pod are known, and each has rules for events (framework/events.h): a pod wakes when the
 * hint of one of them says that the event may help. Rejected pods wait in lists, one for each set of rejecting plugins,
 * so that an event costs nothing where no pod waits for it.
 *
 * A pod that preempts is held until all its victims were deleted and the last one has left: a PreEnqueue plugin with
 * gates_preemptors (DefaultPreemption) gates it meanwhile, so that it does not look for other victims.
 *
 * Without the feature gate SchedulerPopFromBackoffQ nothing is taken from backoff before its time, the gates are asked
 * when a pod leaves it, and its end is looked for once a second from the start of the queue on.
 *
 * Time comes in as an argument, in nanoseconds since 1970; queue_next_due() tells when queue_tick() has something to
 * do. Memory follows the number of pods; popping and putting back allocate nothing. */
#ifndef QUEUE_QUEUE_H
#define QUEUE_QUEUE_H

#include "base/duration.h"
#include "base/heap.h"
#include "base/list.h"
#include "framework/profile.h"

#define QUEUE_NEVER INT64_MAX

#define QUEUE_PLACES(X) \
    /* enum, name */ \
    X(NOWHERE, "nowhere") \
    X(ACTIVE, "active") \
    X(BACKOFF, "backoff") \
    X(ERROR_BACKOFF, "backoff after an error") \
    X(UNSCHEDULABLE, "unschedulable") \
    X(GATED, "gated") \
    X(IN_FLIGHT, "in flight")

enum queue_place {
#define X(name, text) QUEUE_##name,
    QUEUE_PLACES(X)
#undef X
        QUEUE_PLACE_COUNT
};
extern const char *const queue_place_names[QUEUE_PLACE_COUNT];

/* The queues as metrics name them. */
enum queue_name { QUEUE_NAME_ACTIVE, QUEUE_NAME_BACKOFF, QUEUE_NAME_UNSCHEDULABLE, QUEUE_NAME_COUNT };

enum { GATE_NONE = -1 };
#define QUEUE_LAST_HEAP QUEUE_ERROR_BACKOFF

struct wait_list;

/* As a plugin that rejected a pod: none did, and no event helps the pod. A registry has fewer plugins than bits. */
#define QUEUE_REJECTED_BY_NONE (UINT64_C(1) << (PLUGINS_MAX - 1))

/* A pod that waits or is in flight. Read-only for others than the queue. */
struct queued_pod {
    struct pod_info *pod; /* NULL: went away while in flight */
    uint32_t profile;
    enum queue_place place;
    size_t at;              /* in the heap or the wait list */
    struct wait_list *list; /* unschedulable or gated: which */

    int64_t since_ns;         /* when it came, or came back from its last attempt */
    uint64_t order;           /* breaks ties of since_ns */
    int64_t first_attempt_ns; /* when it was first ready to be decided; QUEUE_NEVER: not yet */
    int64_t backoff_until_ns; /* a full second; 0: not computed */
    int64_t
        flushed_ns; /* when it was last tried again for having waited so long; 0: never since its attempt */
    uint32_t attempts, rejections, errors_in_a_row;

    uint64_t unschedulable, pending; /* rejected by: bits by plugin index in the profile */
    int32_t gate;                    /* index of the plugin that holds it back, or GATE_NONE */
    bool was_flushed;                /* nothing woke it but its long wait */
    bool missed;                     /* something that may help happened while its gate held it back */
    bool is_held;                    /* its victims are being deleted */
    bool is_postponed;               /* it needs victims, which must not be deleted yet */
    uint16_t woken_by;               /* enum event_label: why it is tried, or is to be tried */
    struct pod_info *last_victim;    /* all others were deleted; referenced. NULL: not yet */

    /* in flight */
    struct list_link flight;
    struct list_link noted;     /* in queue.noted, or in the list of its group */
    struct flight_group *group; /* it waits for plugins at Permit; NULL: any plugin may reject it */
    uint64_t grouped_from;      /* number of the first event that the group has noted for it */
    uint64_t interested;        /* by plugin index: something happened that it has a rule for */
    uint64_t helped;            /* by plugin index: something happened that may change its answer */
    bool helped_anyway;         /* whichever plugin rejects it */
    uint64_t events_from;       /* number of the first event since */
};

struct queue_options {
    const struct profile *profiles;
    uint32_t profiles_len;
    struct cluster *cluster; /* what hints look at */
    /* Of the QueueSort plugin, whose data `sorter` is; NULL: by age. */
    bool (*less)(const void *self, const struct pod_info *a, const struct pod_info *b);
    const void *sorter;
    int64_t backoff_initial_ns, backoff_max_ns; /* a maximum of 0: no backoff */
    int64_t unschedulable_max_ns; /* then a pod is tried again though nothing helped; 0: five minutes */
    int64_t now_ns;
};

struct queue {
    struct queue_options options;
    struct heap heaps[QUEUE_LAST_HEAP + 1]; /* by place, from QUEUE_ACTIVE on */
    VEC(struct wait_list *) wait_lists;     /* of unschedulable and gated pods */
    struct idmap entries;                   /* address of a pod_info to its queued_pod */
    VEC(struct queued_pod *) woken;
    struct list in_flight;                    /* struct queued_pod, oldest first */
    struct list noted;                        /* those of them for which hints are evaluated one by one */
    VEC(struct flight_group *) flight_groups; /* the others; in_flight.h */
    VEC(uint16_t) flight_events;              /* labels of what happened since the oldest was popped */
    uint64_t flight_events_from;              /* number of the first of them */
    struct event_interest *interests;         /* by profile */
    bool pops_backoff;    /* pods that back off are popped when none is active (SchedulerPopFromBackoffQ) */
    int64_t next_look_ns; /* if not: when backoffs that are over end */
    uint64_t arrivals;
    uint64_t pops;       /* attempts that began, of all pods */
    uint64_t pods_noted; /* pods in flight that were looked at for an event, so far */
    int64_t next_leftovers_ns;
    struct arena scratch;
    size_t counts[QUEUE_PLACE_COUNT];
    uint32_t (*reasons)[PLUGINS_MAX];  /* by profile and plugin: pods that it rejected and that wait */
    uint64_t (*incoming)[LABEL_COUNT]; /* by enum queue_name and label: pods that came in */
    /* Likewise, without those that a hint sent there: newer releases count entities so. */
    uint64_t (*incoming_entities)[LABEL_COUNT];
};

void queue_init(struct queue *queue, const struct queue_options *options);
void queue_release(struct queue *queue);
/* Another profile decides the pod, or it is decided otherwise: it goes through its gates again, and is tried. */
void queue_judge_anew(struct queue *queue, const struct pod_info *pod, int64_t now_ns);
/* Other profiles, order and backoffs; the rest of the options stays. Pods that wait go through the gates of their new
 * profile, and are tried when their backoff is over, since the new plugins may not reject them. Pods in flight stay so.
 * Every pod that waits has a profile by its scheduler name. */
void queue_reconfigure(struct queue *queue, const struct queue_options *options, int64_t now_ns);

/* ---- pods come and go ---- */
/* A new pod, of the profile by number: active or gated; *ret_gate says why (its texts stay until the next call). The
 * queue keeps a pointer, not a reference: queue_remove() or queue_update() comes before the pod goes. */
struct queued_pod *queue_add(struct queue *queue, struct pod_info *pod, uint32_t profile, int64_t now_ns,
                             struct status *ret_gate);
/* The pod has another version; `before` is still there. A rejected pod may wake, one in flight stays there. One that
 * is not known yet is added. */
void queue_update(struct queue *queue, struct pod_info *before, struct pod_info *after, uint32_t profile,
                  int64_t now_ns);
/* The pod has another version, and that is no event: it has a place already, or nothing has changed. */
void queue_replace(struct queue *queue, struct pod_info *before, struct pod_info *after);
/* The pod is gone or needs no decision; it may wait anywhere, or nowhere. One in flight stays so until it is given
 * back, and then it is gone. */
void queue_remove(struct queue *queue, const struct pod_info *pod);
struct queued_pod *queue_find(const struct queue *queue, const struct pod_info *pod);

/* ---- decisions ---- */
/* The next pod to decide, in flight from now on; NULL: none. It ends with queue_requeue() or queue_done(). */
struct queued_pod *queue_pop(struct queue *queue);
/* No plugin can reject it any more: what happens from now on need not be remembered for it. */
void queue_settle(struct queue *queue, struct queued_pod *entry);
/* Only these plugins (by index) can still reject the pod: it waits for them at Permit. */
void queue_await(struct queue *queue, struct queued_pod *entry, uint64_t plugins);
/* It has no node. The plugins that rejected it are bits by plugin index (pending ones are in both); none: an error, and
 * it is tried again after a while. */
void queue_requeue(struct queue *queue, struct queued_pod *entry, uint64_t unschedulable, uint64_t pending,
                   int64_t now_ns);
/* It needs no decision any more. */
void queue_done(struct queue *queue, struct queued_pod *entry);

/* ---- what wakes pods ---- */
/* Restricts an event to some of the pods that wait. */
struct queue_filter {
    bool has_priority_max;
    int32_t priority_max;
    const struct pod_info *except;
};
/* Something happened: pods that it may help are tried again. `only` may be NULL. */
void queue_event(struct queue *queue, const struct cluster_event *event, const struct queue_filter *only,
                 int64_t now_ns);
/* The pod is tried at once, wherever it waits. */
void queue_activate(struct queue *queue, struct pod_info *pod, int64_t now_ns);
/* Time has passed: ends backoffs, and the wait of pods that have waited for very long. */
void queue_tick(struct queue *queue, int64_t now_ns);
/* When queue_tick() has something to do; QUEUE_NEVER: only when something else happens. */
int64_t queue_next_due(const struct queue *queue);
/* When the next backoff ends. */
int64_t queue_next_backoff(const struct queue *queue);

/* ---- while victims leave ---- */
/* The pod in flight preempts: it is held once it is requeued. One that is held already stays as it is. */
void queue_hold(struct queued_pod *entry);
/* All its victims but this one were deleted: the pod is held only until it is gone or terminating. */
void queue_hold_last(struct queue *queue, const struct pod_info *pod, struct pod_info *victim);
/* All were deleted. The pod is not held any more; if something that may help happened meanwhile, it counts now. Or the
 * pod is tried at once. */
void queue_hold_end(struct queue *queue, struct pod_info *pod, bool at_once, int64_t now_ns);
bool queue_is_held(const struct queue *queue, const struct queued_pod *entry);
/* The pod in flight needs victims, which must not be deleted yet; when they may, all such pods are tried at once. */
void queue_postpone(struct queued_pod *entry);
void queue_end_postponed(struct queue *queue, int64_t now_ns);

/* ---- for metrics and views ---- */
/* Adds the events that are remembered for pods in flight to counts[label]. */
void queue_count_flight_events(const struct queue *queue, size_t counts[LABEL_COUNT]);
/* Calls for every pod in the queue, in no order; nothing may change meanwhile. */
void queue_each(const struct queue *queue, void (*visit)(void *context, const struct queued_pod *entry),
                void *context);
/* For qsort() of pointers to entries: in order of arrival. */
int queued_by_arrival(const void *a, const void *b);

#endif
