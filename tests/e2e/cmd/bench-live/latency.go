package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"berth.example/e2e"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// waker is an event that makes an unschedulable pod fit, on a node that only that pod can use.
type waker struct {
	name string
	node func(*v1.Node) // the initial state of the node; nil: it does not exist
	pod  func(*v1.Pod)  // changes to the pod
	wake func(l *lab, node string) error
}

// lab is a cluster with an idle scheduler, to measure latencies.
type lab struct {
	ctx context.Context
	c   *e2e.Cluster
	o   *e2e.Observer
}

const label = "bench"

var wakers = []waker{
	{name: "node added", wake: func(l *lab, node string) error { return l.addNode(node, func(*v1.Node) {}) }},
	{name: "pod deleted",
		node: func(*v1.Node) {},
		pod:  e2e.Requests("cpu", "3"),
		wake: func(l *lab, node string) error { return l.removePod("filler-" + node) }},
	{name: "gate removed",
		node: func(*v1.Node) {},
		pod:  func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}} },
		wake: func(l *lab, node string) error {
			_, err := l.c.Admin.CoreV1().Pods("default").Patch(l.ctx, "pod-"+node, types.MergePatchType,
				[]byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
			return err
		}},
	{name: "label changed",
		node: func(n *v1.Node) { n.Labels[label] = "other" },
		wake: func(l *lab, node string) error {
			return l.patchNode(node, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, label, node))
		}},
	{name: "taint removed",
		node: func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}} },
		wake: func(l *lab, node string) error { return l.patchNode(node, `{"spec":{"taints":null}}`) }},
}

func (l *lab) addNode(name string, mod func(*v1.Node)) error {
	node := e2e.NewNode(name, func(n *v1.Node) { n.Labels[label] = name }, mod)
	_, err := l.c.Admin.CoreV1().Nodes().Create(l.ctx, node, metav1.CreateOptions{})
	return err
}

func (l *lab) patchNode(name, patch string) error {
	_, err := l.c.Admin.CoreV1().Nodes().Patch(l.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (l *lab) addPod(name string, mods ...e2e.PodMod) error {
	_, err := l.c.Admin.CoreV1().Pods("default").Create(l.ctx, e2e.NewPod(name, mods...), metav1.CreateOptions{})
	return err
}

func (l *lab) removePod(name string) error {
	now := int64(0)
	return l.c.Admin.CoreV1().Pods("default").Delete(l.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
}

// pod waits until a pod satisfies a condition.
func (l *lab) pod(name string, want func(*e2e.Seen) bool) (found *e2e.Seen, err error) {
	ctx, cancel := context.WithTimeout(l.ctx, time.Minute)
	defer cancel()
	err = l.o.Await(ctx, func() bool { found = l.o.Pod("default/" + name); return found != nil && want(found) })
	return found, err
}

// once creates a pod that does not fit, makes it fit, and returns the time from then to the binding.
func (l *lab) once(w waker, node string) (time.Duration, error) {
	if w.node != nil {
		if err := l.addNode(node, w.node); err != nil {
			return 0, err
		}
		onNode := func(p *v1.Pod) { p.Spec.NodeName = node }
		if err := l.addPod("filler-"+node, onNode, e2e.Requests("cpu", "2")); err != nil {
			return 0, err
		}
		if _, err := l.pod("filler-"+node, func(s *e2e.Seen) bool { return s.Node != "" }); err != nil {
			return 0, err
		}
	}
	mods := []e2e.PodMod{e2e.Requests("cpu", "1"), func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{label: node} }}
	if w.pod != nil {
		mods = append(mods, w.pod)
	}
	if err := l.addPod("pod-"+node, mods...); err != nil {
		return 0, err
	}
	if _, err := l.pod("pod-"+node, refused); err != nil {
		return 0, fmt.Errorf("%s: the pod was not refused: %w", w.name, err)
	}
	began := time.Now()
	if err := w.wake(l, node); err != nil {
		return 0, err
	}
	s, err := l.pod("pod-"+node, func(s *e2e.Seen) bool { return s.Node != "" })
	if err != nil {
		return 0, fmt.Errorf("%s: the pod was not bound: %w", w.name, err)
	}
	return s.BoundAt.Sub(began), nil
}

func refused(s *e2e.Seen) bool {
	return slices.ContainsFunc(s.Pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse
	})
}

// latencies measures each waker `rounds` times, in turns, and removes the nodes.
func (l *lab) latencies(rounds int) (map[string][]time.Duration, error) {
	all := map[string][]time.Duration{}
	defer l.c.Admin.CoreV1().Nodes().DeleteCollection(l.ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: label})
	for round := range rounds {
		for i, w := range wakers {
			took, err := l.once(w, fmt.Sprintf("bench-%d-%d", round, i))
			if err != nil {
				return nil, err
			}
			all[w.name] = append(all[w.name], took)
		}
	}
	for name := range all {
		slices.Sort(all[name])
	}
	return all, nil
}

// printLatencies shows a row per waker and a column per scheduler.
func printLatencies(results []result) {
	fmt.Printf("\nfrom an event that lets a pod fit to its binding as a watch shows it: median / 90 %% / longest\n%-16s", "")
	for _, r := range results {
		fmt.Printf(" %26s", r.name)
	}
	fmt.Println()
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }
	for _, w := range wakers {
		fmt.Printf("%-16s", w.name)
		for _, r := range results {
			took := r.latencies[w.name]
			if n := len(took); n > 0 {
				fmt.Printf(" %26s", ms(took[n/2])+" / "+ms(took[n*9/10])+" / "+ms(took[n-1])+" ms")
			}
		}
		fmt.Println()
	}
}
