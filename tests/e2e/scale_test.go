package e2e

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// mixed is pod number i of a load in which one in ten has its own constraints.
func mixed(i int) *v1.Pod {
	mods := []PodMod{Requests("cpu", fmt.Sprintf("%dm", 200+100*(i%8)), "memory", fmt.Sprintf("%dMi", 256*(1+i%4)))}
	switch i % 40 {
	case 0:
		mods = append(mods, selector(zone, fmt.Sprintf("zone-%d", i%5)))
	case 10:
		mods = append(mods, labels("app", "spread"), spread(zone, "spread"))
	case 20:
		mods = append(mods, labels("app", "apart"), apart(v1.LabelHostname, "apart"))
	case 30:
		mods = append(mods, priority("high"), func(p *v1.Pod) {
			p.Spec.Tolerations = []v1.Toleration{{Key: "dedicated", Operator: v1.TolerationOpExists}}
		})
	}
	return NewPod(fmt.Sprintf("pod-%d", i), mods...)
}

// 5,000 nodes and 10,000 pods, to the last one.
func TestLargeCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	const nodes, pods = 5000, 10000
	e := private(t, Options{})
	var all []runtime.Object
	for i := range nodes {
		mods := []NodeMod{nodeLabel(zone, fmt.Sprintf("zone-%d", i%5))}
		if i%50 == 0 {
			mods = append(mods, nodeTaint("dedicated", v1.TaintEffectNoSchedule))
		}
		all = append(all, NewNode(fmt.Sprintf("node-%d", i), mods...))
	}
	began := time.Now()
	e.createAll(all)
	t.Logf("%d nodes created in %v", nodes, time.Since(began).Round(time.Second))
	p := e.start("--kube-api-qps", "5000", "--kube-api-burst", "5000")
	e.create(NewPod("warm"))
	e.bound("warm")

	all = nil
	for i := range pods {
		all = append(all, mixed(i))
	}
	began = time.Now()
	e.createAll(all)
	created := time.Since(began)
	if err := e.within(10*time.Minute, func() bool { return e.o.Bound() == pods+1 }); err != nil {
		t.Fatalf("%d of %d pods were bound (%v)", e.o.Bound()-1, pods, err)
	}
	took := time.Since(began)
	u := p.Usage()
	fmt.Printf("%d pods on %d nodes: created in %v, all bound after %v, %v of CPU time and %.0f MiB at the peak (%s)\n",
		pods, nodes, created.Round(time.Second), took.Round(time.Second), u.CPU.Round(time.Second), u.PeakMiB, e.sched)
	e.blameless()
	e.running(p)
}
