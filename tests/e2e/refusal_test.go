package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const noNewClaims = "no new claims to deallocate, "

// idle is what DynamicResources says where it could do nothing: since 1.37 nothing.
func idle(text string) string {
	if Release() == "1.36" {
		return text
	}
	return ""
}

// placement is what preemption says of the victims that it has found, since 1.37.
func placement(node string, victims int) string {
	if Release() == "1.36" {
		return ""
	}
	return fmt.Sprintf(" preemption: found a potential placement for pod on node %s, preempting %d victims", node, victims)
}

// The second half of a rejection message is about preemption: it does not help, as no eviction would help; or as all victims
// have too high a priority; or the one on some nodes and the other on the rest.
func notHelpful(nodes int) string {
	return idle(noNewClaims) + fmt.Sprintf("preemption: 0/%d nodes are available: "+
		"%d Preemption is not helpful for scheduling.", nodes, nodes)
}

func noVictims(nodes int) string {
	return idle(noNewClaims) + fmt.Sprintf("preemption: 0/%d nodes are available: "+
		"%d No preemption victims found for incoming pod.", nodes, nodes)
}

func noVictimsOn(some int) func(int) string {
	return func(nodes int) string {
		return idle(noNewClaims) + fmt.Sprintf("preemption: 0/%d nodes are available: "+
			"%d No preemption victims found for incoming pod, %d Preemption is not helpful for scheduling.",
			nodes, some, nodes-some)
	}
}

// notFound is the second half if a PreFilter plugin rejected the pod before DynamicResources ran: the reference then does not
// find the cycle state of DynamicResources.
func notFound(int) string { return "not found" }

// stillNot is the second half if deallocating unused claims does not help either.
func stillNot(nodes int) string {
	return idle("still not schedulable, ") + strings.TrimPrefix(notHelpful(nodes), idle(noNewClaims))
}

func mayNot(int) string {
	return idle(noNewClaims) + "preemption: not eligible due to preemptionPolicy=Never."
}

// refusal is a cluster in which the pod "web" fits nowhere, and the message of the reference.
type refusal struct {
	name  string
	nodes []*v1.Node
	more  []runtime.Object // other objects
	late  func(*env)       // events before the pod is created
	pod   []PodMod
	want  string // without the common prefix
	then  func(nodes int) string
}

var (
	five, two, one = Nodes("node", 5), Nodes("node", 2), Nodes("node", 1)
	dedicated      = nodeTaint("dedicated", v1.TaintEffectNoSchedule)
)

var refusals = slices.Concat(resourceRefusals, nodeRefusals, featureRefusals, neighbourRefusals, volumeRefusals, deviceRefusals)

var resourceRefusals = []refusal{
	{name: "extended resource", nodes: five, pod: []PodMod{Requests("example.com/foo", "1")},
		want: "5 Insufficient example.com/foo.", then: notHelpful},
	{name: "more CPU than any node has", nodes: five, pod: []PodMod{Requests("cpu", "5")},
		want: "5 Insufficient cpu.", then: notHelpful},
	{name: "CPU that others of the same priority use", nodes: two, more: filled(2), pod: []PodMod{Requests("cpu", "1")},
		want: "2 Insufficient cpu.", then: noVictims},
	{name: "CPU and memory", nodes: two, pod: []PodMod{Requests("cpu", "5", "memory", "9Gi")},
		want: "2 Insufficient cpu, 2 Insufficient memory.", then: notHelpful},
	{name: "number of pods", nodes: Nodes("node", 1, Allocatable("pods", "1")), more: filled(1),
		want: "1 Too many pods.", then: noVictims},
	{name: "may not preempt", nodes: two, more: filled(2, priority("low")), pod: []PodMod{Requests("cpu", "1"), priority("polite")},
		want: "2 Insufficient cpu.", then: mayNot},
	{name: "a message too long for an event", nodes: two, pod: []PodMod{many},
		want: "2 Insufficient " + strings.Join(manyNames(), ", 2 Insufficient ") + ".", then: notHelpful},
}

var nodeRefusals = []refusal{
	{name: "taint", nodes: Nodes("node", 3, dedicated), want: "3 node(s) had untolerated taint(s).", then: notHelpful},
	{name: "taint NoExecute", nodes: Nodes("node", 1, nodeTaint("dedicated", v1.TaintEffectNoExecute)),
		want: "1 node(s) had untolerated taint(s).", then: notHelpful},
	{name: "cordoned", nodes: Nodes("node", 2, cordoned), want: "2 node(s) were unschedulable.", then: notHelpful},
	{name: "node selector", nodes: five, pod: []PodMod{selector("disk", "ssd")},
		want: "5 node(s) didn't match Pod's node affinity/selector.", then: notHelpful},
	{name: "a node that does not exist", nodes: five, pod: []PodMod{pinned("gone")},
		want: "5 node(s) didn't satisfy plugin(s) [NodeAffinity].", then: notHelpful},
	{name: "one node, which is full", nodes: five, more: filled(5), pod: []PodMod{pinned("node-1"), Requests("cpu", "1")},
		want: "1 Insufficient cpu, 4 node(s) didn't satisfy plugin(s) [NodeAffinity].", then: noVictimsOn(1)},
	{name: "a mixture", pod: []PodMod{Requests("cpu", "2")},
		nodes: slices.Concat(Nodes("tainted", 2, dedicated), Nodes("closed", 1, cordoned),
			Nodes("small", 2, Allocatable("cpu", "1"))),
		want: "1 node(s) were unschedulable, 2 Insufficient cpu, 2 node(s) had untolerated taint(s).", then: notHelpful},
}

var featureRefusals = []refusal{
	{name: "a feature that nodes do not declare", nodes: two, pod: []PodMod{restartsAll},
		want: "2 node(s) didn't match Pod's required features.", then: notHelpful},
}

var neighbourRefusals = []refusal{
	{name: "host port", nodes: one, pod: []PodMod{hostPort(8080)},
		more: objects(NewPod("server", onNode("node-0"), hostPort(8080))),
		want: "1 node(s) didn't have free ports for the requested pod ports.", then: noVictims},
	{name: "spread",
		nodes: []*v1.Node{NewNode("a", nodeLabel(zone, "a")), NewNode("b", nodeLabel(zone, "b"), Allocatable("pods", "0"))},
		more:  objects(NewPod("first", onNode("a"), labels("app", "web"))), pod: []PodMod{labels("app", "web"), spread(zone, "web")},
		want: "1 Too many pods, 1 node(s) didn't match pod topology spread constraints.", then: noVictims},
	{name: "spread over a label that nodes lack", nodes: two, pod: []PodMod{labels("app", "web"), spread(zone, "web")},
		want: "2 node(s) didn't match pod topology spread constraints (missing required label).", then: notHelpful},
	{name: "pod affinity", nodes: two, pod: []PodMod{near(v1.LabelHostname, "database")},
		want: "2 node(s) didn't match pod affinity rules.", then: notHelpful},
	{name: "pod anti-affinity", nodes: one, pod: []PodMod{apart(v1.LabelHostname, "web")},
		more: objects(NewPod("first", onNode("node-0"), labels("app", "web"))),
		want: "1 node(s) didn't match pod anti-affinity rules.", then: noVictims},
	{name: "anti-affinity of others", nodes: one, pod: []PodMod{labels("app", "web")},
		more: objects(NewPod("first", onNode("node-0"), apart(v1.LabelHostname, "web"))),
		want: "1 node(s) didn't satisfy existing pods anti-affinity rules.", then: noVictims},
}

var volumeRefusals = []refusal{
	{name: "claim that does not exist", nodes: two, pod: []PodMod{claim("data")},
		want: `persistentvolumeclaim "data" not found.`, then: notFound},
	{name: "unbound claim of an immediate class", nodes: two, pod: []PodMod{claim("data")},
		more: []runtime.Object{newClass("now", immediate, ""), newClaim("data", "now", "")},
		want: "pod has unbound immediate PersistentVolumeClaims.", then: notFound},
	{name: "claim whose volume is lost", nodes: two, pod: []PodMod{claim("data")},
		more: []runtime.Object{newClass("now", immediate, ""), newClaim("data", "now", "vol")},
		want: `persistentvolume "vol" not found.`, then: notFound},
	{name: "volume of another node", nodes: two, pod: []PodMod{claim("data")},
		more: []runtime.Object{newClass("now", immediate, ""), newClaim("data", "now", "vol"),
			newVolume("vol", "now", "data", volumeOn(v1.LabelHostname, "elsewhere"))},
		want: "2 node(s) didn't match PersistentVolume's node affinity.", then: notHelpful},
	{name: "volume of another zone", nodes: Nodes("node", 2, nodeLabel(zone, "a")), pod: []PodMod{claim("data")},
		more: []runtime.Object{newClass("now", immediate, ""), newClaim("data", "now", "vol"),
			newVolume("vol", "now", "data", func(pv *v1.PersistentVolume) { pv.Labels[zone] = "b" })},
		want: "2 node(s) had no available volume zone.", then: notHelpful},
	{name: "no volume to bind", nodes: two, pod: []PodMod{claim("data")},
		more: []runtime.Object{newClass("later", waiting, ""), newClaim("data", "later", ""),
			newVolume("vol", "later", "", volumeOn(v1.LabelHostname, "elsewhere"))},
		want: "2 node(s) didn't find available persistent volumes to bind.", then: notHelpful},
	{name: "no volume can be made in this zone", nodes: Nodes("node", 2, nodeLabel(zone, "a")), pod: []PodMod{claim("data")},
		more: []runtime.Object{classOfZone("later", "b"), newClaim("data", "later", "")},
		want: "2 node(s) didn't find available persistent volumes to bind.", then: notHelpful},
	{name: "no storage left", nodes: two, pod: []PodMod{claim("data")},
		more: []runtime.Object{newClass("later", waiting, "csi.example.com"), newClaim("data", "later", ""), driverThatCounts},
		want: "2 node(s) did not have enough free storage.", then: notHelpful},
	{name: "too many volumes", nodes: one, pod: []PodMod{claim("two")},
		more: []runtime.Object{newClass("now", immediate, ""), csiNode("node-0", 1),
			newClaim("one", "now", "vol-one"), newVolume("vol-one", "now", "one"),
			newClaim("two", "now", "vol-two"), newVolume("vol-two", "now", "two"), NewPod("first", onNode("node-0"), claim("one"))},
		want: "1 node(s) exceed max volume count.", then: noVictims},
	{name: "disk that another pod writes to", nodes: one, pod: []PodMod{disk("pd")},
		more: objects(NewPod("first", onNode("node-0"), disk("pd"))),
		want: "1 node(s) had no available disk.", then: noVictims},
	{name: "claim that is being deleted", nodes: two, pod: []PodMod{claim("data")},
		more: []runtime.Object{newClass("later", waiting, ""), newClaim("data", "later", "", kept)},
		late: func(e *env) {
			e.must(e.c.Admin.CoreV1().PersistentVolumeClaims("default").Delete(e.ctx, "data", metav1.DeleteOptions{}))
		},
		want: `persistentvolumeclaim "data" is being deleted.`, then: notFound},
	{name: "claim for one pod only", nodes: two, pod: []PodMod{claim("data")},
		more: []runtime.Object{newClass("now", immediate, ""), newClaim("data", "now", "vol", claimForOne),
			newVolume("vol", "now", "data", volumeForOne), NewPod("first", onNode("node-0"), claim("data"))},
		want: "2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod.",
		then: noVictims},
}

var deviceRefusals = []refusal{
	{name: "device class that does not exist", nodes: two, pod: []PodMod{device("gpu")},
		more: []runtime.Object{newDeviceClaim("gpu", "gpu.example.com")},
		want: "request device: device class gpu.example.com does not exist.", then: notHelpful},
	{name: "device of another node", nodes: two, pod: []PodMod{device("gpu"), pinned("node-0")},
		more: []runtime.Object{newDeviceClass("gpu.example.com"), newDeviceClaim("gpu", "gpu.example.com"),
			newDevice("node-1", "gpu.example.com")},
		want: "1 cannot allocate all claims, 1 node(s) didn't satisfy plugin(s) [NodeAffinity].", then: stillNot},
	{name: "no device", nodes: two, pod: []PodMod{device("gpu")},
		more: []runtime.Object{newDeviceClass("gpu.example.com"), newDeviceClaim("gpu", "gpu.example.com")},
		want: "2 cannot allocate all claims.", then: stillNot},
}

func TestRefusals(t *testing.T) {
	for _, row := range refusals {
		t.Run(row.name, func(t *testing.T) {
			e := shared(t)
			e.create(objects(row.nodes...)...)
			e.create(row.more...)
			if row.late != nil {
				row.late(e)
			}
			e.create(NewPod("web", row.pod...))
			e.start()
			count := len(row.nodes)
			e.refused("web", fmt.Sprintf("0/%d nodes are available: %s %s", count, row.want, row.then(count)))
			e.blameless()
		})
	}
}
