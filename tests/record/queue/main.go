// queue records kube-scheduler's scheduling queue: it reads calls from the given file, one JSON object per line, and
// rewrites the file with the place of every pod after each call.
//
//	go run ./queue ../unit/queue/trace.jsonl
//	go run -modfile=go-1.37.mod -tags=v1_37 ./queue ../unit/queue/trace.jsonl
//	go run ./queue -gates SchedulerPopFromBackoffQ=false ../unit/queue/trace_unpopped.jsonl
//
// Calls that make no sense become ticks: the calls of one file can be recorded with other gates.
//
// A line with "start" begins a run with an empty queue, at that time in milliseconds. Each other line has the "op", the
// time "at" which it happens, and its arguments. Its "want" has for each pod its queue, its attempts, its rejections
// and its consecutive errors ("B3.2.0"), and "F" for a pod in flight ("p1*"); "events" counts the events that the queue
// keeps for pods in flight. tests/unit/queue/plugins.h describes the plugins.
package main

import (
	"bufio"
	"bytes"
	"container/list"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	clock "k8s.io/utils/clock/testing"
)

type call struct {
	Start    int64             `json:"start,omitempty"`
	Op       string            `json:"op,omitempty"`
	At       int64             `json:"at,omitempty"`
	Pod      string            `json:"pod,omitempty"`
	Priority *int32            `json:"priority,omitempty"`
	App      string            `json:"app,omitempty"`
	Closed   bool              `json:"closed,omitempty"`
	Tolerate bool              `json:"tolerate,omitempty"`
	By       string            `json:"by,omitempty"`
	Want     map[string]string `json:"want"`
	Events   int               `json:"events,omitempty"`
}

// ---- plugins ----

type gate struct{}

func (gate) Name() string { return "Gate" }

func (gate) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if pod.Labels["gate"] == "closed" {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "the gate is closed")
	}
	return nil
}

func hintIf(holds func(pod *v1.Pod, object metav1.Object) bool) fwk.QueueingHintFn {
	return func(_ klog.Logger, pod *v1.Pod, _, after any) (fwk.QueueingHint, error) {
		if holds(pod, after.(metav1.Object)) {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil
	}
}

var (
	always  = func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) { return fwk.Queue, nil }
	sameApp = hintIf(func(pod *v1.Pod, object metav1.Object) bool { return pod.Labels["app"] == object.GetLabels()["app"] })
	own     = hintIf(func(pod *v1.Pod, object metav1.Object) bool { return pod.UID == object.GetUID() })
)

var rules = []struct {
	plugin   string
	resource fwk.EventResource
	actions  fwk.ActionType
	hint     fwk.QueueingHintFn
}{
	{"Alpha", fwk.Node, fwk.Add | fwk.UpdateNodeLabel, sameApp},
	{"Alpha", fwk.Node, fwk.UpdateNodeTaint, always}, // kube-scheduler adds it to rules for new nodes
	{"Alpha", fwk.Pod, fwk.UpdatePodLabel, own},
	{"Beta", fwk.Pod, fwk.Delete, always},
	{"Beta", fwk.Pod, fwk.UpdatePodToleration, own},
	{"Gamma", fwk.Pod, fwk.Add, sameApp},
	{"Gamma", fwk.Node, fwk.Delete, always},
	{"Gate", fwk.Pod, fwk.UpdatePodLabel, own},
	{"Gate", fwk.Node, fwk.UpdateNodeTaint, always},
}

func hints() queue.QueueingHintMap {
	all := queue.QueueingHintMap{}
	for _, r := range rules {
		event := fwk.ClusterEvent{Resource: r.resource, ActionType: r.actions}
		all[event] = append(all[event], &queue.QueueingHintFunction{PluginName: r.plugin, QueueingHintFn: r.hint})
	}
	return all
}

// ---- a run ----

type run struct {
	ctx      context.Context
	logger   klog.Logger
	queue    *queue.PriorityQueue
	clock    *clock.FakeClock
	pods     map[string]*v1.Pod                  // that the queue knows
	inFlight map[string]*framework.QueuedPodInfo // by name
	uids     int
	flush    time.Time // of backoffs, the next one
}

// popsBackoff says whether pods that back off are popped when no other is left.
func popsBackoff() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.SchedulerPopFromBackoffQ)
}

func at(ms int64) time.Time { return time.UnixMilli(ms) }

func newRun(ctx context.Context, startMs int64, uids int) *run {
	r := &run{ctx: ctx, logger: klog.FromContext(ctx), clock: clock.NewFakeClock(at(startMs)),
		pods: map[string]*v1.Pod{}, inFlight: map[string]*framework.QueuedPodInfo{}, uids: uids,
		flush: at(startMs).Add(time.Second)}
	r.queue = queue.NewTestQueue(ctx, (&queuesort.PrioritySort{}).Less, queue.WithClock(r.clock),
		queue.WithQueueingHintMapPerProfile(queue.QueueingHintMapPerProfile{v1.DefaultSchedulerName: hints()}),
		queue.WithPreEnqueuePluginMap(map[string]map[string]fwk.PreEnqueuePlugin{v1.DefaultSchedulerName: {"Gate": gate{}}}))
	return r
}

func (r *run) pod(c *call, name string, uid types.UID, priority int32) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: uid, Labels: map[string]string{"app": c.App}},
		Spec:       v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Priority: &priority},
	}
	if c.Closed {
		pod.Labels["gate"] = "closed"
	}
	if c.Tolerate {
		pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	}
	return pod
}

func (r *run) add(c *call) {
	r.uids++
	r.pods[c.Pod] = r.pod(c, c.Pod, types.UID(fmt.Sprintf("u%d", r.uids)), *c.Priority)
	r.queue.Add(r.ctx, r.pods[c.Pod])
}

func (r *run) update(c *call) {
	before := r.pods[c.Pod]
	r.pods[c.Pod] = r.pod(c, c.Pod, before.UID, *before.Spec.Priority)
	r.queue.Update(r.ctx, before, r.pods[c.Pod])
}

func (r *run) delete(c *call) {
	r.deletePod(r.pods[c.Pod])
	delete(r.pods, c.Pod)
}

// Pop blocks if there is no pod to pop.
func (r *run) pop(c *call) error {
	c.Pod = ""
	if len(r.queue.PodsInActiveQ()) == 0 && (!popsBackoff() || r.backoff(backoffQueue) == 0) {
		return nil
	}
	entry, err := r.popPod()
	if err == nil {
		c.Pod = entry.Pod.Name
		r.inFlight[c.Pod] = entry
	}
	return err
}

// requeue does what the scheduler does after a failed attempt.
func (r *run) requeue(c *call) error {
	entry := r.inFlight[c.Pod]
	delete(r.inFlight, c.Pod)
	if pod := r.pods[c.Pod]; pod != nil {
		if err := update(entry, pod); err != nil {
			return err
		}
	}
	entry.UnschedulablePlugins, entry.PendingPlugins = sets.New[string](), sets.New[string]()
	for _, letter := range c.By {
		switch letter {
		case 'A':
			entry.UnschedulablePlugins.Insert("Alpha")
		case 'B':
			entry.UnschedulablePlugins.Insert("Beta")
		default:
			entry.PendingPlugins.Insert("Gamma")
		}
	}
	return r.giveBack(entry)
}

func (r *run) done(c *call) {
	r.queue.Done(r.inFlight[c.Pod].Pod.UID)
	delete(r.inFlight, c.Pod)
	if r.pods[c.Pod] != nil {
		r.delete(c)
	}
}

var events = map[string]fwk.ClusterEvent{
	"node add":       {Resource: fwk.Node, ActionType: fwk.Add},
	"node label":     {Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel},
	"node taint":     {Resource: fwk.Node, ActionType: fwk.UpdateNodeTaint},
	"node delete":    {Resource: fwk.Node, ActionType: fwk.Delete},
	"node condition": {Resource: fwk.Node, ActionType: fwk.UpdateNodeCondition},
	"pod delete":     framework.EventAssignedPodDelete,
	"pod add":        framework.EventAssignedPodAdd,
}

func (r *run) event(c *call, event fwk.ClusterEvent) {
	var object metav1.Object = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"app": c.App}}}
	if event.Resource != fwk.Node {
		pod := r.pod(c, "other", "other", 0)
		pod.Spec.NodeName = "n"
		object = pod
	}
	var before, after any = object, object
	if event.ActionType == fwk.Add {
		before = nil
	}
	if event.ActionType == fwk.Delete {
		after = nil
	}
	var only queue.PreEnqueueCheck
	if c.Priority != nil {
		only = func(pod *v1.Pod) bool { return *pod.Spec.Priority <= *c.Priority }
	}
	r.queue.MoveAllToActiveOrBackoffQueue(r.logger, event, before, after, only)
}

// flushUntil ends backoffs as the queue's own timer does: with each second from the start of the queue on, if it does not
// pop from there; else with each full second, which a look at any other time does not change.
func (r *run) flushUntil(now time.Time) {
	for ; !popsBackoff() && !r.flush.After(now); r.flush = r.flush.Add(time.Second) {
		r.clock.SetTime(r.flush)
		flushBackoff(r.queue, r.logger)
	}
	r.clock.SetTime(now)
	if popsBackoff() {
		flushBackoff(r.queue, r.logger)
	}
}

// makesSense says whether the call fits what the queue holds.
func (r *run) makesSense(c *call) bool {
	switch c.Op {
	case "add":
		return r.pods[c.Pod] == nil && r.inFlight[c.Pod] == nil
	case "update", "delete", "activate":
		return r.pods[c.Pod] != nil
	case "requeue", "done":
		return r.inFlight[c.Pod] != nil
	}
	return true
}

func (r *run) do(c *call) error {
	if !r.makesSense(c) {
		*c = call{Op: "tick", At: c.At}
	}
	r.flushUntil(at(c.At))
	flushOld(r.queue, r.logger)
	switch c.Op {
	case "tick":
	case "add":
		r.add(c)
	case "update":
		r.update(c)
	case "delete":
		r.delete(c)
	case "pop":
		return r.pop(c)
	case "requeue":
		return r.requeue(c)
	case "done":
		r.done(c)
	case "activate":
		r.queue.Activate(r.logger, map[string]*v1.Pod{c.Pod: r.pods[c.Pod]})
	default:
		event, known := events[c.Op]
		if !known {
			return fmt.Errorf("op %q is not known", c.Op)
		}
		r.event(c, event)
	}
	return nil
}

// ---- unexported parts of the queue ----

//go:linkname flushBackoff k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushBackoffQCompleted
func flushBackoff(q *queue.PriorityQueue, logger klog.Logger)

// field follows pointers and interfaces to a field of the queue.
func (r *run) field(names ...string) reflect.Value {
	at := reflect.ValueOf(r.queue)
	for _, name := range names {
		for at.Kind() == reflect.Pointer || at.Kind() == reflect.Interface {
			at = at.Elem()
		}
		at = at.FieldByName(name)
	}
	return at
}

// backoff is the number of pods in one of the two backoff queues.
func (r *run) backoff(which string) int {
	return r.field("backoffQ", which, "data", "queue").Len()
}

// eventsInFlight is the number of entries of the list that are not pods.
func (r *run) eventsInFlight() int {
	all := (*list.List)(unsafe.Pointer(r.field("activeQ", "inFlightEvents").Pointer()))
	count := 0
	for e := all.Front(); e != nil; e = e.Next() {
		if _, isPod := e.Value.(*v1.Pod); !isPod {
			count++
		}
	}
	return count
}

// ---- places ----

func (r *run) describe(want map[string]string, letter func(*framework.QueuedPodInfo) string, pods []*v1.Pod) {
	for _, pod := range pods {
		entry, ok := r.find(pod)
		if ok {
			want[pod.Name] = fmt.Sprintf("%s%d.%d.%d", letter(entry), entry.Attempts, entry.UnschedulableCount,
				entry.ConsecutiveErrorsCount)
		}
	}
}

func (r *run) places() map[string]string {
	want := map[string]string{}
	r.describe(want, func(*framework.QueuedPodInfo) string { return "A" }, r.queue.PodsInActiveQ())
	r.describe(want, func(entry *framework.QueuedPodInfo) string {
		if entry.UnschedulablePlugins.Len()+entry.PendingPlugins.Len() == 0 {
			return "E"
		}
		return "B"
	}, r.queue.PodsInBackoffQ())
	r.describe(want, func(entry *framework.QueuedPodInfo) string {
		if entry.Gated() {
			return "G"
		}
		return "U"
	}, r.queue.UnschedulablePods())
	for _, name := range slices.Sorted(maps.Keys(r.inFlight)) {
		want[name+"*"] = "F"
	}
	return want
}

func record(ctx context.Context, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var out bytes.Buffer
	var r *run
	in := bufio.NewScanner(file)
	for number := 1; in.Scan(); number++ {
		var c call
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
		if c.Start != 0 {
			r = newRun(ctx, c.Start, 0)
			fmt.Fprintf(&out, "%s\n", in.Bytes())
			continue
		}
		if err := r.do(&c); err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
		c.Want = r.places()
		c.Events = r.eventsInFlight()
		text, err := json.Marshal(c)
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
	gates := flag.String("gates", "", "feature gates, as for kube-scheduler")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: queue [-gates GATE=false] FILE")
		os.Exit(2)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := utilfeature.DefaultMutableFeatureGate.Set(*gates)
	metrics.Register()
	if err == nil {
		err = record(ctx, flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
