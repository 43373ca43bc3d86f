/* model.h: what the files of cluster/ share among themselves; no other layer includes it. */
#ifndef CLUSTER_MODEL_H
#define CLUSTER_MODEL_H

#include "api/pod_resources.h"
#include "cluster/cluster.h"

uint32_t resource_add(struct cluster *cluster, struct str name);
/* The row of a name, live or not, or ROW_NONE; row_for_name() makes one. */
uint32_t row_by_name(const struct cluster *cluster, struct str name);
uint32_t row_for_name(struct cluster *cluster, struct str name);
void row_release_if_empty(struct cluster *cluster, uint32_t row);
void row_changed(struct cluster *cluster, uint32_t row);

/* Would the table be the same after the row's node reported anew? Most updates leave images alone. (The only node that
 * has an image may have found the size of an earlier one in the table: then its own counts from now on.) */
bool images_stay(const struct cluster *cluster, uint32_t row, const struct node *api);
/* The images that the row's node reports join or leave the cluster's table. */
void images_add(struct cluster *cluster, uint32_t row);
void images_remove(struct cluster *cluster, uint32_t row);

void pods_release(struct cluster *cluster);
/* The pod has a new class: if it occupies a row, it joins the owner of its labels there. */
void pod_labels_moved(struct pod_info *pod, struct label_owner *from);
/* ... and what it takes there counts by the numbers that its resources have now. */
void pod_amounts_moved(struct cluster *cluster, const struct pod_info *pod, const struct pod_usage *from);
/* What a pod takes counts on the row, or does not count any more. */
void row_account(struct cluster *cluster, uint32_t row, const struct pod_usage *used, int sign);
/* A node appears or goes: claims count as used only by pods on live nodes. */
void pods_count_claims(struct cluster *cluster, uint32_t row, int sign);

/* ---- usage.c ---- */
struct amount *amounts_compile(struct cluster *cluster, struct arena *arena, const struct resource_list *list,
                               uint32_t *ret_len, struct absent_list *ret_absent);
void absent_release(struct cluster *cluster, const struct absent_list *list);
void usage_compile(struct cluster *cluster, const struct pod *pod, struct pod_requests_options opts,
                   struct arena *arena, struct pod_usage *ret);
/* NULL: the claims take nothing of the node, or such claims do not count. */
struct node_claims *node_claims_new(struct cluster *cluster, const struct pod *pod,
                                    const struct node_claim_list *list);
void node_claims_free(struct cluster *cluster, struct node_claims *claims);

#endif
