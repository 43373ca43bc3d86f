package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A device is allocated on a node that has one, written into the claim before the pod is bound, and kept for it.
func TestDeviceIsAllocated(t *testing.T) {
	e := shared(t)
	e.create(objects(Nodes("node", 3)...)...)
	e.create(newDeviceClass("gpu.example.com"), newDevice("node-1", "gpu.example.com"),
		newDeviceClaim("gpu", "gpu.example.com"), newDeviceClaim("second", "gpu.example.com"))
	e.start()
	e.create(NewPod("web", device("gpu")))
	e.boundTo("web", "node-1")
	claims := e.c.Admin.ResourceV1().ResourceClaims("default")
	claim, err := claims.Get(e.ctx, "gpu", metav1.GetOptions{})
	e.must(err)
	if a := claim.Status.Allocation; a == nil || len(a.Devices.Results) != 1 || a.Devices.Results[0].Device != "device-0" ||
		a.Devices.Results[0].Pool != "node-1" {
		t.Errorf("the claim's allocation is %+v", a)
	}
	if by := claim.Status.ReservedFor; len(by) != 1 || by[0].Name != "web" || by[0].UID != e.o.Pod(key("web")).Pod.UID {
		t.Errorf("the claim is reserved for %+v", by)
	}
	// There is only one. When another is published, the waiting pod gets it.
	e.create(NewPod("next", device("second")))
	e.refused("next", "0/3 nodes are available: 3 cannot allocate all claims. "+stillNot(3))
	e.create(newDevice("node-2", "gpu.example.com"))
	e.boundTo("next", "node-2")
}

// A pod whose claim does not exist yet is gated until the claim exists.
func TestPodWaitsForItsDeviceClaim(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), newDeviceClass("gpu.example.com"), newDevice("node-0", "gpu.example.com"))
	e.create(NewPod("early", device("gpu")))
	e.start()
	e.create(NewPod("plain"))
	e.bound("plain")
	if s := e.o.Pod(key("early")); s.Node != "" || scheduled(s.Pod) != nil || len(e.o.Events(key("early"))) > 0 {
		t.Errorf("tried without its claim:\n%s", e.describe("early"))
	}
	e.create(newDeviceClaim("gpu", "gpu.example.com"))
	e.boundTo("early", "node-0")
}
