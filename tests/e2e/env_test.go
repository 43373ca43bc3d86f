package e2e

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// patience is how long a test waits for an event; events are seen at once, so it only matters for failures. It is longer
// than the pauses that a disk under load imposes on etcd.
const patience = 2 * time.Minute

// env is a cluster, an observer and the scheduler under test, for one test.
type env struct {
	*testing.T
	c     *Cluster
	o     *Observer
	ctx   context.Context
	sched string // the name of the scheduler under test
	argv  []string
	procs []*Proc
}

// One cluster is shared by all tests that leave it intact; it is emptied before each.
var sharedCluster = sync.OnceValues(func() (*Cluster, error) {
	c, err := Start(context.Background(), Options{Audit: true})
	if err != nil {
		return nil, err
	}
	return c, prepare(c)
})

var anyFailed bool

func TestMain(m *testing.M) {
	flag.Parse()
	// The client's warnings about connections that the tests break.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if _, err := PartsDir(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(2)
	}
	name, _, err := UnderTest()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(2)
	}
	fmt.Printf("the scheduler under test is %s\n", name)
	code := m.Run()
	if c, err := sharedCluster(); err == nil {
		finish(c, anyFailed)
	}
	os.Exit(code)
}

func finish(c *Cluster, failed bool) {
	c.Stop()
	if failed || os.Getenv("E2E_KEEP") != "" {
		fmt.Println("data and logs are in", c.Dir)
		return
	}
	c.Remove()
}

// shared gives the test the common cluster, emptied.
func shared(t *testing.T) *env {
	c, err := sharedCluster()
	if err != nil {
		t.Fatal(err)
	}
	// The last request of a killed scheduler may still be in flight, and change the cluster while it is emptied.
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if err = wipe(c); err == nil {
			e := newEnv(t, c)
			e.forget()
			return e
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// Names of started tests: with -count a test runs several times under the same name.
var begun = map[*testing.T]bool{}

// forget removes files of an earlier test with the same name from the cluster's folder, so that its logs are not mistaken for new ones.
func (e *env) forget() {
	if begun[e.T] {
		return
	}
	begun[e.T] = true
	left, _ := filepath.Glob(e.c.path(e.file("*")))
	for _, path := range left {
		os.RemoveAll(path)
	}
}

// private gives the test its own cluster.
func private(t *testing.T, opts Options) *env {
	c, err := Start(context.Background(), opts)
	if err == nil {
		err = prepare(c)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if opts.Audit && !t.Skipped() {
			noneForbidden(t, c)
		}
		finish(c, t.Failed())
	})
	return newEnv(t, c)
}

func newEnv(t *testing.T, c *Cluster) *env {
	ctx, cancel := context.WithCancel(context.Background())
	e := &env{T: t, c: c, ctx: ctx}
	var err error
	e.sched, e.argv, err = UnderTest()
	e.must(err)
	e.o, err = c.Observe(ctx)
	e.must(err)
	t.Cleanup(func() {
		logs := map[string]bool{} // a restarted scheduler appends to the same file
		for _, p := range e.procs {
			p.Kill()
			if t.Failed() && !logs[p.Log] {
				logs[p.Log] = true
				t.Logf("the end of %s:\n%s", p.Log, p.Tail(15))
			}
		}
		e.o.Close()
		cancel()
		anyFailed = anyFailed || t.Failed()
	})
	return e
}

// Priority classes exist in every cluster, so that tests need not create them.
var priorities = map[string]int32{"low": 10, "middle": 100, "high": 1000, "higher": 2000}

func prepare(c *Cluster) error {
	never := v1.PreemptNever
	ctx := context.Background()
	for name, value := range priorities {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if _, err := c.Admin.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "polite"}, Value: 1000, PreemptionPolicy: &never}
	_, err := c.Admin.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
	return err
}

// wipe deletes the objects of tests.
func wipe(c *Cluster) error {
	if err := release(c); err != nil {
		return err
	}
	now := int64(0)
	for _, path := range []string{
		"/api/v1/namespaces/default/pods", "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
		"/api/v1/namespaces/default/persistentvolumeclaims", "/api/v1/persistentvolumes",
		"/apis/storage.k8s.io/v1/storageclasses", "/apis/storage.k8s.io/v1/csinodes", "/apis/storage.k8s.io/v1/csidrivers",
		"/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
		"/apis/resource.k8s.io/v1/deviceclasses", "/apis/resource.k8s.io/v1/resourceslices",
		"/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
		"/api/v1/nodes", "/apis/events.k8s.io/v1/namespaces/default/events",
	} {
		err := c.Admin.CoreV1().RESTClient().Delete().AbsPath(path).Body(&metav1.DeleteOptions{GracePeriodSeconds: &now}).
			Do(context.Background()).Error()
		if err != nil {
			return fmt.Errorf("emptying %s: %w", path, err)
		}
	}
	return nil
}

// release removes what prevents deletion: device allocations of claims, and finalizers.
func release(c *Cluster) error {
	ctx := context.Background()
	claims := c.Admin.ResourceV1().ResourceClaims("default")
	list, err := claims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		claim := &list.Items[i]
		if len(claim.Finalizers) == 0 {
			continue
		}
		claim.Status = resourcev1.ResourceClaimStatus{}
		if claim, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{}); err != nil {
			return err
		}
		claim.Finalizers = nil
		if _, err = claims.Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	volumes := c.Admin.CoreV1().PersistentVolumeClaims("default")
	kept, err := volumes.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, claim := range kept.Items {
		if len(claim.Finalizers) == 0 {
			continue
		}
		none := []byte(`{"metadata":{"finalizers":null}}`)
		if _, err := volumes.Patch(ctx, claim.Name, types.MergePatchType, none, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// sanitized is whether the scheduler under test is built with a sanitizer: it is slow and keeps memory that was freed.
func sanitized() bool { return os.Getenv("E2E_REPORTS") != "" }

// berthOnly skips a test of something that berth does better than the reference.
func (e *env) berthOnly(because string) {
	e.Helper()
	if e.sched == "kube-scheduler" {
		e.Skip(because)
	}
}

// start runs the scheduler under test.
func (e *env) start(flags ...string) *Proc {
	e.Helper()
	return e.startAt("scheduler", e.c.Addr(), flags...)
}

func (e *env) startAt(name, addr string, flags ...string) *Proc {
	e.Helper()
	p, err := e.c.StartScheduler(e.file(name), addr, e.argv, flags...)
	e.must(err)
	e.procs = append(e.procs, p)
	return p
}

// file is the name of a scheduler's files, without their ending.
func (e *env) file(name string) string {
	return strings.NewReplacer("/", "-", " ", "-").Replace(e.Name()) + "-" + name
}

// config writes the configuration of a scheduler and returns the flags that select it. With one, the connection flags
// are ignored, so that it has to repeat them.
func (e *env) config(name, text string) []string {
	e.Helper()
	return []string{"--config", e.write(name+".yaml", e.configText(name, text), 0o644)}
}

// configText is the text of such a file.
func (e *env) configText(name, text string) string {
	return fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 1000, burst: 1000}
leaderElection: {leaderElect: false}
%s`, e.c.path(e.file(name)+".conf"), text)
}

// create adds objects of any kind that the tests use. If the API ignores the status on creation, it is written afterwards.
func (e *env) create(objects ...runtime.Object) {
	e.Helper()
	for _, obj := range objects {
		if err := createOne(e.ctx, e.c, obj); err != nil {
			e.Fatalf("create %T: %v", obj, err)
		}
	}
}

func createOne(ctx context.Context, c *Cluster, obj runtime.Object) (err error) {
	core, storage, opts := c.Admin.CoreV1(), c.Admin.StorageV1(), metav1.CreateOptions{}
	switch obj := obj.(type) {
	case *v1.Node:
		_, err = core.Nodes().Create(ctx, obj, opts)
	case *v1.Pod:
		_, err = core.Pods(obj.Namespace).Create(ctx, obj, opts)
	case *v1.PersistentVolumeClaim:
		status := obj.Status
		if obj, err = core.PersistentVolumeClaims(obj.Namespace).Create(ctx, obj, opts); err == nil && status.Phase != "" {
			obj.Status = status
			_, err = core.PersistentVolumeClaims(obj.Namespace).UpdateStatus(ctx, obj, metav1.UpdateOptions{})
		}
	case *v1.PersistentVolume:
		status := obj.Status
		if obj, err = core.PersistentVolumes().Create(ctx, obj, opts); err == nil && status.Phase != "" {
			obj.Status = status
			_, err = core.PersistentVolumes().UpdateStatus(ctx, obj, metav1.UpdateOptions{})
		}
	case *storagev1.StorageClass:
		_, err = storage.StorageClasses().Create(ctx, obj, opts)
	case *storagev1.CSINode:
		_, err = storage.CSINodes().Create(ctx, obj, opts)
	case *storagev1.CSIDriver:
		_, err = storage.CSIDrivers().Create(ctx, obj, opts)
	case *resourcev1.DeviceClass:
		_, err = c.Admin.ResourceV1().DeviceClasses().Create(ctx, obj, opts)
	case *resourcev1.ResourceClaim:
		_, err = c.Admin.ResourceV1().ResourceClaims(obj.Namespace).Create(ctx, obj, opts)
	case *resourcev1.ResourceSlice:
		_, err = c.Admin.ResourceV1().ResourceSlices().Create(ctx, obj, opts)
	case *policyv1.PodDisruptionBudget:
		status := obj.Status
		if obj, err = c.Admin.PolicyV1().PodDisruptionBudgets(obj.Namespace).Create(ctx, obj, opts); err == nil {
			status.ObservedGeneration = obj.Generation
			obj.Status = status
			_, err = c.Admin.PolicyV1().PodDisruptionBudgets(obj.Namespace).UpdateStatus(ctx, obj, metav1.UpdateOptions{})
		}
	default:
		err = fmt.Errorf("the tests do not know how to create a %T", obj)
	}
	return err
}

// createAll adds many objects, several at a time.
func (e *env) createAll(objects []runtime.Object) {
	e.Helper()
	e.must(CreateAll(e.ctx, objects, func(ctx context.Context, obj runtime.Object) error { return createOne(ctx, e.c, obj) }))
}

// remove deletes a pod without a grace period, as a kubelet does when its containers have ended.
func (e *env) remove(name string) {
	e.Helper()
	now := int64(0)
	e.must(e.c.Admin.CoreV1().Pods("default").Delete(e.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
}

// patch changes an object of the core group.
func (e *env) patch(kind types.PatchType, patch string, path ...string) {
	e.Helper()
	e.must(e.c.Admin.CoreV1().RESTClient().Patch(kind).AbsPath(append([]string{"/api/v1"}, path...)...).Body([]byte(patch)).
		Do(e.ctx).Error())
}

// patchPod and patchNode change an object by a merge patch; sub is a subresource or nothing.
func (e *env) patchPod(name, patch string, sub ...string) {
	e.Helper()
	e.patch(types.MergePatchType, patch, append([]string{"namespaces/default/pods", name}, sub...)...)
}

func (e *env) patchNode(name, patch string, sub ...string) {
	e.Helper()
	e.patch(types.MergePatchType, patch, append([]string{"nodes", name}, sub...)...)
}

// key completes the name of a pod with the default namespace.
func key(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "default/" + name
}

// await fails the test if done does not become true; about names pods to describe in that case.
func (e *env) await(what string, done func() bool, about ...string) {
	e.Helper()
	if err := e.within(patience, done); err != nil {
		var text strings.Builder
		for _, name := range about {
			text.WriteString(e.describe(name))
		}
		e.Fatalf("this did not happen: %s (%v)\n%s", what, err, text.String())
	}
}

// within waits for done; it fails after the limit, or when a scheduler ended by itself.
func (e *env) within(limit time.Duration, done func() bool) error {
	ctx, cancel := context.WithTimeoutCause(e.ctx, limit, fmt.Errorf("%v have passed", limit))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for _, p := range e.procs {
		go func() {
			select {
			case <-ctx.Done():
			case <-p.Done():
				if !p.Stopped() {
					stop(fmt.Errorf("%s ended by itself: %s", p.Name, p.Exit()))
				}
			}
		}()
	}
	if e.o.Await(ctx, done) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// pod waits until the pod satisfies a condition.
func (e *env) pod(name, what string, want func(*v1.Pod) bool) *v1.Pod {
	e.Helper()
	var pod *v1.Pod
	e.await(name+" "+what, func() bool {
		s := e.o.Pod(key(name))
		if s == nil || s.Gone {
			return false
		}
		pod = s.Pod
		return want(pod)
	}, name)
	return pod
}

// bound waits until the pod is bound and returns the node.
func (e *env) bound(name string) string {
	e.Helper()
	return e.pod(name, "is bound", func(p *v1.Pod) bool { return p.Spec.NodeName != "" }).Spec.NodeName
}

// boundTo waits until the pod is bound and fails if it is bound elsewhere.
func (e *env) boundTo(name, node string) {
	e.Helper()
	if got := e.bound(name); got != node {
		e.Errorf("%s was bound to %s, want %s", name, got, node)
	}
}

// gone waits until the pod is deleted.
func (e *env) gone(name string) {
	e.Helper()
	e.await(name+" is gone", func() bool { s := e.o.Pod(key(name)); return s != nil && s.Gone }, name)
}

// refused waits until condition and event have exactly this message. It is for the first rejection of a pod: a second one
// before the pod has changed only increases the count of the first event's series.
func (e *env) refused(name, message string) {
	e.Helper()
	e.waits(name, message)
	note := message
	if len(note) > 1024 {
		note = note[:1020] + " ..."
	}
	e.event(name, "FailedScheduling", note)
}

// waits is the same for the condition alone.
func (e *env) waits(name, message string) {
	e.Helper()
	pod := e.pod(name, "is refused with: "+message, func(p *v1.Pod) bool {
		c := scheduled(p)
		return c != nil && c.Status == v1.ConditionFalse && c.Message == message
	})
	c := scheduled(pod)
	if c.Reason != v1.PodReasonUnschedulable {
		e.Errorf("%s: the condition's reason is %s, want %s", name, c.Reason, v1.PodReasonUnschedulable)
	}
	if c.ObservedGeneration != pod.Generation {
		e.Errorf("%s: the condition is of generation %d, the pod of %d", name, c.ObservedGeneration, pod.Generation)
	}
}

// event waits for an event about a pod and returns it.
func (e *env) event(name, reason, note string) *eventsv1.Event {
	e.Helper()
	var found *eventsv1.Event
	e.await(fmt.Sprintf("%s has the event %s: %s", name, reason, note), func() bool {
		for _, event := range e.o.Events(key(name)) {
			if event.Reason == reason && event.Note == note {
				found = event
				return true
			}
		}
		return false
	}, name)
	return found
}

// scheduled is the condition PodScheduled, or nil.
func scheduled(p *v1.Pod) *v1.PodCondition { return condition(p, v1.PodScheduled) }

func condition(p *v1.Pod, kind v1.PodConditionType) *v1.PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}

// describe prints the known state of a pod, for the report of a failure.
func (e *env) describe(name string) string {
	s := e.o.Pod(key(name))
	if s == nil {
		return name + ": never seen\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: node %q, nominated %q, gone %v\n", name, s.Node, s.Pod.Status.NominatedNodeName, s.Gone)
	for _, c := range s.Pod.Status.Conditions {
		fmt.Fprintf(&b, "  condition %s %s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	for _, event := range e.o.Events(key(name)) {
		fmt.Fprintf(&b, "  event %s %s: %s\n", event.Type, event.Reason, event.Note)
	}
	return b.String()
}

// blameless fails if a pod moved or a node got too much.
func (e *env) blameless() {
	e.Helper()
	for _, wrong := range e.o.Wrongs() {
		e.Errorf("%s: %s", wrong.Kind, wrong.Text)
	}
}

// running fails if a scheduler ended by itself.
func (e *env) running(p *Proc) {
	e.Helper()
	if !p.Alive() {
		e.Errorf("%s ended by itself: %s", p.Name, p.Exit())
	}
}

// The observer works: pods that were put on a node without a scheduler, beyond its capacity, are noticed.
func TestObserverNoticesOvercommitment(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewPod("a", onNode("node-0"), Requests("cpu", "3")), NewPod("b", onNode("node-0"), Requests("cpu", "3")))
	e.bound("a")
	e.bound("b")
	e.await("it is noticed", func() bool { return len(e.o.Wrongs()) > 0 }) // the node's capacity comes through another watch
	if wrongs := e.o.Wrongs(); len(wrongs) != 1 || wrongs[0].Kind != Overcommitted {
		t.Errorf("noticed: %v", wrongs)
	}
}
