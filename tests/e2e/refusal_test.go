package e2e

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// notHelpful and noVictims are what the second half of a refusal says, when no pod's leaving would help, and when it
// would but there is none of lower priority.
func notHelpful(nodes int) string {
	return fmt.Sprintf("no new claims to deallocate, preemption: 0/%d nodes are available: %d Preemption is not helpful for scheduling.", nodes, nodes)
}

func noVictims(nodes int) string {
	return fmt.Sprintf("no new claims to deallocate, preemption: 0/%d nodes are available: %d No preemption victims found for incoming pod.", nodes, nodes)
}

// victimsOnSome is the mixture: some nodes have pods that are too important, on the others it would not help.
func victimsOnSome(nodes, some int) string {
	return fmt.Sprintf("no new claims to deallocate, preemption: 0/%d nodes are available: %d No preemption victims found for incoming pod, %d Preemption is not helpful for scheduling.",
		nodes, some, nodes-some)
}

// noClaims is the second half where a plugin refused before the nodes were looked at, and before DynamicResources was
// asked: the reference then looks for what that plugin did not leave behind, does not find it, and says so.
const noClaims = "not found"

func onNode(name string) PodMod { return func(p *v1.Pod) { p.Spec.NodeName = name } }

func labels(pairs ...string) PodMod {
	return func(p *v1.Pod) {
		for i := 0; i+1 < len(pairs); i += 2 {
			p.Labels[pairs[i]] = pairs[i+1]
		}
	}
}

func priority(class string) PodMod { return func(p *v1.Pod) { p.Spec.PriorityClassName = class } }

func nodeLabel(key, value string) NodeMod { return func(n *v1.Node) { n.Labels[key] = value } }

func nodeTaint(key string, effect v1.TaintEffect) NodeMod {
	return func(n *v1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Value: "yes", Effect: effect})
	}
}

func cordoned(n *v1.Node) { n.Spec.Unschedulable = true }

func hostPort(port int32) PodMod {
	return func(p *v1.Pod) {
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: port, Protocol: v1.ProtocolTCP}}
	}
}

func selector(key, value string) PodMod {
	return func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

// pinned makes the pod fit on the named nodes only.
func pinned(nodes ...string) PodMod {
	return func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{
				Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: nodes}}}}}}}
	}
}

func near(topology, app string) PodMod {
	return func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
			{TopologyKey: topology, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}}}
	}
}

func apart(topology, app string) PodMod {
	return func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
			{TopologyKey: topology, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}}}
	}
}

func spread(topology, app string) PodMod {
	return func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: topology, WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}})
	}
}

func gates(names ...string) PodMod {
	return func(p *v1.Pod) {
		for _, name := range names {
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, v1.PodSchedulingGate{Name: name})
		}
	}
}

// claim makes the pod use persistent volume claims.
func claim(names ...string) PodMod {
	return func(p *v1.Pod) {
		for _, name := range names {
			p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
		}
	}
}

const zone = v1.LabelTopologyZone

// newClass makes a storage class; an empty provisioner stands for one that does nothing.
func newClass(name string, mode storagev1.VolumeBindingMode, provisioner string) *storagev1.StorageClass {
	if provisioner == "" {
		provisioner = "kubernetes.io/no-provisioner"
	}
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
}

var yes = true

// classOfZone makes a storage class whose volumes can be made in one zone only.
func classOfZone(name, value string) *storagev1.StorageClass {
	class := newClass(name, waiting, "e2e.example.com")
	class.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: zone, Values: []string{value}}}}}
	return class
}

// newClaim makes a claim of 1 GiB; volume is the one that it is bound to, if any.
func newClaim(name, class, volume string, mods ...func(*v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
	c := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Annotations: map[string]string{}},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: &class, VolumeName: volume,
			Resources: v1.VolumeResourceRequirements{Requests: resources("storage", "1Gi")}},
	}
	if volume != "" {
		c.Annotations["pv.kubernetes.io/bind-completed"] = "yes"
		c.Status = v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound, AccessModes: c.Spec.AccessModes,
			Capacity: v1.ResourceList{"storage": resource.MustParse("1Gi")}}
	}
	for _, mod := range mods {
		mod(c)
	}
	return c
}

// newVolume makes a CSI volume of 1 GiB; claimed is the claim that it is bound to, if any.
func newVolume(name, class, claimed string, mods ...func(*v1.PersistentVolume)) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: class,
			Capacity: resources("storage", "1Gi"), PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: name}}},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable},
	}
	if claimed != "" {
		pv.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: claimed}
		pv.Status.Phase = v1.VolumeBound
	}
	for _, mod := range mods {
		mod(pv)
	}
	return pv
}

// volumeOn lets a volume be reached from nodes with a label only.
func volumeOn(key, value string) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) {
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}}}}
	}
}

func once(c *v1.PersistentVolumeClaim) {
	c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
	c.Status.AccessModes = c.Spec.AccessModes
}

// csiNode says how many volumes of the driver a node takes.
func csiNode(name string, count int32) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Node", Name: name, UID: "00000000-0000-0000-0000-000000000000"}}},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: "csi.example.com", NodeID: name, Allocatable: &storagev1.VolumeNodeResources{Count: &count}}}}}
}

// filled is a node's worth of pods that take all of its CPU.
func filled(nodes int, mods ...PodMod) (all []runtime.Object) {
	for i := range nodes {
		all = append(all, NewPod(fmt.Sprintf("filler-%d", i), append([]PodMod{onNode(fmt.Sprintf("node-%d", i)), Requests("cpu", "4")}, mods...)...))
	}
	return all
}

// many is a pod that asks for resources of many names, so that its refusal does not fit into an event.
func many(p *v1.Pod) {
	var pairs []string
	for _, name := range manyNames() {
		pairs = append(pairs, name, "1")
	}
	Requests(pairs...)(p)
}

func manyNames() (names []string) {
	for i := range 25 {
		names = append(names, fmt.Sprintf("example.com/a-rather-long-name-of-a-resource-%02d", i))
	}
	return names
}

var immediate, waiting = storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer

// Each row is a cluster in which the pod "web" fits nowhere, and what the reference says about it.
var refusals = []struct {
	name  string
	nodes []*v1.Node
	more  []runtime.Object
	pod   []PodMod
	want  string
}{
	{name: "extended resource", nodes: Nodes("node", 5), pod: []PodMod{Requests("example.com/foo", "1")},
		want: "0/5 nodes are available: 5 Insufficient example.com/foo. " + notHelpful(5)},
	{name: "more CPU than any node has", nodes: Nodes("node", 5), pod: []PodMod{Requests("cpu", "5")},
		want: "0/5 nodes are available: 5 Insufficient cpu. " + notHelpful(5)},
	{name: "CPU that others of the same priority use", nodes: Nodes("node", 3), more: filled(3), pod: []PodMod{Requests("cpu", "1")},
		want: "0/3 nodes are available: 3 Insufficient cpu. " + noVictims(3)},
	{name: "CPU and memory", nodes: Nodes("node", 2), pod: []PodMod{Requests("cpu", "5", "memory", "9Gi")},
		want: "0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory. " + notHelpful(2)},
	{name: "number of pods", nodes: Nodes("node", 1, Allocatable("pods", "1")), more: filled(1),
		want: "0/1 nodes are available: 1 Too many pods. " + noVictims(1)},
	{name: "may not preempt", nodes: Nodes("node", 2), more: filled(2, priority("low")), pod: []PodMod{Requests("cpu", "1"), priority("polite")},
		want: "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never."},
	{name: "a message too long for an event", nodes: Nodes("node", 2), pod: []PodMod{many},
		want: "0/2 nodes are available: 2 Insufficient " + strings.Join(manyNames(), ", 2 Insufficient ") + ". " + notHelpful(2)},

	{name: "taint", nodes: Nodes("node", 3, nodeTaint("dedicated", v1.TaintEffectNoSchedule)),
		want: "0/3 nodes are available: 3 node(s) had untolerated taint(s). " + notHelpful(3)},
	{name: "taint NoExecute", nodes: Nodes("node", 1, nodeTaint("dedicated", v1.TaintEffectNoExecute)),
		want: "0/1 nodes are available: 1 node(s) had untolerated taint(s). " + notHelpful(1)},
	{name: "cordoned", nodes: Nodes("node", 2, cordoned),
		want: "0/2 nodes are available: 2 node(s) were unschedulable. " + notHelpful(2)},
	{name: "node selector", nodes: Nodes("node", 4), pod: []PodMod{selector("disk", "ssd")},
		want: "0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector. " + notHelpful(4)},
	{name: "a node that does not exist", nodes: Nodes("node", 4), pod: []PodMod{pinned("gone")},
		want: "0/4 nodes are available: 4 node(s) didn't satisfy plugin(s) [NodeAffinity]. " + notHelpful(4)},
	{name: "one node, which is full", nodes: Nodes("node", 4), more: filled(4), pod: []PodMod{pinned("node-1"), Requests("cpu", "1")},
		want: "0/4 nodes are available: 1 Insufficient cpu, 3 node(s) didn't satisfy plugin(s) [NodeAffinity]. " + victimsOnSome(4, 1)},
	{name: "a mixture", nodes: append(append(Nodes("tainted", 2, nodeTaint("dedicated", v1.TaintEffectNoSchedule)), Nodes("closed", 1, cordoned)...), Nodes("small", 2, Allocatable("cpu", "1"))...),
		pod:  []PodMod{Requests("cpu", "2")},
		want: "0/5 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu, 2 node(s) had untolerated taint(s). " + notHelpful(5)},

	{name: "host port", nodes: Nodes("node", 1), more: objects(NewPod("server", onNode("node-0"), hostPort(8080))), pod: []PodMod{hostPort(8080)},
		want: "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. " + noVictims(1)},
	{name: "spread", nodes: []*v1.Node{NewNode("a", nodeLabel(zone, "a")), NewNode("b", nodeLabel(zone, "b"), nodeLabel("full", "yes"), Allocatable("pods", "0"))},
		more: objects(NewPod("first", onNode("a"), labels("app", "web"))), pod: []PodMod{labels("app", "web"), spread(zone, "web")},
		want: "0/2 nodes are available: 1 Too many pods, 1 node(s) didn't match pod topology spread constraints. " + noVictims(2)},
	{name: "spread over a label that nodes lack", nodes: Nodes("node", 2), pod: []PodMod{labels("app", "web"), spread(zone, "web")},
		want: "0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints (missing required label). " + notHelpful(2)},
	{name: "pod affinity", nodes: Nodes("node", 2), pod: []PodMod{near(v1.LabelHostname, "database")},
		want: "0/2 nodes are available: 2 node(s) didn't match pod affinity rules. " + notHelpful(2)},
	{name: "pod anti-affinity", nodes: Nodes("node", 1), more: objects(NewPod("first", onNode("node-0"), labels("app", "web"))), pod: []PodMod{apart(v1.LabelHostname, "web")},
		want: "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules. " + noVictims(1)},
	{name: "anti-affinity of others", nodes: Nodes("node", 1), more: objects(NewPod("first", onNode("node-0"), apart(v1.LabelHostname, "web"))), pod: []PodMod{labels("app", "web")},
		want: "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules. " + noVictims(1)},

	{name: "claim that does not exist", nodes: Nodes("node", 2), pod: []PodMod{claim("data")},
		want: `0/2 nodes are available: persistentvolumeclaim "data" not found. ` + noClaims},
	{name: "unbound claim of an immediate class", nodes: Nodes("node", 2), more: []runtime.Object{newClass("now", immediate, ""), newClaim("data", "now", "")}, pod: []PodMod{claim("data")},
		want: "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. " + noClaims},
	{name: "claim whose volume is lost", nodes: Nodes("node", 2), more: []runtime.Object{newClass("now", immediate, ""), newClaim("data", "now", "vol")}, pod: []PodMod{claim("data")},
		want: `0/2 nodes are available: persistentvolume "vol" not found. ` + noClaims},
	{name: "volume of another node", nodes: Nodes("node", 2), more: []runtime.Object{newClass("now", immediate, ""), newClaim("data", "now", "vol"),
		newVolume("vol", "now", "data", volumeOn(v1.LabelHostname, "elsewhere"))}, pod: []PodMod{claim("data")},
		want: "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity. " + notHelpful(2)},
	{name: "volume of another zone", nodes: Nodes("node", 2, nodeLabel(zone, "a")), more: []runtime.Object{newClass("now", immediate, ""), newClaim("data", "now", "vol"),
		newVolume("vol", "now", "data", func(pv *v1.PersistentVolume) { pv.Labels[zone] = "b" })}, pod: []PodMod{claim("data")},
		want: "0/2 nodes are available: 2 node(s) had no available volume zone. " + notHelpful(2)},
	{name: "no volume to bind", nodes: Nodes("node", 2), more: []runtime.Object{newClass("later", waiting, ""), newClaim("data", "later", ""),
		newVolume("vol", "later", "", volumeOn(v1.LabelHostname, "elsewhere"))}, pod: []PodMod{claim("data")},
		want: "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. " + notHelpful(2)},
	{name: "no volume can be made in this zone", nodes: Nodes("node", 2, nodeLabel(zone, "a")), more: []runtime.Object{
		classOfZone("later", "b"), newClaim("data", "later", "")}, pod: []PodMod{claim("data")},
		want: "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. " + notHelpful(2)},
	{name: "no storage left", nodes: Nodes("node", 2), more: []runtime.Object{newClass("later", waiting, "csi.example.com"), newClaim("data", "later", ""),
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example.com"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes}}}, pod: []PodMod{claim("data")},
		want: "0/2 nodes are available: 2 node(s) did not have enough free storage. " + notHelpful(2)},
	{name: "too many volumes", nodes: Nodes("node", 1), more: append([]runtime.Object{newClass("now", immediate, ""), csiNode("node-0", 1),
		newClaim("one", "now", "vol-one"), newVolume("vol-one", "now", "one"), newClaim("two", "now", "vol-two"), newVolume("vol-two", "now", "two")},
		NewPod("first", onNode("node-0"), claim("one"))), pod: []PodMod{claim("two")},
		want: "0/1 nodes are available: 1 node(s) exceed max volume count. " + noVictims(1)},
	{name: "claim for one pod only", nodes: Nodes("node", 2), more: []runtime.Object{newClass("now", immediate, ""), newClaim("data", "now", "vol", once),
		newVolume("vol", "now", "data", func(pv *v1.PersistentVolume) {
			pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
		}),
		NewPod("first", onNode("node-0"), claim("data"))}, pod: []PodMod{claim("data")},
		want: "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod. " + noVictims(2)},
}

func TestRefusals(t *testing.T) {
	for _, row := range refusals {
		t.Run(row.name, func(t *testing.T) {
			e := shared(t)
			e.create(objects(row.nodes...)...)
			e.create(row.more...)
			e.create(NewPod("web", row.pod...))
			e.start()
			e.refused("web", row.want)
			e.blameless()
		})
	}
}
