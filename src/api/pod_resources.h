/* pod_resources.h: the resources that a pod requests from its node.
 *
 * The rules are those of k8s.io/component-helpers/resource: containers add up; init containers run one after another,
 * so the largest counts, on top of the sidecars (restartable init containers) started before it; what the kubelet
 * allocated or enforces counts where it is more than the spec says (container by container, or as the sum of all);
 * what claims take of the node's own resources is added to what is requested, and to what is allocated;
 * pod-level resources replace the sum of the containers; overhead comes on top. Results live in the arena; names in
 * them are borrowed from the pod. */
#ifndef API_POD_RESOURCES_H
#define API_POD_RESOURCES_H

#include "api/types.h"
#include "base/arena.h"

struct pod_requests_options {
    bool use_status;           /* consider what the pod's status reports as allocated and enforced */
    bool use_status_pod_level; /* the same for pod-level resources; needs use_status */
    /* With use_status, of requests: the largest of the pod's totals by spec, by what is allocated and by what is
     * enforced counts, and not the total of the containers' largest amounts. */
    bool largest_total;
    /* What the pod's status says that its claims take of the node is requested, too. Of requests, or with divided
     * claims of limits as well, if there is a limit. */
    enum claims_counted { CLAIMS_LEFT_OUT, CLAIMS_TOTAL, CLAIMS_DIVIDED } claims;
    bool skip_pod_level;
    bool exclude_overhead;
    const struct resource_list *non_missing; /* each container that lacks one of these gets it; may be NULL */
};

void pod_requests(const struct pod *pod, struct pod_requests_options opts, struct arena *arena,
                  struct resource_list *ret);
void pod_limits(const struct pod *pod, struct pod_requests_options opts, struct arena *arena,
                struct resource_list *ret);

/* What the claims that a container refers to take of the node, for that container. */
void pod_container_claims(const struct pod *pod, struct str container, struct arena *arena,
                          struct resource_list *ret);

/* Does a resize of the pod wait, for this reason ("Deferred", "Infeasible")? */
bool pod_resize_waits(const struct pod *pod, struct str reason);

/* Are there pod-level requests that the reference honours (cpu, memory, hugepages-*)? */
bool pod_level_requests_set(const struct pod *pod);

/* A container without a request for these is taken to need that much, by scorers only. */
enum { NONZERO_CPU_MILLI = 100, NONZERO_MEMORY_BYTES = 200 * 1024 * 1024 };
/* Both, for pod_requests_options.non_missing. */
extern const struct resource_list nonzero_requests;

/* What an incoming pod must find free (NodeResourcesFit's PreFilter): its status is not considered. */
void pod_fit_requests(const struct pod *pod, struct pod_requests_options opts, struct arena *arena,
                      struct resource_list *ret);

/* What a pod uses on its node (PodInfo.CalculateResource). */
struct pod_node_usage {
    struct resource_list requests;
    int64_t nonzero_cpu_milli, nonzero_memory; /* with the amounts above for missing requests */
};
void pod_node_requests(const struct pod *pod, struct pod_requests_options opts, struct arena *arena,
                       struct pod_node_usage *ret);

/* The pod's ports with a hostPort: of sidecars, then of containers. Returns how many. */
uint32_t pod_host_ports(const struct pod *pod, struct arena *arena, const struct container_port ***ret);

static inline bool container_is_sidecar(const struct container *container)
{
    return str_eq(container->restart_policy, STR("Always"));
}

#endif
