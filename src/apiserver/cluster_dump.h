/* cluster_dump.h: `berth cluster --replay-dump`: a development cluster that begins with the objects of another one.
 *
 *     kubectl get nodes,pods,... -A -o yaml ──▶ cluster_dump_read() ──▶ cluster_dump_create() ──▶ registry
 *
 * Objects keep their names, uids, labels, owners, nodes and status, so that controllers find what is theirs. What
 * cannot be taken is named on standard error, in one line for each kind. */
#ifndef APISERVER_CLUSTER_DUMP_H
#define APISERVER_CLUSTER_DUMP_H

#include "apiserver/registry.h"
#include "base/error.h"

struct cluster_dump;

/* Reads the file, the folder, or "-"; errors have path, line and column. */
int cluster_dump_read(const char *path, struct cluster_dump **ret, struct error *err);
/* Creates its objects; those that are there already stay as they are. */
int cluster_dump_create(struct cluster_dump *dump, struct registry *registry, struct error *err);
/* NULL is fine. */
void cluster_dump_free(struct cluster_dump *dump);

#endif
