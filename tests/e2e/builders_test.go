package e2e

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

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
		names := v1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: nodes}
		term := v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{names}}
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}}}
	}
}

// byApp selects the pods of an app.
func byApp(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// near, apart and spread are rules about the pods of an app, which may be the pod's own.
func near(topology, app string) PodMod {
	return func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: topology, LabelSelector: byApp(app)}}}}
	}
}

func apart(topology, app string) PodMod {
	return func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: topology, LabelSelector: byApp(app)}}}}
	}
}

func spread(topology, app string) PodMod {
	return func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: topology, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: byApp(app)})
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

// disk makes the pod write to a disk that it names itself.
func disk(name string) PodMod {
	return func(p *v1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{
			GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: name}}})
	}
}

// restartsAll makes the pod require a node feature: a container whose exit restarts all containers.
func restartsAll(p *v1.Pod) {
	never := v1.ContainerRestartPolicyNever
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	p.Spec.Containers[0].RestartPolicy = &never
	p.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{
		Action:    v1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}}}}
}

const zone = v1.LabelTopologyZone

// newClass makes a storage class; an empty provisioner means kubernetes.io/no-provisioner.
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
	where := []v1.TopologySelectorLabelRequirement{{Key: zone, Values: []string{value}}}
	class.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: where}}
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
			PersistentVolumeSource: v1.PersistentVolumeSource{
				CSI: &v1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: name}}},
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

// volumeOn makes a volume accessible only from nodes with a label.
func volumeOn(key, value string) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) {
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}}}}
	}
}

// kept makes a deleted claim stay until its finalizer is removed; emptying the cluster does that.
func kept(c *v1.PersistentVolumeClaim) { c.Finalizers = []string{"e2e.example.com/kept"} }

func claimForOne(c *v1.PersistentVolumeClaim) {
	c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
	c.Status.AccessModes = c.Spec.AccessModes
}

func volumeForOne(pv *v1.PersistentVolume) {
	pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
}

// driverThatCounts is a CSI driver that reports its storage capacity.
var driverThatCounts = &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example.com"},
	Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes}}

// csiNode sets a node's limit of volumes of the driver.
func csiNode(name string, count int32) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Node", Name: name, UID: "00000000-0000-0000-0000-000000000000"}}},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: "csi.example.com", NodeID: name, Allocatable: &storagev1.VolumeNodeResources{Count: &count}}}}}
}

// filled are pods that use all CPU of the nodes.
func filled(nodes int, mods ...PodMod) (all []runtime.Object) {
	for i := range nodes {
		takes := []PodMod{onNode(fmt.Sprintf("node-%d", i)), Requests("cpu", "4")}
		all = append(all, NewPod(fmt.Sprintf("filler-%d", i), append(takes, mods...)...))
	}
	return all
}

// many makes a pod request many resources, so that its rejection message does not fit into an event.
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

// When volumes of a class are bound.
var immediate, waiting = storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer

// device makes the pod use a claim for a device.
func device(claim string) PodMod {
	return func(p *v1.Pod) {
		p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimName: &claim}}
		p.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "device"}}
	}
}

// newDeviceClass makes a class of all devices of the driver of the same name.
func newDeviceClass(name string) *resourcev1.DeviceClass {
	all := &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + name + `"`}
	return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{CEL: all}}}}
}

// newDeviceClaim asks for one device of a class.
func newDeviceClaim(name, class string) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "device", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class}}}}}}
}

// newDevice publishes one device of a node, newDevices several.
func newDevice(node, driver string) *resourcev1.ResourceSlice { return newDevices(node, driver, 1) }

func newDevices(node, driver string, count int) *resourcev1.ResourceSlice {
	var devices []resourcev1.Device
	for i := range count {
		devices = append(devices, resourcev1.Device{Name: fmt.Sprintf("device-%d", i)})
	}
	return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-" + driver}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1}, Devices: devices}}
}
