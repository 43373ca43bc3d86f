package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// simulated is the part of the output of `berth simulate -o json` that tests check.
type simulated struct {
	Summary struct{ Nodes, Running, Scheduled, Pending int }
}

// A snapshot of a cluster gives the decisions of the cluster; so does an anonymized one, which contains no names.
func TestSnapshot(t *testing.T) {
	e := shared(t)
	e.berthOnly("the reference saves nothing")
	e.create(NewNode("lighthouse-0", nodeLabel(v1.LabelTopologyZone, "harbour")),
		NewNode("lighthouse-1", nodeLabel(v1.LabelTopologyZone, "quay")),
		NewPod("keeper", labels("crew", "boatswain"), Requests("cpu", "1")),
		NewPod("chooser", Requests("cpu", "1"), func(p *v1.Pod) {
			p.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: "quay"}
			p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "PASSWORD", Value: "rum"}}
		}),
		NewPod("whale", Requests("cpu", "1000")))
	simulate := func(text string) (s simulated) {
		t.Helper()
		path := e.c.path(e.file("snapshot.json"))
		e.must(os.WriteFile(path, []byte(text), 0o644))
		e.berth(e.argv[0], &s, "simulate", "-o", "json", "--no-timing", "-f", path)
		return s
	}
	snapshot := func(conf string, flags ...string) ran {
		return run(t, e.c.Dir, append([]string{e.argv[0], "snapshot", "--kubeconfig", e.c.path(conf)}, flags...)...)
	}
	whole, hidden := snapshot("admin.conf"), snapshot("admin.conf", "--anonymize")
	if whole.code != 0 || hidden.code != 0 {
		t.Fatalf("snapshots: %+v, %+v", whole, hidden)
	}
	there, here := simulate(whole.stdout), simulate(hidden.stdout)
	if there.Summary != here.Summary || there.Summary.Nodes != 2 || there.Summary.Scheduled != 2 || there.Summary.Pending != 1 {
		t.Errorf("decided: %+v, without names %+v", there.Summary, here.Summary)
	}
	for _, name := range []string{"lighthouse", "harbour", "quay", "keeper", "crew", "boatswain", "chooser", "whale", "rum"} {
		if strings.Contains(hidden.stdout, name) {
			t.Errorf("%s is still there: %s", name, hidden.stdout)
		}
	}
	if again := snapshot("admin.conf"); len(again.stdout) != len(whole.stdout) {
		t.Error("the same cluster is another file")
	}

	e.must(e.c.WriteKubeconfig(e.file("nobody")+".conf", e.c.Addr(), Credentials{"token": "nobody"}))
	begun := time.Now()
	refused := snapshot(e.file("nobody") + ".conf")
	if refused.code != 2 || refused.stdout != "" || !strings.Contains(refused.stderr, "refuses to list nodes") ||
		strings.Count(refused.stderr, "\n") != 1 || time.Since(begun) > patience/2 {
		t.Errorf("without rights, after %v: %+v", time.Since(begun), refused)
	}
}

// Waiting pods with place and reason: all of them, or selected ones.
func TestQueueCommand(t *testing.T) {
	e := shared(t)
	e.berthOnly("the reference shows no queue")
	ports, err := freePorts(1)
	e.must(err)
	conf := e.c.path(e.file("scheduler") + ".conf")
	e.create(NewNode("node-0"), NewPod("held", gates("example.com/hold")))
	e.start("--secure-port", fmt.Sprint(ports[0]), "--authentication-kubeconfig", conf, "--authorization-kubeconfig", conf)
	e.create(NewPod("big", Requests("cpu", "100")))
	e.pod("big", "is refused", func(p *v1.Pod) bool { c := scheduled(p); return c != nil && c.Status == v1.ConditionFalse })
	queue := func(flags ...string) ran {
		t.Helper()
		return run(t, e.c.Dir, append([]string{e.argv[0], "queue", "--kubeconfig", e.c.path("admin.conf"), "--server",
			fmt.Sprintf("127.0.0.1:%d", ports[0]), "--insecure-skip-tls-verify", "--insecure-send-credentials"}, flags...)...)
	}
	for _, test := range []struct {
		flags      []string
		has, lacks []string
	}{
		{nil, []string{"1 unschedulable, 1 gated", "default/big", "default/held", "held back by SchedulingGates"}, nil},
		{[]string{"--queue", "gated"}, []string{"default/held"}, []string{"default/big"}},
		{[]string{"--plugin", "NodeResourcesFit", "-o", "wide"}, []string{"default/big", "Insufficient cpu"}, []string{"default/held"}},
		{[]string{"-n", "elsewhere"}, []string{"1 unschedulable, 1 gated", "None of them"}, []string{"default/"}},
		{[]string{"big"}, []string{"default/big", "Insufficient cpu", "What may wake it", "NodeAdd"}, []string{"default/held"}},
		{[]string{"nobody"}, []string{"does not wait"}, nil},
	} {
		shown := queue(test.flags...)
		if shown.code != 0 {
			t.Errorf("%v: %+v", test.flags, shown)
		}
		for _, word := range test.has {
			if !strings.Contains(shown.stdout, word) {
				t.Errorf("%v lacks %q:\n%s", test.flags, word, shown.stdout)
			}
		}
		for _, word := range test.lacks {
			if strings.Contains(shown.stdout, word) {
				t.Errorf("%v has %q:\n%s", test.flags, word, shown.stdout)
			}
		}
	}
	var shown struct {
		Counts map[string]int
		Pods   []struct{ Name, Queue string }
	}
	e.must(json.Unmarshal([]byte(queue("-o", "json", "--queue", "gated").stdout), &shown))
	if len(shown.Pods) != 1 || shown.Pods[0].Name != "held" || shown.Counts["unschedulable"] != 1 {
		t.Errorf("as JSON: %+v", shown)
	}
	refused := run(t, e.c.Dir, e.argv[0], "queue", "--kubeconfig", conf, "--server", fmt.Sprintf("127.0.0.1:%d", ports[0]),
		"--insecure-skip-tls-verify", "--insecure-send-credentials")
	if refused.code != 1 || !strings.Contains(refused.stderr, `cannot get path "/debug/berth/queue"; a ClusterRole`) {
		t.Errorf("without the right to: %+v", refused)
	}
	if untrusted := run(t, e.c.Dir, e.argv[0], "queue", "--kubeconfig", conf, "--server",
		fmt.Sprintf("127.0.0.1:%d", ports[0])); !strings.Contains(untrusted.stderr, "--certificate-authority") {
		t.Errorf("without a certificate: %+v", untrusted)
	}
}

// The recorded configuration makes the same decisions, also with waiting and preempted pods; and two schedulers do not
// write to one folder.
func TestSameConfigurationDecidesTheSame(t *testing.T) {
	e := shared(t)
	e.berthOnly("--record is berth's")
	e.create(objects(Nodes("node", 4)...)...)
	flags := append([]string{"--record", e.record()}, fast...)
	p := e.start(flags...)
	for i := range 12 {
		e.create(NewPod(fmt.Sprintf("low-%d", i), Requests("cpu", "2"), priority("low")))
	}
	e.create(NewPod("high", Requests("cpu", "4"), priority("high")), NewPod("never", Requests("cpu", "64")))
	e.bound("high")
	second := run(t, e.c.Dir, e.argv[0], "scheduler", "--kubeconfig", e.c.path("admin.conf"), "--leader-elect=false",
		"--secure-port=0", "--record", e.record())
	if second.code != 2 || !strings.Contains(second.stderr, "another scheduler records in") {
		t.Errorf("a second scheduler with the same folder: %+v", second)
	}
	_, err := p.Terminate(patience)
	e.must(err)
	config := e.c.path(e.file("same.yaml"))
	e.must(os.WriteFile(config, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"), 0o644))
	r := e.repeated(e.argv[0], e.record())
	e.berth(e.argv[0], &r, "replay", "-o", "json", "--config", config, e.record())
	if s := r.Summary; s.Pods != 14 || s.OtherNode != 0 || s.OnlyHere != 0 || s.OnlyRecorded != 0 || s.SameNode == 0 {
		t.Errorf("with the same configuration: %+v", s)
	}
}
