package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const resizeGate = "InPlacePodVerticalScalingSchedulerPreemption=true"

// What the log says about pods whose resize is deferred.
var resizeLines = []string{
	"Assigned pod transitioned to deferred resize, adding to scheduling queue",
	"Assigned pod is no longer deferred, removing from scheduling queue",
	"Add event for unscheduled pod", "Delete event for unscheduled pod",
	"Unable to schedule pod; no fit; waiting", "Error scheduling pod; retrying", "Scheduler cache AssumePod failed",
	"Status after running PreFilter plugins for pod", "Status after running PostFilter plugins for pod",
	"Pods are potential preemption victims on node", "Preemptor Pod preempted victim Pod",
	"the target node for the preemption is determined", "Skip schedule deleting pod",
	"Entity moved to an internal scheduling queue",
}

// defers is what a kubelet writes that cannot resize the pod from one CPU to what its specification has.
const defers = `{"status":{"phase":"Running","conditions":[{"type":"PodScheduled","status":"True"},
	{"type":"PodResizePending","status":"True","reason":"Deferred"}],"containerStatuses":[{"name":"main","image":"i","imageID":"i","ready":true,"restartCount":0,
	"allocatedResources":{"cpu":"1"},"resources":{"requests":{"cpu":"1"}}}]}}`

// actuated is what it writes when it has.
const actuated = `{"status":{"conditions":[{"$patch":"delete","type":"PodResizePending"}]}}`

func (e *env) patchStatus(name, patch string) {
	e.Helper()
	e.patch(types.StrategicMergePatchType, patch, "namespaces/default/pods", name, "status")
}

func (e *env) resize(name, cpu string) {
	e.Helper()
	e.patch(types.StrategicMergePatchType,
		`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"`+cpu+`"},"limits":{"cpu":"`+cpu+`"}}}]}}`,
		"namespaces/default/pods", name, "resize")
}

// logged waits until a line has all of the words.
func (e *env) logged(p *Proc, words ...string) {
	e.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		log, err := os.ReadFile(p.Log)
		e.must(err)
		if slices.ContainsFunc(strings.Split(string(log), "\n"), func(line string) bool {
			return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) })
		}) {
			return
		}
		if time.Now().After(end) {
			e.Fatalf("the log has no line with %q", words)
		}
	}
}

// A node with a pod that wants to grow to three CPUs of four, and perhaps one with two beside it.
type resize struct {
	node   string
	spec   string   // of the node
	class  string   // priority class of the growing pod; "": high
	beside string   // likewise, of the pod beside it; "": there is none
	pods   string   // how many pods the node can have
	grows  []PodMod // of the growing pod
	evicts bool     // the pod beside it leaves
	// Something that may help, and what the log says about it.
	event func(e *env, r *resize)
	says  string
}

var resizes = []resize{
	{node: "evicts", beside: "low", evicts: true},
	{node: "odd", beside: "low", evicts: true, spec: `{"unschedulable":true,"taints":[{"key":"k","effect":"NoSchedule"}]}`,
		grows: []PodMod{pinned("elsewhere"), hostPort(80), apart(v1.LabelHostname, "x"), labels("app", "x")}},
	{node: "equal", beside: "high"},
	{node: "smaller", beside: "high", says: "AssignedPodUpdatePodScaleDown",
		event: func(e *env, r *resize) { e.resize("beside-"+r.node, "1") }},
	{node: "larger", beside: "high", says: "AssignedPodUpdatePodScaleUp",
		event: func(e *env, r *resize) { e.resize("beside-"+r.node, "3") }},
	{node: "less", beside: "high", says: "AssignedPodUpdatePodScaleDown",
		event: func(e *env, r *resize) { e.resize("grows-"+r.node, "1500m") }},
	{node: "more", beside: "high", says: "AssignedPodUpdatePodScaleUp",
		event: func(e *env, r *resize) { e.resize("grows-"+r.node, "3500m") }},
	{node: "freed", beside: "high", says: "AssignedPodDelete", event: func(e *env, r *resize) { e.remove("beside-" + r.node) }},
	{node: "grown", beside: "high", says: "NodeUpdateNodeAllocatable",
		event: func(e *env, r *resize) { e.patchNode(r.node, `{"status":{"allocatable":{"cpu":"6"}}}`, "status") }},
	{node: "polite", beside: "low", class: "polite"},
	{node: "disabled", beside: "low", spec: `{"podPreemptionPolicy":{"disableResizePreemption":["example.com/x"]}}`,
		says:  "NodeUpdateNodePreemptionPolicy",
		event: func(e *env, r *resize) { e.patchNode(r.node, `{"spec":{"podPreemptionPolicy":null}}`) }},
	{node: "fits"},
	{node: "crowded", beside: "low", pods: "2", evicts: true},
	{node: "actuated", beside: "high", says: "no longer deferred",
		event: func(e *env, r *resize) { e.patchStatus("grows-"+r.node, actuated) }},
	{node: "removed", beside: "high", says: "Delete event for unscheduled pod",
		event: func(e *env, r *resize) { e.remove("grows-" + r.node) }},
}

func (r *resize) create(e *env) {
	e.Helper()
	node := NewNode(r.node)
	if r.pods != "" {
		Allocatable("pods", r.pods)(node)
	}
	e.create(node)
	if r.spec != "" {
		e.patchNode(r.node, `{"spec":`+r.spec+`}`)
	}
	class := "high"
	if r.class != "" {
		class = r.class
	}
	if r.beside != "" {
		e.create(NewPod("beside-"+r.node, Requests("cpu", "2"), onNode(r.node), priority(r.beside)))
	}
	e.create(NewPod("grows-"+r.node, append(slices.Clone(r.grows), Requests("cpu", "3"), onNode(r.node), priority(class))...))
}

// untouched fails if anything was written about the pod.
func (e *env) untouched(name string) {
	e.Helper()
	pod := e.o.Pod(key(name)).Pod
	if c := scheduled(pod); c == nil || c.Status != v1.ConditionTrue || pod.Status.NominatedNodeName != "" {
		e.Errorf("the scheduler wrote about a pod that has its node:\n%s", e.describe(name))
	}
	if events := e.o.Events(key(name)); len(events) > 0 {
		e.Errorf("the pod has events:\n%s", e.describe(name))
	}
}

var uid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// Times decide in which queue a pod waits and how often it is tried. kube-scheduler logs some moves twice, and moves a pod
// because of its own deletion before it is removed.
var ofTime = regexp.MustCompile(` queue="\w+"|.* event="(BackoffComplete|PopFromBackoffQ|ScheduleAttemptFailure)".*|.*entity="default/grows-removed" event="AssignedPodDelete".*`)

// resizesOf is what a scheduler says about the pods; half of them wait when it starts.
func resizesOf(t *testing.T, name string, argv []string) (lines []string) {
	t.Run(name, func(t *testing.T) {
		e := private(t, Options{Audit: true, Flags: []string{"--feature-gates=" + resizeGate}})
		e.argv = argv
		early, late := resizes[:len(resizes)/2], resizes[len(resizes)/2:]
		for i := range resizes {
			resizes[i].create(e)
		}
		for i := range early {
			e.patchStatus("grows-"+early[i].node, defers)
		}
		p := e.start("-v=6", "--feature-gates="+resizeGate)
		e.logged(p, "Unable to schedule pod", "grows-evicts")
		for i := range late {
			e.patchStatus("grows-"+late[i].node, defers)
		}
		for i := range resizes {
			if r := &resizes[i]; r.evicts {
				e.event("beside-"+r.node, "Preempted", fmt.Sprintf("Preempted by pod %s on node %s", e.o.Pod(key("grows-"+r.node)).Pod.UID, r.node))
				e.gone("beside-" + r.node)
			} else if r.node != "fits" {
				e.logged(p, "Unable to schedule pod", "grows-"+r.node)
			}
		}
		for i := range resizes {
			if r := &resizes[i]; r.event != nil {
				r.event(e, r)
				e.logged(p, r.says, "grows-"+r.node)
			}
		}
		e.gone("beside-disabled")
		// A pod that comes to a node where a resize had room leaves again.
		e.logged(p, "so can't be assumed", "grows-fits")
		e.create(NewPod("beside-fits", Requests("cpu", "2"), onNode("fits"), priority("low")))
		e.gone("beside-fits")
		time.Sleep(time.Second)
		for i := range resizes {
			if resizes[i].node != "removed" {
				e.untouched("grows-" + resizes[i].node)
			}
		}
		if _, err := p.Terminate(patience); err != nil {
			t.Error(err)
		}
		log, err := os.ReadFile(p.Log)
		e.must(err)
		for _, line := range linesOf(t, uid.ReplaceAllString(string(log), "UID"), resizeLines...) {
			if line = ofTime.ReplaceAllString(line, ""); line != "" {
				lines = append(lines, line)
			}
		}
		slices.Sort(lines)
		lines = slices.Compact(lines)
	})
	return lines
}

// Pods whose resize is deferred wait, are judged, wake and preempt as with kube-scheduler. How often a pod is tried, and what
// has changed meanwhile, depends on the time that each process has: a difference counts if it is there three times in a
// row. A sanitized build is slower than the reference, so it runs alone and is not compared.
func TestDeferredResizesAsWithTheReference(t *testing.T) {
	if Release() == "1.36" {
		t.Skip("1.37 brought " + resizeGate)
	}
	reference, berth := bothCommands(t)
	for attempt := 1; !t.Failed(); attempt++ {
		got := resizesOf(t, "berth", berth)
		if sanitized() {
			return
		}
		want := resizesOf(t, "reference", reference)
		ours, theirs := without(got, want), without(want, got)
		if t.Failed() || len(ours)+len(theirs) == 0 {
			return
		}
		report := t.Logf
		if attempt == 3 {
			report = t.Errorf
		}
		report("attempt %d: only berth's log has\n%s\nonly kube-scheduler's log has\n%s", attempt, strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
}

// without are the lines that the others do not have.
func without(lines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(others, line) })
}
