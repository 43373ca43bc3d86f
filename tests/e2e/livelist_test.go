package e2e

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// liveLine is a line of tests/live/run --json: a test begins, or has ended with a result.
type liveLine struct{ Test, Result, Text string }

// liveControl lets the tests of the list kill and restart the API server.
func liveControl(e *env) *httptest.Server {
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/kill":
			e.c.KillAPI()
		case "/restart":
			if err := e.c.RestartAPI(e.ctx); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		default:
			http.NotFound(w, r)
		}
	}))
	e.Cleanup(control.Close)
	return control
}

// liveChosen is what -run says of the tests of the list: LiveList/leases chooses some.
func liveChosen() (patterns []string) {
	if _, pattern, ok := strings.Cut(flag.Lookup("test.run").Value.String(), "/"); ok {
		patterns = append(patterns, pattern)
	}
	return patterns
}

// liveRun starts tests/live/run; its lines come from what it returns.
func liveRun(e *env, chosen []string) (*exec.Cmd, io.Reader, *strings.Builder) {
	e.must(e.c.WriteKubeconfig("scheduler.conf", e.c.Addr(), Credentials{"token": schedulerToken}))
	berth, err := filepath.Abs(os.Getenv("BERTH"))
	e.must(err)
	cmd := exec.CommandContext(e.ctx, "python3", append([]string{"../live/run", "--json"}, chosen...)...)
	cmd.Env = append(os.Environ(), "BERTH="+berth, "LIVE_SCHEDULER="+strings.Join(e.argv, " "),
		"LIVE_KUBECONFIG="+e.c.path("admin.conf"), "LIVE_SCHEDULER_KUBECONFIG="+e.c.path("scheduler.conf"),
		"LIVE_CONTROL="+liveControl(e).URL)
	stderr := &strings.Builder{}
	cmd.Stderr = stderr
	lines, err := cmd.StdoutPipe()
	e.must(err)
	e.must(cmd.Start())
	return cmd, lines, stderr
}

// anywhere gives the rights of roles in a namespace in all namespaces: a test of the list has a namespace of its own.
func anywhere(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	for _, object := range objects {
		if object.GetNamespace() == "" {
			continue
		}
		object.SetNamespace("")
		object.SetName(object.GetName() + ":anywhere")
		object.SetKind("Cluster" + object.GetKind())
		if role, found, _ := unstructured.NestedStringMap(object.Object, "roleRef"); found {
			role["kind"], role["name"] = "ClusterRole", object.GetName()
			unstructured.SetNestedStringMap(object.Object, role, "roleRef")
		}
	}
	return objects
}

// TestLiveList runs the tests of tests/live, which `make test` runs on the embedded API server, on the real one: what they say
// of the one must be true of the other.
func TestLiveList(t *testing.T) {
	if os.Getenv("E2E_REPORTS") != "" {
		t.Skip("a sanitized scheduler runs the list on the embedded API server")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
	chosen := liveChosen()
	e := private(t, Options{Audit: len(chosen) == 0}) // the log must not be empty, and some tests need no scheduler
	e.apply(base(e, "samples"))                       // the stock role has no right to samples,
	e.apply(base(e, "network"))                       // nor to the objects that plugins name,
	e.apply(anywhere(base(e, "policies")))            // nor to policies
	cmd, lines, stderr := liveRun(e, chosen)
	next, count := bufio.NewScanner(lines), 0
	next.Buffer(nil, 16<<20)
	read := func(t *testing.T) (line liveLine) {
		if err := json.Unmarshal(next.Bytes(), &line); err != nil {
			t.Fatalf("not a line of tests/live/run: %q", next.Text())
		}
		return line
	}
	for next.Scan() {
		begun := read(t)
		if begun.Result != "" {
			continue // the end of a test that -run leaves out
		}
		count++
		t.Run(begun.Test, func(t *testing.T) {
			if !next.Scan() {
				t.Fatal("tests/live/run ended in the middle of it")
			}
			switch ended := read(t); ended.Result {
			case "fail":
				t.Error(ended.Text)
			case "skip":
				t.Skip(ended.Text)
			}
		})
	}
	err := cmd.Wait()
	if err != nil || count == 0 {
		fmt.Print(stderr.String())
		t.Errorf("tests/live/run ended after %d tests: %v", count, err)
	}
}
