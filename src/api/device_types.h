/* device_types.h: devices and the requests for them (resource.k8s.io): a part of types.h, which includes it.
 *
 *     ResourceSlice   devices that a driver offers on one node, some, or all; slices form pools
 *     DeviceClass     selectors and configuration under a name
 *     DeviceTaintRule a taint that an administrator adds to devices of slices
 *     ResourceClaim   requests for devices; its status has the allocated devices and the pods that reserve them */
#ifndef API_DEVICE_TYPES_H
#define API_DEVICE_TYPES_H

#ifndef API_TYPES_H
#error "include api/types.h instead"
#endif

struct quantity_list {
    struct quantity *items;
    uint32_t len;
};

/* ---- slices. What comes from a map begins with its key, and the list is sorted by it. ---- */
struct device_attribute {
    struct str key; /* "id" or "domain/id" */
    struct opt_int64 int_value;
    struct opt_bool bool_value;
    struct str string_value, version_value;
    struct int64_list int_values; /* this and the next: one of those, or one of these */
    struct bool_list bool_values;
    struct str_list string_values, version_values;
};
struct capacity_range {
    struct quantity *min, *max, *step;
};
struct capacity_policy {
    struct quantity *default_value;
    struct quantity_list valid_values;
    struct capacity_range *valid_range;
};
struct device_capacity {
    struct str key;
    struct quantity *value; /* NULL: 0 */
    struct capacity_policy *policy;
};
struct device_counter {
    struct str key;
    struct quantity *value;
};
struct counter_set {
    struct str name; /* of the set that is shared, or that is consumed from */
    LIST(struct device_counter) counters;
    struct str_list compatibility_groups; /* of what is consumed */
};
struct device_taint {
    struct str key, value, effect;
    struct opt_time time_added;
};
/* What a device takes of the node's own resources: 1.36 has node_mappings, 1.37 has node_resources. */
struct node_mapping {
    struct str key; /* of the resource */
    struct str capacity_key;
    struct quantity *allocation_multiplier;
};
struct device_mapping {
    struct str capacity_key;
    struct quantity *capacity_multiplier, *device_multiplier;
};
struct device_overhead {
    struct quantity *per_pod, *per_container;
};
struct node_resource {
    struct str key; /* of the resource */
    struct device_mapping *mapping;
    struct device_overhead *overhead;
};
struct device {
    struct str name;
    LIST(struct device_attribute) attributes;
    LIST(struct device_capacity) capacity;
    LIST(struct counter_set) consumes_counters;
    struct str node_name;
    struct node_selector *node_selector;
    struct opt_bool all_nodes;
    LIST(struct device_taint) taints;
    struct opt_bool binds_to_node;
    struct str_list binding_conditions, binding_failure_conditions;
    struct opt_bool allow_multiple_allocations;
    LIST(struct node_mapping) node_mappings;   /* nodeAllocatableResourceMappings */
    LIST(struct node_resource) node_resources; /* nodeAllocatableResources */
};
struct resource_slice {
    struct meta meta;
    struct str driver, pool; /* spec */
    int64_t pool_generation, pool_slice_count;
    struct str node_name; /* this and the next four: where the devices are */
    struct node_selector *node_selector;
    struct opt_bool all_nodes, per_device_node_selection;
    LIST(struct device) devices;
    LIST(struct counter_set) shared_counters;
    struct str partition_type_attribute;
    struct str_list skip_node_operations;
};

/* The devices with all of these; NULL: any. */
struct device_taint_selector {
    struct str driver, pool, device;
};
struct device_taint_rule {
    struct meta meta;
    struct device_taint_selector *selector; /* spec */
    struct device_taint taint;
};

/* ---- classes and claims ---- */
struct device_selector {
    struct cel_selector {
        struct str expression;
    } *cel; /* NULL: a kind of selector that this version does not know */
};
struct device_config {
    struct opaque_config {
        struct str driver, parameters; /* parameters: JSON */
    } *opaque;
};
struct device_class {
    struct meta meta;
    LIST(struct device_selector) selectors; /* spec */
    LIST(struct device_config) config;
    struct str extended_resource_name;
};
struct capacity_requirements {
    struct resource_list requests;
};
/* An attribute that a request gives every device. */
struct derived_attribute {
    struct str name, expression;
};
/* An exact request, or one of several that would do. */
struct device_subrequest {
    struct str name; /* empty in an exact request: there it is the request's */
    struct str device_class_name;
    LIST(struct device_selector) selectors;
    struct str allocation_mode;
    int64_t count;
    struct opt_bool admin_access;
    LIST(struct toleration) tolerations;
    struct capacity_requirements *capacity;
    LIST(struct derived_attribute) derived_attributes;
};
struct device_request {
    struct str name;
    struct device_subrequest *exactly;
    LIST(struct device_subrequest) first_available;
    struct device_subrequest beta; /* v1beta1 wrote the exact request flat; see object_convert() */
};
struct device_constraint {
    struct str_list requests;
    struct str match_attribute, distinct_attribute;
};
struct claim_config {
    struct str_list requests;
    struct device_config config;
};
struct claim_consumer {
    struct str api_group, resource, name, uid;
};
struct device_result {
    struct str request, driver, pool, device;
    struct opt_bool admin_access;
    LIST(struct toleration) tolerations;
    struct str_list binding_conditions, binding_failure_conditions;
    struct str share_id;
    struct resource_list consumed_capacity;
    struct str_list skip_node_operations;
};
struct allocated_config {
    struct str source; /* "FromClass" or "FromClaim" */
    struct str_list requests;
    struct device_config config;
};
struct allocation_result {
    struct {
        LIST(struct device_result) results;
        LIST(struct allocated_config) config;
    } devices;
    struct node_selector *node_selector;
    struct opt_time timestamp;
};
struct device_network {
    struct str interface_name, hardware_address;
    struct str_list ips;
};
struct device_status {
    struct str driver, pool, device, share_id;
    LIST(struct pod_condition) conditions;
    struct str data; /* JSON */
    struct device_network *network;
};
struct claim_status {
    struct allocation_result *allocation;
    LIST(struct claim_consumer) reserved_for;
    LIST(struct device_status) devices;
};
struct resource_claim {
    struct meta meta;
    struct {
        LIST(struct device_request) requests;
        LIST(struct device_constraint) constraints;
        LIST(struct claim_config) config;
    } spec; /* spec.devices */
    struct claim_status status;
    bool is_partial; /* set by the mirror: it cannot be read completely, and holds its devices */
};
struct resource_claim_template {
    struct meta meta;
    struct resource_claim claim; /* what a claim for a pod has: metadata and spec */
};

#endif
