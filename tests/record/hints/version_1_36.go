//go:build !v1_37

package main

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// impliesTaints: the scheduler adds a rule about taints to one about new nodes.
const impliesTaints = true

func podChanges(_, before, after *v1.Pod) []fwk.ClusterEvent {
	return framework.PodSchedulingPropertiesChange(after, before)
}
