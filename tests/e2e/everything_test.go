package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// mixedLoad is a load of everything that a scheduler does in more than one step: pods that need provisioned volumes or
// devices, that are gated for a while, that preempt, that have anti-affinity, and plain pods.
const crowdGPU = "gpu.example.com"

type mixedLoad struct {
	e     *env
	count int
	done  chan struct{}
	err   error
	begun int // pods that were bound before
}

var mixedKinds = []string{"volume", "device", "gated", "vip", "apart", "spread", "plain", "plain"}

// kind of pod number i.
func (c *mixedLoad) kind(i int) string { return mixedKinds[i%len(mixedKinds)] }

// name of pod number i.
func (c *mixedLoad) name(i int) string { return fmt.Sprintf("%s-%d", c.kind(i), i) }

// vips is the number of pods that preempt others.
func (c *mixedLoad) vips() int { return c.count / len(mixedKinds) }

// mixedLoad prepares the cluster and starts to create the pods at a rate.
func (e *env) mixedLoad(count, perSecond int) *mixedLoad {
	e.Helper()
	c := &mixedLoad{e: e, count: count, done: make(chan struct{})}
	e.play(&storage{})
	e.create(newClass("later", waiting, "e2e.example.com"), newDeviceClass(crowdGPU))
	// One and a half times the capacity needed, so that no pod is rejected because of the order of the others.
	for i := range (count*3/2 + 39) / 40 {
		node := NewNode(fmt.Sprintf("node-%d", i), nodeLabel("pool", "common"), nodeLabel(zone, fmt.Sprintf("zone-%d", i%3)))
		e.create(node, newDevices(node.Name, crowdGPU, 8))
	}
	// And nodes that are full of preemptible pods, one and a half times as many as needed.
	for i := range (c.vips()*3/2 + 3) / 4 {
		full := fmt.Sprintf("full-%d", i)
		e.create(NewNode(full, nodeLabel("pool", "full")))
		for j := range 4 {
			e.create(NewPod(fmt.Sprintf("filler-%d-%d", i, j), onNode(full), Requests("cpu", "1"), priority("low")))
		}
	}
	e.await("the fillers are seen", func() bool { return e.o.Bound() >= (c.vips()*3/2+3)/4*4 })
	c.begun = e.o.Bound()
	go c.run(perSecond)
	go c.kubelet()
	return c
}

// kubelet ends pods that are being deleted. A deletion whose client is killed may stop halfway: then the pod has a
// deletion timestamp, and only a kubelet completes it.
func (c *mixedLoad) kubelet() {
	now := int64(0)
	for c.e.ctx.Err() == nil {
		time.Sleep(500 * time.Millisecond)
		for _, s := range c.e.o.Pods(func(s *Seen) bool { return !s.Gone && s.Node != "" && s.Pod.DeletionTimestamp != nil }) {
			c.e.c.Admin.CoreV1().Pods(s.Pod.Namespace).Delete(c.e.ctx, s.Pod.Name,
				metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(s.Pod.UID))})
		}
	}
}

func (c *mixedLoad) run(perSecond int) {
	defer close(c.done)
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	var gated []string
	for i := range c.count {
		<-tick.C
		for _, obj := range c.objects(i) {
			if c.err = c.e.insist(obj); c.err != nil {
				return
			}
		}
		if c.kind(i) == "gated" {
			gated = append(gated, c.name(i))
		}
		// Gates open some time later, while other pods are created.
		if len(gated) > 2 || i == c.count-1 {
			for _, name := range gated {
				if c.err = c.e.insistOn(func() error { return c.open(name) }); c.err != nil {
					return
				}
			}
			gated = nil
		}
	}
}

func (c *mixedLoad) open(name string) error {
	_, err := c.e.c.Admin.CoreV1().Pods("default").Patch(c.e.ctx, name, types.MergePatchType,
		[]byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
	return err
}

// objects is pod number i, after the objects that it needs.
func (c *mixedLoad) objects(i int) []runtime.Object {
	name, kind := c.name(i), c.kind(i)
	mods := []PodMod{Requests("cpu", "100m", "memory", "64Mi"), selector("pool", "common")}
	var first []runtime.Object
	switch kind {
	case "volume":
		first, mods = append(first, newClaim(name, "later", "")), append(mods, claim(name))
	case "device":
		first, mods = append(first, newDeviceClaim(name, crowdGPU)), append(mods, device(name))
	case "gated":
		mods = append(mods, gates("example.com/wait"))
	case "vip":
		mods = []PodMod{Requests("cpu", "1"), selector("pool", "full"), priority("high")}
	case "apart":
		// Enough groups for each to fit on half of the nodes.
		group := fmt.Sprintf("apart-%d", i%9)
		mods = append(mods, labels("app", group), apart(v1.LabelHostname, group))
	case "spread":
		mods = append(mods, labels("app", "spread"), spread(zone, "spread"))
	}
	return append(first, NewPod(name, mods...))
}

// bound is the number of bound pods of the load.
func (c *mixedLoad) bound() int { return c.e.o.Bound() - c.begun }

// finished waits for the last pod, and checks the result.
func (c *mixedLoad) finished(faults int) {
	e := c.e
	e.Helper()
	<-c.done
	e.must(c.err)
	if err := e.within(3*patience, func() bool { return c.bound() >= c.count }); err != nil {
		var text strings.Builder
		for _, s := range e.o.Pods(func(s *Seen) bool { return s.Node == "" && !s.Gone }) {
			text.WriteString(e.describe(s.Pod.Name))
		}
		e.Fatalf("%d of %d pods were bound (%v); pending:\n%s", c.bound(), c.count, err, text.String())
	}
	victims := e.o.Pods(func(s *Seen) bool { return s.Gone })
	// A scheduler that was killed between an eviction and the nomination may have to evict another pod.
	if len(victims) < c.vips() || len(victims) > c.vips()+faults {
		e.known("%d pods had to go for %d", len(victims), c.vips())
	}
	c.devices()
	c.volumes()
	e.faultless()
}

// devices fails if a device was allocated to two pods, or to a pod on another node.
func (c *mixedLoad) devices() {
	e := c.e
	e.Helper()
	list, err := e.c.Admin.ResourceV1().ResourceClaims("default").List(e.ctx, metav1.ListOptions{})
	e.must(err)
	owner := map[string]string{}
	for _, claim := range list.Items {
		given, by := claim.Status.Allocation, claim.Status.ReservedFor
		if given == nil || len(given.Devices.Results) != 1 || len(by) != 1 || by[0].Name != claim.Name {
			e.known("the pod %s is bound and its claim is allocated %v, reserved for %d", claim.Name, given != nil, len(by))
			continue
		}
		got, node := given.Devices.Results[0], e.o.Pod(key(claim.Name)).Node
		if got.Pool != node {
			e.known("%s has a device of %s and was bound to %s", claim.Name, got.Pool, node)
		}
		id := got.Pool + "/" + got.Device
		if owner[id] != "" {
			e.Errorf("%s was given to %s and to %s", id, owner[id], claim.Name)
		}
		owner[id] = claim.Name
	}
}

// volumes fails if a pod is not on the node of its volume.
func (c *mixedLoad) volumes() {
	e := c.e
	e.Helper()
	list, err := e.c.Admin.CoreV1().PersistentVolumes().List(e.ctx, metav1.ListOptions{})
	e.must(err)
	for _, pv := range list.Items {
		name := pv.Spec.ClaimRef.Name
		where := pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0]
		if node := e.o.Pod(key(name)).Node; node != where {
			e.known("the volume of %s is on %s, the pod on %s", name, where, node)
		}
	}
}

// Killed repeatedly under a mixed load: nothing is lost, and nothing is done twice.
func TestSchedulerIsKilledUnderMixedLoad(t *testing.T) {
	const pods, kills = 320, 12
	e := shared(t)
	c := e.mixedLoad(pods, 40)
	for i := range kills {
		p := e.start(fast...)
		goal := (i + 1) * pods / (kills + 1)
		e.await("the crowd gets on", func() bool { return c.bound() >= goal })
		time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond) // to vary the moment
		p.Kill()
	}
	p := e.start(fast...)
	c.finished(kills)
	e.running(p)
}

// Every kind of fault, one after the other, under a mixed load.
func TestEverythingFails(t *testing.T) {
	if testing.Short() {
		t.Skip("takes most of a minute")
	}
	e := private(t, Options{Audit: true})
	relay, err := NewRelay(e.c.Addr())
	e.must(err)
	t.Cleanup(relay.Close)
	p := e.startAt("scheduler", relay.Addr, fast...)
	faults := []func(){
		func() { p.Kill(); p = e.startAt("scheduler", relay.Addr, fast...) },
		relay.Cut,
		func() { relay.HoldAnswers(); time.Sleep(time.Second); relay.Cut() },
		func() { e.c.KillAPI(); e.must(e.c.RestartAPI(e.ctx)) },
		func() { relay.Hold(); time.Sleep(2 * time.Second); relay.Heal() },
		func() { e.c.PauseAPI(); time.Sleep(2 * time.Second); e.c.ResumeAPI() },
		func() { p.Pause(); time.Sleep(2 * time.Second); p.Resume() },
	}
	faults = slices.Concat(faults, faults)
	const pods = 640
	c := e.mixedLoad(pods, 40)
	for i, fault := range faults {
		goal := (i + 1) * pods / (len(faults) + 1)
		e.await("the crowd gets on", func() bool { return c.bound() >= goal })
		fault()
	}
	c.finished(len(faults))
	e.running(p)
}
