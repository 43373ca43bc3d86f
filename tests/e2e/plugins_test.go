package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// plugged is a scheduler with a plugin of a shared object, ../plugins/everything.c, which acts at every extension point as
// labels of the pod say, and logs its calls.
type plugged struct {
	*env
	proc   *Proc
	port   int
	folder string // for files between the plugin and the test
}

// build makes a shared object of a source file, only with a compiler and the public header.
func (e *env) build(source, plugin string) string {
	e.Helper()
	cc, include := os.Getenv("CC"), os.Getenv("BERTH_INCLUDE")
	if cc == "" {
		cc = "cc"
	}
	if include == "" {
		include = "../../include"
	}
	path := e.c.path(plugin + ".so")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	args := append(strings.Fields(os.Getenv("CFLAGS")), "-O1", "-shared", "-fPIC", "-pthread", "-I"+include, "-o", path, source)
	out, err := exec.Command(cc, args...).CombinedOutput()
	if err != nil {
		e.Fatalf("%s does not build: %v\n%s", source, err, out)
	}
	return path
}

func (e *env) buildPlugin() string {
	e.Helper()
	return e.build("../plugins/everything.c", "Everything")
}

func (e *env) plugged(t *testing.T) *plugged {
	e.Helper()
	e.berthOnly("kube-scheduler has no loadable plugins")
	ports, err := freePorts(1)
	e.must(err)
	x := &plugged{env: e, port: ports[0], folder: t.TempDir()}
	x.proc = x.startPlugged("scheduler")
	return x
}

func (x *plugged) startPlugged(name string) *Proc {
	x.Helper()
	conf := x.c.path(x.file(name) + ".conf")
	flags := x.config(name, fmt.Sprintf(`
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 1
profiles:
- schedulerName: default-scheduler
  plugins:
    queueSort: {disabled: [{name: PrioritySort}]}
    bind: {disabled: [{name: "*"}], enabled: [{name: Everything}, {name: DefaultBinder}]}
    multiPoint: {enabled: [{name: Everything, weight: 90}]}
  pluginConfig:
  - name: Everything
    args: {greeting: ahoy, number: 12, pause: 1m30s, folder: %q}
`, x.folder))
	flags = append(flags, "--plugin", x.buildPlugin(), "--secure-port", fmt.Sprint(x.port), "-v", "4",
		"--authentication-kubeconfig", conf, "--authorization-kubeconfig", conf)
	p := x.startAt(name, x.c.Addr(), flags...)
	x.listens(p)
	return p
}

func (x *plugged) listens(p *Proc) {
	x.Helper()
	x.becomes("it listens", func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", x.port))
		if err == nil {
			conn.Close()
		}
		return err == nil || !p.Alive()
	})
	x.running(p)
}

// told are labels by which the plugin acts on a pod.
func told(pairs ...string) PodMod {
	return func(p *v1.Pod) {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		for i := 0; i < len(pairs); i += 2 {
			p.Labels["test/"+pairs[i]] = pairs[i+1]
		}
	}
}

// becomes polls for a condition that no watch reports.
func (e *env) becomes(what string, done func() bool) {
	e.Helper()
	for began := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > patience {
			e.Fatalf("this did not happen within %v: %s", patience, what)
		}
	}
}

// said counts the lines of the scheduler's log with a text.
func (x *plugged) said(text string) (count int) {
	x.Helper()
	b, err := os.ReadFile(x.proc.Log)
	x.must(err)
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, text) {
			count++
		}
	}
	return count
}

func (x *plugged) says(text string) {
	x.Helper()
	x.becomes("the log says "+text, func() bool { return x.said(text) > 0 })
}

// once waits for a line, and fails if there are more.
func (x *plugged) once(text string) {
	x.Helper()
	x.says(text)
	if n := x.said(text); n != 1 {
		x.Errorf("the log says %d times: %s", n, text)
	}
}

func (x *plugged) page(path string) (int, []byte) {
	x.Helper()
	request, err := http.NewRequest("GET", fmt.Sprintf("https://127.0.0.1:%d%s", x.port, path), nil)
	x.must(err)
	request.Header.Set("Authorization", "Bearer "+adminToken)
	response, err := scraper.Do(request)
	x.must(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	x.must(err)
	return response.StatusCode, body
}

// waitingPod is one of /debug/berth/waiting.
type waitingPod struct {
	Namespace, Name, Scheduler, Node, Stage string
	Since                                   time.Time
	Seconds                                 float64
	WaitsFor                                []struct {
		Plugin      string
		SecondsLeft *float64
	}
}

// waiting are the pods in a binding cycle, by name, and their number by stage.
func (x *plugged) waiting(query string) (map[string]waitingPod, map[string]int) {
	x.Helper()
	status, body := x.page("/debug/berth/waiting" + query)
	var page struct {
		Counts map[string]int
		Pods   []waitingPod
		Left   int
	}
	if err := json.Unmarshal(body, &page); status != http.StatusOK || err != nil {
		x.Fatalf("/debug/berth/waiting%s: status %d, %v: %s", query, status, err, body)
	}
	pods := map[string]waitingPod{}
	for _, pod := range page.Pods {
		pods[pod.Name] = pod
	}
	return pods, page.Counts
}

func (x *plugged) nobodyWaits() {
	x.Helper()
	x.becomes("no pod is in a binding cycle", func() bool {
		pods, counts := x.waiting("")
		return len(pods) == 0 && counts["waiting for permission"]+counts["preparing"]+counts["binding"] == 0
	})
}

// at waits until the pod is at a stage.
func (x *plugged) at(name, stage string) waitingPod {
	x.Helper()
	var pod waitingPod
	x.becomes(name+" is "+stage, func() bool {
		pods, _ := x.waiting("")
		pod = pods[name]
		return pod.Stage == stage
	})
	return pod
}

func (x *plugged) touch(name string) {
	x.Helper()
	x.must(os.WriteFile(filepath.Join(x.folder, name), nil, 0o600))
}

func (x *plugged) begun(name string) {
	x.Helper()
	x.becomes(name+" is begun", func() bool {
		_, err := os.Stat(filepath.Join(x.folder, name+".begun"))
		return err == nil
	})
}

// A pod through all slots: in the plugin's order, to the plugin's nodes, with its arguments, lists, logs and metrics.
func TestPluginIsAskedEverywhere(t *testing.T) {
	e := shared(t)
	e.create(NewNode("small"), NewNode("large", Allocatable("cpu", "16")), NewNode("shut", nodeLabel("closed", "yes")),
		newClass("now", immediate, ""), newClaim("data", "now", ""),
		NewPod("a"), NewPod("c", told("lists", "all")), NewPod("b", told("narrow", "small", "pre-bind", "fast")))
	x := e.plugged(t)
	e.boundTo("a", "large")
	e.boundTo("b", "small")
	e.boundTo("c", "large")
	x.says("init ahoy number=12 pause=90000000000")
	x.says("a verbose line of default-scheduler")
	x.says("lists nodes=3 pods=3 claims=1 classes=1 class=now image=")
	x.says("pre_score 2")
	for _, name := range []string{"a", "b", "c"} {
		x.once("post_bind " + name)
	}
	x.once("pre_bind b on small, core thread: 0, cluster: 0, state: 1, cancelled: 0")
	b, err := os.ReadFile(x.proc.Log)
	e.must(err)
	at := func(text string) int { return strings.Index(string(b), text) }
	if c, b, a := at("reserve c on large after 3 filters"), at("reserve b on small"), at("reserve a on large"); c < 0 || b < c || a < b {
		t.Errorf("the plugin sorts by name, backwards; they were decided at %d, %d, %d of the log", c, b, a)
	}
	page, _ := e.scrape(x.port)
	for name, want := range map[string]string{
		"everything_calls_total": "counter", "everything_waiting": "gauge", "everything_filters": "histogram"} {
		if f := page[name]; f == nil || f.kind != want {
			t.Errorf("/metrics shows %s as %+v, want a %s", name, f, want)
		}
	}
	if got := page["everything_filters"].values["everything_filters_count{}"]; got != "3" {
		t.Errorf("everything_filters_count is %q, want 3: %v", got, page["everything_filters"].values)
	}
	if x.said("unreserve") != 0 {
		t.Error("a pod that was bound was unreserved")
	}
}

// The plugin's gate keeps a pod out of the queue, and an event for which it has a rule opens it.
func TestPluginHoldsPodsBack(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewPod("gated", told("pre-enqueue", "until-open")))
	x := e.plugged(t)
	e.create(NewPod("free"))
	e.bound("free")
	_, body := x.page("/debug/berth/queue?pod=default/gated")
	if !strings.Contains(string(body), `"queue":"gated"`) || !strings.Contains(string(body), `"gate":"Everything"`) {
		t.Errorf("the queue says %s", body)
	}
	e.create(NewNode("open", nodeLabel("test/open", "yes")))
	e.bound("gated")
	x.says("hint gated self=1 actions=1 open=1")
}

// A pod that the plugin rejected is requeued by the plugin's rules and hints, and not otherwise.
func TestPluginHintsWake(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0", nodeLabel("closed", "yes")))
	x := e.plugged(t)
	e.create(NewPod("web"))
	e.refused("web", "0/1 nodes are available: 1 node(s) were closed. "+noVictims(1))
	e.patchNode("node-0", `{"metadata":{"labels":{"colour":"red"}}}`)
	x.says("hint web self=1 actions=8 open=0")
	e.patchNode("node-0", `{"metadata":{"labels":{"closed":null}}}`)
	e.boundTo("web", "node-0")
	x.says("hint web self=1 actions=8 open=1")
}

// Preemption calls the plugin's filter on hypothetical nodes: its counts follow by add_pod and remove_pod.
func TestPluginWhatIf(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewNode("node-1"))
	for i, class := range []string{"middle", "low"} {
		e.create(NewPod("loud-"+class, onNode(fmt.Sprintf("node-%d", i)), told("loud", "yes"), priority(class), grace(0)),
			NewPod("still-"+class, onNode(fmt.Sprintf("node-%d", i)), priority("low"), grace(0)))
	}
	x := e.plugged(t)
	e.create(NewPod("polite", told("quiet", "yes")))
	e.refused("polite", "0/2 nodes are available: 2 node(s) were too loud. "+noVictims(2))
	e.create(NewPod("vip", told("quiet", "yes"), priority("high")))
	e.nominated("vip", "node-1")
	e.gone("loud-low")
	e.boundTo("vip", "node-1")
	x.says("remove_pod loud-low")
	x.says("add_pod still-low") // which need not be evicted: it was added again
	for _, name := range []string{"loud-middle", "still-middle", "still-low"} {
		if e.o.Pod(key(name)).Gone {
			t.Errorf("%s was evicted for nothing", name)
		}
	}
}

// The plugin's PostFilter: it evicts pods of the same priority, which preemption would not.
func TestPluginPostFilter(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewPod("sitting", onNode("node-0"), Requests("cpu", "4"), grace(0)))
	x := e.plugged(t)
	e.create(NewPod("rude", Requests("cpu", "4"), told("victims", "all")))
	e.gone("sitting")
	e.boundTo("rude", "node-0")
	x.says("post_filter node-0 code=2 fits_without=1")
	e.blameless()
}

// Reserve fails, or a later stage does: the reservation is undone once, and the pod's condition has the reason.
func TestPluginReserves(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	x := e.plugged(t)
	e.create(NewPod("shelved", told("reserve", "fail")))
	e.refused("shelved", "0/1 nodes are available: 1 the shelf is full.")
	x.once("unreserve shelved")
	e.create(NewPod("unwanted", Requests("cpu", "4"), told("permit", "no")))
	e.refused("unwanted", "0/1 nodes are available: 1 not today.")
	x.once("unreserve unwanted")
	e.create(NewPod("big", Requests("cpu", "4")))
	e.boundTo("big", "node-0")
	e.blameless()
}

// Permit: a thread of the plugin allows or rejects a pod, or there is no answer until the timeout.
func TestPluginPermits(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	x := e.plugged(t)
	e.create(NewPod("held", Requests("cpu", "1"), told("permit", "hold")))
	pod := x.at("held", "waiting for permission")
	if pod.Namespace != "default" || pod.Node != "node-0" || pod.Scheduler != "default-scheduler" || len(pod.WaitsFor) != 1 ||
		pod.WaitsFor[0].Plugin != "Everything" || time.Since(pod.Since) > time.Minute {
		t.Errorf("it is shown as %+v", pod)
	} else if left := *pod.WaitsFor[0].SecondsLeft; left > 60 || left < 20 || left+pod.Seconds < 59 || left+pod.Seconds > 61 {
		t.Errorf("of a minute, %v s are left after %v s", left, pod.Seconds)
	}
	e.nominated("held", "node-0")
	x.shownByTheCommand()
	// Events meanwhile do not lose it, and other pods are scheduled.
	e.patchPod("held", `{"metadata":{"labels":{"more":"words"}}}`)
	e.create(NewPod("meanwhile"))
	e.bound("meanwhile")
	if pods, counts := x.waiting("?pod=default/held"); len(pods) != 1 || counts["waiting for permission"] != 1 {
		t.Errorf("after an update: %v, %v", pods, counts)
	}
	if status, _ := x.page("/debug/berth/waiting?limit=x"); status != http.StatusBadRequest {
		t.Errorf("a limit that is no number: status %d", status)
	}
	if r, err := scraper.Get(fmt.Sprintf("https://127.0.0.1:%d/debug/berth/waiting", x.port)); err != nil || r.StatusCode != http.StatusForbidden {
		t.Errorf("anonymous access: %v, %v", r, err)
	} else {
		r.Body.Close()
	}
	e.create(NewPod("opener", told("allow", "held")))
	e.boundTo("held", "node-0")
	x.once("post_bind held")

	e.create(NewPod("unlucky", told("permit", "hold")))
	x.at("unlucky", "waiting for permission")
	e.create(NewPod("closer", told("refuse", "unlucky")))
	e.refused("unlucky", "0/1 nodes are available: 1 rejected by a thread.")
	x.says("unreserve unlucky")
	e.create(NewPod("late", told("permit", "timeout")))
	e.refused("late", "0/1 nodes are available: 1 rejected due to timeout after waiting 200ms at plugin Everything.")
	x.once("unreserve late")
	e.create(NewPod("quick", told("permit", "wait")))
	e.boundTo("quick", "node-0")
	x.nobodyWaits()
	e.blameless()
}

func (x *plugged) shownByTheCommand() {
	x.Helper()
	ask := func(args ...string) string {
		args = append([]string{"queue", "--server", fmt.Sprintf("https://127.0.0.1:%d", x.port), "--kubeconfig",
			x.c.path("admin.conf"), "--insecure-skip-tls-verify", "--insecure-send-credentials"}, args...)
		out, err := exec.Command(x.argv[0], args...).CombinedOutput()
		if err != nil {
			x.Fatalf("berth %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	for _, args := range [][]string{{}, {"default/held"}} {
		out := ask(args...)
		for _, word := range []string{"waiting for permission", "default/held", "node-0", "Everything (", "s left)"} {
			if !strings.Contains(out, word) {
				x.Errorf("berth queue %v does not say %q:\n%s", args, word, out)
			}
		}
	}
	var page struct {
		Counts  map[string]int
		Waiting struct{ Pods []waitingPod }
	}
	if err := json.Unmarshal([]byte(ask("-o", "json")), &page); err != nil || page.Counts == nil || len(page.Waiting.Pods) != 1 {
		x.Errorf("berth queue -o json: %v, %+v", err, page)
	}
}

// A pod that is deleted while it waits leaves nothing behind: its resources, its reservation and its entry in the list are freed.
func TestPluginLosesAWaitingPod(t *testing.T) {
	for name, finalizer := range map[string]string{"at once": "", "after a while": "e2e.example.com/kept"} {
		t.Run(name, func(t *testing.T) {
			e := shared(t)
			e.create(NewNode("node-0"))
			x := e.plugged(t)
			e.create(NewPod("held", Requests("cpu", "4"), told("permit", "hold"), func(p *v1.Pod) {
				if finalizer != "" {
					p.Finalizers = []string{finalizer}
				}
			}))
			x.at("held", "waiting for permission")
			e.create(NewPod("next", Requests("cpu", "4")))
			e.refused("next", "0/1 nodes are available: 1 Insufficient cpu. "+noVictims(1))
			e.remove("held")
			e.boundTo("next", "node-0")
			x.nobodyWaits()
			x.once("unreserve held")
			if finalizer != "" {
				e.patchPod("held", `{"metadata":{"finalizers":null}}`)
			}
			e.gone("held")
			// A pod with the same name is another pod.
			e.remove("next")
			e.create(NewPod("held", Requests("cpu", "4")))
			e.boundTo("held", "node-0")
			x.once("unreserve held")
			// The API shows a binding before the scheduler has its answer.
			e.eventually("no pod is left in the queue", func() error {
				if _, body := x.page("/debug/berth/queue"); !strings.Contains(string(body), `"pods":[]`) {
					return fmt.Errorf("it has %s", body)
				}
				return nil
			})
			e.blameless()
			e.running(x.proc)
		})
	}
}

// SIGTERM while pods wait in Permit, or a plugin is busy with them, does not wait; the next scheduler finds them.
func TestPluginEndsWhilePodsWait(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	x := e.plugged(t)
	for i := range 3 {
		e.create(NewPod(fmt.Sprintf("held-%d", i), told("permit", "hold")))
		x.at(fmt.Sprintf("held-%d", i), "waiting for permission")
	}
	e.create(NewPod("busy", told("pre-bind", "file")))
	x.begun("busy")
	took, err := x.proc.Terminate(patience) // the Permit waits for a minute, and the file is never created
	e.must(err)
	t.Logf("ended %v after SIGTERM, %s", took.Round(time.Millisecond), x.proc.Exit())
	x.once("pre_bind busy on node-0, core thread: 0, cluster: 0, state: 1, cancelled: 1")
	if x.proc.Exit() != "exit status 0" {
		t.Errorf("ended with %s", x.proc.Exit())
	}
	if x.said("release") != 1 {
		t.Error("the plugin was not released")
	}
	e.startAt("next", e.c.Addr())
	for i := range 3 {
		e.boundTo(fmt.Sprintf("held-%d", i), "node-0")
	}
	e.boundTo("busy", "node-0")
	e.blameless()
}

// PreBind and Bind may be slow: other pods are decided and bound meanwhile.
func TestPluginBlocks(t *testing.T) {
	for point, stage := range map[string]string{"pre-bind": "preparing", "bind": "binding"} {
		t.Run(point, func(t *testing.T) {
			e := shared(t)
			e.create(NewNode("node-0"))
			x := e.plugged(t)
			var slow []string
			for i := range 8 {
				slow = append(slow, fmt.Sprintf("slow-%d", i))
				e.create(NewPod(slow[i], Requests("cpu", "100m"), told(point, "file")))
			}
			for _, name := range slow {
				x.begun(name)
			}
			for i := range 20 {
				e.create(NewPod(fmt.Sprintf("quick-%d", i), Requests("cpu", "100m")))
			}
			for i := range 20 {
				e.bound(fmt.Sprintf("quick-%d", i))
			}
			if pod := x.at(slow[0], stage); len(pod.WaitsFor) != 1 || pod.WaitsFor[0].Plugin != "Everything" || pod.WaitsFor[0].SecondsLeft != nil {
				t.Errorf("it is shown as %+v", pod)
			}
			for _, name := range slow {
				if s := e.o.Pod(key(name)); s.Node != "" {
					t.Errorf("%s was bound although the plugin is still busy with it", name)
				}
				x.touch(name + ".go")
			}
			for _, name := range slow {
				e.bound(name)
				x.once(strings.ReplaceAll(point, "-", "_") + " " + name + " on node-0, core thread: 0, cluster: 0, state: 1, cancelled: 0")
			}
			x.nobodyWaits()

			// A failed pod is unreserved and tried again.
			e.create(NewPod("unlucky", told(point, "fail")))
			e.boundTo("unlucky", "node-0")
			x.once("unreserve unlucky")
			called := map[string]string{"pre-bind": "PreBind", "bind": "Bind"}[point]
			e.event("unlucky", "FailedScheduling", fmt.Sprintf("running %s plugin \"Everything\": disk 3 is on fire", called))

			// A pod that is deleted meanwhile is not waited for.
			e.create(NewPod("leaving", Requests("cpu", "1"), told(point, "file")))
			x.begun("leaving")
			e.remove("leaving")
			x.nobodyWaits()
			x.says("leaving on node-0, core thread: 0, cluster: 0, state: 1, cancelled: 1")
			x.once("unreserve leaving")
			e.create(NewPod("last", Requests("cpu", "1")))
			e.bound("last")
			e.blameless()
			e.running(x.proc)
		})
	}
}

// A Bind plugin that binds by itself: no other plugin does.
func TestPluginBinds(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	x := e.plugged(t)
	e.create(NewPod("web", told("bind", "mine")))
	x.begun("web")
	e.must(e.c.Admin.CoreV1().Pods("default").Bind(e.ctx, &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Target: v1.ObjectReference{Kind: "Node", Name: "node-0"}}, metav1.CreateOptions{}))
	e.boundTo("web", "node-0")
	x.touch("web.go")
	x.once("post_bind web")
	x.nobodyWaits()
	if x.said("unreserve web") != 0 {
		t.Error("it was unreserved")
	}
	e.blameless()
}

// A plugin activates another pod, which no event would requeue.
func TestPluginActivates(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	x := e.plugged(t)
	e.create(NewPod("second", told("needs", "first")))
	e.pod("second", "is refused", func(p *v1.Pod) bool {
		c := scheduled(p)
		return c != nil && c.Status == v1.ConditionFalse && strings.Contains(c.Message, "first is not bound yet")
	})
	e.create(NewPod("other"))
	e.bound("other")
	e.create(NewPod("first", told("activate", "second")))
	e.boundTo("first", "node-0")
	e.boundTo("second", "node-0")
	e.running(x.proc)
}
