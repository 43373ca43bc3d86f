/* pod_amounts.h: limits of pods, which the host does not add up, and amounts of their containers. */
#ifndef STRATEGIES_POD_AMOUNTS_H
#define STRATEGIES_POD_AMOUNTS_H

#include <berth/plugin.h>

/* One container's request or limit of a resource. `list` is "containers" or "initContainers", `side` is "requests" or
 * "limits". False: it has none. */
bool amount_of_container(const struct berth_pod *pod, const char *list, uint32_t number, const char *side,
                         const char *resource, int64_t *ret);
uint32_t amount_containers(const struct berth_pod *pod, const char *list);

/* spec.overhead; 0: none. */
int64_t amount_overhead(const struct berth_pod *pod, const char *resource);

/* The pod's limit, as Kubernetes adds it up: the containers with those init containers that keep running, or more if an
 * init container needs more; a limit of the pod replaces it; overhead on top. 0: no limit. CPU in thousandths of a
 * core, other resources in units. */
int64_t amount_limit(const struct berth_pod *pod, const char *resource);

/* A quantity as Kubernetes writes it, such as 500m, 2 or 1Gi, in thousandths. False: it is none. */
bool amount_parse(struct berth_str text, double *ret_milli);

#endif
