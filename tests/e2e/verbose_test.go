package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What -v=10 says about scores and verdicts.
var verdictLines = []string{
	"About to try and schedule pod", "Attempting to schedule pod", "Attempting to bind pod to node",
	"Plugin scored node for pod", "Calculated node's final score for pod",
	"Listed internal info for allocatable resources, requested resources and score",
	"Status after running PreFilter plugins for pod", "Status after running PostFilter plugins for pod",
	"Status after running PreEnqueue plugin",
	"Node failed spreadConstraint: matchNum + selfMatchNum - minMatchNum > maxSkew",
	"Node doesn't have required topology label for spread constraint",
	"Unable to schedule pod; no fit; waiting",
	"Pod is a potential preemption victim on node", "Pods are potential preemption victims on node",
	"Check the potential node for preemption", "the target node for the preemption is determined",
	"No preemption candidate is found; preemption is not helpful for scheduling",
	"Preemption will not help schedule pod on any node",
}

func verdictsOf(t *testing.T, name string, argv []string) (lines []string) {
	t.Run(name, func(t *testing.T) {
		e := shared(t)
		e.argv = argv
		other := NewNode("node-1")
		other.Labels["topology.kubernetes.io/zone"] = "z"
		e.create(NewNode("node-0"), other)
		before := 0 // the file may have lines of an earlier run
		if log, err := os.ReadFile(e.c.path(e.file("scheduler") + ".log")); err == nil {
			before = len(log)
		}
		p := e.start("-v=10")
		e.create(NewPod("web", Requests("cpu", "1", "memory", "1Gi"), pinned("node-1")))
		e.boundTo("web", "node-1")
		e.create(NewPod("next", Requests("cpu", "1", "memory", "1Gi")))
		e.boundTo("next", "node-0")
		e.create(NewPod("low", Requests("cpu", "2"), pinned("node-1"), priority("low"), grace(0)))
		e.boundTo("low", "node-1")
		e.create(NewPod("vip", Requests("cpu", "3"), pinned("node-1"), priority("high")))
		e.boundTo("vip", "node-1")
		gated := NewPod("gated")
		gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/later"}}
		e.create(gated, NewPod("lost", claim("not-there")))
		e.waits("lost", `0/2 nodes are available: persistentvolumeclaim "not-there" not found. not found`)
		e.create(NewPod("big", Requests("cpu", "100")))
		e.waits("big", "0/2 nodes are available: 2 Insufficient cpu. "+notHelpful(2))
		spread := NewPod("spread", func(p *v1.Pod) {
			p.Labels = map[string]string{"app": "s"}
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "no-such-key",
				WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}}}
		})
		e.create(spread)
		e.waits("spread", "0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints (missing required label). "+notHelpful(2))
		if _, err := p.Terminate(patience); err != nil {
			t.Error(err)
		}
		log, err := os.ReadFile(p.Log)
		e.must(err)
		lines = linesOf(t, string(log)[before:], verdictLines...)
	})
	return lines
}

func TestVerdictsAreLoggedAsByTheReference(t *testing.T) {
	reference, berth := bothCommands(t)
	want := verdictsOf(t, "reference", reference)
	got := verdictsOf(t, "berth", berth)
	if !t.Failed() && !slices.Equal(want, got) {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
