/* match.h: whether a node's taints repel a pod. */
#ifndef INDEX_MATCH_H
#define INDEX_MATCH_H

#include "api/taints.h"

/* A NoSchedule or NoExecute taint that the pod does not tolerate. `compare`: Gt and Lt compare (api/taints.h). */
static inline bool node_repels_pod(const struct node *node, const struct pod *pod, bool compare)
{
    return taints_find_untolerated(node->spec.taints.items, node->spec.taints.len,
                                   pod->spec.tolerations.items, pod->spec.tolerations.len, taint_is_hard,
                                   compare);
}

#endif
