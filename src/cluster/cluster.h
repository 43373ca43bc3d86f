/* cluster.h: the model of the cluster that one thread owns.
 *
 *     rows     0      1      2      3          a row per node; numbers of deleted nodes are used again
 *     cold   [node] [node] [    ] [node]       struct node_entry: the object, its pods, ports, images
 *     hot    cpu used, memory used, ...        columns (structure of arrays) that filters and scorers scan
 *     log    ... 3 1 1 0 3                     rows in the order in which they changed
 *
 * Everything that depends on a node is repaired from the log: a user remembers how far it has read, and looks
 * only at rows that changed since. Pods that are bound, assumed or running occupy their node's row the same way.
 *
 * A pod may name a node that has not appeared yet: such a row has no object and is not `live`. */
#ifndef CLUSTER_CLUSTER_H
#define CLUSTER_CLUSTER_H

#include "cluster/match_index.h"
#include "cluster/pod_class.h"
#include "cluster/pod_key.h"
#include "cluster/topology.h"
#include "config/features.h"

enum { RES_CPU, RES_MEMORY, RES_EPHEMERAL, RES_PODS, RES_SCALAR_FIRST };
#define ROW_NONE UINT32_MAX

struct volumes;
struct devices;

/* Claims of a pod that take some of the node's own resources. */
struct node_claims {
    struct node_claim_list list; /* a copy */
    struct pod_usage used;       /* what the pod takes with them */
    struct arena arena;
};

/* Decides by which object a pod is decided: its own, or one that is made of it and has more in its spec. */
struct pod_deriver {
    /* Returns `object`, or another pod that is released with release(). */
    const struct pod *(*derive)(void *context, const struct pod *object);
    void (*release)(const struct pod *derived);
};

/* An object that versions of a pod were derived from. */
struct shared_object {
    const struct pod *object;
    uint32_t refs;
};

struct pod_info {
    const struct pod *api;        /* what plugins see; derived or not */
    struct shared_object *shared; /* NULL: `api` is the object, and no other version's */
    struct pod_class *class;
    struct node_claims *node_claims; /* NULL: none */
    uint32_t refs;
    uint32_t row;                   /* the node it occupies, or ROW_NONE */
    uint32_t slot;                  /* where in that node's list */
    uint32_t label_slot, term_slot; /* where in the lists of its labels' and terms' owners */
    uint32_t copies;                /* that are on the node as well: cluster_place_copy() */
    uint32_t nominated_row;
    int32_t priority;
    int64_t placed_ns; /* since 1970: when it was placed here; 0: not here */
    bool terminating;  /* has a deletion timestamp */
    bool is_foreign;   /* of another scheduler, without a node: known for its nomination alone */
    /* Its node has no room for its resize, and with InPlacePodVerticalScalingSchedulerPreemption other pods may leave
     * for it: it waits in the queue, though it has a node. */
    bool resize_deferred;
    /* Its deletion as a victim of preemption: what this scheduler knows of it before the pod shows it. */
    enum { EVICTION_NONE, EVICTION_UNDER_WAY, EVICTION_DONE } eviction;
};

/* What the pod takes on its node. */
static inline const struct pod_usage *pod_used(const struct pod_info *pod)
{
    return pod->node_claims ? &pod->node_claims->used : &pod->class->used;
}

typedef VEC(struct pod_info *) pod_vec;

struct pod_span {
    struct pod_info *const *items;
    size_t len;
};

struct node_entry {
    const struct node *api; /* NULL: not live */
    sym name;               /* SYM_NONE: the row is free */
    struct label_set labels;
    uint32_t taints;        /* number of the taint list */
    uint64_t changed_seq;   /* of the last entry in the log */
    uint64_t nominated_seq; /* grows when a pod is nominated to it, or no longer */
    uint64_t order_key;     /* order of arrival */
    sym zone;               /* region and zone, as the node tree of the reference keys it */
    pod_vec pods, with_affinity, with_anti, nominated;
    port_vec ports;                   /* distinct, sorted */
    VEC(sym) images;                  /* distinct names that it reports */
    uint32_t holds;                   /* cluster_hold_row() */
    const struct node_sample *sample; /* cluster/node_samples.h; NULL: none */
};

/* A distinct list of taints. */
struct taint_list {
    uint32_t refs;
    const struct taint *items; /* of one of the nodes that have it */
    uint32_t len;
    struct str key;
    struct arena arena;
};

/* An image that some node reports: how many nodes do, and the size that the first one gave. */
struct image_info {
    uint32_t nodes;
    int64_t size_bytes;
};

/* Objects that are only looked up by name. */
#define CLUSTER_STORES(X) \
    X(PV, pv, pvs) \
    X(PVC, pvc, pvcs) \
    X(STORAGE_CLASS, storage_class, storage_classes) \
    X(CSI_NODE, csi_node, csi_nodes) \
    X(CSI_DRIVER, csi_driver, csi_drivers) \
    X(CSI_STORAGE_CAPACITY, csi_storage_capacity, csi_capacities) \
    X(VOLUME_ATTACHMENT, volume_attachment, attachments) \
    X(SERVICE, service, services) \
    X(REPLICATION_CONTROLLER, replication_controller, replication_controllers) \
    X(REPLICA_SET, workload, replica_sets) \
    X(STATEFUL_SET, workload, stateful_sets) \
    X(PDB, pdb, pdbs) \
    X(PRIORITY_CLASS, priority_class, priority_classes) \
    X(RESOURCE_CLAIM, resource_claim, claims) \
    X(RESOURCE_SLICE, resource_slice, slices) \
    X(DEVICE_CLASS, device_class, device_classes) \
    X(DEVICE_TAINT_RULE, device_taint_rule, device_taint_rules) \
    X(NAMESPACE, namespace, namespaces) \
    X(NODE_METRICS, node_metrics, node_metrics) \
    X(POD_METRICS, pod_metrics, pod_metrics) \
    X(CONFIG_MAP, config_map, config_maps)

/* Small numbers, given out and taken back; an epoch tells the users of a number apart. */
struct number_pool {
    VEC(uint32_t) free;
    uint32_t next, epochs;
};

struct columns {
    uint32_t resources; /* how many */
    uint64_t *bits;     /* [resource]: every bit that was ever set in its columns, for exactness in doubles */
    uint32_t *lacking;  /* [resource]: how many live nodes have none */
    uint8_t *pinned;    /* [resource]: its number stays, whether a node has it or not */
    int64_t **alloc, **used; /* [resource][row]; RES_PODS: allowed and present */
    int64_t *nonzero_cpu, *nonzero_memory;
    uint32_t *taints;        /* number of the taint list */
    uint8_t *live;           /* 1: has a node object */
    uint32_t *unschedulable; /* 1: spec.unschedulable */
};

struct cluster {
    struct features features; /* set before the first object, and never changed */
    /* Likewise: a port that two pods on a node have is taken until both have left. Several schedulers place pods. */
    bool shares_ports;
    const struct pod_deriver *deriver; /* NULL: pods are decided as they are */
    void *deriver_context;
    struct intern syms;
    sym any_ip; /* of 0.0.0.0, which tables keep: it has a symbol before a pod names it */
    VEC(struct node_entry) nodes;
    struct strmap rows_by_name; /* row + 1 as pointer */
    VEC(uint32_t) free_rows;
    uint32_t rows_cap;
    struct columns col;
    struct strmap resource_numbers; /* number + 1 as pointer */
    struct strmap absent_resources; /* names that pods ask for and no column has, to struct absent_resource */
    bool resources_moved;           /* names got or lost a column since classes were compiled */
    VEC(struct str) resource_names;

    uint32_t live_nodes, tainted_nodes, unschedulable_nodes;
    uint32_t placed_pods, assumed_pods; /* that are on a node; of those, whose object does not say so yet */
    struct idmap zones;                 /* symbols of zones with nodes to struct zone_turn */
    VEC(uint32_t) order;                /* live rows in the reference's order; valid when order_valid */
    bool order_valid;
    bool order_is_rows;    /* the order is that of the rows */
    VEC(uint32_t) places;  /* by row: its place in the order */
    uint64_t order_number; /* another one for each order */
    uint64_t arrivals;

    VEC(uint32_t) log;
    uint64_t log_base;      /* sequence number of log.items[0] */
    uint64_t other_changes; /* of nominations and of objects that are no rows */

    VEC(struct topology *) topologies;
    uint32_t *no_domains; /* the column of those without domains */
    struct idmap topology_by_key;
    size_t topologies_many;               /* when there are so many, those that are not used are dropped */
    VEC(struct taint_list *) taint_lists; /* by number; NULL: free. [0] is the empty list */
    uint64_t taint_lists_made;            /* changes when a number gets another list */
    struct strmap taint_numbers;
    struct idmap images; /* image symbol to struct image_info */
    struct strmap classes, label_owners, term_owners;
    struct number_pool label_numbers, term_numbers;
    VEC(struct key_path) key_paths; /* the fields that tell classes apart */
    uint32_t unique_labels_read; /* of the labels that pods have to themselves: those that selectors read */
    struct match_index matches;
    struct strmap pods;      /* "namespace/name" of every pod known */
    struct strmap pvc_users; /* "namespace/claim" to struct pvc_use */
    size_t nominations;
    size_t pods_with_anti, pods_with_affinity; /* that occupy live nodes' rows */

    /* What may change without a row changing: caches compare. */
    uint64_t images_version, namespaces_version, controllers_version, storage_version, slices_version;

#define X(kind, type, field) struct strmap field; /* "name" or "namespace/name" to object */
    CLUSTER_STORES(X)
#undef X
    struct strmap extras[EXTRA_KINDS_MAX];    /* likewise, of kinds that plugins name */
    uint64_t extra_versions[EXTRA_KINDS_MAX]; /* how often each has changed */
    uint64_t extra_version;                   /* all of them */

    struct strmap samples;   /* by name of the node: cluster/node_samples.h */
    struct devices *devices; /* what claims hold of devices, made at first use: cluster/devices.h */
    struct volumes *volumes; /* assumed bindings and indexes, made at first use: cluster/volumes.h */
    struct strbuf scratch;
    struct arena scratch_arena;
    void (*index_free)(void *index);
    void (*pod_free)(void *context,
                     const struct pod *pod); /* when a pod's last reference goes; may be NULL */
    void *pod_free_context;
};

void cluster_init(struct cluster *cluster);
void cluster_release(struct cluster *cluster);

/* ---- nodes ---- */
/* Adds or updates; the object must stay until it is replaced or removed. */
void cluster_set_node(struct cluster *cluster, const struct node *node);
void cluster_remove_node(struct cluster *cluster, struct str name);
/* ROW_NONE when no live node has that name. */
uint32_t cluster_row(const struct cluster *cluster, struct str name);
/* Live rows, zone after zone in turn, as the reference lists nodes. */
const uint32_t *cluster_order(struct cluster *cluster, uint32_t *ret_len);
/* The place of each row in that order, and a number that changes with it. */
const uint32_t *cluster_places(struct cluster *cluster, uint64_t *ret_number);
static inline const struct node_entry *cluster_node(const struct cluster *cluster, uint32_t row)
{
    return &cluster->nodes.items[row];
}
static inline struct str cluster_node_name(const struct cluster *cluster, uint32_t row)
{
    return intern_text(&cluster->syms, cluster->nodes.items[row].name);
}
/* While a row is held its number keeps the node's name, also if the node goes and no pod is there. */
void cluster_hold_row(struct cluster *cluster, uint32_t row);
void cluster_unhold_row(struct cluster *cluster, uint32_t row);
/* How far the log goes; entries before log_base are gone. */
static inline uint64_t cluster_seq(const struct cluster *cluster)
{
    return cluster->log_base + cluster->log.len;
}

/* Grows with all that a decision depends on, but for what plugins hold of volumes and devices. */
static inline uint64_t cluster_version(const struct cluster *cluster)
{
    return cluster_seq(cluster) + cluster->other_changes;
}

/* Grows with all that filters see of one row: its node, its pods, its nominations. */
static inline uint64_t cluster_row_version(const struct cluster *cluster, uint32_t row)
{
    return cluster->nodes.items[row].changed_seq + cluster->nodes.items[row].nominated_seq;
}

/* ---- pods ---- */
/* A pod becomes known. It occupies its spec.nodeName; without one, its status.nominatedNodeName counts. */
struct pod_info *cluster_add_pod(struct cluster *cluster, const struct pod *pod);
struct pod_info *cluster_find_pod(const struct cluster *cluster, struct str namespace, struct str name);
/* Another version of a pod, of the same object: what is derived from it has changed. */
struct pod_info *cluster_derive_pod(struct cluster *cluster, struct pod_info *pod);
/* The object as the API server has it. */
const struct pod *pod_info_object(const struct pod_info *pod);
/* Puts a pod on a node (assumed or bound), or takes it off. */
void cluster_place(struct cluster *cluster, struct pod_info *pod, uint32_t row);
/* The same by the node's name; the node need not have appeared yet. */
void cluster_place_on(struct cluster *cluster, struct pod_info *pod, struct str node_name);
void cluster_displace(struct cluster *cluster, struct pod_info *pod);
/* One more pod like this one, which is on a node, is there too: for pods without claims that differ in nothing but
 * their names. It costs a few bytes. While there are copies, they and the pods before them stay where they are. */
void cluster_place_copy(struct cluster *cluster, struct pod_info *pod);
/* A copy of the pod leaves, or the pod itself where it has none; of all copies the one that came last. */
void cluster_displace_copy(struct cluster *cluster, struct pod_info *pod);
/* What the pod's claims take of its node from now on, whatever its status says. The list is copied. */
void cluster_set_node_claims(struct cluster *cluster, struct pod_info *pod,
                             const struct node_claim_list *list);
/* Another version of the pod takes over what was set. Neither is on a node. */
void cluster_move_node_claims(struct cluster *cluster, struct pod_info *from, struct pod_info *to);
/* The pod is gone. */
void cluster_remove_pod(struct cluster *cluster, struct pod_info *pod);
void cluster_nominate(struct cluster *cluster, struct pod_info *pod, uint32_t row);
void cluster_denominate(struct cluster *cluster, struct pod_info *pod);
/* A version of a pod that is replaced or removed keeps its class and its object until the last reference to it goes. */
static inline void pod_info_ref(struct pod_info *pod)
{
    pod->refs++;
}
void pod_info_unref(struct cluster *cluster, struct pod_info *pod);
/* How many occupying pods use the claim. */
uint32_t cluster_claim_users(const struct cluster *cluster, struct str namespace, struct str claim);

/* ---- everything else ---- */
/* Puts any object of CLUSTER_STORES in its store, by kind; the object must stay. False for other kinds. */
bool cluster_set_object(struct cluster *cluster, enum api_kind kind, const void *object,
                        const struct meta *meta);
void cluster_remove_object(struct cluster *cluster, enum api_kind kind, struct str namespace,
                           struct str name);
/* The store of a kind; NULL: it is not of CLUSTER_STORES. */
const struct strmap *cluster_store(const struct cluster *cluster, enum api_kind kind);
/* The API object of any kind by name, pods and nodes included; NULL: it is not there. */
const void *cluster_find(const struct cluster *cluster, enum api_kind kind, struct str namespace,
                         struct str name);
/* By name, or NULL. */
const void *cluster_get(const struct strmap *store, struct str namespace, struct str name);
/* By what object_key() gives. */
const void *cluster_get_by_key(const struct strmap *store, struct str key);
/* The object in a slot of a store, for iterating with map_for. */
const void *stored_object(const struct map_slot *slot);

/* ---- columns and tables ---- */
/* Columns are for resources that a node has, or that are pinned: pods ask for any name (struct absent_amount). A column
 * whose resource no node has any more is used again. */

/* The number of a resource that a scheduler accounts for, which stays; false for names that it ignores. */
bool cluster_resource(struct cluster *cluster, struct str name, uint32_t *ret);
/* The number of a resource that has a column. */
bool cluster_resource_find(const struct cluster *cluster, struct str name, uint32_t *ret);
/* What the pods on a row take of resources without a column: sorted by name, in the arena. */
struct absent_use {
    struct str name;
    int64_t value;
};
struct absent_uses {
    struct absent_use *items;
    uint32_t len;
};
struct absent_uses cluster_absent_used(const struct cluster *cluster, uint32_t row, struct arena *arena);
/* Compiles the classes anew if a name that pods ask for got a column or lost it. Before a decision. */
void cluster_settle_resources(struct cluster *cluster);
bool resource_is_scalar(struct str name);
/* The column of a label key, made at first use. */
struct topology *cluster_topology(struct cluster *cluster, sym key);
/* NULL: there is none yet. */
struct topology *cluster_topology_find(const struct cluster *cluster, sym key);
/* Frees those that are not used, if there are many. */
void cluster_trim_topologies(struct cluster *cluster);

/* ---- views: a node as it is, or as it would be ---- */
struct node_overlay {
    int64_t *used;      /* by resource */
    uint32_t resources; /* a resource that is named later is not used on the node */
    int64_t nonzero_cpu, nonzero_memory;
    pod_vec pods;
    port_vec ports;
};

struct node_view {
    const struct cluster *cluster;
    uint32_t row;
    const struct node_overlay *overlay; /* NULL: as it is */
};

/* A copy of the row's moving parts; arena-owned apart from its vectors, which overlay_release() frees. */
void overlay_init(struct node_overlay *overlay, const struct cluster *cluster, uint32_t row,
                  struct arena *arena);
void overlay_add(struct node_overlay *overlay, const struct pod_info *pod);
void overlay_remove(struct node_overlay *overlay, const struct pod_info *pod);
/* Ports that a pod which was removed shared with one that is there are taken again (pods.c: ports are a set). */
void overlay_restore_ports(struct node_overlay *overlay);
void overlay_release(struct node_overlay *overlay);

static inline const struct node *node_api(struct node_view view)
{
    return view.cluster->nodes.items[view.row].api;
}
static inline struct str node_name(struct node_view view)
{
    return view.cluster->nodes.items[view.row].api->meta.name;
}
static inline int64_t node_alloc(struct node_view view, uint32_t resource)
{
    return resource < view.cluster->col.resources ? view.cluster->col.alloc[resource][view.row] : 0;
}
static inline int64_t node_used(struct node_view view, uint32_t resource)
{
    if (resource >= view.cluster->col.resources)
        return 0;
    if (view.overlay)
        return resource < view.overlay->resources ? view.overlay->used[resource] : 0;
    return view.cluster->col.used[resource][view.row];
}
static inline int64_t node_nonzero_cpu(struct node_view view)
{
    return view.overlay ? view.overlay->nonzero_cpu : view.cluster->col.nonzero_cpu[view.row];
}
static inline int64_t node_nonzero_memory(struct node_view view)
{
    return view.overlay ? view.overlay->nonzero_memory : view.cluster->col.nonzero_memory[view.row];
}
static inline struct pod_span node_pods(struct node_view view)
{
    if (view.overlay)
        return (struct pod_span){ view.overlay->pods.items, view.overlay->pods.len };
    const struct node_entry *node = &view.cluster->nodes.items[view.row];
    return (struct pod_span){ node->pods.items, node->pods.len };
}
static inline struct port_span node_ports(struct node_view view)
{
    if (view.overlay)
        return (struct port_span){ view.overlay->ports.items, view.overlay->ports.len };
    const struct node_entry *node = &view.cluster->nodes.items[view.row];
    return (struct port_span){ node->ports.items, node->ports.len };
}

#endif
