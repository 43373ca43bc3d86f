package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// replayed is the output of `berth replay -o json`.
type replayed struct {
	Recording            string
	Cut                  string
	Exact                bool
	Digest               string
	Decisions            int
	Placements           int
	ConfigurationChanges int
	From, To             time.Time
	Difference           json.RawMessage
	Summary              struct{ Pods, SameNode, OtherNode, OnlyRecorded, OnlyHere, Neither int }
	Log                  []struct {
		Time        time.Time
		Decision    string
		Explanation struct{ Best []string }
	}
}

// listed is a recording as `berth replay --list -o json` has it, in a RecordingList.
type listed struct {
	Recording        string
	From, To         time.Time
	Decisions, Files int
	Bytes            int64
	Repeatable       bool
	Cut              string
}

// list is what `berth replay --list -o json` has of the folder of the test.
func (e *env) list() []listed {
	e.Helper()
	var list struct{ Items []listed }
	e.berth(e.argv[0], &list, "replay", "--list", "-o", "json", e.record())
	return list.Items
}

// berth runs a command of the program with an empty environment, in its own folder, and decodes its output.
func (e *env) berth(binary string, into any, args ...string) {
	e.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env, cmd.Dir = []string{}, e.TempDir()
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok && (exit.ExitCode() != 1 || len(out) == 0) {
		e.Fatalf("%v: %v\n%s", args, err, exit.Stderr)
	} else if !ok {
		e.must(err)
	}
	if err := json.Unmarshal(out, into); err != nil {
		e.Fatalf("%v printed no JSON: %v\n%.2000s", args, err, out)
	}
}

// repeated fails unless all decisions of a recording are the same in a replay.
func (e *env) repeated(binary, path string, args ...string) (r replayed) {
	e.Helper()
	e.berth(binary, &r, append([]string{"replay", "-o", "json", path}, args...)...)
	if !r.Exact {
		e.Errorf("%s: decision is another one: %s", path, r.Difference)
	}
	return r
}

// record is the folder of a recording.
func (e *env) record() string { return e.c.path(e.file("record")) }

// moved copies a folder, as to another machine.
func (e *env) moved(dir string) string {
	e.Helper()
	to := e.TempDir()
	e.must(os.CopyFS(filepath.Join(to, "elsewhere"), os.DirFS(dir)))
	return filepath.Join(to, "elsewhere")
}

// otherBuilds are the program under test, and another build of it where BERTH_OTHER names one: another compiler, other
// optimisations or sanitizers are what another machine would be.
func (e *env) otherBuilds() []string {
	builds := []string{e.argv[0]}
	if other := os.Getenv("BERTH_OTHER"); other != "" {
		builds = append(builds, other)
	}
	return builds
}

// place simulates another machine.
type place struct {
	name string
	env  []string
	wrap []string // a command that runs the program
	user uint32   // 0: the one of this process
}

// places are the machines that can be simulated here.
func places() []place {
	all := []place{
		{name: "here", env: os.Environ()},
		{name: "with no environment"},
		{name: "in another time zone and language", env: []string{"TZ=Asia/Kathmandu", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8"}},
		{name: "with other bytes in uninitialized memory", env: []string{"MALLOC_PERTURB_=165", "TZ=America/St_Johns"}},
	}
	if exec.Command("setarch", "-R", "true").Run() == nil {
		all = append(all, place{name: "at the same addresses each time", wrap: []string{"setarch", "-R"}})
	}
	if os.Geteuid() == 0 {
		all = append(all, place{name: "as another user", user: 65534})
	}
	return all
}

// sameEverywhere replays a copy of a recording in each place, and fails unless the output, one line per decision, is the
// same to the byte.
func (e *env) sameEverywhere(binary, dir string) {
	e.Helper()
	var first []byte
	for _, p := range places() {
		to, err := os.MkdirTemp("", "berth-e2e-place-")
		e.must(err)
		e.Cleanup(func() { os.RemoveAll(to) })
		e.must(os.CopyFS(filepath.Join(to, "record"), os.DirFS(dir)))
		program, err := os.ReadFile(binary)
		e.must(err)
		e.must(os.WriteFile(filepath.Join(to, "berth"), program, 0o755))
		argv := append(slices.Clone(p.wrap), filepath.Join(to, "berth"), "replay", "--decisions", "record")
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Dir = append([]string{}, p.env...), to
		if p.user != 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: p.user, Gid: p.user}}
			e.must(filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
				return errors.Join(err, os.Chown(path, int(p.user), int(p.user)))
			}))
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			e.Fatalf("%s: %v\n%s", p.name, err, out[max(0, len(out)-2000):])
		}
		if first == nil {
			first = out
		}
		if !bytes.Equal(out, first) {
			e.Errorf("%s it prints something else: %d bytes, not %d", p.name, len(out), len(first))
		}
	}
	fmt.Printf("repeated in %d places with the same %d bytes\n", len(places()), len(first))
}

// churn creates pods in waves and deletes the older ones that are bound; some cannot be placed for a while, or at all.
func (e *env) churn(from, to, wave int) {
	e.Helper()
	now := int64(0)
	for first := from; first < to; first += wave {
		last := min(first+wave, to)
		var all []runtime.Object
		for i := first; i < last; i++ {
			pod := mixed(i)
			if i%97 == 0 { // nowhere
				pod = NewPod(pod.Name, Requests("cpu", "64"))
			}
			if i%31 == 0 {
				pod.Spec.PriorityClassName = "high"
			}
			all = append(all, pod)
		}
		e.createAll(all)
		if err := e.within(4*patience, func() bool { return e.tried() >= last }); err != nil {
			e.Fatalf("%d of %d pods were tried (%v)", e.tried(), last, err)
		}
		bound := e.o.Pods(func(s *Seen) bool {
			return s.Node != "" && !s.Gone && s.Pod.DeletionTimestamp == nil && strings.HasPrefix(s.Pod.Name, "pod-")
		})
		e.must(CreateAll(e.ctx, bound[:len(bound)*2/3], func(ctx context.Context, s Seen) error {
			err := e.c.Admin.CoreV1().Pods("default").Delete(ctx, s.Pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
			if apierrors.IsNotFound(err) { // deleted by another client
				return nil
			}
			return err
		}))
	}
}

// tried counts the pods with a condition from the scheduler.
func (e *env) tried() int {
	return len(e.o.Pods(func(s *Seen) bool {
		return strings.HasPrefix(s.Pod.Name, "pod-") && (s.Gone || s.Node != "" || scheduled(s.Pod) != nil)
	}))
}

// Ten thousand live decisions with many kinds of events, replayed elsewhere to the byte.
func TestRecordingIsRepeated(t *testing.T) {
	pods, nodes := 10000, 400
	if testing.Short() {
		pods, nodes = 1000, 60
	}
	e := private(t, Options{})
	e.berthOnly("--record is berth's")
	relay, err := NewRelay(e.c.Addr())
	e.must(err)
	t.Cleanup(relay.Close)
	for i := range nodes {
		e.create(NewNode(fmt.Sprintf("big-%d", i), nodeLabel(zone, fmt.Sprintf("zone-%d", i%5))))
	}
	p := e.startAt("scheduler", relay.Addr, append([]string{"--record", e.record(), "--pod-max-in-unschedulable-pods-duration", "20s"}, fast...)...)
	e.create(NewPod("warm"))
	e.bound("warm")
	began := time.Now()
	c := e.mixedLoad(80, 40)
	e.churn(0, pods/2, max(pods/20, 200))
	relay.Cut()
	e.churn(pods/2, pods, max(pods/20, 200))
	<-c.done
	e.must(c.err)
	took := time.Since(began)
	_, err = p.Terminate(patience)
	e.must(err)
	u := p.Usage()

	elsewhere := e.moved(e.record())
	var first replayed
	for i, binary := range e.otherBuilds() {
		began = time.Now()
		r := e.repeated(binary, elsewhere)
		if i == 0 {
			first = r
		}
		if r.Cut != "" || r.Digest != first.Digest || r.Decisions != first.Decisions {
			t.Errorf("%s: cut %q, digest %s and %d decisions, want %s and %d", binary, r.Cut, r.Digest, r.Decisions, first.Digest, first.Decisions)
		}
		fmt.Printf("%d decisions (%d placed) in %v with %v of CPU; repeated by %s in %v, digest %s\n", r.Decisions, r.Placements,
			took.Round(time.Second), u.CPU.Round(10*time.Millisecond), binary, time.Since(began).Round(10*time.Millisecond), r.Digest)
	}
	e.sameEverywhere(e.argv[0], elsewhere)
	if first.Decisions < pods || first.Placements == first.Decisions {
		t.Errorf("%d decisions for %d pods, %d with a node", first.Decisions, pods, first.Placements)
	}
	e.blameless()
}

// A crash loses only the last moment, and the next process records to its own files.
func TestRecordingOfAKilledScheduler(t *testing.T) {
	e := shared(t)
	e.berthOnly("--record is berth's")
	e.create(objects(Nodes("node", 40)...)...)
	total := 0
	for i := range 3 {
		p := e.start(append([]string{"--record", e.record()}, fast...)...)
		var all []runtime.Object
		for j := range 150 {
			all = append(all, NewPod(fmt.Sprintf("pod-%d-%d", i, j), Requests("cpu", "100m")))
		}
		e.createAll(all)
		total += 150
		e.await("most are bound", func() bool { return e.o.Bound() >= total-100 })
		e.eventually("decisions are on the disk", func() error { // the last moment is not
			if list := e.list(); len(list) != i+1 || list[i].Decisions < 40 {
				return fmt.Errorf("%+v", list)
			}
			return nil
		})
		p.Kill()
	}
	list := e.list()
	if len(list) != 3 {
		t.Fatalf("%d recordings of 3 processes: %+v", len(list), list)
	}
	for _, each := range list {
		r := e.repeated(e.argv[0], filepath.Join(e.record(), each.Recording+"-000001.berth"))
		if !each.Repeatable || r.Decisions < 40 || r.Decisions != each.Decisions {
			t.Errorf("%+v was repeated with %d decisions", each, r.Decisions)
		}
		middle := each.From.Add(each.To.Sub(each.From) / 2).UTC().Format("2006-01-02T15:04:05.000Z")
		if at := e.repeated(e.argv[0], e.record(), "--until", middle); at.Recording != each.Recording {
			t.Errorf("at %s went on %s, not %s", middle, each.Recording, at.Recording)
		}
	}
}

// More is recorded than the limit of the folder: the newest files stay, the scheduler continues, and all remaining recordings are complete.
func TestRecordingIsBounded(t *testing.T) {
	e := shared(t)
	e.berthOnly("--record is berth's")
	pods := 2400
	if testing.Short() {
		pods = 1200
	}
	const bound = 1 << 20
	e.create(objects(Nodes("node", 40)...)...)
	p := e.start(append([]string{"--record", e.record(), "--record-size", fmt.Sprint(bound)}, fast...)...)
	now := int64(0)
	for i := 0; i < pods; i += 100 {
		var all []runtime.Object
		for j := range 100 {
			all = append(all, NewPod(fmt.Sprintf("pod-%d", i+j), Requests("cpu", "100m")))
		}
		e.createAll(all)
		e.await("all are bound", func() bool { return e.o.Bound() >= i+100 })
		if size := folderSize(t, e.record()); size > bound {
			t.Fatalf("%d bytes are recorded, %d may be", size, bound)
		}
		e.must(e.c.Admin.CoreV1().Pods("default").DeleteCollection(e.ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}))
	}
	_, err := p.Terminate(patience)
	e.must(err)
	list := e.list()
	var kept int64
	for _, each := range list {
		kept += each.Bytes
	}
	if kept < bound/4 {
		t.Fatalf("what is left: %+v", list)
	}
	decisions := 0
	for i, each := range list {
		r := e.repeated(e.argv[0], filepath.Join(e.record(), each.Recording+"-000001.berth"))
		decisions += r.Decisions
		if r.Cut != "" || i > 0 && each.From.Before(list[i-1].To) {
			t.Errorf("recording %d: %+v, cut %q", i, each, r.Cut)
		}
	}
	fmt.Printf("%d decisions, of which the newest %d in %d recordings are kept\n", pods, decisions, len(list))
	e.blameless()
}

// Explains past decisions, and decisions with another configuration.
func TestReplayExplainsAndCompares(t *testing.T) {
	e := shared(t)
	e.berthOnly("--record is berth's")
	e.create(NewNode("small"), NewNode("large", Allocatable("cpu", "64", "memory", "64Gi")))
	p := e.start(append([]string{"--record", e.record()}, fast...)...)
	e.create(NewPod("heavy", Requests("cpu", "500")))
	e.pod("heavy", "waits", func(p *v1.Pod) bool { return scheduled(p) != nil })
	e.create(NewPod("light", Requests("cpu", "1")))
	e.boundTo("light", "large")
	_, err := p.Terminate(patience)
	e.must(err)

	r := e.repeated(e.argv[0], e.record(), "--explain", "default/light")
	if len(r.Log) != 1 || !slices.Equal(r.Log[0].Explanation.Best, []string{"large"}) || r.Log[0].Time.Before(r.From) || r.Log[0].Time.After(r.To) {
		t.Errorf("explained: %+v", r.Log)
	}
	if r = e.repeated(e.argv[0], e.record(), "--explain", "heavy"); len(r.Log) < 1 {
		t.Error("a pod that waits is not explained")
	}
	packing := e.c.path(e.file("packing.yaml"))
	e.must(os.WriteFile(packing, []byte(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
`), 0o644))
	e.berth(e.argv[0], &r, "replay", "-o", "json", "--config", packing, e.record())
	if r.Summary.Pods != 2 || r.Summary.OtherNode != 1 || r.Summary.Neither != 1 {
		t.Errorf("with another configuration: %+v", r.Summary)
	}
}

func folderSize(t *testing.T, dir string) (sum int64) {
	t.Helper()
	filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // it was just deleted
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// pluginConfig enables the plugin that acts by labels of pods.
const pluginConfig = `profiles:
- plugins:
    queueSort: {disabled: [{name: PrioritySort}]}
    multiPoint: {enabled: [{name: Everything, weight: 9}]}
`

// Messages from a plugin's threads, and results of its blocking calls, are replayed without calling the plugin.
func TestRecordingWithAPlugin(t *testing.T) {
	e := shared(t)
	e.berthOnly("plugins in C are berth's")
	plugin := e.everythingPlugin()
	e.create(objects(Nodes("node", 20)...)...)
	flags := append(e.config("scheduler", pluginConfig), "--record", e.record(), "--plugin", plugin)
	p := e.start(flags...)
	var all []runtime.Object
	orders := [][]string{{}, {"test/permit", "wait"}, {"test/pre-bind", "slow"}, {"test/permit", "wait", "test/pre-bind", "slow"}, {"test/bind", "slow"}}
	for i := range 100 {
		all = append(all, NewPod(fmt.Sprintf("pod-%d", i), Requests("cpu", "100m"), labels(orders[i%len(orders)]...)))
	}
	e.createAll(all)
	e.await("all are bound", func() bool { return e.o.Bound() == len(all) })
	_, err := p.Terminate(patience)
	e.must(err)
	if r := e.repeated(e.argv[0], e.record(), "--plugin", plugin); r.Decisions < len(all) {
		t.Errorf("%d decisions were repeated", r.Decisions)
	}
	out, err := exec.Command(e.argv[0], "replay", e.record()).CombinedOutput()
	if err == nil || !strings.Contains(string(out), `enables the plugin "Everything"`) || !strings.Contains(string(out), "--plugin") {
		t.Errorf("without the plugin: %v\n%s", err, out)
	}
}

// Configuration changes while it runs, one with a new scheduler name, are replayed.
func TestRecordingOfReloads(t *testing.T) {
	e := shared(t)
	e.create(objects(Nodes("node", 10)...)...)
	r := reloadable(e, "profiles:\n"+allocated("default-scheduler", spreading), "--record", e.record())
	both := allocated("default-scheduler", spreading) + allocated("another", packing)
	texts := []string{
		allocated("default-scheduler", packing), both, allocated("another", packing), allocated("default-scheduler", packing), both,
	}
	count := 0
	load := func() {
		for i := range 40 {
			who := []string{"default-scheduler", "another"}[i%2]
			e.create(NewPod(fmt.Sprintf("pod-%d", count), Requests("cpu", "50m"), by(who)))
			count++
		}
	}
	load()
	for _, text := range texts {
		r.change("profiles:\n" + text)
		load()
	}
	e.await("all are bound", func() bool { return e.o.Bound() == count })
	_, err := r.p.Terminate(patience)
	e.must(err)
	if got := e.repeated(e.argv[0], e.record()); got.Decisions < count || got.ConfigurationChanges != len(texts) {
		t.Errorf("%d pods, %d changes: %d decisions and %d changes were repeated", count, len(texts), got.Decisions, got.ConfigurationChanges)
	}
}
