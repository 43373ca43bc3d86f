package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// explained is the part of the output of `berth explain --server -o json` that tests check.
type explained struct {
	State string
	Node  string
	Queue struct {
		Queue      string
		RejectedBy []string
		Wakes      []struct{ Plugin, Event string }
	}
	Attempts []struct {
		Outcome, Node, Message string
		Feasible, Examined     int
		RejectedBy             []string
		Verdicts               []struct {
			Status, Plugin string
			Reasons        []string
			Nodes          int
		}
		Nodes map[string]int
	}
	Now struct {
		AsIfPending bool
		Nodes       []explainedNode
		Best        []string
		Cost        struct {
			Plugins []struct {
				Plugin              string
				Points              []string
				Microseconds, Share float64
			}
		}
	}
}

type explainedNode struct {
	Name     string
	Feasible bool
	Plugin   string
	Reasons  []string
	Scores   map[string]int
	Total    int
}

// now is what would be decided now about the node.
func (e explained) now(name string) (found explainedNode) {
	for _, node := range e.Now.Nodes {
		if node.Name == name {
			found = node
		}
	}
	return found
}

// explainer runs `berth explain --server` against a scheduler, as one user.
type explainer struct {
	e    *env
	port int
	conf string
}

func (a explainer) explain(flags ...string) (stdout, stderr string, err error) {
	args := append([]string{"explain", "--server", fmt.Sprintf("https://127.0.0.1:%d", a.port), "--kubeconfig",
		a.e.c.path(a.conf), "--insecure-skip-tls-verify", "--insecure-send-credentials"}, flags...)
	command := exec.Command(a.e.argv[0], args...)
	var out, words strings.Builder
	command.Stdout, command.Stderr = &out, &words
	err = command.Run()
	return out.String(), words.String(), err
}

func (a explainer) json(pod string) (found explained) {
	a.e.Helper()
	out, words, err := a.explain("-o", "json", "--timing", pod)
	if err != nil {
		a.e.Fatalf("%s: %v: %s", pod, err, words)
	}
	a.e.must(json.Unmarshal([]byte(out), &found))
	return found
}

// The running scheduler shows where a pod waits, which events may requeue it, the results of its attempts on every node,
// and what would be decided now; explaining changes nothing.
func TestExplainServer(t *testing.T) {
	e := shared(t)
	e.berthOnly("the reference does not explain itself")
	ports, err := freePorts(1)
	e.must(err)
	conf := e.c.path(e.file("scheduler") + ".conf")
	e.create(NewNode("node-0"), NewNode("node-1", cordoned), NewPod("small", Requests("cpu", "1")))
	e.start("--secure-port", fmt.Sprint(ports[0]), "--authentication-kubeconfig", conf, "--authorization-kubeconfig", conf)
	e.boundTo("small", "node-0")
	e.create(NewPod("big", Requests("cpu", "100")))
	e.pod("big", "is refused", func(p *v1.Pod) bool { c := scheduled(p); return c != nil && c.Status == v1.ConditionFalse })
	admin := explainer{e, ports[0], "admin.conf"}

	t.Run("waits", func(t *testing.T) {
		big := admin.json("default/big")
		if big.State != "queued" || big.Queue.Queue != "unschedulable" || len(big.Attempts) == 0 {
			t.Fatalf("big: %+v", big)
		}
		wakes := map[string]bool{}
		for _, wake := range big.Queue.Wakes {
			wakes[wake.Plugin+" "+wake.Event] = true
		}
		if !wakes["NodeResourcesFit NodeAdd"] || !wakes["NodeUnschedulable NodeAdd"] {
			t.Errorf("it may be woken by %v", big.Queue.Wakes)
		}
		last := big.Attempts[0]
		message := scheduled(e.o.Pod(key("big")).Pod).Message
		if last.Outcome != "unschedulable" || last.Message != message || last.Examined != 2 {
			t.Errorf("the last attempt is %+v, and the condition says %q", last, message)
		}
		for node, plugin := range map[string]string{"node-0": "NodeResourcesFit", "node-1": "NodeUnschedulable"} {
			number, ok := last.Nodes[node]
			if !ok || number >= len(last.Verdicts) || last.Verdicts[number].Plugin != plugin {
				t.Errorf("%s got the status %d of %+v", node, number, last.Verdicts)
			}
			if now := big.now(node); now.Feasible || now.Plugin != plugin {
				t.Errorf("%s now: %+v", node, now)
			}
		}
		if len(big.Now.Cost.Plugins) == 0 {
			t.Error("no plugin cost anything")
		}
	})

	t.Run("bound", func(t *testing.T) {
		var small explained
		e.becomes("the binding is remembered", func() bool {
			small = admin.json("default/small")
			return len(small.Attempts) == 1 && small.Attempts[0].Outcome == "bound"
		})
		if small.State != "bound" || small.Node != "node-0" || small.Attempts[0].Node != "node-0" {
			t.Errorf("small: %+v", small)
		}
		if !small.Now.AsIfPending || !small.now("node-0").Feasible || small.now("node-0").Scores["NodeResourcesFit"] == 0 {
			t.Errorf("small as if it were pending: %+v", small.Now)
		}
	})

	t.Run("table", func(t *testing.T) {
		out, words, err := admin.explain("--timing", "default/big")
		for _, text := range []string{"It waits in the queue: unschedulable", "What may wake it:", "Its last attempts:",
			"No node can take it:", "Insufficient cpu", "This evaluation took"} {
			if err != nil || !strings.Contains(out, text) {
				t.Fatalf("%q is not in the table (%v %s):\n%s", text, err, words, out)
			}
		}
	})

	t.Run("unknown pod", func(t *testing.T) {
		_, words, err := admin.explain("default/nobody")
		if err == nil || !strings.Contains(words, "the scheduler knows no pod default/nobody") {
			t.Errorf("%v: %s", err, words)
		}
	})

	t.Run("forbidden", func(t *testing.T) {
		out, words, err := explainer{e, ports[0], e.file("scheduler") + ".conf"}.explain("default/big")
		if err == nil || out != "" || !strings.Contains(words, "403") || !strings.Contains(words, "cannot get path") {
			t.Errorf("one who may not look gets %v: %s%s", err, words, out)
		}
	})

	t.Run("changes nothing", func(t *testing.T) {
		began := time.Now()
		for range 5 {
			admin.json("default/small")
			admin.json("default/big")
		}
		t.Logf("ten answers took %v", time.Since(began))
		e.patchNode("node-1", `{"spec":{"unschedulable":null}}`)
		e.create(NewPod("next", Requests("cpu", "2"), selector(v1.LabelHostname, "node-1")))
		e.boundTo("next", "node-1")
		if s := e.o.Pod(key("big")); s.Node != "" {
			t.Errorf("big was bound:\n%s", e.describe("big"))
		}
		e.blameless()
	})

	t.Run("bad questions", func(t *testing.T) {
		for query, want := range map[string]int{"": 400, "?pod=big": 400, "?pod=default/": 400, "?pod=default/big&top=0": 400,
			"?pod=default/big&output=xml": 400, "?pod=default/big&width=9": 400, "?pod=default/nobody": 404} {
			if code, text := admin.get(query); code != want || text == "" {
				t.Errorf("%q is answered with %d: %s", query, code, text)
			}
		}
	})

	// Endless requests do not keep pods from being bound.
	t.Run("flood", func(t *testing.T) {
		stop := make(chan struct{})
		var crowd sync.WaitGroup
		var answers, refusals atomic.Int64
		for range 8 {
			crowd.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					switch code, text := admin.get("?pod=default/big"); code {
					case http.StatusOK:
						answers.Add(1)
					case http.StatusTooManyRequests:
						refusals.Add(1)
					default:
						t.Errorf("%d: %s", code, text)
						return
					}
				}
			})
		}
		const pods = 40
		for i := range pods {
			e.create(NewPod(fmt.Sprintf("crowd-%d", i)))
		}
		for i := range pods {
			e.bound(fmt.Sprintf("crowd-%d", i))
		}
		close(stop)
		crowd.Wait()
		t.Logf("%d answers and %d refusals meanwhile", answers.Load(), refusals.Load())
		if answers.Load() == 0 {
			t.Error("no request was answered")
		}
	})
}

// get sends a request without the command; it returns the status and the text.
func (a explainer) get(query string) (int, string) {
	request, err := http.NewRequest("GET", fmt.Sprintf("https://127.0.0.1:%d/debug/berth/explain%s", a.port, query), nil)
	if err != nil {
		return 0, err.Error()
	}
	request.Header.Set("Authorization", "Bearer "+adminToken)
	response, err := scraper.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}
