package e2e

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// newDeployment makes replicas of a pod, labelled app=name.
func newDeployment(name string, replicas int32, mods ...PodMod) *appsv1.Deployment {
	pod := NewPod(name, append(mods, labels("app", name))...)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec}},
	}
}

// phase counts the pods of an app that run, and those that wait.
func (e *env) phase(app string) (running, waiting int) {
	there := func(s *Seen) bool { return s.Pod.Labels["app"] == app && !s.Gone && s.Pod.DeletionTimestamp == nil }
	for _, s := range e.o.Pods(there) {
		if s.Pod.Status.Phase == v1.PodRunning {
			running++
		} else {
			waiting++
		}
	}
	return running, waiting
}

// With controllers and fake kubelets: Deployments run, budgets are counted by the real controller, and preempted replicas
// are recreated and wait for resources.
func TestDeploymentsAndBudgets(t *testing.T) {
	if testing.Short() {
		t.Skip("needs kube-controller-manager and kwok")
	}
	e := private(t, Options{Audit: true, Controllers: true, Kwok: true})
	// kwok adds missing resources to nodes, and keeps them ready.
	e.create(objects(Nodes("node", 4)...)...)
	p := e.start()
	deploy := func(d *appsv1.Deployment) {
		t.Helper()
		_, err := e.c.Admin.AppsV1().Deployments("default").Create(e.ctx, d, metav1.CreateOptions{})
		e.must(err)
	}
	deploy(newDeployment("guarded", 8, Requests("cpu", "1"), priority("low")))
	deploy(newDeployment("loose", 8, Requests("cpu", "1"), priority("low")))
	all := intstr.FromInt32(8)
	_, err := e.c.Admin.PolicyV1().PodDisruptionBudgets("default").Create(e.ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "guarded"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &all,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "guarded"}}}}, metav1.CreateOptions{})
	e.must(err)
	e.await("sixteen pods run", func() bool {
		guarded, _ := e.phase("guarded")
		loose, _ := e.phase("loose")
		return guarded == 8 && loose == 8
	})
	e.budget("guarded", 8)

	deploy(newDeployment("vip", 2, Requests("cpu", "1"), priority("high")))
	e.await("the important pods run, and two others wait", func() bool {
		vip, _ := e.phase("vip")
		loose, waiting := e.phase("loose")
		return vip == 2 && loose == 6 && waiting == 2
	})
	if guarded, waiting := e.phase("guarded"); guarded != 8 || waiting != 0 {
		t.Errorf("%d guarded pods run and %d wait although others could go", guarded, waiting)
	}
	for _, s := range e.o.Pods(func(s *Seen) bool { return s.Gone && s.Pod.Labels["app"] == "loose" }) {
		if c := condition(s.Pod, v1.DisruptionTarget); c == nil || c.Reason != "PreemptionByScheduler" {
			t.Errorf("%s went without the condition DisruptionTarget:\n%s", s.Pod.Name, e.describe(s.Pod.Name))
		}
	}

	e.create(NewNode("relief"))
	e.await("everything runs", func() bool { loose, waiting := e.phase("loose"); return loose == 8 && waiting == 0 })
	e.blameless()
	e.running(p)
}

// budget waits until the disruption controller has counted this number of healthy pods.
func (e *env) budget(name string, healthy int32) {
	e.Helper()
	w, err := e.c.Admin.PolicyV1().PodDisruptionBudgets("default").Watch(e.ctx, metav1.ListOptions{})
	e.must(err)
	defer w.Stop()
	for event := range w.ResultChan() {
		if b, ok := event.Object.(*policyv1.PodDisruptionBudget); ok && b.Name == name && b.Status.CurrentHealthy == healthy {
			return
		}
	}
	e.Fatalf("the budget %s never counted %d healthy pods", name, healthy)
}

// The real volume controller: a claim that waits for its first consumer gets an existing volume.
func TestVolumeControllerBindsWhatTheSchedulerChose(t *testing.T) {
	if testing.Short() {
		t.Skip("needs kube-controller-manager and kwok")
	}
	e := private(t, Options{Audit: true, Controllers: true, Kwok: true})
	e.create(objects(Nodes("node", 3)...)...)
	e.create(newClass("local", waiting, ""))
	for i := range 3 {
		e.create(newVolume(fmt.Sprintf("disk-%d", i), "local", "", volumeOn(v1.LabelHostname, fmt.Sprintf("node-%d", i))),
			newClaim(fmt.Sprintf("data-%d", i), "local", ""))
	}
	e.start()
	nodes := map[string]bool{}
	for i := range 3 {
		name := fmt.Sprintf("web-%d", i)
		e.create(NewPod(name, claim(fmt.Sprintf("data-%d", i))))
		nodes[e.bound(name)] = true
	}
	if len(nodes) != 3 {
		t.Errorf("three volumes on three nodes, and pods on %v", nodes)
	}
	for i := range 3 {
		e.pod(fmt.Sprintf("web-%d", i), "runs", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodRunning })
		pvc, err := e.c.Admin.CoreV1().PersistentVolumeClaims("default").Get(e.ctx, fmt.Sprintf("data-%d", i), metav1.GetOptions{})
		e.must(err)
		if pvc.Status.Phase != v1.ClaimBound || !strings.HasPrefix(pvc.Spec.VolumeName, "disk-") {
			t.Errorf("%s is %s to %q", pvc.Name, pvc.Status.Phase, pvc.Spec.VolumeName)
		}
	}
}
