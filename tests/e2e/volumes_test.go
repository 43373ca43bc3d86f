package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const selectedNode = "volume.kubernetes.io/selected-node"

// storage acts as the volume controller and a provisioner for the scheduler's claims and volumes.
type storage struct {
	e       *env
	refuse  int           // the number of failures before provisioning succeeds
	wait    chan struct{} // provisioning waits until this is closed; nil: it does not
	mu      sync.Mutex
	boundAt map[string]time.Time // by claim
	asked   map[string]string    // the nodes that the scheduler selected, by claim
}

// play starts the part; it ends with the test.
func (e *env) play(s *storage) *storage {
	e.Helper()
	s.e, s.boundAt, s.asked = e, map[string]time.Time{}, map[string]string{}
	ctx, cancel := context.WithCancel(e.ctx)
	var done sync.WaitGroup
	core := e.c.Admin.CoreV1()
	feeds := []*feed{
		{list: func(l metav1.ListOptions) (runtime.Object, error) {
			return core.PersistentVolumeClaims("").List(ctx, l)
		},
			watch: func(l metav1.ListOptions) (watch.Interface, error) {
				return core.PersistentVolumeClaims("").Watch(ctx, l)
			}},
		{list: func(l metav1.ListOptions) (runtime.Object, error) { return core.PersistentVolumes().List(ctx, l) },
			watch: func(l metav1.ListOptions) (watch.Interface, error) { return core.PersistentVolumes().Watch(ctx, l) }},
	}
	for _, f := range feeds {
		f.known, f.apply = map[types.UID]runtime.Object{}, func(obj runtime.Object, gone bool) {
			if !gone {
				s.see(ctx, obj)
			}
		}
		e.must(f.sync())
		done.Go(func() { f.run(ctx) })
	}
	e.Cleanup(func() { cancel(); done.Wait() })
	return s
}

// see handles an object, with retries.
func (s *storage) see(ctx context.Context, obj runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for end := time.Now().Add(2 * patience); ctx.Err() == nil && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = s.act(ctx, obj); err == nil || apierrors.IsNotFound(err) {
			return
		}
	}
	if ctx.Err() == nil {
		s.e.Errorf("the storage's part: %v", err)
	}
}

func (s *storage) act(ctx context.Context, obj runtime.Object) error {
	switch obj := obj.(type) {
	case *v1.PersistentVolumeClaim:
		if node := obj.Annotations[selectedNode]; node != "" && obj.Spec.VolumeName == "" {
			return s.provision(ctx, obj, node)
		}
	case *v1.PersistentVolume:
		// The scheduler chose an existing volume: the controller does the rest.
		if ref := obj.Spec.ClaimRef; ref != nil && obj.Status.Phase == v1.VolumeAvailable {
			return s.bind(ctx, ref.Name, obj.Name)
		}
	}
	return nil
}

// provision makes a volume that only the selected node can use, or clears the selected node.
func (s *storage) provision(ctx context.Context, pvc *v1.PersistentVolumeClaim, node string) error {
	if s.asked[pvc.Name] = node; s.refuse > 0 {
		_, err := s.e.c.Admin.CoreV1().PersistentVolumeClaims(pvc.Namespace).Patch(ctx, pvc.Name, types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"`+selectedNode+`":null}}}`), metav1.PatchOptions{})
		if err == nil {
			s.refuse--
		}
		return err
	}
	if s.wait != nil {
		s.mu.Unlock()
		select {
		case <-s.wait:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
	pv := newVolume("made-"+pvc.Name, *pvc.Spec.StorageClassName, pvc.Name, volumeOn(v1.LabelHostname, node))
	pv.Spec.ClaimRef.UID = pvc.UID
	if err := createOne(ctx, s.e.c, pv); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return s.bind(ctx, pvc.Name, pv.Name)
}

// bind binds a claim.
func (s *storage) bind(ctx context.Context, claim, volume string) error {
	if !s.boundAt[claim].IsZero() {
		return nil
	}
	claims, began := s.e.c.Admin.CoreV1().PersistentVolumeClaims("default"), time.Now()
	if _, err := claims.Patch(ctx, claim, types.MergePatchType, []byte(boundClaim(volume)), metav1.PatchOptions{}); err != nil {
		return err
	}
	status := []byte(`{"status":{"phase":"Bound"}}`)
	_, err := claims.Patch(ctx, claim, types.MergePatchType, status, metav1.PatchOptions{}, "status")
	if err == nil {
		s.boundAt[claim] = began
	}
	return err
}

// boundClaim is the patch that binds a claim to a volume.
func boundClaim(volume string) string {
	return `{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":"` + volume + `"}}`
}

func (s *storage) when(claim string) (node string, bound time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[claim], s.boundAt[claim]
}

// A claim that waits for its first consumer is provisioned on the selected node; the pod is bound after the claim.
func TestProvisioningOnDemand(t *testing.T) {
	e := shared(t)
	s := e.play(&storage{})
	e.create(objects(Nodes("node", 3)...)...)
	e.create(newClass("later", waiting, "e2e.example.com"), newClaim("data", "later", ""), newClaim("logs", "later", ""))
	e.start()
	e.create(NewPod("web", claim("data", "logs")))
	node := e.bound("web")
	for _, name := range []string{"data", "logs"} {
		asked, bound := s.when(name)
		if asked != node {
			t.Errorf("%s was wanted on %q, the pod is on %s", name, asked, node)
		}
		if seen := e.o.Pod(key("web")).BoundAt; seen.Before(bound) {
			t.Errorf("the pod was bound before its claim %s", name)
		}
	}
	// The claim is now tied to that node, and so is the next pod that uses it.
	e.create(NewPod("next", claim("data")))
	e.boundTo("next", node)
	e.event("web", "Scheduled", "Successfully assigned default/web to "+node)
}

// After a failed provisioning the node is selected again.
func TestProvisioningFailsOnce(t *testing.T) {
	e := shared(t)
	e.play(&storage{refuse: 1})
	e.create(NewNode("node-0"), NewNode("node-1"), newClass("later", waiting, "e2e.example.com"), newClaim("data", "later", ""))
	e.start()
	e.create(NewPod("web", claim("data")))
	e.bound("web")
}

// An existing volume is used, on a node that can access it; the scheduler sets its claim.
func TestVolumesOfNodesAreTaken(t *testing.T) {
	e := shared(t)
	e.play(&storage{})
	e.create(objects(Nodes("node", 3)...)...)
	e.create(newClass("local", waiting, ""), newClaim("data", "local", ""),
		newVolume("disk", "local", "", volumeOn(v1.LabelHostname, "node-2")))
	e.start()
	e.create(NewPod("web", claim("data")))
	e.boundTo("web", "node-2")
	pv, err := e.c.Admin.CoreV1().PersistentVolumes().Get(e.ctx, "disk", metav1.GetOptions{})
	e.must(err)
	if ref := pv.Spec.ClaimRef; ref == nil || ref.Namespace != "default" || ref.Name != "data" || ref.UID == "" {
		t.Errorf("the volume's claim is %+v", ref)
	}
	if pv.Annotations["pv.kubernetes.io/bound-by-controller"] != "yes" {
		t.Errorf("the volume's annotations are %v", pv.Annotations)
	}
}

// Two pods for the only volume: one gets it.
func TestOneVolumeForTwo(t *testing.T) {
	e := shared(t)
	e.play(&storage{})
	e.create(NewNode("node-0"), newClass("local", waiting, ""), newClaim("one", "local", ""), newClaim("two", "local", ""),
		newVolume("disk", "local", "", volumeOn(v1.LabelHostname, "node-0")))
	e.start()
	e.create(NewPod("first", claim("one")))
	e.bound("first")
	e.create(NewPod("second", claim("two")))
	e.refused("second", "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind. "+notHelpful(1))
	e.create(newVolume("disk-2", "local", "", volumeOn(v1.LabelHostname, "node-0")))
	e.boundTo("second", "node-0")
}

// While its volume is provisioned, which may take minutes, a pod has a nominated node; others do not get its resources.
func TestPodSaysWhereItWaitsForItsVolume(t *testing.T) {
	e := shared(t)
	s := e.play(&storage{wait: make(chan struct{})})
	e.create(NewNode("node-0"), newClass("later", waiting, "e2e.example.com"), newClaim("data", "later", ""))
	e.start()
	e.create(NewPod("web", claim("data"), Requests("cpu", "3")))
	e.nominated("web", "node-0")
	e.create(NewPod("late", Requests("cpu", "3")))
	e.refused("late", "0/1 nodes are available: 1 Insufficient cpu. "+noVictims(1))
	if s := e.o.Pod(key("web")); s.Node != "" {
		t.Errorf("bound without its volume:\n%s", e.describe("web"))
	}
	close(s.wait)
	e.boundTo("web", "node-0")
	e.blameless()
}

// A volume that is not provisioned in time: the pod gets an error, frees its resources, and uses the volume when it is provisioned later.
func TestVolumeComesTooLate(t *testing.T) {
	e := shared(t)
	s := e.play(&storage{wait: make(chan struct{})})
	e.create(NewNode("node-0"), newClass("later", waiting, "e2e.example.com"), newClaim("data", "later", ""))
	e.start(e.config("scheduler", `
profiles:
- pluginConfig:
  - {name: VolumeBinding, args: {bindTimeoutSeconds: 1}}
`)...)
	e.create(NewPod("web", claim("data"), Requests("cpu", "3")))
	note := `running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded`
	e.event("web", "FailedScheduling", note)
	e.pod("web", "knows why", func(p *v1.Pod) bool {
		c := scheduled(p)
		return c != nil && c.Status == v1.ConditionFalse && c.Reason == v1.PodReasonSchedulerError && c.Message == note
	})
	close(s.wait)
	e.boundTo("web", "node-0")
}
