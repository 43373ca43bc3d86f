/* detach.h: a pod is taken off its node for a look at the cluster without it, and put back as if nothing had been.
 *
 * What cluster_displace() and cluster_place() leave different is the order of lists, which counts where pods are equal
 * in everything else (who is evicted first), and which bits columns ever had. Both are restored; what stays is that the
 * row is in the log of changes twice more, so that who keeps tables looks at it again and finds what it knew. */
#ifndef WHATIF_DETACH_H
#define WHATIF_DETACH_H

#include "cluster/cluster.h"

struct detached_pod {
    struct cluster *cluster;
    struct pod_info *pod; /* NULL: nobody was detached */
    uint32_t row, slot, label_slot, term_slot;
    size_t affinity_slot, anti_slot;
    struct host_port *ports; /* in the arena, as bits */
    size_t ports_len;
    uint64_t *bits;
    uint32_t resources;
};

/* A pod on a live node. Nothing else may change the cluster, and nobody reads its log, until it is put back. */
void detach_pod(struct cluster *cluster, struct pod_info *pod, struct arena *arena, struct detached_pod *ret);
void reattach_pod(const struct detached_pod *detached);

#endif
