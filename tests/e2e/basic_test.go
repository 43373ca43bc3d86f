package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func objects[T runtime.Object](of ...T) (all []runtime.Object) {
	for _, obj := range of {
		all = append(all, obj)
	}
	return all
}

func TestPodIsBound(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewPod("web", Requests("cpu", "1")))
	p := e.start()
	e.boundTo("web", "node-0")
	pod := e.pod("web", "is marked as scheduled", func(p *v1.Pod) bool {
		c := scheduled(p)
		return c != nil && c.Status == v1.ConditionTrue
	})
	if pod.Status.NominatedNodeName != "" {
		t.Errorf("a pod that was bound at once has the nominated node %s", pod.Status.NominatedNodeName)
	}

	event := e.event("web", "Scheduled", "Successfully assigned default/web to node-0")
	if event.Type != "Normal" || event.Action != "Binding" || event.ReportingController != "default-scheduler" {
		t.Errorf("the event Scheduled has type %q, action %q, controller %q", event.Type, event.Action, event.ReportingController)
	}
	if !strings.HasPrefix(event.ReportingInstance, "default-scheduler-") {
		t.Errorf("the event's reportingInstance is %q, want default-scheduler-HOST", event.ReportingInstance)
	}
	if event.Regarding.UID != pod.UID || event.Regarding.APIVersion != "v1" || event.Regarding.ResourceVersion == "" {
		t.Errorf("the event regards %+v, the pod is %s", event.Regarding, pod.UID)
	}
	if event.EventTime.IsZero() || event.Series != nil {
		t.Errorf("the event has the time %v and the series %v", event.EventTime, event.Series)
	}
	e.running(p)
}

func TestPodCreatedWhileRunning(t *testing.T) {
	e := shared(t)
	e.create(objects(Nodes("node", 3)...)...)
	e.start()
	e.create(NewPod("first"))
	e.bound("first")
	e.create(NewPod("second"))
	e.bound("second")
}

func TestBurstIsSpread(t *testing.T) {
	e := shared(t)
	e.create(objects(Nodes("node", 10)...)...)
	e.start("--kube-api-qps", "500", "--kube-api-burst", "500")
	var pods []runtime.Object
	for i := range 200 {
		pods = append(pods, NewPod(fmt.Sprintf("pod-%d", i), Requests("cpu", "100m", "memory", "100Mi")))
	}
	e.createAll(pods)
	e.await("all are bound", func() bool { return e.o.Bound() == len(pods) })
	perNode := map[string]int{}
	for _, s := range e.o.Pods(func(*Seen) bool { return true }) {
		perNode[s.Node]++
	}
	for node, count := range perNode {
		if count < 15 || count > 25 {
			t.Errorf("%s got %d of 200 pods that are all alike, of ten nodes that are all alike", node, count)
		}
	}
	e.blameless()
}

func TestNoNodes(t *testing.T) {
	e := shared(t)
	e.create(NewPod("web"))
	e.start()
	e.refused("web", "no nodes available to schedule pods")
}

// A pod with a node, with another scheduler, or that has ended is not scheduled.
func TestForeignPodsAreLeftAlone(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewPod("direct", func(p *v1.Pod) { p.Spec.NodeName = "node-0" }),
		NewPod("foreign", func(p *v1.Pod) { p.Spec.SchedulerName = "somebody-else" }), NewPod("ended"))
	e.patchPod("ended", `{"status":{"phase":"Succeeded"}}`, "status")
	e.start()
	e.create(NewPod("ours"))
	e.bound("ours")
	e.event("ours", "Scheduled", "Successfully assigned default/ours to node-0")
	for _, name := range []string{"foreign", "ended"} {
		if s := e.o.Pod(key(name)); s.Node != "" || scheduled(s.Pod) != nil {
			t.Errorf("touched:\n%s", e.describe(name))
		}
	}
}

func TestFailedSchedulingEvent(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewPod("big", Requests("cpu", "5")))
	e.start()
	note := "0/1 nodes are available: 1 Insufficient cpu. " + notHelpful(1)
	e.refused("big", note)
	event := e.event("big", "FailedScheduling", note)
	if event.Type != "Warning" || event.Action != "Scheduling" || event.ReportingController != "default-scheduler" {
		t.Errorf("the event has type %q, action %q, controller %q", event.Type, event.Action, event.ReportingController)
	}
	if s := e.o.Pod(key("big")); s.Pod.Status.Phase != v1.PodPending {
		t.Errorf("the phase is %s", s.Pod.Status.Phase)
	}
}

// After SIGTERM during its work it ends soon, and the next scheduler continues.
func TestTerminates(t *testing.T) {
	e := shared(t)
	e.tight(200)
	p := e.start(fast...)
	l := e.load(200, 100)
	l.progress(20)
	took, err := p.Terminate(patience)
	e.must(err)
	t.Logf("ended %v after SIGTERM, %s", took.Round(time.Millisecond), p.Exit())
	e.start(fast...)
	l.finished()
	e.blameless()
}

// Without an election, too, a requested end is not a failure.
func TestBerthTerminatesWithStatusZero(t *testing.T) {
	e := shared(t)
	e.berthOnly("kube-scheduler ends with status 1 here, because it ended without an election")
	e.create(NewNode("node-0"), NewPod("web"))
	p := e.start()
	e.bound("web")
	_, err := p.Terminate(patience)
	e.must(err)
	if p.Exit() != "exit status 0" {
		t.Errorf("ended with %s", p.Exit())
	}
}

// The binary is a drop-in: called kube-scheduler, it takes kube-scheduler's flags.
func TestCalledKubeScheduler(t *testing.T) {
	e := shared(t)
	path := e.c.path("old-name")
	e.must(os.MkdirAll(path, 0o755))
	path += "/kube-scheduler"
	os.Remove(path)
	e.must(os.Symlink(e.argv[0], path))
	e.argv = []string{path}
	e.create(NewNode("node-0"), NewPod("web"))
	e.start("-v", "2")
	e.boundTo("web", "node-0")
}

// A scheduler that is told to use JSON reads, binds and writes events in it.
func TestContentTypeIsJSON(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	text := strings.Replace(e.configText("scheduler", ""), "burst: 1000}",
		"burst: 1000, contentType: application/json, acceptContentTypes: application/json}", 1)
	e.start("--config", e.write("scheduler.yaml", text, 0o644))
	e.create(NewPod("web", Requests("cpu", "1")), NewPod("big", Requests("cpu", "100")))
	e.boundTo("web", "node-0")
	e.event("web", "Scheduled", "Successfully assigned default/web to node-0")
	e.event("big", "FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu. "+notHelpful(1))
}

func TestProfilesOfAConfiguration(t *testing.T) {
	e := shared(t)
	e.create(NewNode("empty"), NewNode("half-full"),
		NewPod("filler", Requests("cpu", "2", "memory", "4Gi"), func(p *v1.Pod) { p.Spec.NodeName = "half-full" }))
	e.start(e.config("scheduler", `
profiles:
- schedulerName: default-scheduler
- schedulerName: packer
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}
  plugins:
    multiPoint:
      disabled: [{name: NodeResourcesBalancedAllocation}]
`)...)
	e.create(NewPod("spread", Requests("cpu", "500m", "memory", "1Gi")),
		NewPod("packed", Requests("cpu", "500m", "memory", "1Gi"), func(p *v1.Pod) { p.Spec.SchedulerName = "packer" }))
	e.boundTo("spread", "empty")
	e.boundTo("packed", "half-full")
	event := e.event("packed", "Scheduled", "Successfully assigned default/packed to half-full")
	if event.ReportingController != "packer" {
		t.Errorf("the event's controller is %q, want packer", event.ReportingController)
	}
}
