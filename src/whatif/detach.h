/* detach.h: a pod is taken off its node for an evaluation of the cluster without it, and put back.
 *
 * What cluster_displace() and cluster_place() leave different is the order of lists, which counts where pods are equal
 * in everything else (which one is evicted first), and which bits columns ever had. Both are restored. What stays is
 * two more entries for the row in the log of changes: tables over the rows check it again, and find it as it was. */
#ifndef WHATIF_DETACH_H
#define WHATIF_DETACH_H

#include "cluster/cluster.h"

struct detached_pod {
    struct cluster *cluster;
    struct pod_info *pod; /* NULL: none was detached */
    uint32_t row, slot, label_slot, term_slot;
    size_t affinity_slot, anti_slot;
    struct host_port *ports; /* in the arena, as bits */
    size_t ports_len;
    uint64_t *bits;
    uint32_t resources;
};

/* A pod on a live node. Until it is put back, nothing else may change the cluster or read its log. */
void detach_pod(struct cluster *cluster, struct pod_info *pod, struct arena *arena, struct detached_pod *ret);
void reattach_pod(const struct detached_pod *detached);

#endif
