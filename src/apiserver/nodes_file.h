/* nodes_file.h: `berth cluster --nodes-file`: the fake nodes of a development cluster from templates.
 *
 *     apiVersion: v1
 *     kind: Node
 *     count: 6                  general-0 ... general-5: {} is the number of the node
 *     zones: [a, b, c]          dealt in turn; {zone} is the node's
 *     metadata: { name: "general-{}" }
 *
 * The file has manifests of Nodes, ResourceSlices, CSINodes and DeviceClasses. Those about one node (a ResourceSlice
 * with spec.nodeName, a CSINode by its name) are made for each node of the template that they name. */
#ifndef APISERVER_NODES_FILE_H
#define APISERVER_NODES_FILE_H

#include "apiserver/registry.h"
#include "base/error.h"

struct nodes_file;

/* Reads and checks the file; errors have its path, line and column, and the field. */
int nodes_file_read(const char *path, struct nodes_file **ret, struct error *err);
/* Creates the objects; those that are there already stay as they are. */
int nodes_file_create(const struct nodes_file *file, struct registry *registry, struct error *err);
/* NULL is fine. */
void nodes_file_free(struct nodes_file *file);

#endif
