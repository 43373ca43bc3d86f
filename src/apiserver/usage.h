/* usage.h: metrics.k8s.io/v1beta1, as metrics-server serves it: what nodes and pods use, for `kubectl top`.
 *
 * Nothing is stored: a NodeMetrics or PodMetrics is computed from the pods that run when it is asked for. A container
 * uses CPU_PERCENT and MEMORY_PERCENT of what it requests, or what annotations of its pod say (fake_kubelet.h). */
#ifndef APISERVER_USAGE_H
#define APISERVER_USAGE_H

#include "apiserver/output.h"
#include "apiserver/registry.h"
#include "apiserver/request.h"

/* Is it one of the resources of metrics.k8s.io? */
bool usage_is_one(const struct api_resource *resource);
/* The answer to a get or a list, appended. Returns 0 or the negative HTTP status. */
int usage_get(struct registry *registry, const struct api_request *request, struct output *output,
              struct strbuf *out, struct api_error *err);
int usage_list(struct registry *registry, const struct api_request *request, struct output *output,
               struct strbuf *out, struct api_error *err);

#endif
