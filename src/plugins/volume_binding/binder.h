/* binder.h: decides how the claims of a pod get their volumes on a node.
 *
 *     binder_claims()   once per pod: which claims are bound, which wait for a node, and what they could take
 *     binder_find()     per node: the volumes to bind and those to make, or why not
 *
 * Both results point to objects of the cluster and are valid until one of those is replaced. hold.h works on copies. */
#ifndef PLUGINS_VOLUME_BINDING_BINDER_H
#define PLUGINS_VOLUME_BINDING_BINDER_H

#include "framework/status.h"
#include "plugins/csi_translation.h"
#include "plugins/volume_binding/pv_match.h"

struct shortfall_list;

/* Of a CSINode: the in-tree kinds that CSI drivers took over there. */
#define ANNOTATION_MIGRATED_PLUGINS "storage.alpha.kubernetes.io/migrated-plugins"

struct bound_claim {
    const struct pv *pv; /* NULL: it is gone */
    const struct csi_kind
        *kind; /* of a volume that some nodes see as a CSI driver's, as in `csi`; else NULL */
    struct csi_translation csi;
};

/* Can a new volume be made for claims of a class, reachable from a node? The class must have a provisioner and allow
 * the node's topology. Where the driver reports its free space, some pool that the node reaches must be able to hold
 * the volume. */
struct provisioner {
    uint32_t number;               /* from 0, of those of the pod's claims */
    struct node_selector *allowed; /* topologies of the class; NULL: all */
    bool reports;                  /* the driver reports capacity: one of these pools is needed */
    struct capacity_span pools;
};

/* What a node reaches of a provisioner: found once for all claims. A zeroed one is not known yet. */
struct provision_reach {
    bool is_known, is_allowed;
    VEC(const struct csi_storage_capacity *) pools;
};

/* What one claim needs. */
struct provision_wish {
    const struct provisioner *provisioner; /* NULL: the class makes no volumes */
    bool tracked;                          /* a pool of this size is needed */
    int64_t size_bytes;
};

enum provision_result { PROVISION_OK, PROVISION_NO_MATCH, PROVISION_NO_SPACE };

struct waiting_claim {
    const struct pvc *pvc;
    const struct str *selected_node; /* the node that it is promised to; NULL: none */
    struct quantity size;            /* that it asks for */
    struct pv_choice choice;
    struct provision_wish wish;
};

/* The claims of a pod, in the order of its volumes. */
struct pod_claims {
    LIST(struct bound_claim) bound;
    LIST(struct waiting_claim) waiting;
    LIST(const struct waiting_claim *) to_match; /* those without a selected node, smallest request first */
    uint32_t matches;                            /* of to_match, those that differ */
    uint32_t provisioners;
    bool has_immediate; /* some claim should have been bound before */
};

struct volume_match {
    const struct pv *pv;
    const struct pvc *pvc;
};

struct provision {
    const struct pvc *pvc;
    const struct csi_storage_capacity *pool; /* NULL: not tracked */
};

struct pod_volumes {
    LIST(struct volume_match) bindings;
    LIST(struct provision) provisions;
};

/* A claim that does not exist counts as one that should have been bound before. */
void binder_claims(struct cluster *cluster, const struct pod *pod, struct arena *arena,
                   struct pod_claims *ret);
/* Should the claim have been bound before a pod is scheduled, and is not? */
bool binder_is_immediate(const struct cluster *cluster, const struct pvc *pvc);
/* Success, UnschedulableAndUnresolvable with all reasons, or Error. */
struct status binder_find(const struct cluster *cluster, const struct pod_claims *claims,
                          const struct node *node, struct arena *arena, struct pod_volumes *ret);
/* What the node lacks, for which binder_find() rejects it. */
void binder_explain(const struct cluster *cluster, const struct pod_claims *claims, const struct node *node,
                    struct shortfall_list *ret);
/* The node affinity that the volume has on a node: where its kind is migrated, that of the CSI driver's volume. */
struct csi_translation binder_translate(const struct pv *pv, const struct csi_node *csi_node,
                                        struct arena *arena);

/* ---- provision.c ---- */
/* `provisioners`: by class name; they are in the arena. */
void provision_wish_init(struct provision_wish *wish, struct strmap *provisioners, struct cluster *cluster,
                         const struct pvc *pvc, struct arena *arena);
/* The largest volume that the pool can hold; NULL: unknown, which counts as none. */
const struct quantity *provision_pool_limit(const struct csi_storage_capacity *pool);
/* For a node, by number of the provisioner. */
struct provision_reach *provision_reaches(uint32_t provisioners);
void provision_reaches_free(struct provision_reach *reaches, uint32_t provisioners);
/* *ret_pool has the space, if the driver reports capacity. */
enum provision_result provision_check(const struct provision_wish *wish, struct provision_reach *reaches,
                                      const struct str_map *node_labels,
                                      const struct csi_storage_capacity **ret_pool);

#endif
