package e2e

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dumpLine is a structured line of klog's text format: the message and its values, texts of several lines among them.
type dumpLine struct {
	message string
	values  map[string]string
}

var (
	dumpHeader = regexp.MustCompile(`(?m)^[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [^ ]+:\d+\] `)
	dumpValue  = regexp.MustCompile(`^ ([A-Za-z]+)=(?:<\n((?:\t.*\n)*) >|("(?:[^"\\]|\\.)*")|(\S+))`)
	dumpString = regexp.MustCompile(`^"(?:[^"\\]|\\.)*"`)
)

// readDumpLines reads the structured lines of a log.
func readDumpLines(text string) (all []dumpLine) {
	starts := append(dumpHeader.FindAllStringIndex(text, -1), []int{len(text), len(text)})
	for i := range len(starts) - 1 {
		rest := text[starts[i][1]:starts[i+1][0]]
		message := dumpString.FindString(rest)
		if message == "" {
			continue
		}
		line := dumpLine{message: strings.Trim(message, `"`), values: map[string]string{}}
		for rest = rest[len(message):]; ; {
			m := dumpValue.FindStringSubmatch(rest)
			if m == nil {
				break
			}
			rest = rest[len(m[0]):]
			value := m[3] + m[4]
			if m[2] != "" {
				value = strings.ReplaceAll(strings.TrimPrefix(m[2], "\t"), "\n\t", "\n")
			}
			line.values[m[1]] = value
		}
		all = append(all, line)
	}
	return all
}

func dumpLines(all []dumpLine, message string) (found []dumpLine) {
	for _, line := range all {
		if line.message == message {
			found = append(found, line)
		}
	}
	return found
}

// dumped are the contents of a dump, with unordered parts sorted.
type dumped struct {
	nodes          map[string]string // by their first line
	summary, queue string
	mismatch       []map[string]string
}

func sortDump(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// readDump fails the test unless the lines are there as the reference writes them.
func (e *env) readDump(nodes, queue dumpLine) dumped {
	e.Helper()
	d := dumped{nodes: map[string]string{}, summary: queue.values["summary"], queue: sortDump(queue.values["pods"])}
	for _, text := range strings.Split(nodes.values["nodes"], "\n\n\n") {
		head, pods, ok := strings.Cut(strings.TrimSuffix(text, "\n"), "):\n")
		name, rest, _ := strings.Cut(head, "\n")
		if !ok && !strings.HasSuffix(head, "(number: 0):") {
			e.Errorf("this is no node of a dump: %q", text)
		}
		pods, nominated, _ := strings.Cut(pods, "Nominated Pods")
		d.nodes[name] = rest + "\n" + sortDump(pods) + "\n" + sortDump(nominated)
	}
	return d
}

// dump requests a scheduler's dump and returns it.
func (e *env) dump(p *Proc) dumped {
	e.Helper()
	syscall.Kill(p.cmd.Process.Pid, syscall.SIGUSR2)
	var nodes, queue []dumpLine
	deadline := time.Now().Add(patience)
	for len(nodes) == 0 || len(queue) == 0 {
		if time.Now().After(deadline) || !p.Alive() {
			e.Fatalf("no dump in %s", p.Log)
		}
		time.Sleep(20 * time.Millisecond)
		text, err := os.ReadFile(p.Log)
		e.must(err)
		all := readDumpLines(string(text))
		nodes, queue = dumpLines(all, "Dump of cached NodeInfo"), dumpLines(all, "Dump of scheduling queue")
	}
	return e.readDump(nodes[0], queue[0])
}

// mismatches is the result of the comparison, once it has ended; of the last one after several dumps.
func (e *env) mismatches(p *Proc) (found []map[string]string) {
	e.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(p.Log)
		e.must(err)
		all := readDumpLines(string(text))
		for i, line := range slices.Backward(all) {
			if line.message == "Cache comparer started" {
				all = all[i:]
				break
			}
		}
		if len(dumpLines(all, "Cache comparer finished")) > 0 {
			for _, line := range dumpLines(all, "Cache mismatch") {
				found = append(found, line.values)
			}
			return found
		}
		if time.Now().After(deadline) {
			e.Fatalf("the cache was not compared: %s", p.Log)
		}
	}
}

// dumpWork is a small cluster with one example of everything that a dump shows.
func (e *env) dumpWork() {
	e.Helper()
	e.create(NewNode("node-0", Allocatable("example.com/gpu", "4", "hugepages-2Mi", "0")), NewNode("node-1"))
	e.create(NewPod("web", pinned("node-0"), Requests("cpu", "1", "example.com/gpu", "2"), priority("low"), grace(3600)))
	e.boundTo("web", "node-0")
	e.create(NewPod("db", pinned("node-1"), Requests("memory", "1Gi")))
	e.boundTo("db", "node-1")
	e.create(NewPod("elsewhere", onNode("node-2"), Requests("cpu", "1")), NewPod("of-others", func(p *v1.Pod) { p.Spec.SchedulerName = "somebody-else" }))
	e.create(NewPod("gated", gates("example.com/a")), NewPod("big", Requests("cpu", "100")))
	e.waits("big", "0/2 nodes are available: 2 Insufficient cpu. "+notHelpful(2))
	// A victim with a grace period: the pod that waits for it is nominated.
	e.create(NewPod("vip", pinned("node-0"), Requests("cpu", "4"), priority("high")))
	e.pod("vip", "is nominated", func(p *v1.Pod) bool { return p.Status.NominatedNodeName == "node-0" })
	e.pod("web", "is to go", func(p *v1.Pod) bool { return p.DeletionTimestamp != nil })
}

// dumpOf is a scheduler's dump after the small work.
func dumpOf(t *testing.T, name string, argv []string) (d dumped) {
	t.Run(name, func(t *testing.T) {
		e := shared(t)
		e.argv = argv
		p := e.start("-v", "3")
		e.dumpWork()
		// The last responses may still be in flight.
		for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
			d = e.dump(p)
			if strings.HasPrefix(d.summary, `"activeQ:0; backoffQ:0;`) && strings.Contains(d.queue, "nominated node: node-0") ||
				time.Now().After(deadline) {
				break
			}
			e.must(os.Truncate(p.Log, 0))
		}
		e.running(p)
		// Names of objects are chosen by the API server.
		pods, err := e.c.Admin.CoreV1().Pods("default").List(e.ctx, metav1.ListOptions{})
		e.must(err)
		for _, pod := range pods.Items {
			d.queue = strings.ReplaceAll(d.queue, string(pod.UID), "uid-of-"+pod.Name)
			for node := range d.nodes {
				d.nodes[node] = strings.ReplaceAll(d.nodes[node], string(pod.UID), "uid-of-"+pod.Name)
			}
		}
		d.queue = sortDump(d.queue)
		d.mismatch = e.mismatches(p)
		if took, err := p.Terminate(patience); err != nil {
			t.Errorf("%v, %v", took, err)
		}
	})
	return d
}

// kill -USR2 writes the same log lines as with kube-scheduler.
func TestDumpIsTheReference(t *testing.T) {
	reference, err := ReferenceCommand()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(reference[0]); err != nil {
		t.Skip("kube-scheduler was not built: tests/e2e/parts/build kube-scheduler")
	}
	name, argv, err := UnderTest()
	if err != nil {
		t.Fatal(err)
	}
	want, got := dumpOf(t, "reference", reference), dumpOf(t, name, argv)
	if t.Failed() {
		return
	}
	// A pod is on a node that does not exist. The reference also misses pods of other schedulers.
	lost := map[string]string{"missedNodes": "[]", "redundantNodes": `["node-2"]`}
	if len(want.mismatch) != 2 || !maps.Equal(want.mismatch[0], lost) || want.mismatch[1]["redundantPods"] != "[]" {
		t.Errorf("the reference's mismatches are others: %v", want.mismatch)
	}
	if len(got.mismatch) != 1 || !maps.Equal(got.mismatch[0], lost) {
		t.Errorf("mismatches are %v, want %v", got.mismatch, lost)
	}
	if got.summary != want.summary {
		t.Errorf("the queue is %s, want %s", got.summary, want.summary)
	}
	if got.queue != want.queue {
		t.Errorf("who waits:\n%s\nwant:\n%s", got.queue, want.queue)
	}
	if a, b := slices.Sorted(maps.Keys(got.nodes)), slices.Sorted(maps.Keys(want.nodes)); !slices.Equal(a, b) {
		t.Fatalf("nodes are %q, want %q", a, b)
	}
	for name := range want.nodes {
		if got.nodes[name] != want.nodes[name] {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got.nodes[name], want.nodes[name])
		}
	}
}

// The signal never ends the process: at the start, without an API server, many times, at the end.
func TestDumpSignalIsNeverTheEnd(t *testing.T) {
	e := shared(t)
	e.berthOnly("the reference ends with status 1, whatever ends it")
	e.create(objects(Nodes("node", 3)...)...)
	for i := range 5 {
		p := e.startAt(fmt.Sprintf("scheduler-%d", i), e.c.Addr())
		// From its first steps on; while the program is being loaded, the default action applies.
		for deadline := time.Now().Add(patience); !e.takesDumpSignal(p) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		for range 200 {
			syscall.Kill(p.cmd.Process.Pid, syscall.SIGUSR2)
			time.Sleep(100 * time.Microsecond)
		}
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
					syscall.Kill(p.cmd.Process.Pid, syscall.SIGUSR2)
				}
			}
		}()
		if i == 4 {
			e.create(NewPod("web"))
			e.bound("web")
		}
		_, err := p.Terminate(patience)
		close(stop)
		if err != nil || p.Exit() != "exit status 0" {
			t.Errorf("%s, %v", p.Exit(), err)
		}
	}
}

// takesDumpSignal reports whether SIGUSR2 is blocked, caught or ignored.
func (e *env) takesDumpSignal(p *Proc) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		var mask uint64
		if f := strings.Fields(line); len(f) == 2 && slices.Contains([]string{"SigBlk:", "SigCgt:", "SigIgn:"}, f[0]) {
			if _, err := fmt.Sscanf(f[1], "%x", &mask); err == nil && mask>>(syscall.SIGUSR2-1)&1 == 1 {
				return true
			}
		}
	}
	return false
}
