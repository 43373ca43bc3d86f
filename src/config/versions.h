/* versions.h: the releases of kube-scheduler that berth can stand in for, and what differs between them.
 *
 * This is the only place that knows releases by number, next to features.def. A difference is a row here, and code asks
 * for the row's name: `release->image_volumes_divide`. It asks when something is prepared, once per profile, pod or
 * class, and never per node. To follow a new release means to add its row to RELEASES, and a row for what it changes:
 * docs/VERSIONS.md says how that is found. */
#ifndef CONFIG_VERSIONS_H
#define CONFIG_VERSIONS_H

#include "base/common.h"
#include "base/str.h"

/* X(minor, version): the newest patch release that was compared. */
#define RELEASES(X) \
    X(36, "1.36.4") \
    X(37, "1.37.1")

/* B(minor, name, since): true from 1.since on. */
#define BEHAVIOURS(B, minor) \
    /* ImageLocality divides by the number of image volumes, too. */ \
    B(minor, image_volumes_divide, 37) \
    /* NodeName comes before NodeUnschedulable. */ \
    B(minor, node_name_comes_first, 37) \
    /* NodeName, NodeUnschedulable and TaintToleration are called at PreFilter. */ \
    B(minor, node_filters_have_pre_filter, 37) \
    /* Plugins can be called at PodGroupPostFilter, which has a section of the configuration. */ \
    B(minor, pod_groups_have_post_filter, 37) \
    /* GangScheduling comes with the gate GenericWorkload, and has none of its own. */ \
    B(minor, gangs_are_generic_workloads, 37) \
    /* Nodes declare four features more. */ \
    B(minor, nodes_declare_mount_options, 37) \
    /* Of a pod that is being resized the largest total counts, and not the total of the containers' largest. */ \
    B(minor, resized_pods_count_by_total, 37) \
    /* Preemption that found victims says on which node, and how many. */ \
    B(minor, preemption_names_its_node, 37) \
    /* A line of a Score plugin has its own level and those of the point, the node and the plugin: 4 each. */ \
    B(minor, levels_of_scores_add_up, 37) \
    /* There is a plugin for pods whose resize is deferred. */ \
    B(minor, deferred_resizes_have_a_plugin, 37) \
    /* The log names potential victims as lists of pods. */ \
    B(minor, victims_are_logged_as_lists, 37) \
    /* A victim is charged to its budgets up to the first that is broken, in the order of their names. */ \
    B(minor, budgets_end_at_a_broken_one, 37) \
    /* A victim that has not started began when the search for victims did: the order on the node decides. */ \
    B(minor, victims_keep_their_start, 37) \
    /* A preemptor is tried at once when its last victim was not bound yet, and went back to the queue. */ \
    B(minor, unbound_victims_activate, 37) \
    /* The number of victims is observed even if all of them are leaving already. */ \
    B(minor, leaving_victims_are_counted, 37) \
    /* A pod that is gated when it comes has its nomination nevertheless. */ \
    B(minor, gated_pods_are_nominated, 37) \
    /* What moves between queues is an entity: texts of logs and dumps, and the label of a pod that comes late. */ \
    B(minor, queues_hold_entities, 37) \
    /* Events about pods, and the rules for them, tell assigned pods, the waiting pod itself and others apart. */ \
    B(minor, pod_events_are_divided, 37) \
    /* That a pod requests more is an event of its own. */ \
    B(minor, scale_up_is_an_event, 37) \
    /* So is a change of a node's podPreemptionPolicy. */ \
    B(minor, preemption_policy_is_an_event, 37) \
    /* A rule about new nodes is not one about taints. */ \
    B(minor, taint_rules_are_explicit, 37) \
    /* DynamicResources wakes pods when a claim with an allocation is deleted. */ \
    B(minor, deleted_claims_wake, 37) \
    /* The namespaces that an incoming pod's own term selects are a list: labels are not asked again. */ \
    B(minor, selected_namespaces_are_a_list, 37) \
    /* DynamicResources' PostFilter gives no reason where it could do nothing. */ \
    B(minor, idle_deallocation_is_silent, 37) \
    /* allocationMode All means every device that is large enough, and fails where one has too little left. */ \
    B(minor, all_devices_need_room, 37) \
    /* A DeviceTaintRule without a selector taints no device, and not all of them. */ \
    B(minor, taint_rules_need_a_selector, 37) \
    /* distinctAttribute compares with every device, and not with the last one of each request. */ \
    B(minor, distinct_values_are_kept, 37) \
    /* A configuration of a claim is listed once, without its requests if it is for all of them. */ \
    B(minor, device_configs_are_listed_once, 37) \
    /* A slice with shared counters concerns the nodes that it names, and not every node. */ \
    B(minor, counters_have_nodes, 37) \
    /* Compatibility groups, derived attributes and skipped operations on nodes are known fields. */ \
    B(minor, newest_device_fields_count, 37) \
    /* Devices map to the node's own resources, or add overhead to them, and a claim's status says which; a claim
     * that is allocated already counts, too. */ \
    B(minor, claims_divide_node_resources, 37) \
    /* Selectors see attributes that are lists, with or without the gate for them. */ \
    B(minor, selectors_see_lists, 37) \
    /* What a removed device has taken from the values in common is there again. */ \
    B(minor, common_values_come_back, 37) \
    /* An allocation counts as being made until PreBind has ended, and not until it is written. */ \
    B(minor, claims_stay_in_flight, 37) \
    /* The limit of devices is checked request after request, and the text names the request. */ \
    B(minor, device_limit_names_the_request, 37) \
    /* The error of a selector names the device, and says how a missing key is avoided. */ \
    B(minor, selector_errors_name_the_device, 37) \
    /* Capacity that cannot be computed is an error; what is rounded up is written as the step is. */ \
    B(minor, capacity_is_computed_exactly, 37) \
    /* A share that took no capacity has the counters of its device nevertheless. */ \
    B(minor, shares_without_capacity_have_counters, 37) \
    /* CEL is that of cel-go 0.29: what it changes are the rules of cel/cel.h. */ \
    B(minor, cel_is_0_29, 37) \
    /* What is known of each kind of objects has metrics. */ \
    B(minor, informers_have_metrics, 37) \
    /* Lifetimes of clients' certificates are a metric only where there is an authority for such clients. */ \
    B(minor, certificates_are_measured_if_trusted, 37) \
    /* Pods of groups have queues of their own, which pending_pods shows. */ \
    B(minor, pod_groups_have_queues, 37)

enum {
    RELEASE_DEFAULT = 37, /* without --emulated-version */
    RELEASE_UNNAMED = 36, /* of recordings that name none */
    RELEASES_ACCEPTED =
        3, /* so many before the newest are no error of the flag itself, as in kube-scheduler */
};

enum {
#define INDEX(minor, version) RELEASE_INDEX_##minor,
    RELEASES(INDEX)
#undef INDEX
        RELEASE_COUNT
};

struct release {
    int minor;
    const char *minor_text, *version; /* "36", "1.36.4" */
#define BEHAVIOUR(minor, name, since) bool name;
    BEHAVIOURS(BEHAVIOUR, )
#undef BEHAVIOUR
};

/* A behaviour as a value, for tables whose rows are of some releases only. */
enum behaviour {
    BEHAVIOUR_NONE,
#define BEHAVIOUR(minor, name, since) BEHAVIOUR_##name,
    BEHAVIOURS(BEHAVIOUR, )
#undef BEHAVIOUR
};

bool release_has(const struct release *release, enum behaviour behaviour);
/* Does a row apply that came with one behaviour and went with another one? NONE: it was there before, and stays. */
bool release_row_applies(const struct release *release, enum behaviour since, enum behaviour until);
/* NULL: berth does not know that one. */
const struct release *release_of(int64_t minor);
const struct release *release_default(void);
/* Its place in the table, from 0 on. */
size_t release_index(const struct release *release);
/* "1.36 and 1.37". */
void release_list(struct strbuf *out);

#endif
