/* pv_match.h: the volume that a claim would take on a node.
 *
 * A volume that is already meant for the claim is the only choice, or none. Else it is the smallest available one
 * that is large enough and reachable from the node; of equal ones the first by name. All that does not depend on
 * the node is decided once: for all claims of the pod that differ in nothing but their names and sizes.
 *
 * Such claims are looked up in the order of their sizes. Each search goes on where the one before it ended: what that
 * passed was too small, taken or not reachable, and is so for the larger claims as well. A node therefore costs as
 * many steps as there are claims and volumes, and not their product.
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

/* A volume that is meant for the claim of this name. */
struct pv_held {
    struct str claim;
    const struct pv *pv;
    const struct object_ref *ref;
};

enum { PV_ANCHOR_KEYS = 4 };

/* Of claims that are alike. */
struct pv_match {
    uint32_t number;          /* from 0 */
    struct pv_list available; /* smallest first, then by name */
    struct pv_held *held;     /* volumes that are meant for claims of the namespace, by name of the claim */
    uint32_t held_len;
    struct pv_anchor *anchors; /* by key, value, place */
    uint32_t anchors_len;
    uint32_t *loose; /* places of volumes without anchors, ascending */
    uint32_t loose_len;
    struct str keys[PV_ANCHOR_KEYS]; /* of the anchors */
    uint32_t keys_len;
    struct str why; /* the selector of the claims is invalid; empty: it is not */
};

/* The choice of one claim. */
struct pv_choice {
    const struct pv_match *match;
    struct pv_list prebound; /* volumes meant for this claim, by name */
    uint32_t first;          /* in `available`: the smallest that is large enough */
};

/* The choice of a claim with this size, from the volumes of its class. `alike`: from what claims have in common to a
 * struct pv_match, which is in the arena, as are the keys. */
void pv_choice_init(struct pv_choice *choice, struct strmap *alike, const struct volumes *volumes,
                    const struct pvc *pvc, struct quantity size, struct arena *arena);

/* Places still to look at, ascending: anchors under one label of the node. */
struct pv_cursor {
    const struct pv_anchor *next, *end;
};

/* How far the claims that are alike came on a node. A zeroed one has not begun. */
struct pv_search {
    bool has_begun;
    uint32_t loose;
    struct pv_cursor cursors[PV_ANCHOR_KEYS];
};

/* NULL: none. `searches`: of the node, by number of the match. `taken`: the volumes that claims of the pod took
 * already, by address; the one that is found is added. Of claims that are alike, the smaller ones come first. */
const struct pv *pv_choice_find(const struct pv_choice *choice, struct pv_search *searches,
                                const struct str_map *node_labels, struct idmap *taken);
/* Can the volume be reached from a node with these labels? NULL: from everywhere. */
bool pv_affinity_matches(const struct node_selector *affinity, const struct str_map *node_labels);

#endif
