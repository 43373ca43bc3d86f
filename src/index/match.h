/* match.h: whether a pod selects a node, and whether a node's taints repel a pod. */
#ifndef INDEX_MATCH_H
#define INDEX_MATCH_H

#include "api/labels.h"
#include "api/taints.h"

/* spec.nodeSelector and required node affinity, both. */
static inline bool pod_selects_node(const struct pod *pod, const struct node *node)
{
    const struct affinity *affinity = pod->spec.affinity;
    if (!str_map_contains_all(&node->meta.labels, &pod->spec.node_selector))
        return false;
    return !affinity || !affinity->node || !affinity->node->required ||
           node_selector_matches(affinity->node->required, node->meta.name, &node->meta.labels);
}

/* A NoSchedule or NoExecute taint that the pod does not tolerate. */
static inline bool node_repels_pod(const struct node *node, const struct pod *pod)
{
    return taints_find_untolerated(node->spec.taints.items, node->spec.taints.len,
                                   pod->spec.tolerations.items, pod->spec.tolerations.len, taint_is_hard,
                                   false);
}

#endif
