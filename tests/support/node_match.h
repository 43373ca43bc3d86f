/* node_match.h: whether a pod selects a node, by the text of its spec. */
#ifndef SUPPORT_NODE_MATCH_H
#define SUPPORT_NODE_MATCH_H

#include "api/labels.h"

/* spec.nodeSelector and required node affinity, both. */
static inline bool pod_selects_node(const struct pod *pod, const struct node *node)
{
    const struct affinity *affinity = pod->spec.affinity;
    if (!str_map_contains_all(&node->meta.labels, &pod->spec.node_selector))
        return false;
    return !affinity || !affinity->node || !affinity->node->required ||
           node_selector_matches(affinity->node->required, node->meta.name, &node->meta.labels);
}

#endif
