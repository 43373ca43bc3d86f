/* resources.h: GET /metrics/resources: what every pod requests of the cluster and may use of it, by resource. */
#ifndef DEBUG_RESOURCES_H
#define DEBUG_RESOURCES_H

#include "debug/views.h"

/* For a view_job: what the pods request, copied; on the core thread. */
void *resources_gather(const struct engine *engine, const struct view_filter *filter, int64_t now_ns);
/* Adds the page, and frees what was gathered; on any thread. */
void resources_write(void *gathered, struct strbuf *out);

/* For serve_options.metrics_resources of the leader. */
int resources_view(struct views *views, const struct serve_request *request, struct serve_reply *reply);

#endif
