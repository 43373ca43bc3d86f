//go:build !v1_37

package main

import (
	_ "unsafe" // for linkname

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

const backoffQueue = "podBackoffQ"

//go:linkname flushOld k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushUnschedulablePodsLeftover
func flushOld(q *queue.PriorityQueue, logger klog.Logger)

func (r *run) deletePod(pod *v1.Pod) { r.queue.Delete(pod) }

func (r *run) popPod() (*framework.QueuedPodInfo, error) { return r.queue.Pop(r.logger) }

func (r *run) giveBack(entry *framework.QueuedPodInfo) error {
	return r.queue.AddUnschedulableIfNotPresent(r.logger, entry, r.queue.SchedulingCycle())
}

func (r *run) find(pod *v1.Pod) (*framework.QueuedPodInfo, bool) {
	return r.queue.GetPod(pod.Name, pod.Namespace)
}

func update(entry *framework.QueuedPodInfo, pod *v1.Pod) error { return entry.Update(pod) }
