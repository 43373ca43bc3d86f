package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// prefers adds a preferred node label.
func prefers(key, value string) PodMod {
	return func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 100,
				Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
					{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}}}}}
	}
}

// Many profiles in one process, each with its own plugins, weights and arguments.
func TestEachProfileHasItsOwnMind(t *testing.T) {
	e := shared(t)
	e.create(NewNode("empty"), NewNode("half-full", nodeLabel("liked", "yes")), NewNode("kept", nodeTaint("kept", v1.TaintEffectNoSchedule)),
		NewPod("filler", onNode("half-full"), Requests("cpu", "2", "memory", "4Gi")),
		NewPod("other", onNode("kept"), Requests("cpu", "3", "memory", "6Gi")))
	config := `
profiles:
- schedulerName: default-scheduler
- schedulerName: packer
  plugins: {multiPoint: {disabled: [{name: NodeResourcesBalancedAllocation}]}}
  pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}}]
- schedulerName: fond
  plugins: {score: {disabled: [{name: NodeAffinity}, {name: NodeResourcesFit}], enabled: [{name: NodeAffinity, weight: 100}, {name: NodeResourcesFit, weight: 1}]}}
- schedulerName: sober
  plugins: {score: {disabled: [{name: NodeAffinity}, {name: NodeResourcesFit}], enabled: [{name: NodeAffinity, weight: 1}, {name: NodeResourcesFit, weight: 100}]}}
- schedulerName: reckless
  plugins: {filter: {disabled: [{name: TaintToleration}]}, score: {disabled: [{name: "*"}]}}
- schedulerName: partial
  pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: liked, operator: Exists}]}]}}}}]
`
	const alike = 40
	for i := range alike {
		config += fmt.Sprintf("- schedulerName: alike-%d\n", i)
	}
	e.start(e.config("scheduler", config)...)
	small := Requests("cpu", "100m", "memory", "100Mi")
	for _, c := range []struct {
		scheduler, node string
		mods            []PodMod
	}{
		{"default-scheduler", "empty", nil},
		{"packer", "half-full", nil},
		{"fond", "half-full", []PodMod{prefers("liked", "yes")}},
		{"sober", "empty", []PodMod{prefers("liked", "yes")}},
		{"reckless", "kept", []PodMod{selector(v1.LabelHostname, "kept")}},
		{"partial", "half-full", nil},
	} {
		e.create(NewPod("of-"+c.scheduler, append(c.mods, of(c.scheduler), small)...))
		e.boundTo("of-"+c.scheduler, c.node)
		note := fmt.Sprintf("Successfully assigned default/of-%s to %s", c.scheduler, c.node)
		if event := e.event("of-"+c.scheduler, "Scheduled", note); event.ReportingController != c.scheduler {
			t.Errorf("the event's controller is %q, want %s", event.ReportingController, c.scheduler)
		}
	}
	for i := range alike {
		e.create(NewPod(fmt.Sprintf("one-of-many-%d", i), of(fmt.Sprintf("alike-%d", i)), Requests("cpu", "10m")))
	}
	for i := range alike {
		e.bound(fmt.Sprintf("one-of-many-%d", i))
	}
	// A pod that one profile rejected is requeued when a pod of another profile is deleted.
	e.create(NewPod("waits", of("partial"), Requests("cpu", "2")))
	e.refused("waits", "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match scheduler-enforced node affinity, "+
		"1 node(s) had untolerated taint(s). "+idle(noNewClaims)+"preemption: 0/3 nodes are available: "+
		"1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.")
	e.remove("filler")
	e.boundTo("waits", "half-full")
	e.create(NewPod("nobodys", of("nobody")), NewPod("later"))
	e.bound("later")
	if s := e.o.Pod(key("nobodys")); s.Node != "" || scheduled(s.Pod) != nil {
		t.Errorf("touched:\n%s", e.describe("nobodys"))
	}
	e.blameless()
}

// percentageOfNodesToScore for all profiles, and for one.
func TestEachProfileLooksAtItsShareOfTheNodes(t *testing.T) {
	e := shared(t)
	const nodes, least = 150, 100 // at least a hundred are always evaluated
	ports, err := freePorts(1)
	e.must(err)
	conf := e.c.path(e.file("scheduler") + ".conf")
	e.createAll(objects(Nodes("node", nodes)...))
	e.start(append(e.config("scheduler", `
percentageOfNodesToScore: 1
profiles:
- schedulerName: hasty
- schedulerName: thorough
  percentageOfNodesToScore: 100
`), "--secure-port", fmt.Sprint(ports[0]), "--authentication-kubeconfig", conf, "--authorization-kubeconfig", conf)...)
	for scheduler, want := range map[string]int{"hasty": least, "thorough": nodes} {
		e.create(NewPod("of-"+scheduler, of(scheduler)))
		e.bound("of-" + scheduler)
		got := ""
		e.becomes("the evaluated nodes are counted", func() bool {
			page, _ := e.scrape(ports[0])
			for name, value := range page["scheduler_plugin_evaluation_total"].values {
				if strings.Contains(name, `extension_point="Filter",plugin="NodeUnschedulable",profile="`+scheduler+`"`) {
					got = value
				}
			}
			return got != "" && got != "0"
		})
		if e.sched == "kube-scheduler" { // its threads look at a few more before they hear that it is enough
			want = max(want, min(nodes-1, atoi(got)))
		}
		if got != fmt.Sprint(want) {
			t.Errorf("%s evaluated %s nodes, want %d", scheduler, got, want)
		}
	}
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// A plugin from a shared object is in the profiles that enable it, each with its own arguments.
func TestEachProfileHasItsOwnLoadedPlugins(t *testing.T) {
	e := shared(t)
	e.berthOnly("kube-scheduler has no loadable plugins")
	e.create(NewNode("node-0", nodeLabel("closed", "yes")))
	p := e.start(append(e.config("scheduler", `
profiles:
- schedulerName: default-scheduler
- schedulerName: first
  plugins: {multiPoint: {disabled: [{name: PrioritySort}], enabled: [{name: PrioritySort}]}, filter: {enabled: [{name: Everything}]}, preFilter: {enabled: [{name: Everything}]}}
  pluginConfig: [{name: Everything, args: {greeting: one, number: 1}}]
- schedulerName: second
  plugins: {permit: {enabled: [{name: Everything}]}}
  pluginConfig: [{name: Everything, args: {greeting: two, number: 2}}]
`), "--plugin", e.buildPlugin())...)
	e.create(NewPod("plain", told("permit", "no")), NewPod("one", of("first"), told("permit", "no")),
		NewPod("two", of("second"), told("permit", "no")))
	e.boundTo("plain", "node-0")
	e.refused("one", "0/1 nodes are available: 1 node(s) were closed. "+noVictims(1))
	e.refused("two", "0/1 nodes are available: 1 not today.")
	log, err := os.ReadFile(p.Log)
	e.must(err)
	for _, text := range []string{"init one number=1", "init two number=2"} {
		if !strings.Contains(string(log), text) {
			t.Errorf("the log does not say: %s", text)
		}
	}
}

// neighbours are two schedulers with different names: both under test, or one of them the reference.
func neighbours(t *testing.T, test func(e *env, second *Proc)) {
	t.Run("alike", func(t *testing.T) {
		e := shared(t)
		e.start()
		test(e, e.startAt("second", e.c.Addr(), e.config("second", "profiles: [{schedulerName: second-scheduler}]\n")...))
	})
	t.Run("beside kube-scheduler", func(t *testing.T) {
		reference, err := ReferenceCommand()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(reference[0]); err != nil {
			t.Skip("kube-scheduler was not built: tests/e2e/parts/build kube-scheduler")
		}
		e := shared(t)
		e.start()
		e.argv = reference
		test(e, e.startAt("second", e.c.Addr(), e.config("second", "profiles: [{schedulerName: second-scheduler}]\n")...))
	})
}

// Each counts pods that the other has bound, and requeues when they are deleted; and neither touches the other's pods.
func TestNeighboursSeeEachOther(t *testing.T) {
	neighbours(t, func(e *env, second *Proc) {
		e.create(NewNode("node-0"))
		names := []string{"default-scheduler", "second-scheduler"}
		for i, mine := range names {
			other := names[1-i]
			first, next := fmt.Sprintf("first-%d", i), fmt.Sprintf("next-%d", i)
			e.create(NewPod(first, of(mine), Requests("cpu", "3"), grace(0)))
			e.boundTo(first, "node-0")
			e.create(NewPod(next, of(other), Requests("cpu", "3"), grace(0)))
			e.refused(next, "0/1 nodes are available: 1 Insufficient cpu. "+noVictims(1))
			e.create(NewPod("small-"+next, of(other), Requests("cpu", "1"), grace(0)))
			e.boundTo("small-"+next, "node-0")
			e.remove(first)
			e.boundTo(next, "node-0")
			// A pod of the one may be preempted by the other.
			vip := fmt.Sprintf("vip-%d", i)
			e.create(NewPod(vip, of(mine), Requests("cpu", "4"), priority("high"), grace(0)))
			e.gone(next)
			e.gone("small-" + next)
			e.boundTo(vip, "node-0")
			e.remove(vip)
			e.gone(vip)
		}
		for _, s := range e.o.Pods(func(*Seen) bool { return true }) {
			for _, event := range e.o.Events(key(s.Pod.Name)) {
				by := event.ReportingController
				if by != s.Pod.Spec.SchedulerName && event.Reason != "Preempted" {
					e.Errorf("%s of %s has the event %s of %s", s.Pod.Name, s.Pod.Spec.SchedulerName, event.Reason, by)
				}
			}
		}
		e.blameless()
		e.running(second)
	})
}

// Pods of both at once: all are bound, each by its own scheduler, and topology spread counts the pods of both.
func TestNeighboursShareTheNodes(t *testing.T) {
	neighbours(t, func(e *env, second *Proc) {
		e.create(objects(Nodes("node", 4)...)...)
		for i, scheduler := range []string{"default-scheduler", "second-scheduler", "default-scheduler", "second-scheduler"} {
			name := fmt.Sprintf("apart-%d", i)
			e.create(NewPod(name, of(scheduler), labels("app", "web"), apart(v1.LabelHostname, "web")))
			e.bound(name)
		}
		taken := map[string]bool{}
		for _, s := range e.o.Pods(func(s *Seen) bool { return s.Node != "" }) {
			taken[s.Node] = true
		}
		if len(taken) != 4 {
			e.Errorf("four pods that cannot stand each other are on %v", taken)
		}
		const each = 60
		for i := range each {
			e.create(NewPod(fmt.Sprintf("one-%d", i), Requests("cpu", "10m")),
				NewPod(fmt.Sprintf("two-%d", i), Requests("cpu", "10m"), of("second-scheduler")))
		}
		e.await("all are bound", func() bool { return e.o.Bound() == 2*each+4 })
		for i := range each {
			for prefix, want := range map[string]string{"one": "default-scheduler", "two": "second-scheduler"} {
				name := fmt.Sprintf("%s-%d", prefix, i)
				note := fmt.Sprintf("Successfully assigned default/%s to %s", name, e.o.Pod(key(name)).Node)
				if event := e.event(name, "Scheduled", note); event.ReportingController != want {
					e.Errorf("%s was scheduled by %s, want %s", name, event.ReportingController, want)
				}
			}
		}
		e.blameless()
		e.running(second)
	})
}
