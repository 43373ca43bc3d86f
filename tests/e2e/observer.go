package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Observer follows pods, nodes and events through its own watches and records what happened to each pod.
// Violations are noted as they happen: a pod that moves, a node that is overcommitted.
type Observer struct {
	c      *Cluster
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and replaced with each change
	pods    map[types.UID]*Seen
	names   map[string]types.UID       // the newest pod of a name
	most    map[string]v1.ResourceList // the largest allocatable amounts of a node so far
	used    map[string]v1.ResourceList // what its pods use
	events  map[types.UID]*eventsv1.Event
	moves   []Wrong
	peaks   []peak
	bound   int
}

// Seen is the known state of a pod.
type Seen struct {
	Pod     *v1.Pod
	Node    string    // where it was bound, "" as long as it is not
	BoundAt time.Time // when the binding was seen here
	Gone    bool
	// The last version with a nomination, which may be short-lived.
	Promised *v1.Pod
	held     v1.ResourceList // what it was last counted with on its node
}

// Wrong is a violation by a scheduler.
type Wrong struct{ Kind, Text string }

// The kinds of wrongs.
const (
	Moved         = "pod moved"
	Overcommitted = "node overcommitted"
)

// peak is a use of a node that may exceed its capacity. Nodes and pods come through different watches, so the capacity is
// only looked up in Wrongs().
type peak struct {
	node     string
	resource v1.ResourceName
	used     resource.Quantity
	pod      string // the last pod
}

// Observe starts the watches; it returns once all existing objects are known.
func (c *Cluster) Observe(ctx context.Context) (*Observer, error) {
	ctx, cancel := context.WithCancel(ctx)
	o := &Observer{c: c, cancel: cancel, changed: make(chan struct{}), pods: map[types.UID]*Seen{},
		names: map[string]types.UID{}, most: map[string]v1.ResourceList{}, used: map[string]v1.ResourceList{},
		events: map[types.UID]*eventsv1.Event{}}
	core, events := c.Admin.CoreV1(), c.Admin.EventsV1()
	feeds := []*feed{
		{list: func(l metav1.ListOptions) (runtime.Object, error) { return core.Nodes().List(ctx, l) },
			watch: func(l metav1.ListOptions) (watch.Interface, error) { return core.Nodes().Watch(ctx, l) }},
		{list: func(l metav1.ListOptions) (runtime.Object, error) { return core.Pods("").List(ctx, l) },
			watch: func(l metav1.ListOptions) (watch.Interface, error) { return core.Pods("").Watch(ctx, l) }},
		{list: func(l metav1.ListOptions) (runtime.Object, error) { return events.Events("").List(ctx, l) },
			watch: func(l metav1.ListOptions) (watch.Interface, error) { return events.Events("").Watch(ctx, l) }},
	}
	for _, f := range feeds {
		f.known, f.apply = map[types.UID]runtime.Object{}, o.apply
		if err := f.sync(); err != nil {
			cancel()
			return nil, err
		}
	}
	for _, f := range feeds {
		o.done.Go(func() { f.run(ctx) })
	}
	return o, nil
}

// Close ends the watches.
func (o *Observer) Close() {
	o.cancel()
	o.done.Wait()
}

// feed turns a list and watches into one stream of changes, which continues when the API server is back.
type feed struct {
	list  func(metav1.ListOptions) (runtime.Object, error)
	watch func(metav1.ListOptions) (watch.Interface, error)
	apply func(obj runtime.Object, gone bool)

	version string
	known   map[types.UID]runtime.Object
}

// sync lists everything, and reports deletions since the last list.
func (f *feed) sync() error {
	list, err := f.list(metav1.ListOptions{})
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	before := f.known
	f.known = map[types.UID]runtime.Object{}
	for _, obj := range items {
		uid := obj.(metav1.Object).GetUID()
		delete(before, uid)
		f.known[uid] = obj
	}
	for _, obj := range before {
		f.apply(obj, true)
	}
	for _, obj := range items {
		f.apply(obj, false)
	}
	f.version = list.(metav1.ListInterface).GetResourceVersion()
	return nil
}

func (f *feed) run(ctx context.Context) {
	for ctx.Err() == nil {
		w, err := f.watch(metav1.ListOptions{ResourceVersion: f.version, AllowWatchBookmarks: true})
		if err == nil {
			err = f.drain(w)
		}
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			err = f.sync()
		}
		if err != nil && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// drain reads a watch to its end.
func (f *feed) drain(w watch.Interface) error {
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		obj := event.Object.(metav1.Object)
		f.version = obj.GetResourceVersion()
		switch event.Type {
		case watch.Added, watch.Modified:
			f.known[obj.GetUID()] = event.Object
			f.apply(event.Object, false)
		case watch.Deleted:
			delete(f.known, obj.GetUID())
			f.apply(event.Object, true)
		}
	}
	return nil
}

func (o *Observer) apply(obj runtime.Object, gone bool) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch obj := obj.(type) {
	case *v1.Pod:
		o.pod(obj, gone, now)
	case *v1.Node:
		o.node(obj)
	case *eventsv1.Event:
		if !gone {
			o.events[obj.UID] = obj
		}
	}
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *Observer) node(node *v1.Node) {
	most := o.most[node.Name]
	if most == nil {
		most = v1.ResourceList{}
		o.most[node.Name] = most
	}
	for name, has := range node.Status.Allocatable {
		if before, ok := most[name]; !ok || has.Cmp(before) > 0 {
			most[name] = has
		}
	}
}

func (o *Observer) pod(pod *v1.Pod, gone bool, now time.Time) {
	s := o.pods[pod.UID]
	if s == nil {
		s = &Seen{}
		o.pods[pod.UID] = s
	}
	s.Pod, s.Gone = pod, gone
	if pod.Status.NominatedNodeName != "" {
		s.Promised = pod
	}
	o.names[pod.Namespace+"/"+pod.Name] = pod.UID
	if node := pod.Spec.NodeName; node != s.Node {
		if s.Node != "" {
			o.moves = append(o.moves, Wrong{Moved, fmt.Sprintf("%s/%s from %s to %q", pod.Namespace, pod.Name, s.Node, node)})
		} else {
			s.BoundAt = now
			o.bound++
		}
		s.Node = node
	}
	o.count(s)
}

// count updates the use of the pod's node.
func (o *Observer) count(s *Seen) {
	var holds v1.ResourceList
	if s.Node != "" && !s.Gone && s.Pod.Status.Phase != v1.PodSucceeded && s.Pod.Status.Phase != v1.PodFailed {
		holds = requests(s.Pod)
	}
	if s.Node == "" || equality.Semantic.DeepEqual(holds, s.held) {
		return
	}
	used := o.used[s.Node]
	if used == nil {
		used = v1.ResourceList{}
		o.used[s.Node] = used
	}
	for name, amount := range s.held {
		sum := used[name]
		sum.Sub(amount)
		used[name] = sum
	}
	s.held = holds
	for name, amount := range holds {
		sum := used[name]
		sum.Add(amount)
		used[name] = sum
		if has, ok := o.most[s.Node][name]; !ok || sum.Cmp(has) > 0 {
			o.peaks = append(o.peaks, peak{s.Node, name, sum, s.Pod.Namespace + "/" + s.Pod.Name})
		}
	}
}

// Wrongs are the violations so far.
func (o *Observer) Wrongs() []Wrong {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := slices.Clone(o.moves)
	for _, p := range o.peaks {
		if has, ok := o.most[p.node][p.resource]; ok && p.used.Cmp(has) > 0 {
			all = append(all, Wrong{Overcommitted, fmt.Sprintf("%s: %s of %s %s with %s", p.node, p.used.String(), has.String(), p.resource, p.pod)})
		}
	}
	return all
}

// Bound is the number of pods that were bound so far.
func (o *Observer) Bound() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bound
}

// Pod is the newest pod of a name ("namespace/name"), or nil.
func (o *Observer) Pod(key string) *Seen {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.find(key)
}

func (o *Observer) find(key string) *Seen {
	if s := o.pods[o.names[key]]; s != nil {
		copied := *s
		return &copied
	}
	return nil
}

// Pods is every observed pod that keep selects.
func (o *Observer) Pods(keep func(*Seen) bool) []Seen {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []Seen
	for _, s := range o.pods {
		if keep(s) {
			all = append(all, *s)
		}
	}
	return all
}

// Events is every event about the newest pod of a name, oldest first. An event of a killed scheduler may arrive
// when the next test has begun, with a pod of the same name.
func (o *Observer) Events(key string) []*eventsv1.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []*eventsv1.Event
	for _, e := range o.events {
		if e.Regarding.Kind == "Pod" && e.Regarding.Namespace+"/"+e.Regarding.Name == key && e.Regarding.UID == o.names[key] {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	return all
}

// Await returns nil as soon as done returns true; it checks after each change.
func (o *Observer) Await(ctx context.Context, done func() bool) error {
	for {
		o.mu.Lock()
		changed := o.changed
		o.mu.Unlock()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
