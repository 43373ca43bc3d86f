/* pv_match.h: the volume that a claim would take on a node.
 *
 * A volume that is already meant for the claim is the only choice, or none. Else it is the smallest available one
 * that is large enough and reachable from the node; of equal ones the first by name. All that does not depend on
 * the node is decided once per claim.
 *
 * Thousands of local volumes are each reachable from one of thousands of nodes. So volumes are also sorted by a
 * label that a node must have to reach them (an anchor), and a node looks only at those under its own labels. */
#ifndef PLUGINS_VOLUME_BINDING_PV_MATCH_H
#define PLUGINS_VOLUME_BINDING_PV_MATCH_H

#include "cluster/volumes.h"

struct pv_list {
    const struct pv **items;
    uint32_t len;
};

/* A node with this label may reach the volume. */
struct pv_anchor {
    struct str key, value;
    uint32_t at; /* the volume's place in `available` */
};

enum { PV_ANCHOR_KEYS = 4 };

struct pv_match {
    struct pv_list prebound;   /* volumes meant for this claim, by name */
    struct pv_list available;  /* smallest first, then by name */
    struct pv_anchor *anchors; /* by key, value, place */
    uint32_t anchors_len;
    uint32_t *loose; /* places of volumes without anchors, ascending */
    uint32_t loose_len;
    struct str keys[PV_ANCHOR_KEYS]; /* of the anchors */
    uint32_t keys_len;
    bool invalid; /* the claim's selector is invalid */
    struct str why;
};

/* Chooses from the volumes of the claim's class. */
void pv_match_init(struct pv_match *match, const struct volumes *volumes, const struct pvc *pvc,
                   struct arena *arena);
/* NULL: none. `taken` are volumes that other claims of the pod took already. */
const struct pv *pv_match_find(const struct pv_match *match, const struct str_map *node_labels,
                               const struct pv_list *taken);
/* Can the volume be reached from a node with these labels? NULL: from everywhere. */
bool pv_affinity_matches(const struct node_selector *affinity, const struct str_map *node_labels);

#endif
