package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
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

// takesCores publishes two devices of a node, each of which takes two cores of it: in the words of both releases, of which an
// API server keeps its own.
func (e *env) takesCores(node, driver string) {
	e.Helper()
	devices := `{"name":"device-%d","nodeAllocatableResourceMappings":{"cpu":{"allocationMultiplier":"2"}},` +
		`"nodeAllocatableResources":{"cpu":{"mapping":{"deviceMultiplier":"2"},"overhead":{"perContainer":"100m"}}}}`
	slice := `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"` + node + `"},"spec":{"driver":"` + driver +
		`","nodeName":"` + node + `","pool":{"name":"` + node + `","generation":1,"resourceSliceCount":1},"devices":[` +
		fmt.Sprintf(devices, 0) + "," + fmt.Sprintf(devices, 1) + `]}}`
	e.must(e.c.Admin.ResourceV1().RESTClient().Post().AbsPath("/apis/resource.k8s.io/v1/resourceslices").
		SetHeader("Content-Type", "application/json").Body([]byte(slice)).Do(e.ctx).Error())
}

// What devices take of their node counts from the decision on, and is written to the pod's status.
func TestDevicesTakeResourcesOfTheirNode(t *testing.T) {
	const gate = "--feature-gates=DRANodeAllocatableResources=true"
	e := private(t, Options{Flags: []string{gate}})
	declares := func(n *v1.Node) { n.Status.DeclaredFeatures = []string{"DRANodeAllocatableResources"} } // 1.37 asks for it
	e.create(NewNode("node-0", declares), newDeviceClass("cpu.example.com"), newDeviceClaim("first", "cpu.example.com"),
		newDeviceClaim("second", "cpu.example.com"))
	e.takesCores("node-0", "cpu.example.com")
	e.start(gate)
	e.create(NewPod("web", device("first"), Requests("cpu", "500m")))
	e.boundTo("web", "node-0")
	raw, err := e.c.Admin.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default/pods/web").
		SetHeader("Accept", "application/json").Do(e.ctx).Raw()
	e.must(err)
	var pod struct {
		Status struct {
			Claims json.RawMessage `json:"nodeAllocatableResourceClaimStatuses"`
		} `json:"status"`
	}
	e.must(json.Unmarshal(raw, &pod))
	want := `[{"resourceClaimName":"first","containers":["main"],"mapping":[{"name":"cpu","quantity":"2"}],` +
		`"overhead":[{"name":"cpu","perContainer":"100m"}]}]`
	if Release() == "1.36" {
		want = `[{"resourceClaimName":"first","containers":["main"],"resources":{"cpu":"2"}}]`
	}
	if string(pod.Status.Claims) != want {
		t.Errorf("the status has %s, want %s", pod.Status.Claims, want)
	}
	// At most 1.5 cores are left, for pods with devices and for those without.
	const short = "0/1 nodes are available: 1 Insufficient cpu. "
	e.create(NewPod("next", device("second")))
	e.refused("next", short+idle("still not schedulable, ")+strings.TrimPrefix(noVictims(1), idle(noNewClaims)))
	e.create(NewPod("plain", Requests("cpu", "1600m")))
	e.refused("plain", short+noVictims(1))
	e.remove("web")
	e.boundTo("plain", "node-0")
}
