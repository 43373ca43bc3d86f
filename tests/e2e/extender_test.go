package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An extender is a third-party program, here one in Python.
type extender struct {
	e    *env
	proc *Proc
	port int
	log  string
}

// A call, as the extender logged it.
type call struct {
	Verb string
	Args struct {
		Pod                   *v1.Pod
		Nodes                 *v1.NodeList
		NodeNames             *[]string
		NodeNameToVictims     map[string]struct{ Pods []*v1.Pod }
		NodeNameToMetaVictims map[string]struct{ Pods []struct{ UID string } }
		PodName, Node         string
	}
}

func (e *env) extender() *extender {
	e.Helper()
	ports, err := freePorts(1)
	e.must(err)
	x := &extender{e: e, port: ports[0], log: e.c.path(e.file("extender") + ".json")}
	x.run()
	return x
}

// run starts or restarts the program.
func (x *extender) run() {
	e := x.e
	e.Helper()
	script, err := filepath.Abs("../extender/extender.py")
	e.must(err)
	x.proc, err = launch(e.c.Dir, e.c.path(e.file("extender")+".log"), "python3", script, "--stay", "--port", fmt.Sprint(x.port),
		"--log", x.log, "--api", "https://"+e.c.Addr(), "--api-ca", e.c.path("certs/apiserver.crt"), "--api-token", adminToken)
	e.must(err)
	e.procs = append(e.procs, x.proc)
	for start := time.Now(); time.Since(start) < patience; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", x.addr()); err == nil {
			conn.Close()
			return
		}
	}
	e.Fatal("the extender does not listen")
}

func (x *extender) addr() string { return fmt.Sprintf("127.0.0.1:%d", x.port) }

// config is the scheduler's configuration with this extender and more of its fields.
func (x *extender) config(more string) []string {
	return x.e.config("scheduler", fmt.Sprintf("extenders:\n- {urlPrefix: 'http://%s/x', %s}\n", x.addr(), more))
}

func (x *extender) calls() (all []call) {
	x.e.Helper()
	file, err := os.Open(x.log)
	x.e.must(err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var q call
		x.e.must(json.Unmarshal(lines.Bytes(), &q))
		all = append(all, q)
	}
	return all
}

const (
	asNames   = "nodeCacheCapable: true"
	asObjects = "nodeCacheCapable: false"
)

// Nodes are sent by name or as objects, and the replies have the same form.
var ways = map[string]string{"names": asNames, "objects": asObjects}

func annotate(pairs ...string) PodMod {
	return func(p *v1.Pod) {
		p.Annotations = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			p.Annotations["extender.example/"+pairs[i]] = pairs[i+1]
		}
	}
}

// The extender scores and rejects, with reasons.
func TestExtenderDecides(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			e := shared(t)
			for _, node := range Nodes("node", 3) {
				e.create(node)
			}
			x := e.extender()
			e.start(x.config("filterVerb: filter, prioritizeVerb: prioritize, weight: 10, " + way)...)
			e.create(NewPod("picky", annotate("refuse", "node-0=no license,node-2")))
			e.boundTo("picky", "node-1")
			e.create(NewPod("fond", annotate("scores", "node-0=1,node-2=9,node-1=3")))
			e.boundTo("fond", "node-2")
			e.create(NewPod("hopeless", annotate("refuse", "node-0=no license,node-1=no license", "unresolvable", "node-2=too old")))
			e.refused("hopeless", "0/3 nodes are available: 1 too old, 2 no license. "+idle(noNewClaims)+"preemption: "+
				"0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.")
			e.create(NewPod("broken", annotate("error", "out of order")))
			pod := e.pod("broken", "is told of the error", func(p *v1.Pod) bool { return scheduled(p) != nil })
			if c := scheduled(pod); c.Reason != v1.PodReasonSchedulerError || c.Message != "out of order" {
				e.Errorf("the condition is %s: %s", c.Reason, c.Message)
			}
			e.event("broken", "FailedScheduling", "out of order")
			// Any event requeues a pod that an extender rejected.
			e.patchPod("hopeless", `{"metadata":{"annotations":{"extender.example/refuse":""}}}`)
			e.bound("hopeless")
			e.blameless()
		})
	}
}

// It receives complete objects, as the API server has them.
func TestExtenderSeesObjects(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0", nodeLabel("a", "b"), func(n *v1.Node) {
		n.Annotations = map[string]string{"note": "<&>\u00e9"}
		n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.1"}}
		n.Status.NodeInfo.KubeletVersion = "v1.36.4"
		n.Spec.PodCIDR = "10.1.0.0/24"
	}), NewNode("node-1"))
	x := e.extender()
	e.start(x.config("filterVerb: filter, " + asObjects)...)
	e.create(NewPod("whole", Requests("cpu", "500m"), func(p *v1.Pod) {
		p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "A", Value: "b"}}
		p.Spec.Containers[0].Command = []string{"sh", "-c", "exit"}
		p.Spec.Containers[0].LivenessProbe = &v1.Probe{
			ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}, PeriodSeconds: 7}
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		p.Spec.DNSConfig = &v1.PodDNSConfig{Nameservers: []string{"10.0.0.10"}}
	}))
	e.bound("whole")
	calls := x.calls()
	if len(calls) == 0 || calls[0].Args.Pod == nil || calls[0].Args.Nodes == nil {
		e.Fatalf("its calls are %+v", calls)
	}
	pod, err := e.c.Admin.CoreV1().Pods("default").Get(e.ctx, "whole", metav1.GetOptions{})
	e.must(err)
	got := calls[0].Args.Pod
	pod.ManagedFields, pod.Spec.NodeName = nil, ""
	pod.ResourceVersion, pod.Generation = got.ResourceVersion, got.Generation
	pod.Status.Conditions = got.Status.Conditions
	if !equality.Semantic.DeepEqual(got, pod) {
		e.Errorf("the pod is told as\n%+v\nand is\n%+v", got, pod)
	}
	for i := range calls[0].Args.Nodes.Items {
		got := &calls[0].Args.Nodes.Items[i]
		node, err := e.c.Admin.CoreV1().Nodes().Get(e.ctx, got.Name, metav1.GetOptions{})
		e.must(err)
		got.ManagedFields, node.ManagedFields = nil, nil
		if !equality.Semantic.DeepEqual(got, node) {
			e.Errorf("the node is told as\n%+v\nand is\n%+v", got, node)
		}
	}
}

// The extender restricts the candidate nodes of preemption.
func TestExtenderPreempts(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			e := shared(t)
			e.create(NewNode("node-0"), NewNode("node-1"),
				NewPod("cheap", onNode("node-0"), Requests("cpu", "4"), priority("low")),
				NewPod("dear", onNode("node-1"), Requests("cpu", "4"), priority("middle")))
			x := e.extender()
			e.start(x.config("preemptVerb: preempt, " + way)...)
			e.create(NewPod("vip", Requests("cpu", "4"), priority("high"), annotate("victims", "node-1")))
			e.nominated("vip", "node-1")
			e.gone("dear")
			e.boundTo("vip", "node-1")
			if e.o.Pod(key("cheap")).Gone {
				e.Error("a pod was evicted that the extender had spared")
			}
		})
	}
}

// Pods are bound only by the extender.
func TestExtenderBinds(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	x := e.extender()
	e.start(x.config("bindVerb: bind")...)
	e.create(NewPod("web"))
	e.boundTo("web", "node-0")
	e.event("web", "Scheduled", "Successfully assigned default/web to node-0")
	if calls := x.calls(); len(calls) != 1 || calls[0].Verb != "bind" || calls[0].Args.PodName != "web" || calls[0].Args.Node != "node-0" {
		e.Errorf("the extender's calls are %+v", calls)
	}
	e.blameless()
}

// Only the extender handles resources that it manages, and it does not see pods without them.
func TestExtenderManages(t *testing.T) {
	e := shared(t)
	for _, node := range Nodes("node", 2) {
		e.create(node)
	}
	x := e.extender()
	e.start(x.config("filterVerb: filter, managedResources: [{name: example.com/foo, ignoredByScheduler: true}], " + asNames)...)
	e.create(NewPod("plain", annotate("refuse", "node-0,node-1")))
	e.bound("plain")
	e.create(NewPod("foo", Requests("example.com/foo", "1"), annotate("refuse", "node-0")))
	e.boundTo("foo", "node-1")
	for _, q := range x.calls() {
		if q.Args.Pod.Name == "plain" {
			e.Error("the extender was called for a pod without its resource")
		}
	}
}

// An unreachable extender is an error, unless it is ignorable.
func TestExtenderUnreachable(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	ports, err := freePorts(1)
	e.must(err)
	away := fmt.Sprintf("extenders:\n- {urlPrefix: 'http://127.0.0.1:%d', filterVerb: filter, prioritizeVerb: p, weight: 1, "+
		"bindVerb: bind, ignorable: true}\n", ports[0])
	p := e.start(e.config("scheduler", away)...)
	e.create(NewPod("web"))
	e.boundTo("web", "node-0")
	p.Kill()
	e.start(e.config("scheduler", strings.Replace(away, "ignorable: true", "ignorable: false", 1))...)
	e.create(NewPod("stuck"))
	pod := e.pod("stuck", "is told of the error", func(p *v1.Pod) bool { return scheduled(p) != nil })
	c := scheduled(pod)
	if want := fmt.Sprintf("Post \"http://127.0.0.1:%d/filter\": ", ports[0]); c.Reason != v1.PodReasonSchedulerError ||
		!strings.HasPrefix(c.Message, want) {
		e.Errorf("the condition is %s: %s", c.Reason, c.Message)
	}
	e.blameless()
}

// mine makes an extender responsible for one resource, which the scheduler ignores.
func mine(resource string) string {
	return fmt.Sprintf("managedResources: [{name: %s, ignoredByScheduler: true}], ", resource)
}

const foo = "example.com/foo"

// failed waits until the pod's condition has an error with this suffix.
func (e *env) failed(name, end string) {
	e.Helper()
	e.pod(name, "is told of the error: "+end, func(p *v1.Pod) bool {
		c := scheduled(p)
		return c != nil && c.Reason == v1.PodReasonSchedulerError && strings.HasSuffix(c.Message, end)
	})
}

// An extender that accepts requests and does not reply delays its pods until the timeout, and is called again; so is one
// that crashes.
func TestExtenderStops(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	x := e.extender()
	e.start(x.config("filterVerb: filter, httpTimeout: 1s, " + mine(foo) + asNames)...)
	e.create(NewPod("before", Requests(foo, "1")))
	e.bound("before")

	x.proc.Pause()
	e.create(NewPod("slow", Requests(foo, "1")))
	e.create(NewPod("redirect-to-get"))
	e.bound("redirect-to-get")
	e.failed("slow", "context deadline exceeded (Client.Timeout exceeded while awaiting headers)")
	x.proc.Resume()
	e.bound("slow")

	x.proc.Kill()
	e.create(NewPod("orphan", Requests(foo, "1")))
	e.create(NewPod("another"))
	e.bound("another")
	e.pod("orphan", "is told of the error", func(p *v1.Pod) bool {
		c := scheduled(p)
		return c != nil && c.Reason == v1.PodReasonSchedulerError &&
			strings.HasPrefix(c.Message, fmt.Sprintf("Post \"http://%s/x/filter\": ", x.addr()))
	})
	x.run()
	e.bound("orphan")
	e.blameless()
}

// While a decision waits for an extender, everything else continues: the lease, health and metrics; and the end of the
// process does not wait for it.
func TestExtenderDoesNotDelayOtherWork(t *testing.T) {
	e := shared(t)
	e.noLease()
	e.create(NewNode("node-0"))
	x := e.extender()
	ports, err := freePorts(1)
	e.must(err)
	conf := e.c.path(e.file("scheduler") + ".conf")
	p := e.start(append(x.config("filterVerb: filter, httpTimeout: 5m, "+mine(foo)+asNames),
		append(electing, "--secure-port", fmt.Sprint(ports[0]), "--authentication-kubeconfig", conf, "--authorization-kubeconfig", conf)...)...)
	e.create(NewPod("first", Requests(foo, "1")))
	e.bound("first")
	leader := e.holder()

	x.proc.Pause()
	calls := len(x.calls())
	e.create(NewPod("waiting", Requests(foo, "1")))
	began := time.Now()
	for renewals, last := 0, began; renewals < 2; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > patience {
			e.Fatalf("the lease was renewed %d times in %v", renewals, patience)
		}
		// Longer than a lease lasts, from now on.
		if at := e.lease("kube-system", "kube-scheduler").Spec.RenewTime.Time; at.Sub(last) > leaseTime/2 {
			renewals, last = renewals+1, at
		}
	}
	if e.holder() != leader {
		e.Error("the lease was lost")
	}
	e.scrape(ports[0])
	if took, err := p.Terminate(20 * time.Second); err != nil || took > 10*time.Second {
		e.Errorf("it took %v to end: %v", took, err)
	}
	x.proc.Resume()
	if c := scheduled(e.o.Pod(key("waiting")).Pod); c != nil && c.Reason == v1.PodReasonUnschedulable {
		e.Errorf("an undecided pod is called unschedulable: %s", c.Message)
	}
	if len(x.calls()) < calls {
		e.Error("the extender forgot")
	}
	e.blameless()
}

// A bind that hangs affects only its pod.
func TestExtenderBindHangs(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	x := e.extender()
	e.start(x.config("bindVerb: bind, httpTimeout: 2m, " + mine(foo) + asNames)...)
	e.create(NewPod("first", Requests(foo, "1")))
	e.bound("first")
	x.proc.Pause()
	for i := range 5 {
		e.create(NewPod(fmt.Sprint("stuck-", i), Requests(foo, "1")))
	}
	for i := range 20 {
		e.create(NewPod(fmt.Sprint("free-", i)))
		e.bound(fmt.Sprint("free-", i))
	}
	for i := range 5 {
		if node := e.o.Pod(key(fmt.Sprint("stuck-", i))).Node; node != "" {
			e.Errorf("stuck-%d was bound to %s by another client", i, node)
		}
	}
	x.proc.Resume()
	for i := range 5 {
		e.bound(fmt.Sprint("stuck-", i))
	}
	e.blameless()
}

// Any reply of an extender has a clear outcome, and other pods are not affected.
func TestExtenderMisbehaves(t *testing.T) {
	e := shared(t)
	e.create(NewNode("a"), NewNode("b"))
	script, err := filepath.Abs("../extender/misbehaving.py")
	e.must(err)
	log := e.c.path(e.file("misbehaving") + ".log")
	extender, err := launch(e.c.Dir, log, "sh", "-c", `sleep 100000 | exec python3 -u "$1"`, "sh", script)
	e.must(err)
	e.procs = append(e.procs, extender)
	var port int
	for start := time.Now(); port == 0 && time.Since(start) < patience; time.Sleep(20 * time.Millisecond) {
		fmt.Sscan(extender.Tail(1), &port)
	}
	fails := map[string]string{ // suffix of the error; "": any, the schedulers differ
		"unknown-node":     `claims a filtered node "nowhere" which is not found in the input node list`,
		"broken":           "/broken/filter, code 500",
		"created":          "/created/filter, code 201",
		"long-error":       "/long-error/filter, code 500",
		"late":             "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
		"drip":             "context deadline exceeded (Client.Timeout or context cancellation while reading body)",
		"redirect-nowhere": "/redirect-nowhere/filter, code 307",
		"redirect-loop":    `"/redirect-loop/filter": stopped after 10 redirects`,
		"redirect-to-file": "", "wrong-types": "", "html": "", "empty": "", "close": "", "cut": "", "garbage": "", "bad-gzip": "",
	}
	works := map[string]string{ // where the pod goes; "": anywhere
		"correct": "", "redirect": "", "redirect-absolute": "", "redirect-to-get": "b", "gzip": "", "chunked": "", "connection-close": "", "close-after": "", "extreme-scores": "",
	}
	text := "extenders:\n"
	for _, faults := range []map[string]string{fails, works} {
		for fault := range faults {
			text += fmt.Sprintf("- {urlPrefix: 'http://127.0.0.1:%d/%s', filterVerb: filter, httpTimeout: 1500ms, %s%s}\n",
				port, fault, mine("example.com/"+fault), asNames)
		}
	}
	e.start(e.config("scheduler", text)...)
	for _, faults := range []map[string]string{fails, works} {
		for fault := range faults {
			e.create(NewPod(fault, Requests("example.com/"+fault, "1")))
			e.create(NewPod("beside-" + fault))
		}
	}
	for fault, end := range fails {
		e.failed(fault, end)
		e.bound("beside-" + fault)
	}
	for fault, node := range works {
		if got := e.bound(fault); node != "" && got != node {
			e.Errorf("%s is on %s, want %s", fault, got, node)
		}
		e.bound("beside-" + fault)
	}
	e.blameless()
}
