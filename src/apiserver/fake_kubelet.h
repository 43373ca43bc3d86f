/* fake_kubelet.h: the annotations that fake kubelets obey. `berth cluster fail`, `slow` and `recover` write those of
 * nodes; any client may. */
#ifndef APISERVER_FAKE_KUBELET_H
#define APISERVER_FAKE_KUBELET_H

#define FAKE_KUBELET_DOMAIN "cluster.berth.dev/"

/* ---- of a Node ---- */
/* The kubelet has failed. "unreachable": it does not answer any more; "not-ready": it says that it cannot run pods. */
#define FAIL_ANNOTATION FAKE_KUBELET_DOMAIN "fail"
#define FAIL_UNREACHABLE "unreachable"
#define FAIL_NOT_READY "not-ready"
/* How long containers take to start, and to end, such as "5s". */
#define START_ANNOTATION FAKE_KUBELET_DOMAIN "start-delay"
#define STOP_ANNOTATION FAKE_KUBELET_DOMAIN "stop-delay"

/* ---- of a Pod ---- */
/* What all its containers use together, as quantities; without them, a share of their requests. */
#define CPU_ANNOTATION FAKE_KUBELET_DOMAIN "cpu-usage"
#define MEMORY_ANNOTATION FAKE_KUBELET_DOMAIN "memory-usage"

#endif
