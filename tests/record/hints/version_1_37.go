//go:build v1_37

package main

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// impliesTaints: a rule about new nodes is not one about taints.
const impliesTaints = false

func podChanges(waiting, before, after *v1.Pod) []fwk.ClusterEvent {
	return framework.PodSchedulingPropertiesChange(after, before, waiting.UID == after.UID)
}
