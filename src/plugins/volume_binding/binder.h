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
#include "plugins/volume_binding/provision.h"
#include "plugins/volume_binding/pv_match.h"

struct bound_claim {
    const struct pv *pv;         /* NULL: it is gone */
    const struct csi_kind *kind; /* of a volume that some nodes see as a CSI driver's; else NULL */
    bool translated;             /* `csi` is valid; else `why` */
    struct csi_translation csi;
    struct str why;
};

struct waiting_claim {
    const struct pvc *pvc;
    const struct str *selected_node; /* the node that it is promised to; NULL: none */
    struct pv_match match;
    struct provisioner provisioner;
};

/* The claims of a pod, in the order of its volumes. */
struct pod_claims {
    struct bound_claim *bound;
    uint32_t bound_len;
    struct waiting_claim *waiting;
    uint32_t waiting_len;
    const struct waiting_claim **to_match; /* those without a selected node, smallest request first */
    uint32_t to_match_len;
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
    struct volume_match *bindings;
    uint32_t bindings_len;
    struct provision *provisions;
    uint32_t provisions_len;
};

/* A claim that does not exist counts as one that should have been bound before. */
void binder_claims(struct cluster *cluster, const struct pod *pod, struct arena *arena,
                   struct pod_claims *ret);
/* Success, UnschedulableAndUnresolvable with all reasons, or Error. */
struct status binder_find(const struct cluster *cluster, const struct pod_claims *claims,
                          const struct node *node, struct arena *arena, struct pod_volumes *ret);
/* The node affinity that the volume has on a node: where its kind is migrated, that of the CSI driver's volume. False:
 * it cannot be translated, *ret_why says why. NULL as affinity: none. */
bool binder_affinity(const struct pv *pv, const struct csi_node *csi_node, struct arena *arena,
                     const struct node_selector **ret, struct str *ret_why);

#endif
