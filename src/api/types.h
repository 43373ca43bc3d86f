/* types.h: the Kubernetes objects that a scheduler reads, as plain C structs.
 *
 * A decoded object lives in one arena: strings are slices, lists are arrays, absent things are zero.
 * Only fields that some part of berth reads are here. fields_*.def has a row for each, by which it is read, written,
 * copied and compared (codec/record.h). Adding a field is adding a member here and a row there.
 *
 * Conventions: see codec/record_types.h. */
#ifndef API_TYPES_H
#define API_TYPES_H

#include "api/quantity.h"
#include "codec/record_types.h"

typedef struct yyjson_val yyjson_val;

struct resource {
    struct str name;
    struct quantity amount;
};
struct resource_list { /* sorted by name, names unique */
    struct resource *items;
    uint32_t len;
};

/* ---- metadata ---- */
struct owner_ref {
    struct str api_version, kind, name, uid;
    struct opt_bool controller;
};

struct meta {
    struct str name, generate_name, namespace, uid, resource_version;
    int64_t generation;
    struct opt_time creation_time, deletion_time;
    struct opt_int64 deletion_grace_seconds;
    struct str_map labels, annotations;
    LIST(struct owner_ref) owners;
    struct str_list finalizers;
    void *home; /* what the object is kept in, for its keeper alone; never decoded */
    /* The object's bytes as they were received, protobuf or JSON, for extenders; empty unless they are to be kept. */
    struct str source;
    uint8_t kind; /* enum api_kind; KIND_UNKNOWN where the object was not decoded */
};

/* "namespace/name", for printf. */
#define META_FMT STR_FMT "/" STR_FMT
#define META_ARG(meta) STR_ARG((meta)->namespace), STR_ARG((meta)->name)

/* ---- selectors ---- */
enum selector_op { OP_INVALID, OP_IN, OP_NOT_IN, OP_EXISTS, OP_DOES_NOT_EXIST, OP_GT, OP_LT };

struct selector_requirement {
    struct str key, operator; /* as written */
    enum selector_op op;      /* decoded; OP_INVALID when unknown */
    struct str_list values;
};
struct label_selector {
    struct str_map match_labels;
    LIST(struct selector_requirement) match_expressions;
    bool invalid; /* set by the decoder: no selector for the reference, see label_selector_check() */
};
struct node_selector_term {
    LIST(struct selector_requirement) match_expressions;
    LIST(struct selector_requirement) match_fields;
    bool invalid; /* set by the decoder: the term matches nothing, see node_selector_check() */
};
struct node_selector {
    LIST(struct node_selector_term) terms;
};

/* ---- pod ---- */
struct resource_requirements {
    struct resource_list requests, limits;
    LIST(struct pod_claim_name) claims;
};
struct pod_claim_name {
    struct str name, request;
};
struct container_port {
    struct str name, protocol, host_ip;
    int32_t host_port, container_port;
};
struct restart_rule {
    struct str action;
};
struct volume_mount {
    struct str_list bind_mount_options;
};
struct ephemeral_container {
    LIST(struct volume_mount) volume_mounts; /* as in struct container */
};
struct container {
    struct str name, image, restart_policy; /* restart_policy "Always" on an init container: a sidecar */
    struct resource_requirements resources;
    LIST(struct container_port) ports;
    LIST(struct restart_rule) restart_rules; /* restartPolicyRules */
    LIST(struct volume_mount) volume_mounts; /* those with options alone */
};
struct toleration {
    struct str key, operator, value, effect;
    struct opt_int64 toleration_seconds;
};
struct preferred_node_term {
    int32_t weight;
    struct node_selector_term preference;
};
struct node_affinity {
    struct node_selector *required;
    LIST(struct preferred_node_term) preferred;
};
struct pod_affinity_term {
    struct label_selector *selector; /* NULL matches nothing */
    struct str_list namespaces;
    struct str topology_key;
    struct label_selector *namespace_selector; /* NULL: absent; empty matches all */
    struct str_list match_label_keys, mismatch_label_keys;
};
struct weighted_pod_term {
    int32_t weight;
    struct pod_affinity_term term;
};
struct pod_affinity { /* of affinity and of anti-affinity */
    LIST(struct pod_affinity_term) required;
    LIST(struct weighted_pod_term) preferred;
};
struct affinity {
    struct node_affinity *node;
    struct pod_affinity *pod, *pod_anti;
};
struct spread_constraint {
    int32_t max_skew;
    struct str topology_key, when_unsatisfiable;
    struct label_selector *selector; /* NULL matches nothing */
    struct opt_int32 min_domains;
    struct str node_affinity_policy, node_taints_policy; /* absent: defaults */
    struct str_list match_label_keys;
};
struct pvc_spec;
struct pvc_template {
    struct meta meta;
    struct pvc_spec *spec;
};
struct volume {
    struct str name;
    struct {
        struct str claim_name;
        bool read_only;
    } *pvc;
    struct {
        struct pvc_template *template;
    } *ephemeral;
    struct {
        struct str pd_name;
        bool read_only;
    } *gce_pd;
    struct {
        struct str volume_id;
        bool read_only;
    } *aws_ebs;
    struct {
        struct str iqn, target_portal, iscsi_interface;
        int32_t lun;
        bool read_only;
    } *iscsi;
    struct {
        struct str_list monitors;
        struct str pool, image;
        bool read_only;
    } *rbd;
    struct {
        struct str disk_name, disk_uri, kind;
    } *azure_disk;
    struct {
        struct str volume_id;
    } *cinder;
    struct {
        struct str volume_path;
    } *vsphere;
    struct {
        struct str volume_id;
    } *portworx;
    struct {
        struct str secret_name, share_name;
    } *azure_file;
    struct {
        struct str driver;
    } *csi;
    struct {
        struct str reference, pull_policy;
    } *image;
};
struct pod_claim { /* spec.resourceClaims[] */
    struct str name, resource_claim_name, resource_claim_template_name;
};
struct named { /* an object that is only a name: schedulingGates[] and such */
    struct str name;
};
struct scheduling_group {
    struct str pod_group_name;
};
struct pod_os {
    struct str name;
};
struct pod_spec {
    struct str node_name, scheduler_name, priority_class_name, preemption_policy, restart_policy,
        service_account_name;
    struct opt_int32 priority;
    bool host_network;
    struct opt_bool host_users;
    struct opt_int64 termination_grace_seconds;
    struct str_map node_selector;
    struct affinity *affinity;
    LIST(struct toleration) tolerations;
    LIST(struct container) containers;
    LIST(struct container) init_containers;
    LIST(struct ephemeral_container) ephemeral_containers; /* those with such mounts alone */
    LIST(struct volume) volumes;
    LIST(struct spread_constraint) spread;
    LIST(struct named) scheduling_gates;
    LIST(struct pod_claim) resource_claims;
    struct resource_list overhead;
    struct resource_requirements *resources; /* pod-level */
    struct scheduling_group *scheduling_group;
    struct pod_os *os;
};
struct pod_condition {
    struct str type, status, reason, message;
    struct opt_time last_transition_time;
    int64_t observed_generation; /* of the pod, when it was set */
};
struct container_status {
    struct str name;
    struct resource_list allocated_resources;
    struct resource_requirements *resources; /* what the runtime enforces; NULL: not reported */
};
struct pod_claim_status {
    struct str name, resource_claim_name; /* resource_claim_name absent: none was needed */
};
/* What a claim takes of the node's own resources: of 1.36 in `resources`, of 1.37 in the two others. */
struct claim_mapping {
    struct str name;
    struct quantity *quantity;
};
struct claim_overhead {
    struct str name;
    struct quantity *per_pod, *per_container;
};
struct node_claim {
    struct str resource_claim_name;
    struct str_list containers; /* that refer to it */
    struct resource_list resources;
    LIST(struct claim_mapping) mapping;
    LIST(struct claim_overhead) overhead;
};
struct node_claim_list {
    struct node_claim *items;
    uint32_t len;
};
/* The claim that stands for the pod's extended resources. */
struct extended_request {
    struct str container_name, resource_name, request_name;
};
struct extended_claim_status {
    LIST(struct extended_request) request_mappings;
    struct str resource_claim_name;
};
struct pod_status {
    struct str phase, nominated_node_name, resize;
    struct opt_time start_time;
    LIST(struct pod_condition) conditions;
    LIST(struct container_status) container_statuses;
    LIST(struct container_status) init_container_statuses;
    struct resource_list allocated_resources; /* pod-level */
    struct resource_requirements *resources;  /* pod-level */
    LIST(struct pod_claim_status) claim_statuses;
    struct extended_claim_status *extended_claim;
    struct node_claim_list node_claims; /* nodeAllocatableResourceClaimStatuses */
};
/* How a pod came to its policy. */
#define POLICY_SOURCES(X) \
    X(POD_LABEL, "label of the pod") \
    X(NAMESPACE_LABEL, "label of its namespace") \
    X(SELECTOR, "selector of the policy") \
    X(DEFAULT, "default")
enum policy_source {
#define X(name, text) POLICY_BY_##name,
    POLICY_SOURCES(X)
#undef X
        POLICY_SOURCE_COUNT
};
/* What all layers know of a scheduling policy; the rest is policy/document.h's. */
struct pod_policy {
    struct str name;
    bool weighs; /* its pods are decided with other weights: by a variant of their profile */
};
struct pod {
    struct meta meta;
    struct pod_spec spec;
    struct pod_status status;
    /* The policy that the spec is complemented by; NULL: the spec is the API server's. Never decoded. */
    const struct pod_policy *policy;
    enum policy_source policy_by;
};

/* ---- node ---- */
struct taint {
    struct str key, value, effect;
};
struct node_image {
    struct str_list names;
    int64_t size_bytes;
};
struct node_condition {
    struct str type, status;
};
struct node_address {
    struct str type, address;
};
/* Since 1.37. */
struct node_preemption_policy {
    struct str_list disable_resize_preemption;
};

struct node {
    struct meta meta;
    struct {
        struct node_preemption_policy *pod_preemption_policy;
        bool unschedulable;
        LIST(struct taint) taints;
        struct str provider_id;
    } spec;
    struct {
        struct resource_list capacity, allocatable;
        LIST(struct node_image) images;
        LIST(struct node_condition) conditions;
        LIST(struct node_address) addresses;
        struct str_list declared_features;
    } status;
};

struct namespace
{
    struct meta meta;
};

/* ---- storage ---- */
struct csi_volume_source {
    struct str driver, volume_handle;
};
struct object_ref {
    struct str kind, namespace, name, uid, api_version, resource_version, field_path;
};
struct pv {
    struct meta meta;
    struct {
        struct resource_list capacity;
        struct str_list access_modes;
        struct object_ref *claim_ref;
        struct str storage_class_name, volume_mode, volume_attributes_class_name;
        struct node_selector *node_affinity; /* spec.nodeAffinity.required */
        struct csi_volume_source *csi;
        struct {
            struct str pd_name;
        } *gce_pd;
        struct {
            struct str volume_id;
        } *aws_ebs;
        struct {
            struct str disk_name, disk_uri, kind;
        } *azure_disk;
        struct {
            struct str volume_id;
        } *cinder;
        struct {
            struct str volume_path;
        } *vsphere;
        struct {
            struct str volume_id;
        } *portworx;
        struct {
            struct str secret_name, share_name, secret_namespace;
        } *azure_file;
        struct {
            struct str path;
        } *host_path, *local;
    } spec;
    struct str phase; /* status.phase */
};
struct pvc_spec {
    struct str_list access_modes;
    struct label_selector *selector;
    struct resource_requirements resources;
    struct str volume_name, storage_class_name, volume_mode, volume_attributes_class_name;
};
struct pvc {
    struct meta meta;
    struct pvc_spec spec;
    struct {
        struct str phase;
        struct resource_list capacity;
    } status;
};
struct topology_requirement {
    struct str key;
    struct str_list values;
};
struct topology_term {
    LIST(struct topology_requirement) expressions;
};
struct storage_class {
    struct meta meta;
    struct str provisioner, binding_mode, reclaim_policy;
    LIST(struct topology_term) allowed_topologies;
};
struct csi_node_driver {
    struct str name, node_id;
    struct str_list topology_keys;
    struct {
        struct opt_int32 count;
    } *allocatable;
};
struct csi_node {
    struct meta meta;
    LIST(struct csi_node_driver) drivers; /* spec.drivers */
};
struct csi_driver {
    struct meta meta;
    struct opt_bool storage_capacity, attach_required, prevent_pod_scheduling_if_missing;
};
struct csi_storage_capacity {
    struct meta meta;
    struct label_selector *node_topology;
    struct str storage_class_name;
    struct quantity *capacity, *maximum_volume_size;
};
struct volume_attachment {
    struct meta meta;
    struct str attacher, node_name, pv_name; /* spec */
    struct pv *inline_volume;                /* spec.source.inlineVolumeSpec as an otherwise empty PV */
    bool attached;                           /* status.attached */
};

/* ---- controllers ---- */
struct pod_template {
    struct meta meta;
    struct pod_spec spec;
};
struct service {
    struct meta meta;
    struct str_map selector; /* spec.selector */
};
struct replication_controller {
    struct meta meta;
    struct opt_int32 replicas;
    struct str_map selector;
    struct pod_template template;
};
/* ReplicaSet, Deployment, StatefulSet, DaemonSet, Job: what expanding them to pods needs. */
struct workload {
    struct meta meta;
    struct {
        struct opt_int32 replicas, parallelism, completions;
        struct opt_bool suspend;
        struct label_selector *selector;
        struct pod_template template;
        LIST(struct pvc_template) volume_claim_templates;
        struct str completion_mode;
        struct str pod_management_policy; /* of a StatefulSet: "OrderedReady" or "Parallel" */
        struct {
            struct opt_int32 start;
        } *ordinals;
    } spec;
    struct {
        int32_t succeeded, replicas;
        struct opt_int32 ready;
        LIST(struct pod_condition) conditions; /* of a Job */
        struct str completed_indexes;          /* of a Job, such as "0-2,5" */
    } status;
};
struct pdb {
    struct meta meta;
    struct label_selector *selector; /* spec.selector */
    struct int_or_str min_available, max_unavailable;
    int32_t disruptions_allowed;    /* status */
    struct str_list disrupted_pods; /* status.disruptedPods: the keys */
};
struct priority_class {
    struct meta meta;
    int32_t value;
    bool global_default;
    struct str preemption_policy;
};

struct config_map {
    struct meta meta;
    struct str_map data;
};

/* ---- dynamic resources ---- */
#include "api/device_types.h"

/* ---- what a scheduler writes; not part of the cluster that it models ---- */
struct binding {
    struct meta meta; /* of the pod */
    struct object_ref target;
};
struct event_series {
    int32_t count;
    struct opt_time last_observed_time;
};
struct api_event { /* events.k8s.io: what happened to an object, as users read it */
    struct meta meta;
    struct opt_time event_time;
    struct event_series *series;
    struct str reporting_controller, reporting_instance, action, reason, note, type;
    struct object_ref regarding, *related;
};
struct lease {
    struct meta meta;
    struct {
        struct str holder_identity, strategy, preferred_holder;
        struct opt_int32 duration_seconds, transitions;
        struct opt_time acquire_time, renew_time;
    } spec;
};

/* metav1.Status: an API server's answer that is not an object. Without metadata it is not one of the kinds. */
struct status_cause {
    struct str type, message, field; /* type: such as "FieldValueInvalid"; "reason" in JSON and protobuf */
};
struct api_status {
    struct str status, message, reason; /* status: "Success" or "Failure" */
    int32_t code;                       /* of HTTP */
    struct {
        struct str name, group, kind, uid;
        LIST(struct status_cause) causes;
        int32_t retry_after_seconds; /* 0: not given */
    } details;
};

/* ---- measured use ---- */
struct statistic {
    struct str name; /* "Average"; see cluster/node_samples.h */
    struct resource_list usage;
};
struct node_metrics {
    struct meta meta;
    struct opt_time timestamp; /* the end of the window */
    struct str window;         /* a duration */
    struct resource_list usage;
    LIST(struct statistic) statistics; /* of sources that compute them; not a field of metrics.k8s.io */
};
struct container_metrics {
    struct str name;
    struct resource_list usage;
};
struct pod_metrics {
    struct meta meta;
    struct opt_time timestamp;
    struct str window;
    LIST(struct container_metrics) containers;
};

/* ---- of any other kind ---- */
struct extra_object {
    struct meta meta;
    yyjson_val *rest; /* all but apiVersion, kind and metadata (codec/json_tree.h); NULL: nothing */
};

/* ---- any of them ---- */
#define API_KINDS(X) \
    /* enum, kind, group/version, struct, namespaced */ \
    X(POD, "Pod", "v1", pod, true) \
    X(NODE, "Node", "v1", node, false) \
    X(NAMESPACE, "Namespace", "v1", namespace, false) \
    X(PV, "PersistentVolume", "v1", pv, false) \
    X(PVC, "PersistentVolumeClaim", "v1", pvc, true) \
    X(STORAGE_CLASS, "StorageClass", "storage.k8s.io/v1", storage_class, false) \
    X(CSI_NODE, "CSINode", "storage.k8s.io/v1", csi_node, false) \
    X(CSI_DRIVER, "CSIDriver", "storage.k8s.io/v1", csi_driver, false) \
    X(CSI_STORAGE_CAPACITY, "CSIStorageCapacity", "storage.k8s.io/v1", csi_storage_capacity, true) \
    X(VOLUME_ATTACHMENT, "VolumeAttachment", "storage.k8s.io/v1", volume_attachment, false) \
    X(SERVICE, "Service", "v1", service, true) \
    X(REPLICATION_CONTROLLER, "ReplicationController", "v1", replication_controller, true) \
    X(REPLICA_SET, "ReplicaSet", "apps/v1", workload, true) \
    X(DEPLOYMENT, "Deployment", "apps/v1", workload, true) \
    X(STATEFUL_SET, "StatefulSet", "apps/v1", workload, true) \
    X(DAEMON_SET, "DaemonSet", "apps/v1", workload, true) \
    X(JOB, "Job", "batch/v1", workload, true) \
    X(PDB, "PodDisruptionBudget", "policy/v1", pdb, true) \
    X(PRIORITY_CLASS, "PriorityClass", "scheduling.k8s.io/v1", priority_class, false) \
    X(RESOURCE_CLAIM, "ResourceClaim", "resource.k8s.io/v1", resource_claim, true) \
    X(RESOURCE_SLICE, "ResourceSlice", "resource.k8s.io/v1", resource_slice, false) \
    X(DEVICE_CLASS, "DeviceClass", "resource.k8s.io/v1", device_class, false) \
    X(DEVICE_TAINT_RULE, "DeviceTaintRule", "resource.k8s.io/v1", device_taint_rule, false) \
    X(NODE_METRICS, "NodeMetrics", "metrics.k8s.io/v1beta1", node_metrics, false) \
    X(POD_METRICS, "PodMetrics", "metrics.k8s.io/v1beta1", pod_metrics, true) \
    X(CONFIG_MAP, "ConfigMap", "v1", config_map, true) \
    X(BINDING, "Binding", "v1", binding, true) \
    X(EVENT, "Event", "events.k8s.io/v1", api_event, true) \
    X(LEASE, "Lease", "coordination.k8s.io/v1", lease, true) \
    X(CLAIM_TEMPLATE, "ResourceClaimTemplate", "resource.k8s.io/v1", resource_claim_template, true)

enum api_kind {
    KIND_UNKNOWN,
#define X(name, ...) KIND_##name,
    API_KINDS(X)
#undef X
        KIND_EXTRA_FIRST, /* from here on: kinds that plugins name (api/extra_kinds.h) */
    EXTRA_KINDS_MAX = 24,
    KIND_COUNT = KIND_EXTRA_FIRST + EXTRA_KINDS_MAX,
    /* This and the kinds after it, but for extra ones, are not part of the modelled cluster. */
    KIND_LIVE_FIRST = KIND_BINDING
};
static_assert(KIND_COUNT <= 64, "sets of kinds are 64 bits");

static inline bool kind_is_extra(enum api_kind kind)
{
    return kind >= KIND_EXTRA_FIRST;
}

/* Is it part of the cluster that scheduling looks at? */
static inline bool kind_is_modelled(enum api_kind kind)
{
    return kind != KIND_UNKNOWN && (kind < KIND_LIVE_FIRST || kind_is_extra(kind));
}

/* Samples are listed again and again: they have no resource versions and cannot be watched. */
static inline bool kind_is_sampled(enum api_kind kind)
{
    return kind == KIND_NODE_METRICS || kind == KIND_POD_METRICS;
}

#endif
