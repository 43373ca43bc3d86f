/* bootstrap.h: the objects that a new cluster has: namespaces, the default service account, priority classes, the
 * service of the API server; and fake nodes. */
#ifndef APISERVER_BOOTSTRAP_H
#define APISERVER_BOOTSTRAP_H

#include "apiserver/registry.h"
#include "base/error.h"

/* What is there already stays as it is. */
int bootstrap_objects(struct registry *registry, uint16_t port, struct error *err);
/* Of them, the priority classes alone. */
int bootstrap_classes(struct registry *registry, struct error *err);
/* node-0, node-1, ... in three zones, each with 16 CPUs, 64 GiB of memory and room for 110 pods. */
int bootstrap_nodes(struct registry *registry, size_t count, struct error *err);
/* What a kubelet sets when it registers its node, where the object does not say it: addresses, versions, conditions.
 * Nodes of a cluster have different numbers. */
void bootstrap_complete_node(yyjson_mut_doc *node, size_t number);

/* The conditions of a node that is well; the last one has no type. */
struct kubelet_condition {
    const char *type, *status, *reason, *message;
};
extern const struct kubelet_condition kubelet_conditions[];

#endif
