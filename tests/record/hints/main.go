// hints records the queueing hints of kube-scheduler's default plugins: it reads pods and events from the given file,
// one JSON object per line, and rewrites the file with the hints.
//
//	go run ./hints ../unit/queue/hints-1.36.jsonl
//	go run -modfile=go-1.37.mod -tags=v1_37 ./hints ../unit/queue/hints-1.37.jsonl
//
// The first line has "objects", the cluster. Each other line has a "pod", the "resource" of an event, and the object
// "before" and "after" it. Its "answers" are one per action of the event, with the plugins that would queue the pod and
// those that would skip it; plugins that have no rule for the event are in neither list.
//
// The pods and events were generated once at random, with a seed that is lost; lines without "answers" can be added.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type answer struct {
	Label string   `json:"label"`
	Queue []string `json:"queue"`
	Skip  []string `json:"skip"`
}

type line struct {
	After    json.RawMessage   `json:"after,omitempty"`
	Answers  []answer          `json:"answers"`
	Before   json.RawMessage   `json:"before,omitempty"`
	Pod      json.RawMessage   `json:"pod"`
	Resource fwk.EventResource `json:"resource"`
}

// hint is a rule of a plugin.
type hint struct {
	plugin   string
	event    fwk.ClusterEvent
	hintsFor fwk.QueueingHintFn
}

func decode(raw json.RawMessage) (runtime.Object, error) {
	if raw == nil {
		return nil, nil
	}
	object, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err == nil {
		legacyscheme.Scheme.Default(object)
	}
	return object, err
}

// rules are those of all plugins of the default profile, and what the scheduler adds to them: a plugin that
// waits for nodes is also called when their taints change.
func rules(ctx context.Context, objects []runtime.Object) ([]hint, error) {
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	recorder := func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	sched, err := scheduler.New(ctx, client, factory, nil, recorder)
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := sched.WaitForHandlersSync(ctx); err != nil {
		return nil, err
	}
	always := func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) { return fwk.Queue, nil }
	var all []hint
	for _, extension := range sched.Profiles[v1.DefaultSchedulerName].EnqueueExtensions() {
		registered, err := extension.EventsToRegister(ctx)
		if err != nil {
			return nil, err
		}
		added, tainted := false, false
		for _, r := range registered {
			hintsFor := r.QueueingHintFn
			if hintsFor == nil {
				hintsFor = always
			}
			added = added || r.Event.Resource == fwk.Node && r.Event.ActionType&fwk.Add != 0
			tainted = tainted || r.Event.Resource == fwk.Node && r.Event.ActionType&fwk.UpdateNodeTaint != 0
			all = append(all, hint{extension.Name(), r.Event, hintsFor})
		}
		if added && !tainted && impliesTaints {
			event := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeTaint}
			all = append(all, hint{extension.Name(), event, always})
		}
	}
	return all, nil
}

// eventsOf are the events that the scheduler derives from the change.
func eventsOf(resource fwk.EventResource, pod *v1.Pod, before, after runtime.Object) []fwk.ClusterEvent {
	assigned := func(object runtime.Object, yes, no fwk.ClusterEvent) []fwk.ClusterEvent {
		if object.(*v1.Pod).Spec.NodeName != "" {
			return []fwk.ClusterEvent{yes}
		}
		return []fwk.ClusterEvent{no}
	}
	switch {
	case resource == fwk.Pod && before == nil:
		return assigned(after, framework.EventAssignedPodAdd, framework.EventUnscheduledPodAdd)
	case resource == fwk.Pod && after == nil:
		return assigned(before, framework.EventAssignedPodDelete, framework.EventUnscheduledPodDelete)
	case resource == fwk.Pod:
		return podChanges(pod, before.(*v1.Pod), after.(*v1.Pod))
	case before == nil:
		return []fwk.ClusterEvent{{Resource: resource, ActionType: fwk.Add}}
	case after == nil:
		return []fwk.ClusterEvent{{Resource: resource, ActionType: fwk.Delete}}
	case resource == fwk.Node:
		return framework.NodeSchedulingPropertiesChange(after.(*v1.Node), before.(*v1.Node))
	}
	return []fwk.ClusterEvent{{Resource: resource, ActionType: fwk.Update}}
}

// hintsFor calls every plugin that has a rule for the event; one rule that would queue the pod is enough.
func hintsFor(all []hint, event fwk.ClusterEvent, pod *v1.Pod, before, after any) (answer, error) {
	a := answer{Label: event.Label(), Queue: []string{}, Skip: []string{}}
	says := map[string]bool{}
	for _, h := range all {
		if !framework.MatchClusterEvents(h.event, event) {
			continue
		}
		result, err := h.hintsFor(klog.Background(), pod, before, after)
		if err != nil {
			result = fwk.Queue // as the queue does
		}
		says[h.plugin] = says[h.plugin] || result == fwk.Queue
	}
	for plugin, queue := range says {
		if queue {
			a.Queue = append(a.Queue, plugin)
		} else {
			a.Skip = append(a.Skip, plugin)
		}
	}
	slices.Sort(a.Queue)
	slices.Sort(a.Skip)
	return a, nil
}

func (l *line) record(all []hint) error {
	pod, err := decode(l.Pod)
	if err != nil {
		return err
	}
	before, err := decode(l.Before)
	if err != nil {
		return err
	}
	after, err := decode(l.After)
	if err != nil {
		return err
	}
	l.Answers = nil
	for _, event := range eventsOf(l.Resource, pod.(*v1.Pod), before, after) {
		a, err := hintsFor(all, event, pod.(*v1.Pod), before, after)
		if err != nil {
			return err
		}
		l.Answers = append(l.Answers, a)
	}
	return nil
}

func record(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var first struct {
		Objects []json.RawMessage `json:"objects"`
	}
	var out bytes.Buffer
	var all []hint
	in := bufio.NewScanner(file)
	for in.Buffer(nil, 1<<24); in.Scan(); {
		if all == nil {
			if err := json.Unmarshal(in.Bytes(), &first); err != nil {
				return err
			}
			var objects []runtime.Object
			for _, raw := range first.Objects {
				object, err := decode(raw)
				if err != nil {
					return err
				}
				objects = append(objects, object)
			}
			if all, err = rules(ctx, objects); err != nil {
				return err
			}
			fmt.Fprintf(&out, "%s\n", in.Bytes())
			continue
		}
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return err
		}
		if err := l.record(all); err != nil {
			return err
		}
		text, err := json.Marshal(l)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s\n", text)
	}
	if err := in.Err(); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: hints FILE")
		os.Exit(2)
	}
	if err := record(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
