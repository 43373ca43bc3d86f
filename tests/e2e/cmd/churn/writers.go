package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"berth.example/e2e"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const namespace = metav1.NamespaceDefault

// Labels of the controller: it makes a copy of each config map of the first kind, which has the second label.
const (
	sourceLabel = "churn.example/source"
	copyLabel   = "churn.example/copy"
)

// How many objects of a kind each writer has at most.
const (
	configMapsMax  = 25
	podsMax        = 10
	deploymentsMax = 2
)

// acknowledged are the writes to config maps whose answers arrived: they must all be seen, each once.
type acknowledged struct {
	mu       sync.Mutex
	versions map[string]bool // resourceVersions
	deleted  map[types.UID]bool
}

func (a *acknowledged) wrote(m *v1.ConfigMap) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.versions[m.ResourceVersion] = true
}

func (a *acknowledged) removed(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deleted[uid] = true
}

// take returns what was acknowledged since the last time.
func (a *acknowledged) take() (versions map[string]bool, deleted map[types.UID]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	versions, deleted = a.versions, a.deleted
	a.versions, a.deleted = map[string]bool{}, map[types.UID]bool{}
	return versions, deleted
}

// writer has objects that no other writer changes.
type writer struct {
	all         *writers
	number      int
	made        int
	configMaps  []*v1.ConfigMap
	pods        []string
	deployments []string
}

type writers struct {
	ctx    context.Context
	s      settings
	api    kubernetes.Interface
	each   []*writer
	writes atomic.Int64
	acks   acknowledged
}

func newWriters(ctx context.Context, s settings, api kubernetes.Interface) *writers {
	w := &writers{ctx: ctx, s: s, api: api}
	w.acks.take()
	for i := range s.writers {
		w.each = append(w.each, &writer{all: w, number: i})
	}
	return w
}

// run lets all of them write for so long.
func (w *writers) run(how time.Duration) error {
	end := time.Now().Add(how)
	group, ctx := errgroup.WithContext(w.ctx)
	for _, one := range w.each {
		group.Go(func() error {
			next := time.Now()
			for time.Now().Before(end) && ctx.Err() == nil {
				if err := one.step(ctx); err != nil && ctx.Err() == nil {
					return err
				}
				w.writes.Add(1)
				if w.s.rate > 0 {
					next = next.Add(time.Second * time.Duration(w.s.writers) / time.Duration(w.s.rate))
					time.Sleep(time.Until(next))
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (w *writer) name(kind string) string {
	w.made++
	return fmt.Sprintf("%s-%d-%d", kind, w.number, w.made)
}

func (w *writer) step(ctx context.Context) error {
	switch n := rand.IntN(100); {
	case n < 60:
		return w.configMap(ctx)
	case n < 92:
		return w.pod(ctx)
	default:
		return w.deployment(ctx)
	}
}

func (w *writer) configMap(ctx context.Context) error {
	api := w.all.api.CoreV1().ConfigMaps(namespace)
	text := map[string]string{"text": fmt.Sprint(rand.Int64())}
	if len(w.configMaps) == 0 || len(w.configMaps) < configMapsMax && rand.IntN(3) == 0 {
		m := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: w.name("map"), Labels: map[string]string{sourceLabel: "true"}}, Data: text}
		m, err := api.Create(ctx, m, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("creating a config map: %w", err)
		}
		w.all.acks.wrote(m)
		w.configMaps = append(w.configMaps, m)
		return nil
	}
	i := rand.IntN(len(w.configMaps))
	m := w.configMaps[i]
	if rand.IntN(4) > 0 {
		m.Data = text
		m, err := api.Update(ctx, m, metav1.UpdateOptions{})
		if err != nil {
			return fmt.Errorf("updating a config map: %w", err)
		}
		w.all.acks.wrote(m)
		w.configMaps[i] = m
		return nil
	}
	if err := api.Delete(ctx, m.Name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting a config map: %w", err)
	}
	w.all.acks.removed(m.UID)
	w.configMaps = append(w.configMaps[:i], w.configMaps[i+1:]...)
	return nil
}

func (w *writer) pod(ctx context.Context) error {
	api := w.all.api.CoreV1().Pods(namespace)
	if len(w.pods) == 0 || len(w.pods) < podsMax && rand.IntN(2) == 0 {
		p := e2e.NewPod(w.name("pod"), e2e.Requests("cpu", "50m"))
		if _, err := api.Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating a pod: %w", err)
		}
		w.pods = append(w.pods, p.Name)
		return nil
	}
	i := rand.IntN(len(w.pods))
	if rand.IntN(2) == 0 {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"churn.example/text":"%d"}}}`, rand.Int64())
		if _, err := api.Patch(ctx, w.pods[i], types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("patching a pod: %w", err)
		}
		return nil
	}
	if err := api.Delete(ctx, w.pods[i], metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting a pod: %w", err)
	}
	w.pods = append(w.pods[:i], w.pods[i+1:]...)
	return nil
}

func newDeployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	replicas := int32(rand.IntN(5))
	pod := e2e.NewPod("", e2e.Requests("cpu", "50m"))
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod.Spec},
		},
	}
}

func (w *writer) deployment(ctx context.Context) error {
	api := w.all.api.AppsV1().Deployments(namespace)
	if len(w.deployments) == 0 || len(w.deployments) < deploymentsMax && rand.IntN(2) == 0 {
		d := newDeployment(w.name("deployment"))
		if _, err := api.Create(ctx, d, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating a deployment: %w", err)
		}
		w.deployments = append(w.deployments, d.Name)
		return nil
	}
	i := rand.IntN(len(w.deployments))
	patches := []string{
		fmt.Sprintf(`{"spec":{"replicas":%d}}`, rand.IntN(6)),
		fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example.com/a:%d"}]}}}}`, rand.IntN(1000)),
	}
	if n := rand.IntN(3); n < len(patches) {
		if _, err := api.Patch(ctx, w.deployments[i], types.StrategicMergePatchType, []byte(patches[n]), metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("patching a deployment: %w", err)
		}
		return nil
	}
	policy := metav1.DeletePropagationBackground
	if rand.IntN(2) == 0 {
		policy = metav1.DeletePropagationForeground
	}
	if err := api.Delete(ctx, w.deployments[i], metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		return fmt.Errorf("deleting a deployment: %w", err)
	}
	w.deployments = append(w.deployments[:i], w.deployments[i+1:]...)
	return nil
}
