package e2e

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// with starts the scheduler with a plugin from a file and its arguments.
func (e *env) with(t *testing.T, source, plugin, args string) *plugged {
	e.Helper()
	e.berthOnly("kube-scheduler has no loadable plugins")
	ports, err := freePorts(1)
	e.must(err)
	file := e.build(source, plugin)
	conf := e.c.path(e.file("scheduler") + ".conf")
	flags := e.config("scheduler", fmt.Sprintf(`
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 1
profiles:
- plugins: {multiPoint: {enabled: [{name: %s}]}}
  pluginConfig: [{name: %s, args: {%s}}]
`, plugin, plugin, args))
	x := &plugged{env: e, port: ports[0], folder: t.TempDir()}
	x.proc = e.start(append(flags, "--plugin", file, "--secure-port", fmt.Sprint(x.port), "-v", "4",
		"--authentication-kubeconfig", conf, "--authorization-kubeconfig", conf)...)
	x.listens(x.proc)
	return x
}

func gangOf(name string, size int) PodMod {
	return labels("gang/name", name, "gang/size", fmt.Sprint(size))
}

// The gang example: all pods of a gang are reserved together, or unreserved together, whatever happens to one of them.
func TestGang(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewNode("node-1"))
	x := e.with(t, "../../examples/plugins/gang.c", "Gang", "timeout: 20s")
	for i := range 3 {
		e.create(NewPod(fmt.Sprint("four-", i), Requests("cpu", "2"), gangOf("four", 4)))
	}
	// At most three exist when the first is tried, and none of them reserves resources.
	e.pod("four-0", "is refused", func(p *v1.Pod) bool {
		c := scheduled(p)
		return c != nil && strings.Contains(c.Message, "of 4 pods")
	})
	e.create(NewPod("single", Requests("cpu", "1")))
	e.bound("single")
	// The fourth exists and does not fit: the others wait for it with their reservations.
	e.create(NewPod("four-3", Requests("cpu", "2"), gangOf("four", 4)))
	x.becomes("three of them wait", func() bool {
		_, counts := x.waiting("")
		return counts["waiting for permission"] == 3
	})
	e.remove("single")
	for i := range 4 {
		e.bound(fmt.Sprint("four-", i))
		e.remove(fmt.Sprint("four-", i))
	}

	// One of the waiting pods is deleted: the resources of the others are freed.
	for i := range 3 {
		e.create(NewPod(fmt.Sprint("three-", i), Requests("cpu", "3"), gangOf("three", 3)))
	}
	x.becomes("two of them wait", func() bool {
		_, counts := x.waiting("")
		return counts["waiting for permission"] == 2
	})
	pods, _ := x.waiting("")
	for name := range pods {
		e.remove(name)
		break
	}
	x.becomes("no pod waits", func() bool { pods, _ := x.waiting(""); return len(pods) == 0 })
	e.create(NewPod("big-0", Requests("cpu", "4")), NewPod("big-1", Requests("cpu", "4")))
	e.bound("big-0")
	e.bound("big-1")
	e.blameless()
}

// A plugin's mistake is reported at its pod, and no other pod is affected.
func TestPluginMistakes(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewNode("node-1"))
	x := e.with(t, "../plugins/mistakes.c", "Mistakes", "")
	mistakes := map[string]string{
		"pre-filter-strange": `running PreFilter plugin "Mistakes": 42 is no verdict`,
		"pre-filter-silent":  `running PreFilter plugin "Mistakes": failed, and does not say why`,
		"filter-strange":     `running "Mistakes" filter plugin: 42 is no verdict`,
		"filter-skip":        `running "Mistakes" filter plugin: Skip is no answer here`,
		"score-high":         `plugin "Mistakes" returns an invalid score 101, it should in the range of [0, 100] after normalizing`,
		"score-strange":      `failed with: 42 is no verdict`,
		"reserve-wait":       `running Reserve plugin "Mistakes": Wait is no answer here`,
		"permit-skip":        `running Permit plugin "Mistakes": Skip is no answer here`,
		"permit-backwards":   `rejected due to timeout after waiting 1ms at plugin Mistakes.`,
		"pre-bind-wait":      `running PreBind plugin "Mistakes": Wait is no answer here: it may take its time instead`,
		"pre-bind-kept":      `running PreBind plugin "Mistakes": it sees 0 nodes`,
	}
	for mistake := range mistakes {
		e.create(NewPod(mistake, labels("mistake", mistake)))
	}
	for mistake, end := range mistakes {
		e.pod(mistake, "is told: "+end, func(p *v1.Pod) bool {
			c := scheduled(p)
			return c != nil && strings.HasSuffix(c.Message, end)
		})
	}
	for _, mistake := range []string{"nothing", "pre-bind-looks"} {
		e.create(NewPod(mistake, labels("mistake", mistake)))
		e.bound(mistake)
	}
	x.says("A plugin looks at the cluster in PreBind or Bind")
	x.says("A plugin asks for objects of a kind that is not watched")
	e.running(x.proc)
	e.blameless()

	x.proc.byUs.Store(true)
	e.create(NewPod("crash", labels("mistake", "crash")))
	<-x.proc.Done()
	x.says(`berth: plugin "Mistakes" of ` + e.c.path("Mistakes.so") + ` crashed: Segmentation fault`)
}

// A plugin reads all that it can reach at every extension point, of 200 equal pods that are bound as fast as it goes: the
// watch shows a binding before or after its answer. Some of the pods are deleted meanwhile.
func TestPluginReadsEverything(t *testing.T) {
	e := shared(t)
	e.berthOnly("kube-scheduler has no loadable plugins")
	e.apply(base(e, "samples")) // the stock role has no right to samples,
	e.apply(base(e, "network")) // nor to a ConfigMap
	const pods, nodes = 200, 20
	for i := range nodes {
		e.create(NewNode(fmt.Sprint("node-", i), Allocatable("pods", "110", "cpu", "64")))
	}
	flags := e.config("scheduler", `
profiles:
- plugins:
    queueSort: {disabled: [{name: PrioritySort}]}
    bind: {disabled: [{name: "*"}], enabled: [{name: Accessors}, {name: DefaultBinder}]}
    multiPoint: {enabled: [{name: Accessors}]}
`)
	p := e.start(append(flags, "--plugin", e.build("../plugins/accessors.c", "Accessors"))...)
	var all []runtime.Object
	for i := range pods {
		all = append(all, NewPod(fmt.Sprint("equal-", i), Requests("cpu", "100m")))
	}
	e.createAll(all)
	for i := 9; i < pods; i += 10 {
		e.remove(fmt.Sprint("equal-", i))
	}
	for i := range pods {
		if i%10 != 9 {
			e.bound(fmt.Sprint("equal-", i))
		}
	}
	e.running(p)
	e.blameless()
}
