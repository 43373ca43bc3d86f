package e2e

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodMod changes a pod that is being made; NodeMod a node.
type (
	PodMod  func(*v1.Pod)
	NodeMod func(*v1.Node)
)

// NewPod makes a pod of the default namespace with one container without requests.
func NewPod(name string, mods ...PodMod) *v1.Pod {
	none := int64(0)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, Labels: map[string]string{}},
		Spec: v1.PodSpec{
			Containers:                    []v1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10"}},
			TerminationGracePeriodSeconds: &none,
		},
	}
	for _, mod := range mods {
		mod(pod)
	}
	return pod
}

// NewNode makes a ready node with 4 CPUs, 8 GiB and a capacity of 110 pods, labelled with its name.
func NewNode(name string, mods ...NodeMod) *v1.Node {
	has := v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{
			Allocatable: has, Capacity: has,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady"}},
		},
	}
	for _, mod := range mods {
		mod(node)
	}
	return node
}

// resources reads "cpu=1 memory=1Gi".
func resources(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i+1 < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// Requests makes the pod request resources: name, amount, name, amount ... Extended resources need limits too.
func Requests(pairs ...string) PodMod {
	return func(p *v1.Pod) {
		r := &p.Spec.Containers[0].Resources
		r.Requests, r.Limits = resources(pairs...), resources(pairs...)
	}
}

// Allocatable gives the node resources, in addition to or instead of the usual ones.
func Allocatable(pairs ...string) NodeMod {
	return func(n *v1.Node) {
		all := n.Status.Allocatable.DeepCopy()
		for name, amount := range resources(pairs...) {
			all[name] = amount
		}
		n.Status.Allocatable, n.Status.Capacity = all, all
	}
}

// requests are the resources that the pod uses on its node, if it has only plain containers.
func requests(p *v1.Pod) v1.ResourceList {
	sum := resources("pods", "1")
	for _, c := range p.Spec.Containers {
		for name, amount := range c.Resources.Requests {
			total := sum[name]
			total.Add(amount)
			sum[name] = total
		}
	}
	return sum
}

// Nodes makes count nodes called PREFIX-0, PREFIX-1 ...
func Nodes(prefix string, count int, mods ...NodeMod) []*v1.Node {
	var all []*v1.Node
	for i := range count {
		all = append(all, NewNode(fmt.Sprintf("%s-%d", prefix, i), mods...))
	}
	return all
}
