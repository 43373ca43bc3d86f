/* node_lookup.h: which node a text from outside means: the name of a node, or one of its addresses.
 *
 *     Node objects as they come ──node_lookup_set()──▶ names, addresses ──node_lookup_find("10.0.0.7:9100")──▶ "node-7"
 *
 * Prometheus names a node by whatever its exporter is reached at. Of the addresses, those within the cluster count:
 * InternalIP, InternalDNS and Hostname. If two nodes have the same address, the one that came last has it. Belongs to
 * the I/O thread. */
#ifndef SYNC_NODE_LOOKUP_H
#define SYNC_NODE_LOOKUP_H

#include "api/types.h"
#include "base/map.h"

struct node_lookup {
    struct strmap by_name;    /* struct node_name */
    struct strmap by_address; /* likewise; keys are texts of theirs */
};

/* The node is new or has changed. */
void node_lookup_set(struct node_lookup *lookup, const struct node *node);
void node_lookup_remove(struct node_lookup *lookup, struct str name);
/* The name of the node, which lives until the node changes; absent: it is none. A port behind the text does not
 * count. */
struct str node_lookup_find(const struct node_lookup *lookup, struct str text);
void node_lookup_release(struct node_lookup *lookup);

#endif
