package e2e

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func grace(seconds int64) PodMod {
	return func(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

// newBudget makes a PodDisruptionBudget for pods with app=name, of which allowed may be disrupted.
func newBudget(app string, allowed int32) *policyv1.PodDisruptionBudget {
	one := intstr.FromInt32(1)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: "default"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one,
			Selector: byApp(app)},
		Status: policyv1.PodDisruptionBudgetStatus{
			DisruptionsAllowed: allowed, CurrentHealthy: 1 + allowed, DesiredHealthy: 1, ExpectedPods: 1 + allowed},
	}
}

// leaving waits until the scheduler has evicted the pod in the right way.
func (e *env) leaving(name string, preemptor *v1.Pod, node string) {
	e.Helper()
	pod := e.pod(name, "is being deleted", func(p *v1.Pod) bool { return p.DeletionTimestamp != nil })
	c := condition(pod, v1.DisruptionTarget)
	if c == nil || c.Status != v1.ConditionTrue || c.Reason != "PreemptionByScheduler" ||
		c.Message != "default-scheduler: preempting to accommodate a higher priority pod" || c.ObservedGeneration == 0 {
		e.Errorf("%s: the condition DisruptionTarget is %+v", name, c)
	}
	if got, want := *pod.DeletionGracePeriodSeconds, *pod.Spec.TerminationGracePeriodSeconds; got != want {
		e.Errorf("%s is deleted with %d s of grace, its own are %d", name, got, want)
	}
	event := e.event(name, "Preempted", fmt.Sprintf("Preempted by pod %s on node %s", preemptor.UID, node))
	// The reference does not name the preemptor as related; a scheduler that does must name the right one.
	if event.Type != "Normal" || event.Action != "Preempting" || event.Related != nil && event.Related.UID != preemptor.UID {
		e.Errorf("%s: the event has type %q, action %q and is related to %+v", name, event.Type, event.Action, event.Related)
	}
}

// nominated waits until the pod has a nominated node, and returns the pod at that time: it may be bound by now.
func (e *env) nominated(name, node string) (pod *v1.Pod) {
	e.Helper()
	e.await(name+" is promised "+node, func() bool {
		if s := e.o.Pod(key(name)); s != nil && s.Promised != nil {
			pod = s.Promised
		}
		return pod != nil && pod.Status.NominatedNodeName == node
	}, name)
	return pod
}

// unpromised waits until the pod has no nominated node.
func (e *env) unpromised(name string) {
	e.Helper()
	e.pod(name, "has no promise any more", func(p *v1.Pod) bool { return p.Status.NominatedNodeName == "" })
}

// The complete course: nomination, eviction with grace period, resources kept for the preemptor, binding.
func TestPreemption(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewPod("victim", onNode("node-0"), Requests("cpu", "4"), priority("low"), grace(30)))
	e.start()
	e.create(NewPod("vip", Requests("cpu", "4"), priority("high")))
	vip := e.nominated("vip", "node-0")
	e.leaving("victim", vip, "node-0")
	e.refused("vip", "0/1 nodes are available: 1 Insufficient cpu."+placement("node-0", 1))
	// A pod of lower priority cannot take the resources, neither now nor when the victim is gone.
	e.create(NewPod("thief", Requests("cpu", "4"), priority("middle")))
	e.refused("thief", "0/1 nodes are available: 1 Insufficient cpu. "+
		idle(noNewClaims)+"preemption: 0/1 nodes are available: 1 Insufficient cpu.")
	e.remove("victim")
	e.boundTo("vip", "node-0")
	if s := e.o.Pod(key("thief")); s.Node != "" {
		t.Errorf("the less important pod was bound to %s", s.Node)
	}
	e.unpromised("vip")
	e.blameless()
}

// A nomination is not binding: a pod goes to another node that becomes available first.
func TestPromisedPodTakesAnotherNode(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewPod("victim", onNode("node-0"), Requests("cpu", "4"), priority("low"), grace(600)))
	e.start()
	e.create(NewPod("vip", Requests("cpu", "4"), priority("high")))
	e.leaving("victim", e.nominated("vip", "node-0"), "node-0")
	e.create(NewNode("node-1"))
	e.boundTo("vip", "node-1")
}

// Each row is a cluster in which one node is the right candidate.
func TestVictimsAreChosen(t *testing.T) {
	rows := []struct {
		name    string
		pods    []*v1.Pod
		budgets []*policyv1.PodDisruptionBudget
		want    string
		leave   []string
	}{
		{name: "lowest priority", want: "node-1", leave: []string{"b"}, pods: []*v1.Pod{
			NewPod("a", onNode("node-0"), Requests("cpu", "4"), priority("middle")),
			NewPod("b", onNode("node-1"), Requests("cpu", "4"), priority("low")),
			NewPod("c", onNode("node-2"), Requests("cpu", "4"), priority("middle"))}},
		{name: "fewest", want: "node-2", leave: []string{"c"}, pods: []*v1.Pod{
			NewPod("a1", onNode("node-0"), Requests("cpu", "2"), priority("low")),
			NewPod("a2", onNode("node-0"), Requests("cpu", "2"), priority("low")),
			NewPod("b1", onNode("node-1"), Requests("cpu", "2"), priority("low")),
			NewPod("b2", onNode("node-1"), Requests("cpu", "2"), priority("low")),
			NewPod("c", onNode("node-2"), Requests("cpu", "4"), priority("low"))}},
		{name: "only as many as needed", want: "node-0", leave: []string{"a2"}, pods: []*v1.Pod{
			NewPod("a1", onNode("node-0"), Requests("cpu", "1"), priority("middle")),
			NewPod("a2", onNode("node-0"), Requests("cpu", "3"), priority("low")),
			NewPod("b", onNode("node-1"), Requests("cpu", "4"), priority("high")),
			NewPod("c", onNode("node-2"), Requests("cpu", "4"), priority("high"))}},
		{name: "not the one with a budget", want: "node-1", leave: []string{"b"},
			budgets: []*policyv1.PodDisruptionBudget{newBudget("guarded", 0)}, pods: []*v1.Pod{
				NewPod("a", onNode("node-0"), Requests("cpu", "4"), priority("low"), labels("app", "guarded")),
				NewPod("b", onNode("node-1"), Requests("cpu", "4"), priority("middle")),
				NewPod("c", onNode("node-2"), Requests("cpu", "4"), priority("low"), labels("app", "guarded"))}},
		{name: "a budget with something left", want: "node-0", leave: []string{"a"},
			budgets: []*policyv1.PodDisruptionBudget{newBudget("guarded", 1)}, pods: []*v1.Pod{
				NewPod("a", onNode("node-0"), Requests("cpu", "4"), priority("low"), labels("app", "guarded")),
				NewPod("b", onNode("node-1"), Requests("cpu", "4"), priority("middle")),
				NewPod("c", onNode("node-2"), Requests("cpu", "4"), priority("middle"))}},
		{name: "budgets give way when nothing else does", want: "node-2", leave: []string{"c"},
			budgets: []*policyv1.PodDisruptionBudget{newBudget("guarded", 0)}, pods: []*v1.Pod{
				NewPod("a", onNode("node-0"), Requests("cpu", "4"), priority("high")),
				NewPod("b", onNode("node-1"), Requests("cpu", "4"), priority("high")),
				NewPod("c", onNode("node-2"), Requests("cpu", "4"), priority("low"), labels("app", "guarded"))}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			e := shared(t)
			e.create(objects(Nodes("node", 3)...)...)
			e.create(objects(row.budgets...)...)
			e.create(objects(row.pods...)...)
			e.start()
			e.create(NewPod("vip", Requests("cpu", "3"), priority("high")))
			// Without a grace period the victims are gone at once.
			for _, name := range row.leave {
				e.gone(name)
			}
			e.boundTo("vip", row.want)
			left := e.o.Pods(func(s *Seen) bool { return s.Gone })
			if len(left) != len(row.leave) {
				t.Errorf("%d pods had to go, want %d", len(left), len(row.leave))
			}
			e.blameless()
		})
	}
}

// A pod of higher priority that needs the same node clears the nomination of one with lower priority.
func TestLowerPromisesAreCleared(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	for _, name := range []string{"a", "b"} {
		e.create(NewPod(name, onNode("node-0"), Requests("cpu", "2"), priority("low"), grace(600)))
	}
	e.start()
	e.create(NewPod("middle", Requests("cpu", "2"), priority("middle")))
	e.nominated("middle", "node-0")
	e.pod("middle", "waits", func(p *v1.Pod) bool { return scheduled(p) != nil })
	e.create(NewPod("high", Requests("cpu", "4"), priority("high")))
	e.nominated("high", "node-0")
	e.unpromised("middle")
	for _, name := range []string{"a", "b"} {
		e.pod(name, "is being deleted", func(p *v1.Pod) bool { return p.DeletionTimestamp != nil })
		e.remove(name)
	}
	e.boundTo("high", "node-0")
	e.waits("middle", "0/1 nodes are available: 1 Insufficient cpu. "+noVictims(1))
	e.blameless()
}

// Preemption can free more than resources.
func TestPreemptionForAPort(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewPod("server", onNode("node-0"), hostPort(8080), priority("low"), grace(30)),
		NewPod("neighbour", onNode("node-0"), priority("low")))
	e.start()
	e.create(NewPod("vip", hostPort(8080), priority("high")))
	vip := e.nominated("vip", "node-0")
	e.leaving("server", vip, "node-0")
	e.remove("server")
	e.boundTo("vip", "node-0")
	if s := e.o.Pod(key("neighbour")); s.Gone || s.Pod.DeletionTimestamp != nil {
		t.Error("a pod that was not in the way had to go")
	}
}

// The next scheduler keeps nominations of a killed one.
func TestPromiseOutlivesTheScheduler(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewPod("victim", onNode("node-0"), Requests("cpu", "4"), priority("low"), grace(600)))
	p := e.start()
	e.create(NewPod("vip", Requests("cpu", "4"), priority("high")))
	e.leaving("victim", e.nominated("vip", "node-0"), "node-0")
	p.Kill()
	e.create(NewPod("thief", Requests("cpu", "4"), priority("middle")))
	e.remove("victim")
	e.start()
	e.boundTo("vip", "node-0")
	e.waits("thief", "0/1 nodes are available: 1 Insufficient cpu. "+noVictims(1))
	e.blameless()
}

// Another component, such as an autoscaler, may nominate a node: the pod goes there if it fits, whatever the scores are.
func TestPromiseOfSomebodyElse(t *testing.T) {
	e := shared(t)
	e.create(objects(Nodes("node", 3)...)...)
	e.create(NewPod("filler", onNode("node-2"), Requests("cpu", "2", "memory", "4Gi")))
	e.start()
	for _, name := range []string{"fits", "fits-not"} { // for the second, only one CPU is left
		e.create(NewPod(name, gates("example.com/wait"), Requests("cpu", "1500m", "memory", "1Gi")))
		e.patchPod(name, `{"status":{"nominatedNodeName":"node-2"}}`, "status")
		e.patchPod(name, `{"spec":{"schedulingGates":null}}`)
		if node := e.bound(name); (node == "node-2") != (name == "fits") {
			t.Errorf("%s was bound to %s", name, node)
		}
	}
	e.blameless()
}
