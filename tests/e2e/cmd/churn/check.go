package main

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"berth.example/e2e"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// follower checks the events of an informer: each object is added once, its versions follow each other, and it is
// deleted once.
type follower struct {
	kind     string
	informer cache.SharedIndexInformer
	list     func(ctx context.Context) (runtime.Object, error)
	ledger   *ledger

	mu     sync.Mutex
	known  map[string]string // resourceVersions by key
	events int64
	wrong  error
}

func (f *follower) see(what string, obj any, before func(version string, known bool, object metav1.Object) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	object, err := meta.Accessor(obj)
	if err != nil {
		f.wrong = err
		return
	}
	key := object.GetNamespace() + "/" + object.GetName()
	version, known := f.known[key]
	if !before(version, known, object) && f.wrong == nil {
		f.wrong = fmt.Errorf("an informer of %s: %s of %s at %s, of which it knew %q", f.kind, what, key, object.GetResourceVersion(), version)
	}
	f.events++
	if what == "deletion" {
		delete(f.known, key)
	} else {
		f.known[key] = object.GetResourceVersion()
	}
}

func (f *follower) follow() error {
	_, err := f.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			f.see("addition", obj, func(_ string, known bool, _ metav1.Object) bool { return !known })
		},
		// A new list repeats what has not changed, with the same version before and after.
		UpdateFunc: func(before, after any) {
			was, _ := meta.Accessor(before)
			f.see("update", after, func(version string, known bool, _ metav1.Object) bool {
				return known && was != nil && was.GetResourceVersion() == version
			})
		},
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			f.see("deletion", obj, func(_ string, known bool, _ metav1.Object) bool { return known })
		},
	})
	return err
}

// agrees compares the informer's store, its events and the ledger with a fresh list.
func (f *follower) agrees(ctx context.Context) (runtime.Object, error) {
	list, err := f.list(ctx)
	if err != nil {
		return nil, err
	}
	want, err := versionsOf(list)
	if err != nil {
		return nil, err
	}
	stored := map[string]string{}
	for _, obj := range f.informer.GetStore().List() {
		object, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		stored[object.GetNamespace()+"/"+object.GetName()] = object.GetResourceVersion()
	}
	if err := compare("the informer of "+f.kind, stored, want); err != nil {
		return nil, err
	}
	f.mu.Lock()
	known, wrong := maps.Clone(f.known), f.wrong
	f.mu.Unlock()
	if wrong != nil {
		return nil, wrong
	}
	if err := compare("the handler of "+f.kind, known, want); err != nil {
		return nil, err
	}
	return list, f.ledger.knows(list)
}

type checker struct {
	s         settings
	cluster   *e2e.Embedded
	api       kubernetes.Interface
	began     time.Time
	followers []*follower
	cuts      atomic.Int64
	memory    []float64 // MiB at each comparison
	lastCPU   time.Duration
}

func (c *checker) watch(ctx context.Context, through *rest.Config) error {
	api, err := kubernetes.NewForConfig(through)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(api, 0)
	core, apps := api.CoreV1(), api.AppsV1()
	configMaps := factory.Core().V1().ConfigMaps()
	c.followers = []*follower{
		{kind: "config maps", informer: configMaps.Informer(),
			list: func(ctx context.Context) (runtime.Object, error) {
				return c.api.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{})
			},
			ledger: newLedger("config maps", core.ConfigMaps("").Watch)},
		{kind: "pods", informer: factory.Core().V1().Pods().Informer(),
			list: func(ctx context.Context) (runtime.Object, error) {
				return c.api.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
			},
			ledger: newLedger("pods", core.Pods("").Watch)},
		{kind: "deployments", informer: factory.Apps().V1().Deployments().Informer(),
			list: func(ctx context.Context) (runtime.Object, error) {
				return c.api.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
			},
			ledger: newLedger("deployments", apps.Deployments("").Watch)},
	}
	if err := startController(ctx, api, configMaps.Informer(), configMaps.Lister()); err != nil {
		return err
	}
	for _, f := range c.followers {
		f.known = map[string]string{}
		if err := f.follow(); err != nil {
			return err
		}
		list, err := f.list(ctx)
		if err != nil {
			return err
		}
		if f.ledger.objects, err = versionsOf(list); err != nil {
			return err
		}
		all, err := meta.ListAccessor(list)
		if err != nil {
			return err
		}
		go f.ledger.run(ctx, all.GetResourceVersion())
	}
	factory.Start(ctx.Done())
	return nil
}

// acknowledgedSeen compares the writes that were acknowledged with the ledger's events.
func (c *checker) acknowledgedSeen(versions map[string]bool, deleted map[string]bool, l *ledger) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for version := range versions {
		if l.versions[version] != 1 {
			return fmt.Errorf("config maps: the write with revision %s was acknowledged and seen %d times", version, l.versions[version])
		}
	}
	gone := map[string]int{}
	for uid, times := range l.deleted {
		gone[string(uid)] = times
	}
	for uid := range deleted {
		if gone[uid] != 1 {
			return fmt.Errorf("config maps: the deletion of %s was acknowledged and seen %d times", uid, gone[uid])
		}
	}
	return nil
}

// converged reports what the controllers have still to do: ours, and those in the process.
func converged(maps_ *v1.ConfigMapList, pods *v1.PodList, api kubernetes.Interface, ctx context.Context) error {
	byName := map[string]*v1.ConfigMap{}
	for i := range maps_.Items {
		byName[maps_.Items[i].Name] = &maps_.Items[i]
	}
	for name, m := range byName {
		if m.Labels[sourceLabel] != "" {
			made := byName[name+copySuffix]
			if made == nil || !maps.Equal(made.Data, m.Data) {
				return fmt.Errorf("the controller has no copy of %s yet", name)
			}
		} else if m.Labels[copyLabel] != "" {
			source := byName[name[:len(name)-len(copySuffix)]]
			if source == nil || source.UID != m.OwnerReferences[0].UID {
				return fmt.Errorf("%s is still there without its owner", name)
			}
		}
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase != v1.PodRunning || pod.DeletionTimestamp != nil {
			return fmt.Errorf("pod %s is not running yet, or terminates", pod.Name)
		}
	}
	deployments, err := api.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, d := range deployments.Items {
		status := d.Status
		if status.ObservedGeneration != d.Generation || status.ReadyReplicas != *d.Spec.Replicas || status.UpdatedReplicas != *d.Spec.Replicas ||
			status.Replicas != *d.Spec.Replicas || d.DeletionTimestamp != nil {
			return fmt.Errorf("deployment %s is not done", d.Name)
		}
	}
	return nil
}

func (c *checker) agree(ctx context.Context) error {
	lists := map[string]runtime.Object{}
	for _, f := range c.followers {
		list, err := f.agrees(ctx)
		if err != nil {
			return err
		}
		lists[f.kind] = list
	}
	return converged(lists["config maps"].(*v1.ConfigMapList), lists["pods"].(*v1.PodList), c.api, ctx)
}

// compare waits until everything agrees. Nothing is written meanwhile, except by controllers.
func (c *checker) compare(ctx context.Context, w *writers) error {
	paused := time.Now()
	for {
		err := c.agree(ctx)
		if err == nil {
			break
		}
		for _, f := range c.followers {
			f.mu.Lock()
			wrong := f.wrong
			f.mu.Unlock()
			f.ledger.mu.Lock()
			if wrong == nil {
				wrong = f.ledger.wrong
			}
			f.ledger.mu.Unlock()
			if wrong != nil {
				return wrong
			}
		}
		if !c.cluster.Alive() {
			return fmt.Errorf("berth cluster ended: %s\n%s", c.cluster.Exit(), c.cluster.Tail(20))
		}
		if ctx.Err() != nil || time.Since(paused) > c.s.patience {
			return fmt.Errorf("after %v: %w", time.Since(paused).Round(time.Second), err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	versions, deleted := w.acks.take()
	uids := map[string]bool{}
	for uid := range deleted {
		uids[string(uid)] = true
	}
	if err := c.acknowledgedSeen(versions, uids, c.followers[0].ledger); err != nil {
		return err
	}
	c.print(w, len(versions)+len(uids), time.Since(paused))
	return nil
}

const (
	head = "%9s %9s %9s %7s %7s %9s %9s %8s %9s %6s\n"
	row  = "%9v %9d %9d %7d %7d %9d %9d %8.1f %9.1f %6.0f\n"
)

func (c *checker) printHead() {
	fmt.Printf(head, "time", "writes", "events", "cuts", "resumed", "informed", "ack seen", "agree s", "MiB", "CPU %")
}

func (c *checker) print(w *writers, seen int, agreed time.Duration) {
	var events, resumed, informed int64
	for _, f := range c.followers {
		f.mu.Lock()
		informed += f.events
		f.mu.Unlock()
		f.ledger.mu.Lock()
		events, resumed = events+f.ledger.events, resumed+f.ledger.resumed
		f.ledger.forget()
		f.ledger.mu.Unlock()
	}
	usage := c.cluster.Usage()
	c.memory = append(c.memory, usage.MiB)
	cpu := usage.CPU - c.lastCPU
	c.lastCPU = usage.CPU
	fmt.Printf(row, time.Since(c.began).Round(time.Second), w.writes.Load(), events, c.cuts.Load(), resumed, informed, seen,
		agreed.Seconds(), usage.MiB, 100*cpu.Seconds()/(c.s.interval+agreed).Seconds())
}

// judge compares the memory at the end with that after a third of the time, when the history is full.
func (c *checker) judge() error {
	n := len(c.memory)
	if n < 6 {
		fmt.Println("too few comparisons to say something about memory")
		return nil
	}
	early, late := c.memory[n/3], c.memory[n-1]
	fmt.Printf("memory of berth: %.1f MiB after a third, %.1f MiB at the end\n", early, late)
	if late > 1.25*early+16 {
		return fmt.Errorf("memory grows")
	}
	return nil
}
