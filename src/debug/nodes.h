/* nodes.h: the nodes as the scheduler counts them, for authorized clients: GET /debug/berth/nodes.
 *
 * {"time":..., "label":KEY, "labels":[KEY, ...], "nodes":[{"name", "ready", "unschedulable",
 * "taints":["key=value:Effect"], "labelValue", "allocatable":{"cpuMilli":...}, "requested":{...}}, ...]}: by name;
 * assumed pods count as on the node. ?label=KEY fills "label" and "labelValue"; "labels" are keys that nodes have.
 * ?node=NAME shows one node, with all "labels" of its own and its "pods".
 *
 * The core thread copies the rows, at its turn among requests that cost as much (views.h); the text is written by the
 * worker pool. */
#ifndef DEBUG_NODES_H
#define DEBUG_NODES_H

#include "debug/views.h"

#define VIEW_NODES_PATH "/debug/berth/nodes"

/* For serve_options, with the views as user. */
int nodes_view(void *views, const struct serve_request *request, struct serve_reply *reply);

/* The same without a server: for a view_job. */
void *nodes_gather(const struct engine *engine, const struct view_filter *filter, int64_t now_ns);
void nodes_write(void *gathered, struct strbuf *out);

#endif
