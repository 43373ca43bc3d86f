/* events.h: what happens in the cluster, and which waiting pods it may help.
 *
 * A pod that was rejected waits until something happens that may change the answer of a plugin that rejected it. Each
 * plugin names the events that can (its rules), and may look closer at one of them (a hint): a pod that was short of
 * cpu need not wake for a node that is smaller than the pod.
 *
 *     event {Node, UpdateNodeLabel, before, after} ──▶ rules of the plugins that rejected the pod ──▶ hint: queue, skip
 *
 * Resources and actions have the reference's names, since labels of metrics are made of them. Their numbers are those
 * of the interface for plugins: new ones come last. */
#ifndef FRAMEWORK_EVENTS_H
#define FRAMEWORK_EVENTS_H

#include "api/types.h"
#include "base/arena.h"
#include "config/features.h"

struct cluster;
struct pod_info;
struct plugin;
struct plugin_instance;
struct profile;

/* Rules may name POD; events are about an assigned pod, the waiting pod itself (TARGET_POD, where the release tells it
 * apart) or another one that has no node. ANY, with all actions, is the wildcard. */
#define EVENT_RESOURCES(X) \
    /* enum, name */ \
    X(POD, "Pod") \
    X(ASSIGNED_POD, "AssignedPod") \
    X(UNSCHEDULED_POD, "UnscheduledPod") \
    X(NODE, "Node") \
    X(PV, "PersistentVolume") \
    X(PVC, "PersistentVolumeClaim") \
    X(CSI_NODE, "storage.k8s.io/CSINode") \
    X(CSI_DRIVER, "storage.k8s.io/CSIDriver") \
    X(CSI_STORAGE_CAPACITY, "storage.k8s.io/CSIStorageCapacity") \
    X(STORAGE_CLASS, "storage.k8s.io/StorageClass") \
    X(VOLUME_ATTACHMENT, "storage.k8s.io/VolumeAttachment") \
    X(RESOURCE_CLAIM, "resource.k8s.io/ResourceClaim") \
    X(RESOURCE_SLICE, "resource.k8s.io/ResourceSlice") \
    X(DEVICE_CLASS, "resource.k8s.io/DeviceClass") \
    X(POD_GROUP, "scheduling.k8s.io/PodGroup") \
    X(ANY, "*") \
    X(TARGET_POD, "TargetPod") \
    X(SAMPLE, "metrics.k8s.io/NodeMetrics") \
    X(OBJECT, "Object")

enum event_resource {
#define X(name, text) EVENT_##name,
    EVENT_RESOURCES(X)
#undef X
        EVENT_RESOURCE_COUNT
};

/* A bit each. */
#define EVENT_ACTIONS(X) \
    X(ADD, "Add") \
    X(DELETE, "Delete") \
    X(NODE_ALLOCATABLE, "UpdateNodeAllocatable") \
    X(NODE_LABEL, "UpdateNodeLabel") \
    X(NODE_TAINT, "UpdateNodeTaint") \
    X(NODE_CONDITION, "UpdateNodeCondition") \
    X(NODE_ANNOTATION, "UpdateNodeAnnotation") \
    X(NODE_DECLARED_FEATURE, "UpdateNodeDeclaredFeature") \
    X(POD_LABEL, "UpdatePodLabel") \
    X(POD_SCALE_DOWN, "UpdatePodScaleDown") \
    X(POD_TOLERATION, "UpdatePodToleration") \
    X(POD_GATES_ELIMINATED, "UpdatePodSchedulingGatesEliminated") \
    X(POD_GENERATED_CLAIM, "UpdatePodGeneratedResourceClaim") \
    X(NODE_PREEMPTION_POLICY, "UpdateNodePreemptionPolicy") \
    X(POD_SCALE_UP, "UpdatePodScaleUp")

enum event_action_number {
#define X(name, text) ACTION_NUMBER_##name,
    EVENT_ACTIONS(X)
#undef X
        ACTION_NUMBER_COUNT
};

enum event_action {
#define X(name, text) ACTION_##name = 1 << ACTION_NUMBER_##name,
    EVENT_ACTIONS(X)
#undef X
        ACTION_ALL = (1 << ACTION_NUMBER_COUNT) - 1,
    ACTION_UPDATE = ACTION_ALL & ~(ACTION_ADD | ACTION_DELETE), /* none of the special updates */
};

/* Why a pod enters a queue, where that is no event of the cluster. */
#define QUEUE_CAUSES(X) \
    X(ATTEMPT_FAILURE, "ScheduleAttemptFailure") \
    X(BACKOFF_COMPLETE, "BackoffComplete") \
    X(POP_FROM_BACKOFF, "PopFromBackoffQ") \
    X(FORCE_ACTIVATE, "ForceActivate") \
    X(UNSCHEDULABLE_TIMEOUT, "UnschedulableTimeout")

/* Every label is a small number: a cause, or a resource with an action (one of them, any update, or all). */
enum event_label {
#define X(name, text) LABEL_##name,
    QUEUE_CAUSES(X)
#undef X
        LABEL_FIRST_EVENT,
    LABEL_ANY_UPDATE = ACTION_NUMBER_COUNT,
    LABEL_ALL_ACTIONS,
    LABELS_PER_RESOURCE,
    LABEL_COUNT = LABEL_FIRST_EVENT + EVENT_RESOURCE_COUNT * LABELS_PER_RESOURCE,
};

struct cluster_event {
    enum event_resource resource;
    uint32_t actions;
    /* struct pod, struct node, struct pv ... by resource. An object that appears has no before, one that goes no
     * after. They need to stay only until the event was handed over. */
    const void *before, *after;
    enum event_label cause; /* of wildcards; 0: the label is that of resource and action */
    /* Of pods: it holds resources of a node though the object does not say so yet: it was placed or nominated here. */
    bool holds_resources;
};

enum hint { HINT_SKIP, HINT_QUEUE };

struct event_rule;

/* What a hint may look at besides the pod and the event. */
struct hint_context {
    const struct cluster *cluster; /* as it is after the event */
    const struct pod_info *info;   /* of the pod */
    const struct plugin *plugin;   /* whose hint it is */
    const void *self;              /* what the plugin's init() made */
    const struct event_rule *rule; /* whose hint it is, of the plugin's list */
    struct arena *arena;           /* for scratch; emptied after the hint */
};

struct event_rule {
    enum event_resource resource;
    uint32_t actions; /* 0 ends a list */
    /* May the event make a pod schedulable that this plugin rejected? When in doubt: queue. NULL: always queue. */
    enum hint (*hint)(const struct hint_context *context, const struct pod *pod,
                      const struct cluster_event *event);
    /* With SchedulerPreQueueingHints: is the pod one of those that the hint is for? Without a pod: is it for all? NULL:
     * it is. */
    bool (*affects)(const struct pod *pod, const struct cluster_event *event);
    enum behaviour since, until; /* the releases that have this rule */
    uint32_t gate;               /* 1 + enum feature: that brings it; 0: there is no such gate */
    uint32_t number;             /* for hints of loaded plugins: which of the plugin's rules it is */
};

/* For rows of rules: of releases that know POD only, and of those that tell pods apart. */
#define ANY_POD_RULE .until = BEHAVIOUR_pod_events_are_divided
#define DIVIDED_POD_RULE .since = BEHAVIOUR_pod_events_are_divided

/* ---- labels ---- */
/* "NodeUpdateNodeLabel", "AssignedPodDelete", "UnschedulableTimeout", as the release writes them. */
struct str event_label_text(enum event_label label, const struct release *release, struct arena *arena);
enum event_label event_label(const struct cluster_event *event);

/* ---- matching ---- */
/* Everything is tried again, or (with a pod as `after`) that pod. */
bool event_is_wildcard(const struct cluster_event *event);
/* Does the event fall under resource and actions of a rule? It is the same, or more special. */
bool event_matches(enum event_resource resource, uint32_t actions, const struct cluster_event *event);

/* Which plugins of a profile have rules for an event: by resource and action, a bit per plugin index. */
struct event_interest {
    uint64_t plugins[EVENT_RESOURCE_COUNT][LABELS_PER_RESOURCE];
};
void event_interest_init(struct event_interest *interest, const struct profile *profile);
uint64_t event_interest_of(const struct event_interest *interest, const struct cluster_event *event);
/* The rules of a plugin that the release and its gates have, for plugin_instance.rules; NULL: every event. */
const struct event_rule *event_rules_for(const struct plugin *plugin, const struct features *features,
                                         struct arena *arena);
/* One that can reject pods and says nothing about events wakes with all of them. */
const struct event_rule *plugin_event_rules(const struct plugin_instance *instance);
/* Does a rule without a hint function match? Then the plugin says Queue for every pod. */
bool event_helps_always(const struct plugin_instance *instance, const struct cluster_event *event);
/* What the plugin says about the pod; `context` needs everything but `plugin`, `self` and `rule`. */
enum hint event_hint(const struct profile *profile, uint32_t plugin, struct hint_context *context,
                     const struct pod *pod, const struct cluster_event *event);

/* Do the plugin's rules say that the event is for some pods only, or for this one? UNNARROWED: they say nothing. */
enum narrowing { EVENT_UNNARROWED, EVENT_FOR_ALL, EVENT_FOR_SOME };
enum narrowing event_narrowing(const struct plugin_instance *instance, const struct cluster_event *event);
bool event_affects(const struct plugin_instance *instance, const struct pod *pod,
                   const struct cluster_event *event);

/* ---- what an update of an object means ---- */
struct action_list {
    uint32_t items[ACTION_NUMBER_COUNT], len; /* each an event of its own */
};
/* Nothing where a scheduler does not care. */
struct action_list node_update_actions(const struct features *features, const struct node *before,
                                       const struct node *after);
/* ACTION_UPDATE where nothing special changed. */
struct action_list pod_update_actions(const struct features *features, const struct pod *before,
                                      const struct pod *after, struct arena *arena);
/* EVENT_ASSIGNED_POD or EVENT_UNSCHEDULED_POD. */
enum event_resource pod_event_resource(const struct pod *pod);
/* Of an update of a pod that waits or is in flight, for that pod. */
enum event_resource pod_own_event_resource(const struct features *features, const struct pod *pod);

/* ---- for hints ---- */
/* Defines a hint, which need not use all of its parameters. */
#define HINT(name) \
    static enum hint name(_unused_ const struct hint_context *context, _unused_ const struct pod *pod, \
                          _unused_ const struct cluster_event *event)
/* The same pod, of whatever version. Objects without a uid (from files) are told apart by name. */
bool pod_is(const struct pod *a, const struct pod *b);
/* A hint: something changed in the pod itself. */
enum hint hint_own_change(const struct hint_context *context, const struct pod *pod,
                          const struct cluster_event *event);
/* Does one of the event's pods hold resources of a node, or a nomination? */
bool event_pod_holds_resources(const struct cluster_event *event, const struct pod *pod);
/* Do two versions of an object agree in the field with that path, such as "spec.taints"? */
bool same_field(enum api_kind kind, const char *path, const void *before, const void *after);

#endif
