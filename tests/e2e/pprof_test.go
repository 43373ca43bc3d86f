package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// serving starts a scheduler with its HTTPS port open and waits until it answers; it returns the port.
func (e *env) serving(flags ...string) (*Proc, int) {
	e.Helper()
	ports, err := freePorts(1)
	e.must(err)
	conf := e.c.path(e.file("scheduler") + ".conf")
	p := e.start(append([]string{"--secure-port", fmt.Sprint(ports[0]), "--authentication-kubeconfig", conf,
		"--authorization-kubeconfig", conf}, flags...)...)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if status, _ := e.ask(ports[0], "GET", "/readyz", adminToken, ""); status == http.StatusOK {
			return p, ports[0]
		}
		if time.Now().After(deadline) || !p.Alive() {
			e.Fatalf("%s does not become ready", p.Name)
		}
	}
}

var asker = &http.Client{
	Timeout:       60 * time.Second,
	Transport:     scraper.Transport,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// request returns the status, or 0 if there is no response, and the body. Without a token it is anonymous.
func (e *env) ask(port int, method, path, token, body string) (int, string) {
	request, err := http.NewRequest(method, fmt.Sprintf("https://127.0.0.1:%d%s", port, path), strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := asker.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

type debugAnswer struct {
	method, path, token, body string
	status                    int
	text                      string // "": any
}

// debugPages are the pages of the reference, too.
var debugPages = []debugAnswer{
	{"GET", "/debug/pprof", adminToken, "", 302, ""},
	{"GET", "/debug/pprof/", adminToken, "", 200, ""},
	{"GET", "/debug/pprof/profile?seconds=1", adminToken, "", 200, ""},
	{"GET", "/debug/pprof/symbol", adminToken, "", 200, "num_symbols: 1\n"},
	{"POST", "/debug/pprof/symbol", adminToken, "0x1+0x2", 200, "num_symbols: 1\n"},
	{"GET", "/debug/pprof/nothing", adminToken, "", 404, "Unknown profile\n"},
	{"GET", "/debug/pprof/", "", "", 403, ""},
	{"GET", "/debug/pprof/profile?seconds=1", "", "", 403, ""},
	{"GET", "/debug/pprof/profile?seconds=1", "nobody's", "", 401, ""},
	{"GET", "/debug/flags", adminToken, "", 200, ""},
	{"GET", "/debug/flags/v", adminToken, "", 406, "unsupported http method\n"},
	{"PUT", "/debug/flags/v", adminToken, "x", 400, ""},
	{"PUT", "/debug/flags/v", "", "9", 403, ""},
	{"PUT", "/debug/flags/v", adminToken, "4", 200, "successfully set klog.logging.verbosity to 4\n"},
}

// Authorized clients, and no others, get the debug pages under kube-scheduler's paths; none do if they are turned off.
func TestDebugPagesAreTheReference(t *testing.T) {
	commands := map[string][]string{}
	if reference, err := ReferenceCommand(); err == nil {
		if _, err := os.Stat(reference[0]); err == nil {
			commands["kube-scheduler"] = reference
		}
	}
	name, argv, err := UnderTest()
	if err != nil {
		t.Fatal(err)
	}
	commands[name] = argv
	for name, argv := range commands {
		t.Run(name, func(t *testing.T) {
			e := shared(t)
			e.argv = argv
			_, port := e.serving()
			for _, page := range debugPages {
				status, text := e.ask(port, page.method, page.path, page.token, page.body)
				if status != page.status || page.text != "" && text != page.text {
					t.Errorf("%s %s as %q: %d %.200q, want %d %q", page.method, page.path, page.token, status, text, page.status, page.text)
				}
			}
			p, port := e.serving("--profiling=false")
			for _, page := range debugPages {
				if status, _ := e.ask(port, page.method, page.path, page.token, page.body); page.token == adminToken && status != 404 {
					t.Errorf("%s %s without profiling: %d, want 404", page.method, page.path, status)
				}
			}
			p.Kill()
		})
	}
}

// `go tool pprof` reads the profile of a busy scheduler and names its functions. Other requests are answered meanwhile.
func TestProfileIsForPprof(t *testing.T) {
	if testing.Short() {
		t.Skip("a tool is built for it")
	}
	e := shared(t)
	e.create(objects(Nodes("node", 3)...)...)
	_, port := e.serving()
	ctx, stop := context.WithCancel(e.ctx)
	var busy sync.WaitGroup
	slowest := time.Duration(0)
	busy.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			if status, text := e.ask(port, "GET", "/metrics", adminToken, ""); status != 200 {
				t.Errorf("/metrics: %d %.200s", status, text)
			}
			slowest = max(slowest, time.Since(began))
		}
	})
	seconds := 3
	began := time.Now()
	status, profile := e.ask(port, "GET", fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds), adminToken, "")
	took := time.Since(began)
	stop()
	busy.Wait()
	if status != 200 || took < time.Duration(seconds)*time.Second {
		t.Fatalf("status %d after %v: %.200s", status, took, profile)
	}
	t.Logf("%d bytes in %v; the slowest scrape meanwhile took %v", len(profile), took, slowest)
	file := filepath.Join(t.TempDir(), "profile")
	e.must(os.WriteFile(file, []byte(profile), 0o644))
	out, err := exec.Command("go", "tool", "pprof", "-top", "-cum", "-nodecount=100", file).CombinedOutput()
	if err != nil {
		t.Fatalf("go tool pprof: %v\n%s", err, out)
	}
	if e.sched == "berth" {
		for _, want := range []string{"Type: cpu", "handle_events", "conn_run", "metrics_write"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("there is no %s in:\n%s", want, out)
			}
		}
	}
}
