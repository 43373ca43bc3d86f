/* volumes.h: volumes and claims as scheduling sees them: what is stored, and what is assumed over it.
 *
 * Between the moment a pod gets a node and the moment its volumes are really bound, the next pods must
 * already see the volume as taken and the claim as promised to that node. Such an assumption is a small
 * patch over the stored object: the volume's claimRef, or the claim's selected node. It is tied to the
 * resourceVersion that it was made for: a newer stored object wins, a deleted one takes its assumption
 * with it. All texts of an assumption are its own: the objects that it was made from may go any time.
 *
 * The indexes list what the reference lists from a map in random order; here the order is always by
 * name. They are brought up to date by volumes_get() only: what it returned may then be read by several
 * threads, until the next object is replaced or removed. */
#ifndef CLUSTER_VOLUMES_H
#define CLUSTER_VOLUMES_H

#include "cluster/cluster.h"

#define ANNOTATION_BETA_CLASS "volume.beta.kubernetes.io/storage-class"
#define ANNOTATION_BIND_COMPLETED "pv.kubernetes.io/bind-completed"
#define ANNOTATION_SELECTED_NODE "volume.kubernetes.io/selected-node"

struct volumes;

struct pv_span {
    const struct pv *const *items;
    size_t len;
};
struct capacity_span {
    const struct csi_storage_capacity *const *items;
    size_t len;
};
struct attachment_span {
    const struct volume_attachment *const *items;
    size_t len;
};

enum volumes_index { VOLUMES_PVS = 1, VOLUMES_CAPACITIES = 2, VOLUMES_ATTACHMENTS = 4 };

/* The cluster's volumes, with the wanted indexes (a mask) up to date; made at first use, freed with the
 * cluster. */
struct volumes *volumes_get(struct cluster *cluster, unsigned wanted);
void volumes_free(struct volumes *volumes);

/* Volumes of a storage class, by name. */
struct pv_span volumes_of_class(const struct volumes *volumes, struct str class_name);
/* What is known about free space for a storage class, by namespace and name. */
struct capacity_span volumes_capacities(const struct volumes *volumes, struct str class_name);
/* Attachments to a node, by name. */
struct attachment_span volumes_attachments(const struct volumes *volumes, struct str node_name);

/* The claim that holds the volume, stored or assumed; NULL: none. */
const struct object_ref *volumes_claim_ref(const struct volumes *volumes, const struct pv *pv);
/* The node that the claim is promised to, stored or assumed; NULL: none. */
const struct str *volumes_selected_node(const struct volumes *volumes, const struct pvc *pvc);

/* The volume is held by the claim. Later assumptions replace earlier ones. */
void volumes_assume_pv(struct cluster *cluster, const struct pv *pv, const struct pvc *pvc);
/* The claim is to be provisioned for the node. */
void volumes_assume_pvc(struct cluster *cluster, const struct pvc *pvc, struct str node_name);
/* Back to what is stored, if the assumption was made for this resourceVersion. After a write, the caller passes the
 * version that came of it: the assumption then stays until that object has arrived. */
void volumes_restore_pv(struct cluster *cluster, struct str name, struct str resource_version);
void volumes_restore_pvc(struct cluster *cluster, struct str namespace, struct str name,
                         struct str resource_version);

/* ---- the objects themselves ---- */
/* The name of the storage class; the old annotation goes first. "" is no class. */
struct str pvc_class_name(const struct pvc *pvc);
/* The claim's storage class and volume; NULL: it names none, or one that does not exist. */
const struct storage_class *pvc_class(const struct cluster *cluster, const struct pvc *pvc);
const struct pv *pvc_volume(const struct cluster *cluster, const struct pvc *pvc);
/* Both sides agree: the claim names a volume, and the binding was completed. */
bool pvc_fully_bound(const struct pvc *pvc);
/* The volume is bound or pre-bound to the claim; a claimRef without uid matches any claim of that name. */
bool claim_ref_matches(const struct object_ref *ref, const struct pvc *pvc);
/* An amount of storage, zero where none is given. */
struct quantity storage_amount(const struct resource_list *list, bool *ret_given);

#endif
