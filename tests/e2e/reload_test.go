package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reloaded is a scheduler whose configuration changes while it runs.
type reloaded struct {
	*env
	p       *Proc
	port    int
	applied int // number of configurations that took effect
	began   time.Time
}

// reloadable starts the scheduler with a configuration, which write() changes, and waits until it has read it.
func reloadable(e *env, text string, flags ...string) *reloaded {
	e.Helper()
	r := startReloadable(e, text, flags...)
	r.soon("it listens", func() bool { return r.get("/configz") != "" })
	return r
}

func startReloadable(e *env, text string, flags ...string) *reloaded {
	e.Helper()
	e.berthOnly("kube-scheduler reads its configuration once")
	ports, err := freePorts(1)
	e.must(err)
	r := &reloaded{env: e, port: ports[0], began: time.Now()}
	conf := e.c.path(e.file("scheduler") + ".conf")
	all := append(e.config("scheduler", text), "--secure-port", fmt.Sprint(r.port), "--authentication-kubeconfig", conf,
		"--authorization-kubeconfig", conf)
	r.p = e.start(append(all, flags...)...)
	e.held(r.p)
	return r
}

// write replaces the contents of the file.
func (r *reloaded) write(text string) {
	r.Helper()
	r.config("scheduler", text)
}

func (r *reloaded) hangup() {
	r.Helper()
	r.running(r.p)
	r.p.signal(syscall.SIGHUP)
}

// get reads a page, or nothing while the port is closed.
func (r *reloaded) get(page string) string {
	r.Helper()
	request, err := http.NewRequest("GET", fmt.Sprintf("https://127.0.0.1:%d%s", r.port, page), nil)
	r.must(err)
	request.Header.Set("Authorization", "Bearer "+adminToken)
	response, err := scraper.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	r.must(err)
	if response.StatusCode != http.StatusOK {
		return ""
	}
	return string(body)
}

// metric is the value of one, or -1.
func (r *reloaded) metric(name string) float64 {
	r.Helper()
	for line := range strings.Lines(r.get("/metrics")) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			r.must(err)
			return value
		}
	}
	return -1
}

// soon polls until a condition is true.
func (r *reloaded) soon(what string, done func() bool) {
	r.Helper()
	for start := time.Now(); time.Since(start) < patience; time.Sleep(10 * time.Millisecond) {
		if done() {
			return
		}
		if !r.p.Alive() {
			r.Fatalf("%s ended by itself: %s", r.p.Name, r.p.Exit())
		}
	}
	r.Fatalf("this did not happen: %s", what)
}

// came is the number of reloads with this result.
func (r *reloaded) came(result string) int {
	r.Helper()
	return int(r.metric(fmt.Sprintf("berth_config_reloads_total{result=%q}", result)))
}

// became waits for a number of reloads with this result. A request for a change that was already noticed is answered once
// more, perhaps before the file is read.
func (r *reloaded) became(result string, times int) {
	r.Helper()
	r.soon(fmt.Sprintf("%d times the result is %s", times, result), func() bool { return r.came(result) >= times })
}

// change writes a configuration, requests a reload, and returns when it is in effect.
func (r *reloaded) change(text string) {
	r.Helper()
	r.write(text)
	r.hangup()
	r.applied++
	r.became("applied", r.applied)
}

// said waits for a line of the log that has all of these.
func (r *reloaded) said(parts ...string) {
	r.Helper()
	r.soon(fmt.Sprintf("the log says %q", parts), func() bool {
		log, err := os.ReadFile(r.p.Log)
		r.must(err)
		for line := range bytes.Lines(log) {
			all := true
			for _, part := range parts {
				all = all && bytes.Contains(line, []byte(part))
			}
			if all {
				return true
			}
		}
		return false
	})
}

// told waits for an event about the scheduler.
func (r *reloaded) told(namespace, kind, name, reason, note string) {
	r.Helper()
	r.soon(fmt.Sprintf("the event %s about the %s %s: %s", reason, kind, name, note), func() bool {
		list, err := r.c.Admin.CoreV1().Events(namespace).List(r.ctx, metav1.ListOptions{FieldSelector: "reason=" + reason})
		r.must(err)
		for _, event := range list.Items {
			about := event.InvolvedObject
			if about.Kind == kind && about.Name == name && strings.Contains(event.Message, note) &&
				!event.LastTimestamp.Time.Before(r.began.Truncate(time.Second)) {
				return true
			}
		}
		return false
	})
}

// configz is the configuration in effect.
func (r *reloaded) configz() (config struct {
	PodMaxBackoffSeconds int
	Profiles             []struct{ SchedulerName string }
	ClientConnection     struct{ Burst int }
}) {
	r.Helper()
	var page struct {
		Config json.RawMessage `json:"componentconfig"`
	}
	r.must(json.Unmarshal([]byte(r.get("/configz")), &page))
	r.must(json.Unmarshal(page.Config, &config))
	return config
}

// by names the scheduler that the pod waits for.
func by(scheduler string) PodMod { return func(p *v1.Pod) { p.Spec.SchedulerName = scheduler } }

// allocated is a profile with only a NodeResourcesFit strategy: LeastAllocated or MostAllocated.
func allocated(name, strategy string) string {
	return fmt.Sprintf(`- schedulerName: %s
  plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 5}]}, preScore: {disabled: [{name: '*'}],
    enabled: [{name: NodeResourcesFit}]}}
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: %s, resources: [{name: cpu, weight: 1}]}}
`, name, strategy)
}

const (
	spreading = "LeastAllocated"
	packing   = "MostAllocated"
)

// Placement changes with the file, without a signal: it is written in place, replaced, or swapped as kubelet does for a
// ConfigMap.
func TestReloadFollowsTheFile(t *testing.T) {
	// Each returns a function that writes the next content. Half a file that stays for a second is taken for a complete one,
	// so writes in place are timed.
	ways := map[string]func(r *reloaded, path string) func(text string){
		"in place": func(r *reloaded, path string) func(string) {
			return func(text string) { r.must(os.WriteFile(path, []byte(text), 0o644)) }
		},
		"in steps": func(r *reloaded, path string) func(string) {
			return func(text string) {
				file, err := os.Create(path)
				r.must(err)
				defer file.Close()
				for line := range strings.Lines(text) { // what is whole is not told by what is valid
					_, err := file.WriteString(line)
					r.must(err)
				}
			}
		},
		"replaced": func(r *reloaded, path string) func(string) {
			return func(text string) {
				r.must(os.WriteFile(path+".new", []byte(text), 0o644))
				r.must(os.Rename(path+".new", path))
			}
		},
		"ConfigMap": func(r *reloaded, path string) func(string) {
			dir, name, number := filepath.Dir(path), filepath.Base(path), 0
			return func(text string) {
				before, _ := os.Readlink(filepath.Join(dir, "..data"))
				number++
				data := fmt.Sprintf("..2026_11_15_%d", number)
				r.must(os.Mkdir(filepath.Join(dir, data), 0o755))
				r.must(os.WriteFile(filepath.Join(dir, data, name), []byte(text), 0o644))
				r.must(os.Symlink(data, filepath.Join(dir, "..data_tmp")))
				r.must(os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
				if before == "" {
					r.must(os.Symlink(filepath.Join("..data", name), path))
				} else {
					r.must(os.RemoveAll(filepath.Join(dir, before)))
				}
			}
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			e := shared(t)
			e.create(NewNode("node-0"), NewNode("node-1"), NewPod("used", onNode("node-0"), Requests("cpu", "2")))
			r := &reloaded{env: e, began: time.Now()}
			whole := func(strategy string) string {
				return e.configText("scheduler", "profiles:\n"+allocated("default-scheduler", strategy))
			}
			dir := e.c.path(e.file("folder"))
			e.must(os.Mkdir(dir, 0o755))
			path := filepath.Join(dir, "config.yaml")
			put := way(r, path)
			put(whole(spreading))
			e.berthOnly("kube-scheduler reads its configuration once")
			ports, err := freePorts(1)
			e.must(err)
			r.port = ports[0]
			conf := e.c.path(e.file("scheduler") + ".conf")
			r.p = e.start("--config", path, "--secure-port", fmt.Sprint(r.port), "--authentication-kubeconfig", conf,
				"--authorization-kubeconfig", conf)
			for i, strategy := range []string{spreading, packing, spreading} {
				if i > 0 {
					began := time.Now()
					if put(whole(strategy)); time.Since(began) > 900*time.Millisecond {
						t.Skipf("the machine took %v to write a few lines", time.Since(began))
					}
					r.became("applied", i)
					r.said("Configuration reloaded", fmt.Sprintf("generation=%d", i), path, "profile default-scheduler changed")
				}
				pod := fmt.Sprintf("pod-%d", i)
				e.create(NewPod(pod, Requests("cpu", "100m")))
				e.boundTo(pod, map[string]string{spreading: "node-1", packing: "node-0"}[strategy])
			}
			if applied, refused := r.came("applied"), r.came("refused"); applied != 2 || refused != 0 {
				e.Errorf("a part of a file was taken for a file: of two, %d were applied and %d refused", applied, refused)
			}
			e.blameless()
		})
	}
}

// Waiting pods of a new scheduler name are scheduled, and those of a removed one keep waiting.
func TestReloadProfilesComeAndGo(t *testing.T) {
	e := shared(t)
	const plain, gold = "- {schedulerName: default-scheduler}\n", "- {schedulerName: gold}\n"
	e.create(NewNode("node-0"))
	r := reloadable(e, "profiles:\n"+plain)
	e.create(NewPod("gold-0", by("gold")), NewPod("plain-0"))
	e.bound("plain-0")

	r.change("profiles:\n" + plain + gold)
	r.said("Configuration reloaded", "profile gold added")
	r.told("default", "Namespace", "kube-system", "ConfigReloaded", "profile gold added")
	e.bound("gold-0")
	e.create(NewPod("gold-big", by("gold"), Requests("cpu", "6")), NewPod("plain-big", Requests("cpu", "6")))
	for _, name := range []string{"gold-big", "plain-big"} {
		e.pod(name, "is refused", func(p *v1.Pod) bool { return scheduled(p) != nil })
	}

	r.change("profiles:\n" + plain)
	r.said("Configuration reloaded", "profile gold removed")
	before := e.o.Pod(key("gold-big")).Pod.ResourceVersion
	e.create(NewNode("large", Allocatable("cpu", "16")), NewPod("gold-1", by("gold")), NewPod("plain-1"))
	e.bound("plain-big")
	e.bound("plain-1")
	if now := e.o.Pod(key("gold-big")).Pod; now.ResourceVersion != before || now.Spec.NodeName != "" {
		e.Errorf("a pod without a profile was touched:\n%s", e.describe("gold-big"))
	}

	r.change("profiles:\n" + gold + plain)
	for _, name := range []string{"gold-big", "gold-1"} {
		e.bound(name)
	}
	names := r.configz().Profiles
	if len(names) != 2 || names[0].SchedulerName != "gold" {
		e.Errorf("/configz has the profiles %v", names)
	}
	e.blameless()
}

// An invalid file is reported everywhere, and changes nothing.
func TestReloadRefuses(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	path := e.c.path(e.file("scheduler") + ".yaml")
	r := reloadable(e, "podMaxBackoffSeconds: 21\n", "--plugin", e.everythingPlugin())
	for i, wrong := range []struct{ text, want string }{
		{"profiles: [", path + ":6:1: "},
		{"podMaxBackoffSecond: 7\n", path + `:5:1: podMaxBackoffSecond: unknown field`},
		{"podMaxBackoffSeconds: -7\n", "podMaxBackoffSeconds: Invalid value: -7"},
		{"profiles: [{plugins: {filter: {enabled: [{name: Mistake}]}}}]\n", "Mistake"},
		{"profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Best}}}]}]\n", "Best"},
		{"profiles:\n" + everywhere("default-scheduler", "number: many"), "number"}, // checked by the plugin
		{"extenders: [{urlPrefix: 'https://127.0.0.1:1', filterVerb: f, enableHTTPS: true, tlsConfig: {caFile: /nowhere}}]\n", "/nowhere"},
		{"", "there is nothing in it"},
	} {
		if wrong.text == "" {
			e.must(os.WriteFile(path, nil, 0o644))
		} else {
			r.write(wrong.text)
		}
		unasked := i < 2 || wrong.text == "" // it is noticed anyway, a second later
		if !unasked {
			r.hangup()
		}
		r.became("refused", i+1)
		r.said("Configuration refused, nothing changes", path, wrong.want)
		r.told("default", "Namespace", "kube-system", "ConfigReloadFailed", wrong.want)
		if r.metric("berth_config_last_reload_success") != 0 {
			e.Error("the metric says that all is well")
		}
		pod := fmt.Sprintf("pod-%d", i)
		e.create(NewPod(pod))
		e.bound(pod)
		if got := r.configz().PodMaxBackoffSeconds; got != 21 {
			e.Errorf("/configz shows %d", got)
		}
		if got := r.came("refused"); i < 2 && got != i+1 {
			e.Errorf("%d files were refused %d times", i+1, got)
		}
	}
	refused := r.came("refused")
	r.hangup()
	r.became("refused", refused+1) // a request gets an answer
	since := r.metric("berth_config_last_reload_success_timestamp_seconds")
	r.write("podMaxBackoffSeconds: 21\n")
	r.became("unchanged", 1)
	if r.metric("berth_config_last_reload_success") != 1 || r.metric("berth_config_last_reload_success_timestamp_seconds") != since {
		e.Error("the metrics do not say that the file is what it was")
	}
	r.change("podMaxBackoffSeconds: 22\n")
	if got := r.configz().PodMaxBackoffSeconds; got != 22 {
		e.Errorf("/configz shows %d", got)
	}
	e.create(NewPod("after"))
	e.bound("after")
}

// Some fields need a restart, the others do not.
func TestReloadNamesWhatNeedsARestart(t *testing.T) {
	e := shared(t)
	r := reloadable(e, "podMaxBackoffSeconds: 21\n")
	text := r.configText("scheduler", "podMaxBackoffSeconds: 22\nenableProfiling: false\n")
	e.write("scheduler.yaml", strings.Replace(text, "burst: 1000", "burst: 7", 1), 0o644)
	r.became("applied", 1)
	const fields = "clientConnection.burst, enableProfiling, enableContentionProfiling"
	r.said("Some changes of the configuration need a restart", fields)
	r.told("default", "Namespace", "kube-system", "ConfigReloaded", "a restart is needed for "+fields)
	if config := r.configz(); config.PodMaxBackoffSeconds != 22 || config.ClientConnection.Burst != 1000 {
		e.Errorf("/configz shows %+v", config)
	}
}

// SIGHUP never ends the process.
func TestReloadSignal(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	r := startReloadable(e, "")
	for range 100 { // before anything is ready
		r.hangup()
	}
	r.became("unchanged", 1)
	r.said("Configuration unchanged", "generation=0")
	e.create(NewPod("before"))
	e.bound("before")
	r.write("podMaxBackoffSeconds: 22\n")
	for range 100 {
		r.hangup()
	}
	r.became("applied", 1)
	path := e.c.path(e.file("scheduler") + ".yaml")
	e.must(os.Remove(path))
	// By itself, or because of an earlier signal that arrives only now.
	r.said("nothing changes", "No such file")
	refused := r.came("refused")
	r.hangup()
	r.became("refused", refused+1)
	r.write("podMaxBackoffSeconds: 23\n")
	r.became("applied", 2)
	e.create(NewPod("after"))
	e.bound("after")
	if _, err := r.p.Terminate(patience); err != nil || r.p.Exit() != "exit status 0" {
		e.Errorf("it ended with %s: %v", r.p.Exit(), err)
	}
}

// held waits until the process has blocked SIGHUP for its signal thread: from its first log line on.
func (e *env) held(p *Proc) {
	e.Helper()
	for start := time.Now(); time.Since(start) < patience; time.Sleep(time.Millisecond) {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		for line := range strings.Lines(string(status)) {
			if text, ok := strings.CutPrefix(line, "SigBlk:"); ok {
				mask, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
				e.must(err)
				if mask&1 != 0 {
					return
				}
			}
		}
	}
	e.Fatal("SIGHUP is not held back")
}

func TestReloadWithoutAFile(t *testing.T) {
	e := shared(t)
	e.berthOnly("kube-scheduler ends by SIGHUP")
	e.create(NewNode("node-0"), NewPod("web"))
	r := &reloaded{env: e, p: e.start()}
	e.bound("web")
	r.hangup()
	r.said("Nothing to reload: there is no --config")
	e.create(NewPod("after"))
	e.bound("after")
}

// Events refer to the Lease if there is one, and a standby reloads as well.
func TestReloadOfStandbys(t *testing.T) {
	e := shared(t)
	e.berthOnly("kube-scheduler reads its configuration once")
	e.noLease()
	e.create(NewNode("node-0"))
	start := func(name string) *reloaded {
		r := &reloaded{env: e, began: time.Now()}
		r.p = e.startAt(name, e.c.Addr(), append(e.config(name, ""), electing...)...)
		return r
	}
	leader := start("leader")
	e.create(NewPod("web"))
	e.bound("web")
	standby := start("standby")
	standby.said("Attempting to acquire leader lease")
	for i, r := range []*reloaded{leader, standby} {
		e.config([]string{"leader", "standby"}[i], fmt.Sprintf("podMaxBackoffSeconds: %d\nprofiles: [{schedulerName: default-scheduler}, {schedulerName: of-%d}]\n", 30+i, i))
		r.said("Configuration reloaded", fmt.Sprintf("profile of-%d added", i))
		r.told("kube-system", "Lease", "kube-scheduler", "ConfigReloaded", fmt.Sprintf("profile of-%d added", i))
	}
	e.create(NewPod("of-0", by("of-0")), NewPod("of-1", by("of-1")))
	e.bound("of-0")
	leader.p.Terminate(patience)
	e.bound("of-1")
}

// Extenders are called from the next decision on, with complete objects, and no longer when they are removed.
func TestReloadExtenders(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			e := shared(t)
			e.create(NewNode("node-0"), NewNode("node-1"), NewNode("node-2"))
			x := e.extender()
			with := fmt.Sprintf("extenders:\n- {urlPrefix: 'http://%s/x', filterVerb: filter, %s}\n", x.addr(), way)
			r := reloadable(e, "")
			e.create(NewPod("before", annotate("refuse", "node-0,node-1,node-2")))
			e.bound("before")
			for i := range 2 {
				r.change(with)
				r.said("Configuration reloaded", "extender http://"+x.addr()+"/x added")
				e.create(NewPod(fmt.Sprintf("picky-%d", i), annotate("refuse", "node-0,node-2")),
					NewPod(fmt.Sprintf("hopeless-%d", i), annotate("refuse", "node-0,node-1,node-2")))
				e.boundTo(fmt.Sprintf("picky-%d", i), "node-1")
				e.pod(fmt.Sprintf("hopeless-%d", i), "is refused", func(p *v1.Pod) bool { return scheduled(p) != nil })
				r.change("")
				r.said("Configuration reloaded", "extender http://"+x.addr()+"/x removed")
				e.bound(fmt.Sprintf("hopeless-%d", i))
				calls := len(x.calls())
				e.create(NewPod(fmt.Sprintf("free-%d", i), annotate("refuse", "node-0,node-1,node-2")))
				e.bound(fmt.Sprintf("free-%d", i))
				if now := len(x.calls()); now != calls {
					e.Errorf("a removed extender was called %d times", now-calls)
				}
			}
			e.blameless()
		})
	}
}

// Backoffs of waiting pods, here after an error, are computed again.
func TestReloadBackoff(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	x := e.extender()
	with := func(seconds int) string {
		return fmt.Sprintf("podInitialBackoffSeconds: %d\npodMaxBackoffSeconds: %d\nextenders:\n- {urlPrefix: 'http://%s/x', filterVerb: filter, %s}\n",
			seconds, seconds, x.addr(), asNames)
	}
	r := reloadable(e, with(3600))
	e.create(NewPod("unlucky", annotate("error", "out of order")))
	e.pod("unlucky", "is told of the error", func(p *v1.Pod) bool { return scheduled(p) != nil })
	r.soon("it backs off", func() bool { return r.metric(`scheduler_pending_pods{queue="backoff"}`) == 1 })
	e.patchPod("unlucky", `{"metadata":{"annotations":{"extender.example/error":null}}}`)
	e.create(NewPod("other"))
	e.bound("other") // the patch is known by now, and does not help
	if node := e.o.Pod(key("unlucky")).Pod.Spec.NodeName; node != "" {
		e.Fatalf("it did not wait, and is on %s", node)
	}
	r.change(with(1))
	e.bound("unlucky")
}

// everythingPlugin builds the plugin that acts by labels.
func (e *env) everythingPlugin() string {
	e.Helper()
	return e.buildPlugin()
}

// Thirty configurations while pods are created all the time: some wait in Permit or a slow PreBind, some are gated, some
// fit nowhere yet. None is lost, none is bound twice.
func TestReloadLosesNobody(t *testing.T) {
	const reloads, pods, held = 30, 1000, 4
	e := shared(t)
	e.berthOnly("kube-scheduler reads its configuration once")
	for i := range 8 {
		e.create(NewNode(fmt.Sprintf("node-%d", i), Allocatable("cpu", "64", "pods", "250")))
	}
	configs := []func(i int) string{
		func(i int) string {
			return fmt.Sprintf("podMaxBackoffSeconds: %d\nprofiles:\n", 2+i%2) + everywhere("default-scheduler", "") + everywhere("other", "")
		},
		func(i int) string {
			return "podMaxBackoffSeconds: 1\nprofiles:\n" + everywhere("other", "") + everywhere("default-scheduler", "greeting: again") +
				everywhere(fmt.Sprintf("extra-%d", i), "")
		},
		func(i int) string {
			return "percentageOfNodesToScore: 50\nprofiles:\n" + everywhere("default-scheduler", fmt.Sprintf("number: %d", i)) +
				strings.Replace(allocated("other", packing), "plugins: {", "plugins: {queueSort: {disabled: [{name: Everything}]}, ", 1)
		},
	}
	r := reloadable(e, configs[0](0), "--plugin", e.everythingPlugin())
	kinds := map[string][]PodMod{
		"plain":   nil,
		"other":   {by("other")},
		"permit":  {labels("test/permit", "wait")},
		"slow":    {labels("test/pre-bind", "slow")},
		"gated":   {gates("example.com/a")},
		"late":    {Requests("cpu", "100", "memory", "1Mi")},
		"refused": {labels("test/reserve", "fail")}, // until the label is removed
	}
	order := []string{"plain", "permit", "other", "slow", "plain", "gated", "permit", "late", "other", "refused"}
	name := func(i int) string { return fmt.Sprintf("%s-%d", order[i%len(order)], i) }
	// A pod that waits in Permit lasts through all of them.
	for i := range held {
		e.create(NewPod(fmt.Sprintf("held-%d", i), labels("test/permit", "hold")))
		r.said(fmt.Sprintf("permit held-%d,", i))
	}
	var created atomic.Int64
	failed := make(chan error, 1)
	go func() {
		defer close(failed)
		for i := range pods {
			mods := append([]PodMod{Requests("cpu", "10m")}, kinds[order[i%len(order)]]...)
			if err := createOne(e.ctx, e.c, NewPod(name(i), mods...)); err != nil {
				failed <- err
				return
			}
			created.Add(1)
		}
	}()
	for i := range reloads {
		r.soon("pods come", func() bool { return created.Load() >= int64(i*pods/reloads) })
		r.change(configs[(i+1)%len(configs)](i))
	}
	e.must(<-failed)
	for i := range pods {
		switch order[i%len(order)] {
		case "gated":
			e.patchPod(name(i), `{"spec":{"schedulingGates":null}}`)
		case "refused":
			e.patchPod(name(i), `{"metadata":{"labels":{"test/reserve":null}}}`)
		}
	}
	for i := range 2 { // where late ones fit, whatever other pods are there
		for j := range pods / 20 {
			e.create(NewNode(fmt.Sprintf("large-%d-%d", i, j), Allocatable("cpu", "103", "pods", "250")))
		}
		r.change(configs[i](i))
	}
	if err := e.within(3*patience, func() bool { return e.o.Bound() == pods }); err != nil {
		e.Fatalf("%d of %d pods were bound, all but those that are held (%v)", e.o.Bound(), pods, err)
	}
	for i := range pods {
		e.bound(name(i))
	}
	for i := range held {
		e.create(NewPod(fmt.Sprintf("key-%d", i), labels("test/allow", fmt.Sprintf("held-%d", i))))
		e.bound(fmt.Sprintf("held-%d", i))
		e.bound(fmt.Sprintf("key-%d", i))
	}
	r.onceEach(pods + 2*held)
	e.blameless()
	if _, err := r.p.Terminate(patience); err != nil || r.p.Exit() != "exit status 0" {
		e.Errorf("it ended with %s: %v", r.p.Exit(), err)
	}
}

// everywhere is a profile with the plugin.
func everywhere(name, args string) string {
	return fmt.Sprintf(`- schedulerName: %s
  plugins: {multiPoint: {enabled: [{name: Everything}]}, queueSort: {disabled: [{name: Everything}]}}
  pluginConfig: [{name: Everything, args: {%s}}]
`, name, args)
}

// onceEach fails if more bindings succeeded than there are pods, or some failed.
func (r *reloaded) onceEach(pods int) {
	r.Helper()
	scheduled := func() (sum float64) {
		for line := range strings.Lines(r.get("/metrics")) {
			if strings.HasPrefix(line, `scheduler_schedule_attempts_total{`) && strings.Contains(line, `result="scheduled"`) {
				value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]), 64)
				r.must(err)
				sum += value
			}
		}
		return sum
	}
	r.soon("the scheduler, too, knows that all are bound", func() bool { return scheduled() >= float64(pods) })
	if all := scheduled(); all != float64(pods) {
		r.Errorf("%v pods were scheduled, and there are %d", all, pods)
	}
}
